//! JSON as it is written.

use std::time::Duration;

use serde_json::{Value, json};
use zmtop::columns::{Column, Row, find};
use zmtop::group::Totals;
use zmtop::history::History;
use zmtop::output::json;
use zmtop::output::table::RowTable;
use zmtop::record::Record;

use super::made::{hostile, small};

fn text(write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_snapshot_looks_so() {
    let document = text(|out| json::document(out, &Record::new(&small())));
    insta::assert_snapshot!("json", document);
    let line = text(|out| json::line(out, &Record::new(&small())));
    assert_eq!(line.matches('\n').count(), 1);
    let [a, b]: [Value; 2] = [&document, &line].map(|text| serde_json::from_str(text).unwrap());
    assert_eq!(a, b);
}

#[test]
fn chosen_processes_have_their_own_totals() {
    let all = small();
    let two = text(|out| json::line(out, &Record::selected(&all, vec![&all.rows()[3], &all.rows()[0]])));
    let two: Value = serde_json::from_str(&two).unwrap();
    assert_eq!(two["processes"][0]["pid"], 30);
    assert_eq!(two["processes"][1]["pid"], 1);
    assert_eq!(
        two["totals"],
        json!({"processes": 2, "unreadable": 1, "pss": 10 << 20, "swap": 0, "swap_pss": 0})
    );
}

fn columns(ids: &[&str]) -> Vec<&'static Column> {
    ids.iter().map(|id| find(id).unwrap().get()).collect()
}

#[test]
fn a_table_has_chosen_columns() {
    let all = small();
    let columns = columns(&[
        "pid",
        "pss",
        "pss_dirty",
        "user",
        "dpss",
        "history",
        "pid",
        "container",
        "cpu",
    ]);
    let mut history = History::new(Duration::from_secs(10));
    history.push(&all);
    let rows: Vec<_> = all
        .rows()
        .iter()
        .map(|sample| {
            let row = Row::of_process(sample, history.get(sample.id), &all);
            (sample.stat.ppid as usize, row)
        })
        .collect();
    let totals = Totals::of(all.rows(), |_| None);
    let table = RowTable {
        snapshot: &all,
        by: None,
        is_tree: true,
        rows,
        totals: Some(Row::of_totals(&totals, &all)),
    };
    insta::assert_snapshot!("json-table", text(|out| json::document(out, &table.document(&columns))));
    let none = RowTable {
        rows: Vec::new(),
        totals: None,
        by: Some("command"),
        ..table
    };
    assert!(
        text(|out| json::document(out, &none.document(&columns)))
            .ends_with("\"by\":\"command\",\"rows\":[],\"totals\":null}\n")
    );
}

/// Nothing that a terminal could act on, in either layout; and no line begins inside a string.
#[test]
fn nothing_raw_gets_through() {
    let made = hostile();
    for text in [
        text(|out| json::document(out, &Record::new(&made))),
        text(|out| json::line(out, &Record::new(&made))),
    ] {
        let bad = text
            .chars()
            .find(|c| (c.is_control() && *c != '\n') || zmtop::text::is_invisible(*c));
        assert_eq!(bad, None);
        assert_eq!(text.lines().count() % 12, 1 + usize::from(text.lines().count() > 1));
    }
}

#[test]
fn a_pile_of_marks_is_escaped_and_comes_back() {
    let pile = format!("a{}", "\u{301}".repeat(10_000));
    let text = text(|out| json::line(out, &pile));
    // Four on the letter, and four on the last character of each escape.
    assert!(!text.contains(&"\u{301}".repeat(5)), "{text}");
    assert_eq!(text.matches("\\u0301").count(), 2000);
    assert_eq!(serde_json::from_str::<String>(&text).unwrap(), pile);
    let astral = "x\u{e0041}\u{1d173}y";
    let mut out = Vec::new();
    json::line(&mut out, &astral).unwrap();
    assert_eq!(out, b"\"x\\udb40\\udc41\\ud834\\udd73y\"\n");
}
