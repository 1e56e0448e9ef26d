//! The list of signals, beginning with those that end a process.

use rustix::process::Signal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalInfo {
    /// Without `SIG`.
    pub name: &'static str,
    /// Its number depends on the architecture.
    pub signal: Signal,
    /// From `signal(7)`.
    pub help: &'static str,
}

const fn entry(name: &'static str, signal: Signal, help: &'static str) -> SignalInfo {
    SignalInfo { name, signal, help }
}

/// Every signal except real-time signals, which have no fixed meaning.
pub const ALL: &[SignalInfo] = &[
    entry("TERM", Signal::TERM, "asks it to end"),
    entry("KILL", Signal::KILL, "ends it at once; nothing is saved"),
    entry("INT", Signal::INT, "as Ctrl-C"),
    entry(
        "HUP",
        Signal::HUP,
        "its terminal hung up; many daemons reload their settings",
    ),
    entry("QUIT", Signal::QUIT, "as Ctrl-\\: ends it with a core dump"),
    entry("STOP", Signal::STOP, "stops it until SIGCONT"),
    entry("CONT", Signal::CONT, "continues it"),
    entry("USR1", Signal::USR1, "the program defines the meaning"),
    entry("USR2", Signal::USR2, "the program defines the meaning"),
    entry("ABRT", Signal::ABORT, "ends it with a core dump"),
    entry("ALRM", Signal::ALARM, "a timer expired"),
    entry("PIPE", Signal::PIPE, "no process reads its output"),
    entry("TSTP", Signal::TSTP, "as Ctrl-Z"),
    entry("TTIN", Signal::TTIN, "it reads the terminal from the background"),
    entry("TTOU", Signal::TTOU, "it writes to the terminal from the background"),
    entry("WINCH", Signal::WINCH, "the size of its terminal changed"),
    entry("CHLD", Signal::CHILD, "one of its children ended or stopped"),
    entry("ILL", Signal::ILL, "an invalid instruction"),
    entry("TRAP", Signal::TRAP, "a breakpoint"),
    entry("BUS", Signal::BUS, "invalid access to memory (bus error)"),
    entry("FPE", Signal::FPE, "an arithmetic error, such as a division by zero"),
    entry("SEGV", Signal::SEGV, "invalid memory reference"),
    entry("SYS", Signal::SYS, "an invalid system call"),
    entry("URG", Signal::URG, "urgent data on a socket"),
    entry("XCPU", Signal::XCPU, "its limit of CPU time is reached"),
    entry("XFSZ", Signal::XFSZ, "its limit of file size is reached"),
    entry("VTALRM", Signal::VTALARM, "a timer of its CPU time expired"),
    entry("PROF", Signal::PROF, "a profiling timer expired"),
    entry("IO", Signal::IO, "a file can be read or written"),
    entry("PWR", Signal::POWER, "the power fails"),
];

/// Returns the name of a signal: `SIGTERM`.
pub fn name(signal: Signal) -> String {
    let found = ALL.iter().find(|entry| entry.signal == signal);
    found.map_or_else(
        || format!("signal {}", signal.as_raw()),
        |entry| format!("SIG{}", entry.name),
    )
}

/// Returns true for signals that are sent to make a process exit.
pub const fn asks_to_exit(signal: Signal) -> bool {
    matches!(
        signal,
        Signal::TERM | Signal::KILL | Signal::INT | Signal::QUIT | Signal::ABORT
    )
}
