//! The parts of the RAM have a history and are judged: what may leak, and what the kernel takes back and never does.

use std::sync::Arc;
use std::time::Duration;

use crate::support::rows::{MIB, in_cgroup, process, snapshot, walk, with_pss};

use zmtop::account::{Growth, PARTS, PartKind, ProcessTotals, REST, account};
use zmtop::group::RowKey;
use zmtop::history::History;
use zmtop::history::kept::Kept;
use zmtop::history::suspects::{Cause, Suspect, SuspectQuery, suspects};
use zmtop::model::system::{AccountingInputs, MemoryMount, Sockets, SysvCreator, SysvShm, Zones};
use zmtop::model::{CgroupFigures, Missing, Snapshot, SystemSample};
use zmtop::trend::Verdict;

const KIB: u64 = 1024;
const START: u64 = 100_000;

/// A machine of which these figures are known, the rest of it being file cache and free.
fn at(second: u64, set: impl FnOnce(&mut SystemSample)) -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(START + second), Vec::new());
    let s = &mut snap.system;
    s.mem_total = Ok(16_000 * MIB);
    s.anon_pages = Ok(4000 * MIB);
    s.cached = Ok(5000 * MIB);
    s.shmem = Ok(100 * MIB);
    s.buffers = Ok(100 * MIB);
    s.sreclaimable = Ok(300 * MIB);
    s.sunreclaim = Ok(200 * MIB);
    s.page_tables = Ok(50 * MIB);
    s.mem_available = Ok(9000 * MIB);
    s.swap_total = Ok(0);
    s.swap_free = Ok(0);
    set(s);
    // Each page is in one part only: what grows is taken from what is free, but for what no part has.
    let known = [
        s.anon_pages,
        s.cached,
        s.buffers,
        s.sreclaimable,
        s.sunreclaim,
        s.page_tables,
    ];
    let known: u64 = known.iter().map(|part| part.unwrap()).sum();
    if s.mem_free.is_err() {
        s.mem_free = Ok(16_000 * MIB - 500 * MIB - known);
    }
    snap
}

type Set = fn(&mut SystemSample, u64);

/// Something that trembles, 0 to 1.
fn noise(second: u64) -> f64 {
    let mixed = second.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / f64::from(1 << 24)
}

/// The worst verdict on a part within so many seconds of what `set` makes of each.
fn worst(id: &str, seconds: u64, set: impl Fn(&mut SystemSample, u64)) -> Verdict {
    let mut history = History::new(Duration::from_secs(10));
    let mut worst = Verdict::Unknown;
    for second in 0..seconds {
        history.push(&at(second, |s| set(s, second)));
        worst = worst.max(history.parts().get(id).unwrap().trend().verdict);
    }
    worst
}

const HOUR: u64 = 3600;

#[test]
fn unreclaimable_slab_is_judged_as_a_process_is() {
    let slab = |of: fn(u64) -> f64| {
        worst("slab_unreclaimable", HOUR, |s, second| {
            let trembles = noise(second) * 200.0;
            s.sunreclaim = Ok(200 * MIB + ((of(second) + trembles) * KIB as f64) as u64);
        })
    };
    assert_eq!(slab(|_| 0.0), Verdict::Steady, "steady");
    let saw = slab(|second| (second % 300) as f64 * 100.0);
    assert!(saw < Verdict::Leaking, "a saw-tooth: {saw:?}");
    // It fills up to 60 MB, ever slower.
    let warms = slab(|second| 60_000.0 * (1.0 - (-(second as f64) / 600.0).exp()));
    assert!((Verdict::Warming..Verdict::Leaking).contains(&warms), "{warms:?}");
    assert_eq!(
        slab(|second| second.saturating_sub(300) as f64 * 170.0),
        Verdict::Leaking
    );
}

#[test]
fn what_nobody_accounts_for_may_leak() {
    let takes = |second: u64| second.saturating_sub(300) * 100 * KIB;
    let leaks = worst(REST, HOUR, |s, second| s.mem_free = Ok(5500 * MIB - takes(second)));
    assert_eq!(leaks, Verdict::Leaking);
    let stays = worst(REST, HOUR, |s, second| {
        s.mem_free = Ok(5500 * MIB - (noise(second) * 3e6) as u64);
    });
    assert!(stays <= Verdict::Steady, "{stays:?}");
}

