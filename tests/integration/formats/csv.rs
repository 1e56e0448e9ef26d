//! CSV as it is written.

use std::io::{self, Write};
use std::time::Duration;

use proptest::prelude::*;
use zmtop::columns::{COLUMNS, Column, DataValue, Row, Unit, find};
use zmtop::history::History;
use zmtop::model::Snapshot;
use zmtop::output::data::DataTable;
use zmtop::output::table::RowTable;
use zmtop::output::{csv, json};
use zmtop::record::Record;

use super::made::{any_snapshot, hostile, small};
use super::row_table;

fn all() -> Vec<&'static Column> {
    COLUMNS.iter().collect()
}

fn written(snapshot: &Snapshot, columns: &[&'static Column]) -> String {
    let mut history = History::new(Duration::from_secs(10));
    history.push(snapshot);
    let rows = snapshot.rows().iter();
    let rows = rows.map(|sample| Row::of_process(sample, history.get(sample.id), snapshot));
    let mut out = Vec::new();
    csv::write(&mut out, row_table(snapshot, rows).table(columns.to_vec())).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_table_looks_so() {
    let ids = [
        "pid",
        "user",
        "pss",
        "dpss",
        "pss_dirty",
        "history",
        "age",
        "elapsed",
        "state",
        "comm",
        "command",
    ];
    let columns = ids.map(|id| find(id).unwrap().get());
    let text = written(&small(), &columns);
    assert_eq!(text.matches("\r\n").count(), text.lines().count());
    insta::assert_snapshot!("csv", text.replace("\r\n", "\n"));
}

#[track_caller]
fn cell(bytes: &[u8], want: &str) {
    let row = vec![DataValue::Text(bytes.into()), DataValue::Null];
    assert_eq!(table(None, row), format!("{want},\r\n"));
}

fn table(names: Option<Vec<&'static str>>, row: Vec<DataValue<'_>>) -> String {
    let mut out = Vec::new();
    let rows = Box::new([row].into_iter());
    csv::write(&mut out, DataTable { names, rows }).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn each_kind_of_cell() {
    cell(b"plain", "plain");
    cell(b"a,b", "\"a,b\"");
    cell(b"say \"hi\"", "\"say \"\"hi\"\"\"");
    cell(b"two\r\nlines\t\x1b[2J", "two\\r\\nlines\\t\\x1b[2J");
    cell(b"\xff", "\u{efff}");
    cell("\u{202e}x\u{9b}".as_bytes(), "\\u{202e}x\\x9b");
    for formula in ["=1+1", "+1", "-1", "@x", " =1", "＝1"] {
        cell(formula.as_bytes(), &format!("'{formula}"));
    }
    cell(b"\t=1", "'\\t=1");
    cell(b"1-1", "1-1");
    let row = vec![
        DataValue::Integer(u64::MAX),
        DataValue::Signed(-4096),
        DataValue::Float(-0.5),
        DataValue::float(f64::NAN),
        DataValue::Series(vec![Some(1), None]),
    ];
    let out = table(Some(vec!["a", "b", "c", "d", "e"]), row);
    assert_eq!(out, "a,b,c,d,e\r\n18446744073709551615,-4096,-0.5,,\r\n");
}

#[test]
fn the_depth_comes_first() {
    let made = small();
    let pid = [find("pid").unwrap().get()];
    let mut out = Vec::new();
    let row = |sample| Row::of_process(sample, None, &made);
    let table = RowTable {
        is_tree: true,
        rows: (0..).zip(made.rows()[..2].iter().map(row)).collect(),
        ..row_table(&made, [])
    };
    csv::write(&mut out, table.table(pid.to_vec())).unwrap();
    assert_eq!(out, b"depth,pid\r\n0,1\r\n1,2\r\n");
    let mut out = Vec::new();
    csv::write(&mut out, row_table(&made, []).table(pid.to_vec())).unwrap();
    assert_eq!(out, b"pid\r\n");
}

/// A pipe that is closed, as `head` leaves it.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn a_closed_pipe_is_known_as_one() {
    let made = hostile();
    let rows = made.rows().iter().cycle().take(999);
    let rows = rows.map(|sample| Row::of_process(sample, None, &made));
    let error = csv::write(Closed, row_table(&made, rows).table(all())).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    let error = json::document(&mut Closed, &Record::new(&made)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

fn check(snapshot: &Snapshot) {
    let text = written(snapshot, &all());
    let bad = text
        .replace("\r\n", "")
        .chars()
        .find(|c| c.is_control() || zmtop::text::is_invisible(*c));
    assert_eq!(bad, None, "{text}");
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text.as_bytes());
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), snapshot.rows().len() + 1);
    for record in &records[1..] {
        assert_eq!(record.len(), COLUMNS.len());
        for (cell, column) in record.iter().zip(COLUMNS) {
            if column.unit == Unit::Text {
                assert!(!cell.trim_start().starts_with(['=', '+', '-', '@']), "{cell:?}");
            } else {
                assert!(
                    cell.is_empty() || cell.parse::<f64>().is_ok(),
                    "{}: {cell:?}",
                    column.id
                );
            }
        }
    }
}

#[test]
fn hostile_names_stay_in_their_cells() {
    check(&hostile());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_name_stays_in_its_cell(snapshot in any_snapshot()) {
        check(&snapshot);
    }
}
