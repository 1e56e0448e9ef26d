//! The diagnostics socket of a .NET runtime, over which it sends its counters: [`crate::heap::dotnet`].
//!
//! zmtop queries it as `dotnet-counters` does. The program does not pause, no garbage is collected and no heap is dumped. If the
//! connection ends early, the runtime ends the session with the next counters that it sends.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Pid;

use super::java::Status;
use super::socket::{Refusal, Socket, receive, send, within};
use crate::heap::dotnet::{self, Answer, Counters, FAULT, SESSION, Stream};
use crate::model::Missing;
use crate::proc::namespace::Namespace;
use crate::proc::{files, pid as pid_files};

/// Maximum size of the stream, in bytes. A set of counters has some 10 kB.
const MAX_STREAM: usize = 4 << 20;
/// Maximum time for the end of a session.
const ENDING: Duration = Duration::from_secs(2);
/// `DS_IPC_E_UNKNOWN_COMMAND`.
const UNKNOWN_COMMAND: u32 = 0x8013_1385;
const MAX_FILE: usize = 64 << 20;
/// The directory of the runtime's files, before that of its version.
const SHARED: &[u8] = b"/Microsoft.NETCore.App/";

/// A .NET runtime that can be queried.
pub struct Dotnet {
    pub socket: Socket,
    /// Its name, and its version if the path of its files has it. Raw.
    pub version: String,
}

impl Dotnet {
    /// Prepares to query the runtime of the process `pid`. Sends nothing.
    ///
    /// # Errors
    /// The reason why it cannot be queried.
    pub fn open(dir: &Path, pid: u32) -> Result<Self, Refusal> {
        let read = |name: &str| files::slurp_grown(dir.join(name).as_os_str().as_encoded_bytes(), 8 << 10, MAX_FILE);
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let raw = raw.ok_or(Refusal::Unread(Missing::Gone))?;
        let status = Status::parse(&read("status")?).ok_or(Refusal::Unread(Missing::Malformed))?;
        if status.is_stopped {
            return Err(Refusal::Stopped);
        }
        let stat = read("stat")?;
        let start = pid_files::stat(&stat, 4096).map_err(Refusal::Unread)?.starttime;
        let environ = read("environ")?;
        let mut variables = environ.split(|byte| *byte == 0);
        let tmp = variables.find_map(|variable| variable.strip_prefix(b"TMPDIR="));
        let tmp = tmp.filter(|tmp| tmp.starts_with(b"/")).unwrap_or(b"/tmp");
        let socket = Socket {
            pid: raw,
            uid: status.uid,
            gid: status.gid,
            dir: directory(dir, tmp)?,
            name: format!("dotnet-diagnostic-{}-{start}-socket", status.own_pid),
        };
        if !socket.exists()? {
            return Err(Refusal::NoSocket(String::from_utf8_lossy(tmp).into_owned()));
        }
        let maps = read("maps")?;
        let version = maps.windows(SHARED.len()).position(|window| window == SHARED);
        let version = version.and_then(|at| maps[at + SHARED.len()..].split(|byte| b"/\n".contains(byte)).next());
        let version = version.map_or_else(String::new, |text| format!(" {}", String::from_utf8_lossy(text)));
        Ok(Self {
            socket,
            version: format!(".NET{version}"),
        })
    }

    /// Waits for a set of counters, which the runtime sends after a second. Then ends the session.
    ///
    /// # Errors
    /// The reason why there are no counters.
    pub fn counters(&self, limit: Duration) -> Result<Counters, Refusal> {
        let ask = || {
            within(limit, |deadline| {
                let connection = self.socket.connect(deadline)?;
                send(&connection, &dotnet::start(), deadline)?;
                let session = session(&connection, deadline)?;
                let counters = counters(&connection, deadline);
                let _ = self.stop(session, &connection);
                counters
            })
        };
        self.socket.as_owner(ask).map_err(|refusal| match refusal {
            Refusal::Closed => Refusal::Cut,
            other => other,
        })
    }

    fn stop(&self, session: u64, connection: &OwnedFd) -> Result<(), Refusal> {
        let deadline = Instant::now() + ENDING;
        let stop = self.socket.connect(deadline)?;
        send(&stop, &dotnet::stop(session), deadline)?;
        let mut buffer = vec![0; 64 << 10];
        // The runtime waits until what is left of the stream is read.
        for connection in [connection, &stop] {
            while receive(connection, &mut buffer, deadline)? > 0 {}
        }
        Ok(())
    }
}

/// Opens a directory as the process sees it. A link in its path cannot lead out of its root.
fn directory(dir: &Path, path: &[u8]) -> Result<OwnedFd, Refusal> {
    Namespace::new(dir)
        .pin(Path::new(OsStr::from_bytes(path)))
        .map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR => Refusal::NoSocket(String::from_utf8_lossy(path).into_owned()),
            other => other.into(),
        })
}

/// Reads the answer to the request of a session.
fn session(connection: &OwnedFd, deadline: Instant) -> Result<u64, Refusal> {
    let mut bytes = [0; SESSION];
    let mut read = 0;
    loop {
        let end = if read < FAULT { FAULT } else { SESSION };
        match receive(connection, &mut bytes[read..end], deadline)? {
            0 => return Err(Refusal::Cut),
            count => read += count,
        }
        if read < FAULT {
            continue;
        }
        match dotnet::answer(&bytes[..read]) {
            Answer::More if read < SESSION => {}
            Answer::Session(session) => return Ok(session),
            Answer::Failed(UNKNOWN_COMMAND) => {
                return Err(Refusal::Failed("unknown command (.NET Core 3.0?)".to_owned()));
            }
            Answer::Failed(code) => return Err(Refusal::Failed(format!("error 0x{code:08x}"))),
            Answer::More | Answer::Strange => return Err(Refusal::NotUnderstood),
        }
    }
}

/// Reads the stream of events, until it has a set of counters.
fn counters(connection: &OwnedFd, deadline: Instant) -> Result<Counters, Refusal> {
    let mut stream = Stream::default();
    let mut buffer = vec![0; 64 << 10];
    let mut read = 0;
    loop {
        if let Some(counters) = stream.counters() {
            return Ok(counters.clone());
        }
        if read > MAX_STREAM {
            return Err(Refusal::TooLong(MAX_STREAM));
        }
        let count = receive(connection, &mut buffer, deadline)?;
        if count == 0 {
            return Err(Refusal::Cut);
        }
        read += count;
        stream.push(&buffer[..count]).map_err(|_| Refusal::NotUnderstood)?;
    }
}
