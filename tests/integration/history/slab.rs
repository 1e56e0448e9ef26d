//! Slab caches and allocation sites have a history and are judged: one that is reclaimable, or may be, is never a leak.

use std::sync::Arc;
use std::time::Duration;

use crate::support::rows::{MIB, snapshot};

use zmtop::group::RowKey;
use zmtop::history::History;
use zmtop::history::kernel::site_name;
use zmtop::history::suspects::{Cause, Suspect, SuspectQuery, suspects};
use zmtop::model::kernel::{AllocFigures, AllocSite, AllocSites, KernelTables, SlabCache, SlabCaches, SlabFigures};
use zmtop::model::{Missing, Snapshot};
use zmtop::trend::Verdict;

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

const KIB: u64 = 1024;

/// Takes in 45 minutes of a machine whose caches are read every minute, as while nobody looks; `tell` returns them and the
/// unreclaimable slab. Returns what grows.
fn watch(tell: impl Fn(u64) -> (Vec<SlabCache>, u64)) -> Vec<Suspect> {
    let mut history = History::new(Duration::from_secs(10));
    let mut tables = KernelTables::default();
    let mut last = at(0, Vec::new());
    for second in (0..2700).step_by(2) {
        let (caches, slab) = tell(second);
        let fresh = at(second, caches);
        if second % 60 == 0 {
            tables = fresh.kernel.clone();
        }
        last = Snapshot {
            kernel: tables.clone(),
            ..fresh
        };
        let s = &mut last.system;
        (s.mem_total, s.mem_free, s.mem_available) = (Ok(16 << 30), Ok(8 << 30), Ok(8 << 30));
        (s.swap_free, s.sunreclaim) = (Ok(0), Ok(slab));
        // The rest is nobody's, and stays.
        s.mem_free = Ok((8 << 30) - slab);
        history.push(&last);
    }
    suspects(&history, &last, SuspectQuery::GROWING)
}

#[test]
fn the_cache_that_grows_is_the_reason_of_the_part() {
    let found = watch(|second| {
        let grown = second * 100 * KIB;
        let caches = vec![
            cache("dentry", Some(true), 20 * MIB + 3 * grown),
            cache("kmalloc-64\x1b[31m", Some(false), 10 * MIB + grown),
            cache("signal_cache", Some(false), 50 * MIB + grown / 10),
        ];
        (caches, 200 * MIB + grown + grown / 10)
    });
    let [part] = &found[..] else { panic!("{found:?}") };
    let key = part.key.part().unwrap();
    assert_eq!(
        (key.id, part.judgement.verdict),
        ("slab_unreclaimable", Verdict::Leaking)
    );
    let cause = part.cause.as_ref().unwrap();
    assert_eq!(*cause, Cause::Slab((*b"kmalloc-64\x1b[31m").into()));
    assert_eq!(cause.text(), "slab kmalloc-64\\x1b[31m");
    assert_eq!(part.footprint, 200 * MIB + 2698 * 110 * KIB);
}

#[test]
fn a_cache_that_leaks_behind_another_that_shrinks_is_reported() {
    let found = watch(|second| {
        let grown = second * 100 * KIB;
        let caches = vec![
            cache("kmalloc-64", Some(false), 10 * MIB + grown),
            cache("filp", Some(false), 500 * MIB - grown),
        ];
        (caches, 600 * MIB)
    });
    let [one] = &found[..] else { panic!("{found:?}") };
    assert!(matches!(&one.key, RowKey::Part(key) if key.id == "slab_unreclaimable"));
    assert_eq!(
        (one.judgement.verdict, one.cause.as_ref().unwrap().text()),
        (Verdict::Leaking, "slab kmalloc-64".into())
    );
    // The footprint is that of the cache, not of all slab.
    assert!(one.footprint < 300 * MIB, "{one:?}");
    // What only shrinks, or stays, is no news.
    assert_eq!(
        watch(|_| (vec![cache("kmalloc-64", Some(false), 10 * MIB)], 600 * MIB)),
        []
    );
}

fn site(place: &str, function: &str, size: u64) -> AllocSite {
    AllocSite {
        place: place.as_bytes().into(),
        function: function.as_bytes().into(),
        figures: AllocFigures { size, calls: 1 },
        ..AllocSite::default()
    }
}

#[test]
fn an_allocation_site_grows_and_is_never_said_to_leak() {
    let mut history = History::new(Duration::from_secs(10));
    let name = |function: &str| site_name(&site("mm/slub.c:1", function, 0));
    let push = |history: &mut History, second: u64, size: u64| {
        let mut snap = at(second, Vec::new());
        snap.kernel.slab = Err(Missing::Denied);
        snap.kernel.sites = Ok(Arc::new(AllocSites {
            sites: vec![
                site("mm/slub.c:1", "grows", size),
                site("mm/slub.c:1", "stays", 20 * MIB),
                site("mm/slub.c:1", "small", 4096),
            ],
            malformed: 0,
            running: true,
        }));
        history.push(&snap);
    };
    let mut worst = Verdict::Unknown;
    for second in (0..2700).step_by(2) {
        push(&mut history, second, 20 * MIB + second * 100 * KIB);
        worst = worst.max(history.sites().get(&name("grows")).unwrap().trend().verdict);
    }
    assert_eq!(worst, Verdict::Growing);
    assert_eq!(
        history.sites().get(&name("stays")).unwrap().trend().verdict,
        Verdict::Steady
    );
    assert!(history.sites().get(&name("small")).is_none() && history.sites().grower().is_none());
    let change = history.sites().get(&name("grows")).unwrap().change().pss.unwrap();
    assert!((800_000..1_300_000).contains(&change), "{change}");
    // While nobody looked nothing is known: it is no line from then to now.
    push(&mut history, 9000, 20 * MIB);
    let row = history.sites().get(&name("stays")).unwrap();
    let seen = row.footprint().over(Duration::from_secs(7200)).recent(72);
    assert!(seen[30].is_none() && seen.last().unwrap().is_some(), "{seen:?}");
}
