//! The bounds on what others change, beside the truth of a made machine.

use super::world::{MB, World};

/// The tolerance of a figure of up to 100 MB.
const TOLERANCE: u64 = MB;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Shmem,
    File,
    Heap,
    Swap,
}

use Kind::{File, Heap, Shmem, Swap};

const fn inode(kind: Kind) -> u64 {
    kind as u64 + 10
}

const SIZE: u64 = 96 * MB;

/// A process that shares with `others`, all alike; all of them walked.
fn sharers(world: &mut World, kind: Kind, others: usize) -> Vec<usize> {
    let first = world.start();
    let mut all = vec![first];
    match kind {
        Shmem | File => {
            all.extend((0..others).map(|_| world.start()));
            for pid in &all {
                world.allocate(*pid, 4 * MB);
                world.map(*pid, inode(kind), kind == Shmem, SIZE, 0..SIZE);
            }
        }
        Heap | Swap => {
            world.allocate(first, SIZE);
            if kind == Swap {
                world.swap_out(first);
            }
            all.extend((0..others).map(|_| world.fork(first)));
        }
    }
    world.initial(&all);
    all
}

fn come(world: &mut World, kind: Kind, first: usize) -> usize {
    if matches!(kind, Heap | Swap) {
        return world.fork(first);
    }
    let comer = world.start();
    world.map(comer, inode(kind), kind == Shmem, SIZE, 0..SIZE);
    world.walk(comer);
    comer
}

/// The bound of each covers its error, and is no more than three times that.
fn check(world: &mut World, what: &str, pids: &[usize]) {
    for pid in pids {
        let (error, bound) = (world.error(*pid), world.bound(*pid).footprint);
        assert!(
            error <= bound + TOLERANCE / 4,
            "{what}: {error} off, said to be {bound}"
        );
        assert!(
            bound <= 3 * error + TOLERANCE / 4,
            "{what}: {error} off, said to be {bound}"
        );
    }
}

#[test]
fn one_equal_sharer_that_leaves_or_comes() {
    for kind in [Shmem, File, Heap, Swap] {
        for others in [1, 2, 3, 5, 10, 30] {
            let mut world = World::default();
            let mut all = sharers(&mut world, kind, others);
            check(&mut world, &format!("{kind:?}, {others} others, at rest"), &all);
            world.end(all.pop().unwrap());
            check(&mut world, &format!("{kind:?}, one of {others} others leaves"), &all);
            for pid in &all {
                world.walk(*pid);
            }
            check(&mut world, &format!("{kind:?}, walked after it"), &all);
            // The parent of all is still there.
            let comer = come(&mut world, kind, all[0]);
            check(&mut world, &format!("{kind:?}, one comes to {others}"), &all);
            world.end(comer);
            check(&mut world, &format!("{kind:?}, and goes again"), &all);
            assert_eq!(world.bound(all[0]).footprint, 0, "{kind:?}, {others}: came and gone");
        }
    }
}

#[test]
fn the_first_to_map_hears_of_the_second() {
    for kind in [Shmem, File, Heap, Swap] {
        let mut world = World::default();
        let all = sharers(&mut world, kind, 0);
        let comer = come(&mut world, kind, all[0]);
        check(&mut world, &format!("{kind:?}"), &all);
        assert!(world.bound(all[0]).footprint >= SIZE / 2 - TOLERANCE, "{kind:?}");
        world.exec(comer);
        check(&mut world, &format!("{kind:?}, execs"), &all);
    }
}

#[test]
fn unmapping_writing_and_reading_back() {
    let mut world = World::default();
    let all = sharers(&mut world, Shmem, 1);
    world.unmap(all[1], inode(Shmem));
    world.walk(all[1]);
    check(&mut world, "unmapped", &all[..1]);

    let all = sharers(&mut world, Heap, 1);
    world.write(all[1], SIZE);
    world.walk(all[1]);
    check(&mut world, "copied on write by the child", &all[..1]);
    let all = sharers(&mut world, Heap, 1);
    world.write(all[0], SIZE / 2);
    world.walk(all[0]);
    check(&mut world, "half of it copied on write by the parent", &all[1..]);

    let all = sharers(&mut world, Swap, 1);
    world.write(all[1], SIZE);
    check(&mut world, "read back from swap", &all[..1]);
}

