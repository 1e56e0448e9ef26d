//! `zmtop maps`, as tables and as data.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Instant;

use zmtop::cli::{self, Exit};
use zmtop::columns::{layout, mapping};
use zmtop::run::maps::MapsArgs;

use super::{area, at};
use crate::support::pty::{PATIENCE, Pty, ZMTOP};
use crate::support::tree::ProcTree;

/// The exit code, and what was said on stdout and on stderr.
fn maps(tree: &ProcTree, line: &str) -> (Option<i32>, String, String) {
    tree.zmtop(&format!("maps {line}"))
}

/// Two processes; the first maps what was removed, and what has no nice name.
fn machine() -> ProcTree {
    let tree = ProcTree::new();
    tree.process(7).comm(b"c\x1b[31mat").write();
    let huge = area(
        "7f0000000000-7f0000200000 rw-s 00000000 00:0f 81",
        b"/anon_hugepage (deleted)",
        0,
        4,
        "rd ht",
    );
    let evil = b"/tmp/\x1b]52;c;x\x07\xe2\x80\xae=1+1\xff";
    let areas = [
        at(10, b"/lib/a (deleted)", 100),
        at(20, b"/lib/a (deleted)", 20),
        at(30, b"[heap]", 3000),
        at(40, b"", 40),
        at(50, evil, 7),
        huge,
    ];
    tree.write("proc/7/smaps", areas.concat());
    tree.process(8).write();
    tree.write("proc/8/smaps", at(10, b"=cmd()", 5));
    tree
}

#[test]
fn one_process() {
    let tree = machine();
    let (code, out, err) = maps(&tree, "7");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    insta::assert_snapshot!("maps", out);
    let (_, out, _) = maps(&tree, "7 --areas --units k --sort address");
    insta::assert_snapshot!("maps-areas", out);
    let (_, out, _) = maps(&tree, "7 --sort mapping --top 2 --columns kind,deleted,mapping");
    insta::assert_snapshot!("maps-chosen", out);
}

#[test]
fn many_processes_have_their_names_above_and_order_is_as_asked() {
    let (code, out, _) = maps(&machine(), "8 7 --columns pss,mapping --sort -pss");
    assert_eq!(code, Some(0));
    let heads: Vec<_> = out.lines().filter(|l| l.starts_with(['7', '8'])).collect();
    assert_eq!(heads, ["8 worker", "7 c\\x1b[31mat"]);
    let heap = out.lines().position(|l| l.ends_with("[heap]")).unwrap();
    assert!(out.lines().nth(heap + 1).unwrap().ends_with("5 mappings"), "{out}");
    assert_eq!(
        maps(&machine(), "7 -r --sort pss").1,
        maps(&machine(), "7 --sort -pss").1
    );
}

#[test]
fn data_is_whole_and_harms_nobody() {
    let tree = machine();
    let (code, json, _) = maps(&tree, "7 8 --format json");
    assert_eq!(code, Some(0));
    assert!(!json.contains('\u{1b}') && !json.contains('\u{7}') && !json.contains('\u{202e}'));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], "zmtop-maps/1");
    let first = &value["processes"][0];
    assert_eq!(
        (&first["pid"], &first["comm"], &first["starttime"]),
        (&7.into(), &"c\u{1b}[31mat".into(), &1007.into())
    );
    let mappings = first["mappings"].as_array().unwrap();
    assert_eq!(
        (&mappings[1]["mapping"], &mappings[1]["deleted"], &mappings[1]["areas"]),
        (&"/lib/a".into(), &"deleted".into(), &2.into())
    );
    let names: Vec<_> = mappings.iter().map(|m| m["mapping"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"/tmp/\u{1b}]52;c;x\u{7}\u{202e}=1+1\u{efff}"),
        "{names:?}"
    );
    let sum: u64 = mappings.iter().map(|m| m["pss"].as_u64().unwrap()).sum();
    assert_eq!(
        (first["totals"]["pss"].as_u64(), &first["partial"]),
        (Some(sum), &false.into())
    );

    let (_, lines, _) = maps(&tree, "7 8 --format ndjson");
    let second: serde_json::Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    assert_eq!(second["process"], value["processes"][1]);

    let (_, csv, _) = maps(&tree, "7 8 --format csv --columns pss,mapping");
    assert!(
        csv.starts_with("pid,pss,mapping\r\n7,3072000,[heap]\r\n7,122880,/lib/a\r\n"),
        "{csv}"
    );
    assert!(csv.ends_with("8,5120,'=cmd()\r\n"), "{csv}");
    assert!(!csv.contains('\u{1b}'));
}

