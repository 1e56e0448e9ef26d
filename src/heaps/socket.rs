//! The socket on which a runtime answers requests: checks its owner, and sends requests with a time limit.

use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};
use rustix::process::{Gid, Pid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::model::Missing;
use crate::proc::{files, namespace};

/// The reason why a runtime was not queried, or did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is `OpenJ9`, which has another protocol.
    OpenJ9,
    /// `-XX:+DisableAttachMechanism`.
    Disabled,
    /// It does not handle SIGQUIT: `-Xrs`, or it is starting.
    NoHandler,
    /// It is stopped, as by SIGSTOP or a debugger.
    Stopped,
    /// Neither its counters nor its threads show that it would handle SIGQUIT as an attach request.
    Unsure,
    /// A .NET runtime has no socket in that directory. Raw.
    NoSocket(String),
    /// Its root or working directory is read-only, or the like.
    Unread(Missing),
    /// The socket did not open, or the answer did not end, in that time.
    TimedOut(Duration),
    /// It closed the connection without an answer: a JVM does so with other credentials.
    Closed,
    /// Its answer ended before it was complete.
    Cut,
    /// The socket belongs to another user.
    Foreign,
    /// The response of the machine to a command that failed. Raw.
    Failed(String),
    /// The answer has more than that number of bytes.
    TooLong(usize),
    NotUnderstood,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenJ9 => {
                f.write_str("OpenJ9 is not supported; its own jcmd shows its heap: jcmd PID GC.class_histogram")
            }
            Self::Disabled => f.write_str("it was started with -XX:+DisableAttachMechanism"),
            Self::NoHandler => f.write_str("it does not handle SIGQUIT (-Xrs?), so an attach request would end it"),
            Self::Stopped => f.write_str("it is stopped: it cannot answer"),
            Self::Unsure => f.write_str("zmtop cannot tell whether it handles SIGQUIT as an attach request"),
            Self::NoSocket(dir) => {
                write!(f, "it has no diagnostics socket in {dir} (DOTNET_EnableDiagnostics=0?)")
            }
            Self::Unread(why) => write!(f, "it cannot be queried: {why}"),
            Self::TimedOut(time) => write!(f, "it did not answer within {} s", time.as_secs()),
            Self::Closed => f.write_str("it closed the connection, because zmtop runs as another user or group"),
            Self::Cut => f.write_str("its answer ended too early"),
            Self::Foreign => f.write_str("its socket belongs to another user"),
            Self::Failed(answer) => write!(f, "it answered: {}", answer.lines().next().unwrap_or_default()),
            Self::TooLong(most) => write!(f, "its answer is longer than {} MiB", most >> 20),
            Self::NotUnderstood => f.write_str("its answer could not be parsed"),
        }
    }
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self::Unread(files::reason(errno))
    }
}

/// A socket that a process may have opened.
pub struct Socket {
    pub pid: Pid,
    /// Its effective user and group.
    pub uid: u32,
    pub gid: u32,
    /// The directory of the socket as the process sees it.
    pub dir: OwnedFd,
    pub name: String,
}

impl Socket {
    /// Runs a function with the user and group of the process, and without other groups, if zmtop is root and the process is not.
    ///
    /// # Errors
    /// The same as the function, or they cannot be had.
    pub fn as_owner<T: Send>(&self, task: impl FnOnce() -> Result<T, Refusal> + Send) -> Result<T, Refusal> {
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if own == (self.uid, self.gid) || own.0 != 0 {
            return task();
        }
        // JDK 8 accepts only its own user and group, not root: a thread of its own gets them, by the system calls.
        std::thread::scope(|scope| {
            let done = scope.spawn(|| {
                let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
                set_thread_groups(&[])?;
                set_thread_res_gid(None, gid, None)?;
                set_thread_res_uid(None, uid, None)?;
                task()
            });
            done.join().unwrap_or(Err(Refusal::Closed))
        })
    }

    /// Returns true if the process has opened it.
    ///
    /// # Errors
    /// It is the one of another user, or none.
    pub fn exists(&self) -> Result<bool, Refusal> {
        let find = || {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let found = rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty())?;
            let folder = format!("/proc/{}", self.pid.as_raw_pid());
            namespace::check_pinned(&found, Path::new(&folder))?;
            rustix::fs::fstat(&found)
        };
        match find() {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Socket || stat.st_uid != self.uid => {
                Err(Refusal::Foreign)
            }
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Connects to it. Reads and writes of the connection do not wait.
    ///
    /// # Errors
    /// Another process listens, or nobody.
    pub fn connect(&self, deadline: Instant) -> Result<OwnedFd, Refusal> {
        // The path of a socket has at most 107 bytes, and `/proc/PID/root` cannot be reached with all credentials.
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.dir.as_raw_fd())).join(&self.name);
        let address = SocketAddrUnix::new(path)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        loop {
            match connect(&socket, &address) {
                Ok(()) => break,
                // It is answering other requests.
                Err(Errno::AGAIN) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
                Err(Errno::AGAIN) => return Err(Refusal::TimedOut(Duration::ZERO)),
                Err(errno) => return Err(errno.into()),
            }
        }
        let peer = sockopt::socket_peercred(&socket)?;
        if peer.pid == self.pid {
            Ok(socket)
        } else {
            Err(Refusal::Foreign)
        }
    }
}

/// Runs a task that must end in that time.
///
/// # Errors
/// The same as the task. A [`Refusal::TimedOut`] that names no time gets this one.
pub fn within<T>(limit: Duration, task: impl FnOnce(Instant) -> Result<T, Refusal>) -> Result<T, Refusal> {
    task(Instant::now() + limit).map_err(|refusal| match refusal {
        Refusal::TimedOut(Duration::ZERO) => Refusal::TimedOut(limit),
        other => other,
    })
}

/// Sends a whole request.
///
/// # Errors
/// The time is over, or the connection is closed.
pub fn send(socket: &OwnedFd, request: &[u8], deadline: Instant) -> Result<(), Refusal> {
    let mut sent = 0;
    while sent < request.len() {
        match rustix::net::send(socket, &request[sent..], SendFlags::NOSIGNAL) {
            Ok(count) => sent += count,
            Err(Errno::AGAIN | Errno::INTR) => wait(socket, PollFlags::OUT, deadline)?,
            Err(Errno::PIPE | Errno::CONNRESET) => return Err(Refusal::Closed),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Waits for bytes, and returns their number: 0 at the end.
///
/// # Errors
/// The time is over.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8], deadline: Instant) -> Result<usize, Refusal> {
    loop {
        // Also if there always are more bytes.
        if Instant::now() >= deadline {
            return Err(Refusal::TimedOut(Duration::ZERO));
        }
        match rustix::io::read(socket, &mut *buffer) {
            Ok(count) => return Ok(count),
            Err(Errno::AGAIN | Errno::INTR) => wait(socket, PollFlags::IN, deadline)?,
            Err(Errno::CONNRESET) => return Ok(0),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn wait(socket: &OwnedFd, events: PollFlags, deadline: Instant) -> Result<(), Refusal> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
    match poll(&mut [PollFd::new(socket, events)], Some(&left)) {
        Ok(0) => Err(Refusal::TimedOut(Duration::ZERO)),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