#[test]
fn minutes_of_unrelated_churn_teach_nothing() {
    let mut world = World::default();
    let pairs: Vec<Vec<usize>> = [Shmem, File, Heap, Swap]
        .iter()
        .map(|kind| sharers(&mut world, *kind, 1))
        .collect();
    let all: Vec<usize> = pairs.iter().flatten().copied().collect();
    for second in 0..300 {
        // Those of 200 a second that a tick sees: most with no more than a C library, some with a large program.
        let seen: Vec<usize> = (0..4)
            .map(|which| {
                let pid = world.start();
                world.map(pid, 100, false, 2 * MB, 0..3 * MB / 2);
                if which == 0 {
                    world.map(pid, 200 + second % 7, false, 30 * MB, 0..20 * MB);
                }
                world.walk(pid);
                pid
            })
            .collect();
        if second % 30 == 0 {
            for pid in &all {
                world.walk(*pid);
            }
        }
        for pid in &all {
            assert_eq!((world.error(*pid), world.bound(*pid).footprint), (0, 0), "{second} s");
        }
        for pid in seen {
            world.end(pid);
        }
    }
    for pair in pairs {
        world.end(pair[1]);
        check(&mut world, "after the churn", &pair[..1]);
        assert!(world.bound(pair[0]).footprint >= SIZE / 2 - TOLERANCE);
    }
}

/// A postmaster of 5 MB with 128 MB of shared buffers, backends that have touched part of them, and `pgbench -C`.
#[test]
fn connections_to_a_database_do_not_make_every_backend_due() {
    const BUFFERS: u64 = 128 * MB;
    let mut world = World::default();
    let postmaster = world.start();
    world.allocate(postmaster, 5 * MB);
    world.map(postmaster, 5, false, 10 * MB, 0..4 * MB);
    world.map(postmaster, 6, true, BUFFERS, 0..2 * MB);
    let connect = |world: &mut World, from: u64, blocks: u64| {
        let pid = world.fork(postmaster);
        world.map(pid, 5, false, 10 * MB, 0..6 * MB);
        world.map(pid, 6, true, BUFFERS, from * MB..(from + blocks) * MB);
        world.write(pid, MB);
        world.allocate(pid, 2 * MB);
        pid
    };
    let backends: Vec<usize> = (0..40)
        .map(|n| connect(&mut world, n % 8 * 4, 20 + n % 10 * 6))
        .collect();
    world.initial(&[postmaster]);
    world.initial(&backends);
    let (mut due, mut ticks) = (0, 0);
    let mut seen = Vec::new();
    for second in 0..120_u64 {
        for pid in seen.drain(..) {
            world.end(pid);
        }
        // Of the hundreds that come and go in a second, those that a tick sees are walked by the next.
        seen.extend((0..3 + second % 5).map(|n| connect(&mut world, (second + n) % 16 * 4, 12)));
        for pid in &seen {
            world.walk(*pid);
        }
        for (n, pid) in backends.iter().enumerate() {
            let (error, bound) = (world.error(*pid), world.bound(*pid).footprint);
            assert!(
                error <= bound + TOLERANCE,
                "{second} s: {error} off, said to be {bound}"
            );
            ticks += 1;
            due += usize::from(bound > TOLERANCE);
            if bound > TOLERANCE || (second + n as u64).is_multiple_of(30) {
                world.walk(*pid);
            }
        }
    }
    // Each once in half a minute or less, which is as often as age asks for.
    assert!(due * 30 < ticks, "{due} of {ticks} due");
    // The end of one that has stayed concerns all, by little: more where few have touched the same as it, which no figure
    // tells.
    world.end(backends[39]);
    for pid in &backends[..39] {
        let (error, bound) = (world.error(*pid), world.bound(*pid).footprint);
        assert!(error <= 3 * bound + TOLERANCE, "{error} off, said to be {bound}");
    }
}

/// Backends that touch their shared buffers little by little, at random: nobody is walked for what the others do.
#[test]
fn what_others_touch_little_by_little_is_followed() {
    const BLOCKS: u64 = 512;
    let mut world = World::default();
    let mut random = 1_u64;
    let mut next = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % BLOCKS
    };
    let backends: Vec<usize> = (0..10)
        .map(|_| {
            let pid = world.start();
            world.map(pid, 6, true, BLOCKS * MB / 4, 0..MB);
            (0..BLOCKS / 3).for_each(|_| world.touch(pid, 6, next()));
            pid
        })
        .collect();
    world.initial(&backends);
    let quiet = backends[0];
    let mut most = 0;
    for second in 0..60 {
        for pid in &backends[1..] {
            (0..4).for_each(|_| world.touch(*pid, 6, next()));
            // Their own walks do not tell it once more.
            if (second + pid) % 20 == 0 {
                world.walk(*pid);
            }
        }
        let (truth, shown) = (world.memory(quiet), world.shifted(quiet));
        let (error, off) = (world.error(quiet), truth.pss.abs_diff(shown.pss));
        let bound = world.bound(quiet).footprint;
        assert!(
            error <= bound + TOLERANCE,
            "{second} s: {error} off, said to be {bound}"
        );
        assert!(off <= error / 4 + TOLERANCE / 2, "{second} s: {off} off of {error}");
        // So are the pages that are its own.
        let uss = [truth.uss(), shown.uss()];
        assert!(uss[1] <= shown.pss, "{second} s: {shown:?}");
        assert!(
            uss[0].abs_diff(uss[1]) <= error / 2 + TOLERANCE,
            "{second} s: {uss:?}, {error}"
        );
        assert_eq!(shown.uss() + shown.shared(), shown.rss);
        most = most.max(error);
    }
    assert!(most > 2 * TOLERANCE, "{most}");
}