#[test]
fn growth_of_socket_buffers_is_reported_with_memory_not_accounted_for() {
    let cause = |in_sockets: fn(u64) -> u64, in_slab: fn(u64) -> u64| {
        let mut history = History::new(Duration::from_secs(10));
        let grown = |second: u64| second.saturating_sub(60) * 300 * KIB;
        let mut last = None;
        for second in 0..600 {
            let mut snap = at(second, |s| {
                s.mem_free = Ok(5500 * MIB - grown(second) - in_slab(grown(second)));
                s.sunreclaim = Ok(200 * MIB + in_slab(grown(second)));
            });
            snap.accounting = Arc::new(AccountingInputs {
                sockets: Ok(Sockets {
                    tcp: in_sockets(grown(second)),
                    ..Sockets::default()
                }),
                ..(*snap.accounting).clone()
            });
            history.push(&snap);
            last = Some(snap);
        }
        let found = suspects(&history, &last.unwrap(), SuspectQuery::GROWING);
        let of_rest = |suspect: &&Suspect| suspect.key.part().is_some_and(|key| key.id == REST);
        found.iter().find(of_rest).unwrap().cause.clone()
    };
    let Some(Cause::Sockets { grown }) = cause(|grown| grown * 9 / 10, |_| 0) else {
        panic!("{:?}", cause(|grown| grown * 9 / 10, |_| 0));
    };
    assert!(grown.abs_diff(540 * 270 * KIB) < 20 * MIB, "{grown}");
    assert_eq!(cause(|grown| grown / 10, |_| 0), None);
    // Small buffers lie in slab.
    assert_eq!(cause(|grown| grown * 9 / 10, |grown| grown), None);
}

#[test]
fn what_the_kernel_takes_back_grows_and_never_leaks() {
    let grows = |second: u64| second.saturating_sub(300) * 400 * KIB;
    let cases: [(&str, Set); 4] = [
        ("files", |s, grown| s.cached = Ok(5000 * MIB + grown)),
        ("buffers", |s, grown| s.buffers = Ok(100 * MIB + grown)),
        ("slab_reclaimable", |s, grown| s.sreclaimable = Ok(300 * MIB + grown)),
        ("anon", |s, grown| s.anon_pages = Ok(4000 * MIB + grown)),
    ];
    for (id, set) in cases {
        let mut history = History::new(Duration::from_secs(10));
        let mut last = at(0, |_| {});
        for second in 0..2400 {
            last = at(second, |s| set(s, grows(second)));
            history.push(&last);
            let verdict = history.parts().get(id).unwrap().trend().verdict;
            assert!(verdict < Verdict::Leaking, "{id} at {second}");
        }
        assert_eq!(
            history.parts().get(id).unwrap().trend().verdict,
            Verdict::Growing,
            "{id}"
        );
        assert_eq!(suspects(&history, &last, SuspectQuery::GROWING), [], "{id}");
    }
    // Free memory is not judged at all.
    assert_eq!(
        worst("free", 1200, |s, second| s.anon_pages = Ok(4000 * MIB - second * MIB)),
        Verdict::Unknown
    );
}

#[test]
fn graphics_leak_by_what_their_driver_does_not_give_back() {
    let gpu = |reclaims: bool| {
        worst("gpu", 2400, move |s, second| {
            let grown = second.saturating_sub(300) * 400 * KIB;
            s.gpu = Ok(500 * MIB + grown);
            s.gpu_reclaim = Ok(100 * MIB + if reclaims { grown } else { 0 });
        })
    };
    assert_eq!(gpu(false), Verdict::Leaking);
    assert!(gpu(true) < Verdict::Leaking);
}

#[test]
fn a_part_that_leaks_is_reported_with_the_processes() {
    let mut history = History::new(Duration::from_secs(10));
    let mut last = at(0, |_| {});
    for second in 0..2400 {
        last = at(second, |s| s.sunreclaim = Ok(200 * MIB + second * 200 * KIB));
        history.push(&last);
    }
    let found = suspects(&history, &last, SuspectQuery::GROWING);
    let keys: Vec<_> = found.iter().map(|suspect| suspect.key.clone()).collect();
    let [RowKey::Part(key)] = &keys[..] else {
        panic!("{keys:?}")
    };
    assert_eq!(
        (key.id, key.label),
        ("slab_unreclaimable", "kernel: unreclaimable slab")
    );
    let leak = &found[0];
    assert_eq!(leak.judgement.verdict, Verdict::Leaking);
    let pace = leak.judgement.slope / KIB as f64;
    assert!((190.0..210.0).contains(&pace), "{pace} KiB/s");
    // Nothing is known of the work that was done for it.
    let reasons = leak.judgement.texts().join(", ");
    assert!(
        reasons.starts_with("grew throughout") && !reasons.contains("work"),
        "{reasons}"
    );
    // 9000 MiB at 200 KiB a second.
    let eta = leak.eta.unwrap();
    assert!((40_000.0..50_000.0).contains(&eta), "{eta}");
}

