//! The attach socket of a Java virtual machine: the protocol of `src/hotspot/os/posix/attachListener_posix.cpp` of the JDK.
//!
//! `HotSpot` opens the socket on demand, when it gets SIGQUIT and finds the file `.attach_pidN`. Without the file, or with
//! `-XX:+DisableAttachMechanism`, it prints a thread dump instead; with `-Xrs`, the signal ends it. So the signal is only sent if
//! that is known to be safe.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::ClockId;

use super::socket::{Refusal, Socket, receive, send, within};
use crate::model::{Missing, Reading};
use crate::proc::namespace::Namespace;
use crate::proc::{files, hsperfdata};

/// Maximum size of an answer, in bytes. A class histogram of 100,000 classes has 10 MB.
const MAX_ANSWER: usize = 64 << 20;
/// Maximum size of a recording, in bytes. One of old objects has some 100 kB.
const MAX_RECORDING: usize = 16 << 20;
/// The time in which the JVM must open its socket, as for the JDK's own tools. A collection delays it.
const OPENING: Duration = Duration::from_secs(10);
const MAX_MAPS: usize = 64 << 20;

/// A Java virtual machine that can be queried.
pub struct Jvm {
    pidfd: OwnedFd,
    /// The pid in its own namespace, by which it names its files.
    own_pid: u32,
    /// In `/tmp` as it sees it.
    socket: Socket,
    /// `/proc/PID`.
    pub dir: PathBuf,
    /// Its name and version, if it publishes them.
    pub version: Option<String>,
    /// The name under which it maps the file of its counters.
    published: Option<Vec<u8>>,
}

/// Fields of `/proc/PID/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub uid: u32,
    pub gid: u32,
    /// The pid in the innermost namespace.
    pub own_pid: u32,
    /// The signals that it handles, a bit each from SIGHUP on.
    pub caught: u64,
    pub is_stopped: bool,
}

impl Status {
    pub fn parse(status: &[u8]) -> Option<Self> {
        let line = |name: &[u8]| {
            let mut lines = status.split(|byte| *byte == b'\n');
            lines.find_map(|line| line.strip_prefix(name)).map(<[u8]>::trim_ascii)
        };
        let words = |name| std::str::from_utf8(line(name)?).ok().map(str::split_ascii_whitespace);
        let effective = |name| words(name)?.nth(1)?.parse().ok();
        let caught = u64::from_str_radix(std::str::from_utf8(line(b"SigCgt:")?).ok()?, 16).ok()?;
        Some(Self {
            uid: effective(b"Uid:")?,
            gid: effective(b"Gid:")?,
            // Kernels before 4.1 have no such line, and a JVM in a container then has a pid that nobody knows.
            own_pid: words(b"NSpid:")?.last()?.parse().ok()?,
            is_stopped: line(b"State:")?.first().is_some_and(|state| b"Tt".contains(state)),
            caught,
        })
    }

    pub const fn handles(&self, signal: Signal) -> bool {
        self.caught >> (signal.as_raw() - 1) & 1 == 1
    }
}

/// Returns the reason why a JVM must not get SIGQUIT, from its counters, arguments, variables and thread names.
pub fn safety(counters: Option<&[u8]>, arguments: &[u8], threads: &[Vec<u8>]) -> Result<(), Refusal> {
    // `Threads::create_vm` of HotSpot writes the capabilities: the first is "attach".
    let capabilities = counters.and_then(|bytes| hsperfdata::text(bytes, b"sun.rt.jvmCapabilities").ok().flatten());
    match capabilities.and_then(<[u8]>::first) {
        Some(b'1') => return Ok(()),
        Some(_) => return Err(Refusal::Disabled),
        None => {}
    }
    let names = |needle: &[u8]| arguments.windows(needle.len()).any(|window| window == needle);
    if names(b"+DisableAttachMechanism") {
        return Err(Refusal::Disabled);
    }
    // Options may come from a file, too.
    if names(b"-XX:Flags=") || names(b"-XX:VMOptionsFile=") || names(b"\0@") {
        return Err(Refusal::Unsure);
    }
    // The kernel keeps 15 bytes of "Signal Dispatcher".
    let is_dispatcher = |name: &Vec<u8>| name.starts_with(b"Signal Dispatch");
    if threads.iter().any(is_dispatcher) {
        Ok(())
    } else {
        Err(Refusal::Unsure)
    }
}

