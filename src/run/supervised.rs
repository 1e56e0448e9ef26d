//! Runs a command in a child process. Not even SIGKILL ends a child that waits for a page in the kernel. After a signal, the parent then
//! exits without the child.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, set_parent_process_death_signal, waitpid};

use super::complain;
use crate::proc::blocked::Blocked;
use crate::proc::files;

/// Time after a signal before the parent checks whether the child waits in the kernel.
const PATIENCE: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_millis(100);
/// The signals that end a command.
const ENDING: [Signal; 4] = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];

/// Forks, and returns in the child only. The parent forwards signals, and exits with the child's exit code, or with 128 + the signal. Must
/// be called while there is only one thread. If the fork fails, returns in this process.
pub(super) fn split() {
    let signals = Blocked::of(&ENDING);
    let parent = rustix::process::getpid();
    #[expect(unsafe_code, reason = "no safe function forks")]
    // SAFETY: there is only one thread.
    let pid = unsafe { libc::fork() };
    match Pid::from_raw(pid) {
        Some(child) if pid > 0 => std::process::exit(supervise(child, &signals)),
        _ if pid < 0 => {}
        _ => {
            let _ = set_parent_process_death_signal(Some(Signal::TERM));
            if rustix::process::getppid() != Some(parent) {
                std::process::exit(Signal::TERM.as_raw() + 128);
            }
        }
    }
}

/// Waits for the child, and returns the exit code.
fn supervise(child: Pid, signals: &Blocked) -> i32 {
    let mut last: Option<(Signal, Instant)> = None;
    loop {
        match waitpid(Some(child), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => return code(status),
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return 1,
        }
        let found = signals.wait(INTERVAL).and_then(|(number, is_of_terminal)| {
            let signal = ENDING.into_iter().find(|signal| signal.as_raw() == number)?;
            Some((signal, is_of_terminal))
        });
        if let Some((signal, is_of_terminal)) = found {
            last = Some((signal, Instant::now()));
            // The terminal has sent it to the child, too.
            if !is_of_terminal {
                let _ = kill_process(child, signal);
            }
        }
        let Some((signal, at)) = last.filter(|(_, at)| at.elapsed() >= PATIENCE) else {
            continue;
        };
        if waits_in_kernel(child) {
            let child = child.as_raw_pid();
            complain(&format!(
                "a read of another process's memory does not return: zmtop exits, but its child process {child} remains until the read returns"
            ));
            return 128 + signal.as_raw();
        }
        // It continues on purpose.
        last = (at.elapsed() < PATIENCE * 2).then_some((signal, at));
    }
}

fn code(status: WaitStatus) -> i32 {
    status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
        .unwrap_or(1)
}

/// Returns true if a thread of a process is in a wait that no signal ends.
fn waits_in_kernel(pid: Pid) -> bool {
    let tasks = PathBuf::from(format!("/proc/{}/task", pid.as_raw_pid()));
    let threads = std::fs::read_dir(tasks).into_iter().flatten().flatten();
    threads
        .into_iter()
        .any(|thread| files::state(&thread.path()) == Some(b'D'))
}