#[test]
fn every_part_of_the_account_has_a_rule_with_its_reason() {
    let inputs = AccountingInputs::missing(Missing::Unsupported);
    let system = SystemSample::missing(Missing::Unsupported);
    let all = account(&system, &inputs, &ProcessTotals::missing(Missing::Unsupported));
    for part in &all.parts {
        let kind = PartKind::find(part.id).unwrap_or_else(|| panic!("{}: may it leak, and why?", part.id));
        assert!(kind.reason.len() > 5 && !part.help.is_empty(), "{}", part.id);
    }
    for PartKind { id, growth, label, .. } in PARTS {
        let is_told = *growth != Growth::Leak || !label.is_empty();
        assert!(is_told, "{id}");
        assert_eq!(PARTS.iter().filter(|other| other.id == *id).count(), 1, "{id}");
    }
}

#[test]
fn the_past_of_parts_is_kept() {
    let mut history = History::new(Duration::from_secs(10));
    let mut last = at(0, |_| {});
    for second in 0..1800 {
        last = at(second, |s| s.sunreclaim = Ok(200 * MIB + second * 200 * KIB));
        history.push(&last);
    }
    let before = *history.parts().get("slab_unreclaimable").unwrap().trend();
    assert_eq!(before.verdict, Verdict::Leaking);
    let mut next = History::new(Duration::from_secs(10));
    let bytes = history.keep(&last, "here").unwrap();
    next.resume(Kept::read(&bytes, "here").unwrap().unwrap());
    next.push(&at(1860, |s| s.sunreclaim = Ok(200 * MIB + 1860 * 200 * KIB)));
    let row = next.parts().get("slab_unreclaimable").unwrap();
    assert_eq!((row.trend().verdict, row.trend().since), (before.verdict, before.since));
    assert_eq!(row.footprint().start(), Some(Duration::from_secs(START)));
}

#[test]
fn what_nobody_accounts_for_is_counted_with_what_was_read_together() {
    let mut history = History::new(Duration::from_secs(10));
    let rest = |history: &History| {
        let row = history.parts().get(REST)?;
        row.footprint().last().map(|bytes| bytes / MIB)
    };
    let push = |history: &mut History, second, free: u64, inputs: &Arc<AccountingInputs>| {
        let mut snap = at(second, |s| s.mem_free = Ok(free * MIB));
        snap.accounting = Arc::clone(inputs);
        history.push(&snap);
        rest(history)
    };
    let read = |lists: u64| {
        Arc::new(AccountingInputs {
            zones: Ok(Zones {
                free_lists: lists * MIB,
                ..Zones::default()
            }),
            ..AccountingInputs::missing(Missing::Unsupported)
        })
    };
    // Nothing is known of free lists so far: it is not that nobody accounts for them.
    let pending = Arc::new(AccountingInputs::missing(Missing::Pending));
    assert_eq!(push(&mut history, 0, 5850, &pending), None);
    let (first, second) = (read(100), read(20));
    assert_eq!(push(&mut history, 1, 5850, &first), Some(400));
    // Pages go from the lists to what is free; the lists were not read again.
    assert_eq!(push(&mut history, 2, 5930, &first), Some(400));
    assert_eq!(push(&mut history, 3, 5930, &second), Some(400));
    assert_eq!(push(&mut history, 4, 5900, &read(20)), Some(430));
}

/// A machine with ten processes of so many bytes each, and of which these figures are known.
fn with_processes(second: u64, each: u64, set: impl FnOnce(&mut SystemSample)) -> Snapshot {
    let mut snap = at(second, set);
    let rows = (10..20).map(|pid| {
        let mut sample = process(pid, 1, "worker");
        sample.stat.rss = each;
        sample.walk = Ok(walk(each, 0));
        sample
    });
    snap.processes = Ok(rows.collect());
    snap
}