impl Jvm {
    /// Prepares to query the JVM `pid`. Sends nothing.
    ///
    /// # Errors
    /// The reason why it cannot be queried.
    pub fn open(dir: &Path, pid: u32) -> Result<Self, Refusal> {
        let dir = dir.to_owned();
        let raw = i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(Refusal::Unread(Missing::Gone))?;
        let pidfd = pidfd_open(raw, PidfdFlags::empty())?;
        let read = |name: &str| files::slurp_grown(dir.join(name).as_os_str().as_encoded_bytes(), 8 << 10, MAX_MAPS);
        let maps = read("maps")?;
        let has = |name: &[u8]| maps.windows(name.len()).any(|window| window == name);
        if has(b"/libj9vm") {
            return Err(Refusal::OpenJ9);
        }
        if !has(b"/libjvm.so") {
            return Err(Refusal::Unsure);
        }
        let status = Status::parse(&read("status")?).ok_or(Refusal::Unread(Missing::Malformed))?;
        let published = hsperfdata::find(&maps).map(<[u8]>::to_vec);
        let counters = counters(&dir, pid, published.as_deref());
        if !status.handles(Signal::QUIT) {
            return Err(Refusal::NoHandler);
        }
        if status.is_stopped {
            return Err(Refusal::Stopped);
        }
        let mut arguments = read("cmdline")?;
        arguments.extend(read("environ").unwrap_or_default());
        let mut threads = Vec::new();
        files::numbers(
            files::open_dir(dir.as_os_str().as_encoded_bytes())?,
            b"task",
            32 << 10,
            |tid| {
                if threads.len() < 4096 {
                    threads.push(read(&format!("task/{tid}/comm")).unwrap_or_default());
                }
            },
        )?;
        safety(counters.as_deref().ok(), &arguments, &threads)?;
        let tmp = Namespace::new(&dir).pin_plain(Path::new("/tmp"))?;
        let version = counters.as_deref().ok().and_then(|bytes| {
            let text = |name: &str| Some(String::from_utf8_lossy(hsperfdata::text(bytes, name.as_bytes()).ok()??));
            let name = text("java.property.java.vm.name")?;
            Some(format!("{name} {}", text("java.property.java.vm.version")?))
        });
        let socket = Socket {
            pid: raw,
            uid: status.uid,
            gid: status.gid,
            dir: tmp,
            name: format!(".java_pid{}", status.own_pid),
        };
        Ok(Self {
            pidfd,
            own_pid: status.own_pid,
            socket,
            dir,
            version,
            published,
        })
    }

    /// Reads the counters that it publishes.
    ///
    /// # Errors
    /// It publishes none, or the reason why they cannot be read.
    pub fn counters(&self) -> Reading<Vec<u8>> {
        let pid = self.socket.pid.as_raw_pid().cast_unsigned();
        counters(&self.dir, pid, self.published.as_deref())
    }

    /// Runs a diagnostic command, such as `GC.heap_info`, and returns its answer.
    ///
    /// # Errors
    /// The reason why there is no answer, or the answer of a failed command.
    pub fn ask(&self, command: &str, limit: Duration) -> Result<Vec<u8>, Refusal> {
        self.socket.as_owner(|| {
            within(limit, |deadline| {
                let socket = self.connect(deadline)?;
                let mut request = b"1\0jcmd\0".to_vec();
                request.extend_from_slice(command.as_bytes());
                request.extend_from_slice(b"\0\0\0");
                exchange(&socket, &request, deadline)
            })
        })
    }

