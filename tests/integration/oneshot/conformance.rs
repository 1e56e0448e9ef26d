//! Features that all reports have in common: the table, JSON and CSV, chosen columns, no rows, and wrong names.

use serde_json::Value;

use crate::maps::at;
use crate::sampler::held::open;
use crate::support::tree::ProcTree;

/// A report with a column and a misspelling of it.
struct Report {
    command: &'static str,
    /// The number of rows in the tree.
    rows: usize,
    column: &'static str,
    misspelt: &'static str,
    /// The heading of the column.
    title: &'static str,
    /// The rows in the document: a list, or a list in each element of a list.
    list: &'static [&'static str],
    /// A filter that no row passes. `None` if the report has no filter.
    nothing: Option<&'static str>,
}

/// `DIR` stands for a directory with one file.
const REPORTS: [Report; 7] = [
    Report {
        command: "ps",
        rows: 2,
        column: "pss",
        misspelt: "psss",
        title: "PSS",
        list: &["rows"],
        nothing: Some("cmd:nobody"),
    },
    Report {
        command: "maps 7",
        rows: 2,
        column: "mapping",
        misspelt: "maping",
        title: "MAPPING",
        list: &["processes", "mappings"],
        nothing: None,
    },
    Report {
        command: "held 1",
        rows: 1,
        column: "share",
        misspelt: "shares",
        title: "SHARE",
        list: &["processes", "objects"],
        nothing: None,
    },
    Report {
        command: "cache DIR",
        rows: 1,
        column: "cached",
        misspelt: "cachd",
        title: "CACHED",
        list: &["files"],
        nothing: Some("--filter size>1G"),
    },
    Report {
        command: "kernel slab",
        rows: 4,
        column: "waste",
        misspelt: "wastes",
        title: "WASTE",
        list: &["caches"],
        nothing: Some("size>1T"),
    },
    Report {
        command: "kernel sites",
        rows: 4,
        column: "calls",
        misspelt: "call",
        title: "CALLS",
        list: &["sites"],
        nothing: Some("calls>1G"),
    },
    // Only root may trace: its reports are tested in `callers`.
    Report {
        command: "kernel callers",
        rows: 0,
        column: "allocated",
        misspelt: "alocated",
        title: "",
        list: &[],
        nothing: Some("allocated>1T"),
    },
];

/// A machine of which every report has rows, and a directory with one file.
fn machine() -> (ProcTree, String) {
    let tree = crate::slab::machine();
    tree.system("allocinfo", crate::sites::FILE);
    tree.process(1).pss_kb(1000).write();
    tree.process(7).ppid(1).pss_kb(3000).write();
    tree.write("proc/7/smaps", [at(10, b"[heap]", 100), at(20, b"/lib/a", 20)].concat());
    open(
        &tree,
        1,
        3,
        "anon_inode:bpf-map",
        "map_type:\t1\nmemlock:\t4096\nmap_id:\t25\n",
    );
    tree.write("files/one", "1");
    let files = tree.path("files").to_str().unwrap().to_owned();
    (tree, files)
}

#[test]
fn every_report_has_rows_chosen_columns_and_no_rows_in_every_format() {
    let (tree, files) = machine();
    for report in REPORTS.iter().filter(|report| report.rows > 0) {
        let run = |more: &str| {
            let line = format!("{} {more}", report.command.replace("DIR", &files));
            let (code, out, err) = tree.zmtop(&line);
            // A filter that nothing matches is said; it is the only remark.
            let remarks = err.lines().filter(|line| !line.starts_with("zmtop: 0 of ")).count();
            assert_eq!((code, remarks), (Some(0), 0), "{line}: {err}");
            assert!(!out.contains(['\x1b', '\x07']), "{line}: {out:?}");
            out
        };
        let json = |more: &str| -> Vec<Value> {
            let document: Value = serde_json::from_str(&run(&format!("--format json {more}"))).unwrap();
            assert!(document["schema"].as_str().unwrap().starts_with("zmtop"), "{document}");
            let mut rows = vec![document];
            for name in report.list {
                let lists = rows.iter().map(|row| row[name].as_array().unwrap());
                rows = lists.flatten().cloned().collect();
            }
            rows
        };
        let what = report.command;
        assert!(run("").lines().any(|line| line.contains(report.title)), "{what}");
        let rows = json("");
        assert_eq!(rows.len(), report.rows, "{what}");
        assert!(rows.iter().all(|row| !row[report.column].is_null()), "{what}: {rows:?}");
        let csv = run("--format csv");
        assert_eq!(csv.lines().count(), report.rows + 1, "{what}: {csv}");

        // Mappings and what is held are named with their process.
        let is_chosen = |heading: &str| heading == report.column || heading == format!("pid,{}", report.column);
        let chosen = run(&format!("--columns {} --format csv", report.column));
        assert!(is_chosen(chosen.lines().next().unwrap()), "{what}: {chosen}");
        assert_eq!(chosen.lines().count(), report.rows + 1, "{what}: {chosen}");
        let heading = run(&format!("--columns {}", report.column));
        assert!(heading.contains(report.title), "{what}: {heading}");
        let reversed = run(&format!("--columns {0} --format csv --sort {0} -r", report.column));
        assert_eq!(reversed.lines().count(), report.rows + 1, "{what}");
        assert_eq!(run("--top 1 --format csv").lines().count(), 2, "{what}");

        if let Some(filter) = report.nothing {
            assert_eq!(json(filter), Vec::<Value>::new(), "{what}");
            assert_eq!(run(&format!("{filter} --format csv")).lines().count(), 1, "{what}");
            run(filter);
        }
    }
}

#[test]
fn every_report_names_the_nearest_column_to_a_wrong_one() {
    let (tree, files) = machine();
    for report in REPORTS {
        let refused = |option: &str, expected: &str| {
            let line = format!("{} {option}", report.command.replace("DIR", &files));
            let (code, out, err) = tree.zmtop(&line);
            assert_eq!((code, out.as_str()), (Some(2), ""), "{line}");
            assert!(err.contains(expected), "{line}: {err}");
        };
        let (right, wrong) = (report.column, report.misspelt);
        let expected = format!("unknown column `{wrong}`; did you mean `{right}`?");
        refused(&format!("--sort {wrong}"), &format!("--sort: {expected}"));
        refused(&format!("--sort -{wrong}"), &format!("--sort: {expected}"));
        refused(&format!("--columns {right},{wrong}"), &format!("--columns: {expected}"));
        refused("--columns x", "--columns: unknown column `x`");
        refused("--format xml", "json");
        if report.nothing.is_some_and(|filter| !filter.starts_with("--")) {
            refused(&format!("{right}>"), "FILTER: ");
        }
    }
}
