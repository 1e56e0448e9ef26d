//! Rights that each command keeps of those that it was started with, as read from the kernel.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::pty::{Pty, ZMTOP, have};
use crate::support::{Owned, PATIENCE, cannot, copy_program, skip};

const NOBODY: u32 = 65534;
const AS_NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];
const MANUAL: &str = include_str!("../../src/manual/serve.md");

/// The capabilities, by their numbers in `include/uapi/linux/capability.h`, that some command keeps.
const NUMBERS: [(&str, u32); 17] = [
    ("CAP_CHOWN", 0),
    ("CAP_DAC_OVERRIDE", 1),
    ("CAP_DAC_READ_SEARCH", 2),
    ("CAP_FOWNER", 3),
    ("CAP_KILL", 5),
    ("CAP_SETGID", 6),
    ("CAP_SETUID", 7),
    ("CAP_NET_ADMIN", 12),
    ("CAP_IPC_LOCK", 14),
    ("CAP_SYS_PTRACE", 19),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_SYS_NICE", 23),
    ("CAP_SYS_RESOURCE", 24),
    ("CAP_MAC_OVERRIDE", 32),
    ("CAP_SYSLOG", 34),
    ("CAP_PERFMON", 38),
    ("CAP_CHECKPOINT_RESTORE", 40),
];
/// The capabilities that stay with every command that reads processes.
const LOOK: &str = "SYS_PTRACE PERFMON CHECKPOINT_RESTORE DAC_READ_SEARCH SYSLOG IPC_LOCK MAC_OVERRIDE";
/// Kept only by a kernel or a machine that lacks something.
const SYS_ADMIN: u64 = 1 << 21;

fn set(names: &str) -> u64 {
    let number = |name: &str| {
        let full = format!("CAP_{name}");
        NUMBERS.iter().find(|(known, _)| *known == full).unwrap().1
    };
    names.split_whitespace().map(|name| 1 << number(name)).sum()
}

/// Returns true if these tests can see what a privileged zmtop gives up; says why not.
fn has_rights() -> bool {
    if !rustix::process::geteuid().is_root() {
        skip("giving up rights needs root");
        return false;
    }
    if own() & set("SYS_PTRACE") == 0 || !have("setpriv") {
        cannot("this root has no CAP_SYS_PTRACE, or setpriv is not installed");
        return false;
    }
    true
}

fn own() -> u64 {
    hex(Path::new("/proc/self/status"), "CapPrm").unwrap()
}

/// A set of capabilities; `None` if the thread has ended.
fn hex(status: &Path, key: &str) -> Option<u64> {
    Some(u64::from_str_radix(&line(status, key)?, 16).unwrap())
}

fn line(status: &Path, key: &str) -> Option<String> {
    let status = std::fs::read_to_string(status).ok()?;
    let found = status
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    Some(found.unwrap_or_else(|| panic!("{key}: {status}")).trim().to_owned())
}

/// The thread that begins after rights are given up.
const LATE: &str = "zmtop-runtime";

/// Waits until the program has started its threads. Returns what all of them hold: the capabilities, and `no_new_privs`.
#[track_caller]
fn settled(pid: i32) -> (u64, bool) {
    let begun = Instant::now();
    loop {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        let threads: Vec<PathBuf> = threads.map(|thread| thread.path()).collect();
        let is_late =
            |thread: &PathBuf| std::fs::read_to_string(thread.join("comm")).is_ok_and(|name| name.trim() == LATE);
        if threads.iter().any(is_late) {
            let main = PathBuf::from(format!("/proc/{pid}/status"));
            let permitted = hex(&main, "CapPrm").unwrap();
            for status in threads.iter().map(|thread| thread.join("status")) {
                for key in ["CapPrm", "CapEff"] {
                    let held = hex(&status, key);
                    assert!(
                        held.is_none_or(|held| held == permitted),
                        "{key} of {}",
                        status.display()
                    );
                }
            }
            return (permitted, line(&main, "NoNewPrivs").unwrap() == "1");
        }
        assert!(begun.elapsed() < PATIENCE, "it has not started");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn has_tracefs() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.contains(" - tracefs ") || mounts.contains(" - debugfs ")
}

/// Returns true with a level above 2: the kernels of Debian and Ubuntu then let only `CAP_SYS_ADMIN` sample page faults.
fn needs_admin_to_sample() -> bool {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    level.trim().parse::<i32>().unwrap() > 2
}

/// Checks what the program has kept of the rights of these tests.
#[track_caller]
fn assert_kept(pid: i32, expected: &str, closes: bool) {
    let (kept, no_new_privs) = settled(pid);
    let status = PathBuf::from(format!("/proc/{pid}/status"));
    assert_eq!((hex(&status, "CapInh"), hex(&status, "CapAmb")), (Some(0), Some(0)));
    let expected = set(expected);
    let is_admin = kept & SYS_ADMIN != 0;
    let has_finer = own() & set("PERFMON CHECKPOINT_RESTORE") == set("PERFMON CHECKPOINT_RESTORE");
    assert!(
        !(is_admin && has_finer && has_tracefs()) || needs_admin_to_sample(),
        "{kept:x}"
    );
    assert_eq!(
        kept & !SYS_ADMIN,
        expected & own() & !SYS_ADMIN,
        "{kept:x}, not {expected:x}"
    );
    assert_eq!(no_new_privs, closes);
}

fn zmtop(home: &Path, args: &[&str]) -> Owned {
    Owned::quiet(Command::new(ZMTOP).args(args).env("HOME", home))
}

fn pid(child: &Owned) -> i32 {
    child.id().cast_signed()
}

/// A folder that belongs to nobody.
fn nobodys() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    dir
}

