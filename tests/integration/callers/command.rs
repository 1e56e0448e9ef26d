//! `zmtop kernel callers` where it cannot be done, and its options.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{KINDS, fixture};
use crate::support::pty::ZMTOP;
use crate::support::tree::ProcTree;
use crate::support::{copy_program, skip};

fn callers(tree: &ProcTree, line: &str) -> (Option<i32>, String, String) {
    tree.zmtop(&format!("kernel callers --for 100ms {line}"))
}

/// A tree in whose sysfs is what could be tracefs, but for the files that only a kernel has.
fn traced() -> ProcTree {
    let tree = ProcTree::new();
    tree.system("filesystems", "nodev\tsysfs\nnodev\ttracefs\n\text4\n");
    tree.system(
        "self/mountinfo",
        "22 27 0:21 / /sys/kernel/tracing rw - tracefs nodev rw\n",
    );
    for (name, _) in KINDS {
        let path = format!("sys/kernel/tracing/events/kmem/{name}/format");
        tree.write(&path, fixture(&format!("{name}.format")));
    }
    std::fs::create_dir(tree.path("sys/kernel/tracing/instances")).unwrap();
    tree
}

/// Holds what is said on stderr, with exit code 3 and nothing on stdout; the tree's sysfs stands as `SYS`.
#[track_caller]
fn refused(tree: &ProcTree, want: &str) {
    let (code, out, err) = callers(tree, "");
    let sys = tree.root().join("../sys");
    let err = err.replace(sys.to_str().unwrap(), "SYS");
    // The pid of the program is in the name of its instance.
    let err = match err.split_once("/zmtop-") {
        Some((before, after)) => format!(
            "{before}/zmtop-{}",
            after.trim_start_matches(|c: char| c.is_ascii_digit())
        ),
        None => err,
    };
    let want = format!("zmtop: {want}\n");
    assert_eq!((code, out.as_str(), err.as_str()), (Some(3), "", want.as_str()));
    let left = std::fs::read_dir(tree.path("sys/kernel/tracing/instances")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "no instance is left");
}

#[test]
fn where_it_cannot_be_done_it_says_what_is_missing() {
    const UNMOUNTED: &str = "tracefs is not mounted; root can do it: mount -t tracefs nodev /sys/kernel/tracing";
    let tree = ProcTree::new();
    tree.system("filesystems", "nodev\tsysfs\n");
    refused(&tree, "this kernel has no tracefs (CONFIG_EVENT_TRACING)");
    tree.system("filesystems", "nodev\tsysfs\nnodev\ttracefs\n");
    refused(&tree, UNMOUNTED);
    // On this machine, which a captured tree must not lead to.
    tree.system("self/mountinfo", "22 27 0:21 / /elsewhere rw - tracefs nodev rw\n");
    refused(&tree, UNMOUNTED);

    let tree = traced();
    refused(
        &tree,
        "SYS/kernel/tracing/instances/zmtop-/tracing_on: No such file or directory (os error 2)",
    );
    std::fs::remove_dir(tree.path("sys/kernel/tracing/instances")).unwrap();
    refused(
        &tree,
        "SYS/kernel/tracing/instances/zmtop-: No such file or directory (os error 2)",
    );
    std::fs::remove_dir_all(tree.path("sys/kernel/tracing/events")).unwrap();
    refused(
        &tree,
        "this kernel has no events of its allocator: SYS/kernel/tracing/events/kmem",
    );
}

#[test]
fn formats_that_lack_something_are_named_before_anything_is_changed() {
    let format = String::from_utf8(fixture("kmalloc.format")).unwrap();
    for (text, why) in [
        (format.replace(" ptr;", " address;"), "has no field `ptr`"),
        (
            format.replace("offset:32;\tsize:8", "offset:32;\tsize:12"),
            "has a field `bytes_alloc` of 12 bytes, which is not understood",
        ),
        (String::new(), "has no field `common_type`"),
    ] {
        let tree = traced();
        tree.write("sys/kernel/tracing/events/kmem/kmalloc/format", text);
        refused(&tree, &format!("SYS/kernel/tracing/events/kmem/kmalloc/format {why}"));
    }
    // Kernels before 6.1 have events for nodes, too; there they are read.
    let tree = traced();
    tree.write("sys/kernel/tracing/events/kmem/kmalloc_node/format", "ID: 9\n");
    refused(
        &tree,
        "SYS/kernel/tracing/events/kmem/kmalloc_node/format has no field `common_type`",
    );
}

#[test]
fn another_user_is_reported_who_may() {
    if !rustix::process::geteuid().is_root() {
        skip("becoming another user needs root");
        return;
    }
    let tree = traced();
    std::fs::set_permissions(tree.path(""), Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(tree.path("sys/kernel/tracing"), Permissions::from_mode(0o700)).unwrap();
    // A program that anyone may run: the directory that it is built in may be closed.
    let program = tree.path("zmtop");
    copy_program(ZMTOP, &program);
    let run = || {
        let done = Command::new(&program)
            .args(["kernel", "callers", "--for", "100ms", "--proc-root"])
            .arg(tree.root())
            .env_clear()
            .uid(65534)
            .gid(65534)
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let (code, err) = run();
    assert_eq!(code, Some(3));
    assert!(
        err.starts_with("zmtop: only root may trace the kernel: ") && err.ends_with("format is denied\n"),
        "{err}"
    );
    tree.write("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    let (code, err) = run();
    assert_eq!(code, Some(3));
    assert!(
        err.starts_with("zmtop: the kernel is locked down for confidentiality"),
        "{err}"
    );
}

#[test]
fn wrong_options_say_what_is_known() {
    let tree = ProcTree::new();
    for (line, said) in [
        ("--by cpu", "[possible values: site, symbol]"),
        ("--for 5ms", "--for: expected a duration from 100ms to 24h, such as 5s"),
        ("--for x", "--for: expected a duration"),
    ] {
        let (code, out, err) = tree.zmtop(&format!("kernel callers {line}"));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{line}");
        assert!(err.contains(said), "{err}");
    }
}
