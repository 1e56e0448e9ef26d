//! A real recorder.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use zmtop::source::Source;

/// One at a time: what lets processes be killed, and what must not see others' kills.
static ONE: Mutex<()> = Mutex::new(());

/// Returns once nothing else is killed because memory is short.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE.lock()
}

/// A recording of this machine with the shipped defaults, if nothing else is set.
pub(crate) struct Recorded {
    dir: TempDir,
    pub(crate) file: PathBuf,
    child: Option<Child>,
    _alone: MutexGuard<'static, ()>,
}

impl Recorded {
    pub(crate) fn new() -> Self {
        let alone = alone();
        let dir = tempfile::tempdir().unwrap();
        Self {
            file: dir.path().join("scene.zmrec"),
            dir,
            child: None,
            _alone: alone,
        }
    }

    fn zmtop(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zmtop"));
        command
            .env("HOME", self.dir.path())
            .env("XDG_CONFIG_HOME", self.dir.path());
        command
    }

    /// Writes the settings to start it with.
    pub(crate) fn configure(&self, settings: &str) {
        let folder = self.dir.path().join("zmtop");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), settings).unwrap();
    }

    pub(crate) fn start(&mut self, options: &[&str]) {
        let mut command = self.zmtop();
        command
            .arg("record")
            .args(options)
            .arg(&self.file)
            .stderr(Stdio::null());
        self.child = Some(command.spawn().unwrap());
    }

    /// Waits until so many more snapshots are on the disk.
    pub(crate) fn wait_for(&self, more: usize) {
        let count = || Source::open(&self.file).map_or(0, |source| source.flatten().count());
        let wanted = count() + more;
        for _ in 0..1200 {
            if count() >= wanted {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("no snapshot is recorded");
    }

    pub(crate) fn end(&mut self) {
        let mut child = self.child.take().unwrap();
        rustix::process::kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        child.wait().unwrap();
    }

    /// Returns the output of `zmtop why` about the recording.
    pub(crate) fn why(&self, options: &[&str]) -> String {
        let told = self.zmtop().arg("why").args(options).arg(&self.file).output().unwrap();
        String::from_utf8(told.stdout).unwrap()
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