#[test]
fn commands_that_run_on_keep_what_they_may_need_and_nothing_else() {
    if !has_rights() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let watch = format!("{LOOK} NET_ADMIN");
    let recording = home.path().join("recording/");
    let recording = format!("{}/", recording.display());
    for args in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["record", &recording],
        &["ps", "--every", "1"],
        &["leaks", "--for", "5m"],
    ] {
        let child = zmtop(home.path(), args);
        assert_kept(pid(&child), &watch, true);
    }
    // A program after a rotation gets the rights of whoever started zmtop.
    let child = zmtop(home.path(), &["record", "--on-rotate", "/bin/true", &recording]);
    assert_kept(pid(&child), &watch, false);
    let foreign = nobodys();
    let file = foreign.path().join("zmtop.prom");
    let child = zmtop(home.path(), &["serve", "--textfile", file.to_str().unwrap()]);
    assert_kept(pid(&child), &format!("{watch} DAC_OVERRIDE CHOWN FOWNER"), true);
}

#[test]
fn the_monitor_keeps_the_right_to_act_only_if_it_may() {
    if !has_rights() {
        return;
    }
    let every = format!("{LOOK} NET_ADMIN DAC_OVERRIDE CHOWN FOWNER");
    for (args, acts, closes) in [
        (&[][..], " KILL SYS_NICE SYS_RESOURCE", false),
        (&["--readonly"], "", true),
    ] {
        let mut pty = Pty::zmtop((100, 30), args);
        pty.wait_for_table();
        assert_kept(pty.pid(), &format!("{every}{acts}"), closes);
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
}

#[test]
fn what_samples_keeps_the_right_that_the_level_of_perf_requires() {
    if !has_rights() {
        return;
    }
    let has_finer = own() & set("PERFMON CHECKPOINT_RESTORE") == set("PERFMON CHECKPOINT_RESTORE");
    let sleep = Owned::sleep("300");
    let home = tempfile::tempdir().unwrap();
    let child = zmtop(home.path(), &["callers", "--for", "5m", &sleep.id().to_string()]);
    let (kept, _) = settled(pid(&child));
    assert_eq!(kept & SYS_ADMIN != 0, needs_admin_to_sample() || !has_finer, "{kept:x}");
}

#[test]
fn the_manual_lists_what_is_kept() {
    let row = |name: &str| {
        MANUAL
            .lines()
            .find(|line| line.starts_with("| `CAP_") && line.contains(name))
    };
    for (name, _) in NUMBERS {
        assert!(row(&format!("`{name}`")).is_some(), "{name}");
    }
    let rows = MANUAL.lines().filter(|line| line.starts_with("| `CAP_"));
    let listed: Vec<&str> = rows
        .flat_map(|row| row.split('`'))
        .filter(|word| word.starts_with("CAP_"))
        .collect();
    assert!(
        listed.iter().all(|name| NUMBERS.iter().any(|(known, _)| known == name)),
        "{listed:?}"
    );
}

#[test]
fn a_root_that_may_not_trace_gives_up_nothing() {
    if !has_rights() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-sys_ptrace", ZMTOP, "ps", "--every", "1"]);
    let child = Owned::quiet(command.env("HOME", home.path()));
    let (kept, _) = settled(pid(&child));
    assert_eq!(kept, own() & !set("SYS_PTRACE"));
}

#[test]
fn the_program_of_an_alert_has_the_rights_that_root_gives_it() {
    if !has_rights() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let script = "grep -E '^(Cap|NoNewPrivs)' /proc/self/status > \"$0.new\"; mv \"$0.new\" \"$0\"";
    let usual = Command::new("sh")
        .args(["-c", script, &path("usual")])
        .status()
        .unwrap();
    assert!(usual.success());
    let config = format!(
        "[[alert]]\nname = 'x'\nwhen = 'processes>0'\non = 'system'\nhold = 0\nrun = ['/bin/sh', '-c', '''{script}''', '{}']\n",
        path("out")
    );
    std::fs::write(path("config.toml"), config).unwrap();
    let mut pty = Pty::run((110, 30), ZMTOP, &["--config", &path("config.toml")], &[]);
    pty.wait_for_table();
    pty.wait("the program ran", |_| Path::new(&path("out")).exists());
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    assert_eq!(read("out"), read("usual"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn processes_of_others_are_still_read_and_acted_on() {
    if !has_rights() {
        return;
    }
    let child = Owned::quiet(Command::new("setpriv").args(AS_NOBODY).args(["sleep", "300"]));
    let listed = Command::new(ZMTOP)
        .args([
            "ps",
            &format!("pid:{}", child.id()),
            "--format",
            "csv",
            "--columns",
            "user,pss",
        ])
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let row = listed.lines().nth(1).unwrap_or_else(|| panic!("{listed}"));
    let pss = row.split(',').nth(1).and_then(|pss| pss.parse::<u64>().ok());
    assert!(pss.is_some_and(|pss| pss > 0), "{listed}");

    let mut pty = Pty::zmtop((100, 30), &["--interval", "200ms"]);
    pty.wait_for_table();
    pty.send(&format!("/pid:{}\r", child.id()));
    pty.wait_for("Σ 1 of");
    pty.send("o");
    pty.wait("what it is now", |s| s.contains("; now "));
    pty.send("\x15987\r");
    pty.wait_for("sleep is 987");
    let file = format!("/proc/{}/oom_score_adj", child.id());
    assert_eq!(std::fs::read_to_string(file).unwrap().trim(), "987");
    pty.send("\x1b[20~");
    pty.wait_for("Send a signal");
    pty.wait("its age", |s| {
        s.lines().any(|l| l.contains("started ") && l.contains(" ago"))
    });
    pty.send("\r\r\ry");
    pty.wait_for("sleep: it ended");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

/// A copy of zmtop that nobody may start.
fn copy() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir_in(Path::new(ZMTOP).parent().unwrap()).unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = dir.path().join("zmtop");
    copy_program(ZMTOP, &program);
    (dir, program)
}

fn refused(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    said
}

#[test]
fn the_exporter_and_the_recorder_become_another_user_who_sees_all_processes() {
    if !has_rights() {
        return;
    }
    let root = Owned::sleep("300");
    let folder = nobodys();
    let home = tempfile::tempdir().unwrap();
    let to = folder.path().to_str().unwrap();
    let watch = format!("{LOOK} NET_ADMIN");
    for args in [
        &["record", "--every", "100ms", "--user", "65534", to][..],
        &["serve", "--listen", "127.0.0.1:0", "--user", "65534"],
    ] {
        let child = zmtop(home.path(), args);
        assert_kept(pid(&child), &watch, true);
        let threads = std::fs::read_dir(format!("/proc/{}/task", child.id()))
            .unwrap()
            .flatten();
        for status in threads.map(|thread| thread.path().join("status")) {
            let ids = |key| line(&status, key).map(|ids| ids.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
            assert!(ids("Uid").is_none_or(|ids| ids == ["65534"; 4]));
            assert!(ids("Gid").is_none_or(|ids| ids == ["65534"; 4]));
            assert!(ids("Groups").is_none_or(|ids| !ids.contains(&"0".to_owned())));
        }
        if args[0] == "record" {
            let begun = Instant::now();
            let filter = format!("pid:{}", root.id());
            let listed = loop {
                let mut files = std::fs::read_dir(folder.path()).unwrap().flatten();
                let file = files.find(|file| file.file_name().to_string_lossy().ends_with(".zmrec"));
                if let Some(file) = file {
                    assert_eq!(file.metadata().unwrap().uid(), NOBODY);
                    let mut command = Command::new(ZMTOP);
                    command.args(["ps", &filter, "--format", "csv", "--columns", "pss", "--from"]);
                    let done = command.arg(file.path()).output().unwrap();
                    let listed = String::from_utf8(done.stdout).unwrap();
                    if listed
                        .lines()
                        .nth(1)
                        .is_some_and(|pss| pss.parse::<u64>().is_ok_and(|pss| pss > 0))
                    {
                        break listed;
                    }
                }
                assert!(begun.elapsed() < PATIENCE, "no figure of root's process");
                std::thread::sleep(Duration::from_millis(100));
            };
            assert!(listed.starts_with("pss"), "{listed}");
        }
    }
}

#[test]
fn a_user_that_does_not_exist_or_that_may_not_be_taken_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let of = |program: &Path, user: &str| {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--user", user]);
        command.env("HOME", home.path());
        command
    };
    if !rustix::process::geteuid().is_root() {
        assert!(refused(&mut of(Path::new(ZMTOP), "root")).contains("--user: only root can become another user"));
        return;
    }
    assert!(refused(&mut of(Path::new(ZMTOP), "no-such-user")).contains("--user: no user no-such-user"));
    assert!(refused(&mut of(Path::new(ZMTOP), "root")).contains("--user: this is root itself"));
    if !have("setpriv") {
        return cannot("setpriv is not installed");
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-setuid", ZMTOP, "record", "--user", "65534", "x"]);
    let said = refused(command.env("HOME", home.path()).current_dir(home.path()));
    assert!(said.contains("--user: cannot become nobody: "), "{said}");
    assert!(!home.path().join("x").exists());
}

/// Gives a program these capabilities, permitted and effective. False where that cannot be done.
fn grant(program: &Path, capabilities: u64) -> bool {
    // `struct vfs_cap_data`: version 2 with the effective bit.
    let (low, high) = (capabilities as u32, (capabilities >> 32) as u32);
    let data = [0x0200_0001_u32, low, 0, high, 0].map(u32::to_le_bytes).concat();
    let flags = rustix::fs::XattrFlags::empty();
    match rustix::fs::setxattr(program, "security.capability", &data, flags) {
        Ok(()) => true,
        Err(why) => {
            cannot(&format!("no file capabilities here: {why}"));
            false
        }
    }
}

#[test]
fn with_file_capabilities_it_reads_the_processes_of_others_but_no_file_for_its_user() {
    if !has_rights() {
        return;
    }
    let (dir, program) = copy();
    let home = nobodys();
    let config = home.path().join(".config/zmtop/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "nonsense\n").unwrap();
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(AS_NOBODY)
            .arg(&program)
            .args(args)
            .env("HOME", home.path());
        command.stdin(Stdio::null()).output().unwrap()
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !as_nobody(&["--version"]).status.success() {
        return cannot("another user cannot start a program here");
    }
    let root = Owned::sleep("300");
    let filter = format!("pid:{}", root.id());
    let pss = ["ps", &filter, "--format", "csv", "--columns", "pss"];
    assert!(grant(&program, set("SYS_PTRACE PERFMON DAC_READ_SEARCH DAC_OVERRIDE")));
    let done = as_nobody(&pss);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let listed = text(&done.stdout);
    assert!(
        listed
            .lines()
            .nth(1)
            .is_some_and(|pss| pss.parse::<u64>().is_ok_and(|pss| pss > 0)),
        "{listed}"
    );
    // The config of the user is read once zmtop looks at nothing with these rights.
    let done = as_nobody(&["config", "check"]);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stdout));
    // What the user names is opened with the rights of the user.
    let secret = dir.path().join("secret.toml");
    std::fs::write(&secret, "secret\n").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = secret.to_str().unwrap();
    for args in [
        &["ps", "--config", file][..],
        &["ps", "--from", file],
        &["serve", "--web-config", file],
        &["cache", file],
    ] {
        let done = as_nobody(args);
        let said = text(&done.stderr) + &text(&done.stdout);
        assert!(
            !said.contains("secret\n") && !said.contains("line 1"),
            "{args:?}: {said}"
        );
        assert!(
            said.to_lowercase().contains("permission denied") || said.contains("denied"),
            "{args:?}: {said}"
        );
    }
    let child = {
        let mut command = Command::new("setpriv");
        command.args(AS_NOBODY).arg(&program).args(["ps", "--every", "1"]);
        Owned::quiet(command.env("HOME", home.path()))
    };
    assert_kept(pid(&child), "SYS_PTRACE PERFMON DAC_READ_SEARCH", true);
    // The monitor says what it does not use.
    let args = [AS_NOBODY[0], AS_NOBODY[1], AS_NOBODY[2], program.to_str().unwrap()];
    let mut pty = Pty::run((160, 30), "setpriv", &args, &[("HOME", home.path().to_str().unwrap())]);
    pty.wait_for_table();
    assert!(pty.text().contains("has file capabilities"), "{}", pty.text());
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    assert!(!home.path().join(".local").exists());
}
