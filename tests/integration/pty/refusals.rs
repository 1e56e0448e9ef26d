//! Refusals to run: a reason in one line, and the documented exit code.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::copy_program;
use crate::support::pty::{Pty, ZMTOP};

/// The user without rights.
const NOBODY: u32 = 65534;

fn refused(command: &mut Command) -> (Option<i32>, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.stdout.is_empty());
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn without_a_terminal() {
    let home = tempfile::tempdir().unwrap();
    let (code, said) = refused(Command::new(ZMTOP).env("HOME", home.path()));
    assert_eq!(code, Some(2));
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("zmtop ps"), "{said}");
}

#[test]
fn on_a_dumb_terminal() {
    for term in ["dumb", ""] {
        let mut pty = Pty::run((80, 24), ZMTOP, &[], &[("TERM", term)]);
        assert_eq!(pty.exit_code(), 2);
        pty.wait_for("zmtop ps");
    }
}

#[test]
fn with_a_bad_config_or_option() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    std::fs::write(&config, "[ui]\nsort = \"psss\"\nunits = 3\n").unwrap();
    let (code, said) = refused(
        Command::new(ZMTOP)
            .env("HOME", home.path())
            .arg("--config")
            .arg(&config),
    );
    assert_eq!(code, Some(2));
    assert!(
        said.contains("ui.sort") && said.contains("ui.units"),
        "every fault is named: {said}"
    );
    let (code, said) = refused(Command::new(ZMTOP).env("HOME", home.path()).args(["--interval", "5ms"]));
    assert_eq!(code, Some(2));
    assert!(said.contains("--interval"), "{said}");
}

/// A copy of zmtop that belongs to nobody. `None` where only root could make it.
fn copy() -> Option<(tempfile::TempDir, PathBuf)> {
    if !rustix::process::geteuid().is_root() {
        assert!(std::env::var_os("CI").is_none(), "CI runs the tests as root");
        return None;
    }
    // The target directory may lie on a filesystem that honours setuid; the temporary one may not.
    let dir = tempfile::tempdir_in(Path::new(ZMTOP).parent().unwrap()).unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = dir.path().join("zmtop");
    copy_program(ZMTOP, &copy);
    chown(&copy, Some(NOBODY), Some(NOBODY)).unwrap();
    Some((dir, copy))
}

#[test]
fn setuid() {
    let Some((dir, copy)) = copy() else { return };
    for mode in [0o4755, 0o2755] {
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(mode)).unwrap();
        for arguments in [&[][..], &["ps"], &["serve"]] {
            let (code, said) = refused(Command::new(&copy).args(arguments).env("HOME", dir.path()));
            assert_eq!(code, Some(2), "{mode:o} {arguments:?}: {said}");
            assert!(said.contains("setuid"), "{mode:o} {arguments:?}: {said}");
        }
    }
}
