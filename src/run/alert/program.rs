//! One program of an alert, from its start to its end.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::Running;
use crate::config::fault::shown;
use crate::units::span_exact;

/// What is run, and for how long at the most.
#[derive(Debug)]
pub(super) struct Job {
    /// The program and its arguments.
    pub(super) words: Vec<String>,
    /// Set over zmtop's own.
    pub(super) environment: Vec<(String, String)>,
    /// Its standard input.
    pub(super) input: Vec<u8>,
    /// When it is killed.
    pub(super) timeout: Duration,
}

/// Runs it and waits until it ended.
///
/// # Errors
/// It could not be started, failed or was killed; safe to print.
pub(super) fn run(job: &Job, running: &Running) -> Result<(), String> {
    let Some((program, arguments)) = job.words.split_first() else {
        return Ok(());
    };
    let name = shown(program);
    let mut child = Command::new(program)
        .args(arguments)
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot run {name}: {error}"))?;
    let leader = Pid::from_child(&child);
    {
        let mut inner = running.lock();
        inner.leaders.push(leader);
        if inner.stopped {
            kill(leader);
        }
    }
    let deadline = Instant::now() + job.timeout;
    let mut feed = Feed::new(child.stdin.take(), &job.input);
    let pidfd = rustix::process::pidfd_open(leader, PidfdFlags::empty()).ok();
    let mut killed = false;
    loop {
        if let Some(status) = reap(&mut child, leader, running)? {
            return match status {
                _ if killed => Err(format!("{name} was killed after {}", span_exact(job.timeout))),
                status if status.success() => Ok(()),
                status => Err(format!("{name} {}", ended(status))),
            };
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() && !killed {
            // Itself, and what it started and left in its group.
            kill(leader);
            killed = true;
        }
        wait(
            pidfd.as_ref(),
            &mut feed,
            if killed { Duration::from_secs(1) } else { left },
        );
    }
}

fn kill(leader: Pid) {
    let _ = rustix::process::kill_process_group(leader, Signal::KILL);
}

/// Its status, once it ended. Under the lock, so that no number is killed that another process has by then.
fn reap(child: &mut Child, leader: Pid, running: &Running) -> Result<Option<ExitStatus>, String> {
    let mut inner = running.lock();
    let status = child.try_wait();
    if !matches!(status, Ok(None)) {
        inner.leaders.retain(|other| *other != leader);
    }
    status.map_err(|error| format!("cannot be waited for: {error}"))
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended oddly".into(),
    }
}

/// Waits until it ended, can take more input, or the time is over. A kernel without pidfds (before Linux 5.3)
/// is asked again in a moment.
fn wait(pidfd: Option<&OwnedFd>, feed: &mut Feed<'_>, left: Duration) {
    let left = if pidfd.is_some() {
        left
    } else {
        left.min(Duration::from_millis(50))
    };
    let timeout = Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    };
    let writable = {
        let mut fds = Vec::with_capacity(2);
        fds.extend(feed.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        let input = fds.len();
        fds.extend(pidfd.map(|fd| PollFd::new(fd, PollFlags::IN)));
        let polled = poll(&mut fds, Some(&timeout));
        polled.is_ok() && input == 1 && !fds[0].revents().is_empty()
    };
    if writable {
        feed.give();
    }
}

/// What is still to be written to its standard input. One that does not read keeps nobody waiting.
struct Feed<'a> {
    pipe: Option<ChildStdin>,
    rest: &'a [u8],
}

impl<'a> Feed<'a> {
    fn new(pipe: Option<ChildStdin>, input: &'a [u8]) -> Self {
        let calm = |pipe: &ChildStdin| {
            let flags = rustix::fs::fcntl_getfl(pipe.as_fd())?;
            rustix::fs::fcntl_setfl(pipe.as_fd(), flags | OFlags::NONBLOCK)
        };
        Self {
            pipe: pipe.filter(|pipe| calm(pipe).is_ok()),
            rest: input,
        }
    }

    /// Writes as much as is taken; closes the pipe after the last byte, and when nobody reads any more.
    fn give(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.write(self.rest) {
            Ok(written) if written < self.rest.len() && written > 0 => self.rest = &self.rest[written..],
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                ) => {}
            _ => self.pipe = None,
        }
    }
}
