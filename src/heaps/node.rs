//! Asks a Node.js program which code allocates the objects that stay, through its inspector.
//!
//! SIGUSR1 makes Node.js open the inspector on the loopback interface. While it is open, every local user can connect to it and run
//! code in the program. So it is opened only if the user asks for it, and closed at once. An inspector that was open before stays
//! open.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{HandshakeError, Message, WebSocket};

use super::java::Status;
use crate::heap::runtimes::Part;

/// The port of the inspector unless an option says otherwise.
const PORT: u16 = 9229;
/// Maximum time for the inspector to open, and to close.
const OPENING: Duration = Duration::from_secs(5);
/// Maximum time for an answer. A collection may come before it.
pub const ANSWER: Duration = Duration::from_secs(60);
/// Maximum size of an answer, and of the list of targets.
const MAX_ANSWER: usize = 64 << 20;
const MAX_LIST: usize = 64 << 10;
/// The mean of the bytes between two samples: V8's default.
const SAMPLING: u64 = 32 << 10;

/// A program of Node.js.
pub struct Node {
    dir: PathBuf,
    pid: Pid,
    pidfd: OwnedFd,
}

/// The answers of the inspector.
pub struct Sampled {
    /// `Node.js v20.20.2`.
    pub version: String,
    /// The result of `HeapProfiler.stopSampling`.
    pub profile: Box<RawValue>,
    pub heap: Option<Part>,
    /// Number of its worker threads, which have heaps of their own and are not sampled.
    pub workers: u64,
}

#[derive(Debug)]
pub enum Refusal {
    /// SIGUSR1 would end it.
    NoHandler,
    /// It is stopped, as by SIGSTOP or a debugger.
    Stopped,
    /// Its inspector did not open.
    NotOpened,
    /// It is no inspector, or speaks another protocol.
    NotUnderstood,
    /// The error that the inspector returned. Raw.
    Failed(String),
    Connection(io::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHandler => f.write_str("it does not handle SIGUSR1, which would end it"),
            Self::Stopped => f.write_str("it is stopped: it cannot answer"),
            Self::NotOpened => {
                f.write_str("its inspector did not open: its port is in use, or the program handles SIGUSR1 itself")
            }
            Self::NotUnderstood => f.write_str("the answer of its inspector could not be parsed"),
            Self::Failed(answer) => write!(
                f,
                "its inspector answered: {}",
                answer.lines().next().unwrap_or_default()
            ),
            Self::Connection(error) => write!(f, "its inspector cannot be reached: {error}"),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl From<rustix::io::Errno> for Refusal {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Connection(errno.into())
    }
}

impl From<procfs::ProcError> for Refusal {
    fn from(error: procfs::ProcError) -> Self {
        Self::Connection(io::Error::other(error))
    }
}

impl From<tungstenite::Error> for Refusal {
    fn from(error: tungstenite::Error) -> Self {
        match error {
            tungstenite::Error::Io(error) => Self::Connection(error),
            _ => Self::NotUnderstood,
        }
    }
}

impl Node {
    /// Opens the process. Nothing is asked yet.
    ///
    /// # Errors
    /// The process has ended.
    pub fn open(dir: &Path, pid: u32) -> Result<Self, Refusal> {
        let pid = i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(Refusal::NotOpened)?;
        Ok(Self {
            dir: dir.to_owned(),
            pid,
            pidfd: pidfd_open(pid, PidfdFlags::empty())?,
        })
    }

    /// Samples allocations until `wait` returns. If `collects`, collects garbage before the end, so that only objects in use are
    /// left. `limit` is the maximum time of each step: to connect, to start, to collect, to stop, to ask for the rest, and to close.
    /// Also returns the port of an inspector that was opened for this and did not close again.
    pub fn sample(
        &self,
        limit: Duration,
        collects: bool,
        wait: impl FnOnce(),
    ) -> (Result<Sampled, Refusal>, Option<u16>) {
        let (address, was_open) = match self.open_inspector() {
            Ok(found) => found,
            Err(why) => return (Err(why), None),
        };
        let sampled = Session::start(self, address, limit).and_then(|mut session| {
            let sampled = session.sample(collects, wait);
            if !was_open {
                session.close_inspector();
            }
            sampled
        });
        let left_open = (!was_open && !self.is_closed(address)).then_some(address.port());
        (sampled, left_open)
    }

    /// Returns the address of the inspector, and true if it was open before.
    fn open_inspector(&self) -> Result<(SocketAddr, bool), Refusal> {
        let status = std::fs::read(self.dir.join("status"))?;
        let status = Status::parse(&status).ok_or(Refusal::NotUnderstood)?;
        if status.is_stopped {
            return Err(Refusal::Stopped);
        }
        let before = self.listeners()?;
        let arguments = std::fs::read(self.dir.join("cmdline"))?;
        let port = configured_port(&arguments).unwrap_or(PORT);
        if let Some(address) = before.iter().filter(|address| address.port() == port).min() {
            return Ok((*address, true));
        }
        if !status.handles(Signal::USR1) {
            return Err(Refusal::NoHandler);
        }
        pidfd_send_signal(&self.pidfd, Signal::USR1)?;
        let deadline = Instant::now() + OPENING;
        while Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
            if let Some(address) = self
                .listeners()?
                .difference(&before)
                .min_by_key(|address| (address.port() != port, **address))
            {
                return Ok((*address, false));
            }
        }
        Err(Refusal::NotOpened)
    }

