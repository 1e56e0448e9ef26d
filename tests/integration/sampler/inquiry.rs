//! Inquiries about a process: its environment, its open files and its command line.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use zmtop::model::{Identity, Missing};
use zmtop::proc::pid;
use zmtop::sampler::Options;
use zmtop::sampler::inquiry::{Inquiry, command_lines, read};

use crate::support::tree::ProcTree;

#[test]
fn the_environment_and_the_open_files_are_those_of_the_process_and_of_no_other() {
    let mut child = Command::new("sleep");
    child.arg("600").env_clear().env("ZMTOP_CASE", "x").env("MY_TOKEN", "hunter2");
    let mut child = child.stdin(std::process::Stdio::null()).spawn().unwrap();
    let pid = child.id();
    let stat = std::fs::read(format!("/proc/{pid}/stat")).unwrap();
    let starttime = pid::stat(&stat, 4096).unwrap().starttime;
    let id = Identity { pid, starttime };
    let proc = Path::new("/proc");
    // Until the exec, the child has the environment of this process.
    let environment = loop {
        let mut found = read(proc, id, Inquiry::Environment).unwrap();
        let variables = found.split_off(found.iter().take_while(|(name, _)| name.starts_with(b"ulimit -")).count());
        assert_eq!(&*found[4].0, b"ulimit -n");
        if variables.len() == 2 {
            break variables;
        }
        std::thread::yield_now();
    };
    assert_eq!(environment[0], (b"MY_TOKEN"[..].into(), b"***"[..].into()));
    assert_eq!(environment[1], (b"ZMTOP_CASE"[..].into(), b"x"[..].into()));
    let files = read(proc, id, Inquiry::OpenFiles).unwrap();
    assert_eq!(files[0], (b"0"[..].into(), b"/dev/null"[..].into()));
    // A program of glibc. What else may be there is named.
    let heap = read(proc, id, Inquiry::Heap).unwrap();
    assert!(heap.iter().any(|(label, _)| matches!(&**label, b"all arenas" | b"glibc")), "{heap:?}");
    // Another process with its pid is not asked.
    let other = Identity {
        starttime: starttime + 1,
        ..id
    };
    assert_eq!(read(proc, other, Inquiry::Environment), Err(Missing::Gone));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(read(proc, id, Inquiry::OpenFiles), Err(Missing::Gone));
}

#[test]
fn a_command_line_that_never_arrives_keeps_no_other_one() {
    let tree = ProcTree::new();
    tree.process(8).cmdline("stuck\0").write();
    tree.fifo(8, "cmdline");
    tree.process(9).cmdline("whole\0-x\0").write();
    let options = Options {
        deadline: Duration::from_secs(1),
        ..Options::new(Some(&tree.root()))
    };
    let mut found = Vec::new();
    command_lines(&options, &[8, 9, 10], |at, whole| found.push((at, whole)));
    assert_eq!(found, [(1, b"whole\0-x\0".to_vec())]);
}
