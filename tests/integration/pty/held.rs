//! A pseudo-terminal whose other side the test holds alone, and can close.

use std::io::Read;

use crate::support::pty::{PATIENCE, ZMTOP, wait_gone_after};
use crate::support::terminal::Terminal;

/// zmtop with standard input, output and error on a pseudo-terminal. Ended when dropped.
pub(super) struct Held(Terminal);

impl Held {
    /// Runs zmtop; the terminal is its session's if `is_own`, so that it gets SIGHUP.
    pub(super) fn new(args: &[&str], is_own: bool) -> Self {
        let started = Terminal::start((80, 24), ZMTOP, args, |command, _| command.set_controlling_tty(is_own));
        Self(started.unwrap())
    }

    /// Reads what is written until it holds `wanted`.
    #[track_caller]
    pub(super) fn read_until(&self, wanted: &[u8]) {
        let mut reader = self.0.master().try_clone_reader().unwrap();
        let mut all = Vec::new();
        while !all.windows(wanted.len()).any(|part| part == wanted) {
            let mut buffer = [0; 4096];
            let len = reader.read(&mut buffer).unwrap();
            assert!(len > 0, "it ended before: {}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&buffer[..len]);
        }
    }

    /// Closes the other side, and waits for zmtop to end; its exit code. Fails if it spins until then.
    #[track_caller]
    pub(super) fn close_and_wait(&mut self) -> u32 {
        wait_gone_after(self.0.pid().cast_signed(), || self.0.master = None);
        self.0.exit_code(PATIENCE).expect("it does not end")
    }
}
