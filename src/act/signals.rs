//! The signals there are, those that are sent to end something first.

use rustix::process::Signal;

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name without `SIG`.
    pub name: &'static str,
    /// The signal, by the number it has on this architecture.
    pub signal: Signal,
    /// What it is for: `signal(7)`.
    pub about: &'static str,
}

const fn known(name: &'static str, signal: Signal, about: &'static str) -> Known {
    Known { name, signal, about }
}

/// Every one that a process may be sent, but those of real time.
pub const ALL: &[Known] = &[
    known("TERM", Signal::TERM, "asks it to end"),
    known("KILL", Signal::KILL, "ends it at once; nothing is saved"),
    known("INT", Signal::INT, "as Ctrl-C"),
    known(
        "HUP",
        Signal::HUP,
        "its terminal hung up; many read their settings anew",
    ),
    known("QUIT", Signal::QUIT, "as Ctrl-\\: ends it with a core dump"),
    known("STOP", Signal::STOP, "stops it until it is continued"),
    known("CONT", Signal::CONT, "lets it go on"),
    known("USR1", Signal::USR1, "what the program makes of it"),
    known("USR2", Signal::USR2, "what the program makes of it"),
    known("ABRT", Signal::ABORT, "ends it with a core dump"),
    known("ALRM", Signal::ALARM, "a timer ran out"),
    known("PIPE", Signal::PIPE, "nobody reads what it writes"),
    known("TSTP", Signal::TSTP, "as Ctrl-Z"),
    known("TTIN", Signal::TTIN, "it reads the terminal from the background"),
    known("TTOU", Signal::TTOU, "it writes to the terminal from the background"),
    known("WINCH", Signal::WINCH, "its terminal has another size"),
    known("CHLD", Signal::CHILD, "a child of its ended or stopped"),
    known("ILL", Signal::ILL, "an instruction that there is none"),
    known("TRAP", Signal::TRAP, "a breakpoint"),
    known("BUS", Signal::BUS, "memory that is not there"),
    known("FPE", Signal::FPE, "a division by zero or the like"),
    known("SEGV", Signal::SEGV, "memory that is not its own"),
    known("SYS", Signal::SYS, "a system call that there is none"),
    known("URG", Signal::URG, "urgent data on a socket"),
    known("XCPU", Signal::XCPU, "its limit of processor time is reached"),
    known("XFSZ", Signal::XFSZ, "its limit of file size is reached"),
    known("VTALRM", Signal::VTALARM, "a timer of its own time ran out"),
    known("PROF", Signal::PROF, "a timer of its profiling ran out"),
    known("IO", Signal::IO, "a file can be read or written"),
    known("PWR", Signal::POWER, "the power fails"),
];

/// The name of a signal, `SIGTERM`.
pub fn name(signal: Signal) -> String {
    let found = ALL.iter().find(|known| known.signal == signal);
    found.map_or_else(
        || format!("signal {}", signal.as_raw()),
        |known| format!("SIG{}", known.name),
    )
}

/// The signal that was meant: of that number, or whose name begins so, with `SIG` before it or without; then
/// the one whose number begins so.
pub fn find(typed: &str) -> Option<usize> {
    let typed = typed.to_uppercase();
    if typed.is_empty() {
        return None;
    }
    let place = |meant: &dyn Fn(&Known) -> bool| ALL.iter().position(meant);
    let number = |known: &Known| known.signal.as_raw().to_string();
    place(&|known| number(known) == typed)
        .or_else(|| place(&|known| known.name.starts_with(&typed)))
        .or_else(|| place(&|known| format!("SIG{}", known.name).starts_with(&typed)))
        .or_else(|| place(&|known| number(known).starts_with(&typed)))
}
