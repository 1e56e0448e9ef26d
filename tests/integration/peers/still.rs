//! A captured tree holds still, so that smem and zmtop must agree on every figure of it to the last KiB.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{KB, Pair, number, said, zmtop};
use crate::kernel::child;

const CAPTURE: &str = include_str!("../../../assets/capture.sh");

/// Copies what `/proc` says of these processes, every mapping too.
fn capture(place: &Path, pids: &[u32]) {
    for pid in pids {
        let script = CAPTURE.replace("[0-9]*", &pid.to_string());
        let one = place.with_extension(pid.to_string());
        let mut shell = Command::new("sh");
        let done = shell.arg("-c").arg(script).env("d", &one).env("r", "smaps").status();
        assert!(done.unwrap().success());
        // The first is the place; of the others it takes the process.
        let part = if place.exists() {
            format!("proc/{pid}")
        } else {
            String::new()
        };
        fs::rename(one.join(&part), place.join(&part)).unwrap();
    }
}

/// The figures of rows under their names, those of one name together. Of a name there is the first word, as far as
/// smem shows it; the first `counts` figures are no KiB.
fn rows<'a>(rows: impl Iterator<Item = Vec<&'a str>>, counts: usize, unit: u64) -> BTreeMap<String, Vec<u64>> {
    let mut all = BTreeMap::new();
    for row in rows {
        let name = row[0]
            .replace("<anonymous>", "[anon]")
            .replace("/dev/zero", "[shared anonymous memory]");
        let name = name.split_whitespace().next().unwrap().chars().take(40).collect();
        let sums = all.entry(name).or_insert_with(|| vec![0; row.len() - 1]);
        for (at, text) in row[1..].iter().enumerate() {
            sums[at] += number(text) * if at < counts { 1 } else { unit };
        }
    }
    all
}

#[test]
fn a_captured_tree_is_the_same_to_the_last_kib() {
    const NAME: &str = "peers::still::a_captured_tree_is_the_same_to_the_last_kib";
    child::be(NAME);
    let pair = Pair::start(NAME);
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("captured");
    capture(&place, &pair.pids());
    let root = place.join("proc");
    let (place, root) = (place.to_str().unwrap(), root.to_str().unwrap());
    for (by, columns, view, theirs, counts) in [
        ("", "pid,swap,uss,pss,rss", "", "pid swap uss pss rss", 0),
        (
            "user",
            "user,count,swap,uss,pss,rss",
            "-u",
            "user count swap uss pss rss",
            1,
        ),
        ("mapping", "group,count,pss,swap", "-m", "map pids pss swap", 1),
    ] {
        let args = ["-S", place, "-H", "-c", theirs, view];
        let Some(theirs) = said("smem", &args[..args.len() - usize::from(view.is_empty())]) else {
            return;
        };
        let theirs = rows(theirs.lines().map(|line| line.split_whitespace().collect()), counts, KB);
        assert!(!theirs.is_empty());
        let args = ["--proc-root", root, "--columns", columns, "--by", by];
        let ours = zmtop(&args[..args.len() - 2 * usize::from(by.is_empty())]);
        let ours = ours.iter().map(|row| row.iter().map(String::as_str).collect());
        assert_eq!(rows(ours, counts, 1), theirs, "by {by}");
    }
}
