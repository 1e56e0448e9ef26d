//! Runs the programs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use zmtop::group::{GroupBy, GroupKey, command_name};
use zmtop::model::{ProcessSample, Snapshot};

use super::cast::{CAST, Role};
use super::verdicts::Judged;

/// A program that runs. Ended when dropped, and all that it forked with it; should this process be killed, they
/// all end of themselves, as their standard input does.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) role: Role,
    /// The group of it and its workers, by the title in brackets that it is given.
    pub(super) group: GroupKey,
    child: Child,
    /// Its standard output: a number for each process that keeps memory, the bytes so far.
    output: File,
}

impl Program {
    /// Starts all of them, so many times as fast as they are meant to be.
    pub(super) fn all(speed: f64) -> Vec<Self> {
        let python = interpreter();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/programs/programs.py");
        CAST.map(|role| Self::start(&python, &script, role, speed)).into()
    }

    fn start(python: &Path, script: &Path, role: Role, speed: f64) -> Self {
        use std::os::unix::process::CommandExt;
        // With the pid in it, as the same tests may run twice on a machine.
        let title = format!("[{}-{}]", role.name, std::process::id());
        let output = tempfile::tempfile().unwrap();
        let child = Command::new(python)
            .arg0(&title)
            .args(["-I", "-B"])
            .arg(script)
            .args([role.name, &speed.to_string()])
            .stdin(Stdio::piped())
            .stdout(output.try_clone().unwrap())
            .process_group(0)
            .spawn()
            .unwrap();
        let name = Some(Arc::from(title.as_bytes()));
        let by = GroupBy::Command;
        Self {
            role,
            group: GroupKey { by, name },
            child,
            output,
        }
    }

    /// Returns its subjects in a snapshot; `None` where it is not there yet.
    pub(super) fn judged(&self, snapshot: &Snapshot) -> Option<Judged<'_>> {
        let mut rows = snapshot.rows().iter();
        let first = rows.find(|row| row.id.pid == self.child.id() && self.has(row))?;
        Some(Judged {
            name: self.role.name,
            id: first.id,
            group: &self.group,
            kept: self.role.leak.map(|_| self.kept()),
        })
    }

    /// Returns the bytes that it says it has kept so far.
    fn kept(&self) -> u64 {
        let mut text = [0; 256];
        let length = self.output.read_at(&mut text, 0).unwrap();
        let text = str::from_utf8(&text[..length]).unwrap();
        text.split_terminator('\n')
            .map(|number| number.trim_matches(['\0', ' ']).parse::<u64>().unwrap())
            .sum()
    }

    /// Returns true if that process is of this program.
    pub(super) fn has(&self, sample: &ProcessSample) -> bool {
        self.group.name.as_deref() == Some(&*command_name(&sample.facts, || None))
    }

    /// Holds it to be running.
    pub(super) fn check(&mut self) {
        let ended = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "{} ended: {ended:?}", self.role.name);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The child is not waited for yet, so no other process can have that number.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Python itself: what is found as `python3` may be a script that runs it.
fn interpreter() -> PathBuf {
    let asked = Command::new("python3")
        .args(["-I", "-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    assert!(asked.status.success(), "python3: {asked:?}");
    String::from_utf8(asked.stdout).unwrap().trim_end().into()
}
