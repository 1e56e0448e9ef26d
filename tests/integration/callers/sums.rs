//! The events of all CPUs in one order, their sums, and the functions that call sites are in.

use std::collections::VecDeque;

use zmtop::model::Missing;
use zmtop::model::kernel::{CallFigures, Symbol};
use zmtop::proc::kallsyms::Lookup;
use zmtop::proc::tracefs::Event;
use zmtop::sampler::callers::tally::Merge;
use zmtop::sampler::callers::tally::{MAX_LIVE, MAX_SITES, Tally};

/// Numbers that look random, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[test]
fn events_of_all_cpus_come_in_one_order() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let cpus = 1 + random.below(5) as usize;
        // Busy, idle and bursting: the CPU that writes changes at random, and so does how often they are read.
        let mut waiting = vec![VecDeque::new(); cpus];
        let mut merge = Merge::new(cpus);
        let mut found = Vec::new();
        let mut written = 0_u64;
        for _ in 0..300 {
            for _ in 0..random.below(40) {
                let cpu = (random.below(cpus as u64) * random.below(2)) as usize;
                written += 1;
                waiting[cpu].push_back((written, cpu));
            }
            // While CPUs are read one after the other, they go on writing.
            let mut read = |at: usize, queue: &mut VecDeque<(u64, usize)>| {
                let busy = !waiting[at].is_empty();
                let page = waiting[at].len().min(1 + random.below(9) as usize);
                queue.extend(waiting[at].drain(..page));
                for _ in 0..random.below(4) {
                    let cpu = random.below(cpus as u64) as usize;
                    written += 1;
                    waiting[cpu].push_back((written, cpu));
                }
                busy
            };
            merge.step(&mut read, |at, cpu| found.push((at, cpu)));
        }
        let mut read = |at: usize, queue: &mut VecDeque<(u64, usize)>| {
            let busy = !waiting[at].is_empty();
            queue.extend(waiting[at].drain(..));
            busy
        };
        let mut steps = 0;
        while merge.step(&mut read, |at, cpu| found.push((at, cpu))) {
            steps += 1;
            assert!(steps < 100, "it comes to an end");
        }
        assert_eq!(found.len() as u64, written, "seed {seed}: none is kept back");
        assert!(found.iter().all(|(at, cpu)| at == cpu));
    }
}

#[test]
fn no_event_overtakes_an_older_one() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut waiting = vec![VecDeque::new(); 4];
        let (mut merge, mut found, mut written) = (Merge::new(4), Vec::new(), 0_u64);
        // The last CPU comes late, as one that is plugged in; the first goes.
        for round in 0..200 {
            let mut read = |at: usize, queue: &mut VecDeque<(u64, u64)>| {
                for _ in 0..random.below(3) {
                    let cpu = random.below(4) as usize;
                    if cpu == 3 && round < 100 || cpu == 0 && round > 100 {
                        continue;
                    }
                    written += 1;
                    waiting[cpu].push_back((written, written));
                }
                let busy = !waiting[at].is_empty();
                let page = waiting[at].len().min(2);
                queue.extend(waiting[at].drain(..page));
                busy
            };
            merge.step(&mut read, |_, time| found.push(time));
        }
        assert!(found.len() > 100, "seed {seed}: {} of {written}", found.len());
        assert!(found.is_sorted(), "seed {seed}");
    }
}

fn alloc(site: u64, pointer: u64, requested: u64, allocated: u64) -> Event {
    Event::Alloc {
        site,
        pointer,
        requested,
        allocated,
        by: None,
    }
}

fn free(pointer: u64) -> Event {
    Event::Free { pointer }
}