#[test]
fn who_cannot_be_read_is_named() {
    let tree = machine();
    tree.process(2).kernel_thread().write();
    tree.write("proc/2/smaps", "");
    let (code, out, err) = maps(&tree, "99");
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (Some(3), "", "zmtop: 99: no such process\n")
    );
    let (code, out, err) = maps(&tree, "2 8");
    assert_eq!(
        (code, err.as_str()),
        (Some(3), "zmtop: 2 is a kernel thread, which has no memory of its own\n")
    );
    assert!(out.contains("=cmd()"));
    let (code, json, _) = maps(&tree, "99 --format json");
    assert_eq!(code, Some(3));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["processes"][0]["unread"], "process ended");
    assert_eq!(value["processes"][0]["mappings"], serde_json::json!([]));
}

#[test]
fn permission_denied_says_what_to_do() {
    let tree = machine();
    std::fs::set_permissions(tree.file(8, "smaps"), PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::File::open(tree.file(8, "smaps")).is_ok() {
        return crate::support::cannot("root may read what nobody may");
    }
    let (code, _, err) = maps(&tree, "8");
    assert_eq!(code, Some(3));
    assert!(err.contains("permission denied; run as root"), "{err}");
}

#[test]
fn a_read_that_never_returns_ends_with_the_deadline() {
    let tree = machine();
    tree.fifo(7, "smaps");
    tree.write("home/.config/zmtop/config.toml", "[sampler]\ndeadline = \"300ms\"\n");
    let began = Instant::now();
    let (code, out, err) = maps(&tree, "7 8");
    assert!(began.elapsed() < PATIENCE);
    assert_eq!((code, err.as_str()), (Some(3), "zmtop: 7: timed out\n"));
    assert!(out.contains("=cmd()"));
}

#[test]
fn a_terminal_gets_no_line_that_is_longer() {
    let tree = ProcTree::new();
    tree.process(7).write();
    let long = [b"/".to_vec(), vec![b'x'; 300]].concat();
    tree.write("proc/7/smaps", at(10, &long, 100));
    let root = tree.root();
    let pty = Pty::run(
        (60, 24),
        ZMTOP,
        &["maps", "7", "--proc-root", root.to_str().unwrap()],
        &[],
    );
    pty.wait("the totals", |s| s.contains("1 mapping"));
    pty.wait("the path cut", |s| s.contains("xxx…"));
}

#[test]
fn wrong_options_are_refused() {
    let tree = machine();
    for (line, expected) in [
        ("7 --units x", "--units: unknown unit `x`"),
        ("0", "0 is no pid"),
        ("4294967296", "4294967296 is no pid"),
        ("", "PROCESS"),
        ("7 --format xml", "table, json, rows, ndjson, csv"),
    ] {
        let (code, out, err) = maps(&tree, line);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{line}");
        assert!(err.contains(expected), "{line}: {err}");
    }
    let parsed = cli::parse(["zmtop", "maps"].map(Into::into)).unwrap_err();
    assert_eq!(parsed.exit, Exit::Usage);
    assert_eq!(MapsArgs::default().processes, Vec::new());
}

#[test]
fn the_columns_are_sound() {
    let mut ids: Vec<_> = mapping::COLUMNS.iter().map(|c| c.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), mapping::COLUMNS.len());
    for column in mapping::COLUMNS {
        assert!(column.help.ends_with('.') && !column.title.is_empty(), "{}", column.id);
        assert!(
            column.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{}",
            column.id
        );
    }
    assert_eq!((layout::maps(false).len(), layout::maps(true).len()), (9, 10));
}

