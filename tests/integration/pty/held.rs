//! A pseudo-terminal whose other side the test holds alone, and can close.

use std::io::Read;
use std::time::Instant;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::support::pty::{PATIENCE, ZMTOP};

/// zmtop with standard input, output and error on a pseudo-terminal. Ended when dropped.
pub(super) struct Held {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    _home: tempfile::TempDir,
}

impl Held {
    /// Runs zmtop; the terminal is its session's if `is_own`, so that it gets SIGHUP.
    pub(super) fn new(args: &[&str], is_own: bool) -> Self {
        let home = tempfile::tempdir().unwrap();
        let size = PtySize {
            rows: 24,
            cols: 80,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(ZMTOP);
        command.args(args);
        command.env("HOME", home.path());
        command.env("TERM", "xterm-256color");
        command.cwd(home.path());
        command.set_controlling_tty(is_own);
        Self {
            child: pair.slave.spawn_command(command).unwrap(),
            master: Some(pair.master),
            _home: home,
        }
    }

    /// Reads what is written until it holds `wanted`.
    #[track_caller]
    pub(super) fn read_until(&self, wanted: &[u8]) {
        let mut reader = self.master.as_ref().unwrap().try_clone_reader().unwrap();
        let mut all = Vec::new();
        while !all.windows(wanted.len()).any(|part| part == wanted) {
            let mut buffer = [0; 4096];
            let len = reader.read(&mut buffer).unwrap();
            assert!(len > 0, "it ended before: {}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&buffer[..len]);
        }
    }

    /// Closes the other side, and waits for zmtop to end; its exit code.
    #[track_caller]
    pub(super) fn close_and_wait(&mut self) -> u32 {
        self.master = None;
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
