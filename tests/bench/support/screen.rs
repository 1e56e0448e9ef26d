//! The real program in a pseudo-terminal, frame by frame, each with the moment its last byte came.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::terminal::{Terminal, emulator};

/// Time that a frame is waited for: only a guard against hanging.
const PATIENCE: Duration = Duration::from_secs(20);
/// The end of every frame: that of a synchronized update.
const END: &[u8] = b"\x1b[?2026l";

/// zmtop on a screen of 200×50. Ended when dropped.
pub(crate) struct Screen {
    terminal: Terminal,
    writer: Box<dyn Write + Send>,
    /// Bytes read and when, straight from the terminal.
    chunks: Receiver<(Instant, Vec<u8>)>,
    /// The part of the next frame that has come.
    partial: Vec<u8>,
    came: Instant,
    shown: vt100::Parser,
    /// When the program was started.
    pub(crate) started: Instant,
}

impl Screen {
    /// Starts it.
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut started = Instant::now();
        // The last thing before the start.
        let set = |_: &mut _, _: &_| started = Instant::now();
        let terminal = Terminal::start((200, 50), env!("CARGO_BIN_EXE_zmtop"), args, set).unwrap();
        let mut reader = terminal.master().try_clone_reader().unwrap();
        let (send, chunks) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if send.send((Instant::now(), buffer[..n].to_vec())).is_err() {
                    return;
                }
            }
        });
        Self {
            writer: terminal.master().take_writer().unwrap(),
            terminal,
            chunks,
            partial: Vec::new(),
            came: started,
            shown: emulator(200, 50),
            started,
        }
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.terminal.pid()
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
