//! Reading snapshots from a file.

mod at;
mod damage;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use zmtop::history::History;
use zmtop::model::Snapshot;
use zmtop::output::json;
use zmtop::record::Record;
use zmtop::source::{Fault, Source, span};

use super::made::{small, told};
use crate::support::rows::{process, snapshot, walk};
use crate::support::scratch;

/// Snapshots of two processes, ten seconds apart, each of another size.
fn series(count: u64) -> Vec<Snapshot> {
    let at = |i: u64| {
        let mut one = process(1, 0, "init");
        one.walk = Ok(walk(i << 20, 0));
        one.stat.majflt = i * 10;
        snapshot(Duration::from_secs(i * 10), vec![one, process(2, 1, "two")])
    };
    (1..=count).map(at).collect()
}

fn ndjson(snapshots: &[Snapshot]) -> Vec<u8> {
    let mut out = Vec::new();
    for snapshot in snapshots {
        json::line(&mut out, &Record::new(snapshot)).unwrap();
    }
    out
}

/// A file that goes with its directory.
struct Made {
    _dir: TempDir,
    path: PathBuf,
}

fn file(bytes: &[u8]) -> Made {
    let dir = scratch();
    let path = dir.path().join("a file");
    fs::write(&path, bytes).unwrap();
    Made { _dir: dir, path }
}

/// Everything a file gives: the MiB of PSS of its first process in each snapshot, 0 where unknown; and the faults without the file's name.
fn all(path: &Path) -> (Vec<u64>, Vec<String>) {
    let (mut sizes, mut faults) = (Vec::new(), Vec::new());
    let source = match Source::open(path) {
        Ok(source) => source,
        Err(fault) => return (sizes, vec![fault.to_string()]),
    };
    let name = source.name().to_owned();
    for next in source {
        match next {
            Ok(snapshot) => {
                let first = snapshot.rows().first().and_then(|sample| sample.memory().ok());
                sizes.push(first.map_or(0, |memory| memory.pss >> 20));
            }
            Err(fault) => faults.push(fault.to_string().replace(&name, "F")),
        }
    }
    (sizes, faults)
}

#[track_caller]
fn gives(bytes: &[u8], sizes: &[u64], faults: &[&str]) {
    let made = file(bytes);
    let got = all(&made.path);
    assert_eq!(
        (got.0.as_slice(), got.1),
        (sizes, faults.iter().map(|f| (*f).to_owned()).collect())
    );
}

#[test]
fn each_layout_is_known_by_its_content() {
    let three = series(3);
    let lines = ndjson(&three);
    gives(&lines, &[1, 2, 3], &[]);
    let mut documents = Vec::new();
    for snapshot in &three {
        json::document(&mut documents, &Record::new(snapshot)).unwrap();
    }
    gives(&documents, &[1, 2, 3], &[]);
    gives(
        &[lines.clone(), documents.clone(), lines.clone()].concat(),
        &[1, 2, 3, 1, 2, 3, 1, 2, 3],
        &[],
    );
    // Blown up by another tool, its keys in another order, and blanks between.
    let pretty: Vec<String> = three
        .iter()
        .map(|one| {
            let value: serde_json::Value = serde_json::from_slice(&ndjson(std::slice::from_ref(one))).unwrap();
            serde_json::to_string_pretty(&value).unwrap()
        })
        .collect();
    gives(format!("\n\n  {}\n", pretty.join("\n \n")).as_bytes(), &[1, 2, 3], &[]);
    // Without a newline at the end.
    gives(lines.trim_ascii_end(), &[1, 2, 3], &[]);
    gives(&lines.replace_newlines(), &[1, 2, 3], &[]);
}

trait Newlines {
    fn replace_newlines(&self) -> Vec<u8>;
}

impl Newlines for Vec<u8> {
    /// As another system ends its lines.
    fn replace_newlines(&self) -> Vec<u8> {
        String::from_utf8(self.clone()).unwrap().replace('\n', "\r\n").into()
    }
}

#[test]
fn zstd_is_known_by_its_content() {
    let lines = ndjson(&series(3));
    let packed = zstd::bulk::compress(&lines, 3).unwrap();
    gives(&packed, &[1, 2, 3], &[]);
    gives(&[packed.clone(), packed].concat(), &[1, 2, 3, 1, 2, 3], &[]);
}

