//! zmtop's own process: its OOM score and its locked memory.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Signal, getrlimit};
use rustix::thread::CapabilitySet;

use crate::support::pty::{Pty, ZMTOP, have};
use crate::support::{Owned, PATIENCE, cannot, skip};

const SCORE: &str = "/proc/self/oom_score_adj";

#[test]
fn it_has_the_score_that_is_set_and_its_programs_have_the_initial_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let initial = std::fs::read_to_string(SCORE).unwrap();
    // Raising it needs no right.
    let set = initial.trim().parse::<i32>().unwrap() + 100;
    if set > 1000 {
        return cannot("oom_score_adj is too high to be raised");
    }
    let script = format!("cat {SCORE} > \"$0.new\"; mv \"$0.new\" \"$0\"");
    let config = format!(
        "[zmtop]\noom_score_adj = {set}\n\
         [[alert]]\nname = 'x'\nwhen = 'processes>0'\non = 'system'\nhold = 0\nrun = ['/bin/sh', '-c', '''{script}''', '{}']\n",
        path("out")
    );
    std::fs::write(path("config.toml"), config).unwrap();
    let mut pty = Pty::run((110, 30), ZMTOP, &["--config", &path("config.toml")], &[]);
    pty.wait_for_table();
    pty.wait("the program ran", |_| Path::new(&path("out")).exists());
    let own = std::fs::read_to_string(format!("/proc/{}/oom_score_adj", pty.pid())).unwrap();
    assert_eq!(own.trim(), set.to_string());
    assert_eq!(std::fs::read_to_string(path("out")).unwrap(), initial);
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

/// The first lines that `zmtop record` says with this config, and the kilobytes that it has locked.
fn recorded(config: &str, before: &[&str], lines: usize) -> (Vec<String>, u64) {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(dir.path(), Some(65534), Some(65534)).unwrap();
    let file = dir.path().join("config.toml");
    std::fs::write(&file, config).unwrap();
    let program = before.iter().copied().chain([ZMTOP]);
    let mut program: Vec<&str> = program.collect();
    let called = program.remove(0);
    let mut child = Command::new(called)
        .args(program)
        .args(["record", "-", "--every", "100ms", "--config"])
        .arg(file)
        .env("HOME", dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (out, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let child = Owned(child);
    // It records, so it has started. It ends if nobody reads.
    let (mut out, mut first) = (BufReader::new(out), Vec::new());
    out.read_until(b'\n', &mut first).unwrap();
    assert!(!first.is_empty());
    let said = BufReader::new(errors).lines().map(Result::unwrap).take(lines).collect();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
    (said, locked.trim().trim_end_matches(" kB").parse().unwrap())
}

#[test]
fn memory_is_locked_if_that_is_allowed_and_what_is_refused_is_said() {
    if !rustix::process::geteuid().is_root() || !have("setpriv") {
        return skip("dropping rights needs root and setpriv");
    }
    let has_right = rustix::thread::capabilities(None)
        .unwrap()
        .permitted
        .contains(CapabilitySet::IPC_LOCK);
    let limit = getrlimit(Resource::Memlock).maximum;
    if !has_right
        || limit.is_some_and(|limit| limit < 8 << 20)
        || std::fs::read_to_string(SCORE).unwrap().starts_with('-')
    {
        return cannot("this process lacks CAP_IPC_LOCK, may lock too little memory or has a negative oom_score_adj");
    }
    let set = "[zmtop]\noom_score_adj = -1000\nlock_memory = true\n";
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let limited = [&nobody[..], &["sh", "-c", "ulimit -l 8192; exec \"$0\" \"$@\""]].concat();
    assert_eq!(
        recorded(set, &limited, 2),
        (
            vec![
                "zmtop: cannot set oom_score_adj to -1000: permission denied (lowering it needs CAP_SYS_RESOURCE)"
                    .into(),
                "zmtop: cannot lock memory: this needs CAP_IPC_LOCK or an unlimited `ulimit -l`".into(),
            ],
            0
        )
    );
    let right = [&nobody[..], &["--inh-caps=+ipc_lock", "--ambient-caps=+ipc_lock"]].concat();
    let (_, locked) = recorded("[zmtop]\nlock_memory = true\n", &right, 0);
    assert!(locked > 1024, "{locked}");
}

#[test]
fn the_program_of_a_recording_has_the_initial_score_also_as_another_user_and_with_many_open_files() {
    if !rustix::process::geteuid().is_root() {
        return skip("becoming another user needs root");
    }
    let initial = std::fs::read_to_string(SCORE).unwrap();
    let set = initial.trim().parse::<i32>().unwrap() + 100;
    if set > 1000 {
        return cannot("oom_score_adj is too high to be raised");
    }
    for user in [None, Some("65534")] {
        let dir = tempfile::tempdir().unwrap();
        if user.is_some() {
            std::os::unix::fs::chown(dir.path(), Some(65534), Some(65534)).unwrap();
        }
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("config.toml"), format!("[zmtop]\noom_score_adj = {set}\n")).unwrap();
        let script = format!("#!/bin/sh\ncd \"${{1%/*}}/..\" && cat {SCORE} >new && mv new out\n");
        std::fs::write(path("program"), script).unwrap();
        std::fs::set_permissions(path("program"), Permissions::from_mode(0o755)).unwrap();
        // zmtop has more files open than its program may have.
        let script = "ulimit -S -n 64; cd \"$1\"; shift; exec \"$@\"";
        let mut child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(dir.path())
            .args([ZMTOP, "record", "rec/", "--every", "100ms", "--config", "config.toml"])
            .args(["--on-rotate", "./program"])
            .args(user.iter().flat_map(|user| ["--user", user]))
            .env("HOME", dir.path())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Owned)
            .unwrap();
        let size = |name: std::fs::DirEntry| name.metadata().map_or(0, |meta| meta.len());
        wait("a snapshot", || {
            let files = std::fs::read_dir(path("rec")).ok()?;
            files.flatten().any(|file| size(file) > 1000).then_some(())
        });
        rustix::process::kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert!(child.wait().unwrap().success());
        let out = wait("the program", || std::fs::read_to_string(path("out")).ok());
        assert_eq!(out, initial, "{user:?}");
    }
}

fn wait<T>(what: &str, found: impl Fn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}
