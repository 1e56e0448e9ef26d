//! Data that `zmtop ps` writes for programs and reads back.

use serde_json::Value;

use super::program::{said, tree};

fn json(line: &str) -> Value {
    let (code, out, err) = said(&tree(), line);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{line}");
    serde_json::from_str(&out).unwrap()
}

fn pids(rows: &Value) -> Vec<u64> {
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row["pid"].as_u64().unwrap())
        .collect()
}

#[test]
fn processes_are_a_snapshot_in_the_order_asked_for() {
    let all = json("--format ndjson");
    assert_eq!(all["schema"], "zmtop/1");
    assert_eq!(pids(&all["processes"]), [7, 1]);
    assert_eq!(all["processes"][0]["pss"], 3000 << 10);
    assert_eq!(all["totals"]["pss"], 4000 << 10);
    let some = json("--format ndjson cmd:worker pss>2M --sort pid");
    assert_eq!(pids(&some["processes"]), [7]);
    assert_eq!(some["totals"]["processes"], 1);
}

#[test]
fn json_has_one_shape_whatever_columns_are_chosen() {
    let all = json("--format json");
    let some = json("--format json --columns pss,cmdline");
    let tree = json("--format json --tree");
    for document in [&all, &some, &tree] {
        assert_eq!(document["schema"], "zmtop-table/1");
        assert_eq!(document["totals"]["pss"], 4000 << 10);
        let row = |pid: u64| {
            document["rows"]
                .as_array()
                .unwrap()
                .iter()
                .find(|row| row["pid"] == pid)
                .unwrap()
        };
        for (key, value) in all["rows"][0].as_object().unwrap() {
            // Times differ from run to run.
            let same = row(7)
                .get(key)
                .filter(|_| !["unread", "age", "elapsed"].contains(&&**key));
            assert!(same.is_none_or(|same| same == value), "{key}: {same:?}");
        }
        for key in ["pid", "command", "pss", "cmdline"] {
            assert!(row(7).get(key).is_some(), "{key}: {document}");
        }
        let text = document.to_string();
        assert!(!text.contains("\\u0000"), "{text}");
    }
    assert_eq!(all["rows"][0]["command"], "worker --serve");
    assert_eq!(some["rows"][0].get("user"), None);
}

