//! The running sampler: ticks, commands, and its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use zmtop::model::Snapshot;
use zmtop::sampler::{Command, Handle, Options, spawn};

use crate::support::tree::ProcTree;

/// Far more than anything here takes: a hang, not a measure.
const HANG: Duration = Duration::from_secs(20);

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
fn obeys_commands() {
    run(async |tree, runtime| {
        let options = Options {
            interval: Duration::from_secs(9999),
            ..tree.options()
        };
        let mut handle = spawn(options, runtime);
        let first = next(&mut handle).await;
        assert_eq!((first.tick, first.interval), (1, Options::LONGEST));
        let send = async |handle: &Handle, command| handle.commands.send(command).await.unwrap();

        // The next tick is an hour away.
        send(&handle, Command::Pause(true)).await;
        send(&handle, Command::Focus(vec![first.rows()[0].id])).await;
        send(&handle, Command::OomScore(true)).await;
        send(&handle, Command::Now).await;
        let second = next(&mut handle).await;
        assert_eq!((second.tick, second.rows()[0].oom_score), (2, Ok(667)));

        send(&handle, Command::Interval(Duration::ZERO)).await;
        assert!(
            timeout(Duration::from_millis(400), handle.snapshots.changed())
                .await
                .is_err()
        );
        send(&handle, Command::Pause(false)).await;
        assert_eq!(next(&mut handle).await.interval, Options::SHORTEST);
        let before = next(&mut handle).await.tick;
        assert!(next(&mut handle).await.tick > before);
    });
}

#[test]
fn ends_with_its_last_receiver() {
    run(async |tree, runtime| {
        let mut handle = spawn(tree.options(), runtime);
        next(&mut handle).await;
        let Handle { snapshots, commands } = handle;
        // Without commands it goes on; without anyone to look it does not.
        let other = commands.clone();
        drop(commands);
        drop(snapshots);
        timeout(HANG, other.closed()).await.unwrap();
    });
}

#[test]
fn goes_on_without_commands() {
    run(async |tree, runtime| {
        let Handle {
            mut snapshots,
            commands,
        } = spawn(tree.options(), runtime);
        drop(commands);
        for _ in 0..2 {
            timeout(HANG, snapshots.changed()).await.unwrap().unwrap();
            snapshots.mark_unchanged();
        }
    });
}
