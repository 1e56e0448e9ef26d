//! JSON and CSV as another reader, Python, understands them.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use zmtop::columns::{DataValue, Row, find};
use zmtop::output::data::DataTable;
use zmtop::output::{csv, json};
use zmtop::record::Record;

use super::made::{HOSTILE, hostile};
use super::row_table;
use crate::support::skip;

/// Undoes the lossless escape, and prints what it got as hexadecimal digits.
const JSON: &str = r#"
import json, sys
def raw(text):
    return b"".join(bytes([ord(c) - 0xEF00]) if "\uef80" <= c <= "\uefff" else c.encode() for c in text)
for line in sys.stdin.buffer:
    for process in json.loads(line)["processes"]:
        for field in ("comm", "user", "exe", "unit", "container", "cgroup", "cmdline"):
            print(raw(process[field]).hex())
"#;

const CSV: &str = r#"
import csv, io, sys
text = sys.stdin.buffer.read().decode()
for row in csv.reader(io.StringIO(text, newline=""), strict=True):
    print("|".join(cell.encode().hex() for cell in row))
"#;

/// Returns the lines that a script prints for an input; `None` without Python.
fn python(script: &str, input: &[u8]) -> Option<Vec<String>> {
    let child = Command::new("python3")
        .args(["-I", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        skip("python3 is not there");
        return None;
    };
    // Small enough for a pipe's buffer, and Python reads all before it writes.
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut out, b| {
        write!(out, "{b:02x}").unwrap();
        out
    })
}

#[test]
fn json_is_byte_exact_to_python() {
    let mut out = Vec::new();
    json::line(&mut out, &Record::new(&hostile())).unwrap();
    let Some(got) = python(JSON, &out) else { return };
    let want: Vec<String> = HOSTILE
        .iter()
        .flat_map(|name| {
            let cmdline = [*name, b"\0", name, b"\0"].concat();
            [
                hex(name),
                hex(name),
                hex(name),
                hex(name),
                hex(name),
                hex(name),
                hex(&cmdline),
            ]
        })
        .collect();
    assert_eq!(got, want);
}

#[test]
fn csv_is_the_same_cells_to_python() {
    let made = hostile();
    let columns = ["pid", "comm", "user", "pss"].map(|id| find(id).unwrap().get());
    let rows = made.rows().iter().map(|sample| Row::of_process(sample, None, &made));
    let mut out = Vec::new();
    csv::write(&mut out, row_table(&made, rows).table(columns.to_vec())).unwrap();
    let Some(got) = python(CSV, &out) else { return };
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(&out[..]);
    let want: Vec<String> = reader
        .records()
        .map(|record| {
            record
                .unwrap()
                .iter()
                .map(|cell| hex(cell.as_bytes()))
                .collect::<Vec<_>>()
                .join("|")
        })
        .collect();
    assert_eq!(got, want);
    assert_eq!(got.len(), HOSTILE.len() + 1);
}

#[test]
fn numbers_are_the_same_to_python() {
    let mut out = Vec::new();
    let values = [
        f64::MIN_POSITIVE,
        -1e300,
        0.1 + 0.2,
        Duration::from_nanos(1).as_secs_f64(),
    ];
    let table = DataTable {
        names: None,
        rows: Box::new([values.map(DataValue::float).to_vec()].into_iter()),
    };
    csv::write(&mut out, table).unwrap();
    let script = "import sys; print(*[float(x).hex() for x in sys.stdin.read().split(',')], sep='\\n')";
    let Some(got) = python(script, &out) else { return };
    let exact = values.map(|x| format!("{x:e}")).join(",");
    assert_eq!(Some(got), python(script, exact.as_bytes()));
}