#[test]
fn what_is_no_file_is_refused() {
    let dir = TempDir::new().unwrap();
    let open = |path: &Path| Source::open(path).err().unwrap().to_string();
    let shown = |name: &str| dir.path().join(name).display().to_string();
    assert_eq!(
        open(&dir.path().join("none")),
        format!("{} cannot be read: no such file or directory", shown("none"))
    );
    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let not = "not a regular file (`-` reads standard input)";
    assert_eq!(open(&fifo), format!("{} is a FIFO, {not}", shown("fifo")));
    assert_eq!(
        open(dir.path()),
        format!(
            "{} has no recording: no file in it ends with .zmrec",
            dir.path().display()
        )
    );
    assert_eq!(open(Path::new("/dev/null")), format!("/dev/null is a device, {not}"));
    let error = Source::open(&dir.path().join("\u{1b}[2J")).err().unwrap();
    assert!(!error.to_string().contains('\u{1b}') && error.ends());
    gives(b"", &[], &["F is empty"]);
    gives(b" \n\n", &[], &["F is empty"]);
}

#[test]
fn a_file_replays_to_the_same_tables() {
    let three = series(3);
    let made = file(&ndjson(&three));
    let mut live = History::new(Duration::from_secs(10));
    let mut replayed = History::new(Duration::from_secs(10));
    for (tick, (before, after)) in three.iter().zip(Source::open(&made.path).unwrap()).enumerate() {
        let after = after.unwrap();
        live.push(before);
        replayed.push(&after);
        assert_eq!(after.tick, tick as u64 + 1);
        assert_eq!(told(before), told(&after));
        for sample in before.rows() {
            let change = |history: &History| *history.get(sample.id).unwrap().change();
            assert_eq!(change(&live), change(&replayed));
        }
    }
    let last = three.last().unwrap();
    assert_eq!(replayed.get(last.rows()[0].id).unwrap().change().majflt, Some(1.0));
}

#[test]
fn facts_that_stay_are_held_once() {
    let made = file(&ndjson(&series(2)));
    let read: Vec<Arc<Snapshot>> = Source::open(&made.path).unwrap().map(Result::unwrap).collect();
    assert!(Arc::ptr_eq(&read[0].rows()[1].facts, &read[1].rows()[1].facts));
}

/// Without a clock of its own a file is put on the wall clock's differences, which never run back.
#[test]
fn a_file_without_a_monotonic_clock() {
    let lines: Vec<String> = [0, 30, 20, 25]
        .map(|s| format!(r#"{{"time":"2026-11-20T23:51:{s:02}Z","schema":"zmtop/1","processes":[]}}"#))
        .into();
    let made = file(lines.join("\n").as_bytes());
    let read: Vec<_> = Source::open(&made.path).unwrap().map(Result::unwrap).collect();
    let clock = |i: usize| (read[i].monotonic.saturating_sub(read[0].monotonic)).as_secs();
    assert_eq!([0, 1, 2, 3].map(clock), [0, 30, 30, 35]);
}

#[test]
fn another_boot_begins_anew() {
    let two = series(2);
    let id = two[0].rows()[0].id;
    let grown = |change: fn(&mut Snapshot)| {
        let mut history = History::new(Duration::from_secs(30));
        history.push(&two[0]);
        let mut later = two[1].clone();
        change(&mut later);
        history.push(&later);
        history.get(id).unwrap().change().pss
    };
    assert_eq!(grown(|_| {}), Some(1 << 20));
    assert_eq!(grown(|s| s.boot_id = Ok("other".into())), None);
    assert_eq!(grown(|s| s.monotonic = Duration::from_secs(3)), None);
    assert_eq!(grown(|s| s.host = Arc::from(&b"renamed"[..])), Some(1 << 20));
    assert_eq!(
        grown(|s| {
            s.boot_id = Err(zmtop::model::Missing::Pending);
            s.host = Arc::from(&b"other"[..]);
        }),
        None
    );
    assert_eq!(
        grown(|s| s.boot_id = Err(zmtop::model::Missing::TimedOut)),
        Some(1 << 20)
    );
}

#[test]
fn the_span_of_a_file() {
    let at = |s| SystemTime::UNIX_EPOCH + Duration::from_secs(s);
    let lines = ndjson(&series(4));
    let made = file(&lines);
    assert_eq!(span(&made.path).unwrap(), (at(10), at(40)));
    let cut = file(&[b"x\n", &lines[..lines.len() - 9]].concat());
    assert_eq!(span(&cut.path).unwrap(), (at(10), at(30)));
    let none = file(b"garbage\nmore\n");
    let fault = |path| span(path).unwrap_err().fault;
    assert!(matches!(fault(&none.path), Fault::Damaged { first: 1, .. }));
    assert_eq!(fault(&file(b"").path), Fault::Empty);
}

#[test]
fn a_small_one_goes_through_a_file() {
    let made = file(&ndjson(&[small()]));
    let read = Source::open(&made.path).unwrap().next().unwrap().unwrap();
    assert_eq!(told(&small()), told(&read));
}
