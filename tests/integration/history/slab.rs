//! Slab caches have a history and are judged: one that is reclaimable is never a leak.

use std::sync::Arc;
use std::time::Duration;

use zmtop::history::History;
use zmtop::model::slab::{SlabCache, SlabCaches, SlabFigures};
use zmtop::model::{Missing, Snapshot};
use zmtop::trend::Verdict;

use crate::support::rows::{MIB, snapshot};

fn cache(name: &str, reclaimable: Option<bool>, size: u64) -> SlabCache {
    SlabCache {
        name: name.as_bytes().into(),
        reclaimable,
        figures: SlabFigures {
            size,
            ..SlabFigures::default()
        },
        ..SlabCache::default()
    }
}

fn at(second: u64, caches: Vec<SlabCache>) -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(100_000 + second), Vec::new());
    snap.kernel.slab = Ok(Arc::new(SlabCaches { caches, malformed: 0 }));
    snap
}

#[test]
fn only_what_the_kernel_never_takes_back_is_a_leak() {
    let mut history = History::new(Duration::from_secs(10));
    let kinds = [("dentry", Some(true)), ("signal", Some(false)), ("other", None)];
    let mut worst = [Verdict::Unknown; 3];
    // Read every two seconds; the ticks between have the same tables.
    let mut last = at(0, Vec::new());
    for second in 0..3600 {
        if second % 2 == 0 {
            let size = 20 * MIB + second * 100 * 1024;
            let caches = kinds.iter().map(|(name, kind)| cache(name, *kind, size));
            last = at(second, caches.collect());
        } else {
            last.monotonic += Duration::from_secs(1);
        }
        history.push(&last);
        for (worst, (name, _)) in worst.iter_mut().zip(kinds) {
            *worst = (*worst).max(history.slab().get(name.as_bytes()).unwrap().trend().verdict);
        }
    }
    assert_eq!(worst, [Verdict::Growing, Verdict::Leaking, Verdict::Growing]);
    let change = history.slab().get(b"signal").unwrap().change().pss.unwrap();
    assert!((800_000..1_300_000).contains(&change), "{change}");
}

#[test]
fn a_cache_that_is_gone_has_no_history_until_it_comes_back() {
    let mut history = History::new(Duration::from_secs(10));
    let both = || vec![cache("a", None, MIB), cache("b", None, 2 * MIB)];
    history.push(&at(0, both()));
    assert!(history.slab().get(b"a").is_some() && history.slab().get(b"c").is_none());
    history.push(&at(2, vec![cache("b", None, 3 * MIB)]));
    assert!(history.slab().get(b"a").is_none());
    assert_eq!(history.slab().get(b"b").unwrap().change().pss, Some(1 << 20));
    // What cannot be read for once does not end it.
    let mut unread = at(4, Vec::new());
    unread.kernel.slab = Err(Missing::TimedOut);
    history.push(&unread);
    assert!(history.slab().get(b"b").is_some());
    history.push(&at(6, both()));
    assert!(history.slab().get(b"a").is_some());
}