#[test]
fn allocations_are_summed_by_site_and_followed_to_their_free() {
    let mut tally = Tally::default();
    for (cpu, event) in [
        (0, alloc(1, 0x1000, 8, 32)),
        (0, alloc(2, 0x2000, 4104, 8192)),
        (1, alloc(1, 0x3000, 8, 32)),
        (1, free(0x1000)),
        (1, free(0x3000)),
        // Before the trace; nothing; a size of 0; no memory left.
        (0, free(0x4000)),
        (0, free(0)),
        (0, free(16)),
        (0, alloc(2, 0, 4104, 8192)),
        // Its free was not reported.
        (0, alloc(1, 0x2000, 16, 32)),
    ] {
        tally.push(cpu, event);
    }
    assert_eq!((tally.events, tally.failed, tally.older_frees), (10, 1, 1));
    assert_eq!((tally.unseen_frees, tally.unfollowed), (1, 0));
    let sites = tally.sites().to_vec();
    let small = CallFigures {
        hits: 3,
        requested: 32,
        allocated: 96,
        frees: 2,
        freed: 64,
        cross_cpu: 1,
        unfollowed: 0,
    };
    let large = CallFigures {
        hits: 1,
        requested: 4104,
        allocated: 8192,
        frees: 1,
        freed: 8192,
        ..CallFigures::default()
    };
    assert_eq!(sites, [(Some(1), small), (Some(2), large)]);
    assert_eq!((small.wasted(), small.growth()), (64, 32));
    assert_eq!((large.wasted(), large.growth()), (4088, 0));
}

#[test]
fn what_zmtop_takes_is_at_no_site_and_its_frees_are_nobody_elses() {
    let by = |thread: u32, pointer: u64| match alloc(1, pointer, 8, 32) {
        Event::Alloc {
            site,
            pointer,
            requested,
            allocated,
            ..
        } => Event::Alloc {
            site,
            pointer,
            requested,
            allocated,
            by: Some(thread),
        },
        free @ Event::Free { .. } => free,
    };
    let mut tally = Tally::default();
    tally.set_own(vec![9, 7]);
    tally.push(0, by(7, 0x1000));
    tally.push(0, by(8, 0x2000));
    // In an interrupt, whatever thread that came upon.
    tally.push(0, alloc(1, 0x3000, 8, 32));
    tally.push(1, free(0x1000));
    // A thread that has ended, and whose number another one has now.
    tally.set_own(vec![9]);
    tally.push(0, by(7, 0x4000));
    tally.push(0, by(9, 0x5000));
    assert_eq!((tally.events, tally.older_frees), (6, 0));
    let figures = |hits, freed: u64| CallFigures {
        hits,
        requested: hits * 8,
        allocated: hits * 32,
        frees: freed / 32,
        freed,
        cross_cpu: freed / 32,
        unfollowed: 0,
    };
    assert_eq!(tally.own, figures(2, 32));
    assert_eq!(tally.sites(), [(Some(1), figures(3, 0))]);
}

#[test]
fn what_is_followed_is_bounded_and_the_rest_is_reported() {
    let mut tally = Tally::default();
    let pointer = |n: usize| 0x1000 + n as u64 * 8;
    for n in 0..MAX_LIVE + 10 {
        tally.push(0, alloc(1, pointer(n), 8, 8));
    }
    for n in 0..MAX_LIVE + 10 {
        tally.push(0, free(pointer(n)));
    }
    // There is room again.
    tally.push(0, alloc(1, 0x10, 8, 8));
    assert_eq!((tally.unfollowed, tally.older_frees), (10, 10));
    let (_, figures) = tally.sites().to_vec()[0];
    assert_eq!((figures.hits, figures.frees), (MAX_LIVE as u64 + 11, MAX_LIVE as u64));
    assert_eq!(figures.unfollowed, 80);
    assert_eq!(figures.growth(), 8, "the one that is alive");
}

#[test]
fn call_sites_that_are_too_many_are_summed() {
    let mut tally = Tally::default();
    for site in 0..MAX_SITES as u64 + 5 {
        tally.push(0, alloc(site, 0x1000 + site * 8, 8, 16));
        tally.push(0, alloc(3, 0x1_0000_0000 + site * 8, 8, 16));
    }
    let sites = tally.sites().to_vec();
    assert_eq!(sites.len(), MAX_SITES + 1);
    let busy = sites.iter().find(|(site, _)| *site == Some(3)).unwrap();
    assert_eq!(busy.1.hits, MAX_SITES as u64 + 6);
    assert_eq!((sites[MAX_SITES].0, sites[MAX_SITES].1.hits), (None, 5));
    let hits: u64 = sites.iter().map(|(_, figures)| figures.hits).sum();
    assert_eq!(hits, 2 * (MAX_SITES as u64 + 5));
}

