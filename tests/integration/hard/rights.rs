//! A user who may not read what is not theirs.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::{quit, root, skip};
use crate::support::Owned;
use crate::support::pty::{Pty, ZMTOP, have};

const NOBODY: &[&str] = &["--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// Runs a copy of zmtop as nobody, with these rights beyond, in a place where nobody may look; filtered to
/// a process of root's.
fn as_nobody(rights: &[&str], mark: &str) -> (tempfile::TempDir, Pty) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("zmtop");
    crate::support::copy_program(ZMTOP, &program);
    let mut args = NOBODY.to_vec();
    args.extend(rights);
    let filter = format!("cmd:{mark} comm:sleep");
    args.extend([program.to_str().unwrap(), "--interval", "200ms", "--filter", &filter]);
    let pty = Pty::run((200, 40), "setpriv", &args, &[("HOME", dir.path().to_str().unwrap())]);
    (dir, pty)
}

/// The row of the process looked for.
fn row(screen: &str, mark: &str) -> Option<String> {
    let found = screen.lines().find(|l| l.contains(&format!("sleep {mark}")));
    found.map(|l| l.trim().to_owned())
}

#[test]
fn a_user_sees_who_is_there_and_why_not_what_they_use() {
    const MARK: &str = "8008.25";
    if !root() || !have("setpriv") {
        return;
    }
    let _sleeper = Owned::sleep(MARK);
    let (_dir, mut pty) = as_nobody(&[], MARK);
    pty.wait_for_table();
    // Anonymous memory and RSS.
    let has_figures = |row: &str| {
        row.split_whitespace()
            .take(2)
            .all(|figure| figure.ends_with(['K', 'M']))
    };
    pty.wait("the process", |s| row(s, MARK).is_some_and(|row| has_figures(&row)));
    let screen = pty.text();
    let advice = screen.lines().find(|line| line.contains(" needs root or CAP_"));
    let hidden = advice
        .and_then(|line| line.strip_prefix(" PSS of ")?.split_whitespace().next())
        .unwrap_or_else(|| panic!("no word of what is hidden: {screen}"));
    assert!(hidden.parse::<u32>().unwrap() > 0, "{screen}");
    let row = row(&screen, MARK).unwrap();
    assert!(!row.contains(" -"), "a dash says nothing: {row}");
    quit(&mut pty);
}

#[test]
fn a_user_with_the_right_capability_reads_all_of_it() {
    const MARK: &str = "8008.75";
    if !root() || !have("setpriv") {
        return;
    }
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut version = release.split('.').filter_map(|n| n.parse::<u32>().ok());
    let version = (version.next().unwrap_or(0), version.next().unwrap_or(0));
    let name = if version >= (6, 15) { "perfmon" } else { "sys_ptrace" };
    let granted = [format!("--inh-caps=+{name}"), format!("--ambient-caps=+{name}")];
    let granted = [granted[0].as_str(), granted[1].as_str()];
    let tried = Command::new("setpriv")
        .args(NOBODY)
        .args(granted)
        .arg("true")
        .output()
        .unwrap();
    if !tried.status.success() {
        return skip(&format!(
            "no {name} can be granted: {}",
            String::from_utf8_lossy(&tried.stderr)
        ));
    }
    let _sleeper = Owned::sleep(MARK);
    let (_dir, mut pty) = as_nobody(&granted, MARK);
    pty.wait("its figures", |s| {
        row(s, MARK).is_some_and(|row| row.starts_with(|c: char| c.is_ascii_digit()))
    });
    assert!(!pty.text().contains("(partial"), "{}", pty.text());
    if name == "perfmon" {
        let _pair = crate::kernel::shared_mm::start_pair();
        pty.wait_for("may count twice: grant CAP_SYS_PTRACE");
    }
    quit(&mut pty);
}

#[test]
fn records_of_exits_need_the_right_capability() {
    if !root() || !have("setpriv") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("zmtop");
    crate::support::copy_program(ZMTOP, &program);
    let last_exits = |rights: &[&str]| {
        let mut zmtop = Command::new("setpriv");
        zmtop.args(NOBODY).args(rights).arg(&program).env("HOME", dir.path());
        let stream = ["ps", "--every", "200ms", "--count", "4", "--format", "ndjson"];
        let output = zmtop.args(stream).output().unwrap();
        let last = output
            .stdout
            .split(|b| *b == b'\n')
            .rfind(|line| !line.is_empty())?
            .to_vec();
        let snapshot: serde_json::Value = serde_json::from_slice(&last).unwrap();
        Some(snapshot["exits"].clone())
    };
    let exits = last_exits(&[]).unwrap();
    if exits["unread"] == "not visible from here" {
        return skip("the records of exits come only outside of containers");
    }
    assert_eq!(exits["unread"], "permission denied", "{exits}");
    assert!(exits["started"].is_u64() && exits.get("list").is_none(), "{exits}");
    let exits = last_exits(&["--inh-caps=+net_admin", "--ambient-caps=+net_admin"]);
    let Some(exits) = exits.filter(|exits| exits["unread"] != "not offered by this kernel") else {
        return skip("no net_admin can be granted, or the kernel has no CONFIG_TASKSTATS");
    };
    assert!(exits["ended"].is_u64(), "{exits}");
}