#[test]
fn a_fork_walked_before_it_is_known_whose_hears_of_its_end() {
    let mut world = World::default();
    let parent = world.start();
    world.allocate(parent, SIZE);
    world.initial(&[parent]);
    let child = world.fork_untold(parent);
    world.walk(child);
    world.adopt(parent, child);
    assert_eq!(world.bound(child).footprint, 0);
    world.end(parent);
    check(&mut world, "the parent ended", &[child]);
}

/// Checks the bounds for a library of 1.5 MB, which is too small to be tracked among the processes that map it.
#[test]
fn small_files_are_in_the_bound_once_anybody_comes_or_goes() {
    let mut world = World::default();
    let all = [world.start(), world.start()];
    for pid in all {
        world.map(pid, 9, false, 3 * MB / 2, 0..3 * MB / 2);
    }
    world.initial(&all);
    assert_eq!(world.bound(all[0]).small, 0);
    world.end(all[1]);
    let error = world.error(all[0]);
    assert_eq!((error, world.bound(all[0]).small), (3 * MB / 4, 3 * MB / 4));
    world.walk(all[0]);
    assert_eq!(world.bound(all[0]).small, 0);
    let comer = world.start();
    world.map(comer, 9, false, 3 * MB / 2, 0..3 * MB / 2);
    world.walk(comer);
    assert_eq!(
        (world.error(all[0]), world.bound(all[0]).small),
        (3 * MB / 4, 3 * MB / 4)
    );
}

/// One of three that map a file maps as much of another in its place: its count stays even, and only its own walk shows it.
#[test]
fn pages_replaced_at_an_even_count_are_reported_by_the_walk() {
    let mut world = World::default();
    let all = [world.start(), world.start(), world.start()];
    for pid in all {
        world.map(pid, 7, false, 16 * MB, 0..16 * MB);
        world.map(pid, 8, false, 16 * MB, 0..0);
    }
    world.initial(&all);
    world.unmap(all[0], 7);
    world.map(all[0], 8, false, 16 * MB, 0..16 * MB);
    assert_eq!(world.bound(all[1]).footprint, 0);
    world.walk(all[0]);
    for pid in &all[1..] {
        let (error, bound) = (world.error(*pid), world.bound(*pid).footprint);
        assert!(error > 2 * MB && error <= bound, "{error} off, said to be {bound}");
    }
}

#[test]
fn before_maps_is_read_every_large_file_counts() {
    let mut world = World::default();
    let all = [world.start(), world.start()];
    for pid in all {
        world.map(pid, 7, true, SIZE, 0..SIZE);
    }
    for pid in &all {
        world.walk_as(*pid, true, false);
    }
    assert_eq!(world.bound(all[0]).footprint, 0);
    world.end(all[1]);
    check(&mut world, "unread", &all[..1]);
    let unrelated = world.start();
    world.map(unrelated, 8, true, SIZE, 0..SIZE);
    world.walk(all[0]);
    world.walk(unrelated);
    assert_eq!(world.bound(all[0]).footprint, 0, "its maps were read by then");
}

#[test]
fn before_maps_is_read_little_that_many_share_changes_little() {
    let mut world = World::default();
    let all: Vec<usize> = (0..200).map(|_| world.start()).collect();
    for pid in &all {
        world.map(*pid, 7, false, 3 * MB, 0..3 * MB);
    }
    for pid in &all {
        world.walk_as(*pid, true, false);
    }
    let unrelated = world.start();
    world.map(unrelated, 8, false, 30 * MB, 0..30 * MB);
    world.walk(unrelated);
    let bound = world.bound(all[0]).footprint;
    assert!(bound > 0 && bound < TOLERANCE, "{bound}");
    world.end(unrelated);
    // Until there is one: what it cannot change, it cannot have changed.
    for pid in &all[1..] {
        world.end(*pid);
        let (error, bound) = (world.error(all[0]), world.bound(all[0]).footprint);
        assert!(error <= bound && bound <= 3 * MB, "{error} off, said to be {bound}");
    }
}
