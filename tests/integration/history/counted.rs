//! Rows whose memory may not be read: their past is that of RSS, which the kernel counts for everyone.

use std::sync::Arc;
use std::time::Duration;

use zmtop::group::{GroupBy, GroupKey, Totals};
use zmtop::history::History;
use zmtop::history::kept::Kept;
use zmtop::model::{Counted, Missing, ProcessSample, Snapshot};
use zmtop::trend::{Judgement, Metric, Verdict};

use crate::support::rows::{MIB, later, process, walk, with_pss};

const WINDOW: Duration = Duration::from_secs(10);
const HERE: &str = "pid:[1] time:[2]";

fn at(second: u64, samples: Vec<ProcessSample>) -> Snapshot {
    let mut snap = later(second, samples);
    snap.interval = Duration::from_secs(5);
    snap
}

/// Another user's server, with so many MiB of anonymous pages, of pages of files, and in swap.
fn hidden(anon: f64, file: f64, swap: f64) -> ProcessSample {
    let bytes = |mib: f64| Some((mib * MIB as f64) as u64);
    let mut sample = process(7, 1, "/usr/bin/server");
    sample.id.starttime = 7;
    // The addresses of its program may not be read either.
    sample.stat.image = 0;
    sample.walk = Err(Missing::Denied);
    sample.stat.rss = ((anon + file) * MIB as f64) as u64;
    sample.counted = Counted::new(bytes(anon), bytes(swap));
    sample
}

/// Takes in 45 minutes; returns the last judgement, and the worst verdict.
fn judged(sample: impl Fn(f64) -> ProcessSample) -> (Judgement, Verdict) {
    let mut history = History::new(WINDOW);
    let mut worst = Verdict::Unknown;
    for second in (0..2700).step_by(5) {
        history.push(&at(second, vec![sample(second as f64 / 60.0)]));
        worst = worst.max(history.get(hidden(0.0, 0.0, 0.0).id).unwrap().trend().verdict);
    }
    (*history.get(hidden(0.0, 0.0, 0.0).id).unwrap().trend(), worst)
}

#[test]
fn what_is_anonymous_is_judged_and_pages_of_files_are_no_leak() {
    let (leak, _) = judged(|minute| hidden(100.0 + 10.0 * minute, 50.0, 0.0));
    assert_eq!((leak.verdict, leak.metric), (Verdict::Leaking, Metric::Rss));
    assert!((leak.slope * 60.0 / MIB as f64 - 10.0).abs() < 0.5, "{leak:?}");
    assert!(leak.texts()[0].contains("by RSS"), "{:?}", leak.texts());
    // Swapping out hides none of it.
    let (swapped, _) = judged(|minute| hidden(100.0, 50.0, 10.0 * minute));
    assert_eq!(swapped.verdict, Verdict::Leaking);
    let (files, worst) = judged(|minute| hidden(100.0, 50.0 + 10.0 * minute, 0.0));
    assert_eq!((files.metric, worst), (Metric::File, Verdict::Growing));
    let (_, worst) = judged(|_| hidden(100.0, 50.0, 3.0));
    assert_eq!(worst, Verdict::Steady);
}

#[test]
fn it_is_in_no_sum() {
    let mut history = History::new(WINDOW);
    let mut last = None;
    for second in 0..30 {
        let own = with_pss(8, "/usr/bin/server", 20 * MIB);
        let snap = at(second, vec![hidden(100.0 + second as f64, 0.0, 0.0), own]);
        history.push(&snap);
        last = Some(snap);
    }
    let last = last.unwrap();
    let row = history.get(last.rows()[0].id).unwrap();
    assert_eq!(row.change().pss, Some(10 * MIB.cast_signed()));
    let key = GroupKey {
        by: GroupBy::Command,
        name: Some(b"server"[..].into()),
    };
    let (_, group) = history.group(&key).unwrap().footprint_series().newest().unwrap();
    assert_eq!(group, 20 * MIB);
    let sum = Totals::of(last.rows(), |sample| history.get(sample.id).map(|row| *row.change()));
    assert_eq!(sum.change.pss, Some(0));
}

#[test]
fn rss_is_no_earlier_pss() {
    let mut history = History::new(WINDOW);
    for second in 0..60 {
        history.push(&at(second, vec![hidden(300.0, 50.0, 0.0)]));
    }
    let id = hidden(0.0, 0.0, 0.0).id;
    let mut readable = hidden(300.0, 50.0, 0.0);
    readable.walk = Ok(walk(120 * MIB, 0));
    readable.counted = Counted::default();
    for second in 60..90 {
        history.push(&at(second, vec![readable.clone()]));
        let row = history.get(id).unwrap();
        assert!(row.change().pss.unwrap_or(0) == 0, "{:?}", row.change());
        let start = row.footprint_series().start().unwrap().as_secs();
        assert_eq!(start, 100_060);
    }
    // A read that is late is no other kind of figure.
    readable.walk = Err(Missing::TimedOut);
    history.push(&at(90, vec![readable]));
    assert_eq!(
        history.get(id).unwrap().footprint_series().start().unwrap().as_secs(),
        100_060
    );
}

#[test]
fn an_unknown_part_is_no_zero() {
    let mut history = History::new(WINDOW);
    let mut sample = hidden(300.0, 50.0, 0.0);
    sample.counted = Counted::new(sample.counted.anon(), None);
    history.push(&at(0, vec![sample.clone()]));
    assert!(history.get(sample.id).unwrap().footprint_series().newest().is_none());
}

#[test]
fn its_past_is_kept_as_what_it_is() {
    let mut history = History::new(WINDOW);
    let mut last = at(0, Vec::new());
    for second in (0..300).step_by(5) {
        last = at(second, vec![hidden(100.0 + second as f64, 0.0, 0.0)]);
        history.push(&last);
    }
    let bytes = history.keep(&last, HERE).unwrap();
    let resumed = |sample: ProcessSample| {
        let mut next = History::new(WINDOW);
        next.resume(Kept::read(&bytes, HERE).unwrap().unwrap());
        next.push(&at(310, vec![sample.clone()]));
        next.get(sample.id)
            .unwrap()
            .footprint_series()
            .start()
            .unwrap()
            .as_secs()
    };
    assert_eq!(resumed(hidden(400.0, 0.0, 0.0)), 100_000);
    let mut readable = hidden(400.0, 0.0, 0.0);
    readable.walk = Ok(walk(120 * MIB, 0));
    assert_eq!(resumed(readable), 100_310);
    let mut another = hidden(400.0, 0.0, 0.0);
    Arc::make_mut(&mut another.facts).comm = b"client".as_slice().into();
    assert_eq!(resumed(another), 100_310);
}