const KALLSYMS: &str = "0000000000000000 A fixed_percpu_data\n\
    ffffffff81000000 T _stext\n\
    ffffffff81000000 T _text\n\
    ffffffff81000100 t example\n\
    ffffffff81000200 T __kmalloc\n\
    ffffffffc0200000 t late\t[mod]\n\
    ffffffffc0100000 t early\t[mod2]\n\
    ffffffffc0300000 t e\u{1b}[31mvil\t[bpf]\n";

fn names(file: &[u8], addresses: &[u64]) -> Result<Vec<Option<String>>, Missing> {
    let mut lookup = Lookup::new(addresses.to_vec());
    // In pieces that end anywhere.
    file.chunks(7).for_each(|piece| lookup.feed(piece));
    let found = lookup.finish()?;
    assert!(found.is_sorted_by_key(|(address, _)| *address));
    let name = |symbol: Symbol| {
        let module = symbol
            .module
            .map(|module| format!(" {}", String::from_utf8(module.into()).unwrap()));
        String::from_utf8(symbol.name.into()).unwrap() + &module.unwrap_or_default()
    };
    Ok(found.into_iter().map(|(_, symbol)| symbol.map(name)).collect())
}

#[test]
fn call_sites_are_in_the_nearest_function_below() {
    for (address, want) in [
        (0xffff_ffff_8100_0000, Some("_stext")),
        (0xffff_ffff_8100_00ff, Some("_stext")),
        (0xffff_ffff_8100_0100, Some("example")),
        (0xffff_ffff_8100_0234, Some("__kmalloc")),
        (0xffff_ffff_c010_0010, Some("early mod2")),
        (0xffff_ffff_c020_0010, Some("late mod")),
        (0xffff_ffff_c030_0010, Some("e\u{1b}[31mvil bpf")),
        // In no function: below all, far behind, and of a module that has gone.
        (0xfff0_0000_0000_0000, None),
        (0xffff_ffff_9000_0000, None),
        (u64::MAX, None),
    ] {
        let found = names(KALLSYMS.as_bytes(), &[address]).unwrap();
        assert_eq!(found, [want.map(str::to_owned)], "{address:x}");
    }
    let several = [0xffff_ffff_8100_0180, 0xffff_ffff_8100_0110, 0xffff_ffff_8100_0120];
    assert_eq!(
        names(KALLSYMS.as_bytes(), &several).unwrap(),
        vec![Some("example".to_owned()); 3]
    );
    assert_eq!(names(KALLSYMS.as_bytes(), &[]), Ok(vec![]));
}

#[test]
fn hidden_and_damaged_symbols() {
    let hidden = "0000000000000000 T _stext\n0000000000000000 T _text\n";
    assert_eq!(names(hidden.as_bytes(), &[0xffff_ffff_8100_0000]), Err(Missing::Denied));
    assert_eq!(names(b"", &[1]), Err(Missing::Denied));
    let at = 0xffff_ffff_8100_0210;
    for cut in 0..KALLSYMS.len() {
        let found = names(&KALLSYMS.as_bytes()[..cut], &[at])
            .ok()
            .and_then(|mut names| names.pop().flatten());
        let known = [None, Some("_stext"), Some("example"), Some("__kmalloc")];
        assert!(known.contains(&found.as_deref()), "{cut}: {found:?}");
    }
    let odd = format!("zz T bad\nffffffff81000000\n\n{}\n{KALLSYMS}", "x".repeat(10_000));
    assert_eq!(names(odd.as_bytes(), &[at]), Ok(vec![Some("__kmalloc".to_owned())]));
}
