//! Processes that zmtop may not look at. The tests run themselves again as a user without rights.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use zmtop::group::Coverage;
use zmtop::model::{Missing, Snapshot};
use zmtop::sampler::{Options, Scanner};

use super::row;
use crate::support::{block_on, cannot, skip};

/// Names the proc tree, in the process that has no rights.
const ROOT: &str = "ZMTOP_TEST_NOBODY";
const NOBODY: u32 = 65534;
/// The exit code of the shell if it may not mount.
const NO_MOUNT: i32 = 97;

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("becoming another user needs root");
    }
    root
}

/// Runs a test in its process without rights, and says what came of it.
fn check(mut command: Command, name: &str, root: &Path) {
    command.args(["--exact", name, "--test-threads=1"]).env(ROOT, root);
    match command.output() {
        Ok(output) if output.status.code() == Some(NO_MOUNT) => cannot("this machine allows no mount of proc"),
        Ok(output) => assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(e) => cannot(&format!("the tests cannot be run so here: {e}")),
    }
}

#[test]
fn another_users_memory() {
    if std::env::var_os(ROOT).is_none() {
        if is_root() {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.uid(NOBODY).gid(NOBODY);
            check(command, "kernel::denied::another_users_memory", Path::new("/proc"));
        }
        return;
    }
    let mut scanner = Scanner::new(&crate::support::machine_options());
    block_on(scanner.full());
    // What may not be walked is known by then.
    let snapshot = block_on(scanner.full());
    let init = row(&snapshot, 1);
    assert_eq!(init.walk, Err(Missing::Denied));
    let counted = init.counted.anon().unwrap();
    assert!(counted > 0 && counted < init.counted_rss().unwrap(), "{counted}");
    assert!(init.counted.swap().is_some() && init.data.is_ok());
    assert_eq!((init.stat.image, init.exec), (0, 0));
    assert_eq!(init.facts.uid, Ok(0));
    let own = row(&snapshot, std::process::id());
    assert!(own.walk.is_ok() && own.stat.image != 0);
    let coverage = Coverage::of(&snapshot);
    let (read, all) = (coverage.readable, coverage.total());
    assert!(read >= 1 && all > read);
}

/// Returns a snapshot of a proc that is mounted with these options, in the process without rights. In the one with rights, runs
/// the test of that name in one without.
fn mounted(options: &str, name: &str) -> Option<Arc<Snapshot>> {
    if let Some(root) = std::env::var_os(ROOT) {
        let options = Options::new(Some(Path::new(&root)));
        return Some(block_on(Scanner::new(&options).full()));
    }
    if is_root() {
        let dir = tempfile::tempdir().unwrap();
        // In a mount namespace of its own, so that nothing is left behind.
        let mut command = Command::new("unshare");
        let script = format!(
            "mount -t proc -o {options} none \"${ROOT}\" || exit {NO_MOUNT}\n\
             exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups \"$0\" \"$@\""
        );
        command
            .args(["--mount", "sh", "-c", &script])
            .arg(std::env::current_exe().unwrap());
        // The directory is on the way, so it may be entered by all.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path(), open).unwrap();
        check(command, name, dir.path());
    }
    None
}

#[test]
fn a_proc_without_the_processes_of_others() {
    // As `hidepid=2`, but a kernel that would hide them in every proc of the machine refuses this name of it.
    let name = "kernel::denied::a_proc_without_the_processes_of_others";
    let Some(snapshot) = mounted("hidepid=invisible", name) else {
        return;
    };
    assert!(snapshot.rows().iter().all(|row| row.id.pid != 1));
    let own = row(&snapshot, std::process::id());
    assert!(own.walk.is_ok() && own.id.starttime > 0);
    // What is of the system is not hidden.
    let s = &snapshot.system;
    assert!(s.mem_total.is_ok() && s.pswpin.is_ok() && s.uptime.is_ok());
}

#[test]
fn a_proc_that_hides_what_is_not_ones_own() {
    let name = "kernel::denied::a_proc_that_hides_what_is_not_ones_own";
    let Some(snapshot) = mounted("hidepid=1,subset=pid", name) else {
        return;
    };
    // Listed, with the reason; not one figure of it is made up.
    let init = row(&snapshot, 1);
    assert_eq!((init.id.starttime, init.stat.state), (0, b'?'));
    assert_eq!(
        (init.walk, init.facts.uid),
        (Err(Missing::Denied), Err(Missing::Denied))
    );
    let own = row(&snapshot, std::process::id());
    assert!(own.walk.is_ok() && own.id.starttime > 0);
    let coverage = Coverage::of(&snapshot);
    let (read, all) = (coverage.readable, coverage.total());
    assert!(read >= 1 && all > read);
    // With subset=pid there is nothing of the system.
    let s = &snapshot.system;
    assert_eq!(
        (s.mem_total, s.pswpin, s.uptime),
        (
            Err(Missing::Unsupported),
            Err(Missing::Unsupported),
            Err(Missing::Unsupported)
        )
    );
}