    /// Returns the addresses on which it listens.
    fn listeners(&self) -> Result<HashSet<SocketAddr>, Refusal> {
        let listening = |entry: &TcpNetEntry| entry.state == TcpState::Listen;
        Ok(self.sockets(listening)?.map(|entry| entry.local_address).collect())
    }

    /// Returns those of its TCP sockets that fulfil a condition.
    fn sockets(&self, fulfils: impl Fn(&TcpNetEntry) -> bool) -> Result<impl Iterator<Item = TcpNetEntry>, Refusal> {
        let process = Process::new_with_root(self.dir.clone())?;
        let own: HashSet<u64> = process
            .fd()?
            .filter_map(|fd| match fd.ok()?.target {
                FDTarget::Socket(inode) => Some(inode),
                _ => None,
            })
            .collect();
        let entries = process.tcp()?.into_iter().chain(process.tcp6().unwrap_or_default());
        Ok(entries.filter(move |entry| own.contains(&entry.inode) && fulfils(entry)))
    }

    /// Returns true if the process has the other end of a connection that was accepted. Another program may listen on the same port of
    /// another address, or may have come to listen on this one.
    fn owns(&self, stream: &TcpStream) -> Result<bool, Refusal> {
        let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let ends = [stream.peer_addr()?, stream.local_addr()?].map(plain);
        let is_it = |entry: &TcpNetEntry| [entry.local_address, entry.remote_address].map(plain) == ends;
        Ok(self.sockets(is_it)?.next().is_some())
    }

    /// Connects to an address of the process, which may be in a container.
    fn connect(&self, address: SocketAddr) -> Result<TcpStream, Refusal> {
        let name_space = |dir: &Path| std::fs::read_link(dir.join("ns/net"));
        let stream = if name_space(&self.dir)? == name_space(Path::new("/proc/self"))? {
            TcpStream::connect_timeout(&address, OPENING)?
        } else {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let net = rustix::fs::open(self.dir.join("ns/net"), flags, Mode::empty())?;
            // A socket stays in the name space in which it was made; a thread would, too.
            let connected = std::thread::spawn(move || {
                move_into_link_name_space(net.as_fd(), Some(LinkNameSpaceType::Network))?;
                TcpStream::connect_timeout(&address, OPENING)
            });
            connected.join().map_err(|_| Refusal::NotUnderstood)??
        };
        Ok(stream)
    }