    /// Records samples of allocated objects with the Flight Recorder, until `wait` returns. Returns the recording, which has those
    /// that a collection left: if there was none meanwhile, it has none. If `collects` returns true at the end, the JVM collects garbage.
    ///
    /// The recording ends by itself a minute after `time`. Its file is in a directory of its own in `/tmp`, and is removed.
    ///
    /// # Errors
    /// The same as [`Self::ask`]. The settings are named as in JDK 17 and later.
    pub fn record(
        &self,
        time: Duration,
        collects: impl FnOnce() -> bool,
        wait: impl FnOnce(),
    ) -> Result<Vec<u8>, Refusal> {
        const LIMIT: Duration = Duration::from_secs(60);
        let name = format!(
            "zmtop-{}-{}",
            std::process::id(),
            rustix::time::clock_gettime(ClockId::Monotonic).tv_nsec
        );
        let seconds = time.as_secs() + LIMIT.as_secs();
        let start = format!(
            "JFR.start name={name} settings=none duration={seconds}s +jdk.OldObjectSample#enabled=true +jdk.OldObjectSample#stackTrace=true"
        );
        let answer = self.ask(&start, LIMIT)?;
        if !answer.windows(7).any(|window| window == b"Started") {
            return Err(Refusal::Failed(
                String::from_utf8_lossy(&answer[..answer.len().min(1000)]).into_owned(),
            ));
        }
        wait();
        if collects() {
            self.ask("GC.run", LIMIT)?;
        }
        self.socket
            .as_owner(|| Ok(mkdirat(&self.socket.dir, &name, Mode::RWXU)?))?;
        let stopped = self.ask(
            &format!("JFR.stop name={name} filename=/tmp/{name}/recording.jfr"),
            LIMIT,
        );
        let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(&self.socket.dir, &name, path, Mode::empty())?;
        let recording = stopped.and_then(|_| self.socket.as_owner(|| read_recording(&dir)));
        let _ = self.socket.as_owner(|| {
            let _ = unlinkat(&dir, "recording.jfr", AtFlags::empty());
            Ok(unlinkat(&self.socket.dir, &name, AtFlags::REMOVEDIR)?)
        });
        recording
    }

    /// Connects to the socket; lets the JVM open it first if it has not yet.
    fn connect(&self, deadline: Instant) -> Result<OwnedFd, Refusal> {
        if !self.socket.exists()? {
            self.open_socket(deadline)?;
        }
        self.socket.connect(deadline)
    }

    fn open_socket(&self, deadline: Instant) -> Result<(), Refusal> {
        let name = format!(".attach_pid{}", self.own_pid);
        let create = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let is_mine = match openat(&self.socket.dir, &name, create, Mode::from_raw_mode(0o600)) {
            Ok(_) => true,
            // Another tool attaches just now.
            Err(Errno::EXIST) => false,
            Err(errno) => return Err(errno.into()),
        };
        let opened = self.signal_and_wait(deadline.min(Instant::now() + OPENING));
        if is_mine {
            let _ = unlinkat(&self.socket.dir, &name, AtFlags::empty());
        }
        opened
    }

    fn signal_and_wait(&self, deadline: Instant) -> Result<(), Refusal> {
        pidfd_send_signal(&self.pidfd, Signal::QUIT)?;
        let mut pause = Duration::from_millis(5);
        while !self.socket.exists()? {
            if Instant::now() >= deadline {
                return Err(Refusal::TimedOut(OPENING));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(100));
        }
        Ok(())
    }
}

fn counters(dir: &Path, pid: u32, name: Option<&[u8]>) -> Reading<Vec<u8>> {
    hsperfdata::read_file(dir.parent().unwrap_or(dir), pid, name.ok_or(Missing::Unsupported)?)
}

fn read_recording(dir: &OwnedFd) -> Result<Vec<u8>, Refusal> {
    // NONBLOCK, so that opening a FIFO does not wait.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(dir, "recording.jfr", flags, Mode::empty())?;
    let size = usize::try_from(rustix::fs::fstat(&file)?.st_size).unwrap_or(usize::MAX);
    if size > MAX_RECORDING {
        return Err(Refusal::TooLong(MAX_RECORDING));
    }
    let mut bytes = vec![0; size];
    let len = files::read_all(file, &mut bytes)?;
    bytes.truncate(len);
    Ok(bytes)
}

/// Sends a request, and returns the answer without its first line, which is 0 if the command succeeded.
fn exchange(socket: &OwnedFd, request: &[u8], deadline: Instant) -> Result<Vec<u8>, Refusal> {
    send(socket, request, deadline)?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match receive(socket, &mut buffer, deadline)? {
            0 => break,
            count => answer.extend_from_slice(&buffer[..count]),
        }
        if answer.len() > MAX_ANSWER {
            return Err(Refusal::TooLong(MAX_ANSWER));
        }
    }
    unpack(answer)
}

/// Removes the first line of an answer, the result: 0 if the command succeeded.
pub fn unpack(mut answer: Vec<u8>) -> Result<Vec<u8>, Refusal> {
    if answer.is_empty() {
        return Err(Refusal::Closed);
    }
    let end = answer.iter().position(|byte| *byte == b'\n').unwrap_or(answer.len());
    let succeeded = answer[..end].trim_ascii() == b"0";
    answer.drain(..(end + 1).min(answer.len()));
    if succeeded {
        Ok(answer)
    } else {
        Err(Refusal::Failed(
            String::from_utf8_lossy(&answer[..answer.len().min(1000)]).into_owned(),
        ))
    }
}
