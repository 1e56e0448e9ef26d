//! Runs a program of an alert, from start to exit.

use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::Shared;
use super::payload::Payload;
use crate::config::AlertSettings;
use crate::config::env::SECRETS;
use crate::config::fault::shown;
use crate::config::program::{self, Unfit};
use crate::own;
use crate::units::span_exact;

/// Time between attempts to start a program while memory is short.
const RETRY: Duration = Duration::from_secs(1);
/// Time after which a program that was killed and still runs is reported: it waits for a disk.
const STUCK: Duration = Duration::from_secs(10);

/// Runs the program of an alert without a shell, and waits for it to exit. It inherits zmtop's environment except the
/// secrets. `report` is called once it is killed because it takes too long, and once if it still runs later, with a text that is safe to
/// print.
///
/// # Errors
/// The program cannot be started, can be changed by others or fails. The text is safe to print.
pub(super) fn run(
    settings: &AlertSettings,
    payload: &Payload<'_>,
    shared: &Shared,
    report: &dyn Fn(&str),
) -> Result<(), String> {
    let Some((called, arguments)) = settings.run.split_first() else {
        return Ok(());
    };
    let name = shown(called);
    // Check again: since the config was read, the name may lead to another file, and the file's mode may have changed.
    let found = program::find(&settings.run, std::env::var_os("PATH").as_deref()).map_err(|unfit| match unfit {
        Unfit::Absent(error) => format!("cannot run {name}: {error}"),
        Unfit::Distrusted(why) => format!("{name} is not run: {why}"),
    })?;
    let mut command = Command::new(found);
    for secret in SECRETS {
        command.env_remove(secret);
    }
    command
        .arg0(called)
        .args(arguments)
        .envs(payload.environment())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Use a separate process group, so that its descendants are killed with it.
        .process_group(0);
    own::restore(&mut command);
    let child = spawn(&mut command, Instant::now() + settings.timeout, shared);
    let mut child = child.map_err(|error| format!("cannot run {name}: {error}"))?;
    let leader = Pid::from_child(&child);
    {
        let mut state = shared.lock();
        state.leaders.push(leader);
        if state.stopped {
            kill(leader);
        }
    }
    let deadline = Instant::now() + settings.timeout;
    let input = payload.json();
    let mut stdin = StdinWriter::new(child.stdin.take(), &input);
    let pidfd = rustix::process::pidfd_open(leader, PidfdFlags::empty()).ok();
    let (mut killed, mut is_stuck) = (false, false);
    loop {
        if let Some(status) = try_reap(&mut child, leader, shared)? {
            return match status {
                status if killed || status.success() => Ok(()),
                status => Err(format!("{name} {}", describe(status))),
            };
        }
        let mut left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() && !killed {
            kill(leader);
            killed = true;
            report(&format!("{name} was killed after {}", span_exact(settings.timeout)));
        }
        if killed {
            if deadline.elapsed() >= STUCK && !std::mem::replace(&mut is_stuck, true) {
                report(&format!("{name} still runs {} after it was killed", span_exact(STUCK)));
            }
            // Only the exit is left to wait for.
            left = Duration::from_secs(1);
        }
        wait(pidfd.as_ref(), &mut stdin, left);
    }
}

/// Starts a program. While memory is short, which alerts are about, this may fail: it tries again until the deadline.
fn spawn(command: &mut Command, deadline: Instant, shared: &Shared) -> io::Result<Child> {
    loop {
        let started = command.spawn();
        let errno = started.as_ref().err().and_then(Errno::from_io_error);
        let is_short = matches!(errno, Some(Errno::AGAIN | Errno::NOMEM));
        if !is_short || Instant::now() >= deadline || shared.lock().stopped {
            return started;
        }
        thread::sleep(RETRY);
    }
}

fn kill(leader: Pid) {
    let _ = rustix::process::kill_process_group(leader, Signal::KILL);
}

/// Returns the exit status if the program has exited. Reaps it under the lock, so that no other thread can kill a
/// process group with a reused number.
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
        (None, None) => "ended without a code or signal".into(),
    }
}

/// Waits until the program exits, can accept more input, or `timeout` is over.
fn wait(pidfd: Option<&OwnedFd>, stdin: &mut StdinWriter<'_>, mut timeout: Duration) {
    if pidfd.is_none() {
        // Before Linux 5.3 there is no descriptor to wait for. The caller polls.
        timeout = timeout.min(Duration::from_millis(50));
    }
    let timeout = Timespec::try_from(timeout).ok();
    let writable = {
        let mut fds = Vec::with_capacity(2);
        fds.extend(stdin.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        let pipes = fds.len();
        fds.extend(pidfd.map(|fd| PollFd::new(fd, PollFlags::IN)));
        let polled = poll(&mut fds, timeout.as_ref());
        polled.is_ok() && pipes == 1 && !fds[0].revents().is_empty()
    };
    if writable {
        stdin.write();
    }
}

/// The rest of the standard input to write. A program that does not read it blocks nothing.
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

    /// Writes as much as the pipe accepts. Closes it after the last byte, or when it has no reader any more.
    fn write(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.write(self.rest) {
            Ok(written) if written < self.rest.len() && written > 0 => self.rest = &self.rest[written..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            _ => self.pipe = None,
        }
    }
}