    /// Waits until it no longer listens on an address. Returns false if it goes on.
    fn is_closed(&self, address: SocketAddr) -> bool {
        let deadline = Instant::now() + OPENING;
        loop {
            // A process that ended listens no longer.
            if !self.listeners().is_ok_and(|listeners| listeners.contains(&address)) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node.js {}", self.pid.as_raw_nonzero())
    }
}

/// Returns the port that the arguments of a program choose for its inspector: `--inspect=127.0.0.1:9230`.
fn configured_port(arguments: &[u8]) -> Option<u16> {
    let text = String::from_utf8_lossy(arguments);
    let value = |argument: &str| {
        let rest = argument.strip_prefix("--inspect")?;
        rest.split_once('=')?.1.rsplit(':').next()?.parse().ok()
    };
    text.split('\0').find_map(value)
}

/// A stream with a deadline for all reads and writes together: the other side may send a byte at a time.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        (!left.is_zero())
            .then_some(left)
            .ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    /// Runs a system call that waits for at most the time that is left. A signal does not end it.
    fn retry(&mut self, mut call: impl FnMut(&mut TcpStream) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            let left = Some(self.left()?);
            self.stream.set_read_timeout(left)?;
            self.stream.set_write_timeout(left)?;
            match call(&mut self.stream) {
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
                done => return done,
            }
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.retry(|stream| stream.read(buffer))
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retry(|stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A connection to an inspector.
struct Session {
    socket: WebSocket<Timed>,
    /// Maximum time of a step.
    limit: Duration,
    /// The number of requests.
    sent: u64,
    /// The number of worker threads that the inspector announced.
    workers: u64,
}

impl Session {
    /// Connects to the first target of an inspector: the main thread. `address` is one on which the program listens.
    fn start(node: &Node, address: SocketAddr, limit: Duration) -> Result<Self, Refusal> {
        let deadline = Instant::now() + limit;
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let address = SocketAddr::new(ip, address.port());
        let connect = || {
            let stream = node.connect(address)?;
            Ok::<_, Refusal>(Timed { stream, deadline })
        };
        let target = target(connect()?, address)?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_ANSWER))
            .max_frame_size(Some(MAX_ANSWER));
        let url = format!("ws://{address}/{target}");
        let socket = tungstenite::client::client_with_config(url, connect()?, Some(config));
        let (socket, _) = socket.map_err(|error| match error {
            HandshakeError::Failure(error) => error.into(),
            HandshakeError::Interrupted(_) => Refusal::NotUnderstood,
        })?;
        if !node.owns(&socket.get_ref().stream)? {
            return Err(Refusal::NotUnderstood);
        }
        Ok(Self {
            socket,
            limit,
            sent: 0,
            workers: 0,
        })
    }

    /// Begins a step, whose requests have a deadline together.
    fn step(&mut self) -> &mut Self {
        self.socket.get_mut().deadline = Instant::now() + self.limit;
        self
    }

    fn sample(&mut self, collects: bool, wait: impl FnOnce()) -> Result<Sampled, Refusal> {
        self.step()
            .ask("HeapProfiler.startSampling", &json!({ "samplingInterval": SAMPLING }))?;
        wait();
        if collects {
            self.step().ask("HeapProfiler.collectGarbage", &json!({}))?;
        }
        let profile = self.step().ask("HeapProfiler.stopSampling", &json!({}))?;
        let usage = self.step().ask("Runtime.getHeapUsage", &json!({})).ok();
        let usage = usage.and_then(|usage| serde_json::from_str::<Usage>(usage.get()).ok());
        let heap = usage.map(|usage| Part {
            name: "heap".to_owned(),
            used: usage.used_size as u64,
            committed: Some(usage.total_size as u64),
            // Its free part may have no pages: it is no hoard.
            resident: None,
            is_heap: false,
        });
        // Announces the worker threads before it answers. Without the request, none are known.
        let _ = self.ask("NodeWorker.enable", &json!({ "waitForDebuggerOnStart": false }));
        let _ = self.ask("NodeWorker.disable", &json!({}));
        Ok(Sampled {
            version: self.version(),
            profile,
            heap,
            workers: self.workers,
        })
    }

    fn version(&mut self) -> String {
        let evaluated = self.ask(
            "Runtime.evaluate",
            &json!({ "expression": "process.version", "silent": true }),
        );
        let value = evaluated
            .ok()
            .and_then(|value| serde_json::from_str::<Value>(value.get()).ok());
        let version = value.as_ref().and_then(|value| value["result"]["value"].as_str());
        format!("Node.js {}", version.unwrap_or_default()).trim_end().to_owned()
    }

    /// Lets the program close the inspector once this connection has ended. It would wait for the end otherwise.
    fn close_inspector(&mut self) {
        let expression =
            "{ const inspector = require('inspector'); setTimeout(() => inspector.close(), 10); undefined }";
        let parameters = json!({ "expression": expression, "includeCommandLineAPI": true, "silent": true });
        // The caller checks afterwards that it closed.
        let _ = self.step().ask("Runtime.evaluate", &parameters);
    }

    /// Sends a request and returns the result. Skips events, and counts the workers among them.
    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Box<RawValue>, Refusal> {
        self.sent += 1;
        let request = json!({ "id": self.sent, "method": method, "params": parameters });
        self.socket.send(Message::text(request.to_string()))?;
        // There may always be more messages in its buffer.
        while self.socket.get_ref().left().is_ok() {
            let message = self.socket.read()?;
            let answer = message.to_text().ok().and_then(|text| serde_json::from_str(text).ok());
            let Some(answer): Option<Answer> = answer else { continue };
            self.workers += u64::from(answer.method.as_deref() == Some("NodeWorker.attachedToWorker"));
            if answer.id != Some(self.sent) {
                continue;
            }
            return match (answer.result, answer.error) {
                (Some(result), None) => Ok(result),
                (_, Some(error)) => Err(Refusal::Failed(error.message)),
                (None, None) => Err(Refusal::NotUnderstood),
            };
        }
        Err(Refusal::Connection(io::ErrorKind::TimedOut.into()))
    }
}

/// An answer, or an event, which has no number.
#[derive(Deserialize)]
struct Answer {
    id: Option<u64>,
    /// Of an event.
    method: Option<String>,
    /// Not parsed: a profile is nested deeply.
    result: Option<Box<RawValue>>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    used_size: f64,
    total_size: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    web_socket_debugger_url: String,
}

/// Asks an inspector for its first target, and returns the path to connect to.
fn target(mut stream: Timed, address: SocketAddr) -> Result<String, Refusal> {
    write!(
        stream,
        "GET /json/list HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    // It may leave the connection open.
    while list(&answer).is_none() && answer.len() < MAX_LIST {
        match stream.read(&mut buffer)? {
            0 => break,
            count => answer.extend_from_slice(&buffer[..count]),
        }
    }
    let targets = list(&answer).ok_or(Refusal::NotUnderstood)?;
    let url = &targets.first().ok_or(Refusal::NotUnderstood)?.web_socket_debugger_url;
    let id = url.rsplit('/').next().unwrap_or_default();
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if is_id {
        Ok(id.to_owned())
    } else {
        Err(Refusal::NotUnderstood)
    }
}

/// Returns the targets of a whole HTTP answer.
fn list(answer: &[u8]) -> Option<Vec<Target>> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    serde_json::from_slice(&answer[end + 4..]).ok()
}
