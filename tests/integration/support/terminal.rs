//! A program in a pseudo-terminal of its own, with a home of its own, for the tests and the benches.

use std::path::Path;

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
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
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

/// Returns an emulator of a terminal of that size.
pub(crate) fn emulator(cols: u16, rows: u16) -> vt100::Parser {
    let cells = |count| std::num::NonZero::new(count).unwrap();
    vt100::Parser::new(cells(rows), cells(cols), 0)
}