/// Python's leak.py twice, a shell that names it, and a program of that name.
fn named() -> ProcTree {
    let tree = ProcTree::new();
    for (pid, comm, line) in [
        (7, &b"python3"[..], &b"/usr/bin/python3\0/srv/leak.py\0--fast"[..]),
        (8, b"python3", b"python3\0other.py\0leak-free"),
        (9, b"sh", b"sh\0-c\0other.py; Sleep"),
        (10, b"api\x1b[31m", b"./api\x1b[31m"),
    ] {
        tree.process(pid).comm(comm).cmdline(line).write();
        tree.write(&format!("proc/{pid}/smaps"), at(10, b"[heap]", 100));
    }
    tree
}

#[test]
fn a_process_is_named_by_its_program_or_a_part_of_its_command_line() {
    let tree = named();
    for (line, expected) in [
        ("leak.py", &[7][..]),
        ("srv/LEAK", &[7]),
        ("leak-free sleep", &[8, 9]),
        ("sh 7", &[9, 7]),
        // The program before what has its name among its arguments.
        ("other.py", &[8]),
        // Filters, each of which selects one process, beside pids.
        ("cmd:leak-free", &[8]),
        ("8 pid:7", &[8, 7]),
        ("comm:sh", &[9]),
    ] {
        let (code, out, err) = maps(&tree, &format!("{line} --format json"));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{line}");
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        let processes = json["processes"].as_array().unwrap();
        let pids: Vec<_> = processes.iter().map(|p| p["pid"].as_u64().unwrap()).collect();
        assert_eq!(pids, expected, "{line}");
    }
}

#[test]
fn a_name_of_none_or_of_several_is_refused_and_they_are_listed() {
    let tree = named();
    assert_eq!(
        maps(&tree, "nginx"),
        (
            Some(3),
            String::new(),
            "zmtop: no process is named `nginx`, or has that in its command line\n".into()
        )
    );
    assert_eq!(
        maps(&tree, "python3"),
        (
            Some(2),
            String::new(),
            "zmtop: PROCESS: 2 processes match `python3`; name one by its pid:\n\
             zmtop:         7  python3 /srv/leak.py --fast\n\
             zmtop:         8  python3 other.py leak-free\n"
                .into()
        )
    );
    let (code, _, err) = maps(&tree, "api p");
    assert_eq!(code, Some(2));
    assert!(!err.contains('\x1b'), "{err:?}");
    for (line, expected, error) in [
        ("cmd:nginx", 3, "zmtop: no process matches `cmd:nginx`\n"),
        (
            "cmd:leak",
            2,
            "zmtop: PROCESS: 2 processes match `cmd:leak`; name one by its pid:\n",
        ),
        (
            "growth>1M/min",
            2,
            "zmtop: PROCESS: growth needs more than one snapshot",
        ),
        // Neither a name nor a valid filter: the message says both.
        (
            "pss>1Q",
            3,
            "no process is named `pss>1Q`, or has that in its command line, and it is not a filter: ",
        ),
    ] {
        let (code, out, err) = maps(&tree, line);
        assert_eq!((code, out.as_str()), (Some(expected), ""), "{line}");
        assert!(err.contains(error), "{line}: {err}");
    }
}

#[test]
fn a_name_is_not_found_in_the_commands_that_look_for_it() {
    // The shell that runs zmtop has the name in its command line, too.
    let name = format!("no-such-name-{}", std::process::id());
    let done = Command::new("sh")
        .args(["-c", "$ZMTOP maps $1; exit $?", "sh", &name])
        .env("ZMTOP", ZMTOP)
        .output()
        .unwrap();
    let err = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(3), "{err}");
    assert!(err.contains("no process is named"), "{err}");
}