/// The worst verdict on a part within half an hour, beside processes whose memory is `each` bytes.
fn worst_beside(id: &str, each: impl Fn(u64) -> u64, set: impl Fn(&mut SystemSample, u64)) -> Verdict {
    let mut history = History::new(Duration::from_secs(10));
    let mut worst = Verdict::Unknown;
    for second in 0..HOUR / 2 {
        history.push(&with_processes(second, each(second), |s| set(s, second)));
        worst = worst.max(history.parts().get(id).unwrap().trend().verdict);
    }
    worst
}

#[test]
fn what_grows_because_processes_grow_is_theirs() {
    // Ten processes leak 36 MiB a minute each; a 512th of it are page tables: 720 KiB a minute.
    let leaks = |second: u64| 100 * MIB + second * 600 * KIB;
    let steady = |second: u64| 100 * MIB + (noise(second) * 1e6) as u64;
    let by = |set: fn(&mut SystemSample) -> &mut zmtop::model::Reading<u64>, pace: u64| {
        move |s: &mut SystemSample, second: u64| *set(s) = Ok(50 * MIB + second * pace)
    };
    let page_tables = by(|s| &mut s.page_tables, 12 * KIB);
    let stacks = by(|s| &mut s.kernel_stack, 16 * KIB);
    let told = worst_beside("page_tables", leaks, page_tables);
    assert!((Verdict::Growing..Verdict::Leaking).contains(&told), "{told:?}");
    // Beside processes that do not grow, and beside some that grow by far too little to explain it, they leak.
    assert_eq!(
        worst_beside("page_tables", steady, page_tables),
        Verdict::Leaking,
        "steady processes"
    );
    let slow = |second: u64| 100 * MIB + second * 20 * KIB;
    assert_eq!(
        worst_beside("page_tables", slow, page_tables),
        Verdict::Leaking,
        "slow processes"
    );
    assert!(worst_beside("kernel_stacks", leaks, stacks) < Verdict::Leaking);
    // A thread takes 16 KiB of stack in the kernel, and half of that for itself.
    let threads = |second: u64| 100 * MIB + second * 8 * KIB / 10;
    assert_eq!(
        worst_beside("kernel_stacks", threads, stacks),
        Verdict::Leaking,
        "threads"
    );
    // What the kernel takes for itself is not explained by processes.
    let slab = by(|s| &mut s.sunreclaim, 100 * KIB);
    assert_eq!(
        worst_beside("slab_unreclaimable", leaks, slab),
        Verdict::Leaking,
        "slab"
    );
}

/// Returns the cause of the one part that grows in 40 minutes of these snapshots, by second.
#[track_caller]
fn cause_of_growth(made: impl Fn(u64) -> Snapshot) -> Option<String> {
    let mut history = History::new(Duration::from_secs(10));
    (0..2400).for_each(|second| history.push(&made(second)));
    let [part] = &suspects(&history, &made(2399), SuspectQuery::GROWING)[..] else {
        panic!()
    };
    part.cause.as_ref().map(Cause::text)
}

#[test]
fn the_process_with_most_huge_pages_is_named_if_their_pool_grows() {
    for (mib, expected) in [(2000, Some("2.0G of it in program (pid 30)")), (200, None)] {
        let cause = cause_of_growth(|second| {
            let mut sample = process(30, 1, "program");
            let memory = &mut sample.walk.as_mut().unwrap().memory;
            (memory.private_hugetlb, memory.shared_hugetlb) = (Ok(mib * MIB), Ok(0));
            let mut snap = at(second, |s| s.hugetlb = Ok(second * MIB));
            snap.processes = Ok(vec![sample]);
            snap
        });
        assert_eq!(cause.as_deref(), expected);
    }
}

