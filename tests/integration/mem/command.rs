//! `zmtop mem`, as text and as data.

use std::process::{Command, Stdio};

use crate::support::pty::ZMTOP;
use crate::support::tree::ProcTree;

/// The exit code, and what was said on stdout and on stderr.
fn mem(tree: &ProcTree, line: &str) -> (Option<i32>, String, String) {
    tree.zmtop(&format!("mem {line}"))
}

/// A machine with two processes, swap on zram and on a file whose name is not nice.
fn machine() -> ProcTree {
    let tree = ProcTree::new();
    tree.process(1).comm("init").pss_kb(1000).write();
    tree.process(7).comm("cat").pss_kb(3000).swap_kb(500).write();
    tree.system(
        "swaps",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
         /dev/zram0                              partition\t1048576\t\t4096\t\t100\n\
         /swap\\040\u{1b}[31mred                           file\t\t2097152\t\t1024\t\t-2\n",
    );
    tree.system(
        "zoneinfo",
        "Node 0, zone Normal\n  present 6300000\n  managed 6162480\n  count: 1000\n",
    );
    tree.write("sys/block/zram0/disksize", "1073741824\n");
    tree.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    tree
}

#[test]
fn the_account_in_words() {
    let (code, out, err) = mem(&machine(), "--units k");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    insta::assert_snapshot!("mem", out);
}

#[test]
fn the_account_as_data() {
    let tree = machine();
    let (code, line, _) = mem(&tree, "--format ndjson");
    assert_eq!((code, line.lines().count()), (Some(0), 1));
    let (_, document, _) = mem(&tree, "--format json");
    let parse = |text: &str| {
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        value["time"] = serde_json::Value::Null;
        value
    };
    let value = parse(&line);
    assert_eq!(parse(&document), value);
    assert!(!line.contains('\u{1b}') && !document.contains('\u{1b}'));
    assert_eq!(value["schema"], "zmtop-mem/1");
    assert_eq!(value["swaps"][1]["path"], "/swap \u{1b}[31mred");
    assert_eq!(value["swaps"][0]["priority"], 100);
    let account = &value["account"];
    let parts: i64 = account["parts"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(serde_json::Value::as_i64)
        .sum();
    assert_eq!(
        parts + account["rest"].as_i64().unwrap(),
        account["total"].as_i64().unwrap()
    );
    assert_eq!(account["unattributed"], account["rest"]);
    assert_eq!(account["partial"], serde_json::json!({}));
    assert!(account["parts"]["gpu"].is_null());
    assert_eq!(value["unread"]["account.parts.gpu"], "not offered by this kernel");
    assert_eq!(value["processes"]["pss"], 4000 * 1024);
    assert_eq!(value["processes"]["partial"], false);
    assert_eq!(value["huge_pages"]["mode"], "madvise");

    let (code, csv, _) = mem(&tree, "--format csv");
    assert_eq!(code, Some(0));
    let mut lines = csv.split("\r\n");
    assert_eq!(lines.next(), Some("figure,value,unread"));
    for expected in [
        "ram.total,25241518080,",
        "swaps.0.priority,100,",
        "account.parts.gpu,,not offered by this kernel",
        "processes.partial,false,",
    ] {
        assert!(csv.contains(&format!("\r\n{expected}\r\n")), "{expected}: {csv}");
    }
    assert!(!csv.contains('\u{1b}'));
}

#[test]
fn a_recorded_snapshot_has_all_of_the_account() {
    let tree = machine();
    tree.system("sysvipc/shm", "key perms rss swap\n1 600 4096 8192\n");
    let (_, recorded, _) = tree.zmtop("ps --format ndjson");
    tree.write("recorded.ndjson", recorded);
    let without_time = |text: &str| {
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        value["time"] = serde_json::Value::Null;
        value
    };
    let live = without_time(&mem(&tree, "--format json").1);
    assert_eq!(live["account"]["parts"]["zram"], 1_228_800);
    assert_eq!(live["swap_account"]["sysv"], 8192);
    let replayed = Command::new(ZMTOP)
        .args(["mem", "--format", "json", "--from"])
        .arg(tree.path("recorded.ndjson"))
        .output()
        .unwrap();
    assert_eq!(without_time(&String::from_utf8(replayed.stdout).unwrap()), live);
}

#[test]
fn who_cannot_be_read_makes_it_partial() {
    let tree = machine();
    std::fs::remove_file(tree.file(7, "smaps_rollup")).unwrap();
    let (code, out, _) = mem(&tree, "");
    assert_eq!(code, Some(0));
    assert!(out.contains("of 1 of 2 processes, partial"), "{out}");
    let line = |name: &str| out.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    assert!(
        line("mapped by processes").ends_with("at most: 1 process could not be read"),
        "{out}"
    );
    assert!(
        line("not mapped").ends_with("at least: 1 process could not be read"),
        "{out}"
    );
    let json: serde_json::Value = serde_json::from_str(&mem(&tree, "--format json").1).unwrap();
    assert!(
        json["account"]["within"]["files_mapped"].is_u64(),
        "{}",
        json["account"]
    );
    let partial = serde_json::json!({"files_mapped": "at most", "files_unmapped": "at least"});
    assert_eq!(json["account"]["partial"], partial);
}

#[test]
fn without_meminfo_there_is_no_account() {
    let tree = ProcTree::empty();
    tree.process(1).write();
    let (code, out, err) = mem(&tree, "");
    assert_eq!((code, out.as_str()), (Some(3), ""));
    assert_eq!(err, "zmtop: meminfo cannot be read: there is none\n");
}

#[test]
fn a_closed_pipe_and_a_full_disk() {
    let tree = machine();
    let run = |sink: Stdio| {
        let mut child = Command::new(ZMTOP)
            .args(["mem", "--proc-root"])
            .arg(tree.root())
            .stdout(sink)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.wait().unwrap().code()
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(run(writer.into()), Some(0));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(run(full.into()), Some(4));
}
