//! A program of an alert, from its start to its end.

use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Resource, Signal, setrlimit};

use super::Shared;
use crate::config::fault::shown;
use crate::sampler;
use crate::units::span_exact;

/// A program to run, without a shell.
#[derive(Debug)]
pub(super) struct Invocation {
    /// The program and its arguments.
    pub(super) argv: Vec<String>,
    /// Variables that are added to zmtop's own environment.
    pub(super) environment: Vec<(String, String)>,
    /// Its standard input.
    pub(super) stdin: Vec<u8>,
    /// The time after which it is killed.
    pub(super) timeout: Duration,
}

/// Runs a program and waits until it exits.
///
/// # Errors
/// It cannot be started, fails or is killed; the text is safe to print.
pub(super) fn run(invocation: &Invocation, shared: &Shared) -> Result<(), String> {
    let Some((program, arguments)) = invocation.argv.split_first() else {
        return Ok(());
    };
    let name = shown(program);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(invocation.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A group of its own, so that what the program starts is killed with it.
        .process_group(0);
    restore_limit(&mut command);
    let mut child = command.spawn().map_err(|error| format!("cannot run {name}: {error}"))?;
    let leader = Pid::from_child(&child);
    {
        let mut state = shared.lock();
        state.leaders.push(leader);
        if state.stopped {
            kill(leader);
        }
    }
    let deadline = Instant::now() + invocation.timeout;
    let mut stdin = StdinWriter::new(child.stdin.take(), &invocation.stdin);
    let pidfd = rustix::process::pidfd_open(leader, PidfdFlags::empty()).ok();
    let mut killed = false;
    loop {
        if let Some(status) = try_reap(&mut child, leader, shared)? {
            return match status {
                _ if killed => Err(format!("{name} was killed after {}", span_exact(invocation.timeout))),
                status if status.success() => Ok(()),
                status => Err(format!("{name} {}", describe(status))),
            };
        }
        let mut left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() && !killed {
            kill(leader);
            killed = true;
        }
        if killed {
            // Nothing is left to wait for but its exit.
            left = Duration::from_secs(1);
        }
        wait(pidfd.as_ref(), &mut stdin, left);
    }
}

/// Gives the program the limit on open files that zmtop was started with.
fn restore_limit(command: &mut Command) {
    let Some(limit) = sampler::initial_open_files_limit() else {
        return;
    };
    let restore = move || {
        // Where the limits were changed from outside meanwhile, the program gets those.
        let _ = setrlimit(Resource::Nofile, limit);
        Ok(())
    };
    // SAFETY: between fork and exec only what is safe in a signal handler may be done. This is one system call: it
    // takes no lock and allocates nothing.
    #[expect(
        unsafe_code,
        reason = "a limit of the child alone can be set only by itself, before it runs"
    )]
    unsafe {
        command.pre_exec(restore);
    }
}

fn kill(leader: Pid) {
    let _ = rustix::process::kill_process_group(leader, Signal::KILL);
}

/// Returns the status, once the program has exited. It is reaped under the lock, so that no other thread kills a
/// process group whose number was reused.
fn try_reap(child: &mut Child, leader: Pid, shared: &Shared) -> Result<Option<ExitStatus>, String> {
    let mut state = shared.lock();
    let status = child.try_wait();
    if !matches!(status, Ok(None)) {
        state.leaders.retain(|other| *other != leader);
    }
    status.map_err(|error| format!("cannot be waited for: {error}"))
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended oddly".into(),
    }
}

/// Waits until the program exits, can take more input, or the time is over.
fn wait(pidfd: Option<&OwnedFd>, stdin: &mut StdinWriter<'_>, mut timeout: Duration) {
    if pidfd.is_none() {
        // Before Linux 5.3 there is nothing to wait for: the caller asks again in a moment.
        timeout = timeout.min(Duration::from_millis(50));
    }
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    let writable = {
        let mut fds = Vec::with_capacity(2);
        fds.extend(stdin.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        let pipes = fds.len();
        fds.extend(pidfd.map(|fd| PollFd::new(fd, PollFlags::IN)));
        let polled = poll(&mut fds, Some(&timeout));
        polled.is_ok() && pipes == 1 && !fds[0].revents().is_empty()
    };
    if writable {
        stdin.write();
    }
}

/// The part of the standard input that is not written yet. A program that does not read it blocks nobody.
struct StdinWriter<'a> {
    pipe: Option<ChildStdin>,
    rest: &'a [u8],
}

impl<'a> StdinWriter<'a> {
    fn new(pipe: Option<ChildStdin>, input: &'a [u8]) -> Self {
        let set_nonblocking = |pipe: &ChildStdin| {
            let flags = rustix::fs::fcntl_getfl(pipe.as_fd())?;
            rustix::fs::fcntl_setfl(pipe.as_fd(), flags | OFlags::NONBLOCK)
        };
        Self {
            pipe: pipe.filter(|pipe| set_nonblocking(pipe).is_ok()),
            rest: input,
        }
    }

    /// Writes as much as the pipe takes; closes it after the last byte, or when nobody reads any more.
    fn write(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.write(self.rest) {
            Ok(written) if written < self.rest.len() && written > 0 => self.rest = &self.rest[written..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            _ => self.pipe = None,
        }
    }
}