#[test]
fn the_user_with_most_system_v_segments_is_named_if_shared_memory_grows() {
    type Case = (fn(u64) -> u64, Option<&'static str>);
    let cases: [Case; 3] = [
        (
            |second| second * 4 / 5,
            Some("1.9G of it in System V segments of uid 7, the largest created by pid 30"),
        ),
        (|second| second / 10, None),
        // Segments that do not grow.
        (|_| 2000, None),
    ];
    for (mib, expected) in cases {
        let cause = cause_of_growth(|second| {
            let mut snap = at(second, |s| s.shmem = Ok((2000 + second) * MIB));
            let creator = SysvCreator {
                uid: 7,
                pid: 30,
                resident: mib(second) * MIB,
            };
            Arc::make_mut(&mut snap.accounting).sysv = Ok(SysvShm {
                creator: Ok(creator),
                ..SysvShm::default()
            });
            snap
        });
        assert_eq!(cause.as_deref(), expected);
    }
}

/// Whoever unmaps a file that it mapped many times hides its own growth by shared memory.
#[test]
fn the_process_with_most_shared_memory_is_named_if_it_grows() {
    type Case = (fn(u64) -> u64, Option<&'static str>);
    let cases: [Case; 3] = [
        (|second| 100 + second, Some("2.4G of it in program (pid 30)")),
        (|second| second / 10, None),
        (|_| 2400, None),
    ];
    for (mib, expected) in cases {
        let cause = cause_of_growth(|second| {
            let mut sample = process(30, 1, "program");
            let memory = &mut sample.walk.as_mut().unwrap().memory;
            let shared = mib(second) * MIB;
            (memory.rss, memory.pss) = (10_000 * MIB, 74 * MIB + shared);
            (memory.pss_file, memory.pss_shmem) = (Ok(64 * MIB), Ok(shared));
            let mut snap = at(second, |s| {
                (s.shmem, s.cached) = (Ok((100 + second) * MIB), Ok((5100 + second) * MIB));
            });
            snap.processes = Ok(vec![sample]);
            snap
        });
        assert_eq!(cause.as_deref(), expected);
    }
}

#[test]
fn the_process_or_program_with_most_page_tables_is_named() {
    // The page tables of each process in MiB, how many KiB a second they grow, and how those of the machine do.
    type Case = (&'static [(u64, u64)], u64, Option<&'static str>);
    let cases: [Case; 6] = [
        (&[(5, 12), (3, 0)], 12, Some("33.1M of it in e\\x1b[1m (pid 30)")),
        // Another one has most of them, but does not grow.
        (
            &[(200, 0), (5, 12)],
            12,
            Some("28.1M of its growth in e\\x1b[1m (pid 31)"),
        ),
        (&[(200, 0), (5, 3)], 12, Some("200M of it in e\\x1b[1m (pid 30)")),
        (
            &[(2, 4), (2, 4), (2, 4)],
            12,
            Some("34.1M of it in 3 processes of e\\x1b[1m"),
        ),
        (&[(2, 1), (2, 1)], 12, None),
        (&[], 12, None),
    ];
    for (processes, pace, expected) in cases {
        let mut history = History::new(Duration::from_secs(10));
        let all: u64 = processes.iter().map(|(mib, _)| mib).sum();
        let mut last = at(0, |_| {});
        for second in 0..2400 {
            last = at(second, |s| s.page_tables = Ok((10 + all) * MIB + second * pace * KIB));
            let rows = (30..).zip(processes).map(|(pid, (mib, pace))| {
                let mut sample = process(pid, 1, "e\x1b[1m");
                sample.page_tables = Ok(mib * MIB + second * pace * KIB);
                sample
            });
            last.processes = Ok(rows.collect());
            history.push(&last);
        }
        assert!(history.page_tables().is_suspected());
        let [part] = &suspects(&history, &last, SuspectQuery::GROWING)[..] else {
            panic!("{processes:?}")
        };
        let cause = part.cause.as_ref().map(Cause::text);
        assert_eq!(cause.as_deref(), expected, "{processes:?}");
    }
    // A shared address space counts once, and nothing is asked for while they do not grow.
    let mut history = History::new(Duration::from_secs(10));
    let mut snap = at(0, |_| {});
    let mut twins = [process(7, 1, "a"), process(8, 1, "a")];
    for twin in &mut twins {
        twin.page_tables = Ok(20 * MIB);
    }
    twins[1].shares_mm = Some(twins[0].id);
    snap.processes = Ok(twins.into());
    history.push(&snap);
    assert!(!history.page_tables().is_suspected());
    assert_eq!(history.part_share("page_tables", &snap), None);
}

#[test]
fn what_explains_the_growth_of_a_part_is_kept() {
    let leaks = |second: u64| 100 * MIB + second * 600 * KIB;
    let at = |second: u64| {
        with_processes(second, leaks(second), |s| {
            s.page_tables = Ok(50 * MIB + second * 12 * KIB);
        })
    };
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..1800 {
        history.push(&at(second));
    }
    let bytes = history.keep(&at(1799), "here").unwrap();
    let mut next = History::new(Duration::from_secs(10));
    next.resume(Kept::read(&bytes, "here").unwrap().unwrap());
    for second in 1860..2000 {
        next.push(&at(second));
        let verdict = next.parts().get("page_tables").unwrap().trend().verdict;
        assert!(verdict < Verdict::Leaking, "{second}");
    }
}

/// The machine, of which the file systems in memory with these paths use so many bytes each. They are read every 10 s.
fn with_mounts(second: u64, all: u64, mounts: &[(&str, u64)], last: &mut Arc<AccountingInputs>) -> Snapshot {
    let mut snap = at(second, |s| (s.shmem, s.cached) = (Ok(all), Ok(5000 * MIB + all)));
    if second.is_multiple_of(10) {
        let mount = |(device, (path, used)): (u64, &(&str, u64))| MemoryMount {
            device,
            path: path.as_bytes().into(),
            kind: "tmpfs".into(),
            used: Ok(*used),
            size: Ok(8000 * MIB),
        };
        *last = Arc::new(AccountingInputs {
            mounts: Ok((0..).zip(mounts).map(mount).collect()),
            ..AccountingInputs::missing(Missing::Unsupported)
        });
    }
    snap.accounting = Arc::clone(last);
    snap
}

fn unread() -> Arc<AccountingInputs> {
    Arc::new(AccountingInputs::missing(Missing::Pending))
}

/// The names of the suspects, and what may be a leak of them.
fn names(history: &History, last: &Snapshot) -> Vec<(String, Verdict)> {
    let found = suspects(history, last, SuspectQuery::GROWING);
    let name = |key: &RowKey| match key {
        RowKey::Part(key) => String::from_utf8(key.name().into_owned()).unwrap(),
        key => format!("{key:?}"),
    };
    let found = found.iter();
    found.map(|s| (name(&s.key), s.judgement.verdict)).collect()
}

#[test]
fn a_leak_in_one_tmpfs_is_reported_by_its_mount_point_though_another_is_emptied() {
    let (mut history, mut read) = (History::new(Duration::from_secs(10)), unread());
    let mut last = at(0, |_| {});
    for second in 0..2400 {
        let grown = second * 200 * KIB;
        // A program of another user ends, and frees what it shared.
        let others = if second < 2000 { 600 * MIB } else { 100 * MIB };
        let mounts = [("/run", MIB), ("/dev/shm", grown), ("/tmp", 50 * MIB)];
        last = with_mounts(second, others + grown, &mounts, &mut read);
        history.push(&last);
    }
    assert_eq!(
        names(&history, &last),
        [("tmpfs /dev/shm".to_owned(), Verdict::Leaking)]
    );
    // Its past is kept.
    let bytes = history.keep(&last, "here").unwrap();
    let mut next = History::new(Duration::from_secs(10));
    next.resume(Kept::read(&bytes, "here").unwrap().unwrap());
    last = with_mounts(2460, 100 * MIB, &[("/dev/shm", 2460 * 200 * KIB)], &mut read);
    next.push(&last);
    assert_eq!(names(&next, &last), [("tmpfs /dev/shm".to_owned(), Verdict::Leaking)]);
}

#[test]
fn mount_points_that_are_gone_make_room_for_others() {
    let (mut history, mut read) = (History::new(Duration::from_secs(10)), unread());
    let gone: Vec<_> = (0..5000).map(|number| format!("/pods/{number}")).collect();
    let gone: Vec<_> = gone.iter().map(|path| (path.as_str(), KIB)).collect();
    history.push(&with_mounts(0, 100 * MIB, &gone, &mut read));
    let mut last = at(0, |_| {});
    for second in 1..600 {
        let grown = second * 900 * KIB;
        last = with_mounts(second, 100 * MIB + grown, &[("/dev/shm", grown)], &mut read);
        history.push(&last);
    }
    assert_eq!(
        names(&history, &last),
        [("tmpfs /dev/shm".to_owned(), Verdict::Growing)]
    );
    assert!(history.mounts().get(b"/pods/0").is_none());
}

/// The machine's shared memory is read every second, and its file systems seldom, so that these are judged later.
#[test]
fn growing_shared_memory_is_reported_by_the_file_system_that_grows() {
    let (mut history, mut read) = (History::new(Duration::from_secs(10)), unread());
    let mut found = Vec::new();
    for second in 0..300 {
        let grown = second * 900 * KIB;
        let mounts = [("/run", MIB), ("/dev/shm", grown), ("/tmp", 50 * MIB)];
        let last = with_mounts(second, 100 * MIB + grown, &mounts, &mut read);
        history.push(&last);
        found.extend(names(&history, &last));
    }
    assert!(!found.is_empty());
    let others: Vec<_> = found.iter().filter(|(name, _)| name != "tmpfs /dev/shm").collect();
    assert_eq!(others, Vec::<&(String, Verdict)>::new());
}

#[test]
fn two_file_systems_that_leak_are_two_leaks() {
    let (mut history, mut read) = (History::new(Duration::from_secs(10)), unread());
    let mut last = at(0, |_| {});
    for second in 0..2400 {
        let grown = second * 200 * KIB;
        let mounts = [("/run", grown), ("/dev/shm", 2 * grown)];
        last = with_mounts(second, 100 * MIB + 3 * grown, &mounts, &mut read);
        history.push(&last);
    }
    let leaks = ["tmpfs /dev/shm", "tmpfs /run"].map(|name| (name.to_owned(), Verdict::Leaking));
    assert_eq!(names(&history, &last), leaks);
}

#[test]
fn of_two_leaks_the_one_that_reaches_a_limit_sooner_comes_first() {
    let mut history = History::new(Duration::from_secs(10));
    let mut last = at(0, |_| {});
    for second in 0..2400 {
        let leak = |pid: u32, cgroup: &str, pace: u64| {
            in_cgroup(with_pss(pid, cgroup, 50 * MIB + second * pace * KIB), cgroup)
        };
        last = at(second, |_| {});
        last.processes = snapshot(Duration::ZERO, vec![leak(7, "/fast", 400), leak(8, "/near", 200)]).processes;
        let limits = [("/fast", 100_000 * MIB), ("/near", 600 * MIB)].map(|(path, limit)| {
            let figures = CgroupFigures {
                current: Ok(100 * MIB),
                limit: Ok(Some(limit)),
                ..CgroupFigures::missing(Missing::Unsupported)
            };
            (Arc::from(path.as_bytes()), figures)
        });
        last.cgroups = Arc::new(limits.into_iter().collect());
        history.push(&last);
    }
    let found = suspects(&history, &last, SuspectQuery::GROWING);
    let order: Vec<_> = found.iter().filter_map(|s| Some(s.key.process()?.pid)).collect();
    assert_eq!(order, [8, 7], "{found:?}");
}

#[test]
fn a_leak_in_a_file_of_tmpfs_is_reported_once() {
    let report = |is_shared: bool, times: u64| {
        let mut read = unread();
        let mut history = History::new(Duration::from_secs(10));
        let mut at = |second: u64| {
            let grown = second * 200 * KIB;
            let mut snap = with_mounts(second, 100 * MIB + times * grown, &[("/dev/shm", grown)], &mut read);
            let mut sample = with_pss(7, "/usr/bin/leaks-in-shm", 50 * MIB + grown);
            if let Ok(walk) = &mut sample.walk {
                let [anon, shmem] = if is_shared { [0, grown] } else { [grown, 0] };
                walk.memory.pss_anon = Ok(40 * MIB + anon);
                walk.memory.pss_file = Ok(10 * MIB);
                walk.memory.pss_shmem = Ok(shmem);
            }
            snap.processes = snapshot(Duration::ZERO, vec![sample]).processes;
            snap
        };
        for second in 0..1800 {
            history.push(&at(second));
        }
        let found = suspects(&history, &at(1799), SuspectQuery::GROWING);
        found
            .into_iter()
            .map(|suspect| (suspect.key, suspect.cause))
            .collect::<Vec<_>>()
    };
    let [(RowKey::Process(id), cause)] = &report(true, 1)[..] else {
        panic!("{:?}", report(true, 1));
    };
    assert_eq!(
        (id.pid, cause.as_ref().unwrap().text()),
        (7, "in shared memory and tmpfs".into())
    );
    // What grows elsewhere explains nothing.
    assert_eq!(report(false, 1).len(), 2, "{:?}", report(false, 1));
    // If shared memory grows twice as fast, the process grows beside the file system.
    assert_eq!(report(true, 2).len(), 2, "{:?}", report(true, 2));
}
