//! A program in a pseudo-terminal of its own, with a home of its own, for the tests and the benches.

use std::num::NonZero;
use std::path::Path;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// A running program. Ended when dropped.
pub(crate) struct Terminal {
    pub(crate) child: Box<dyn Child + Send + Sync>,
    /// The other side of the terminal; `None` once it is closed.
    pub(crate) master: Option<Box<dyn MasterPty + Send>>,
    pub(crate) home: tempfile::TempDir,
}

impl Terminal {
    /// Starts a program on a terminal of so many columns and rows, in an empty home, with an environment of its own that `set`
    /// may change. `None` where there is no such program.
    pub(crate) fn start(
        (cols, rows): (u16, u16),
        program: &str,
        args: &[&str],
        set: impl FnOnce(&mut CommandBuilder, &Path),
    ) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let pair = native_pty_system().openpty(size(cols, rows)).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.env_clear();
        command.env("PATH", std::env::var("PATH").unwrap_or_default());
        command.env("HOME", home.path());
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        command.cwd(home.path());
        set(&mut command, home.path());
        Some(Self {
            child: pair.slave.spawn_command(command).ok()?,
            master: Some(pair.master),
            home,
        })
    }

    pub(crate) fn master(&self) -> &dyn MasterPty {
        &**self.master.as_ref().unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits for the program to end; its exit code, `None` where that takes longer.
    pub(crate) fn exit_code(&mut self, patience: Duration) -> Option<u32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status.exit_code());
            }
            if start.elapsed() >= patience {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the program. Signals nothing once it was waited for: the pid may be that of another by then.
    pub(crate) fn end(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) const fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

pub(crate) fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

/// Returns an emulator of a terminal of that size.
pub(crate) fn emulator(cols: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(cells(rows), cells(cols), 0)
}
