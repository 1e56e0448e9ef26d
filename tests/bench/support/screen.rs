//! The real program in a pseudo-terminal, frame by frame, each with the moment its last byte came.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Time that a frame is waited for: only a guard against hanging.
const PATIENCE: Duration = Duration::from_secs(20);
/// The end of every frame: that of a synchronized update.
const END: &[u8] = b"\x1b[?2026l";

/// zmtop on a screen of 200×50. Ended when dropped.
pub(crate) struct Screen {
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    /// Bytes read and when, straight from the terminal.
    chunks: Receiver<(Instant, Vec<u8>)>,
    /// The part of the next frame that has come.
    partial: Vec<u8>,
    came: Instant,
    shown: vt100::Parser,
    /// When the program was started.
    pub(crate) started: Instant,
    _home: tempfile::TempDir,
}

impl Screen {
    /// Starts it.
    pub(crate) fn start(args: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let size = PtySize {
            rows: 50,
            cols: 200,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_zmtop"));
        command.args(args);
        command.env_clear();
        command.env("HOME", home.path());
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        command.cwd(home.path());
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (send, chunks) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if send.send((Instant::now(), buffer[..n].to_vec())).is_err() {
                    return;
                }
            }
        });
        let writer = pair.master.take_writer().unwrap();
        let started = Instant::now();
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        Self {
            child,
            _master: pair.master,
            writer,
            chunks,
            partial: Vec::new(),
            came: started,
            shown: vt100::Parser::new(NonZero::new(50).unwrap(), NonZero::new(200).unwrap(), 0),
            started,
            _home: home,
        }
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// The line so far from the top.
    pub(crate) fn line(&self, at: usize) -> String {
        self.shown.screen().rows(0, 200).nth(at).unwrap()
    }

    /// The whole screen.
    pub(crate) fn text(&self) -> String {
        self.shown.screen().contents()
    }

    /// Types, at the moment returned.
    pub(crate) fn send(&mut self, keys: &str) -> Instant {
        let now = Instant::now();
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
        now
    }

    /// Takes in frames until one is as wanted; when its last byte came.
    pub(crate) fn until(&mut self, what: &str, mut wanted: impl FnMut(&Self) -> bool) -> Instant {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(at) = self.frame(Duration::from_millis(100))
                && wanted(self)
            {
                return at;
            }
        }
        panic!("waited in vain for {what}:\n{}", self.text());
    }

    /// Takes in every frame that has come whole.
    pub(crate) fn catch_up(&mut self) {
        while self.frame(Duration::ZERO).is_some() {}
    }

    /// Takes in one frame.
    fn frame(&mut self, patience: Duration) -> Option<Instant> {
        loop {
            if let Some(at) = self.partial.windows(END.len()).position(|w| w == END) {
                let rest = self.partial.split_off(at + END.len());
                let frame = std::mem::replace(&mut self.partial, rest);
                self.shown.process(&frame);
                return Some(self.came);
            }
            let (at, bytes) = self.chunks.recv_timeout(patience).ok()?;
            self.came = at;
            self.partial.extend(bytes);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
