//! The page of promises: the tests, scripts and benches that it names exist.

use std::collections::HashSet;
use std::process::Command;

use super::root;

/// Returns the cells of the rows of a page, without titles and rules, and the heading above each.
fn rows(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut heading = "";
    let mut rows = Vec::new();
    let mut is_body = false;
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            heading = title;
        }
        if !line.starts_with('|') {
            is_body = false;
        } else if line.starts_with("| ---") {
            is_body = true;
        } else if is_body {
            rows.push((
                heading,
                line.trim_matches(['|', ' ']).split(" | ").map(str::trim).collect(),
            ));
        }
    }
    rows
}

/// Returns the names of the tests that run, as the test program lists them. Those that are ignored prove nothing.
fn tests() -> HashSet<String> {
    let program = std::env::current_exe().unwrap();
    let list = |more: &[&str]| -> HashSet<String> {
        let mut command = Command::new(&program);
        let listed = command
            .args(["--list", "--format", "terse"])
            .args(more)
            .output()
            .unwrap();
        let text = String::from_utf8(listed.stdout).unwrap();
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        names.map(str::to_owned).collect()
    };
    &list(&[]) - &list(&["--ignored"])
}

#[test]
fn each_promise_names_a_proof_that_exists() {
    let page = std::fs::read_to_string(root().join("tests/promises.md")).unwrap();
    let tests = tests();
    let mut promises = HashSet::new();
    let mut faults = Vec::new();
    for (heading, cells) in rows(&page) {
        let [promise, proofs] = cells[..] else {
            faults.push(format!("not two cells: {cells:?}"));
            continue;
        };
        if !promises.insert(promise) {
            faults.push(format!("twice: {promise}"));
        }
        if heading == "Not proved by a test" {
            continue;
        }
        let named: Vec<_> = proofs.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            faults.push(format!("no proof: {promise}"));
        }
        let exists = |name: &&str| tests.contains(*name) || name.contains('/') && root().join(name).is_file();
        faults.extend(
            named
                .iter()
                .filter(|name| !exists(name))
                .map(|name| format!("{promise}: no {name}")),
        );
    }
    assert!(promises.len() > 50, "{promises:?}");
    assert!(faults.is_empty(), "{faults:#?}");
}