#[test]
fn rows_are_a_line_a_process() {
    let lines = |line: &str| -> Vec<Value> {
        let (code, out, err) = said(&tree(), line);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{line}");
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let keys = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let all: Vec<_> = lines("--format rows").iter().map(keys).collect();
    let rows = json("--format json")["rows"].clone();
    assert_eq!(all, rows.as_array().unwrap().iter().map(keys).collect::<Vec<_>>());
    let some = lines("--format rows --columns pss --top 1");
    let pids: Vec<_> = some.iter().map(|row| row["pid"].as_u64().unwrap()).collect();
    assert_eq!(pids, [7]);
    let timed = lines("--format rows --every 100ms --count 2");
    assert_eq!(timed.len(), 4);
    assert!(timed[0]["at"].is_string() && timed[0]["at"] != timed[3]["at"]);
    assert_eq!(lines("--format rows --by user")[0]["count"], 2);
}

#[test]
fn chosen_columns_groups_and_trees_are_tables() {
    let table = json("--format json --columns pid,pss --sort pid");
    assert_eq!(table["schema"], "zmtop-table/1");
    assert_eq!(pids(&table["rows"]), [1, 7]);
    assert_eq!(table["rows"][1].get("user"), None);
    let groups = json("--format json --by user");
    assert_eq!(
        (&groups["by"], &groups["rows"][0]["count"]),
        (&"user".into(), &2.into())
    );
    assert_eq!(groups["rows"][0]["pss"], 4000 << 10);
    let tree = json("--format json --tree");
    let depths: Vec<_> = tree["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (&r["pid"], &r["ppid"], &r["depth"]))
        .collect();
    assert_eq!(
        depths,
        [(&1.into(), &1.into(), &0.into()), (&7.into(), &1.into(), &1.into())]
    );
    assert_eq!(tree["rows"][0]["tree_pss"], 4000 << 10);
}

#[test]
fn csv_has_the_ids_of_the_columns_over_plain_figures() {
    let (code, out, _) = said(&tree(), "--format csv --columns pid,pss,comm");
    assert_eq!(
        (code, out.as_str()),
        (Some(0), "pid,pss,comm\r\n7,3072000,cat\r\n1,1024000,init\r\n")
    );
    let (_, out, _) = said(&tree(), "--format csv -H --top 1 --tree --columns pid");
    assert_eq!(out, "0,1\r\n");
}

#[test]
fn again_and_again_each_line_has_its_time() {
    let (code, out, _) = said(&tree(), "--format csv --columns pid --every 100ms --count 2");
    let lines: Vec<_> = out.lines().collect();
    assert_eq!((code, lines.len(), lines[0]), (Some(0), 5, "at,pid"));
    assert!(lines[1].contains('T') && lines[1].ends_with(",7"), "{out}");
    assert_ne!(lines[1], lines[3]);
    let (code, out, _) = said(&tree(), "--format ndjson --every 100ms --count 3");
    assert_eq!((code, out.lines().count()), (Some(0), 3));
    let (code, _, err) = said(&tree(), "--format json --every 1");
    assert_eq!(code, Some(2));
    assert_eq!(
        err,
        "zmtop: --format: json is one object; with --every, use rows (one line per row) or ndjson (one line per snapshot)\n"
    );
}

#[test]
fn what_was_written_is_read_back_with_its_history() {
    let tree = tree();
    let (_, written, _) = said(&tree, "--format ndjson --every 1s --count 3");
    tree.write("kept", &written);
    let from = |more: &str| {
        let file = tree.path("kept");
        let line = format!("--from {} {more}", file.display());
        let mut command = super::program::ps(&tree, &line);
        // Another tree than a file's makes no sense.
        let args: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        command = std::process::Command::new(command.get_program());
        command.args(&args[..args.len() - 2]).env_clear().env("TZ", "UTC");
        let done = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let (code, out, err) = from("--columns pid,pss,dpss,comm --no-totals");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(
        out,
        "PID  PSS ΔPSS NAME\n  7 2.9M    0 cat\n  1 1000K    0 init\n"
            .replace("2.9M", " 2.9M")
            .replace("PID  PSS", "PID   PSS")
    );
    assert_eq!(
        from("--format csv --columns pid,pss").1,
        "pid,pss\r\n7,3072000\r\n1,1024000\r\n"
    );
    assert_eq!(from("--at -1500ms --total-only").1, "4096000\n");
    let (code, _, err) = from("--at 2001-01-01T00:00:00Z");
    assert_eq!(code, Some(3));
    assert!(err.contains("begins later, at 20"), "{err}");
    assert_eq!(from("--at soon").0, Some(2));
    assert_eq!(from("--by mapping").0, Some(2));
    assert_eq!(from("--by user").0, Some(0));
    tree.write("kept", "nothing like it");
    let (code, out, err) = from("");
    assert_eq!((code, out.as_str()), (Some(3), ""));
    assert!(
        err.contains("line 1 is damaged") && err.ends_with(" holds no snapshot\n"),
        "{err}"
    );
}

#[test]
fn a_file_is_accounted_for_as_the_machine_was() {
    let tree = tree();
    let mem = |args: &[&str]| {
        let done = std::process::Command::new(crate::support::pty::ZMTOP)
            .arg("mem")
            .args(args)
            .env_clear()
            .env("TZ", "UTC")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    tree.write("kept", &said(&tree, "--format ndjson").1);
    let (root, kept) = (tree.root(), tree.path("kept"));
    let (root, kept) = (root.to_str().unwrap(), kept.to_str().unwrap());
    let (_, live, _) = mem(&["--format", "json", "--proc-root", root]);
    let (code, read, err) = mem(&["--format", "json", "--from", kept]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let of = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let (live, read) = (of(&live), of(&read));
    assert!(live["ram"]["total"].is_u64());
    assert_eq!(live["ram"], read["ram"]);
    assert_eq!(live["account"]["parts"]["anon"], read["account"]["parts"]["anon"]);
    assert_eq!(mem(&["--from", kept, "--at", "soon"]).0, Some(2));
    assert_eq!(mem(&["--from", kept, "--at", "2001-01-01T00:00:00Z"]).0, Some(3));
    assert_eq!(mem(&["--from", kept, "--proc-root", root]).0, Some(2));
}
