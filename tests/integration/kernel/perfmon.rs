//! With `CAP_PERFMON` alone: `smaps_rollup` can be read, but `stat` hides addresses and `kcmp` is denied.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use zmtop::sampler::{Options, Scanner};

use super::child::Child;
use super::row;
use crate::support::{PATIENCE, block_on, cannot, skip};

/// Names the process to look at and the file that lets it go on, in the process that has the capability.
const WATCH: &str = "ZMTOP_TEST_PERFMON";

const NAME: &str = "kernel::perfmon::an_exec_starts_another_program";

/// Runs this test again as nobody with the capability; returns what it said, or `None` if that cannot be done.
fn with_perfmon(watch: &str) -> Option<std::process::Output> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("tests");
    crate::support::copy_program(std::env::current_exe().unwrap(), &program);
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let granted = ["--inh-caps=+perfmon", "--ambient-caps=+perfmon"];
    let mut command = Command::new("setpriv");
    command.args(nobody).args(granted);
    if !command.arg("true").status().is_ok_and(|status| status.success()) {
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(nobody).args(granted).arg(program);
    command.args(["--exact", NAME, "--nocapture", "--test-threads=1"]);
    command.env(WATCH, watch).output().ok()
}

#[test]
fn an_exec_starts_another_program() {
    if let Ok(watch) = std::env::var(WATCH) {
        let (pid, go) = watch.split_once(' ').unwrap();
        watch_an_exec(pid.parse().unwrap(), Path::new(go));
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip("granting a capability needs root");
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let go = dir.path().join("go");
    let go = go.to_str().unwrap();
    let script = "while [ ! -e \"$1\" ]; do sleep 0.05; done; exec sleep 60";
    let child = Command::new("sh").args(["-c", script, "sh", go]).spawn().unwrap();
    let child = Child::from(child);
    let Some(output) = with_perfmon(&format!("{} {go}", child.pid())) else {
        return cannot("CAP_PERFMON cannot be granted here");
    };
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn watch_an_exec(pid: u32, go: &Path) {
    let mut scanner = Scanner::new(&Options::new(None));
    let shell = row(&block_on(scanner.full()), pid).clone();
    if shell.walk.is_err() {
        return cannot("this kernel lets CAP_PERFMON read no smaps_rollup");
    }
    assert_eq!((shell.stat.image, shell.stat.argv), (0, 0), "the kernel hides nothing");
    assert_eq!(shell.exec, 0);
    for _ in 0..3 {
        assert_eq!(row(&block_on(scanner.tick()), pid).exec, 0);
    }
    std::fs::write(go, "").unwrap();
    let began = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let snapshot = block_on(scanner.tick());
        let r = row(&snapshot, pid);
        let is_sleep = r.facts.cmdline.as_deref() == Ok(b"sleep\x0060\0");
        if r.exec == 1 && is_sleep && r.walk.is_ok() {
            return;
        }
        assert!(r.exec < 2, "{r:?}");
        assert!(began.elapsed() < PATIENCE, "the exec is not seen: {r:?}");
    }
}
