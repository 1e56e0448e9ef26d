//! A running `zmtop serve`, and requests to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::pty::ZMTOP;
use crate::support::tree::ProcTree;
use crate::support::{Owned, fill, name_of};

/// Time after which a test gives up.
pub(super) use crate::support::PATIENCE;

/// A running `zmtop serve`; ended when dropped.
pub(super) struct Server {
    pub(super) child: Owned,
    pub(super) address: SocketAddr,
    stderr: BufReader<ChildStderr>,
}

impl Server {
    pub(super) fn start(tree: &ProcTree, more: &[&str]) -> Self {
        Self::start_in(tree, more, &[])
    }

    /// Starts it with variables of the environment.
    pub(super) fn start_in(tree: &ProcTree, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(ZMTOP);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--proc-root"])
            .arg(tree.root())
            .args(more)
            .env_clear()
            .envs(variables.iter().copied())
            .env("HOME", tree.path("home"))
            .stdin(Stdio::null());
        Self::of(&mut command).unwrap_or_else(|said| panic!("{said}"))
    }

    /// Starts a command that becomes `zmtop serve`; returns what it says instead of listening.
    pub(super) fn of(command: &mut Command) -> Result<Self, String> {
        let mut child = Owned(command.stderr(Stdio::piped()).spawn().unwrap());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("zmtop: listening at http");
        let address = address.and_then(|rest| {
            rest.trim_start_matches('s')
                .strip_prefix("://")?
                .strip_suffix("/metrics")
        });
        if let Some(Ok(address)) = address.map(str::parse) {
            return Ok(Self { child, address, stderr });
        }
        Err(line)
    }

    /// Waits for a line that it says.
    pub(super) fn wait_for(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            if self.stderr.buffer().is_empty() {
                let fd = &mut [PollFd::new(self.stderr.get_ref(), PollFlags::IN)];
                let wait = Timespec::try_from(PATIENCE).unwrap();
                assert!(poll(fd, Some(&wait)).unwrap() > 0, "it never says {text:?}");
            }
            assert!(self.stderr.read_line(&mut line).unwrap() > 0, "it ended");
        }
    }

    /// Fills its stderr, so that a message waits until something of it is read.
    pub(super) fn fill_stderr(&self) {
        fill(name_of(self.stderr.get_ref()));
    }

    /// Scrapes until an answer is as wanted.
    #[track_caller]
    pub(super) fn scrape_until(&self, what: &str, mut wanted: impl FnMut(&str) -> bool) {
        let begun = Instant::now();
        while !wanted(&self.scrape()) {
            assert!(begun.elapsed() < PATIENCE, "scraped in vain for {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Tells it to end, and waits for that; its exit code.
    #[track_caller]
    pub(super) fn end(&mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.exit_code()
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends bytes; returns all that is answered.
    pub(super) fn send(&self, bytes: &[u8]) -> String {
        String::from_utf8(self.send_for_bytes(bytes)).unwrap()
    }

    /// Sends bytes; returns all that is answered, which is no text.
    pub(super) fn send_for_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // What answers early may have closed it.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    pub(super) fn get(&self, path: &str, accept: &str) -> String {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n").as_bytes())
    }

    /// Returns the metrics once there are some.
    pub(super) fn scrape(&self) -> String {
        let begun = Instant::now();
        loop {
            let answer = self.get("/metrics", "*/*");
            if answer.starts_with("HTTP/1.1 200 ") {
                return answer;
            }
            assert!(
                answer.starts_with("HTTP/1.1 503 ") && begun.elapsed() < PATIENCE,
                "{answer}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

pub(super) fn tree() -> ProcTree {
    let tree = ProcTree::new();
    tree.process(7).comm("server").cmdline("server\0").pss_kb(3000).write();
    tree
}
