//! The running sampler: ticks, what it is told is wanted, and its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use zmtop::model::Snapshot;
use zmtop::sampler::{Handle, Needs, Options, Wanted, spawn};

use crate::support::PATIENCE as HANG;
use crate::support::tree::ProcTree;

async fn next(handle: &mut Handle) -> Arc<Snapshot> {
    timeout(HANG, handle.snapshots.changed()).await.unwrap().unwrap();
    handle.snapshots.borrow_and_update().clone().unwrap()
}

fn run<T>(test: impl AsyncFnOnce(ProcTree, &tokio::runtime::Handle) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let tree = ProcTree::new();
    tree.process(7).write();
    let result = runtime.block_on(test(tree, runtime.handle()));
    // Does not wait for anything that is stuck.
    runtime.shutdown_timeout(HANG);
    result
}

#[test]
fn ticks_by_itself() {
    run(async |tree, runtime| {
        let mut handle = spawn(tree.options(), runtime);
        let (mut last, mut at) = (0, Duration::ZERO);
        for _ in 0..3 {
            let snapshot = next(&mut handle).await;
            assert!(snapshot.tick > last && snapshot.monotonic > at);
            (last, at) = (snapshot.tick, snapshot.monotonic);
            assert_eq!(snapshot.rows().len(), 1);
        }
    });
}

#[test]
fn does_what_is_wanted() {
    run(async |tree, runtime| {
        let options = Options {
            interval: Duration::from_secs(9999),
            ..tree.options()
        };
        let mut handle = spawn(options, runtime);
        let first = next(&mut handle).await;
        assert_eq!((first.tick, first.interval), (1, Options::LONGEST));

        // The next tick is an hour away.
        let mut wanted = Wanted {
            paused: true,
            focus: vec![first.rows()[0].id],
            needs: Needs::OOM_SCORE,
            refresh: 1,
            ..Wanted::every(Duration::from_secs(9999))
        };
        handle.want(wanted.clone());
        let second = next(&mut handle).await;
        assert_eq!((second.tick, second.rows()[0].oom_score), (2, Ok(667)));

        // The same once more is nothing new, and neither is anything but a tick while it is paused.
        handle.want(wanted.clone());
        wanted.interval = Duration::ZERO;
        handle.want(wanted.clone());
        assert!(
            timeout(Duration::from_millis(400), handle.snapshots.changed())
                .await
                .is_err()
        );
        wanted.paused = false;
        handle.want(wanted);
        assert_eq!(next(&mut handle).await.interval, Options::SHORTEST);
        let before = next(&mut handle).await.tick;
        assert!(next(&mut handle).await.tick > before);
    });
}

#[test]
fn nothing_that_is_wanted_is_lost() {
    run(async |tree, runtime| {
        let options = Options {
            interval: Options::LONGEST,
            ..tree.options()
        };
        let mut handle = spawn(options, runtime);
        next(&mut handle).await;
        // More changes than any queue of commands would hold, faster than they can be taken in.
        let mut wanted = Wanted::every(Options::LONGEST);
        for turn in 1..=5000 {
            wanted.paused = turn % 2 == 1;
            wanted.refresh = turn;
            wanted.needs = if turn == 5000 { Needs::OOM_SCORE } else { Needs::NOTHING };
            handle.want(wanted.clone());
        }
        while next(&mut handle).await.rows()[0].oom_score != Ok(667) {}
    });
}

#[test]
fn ends_with_its_last_receiver() {
    run(async |tree, runtime| {
        let mut handle = spawn(tree.options(), runtime);
        next(&mut handle).await;
        let Handle { snapshots, wanted } = handle;
        // With nobody to say what is wanted it goes on; without anyone to look it does not.
        let other = wanted.clone();
        drop(wanted);
        drop(snapshots);
        timeout(HANG, other.closed()).await.unwrap();
    });
}

#[test]
fn goes_on_when_nobody_says_what_is_wanted() {
    run(async |tree, runtime| {
        let Handle { mut snapshots, wanted } = spawn(tree.options(), runtime);
        drop(wanted);
        for _ in 0..2 {
            timeout(HANG, snapshots.changed()).await.unwrap().unwrap();
            snapshots.mark_unchanged();
        }
    });
}
