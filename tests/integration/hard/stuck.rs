//! Reads that never return: a FIFO that nobody writes to is as good as a memory lock never let go.

use super::{quit, status};
use crate::support::pty::Pty;
use crate::support::tree::ProcTree;

/// More reader threads than this the sampler does not start beyond one a core.
const MOST_STUCK: u64 = 64;
/// The main thread, the runtime's, what watches the terminal and the signals.
const OTHERS: u64 = 8;

/// A tree with stuck processes and ten that are well, and zmtop looking at it.
fn stuck(file: &str, count: u32) -> (ProcTree, Pty) {
    let tree = ProcTree::new();
    for pid in 1001..=1010 {
        tree.process(pid).comm("well").pss_kb(20_000).write();
    }
    for pid in 1..=count {
        tree.process(pid).comm("stuck").pss_kb(1000).write();
        tree.fifo(pid, file);
    }
    let root = tree.root();
    let args = ["--interval", "200ms", "--proc-root", root.to_str().unwrap()];
    let mut pty = Pty::zmtop((120, 40), &args);
    pty.wait_for_table();
    // They are equal: a row for each.
    pty.send("f");
    (tree, pty)
}

/// Reverses the order and back: each key must be seen.
#[track_caller]
fn keys_answer(pty: &mut Pty) {
    for mark in ['▲', '▼'] {
        pty.send("I");
        pty.wait("the order turned", |s| s.contains(mark));
    }
}

#[track_caller]
fn threads_are_capped(pty: &Pty, stuck: u64) {
    let cores = std::thread::available_parallelism().unwrap().get() as u64;
    let threads = status(pty.pid(), "Threads");
    assert!(
        threads <= OTHERS + cores + stuck.min(MOST_STUCK),
        "{threads} threads for {stuck} stuck reads"
    );
}

/// The whole story where there are threads left for the others.
#[track_caller]
fn others_go_on(file: &str, count: u32) {
    let (tree, mut pty) = stuck(file, count);
    keys_answer(&mut pty);
    for mb in [345, 678] {
        tree.process(1001).comm("well").pss_kb(mb * 1024).write();
        pty.wait("a figure that follows its process", |s| {
            let row = s
                .lines()
                .find(|l| l.contains(" 1001 ") && l.contains(&format!("{mb}M")));
            row.is_some()
        });
    }
    // The stuck ones are the last.
    pty.send("\x1b[F");
    pty.wait_for("timed out");
    let told = match count {
        1 => "1 read stuck".into(),
        n => format!("{n} reads stuck"),
    };
    pty.wait("all of them counted", |s| s.contains(&told));
    keys_answer(&mut pty);
    threads_are_capped(&pty, u64::from(count));
    quit(&mut pty);
}

#[test]
fn one_smaps_rollup() {
    others_go_on("smaps_rollup", 1);
}

#[test]
fn fifty_smaps_rollups() {
    others_go_on("smaps_rollup", 50);
}

#[test]
fn one_cmdline() {
    others_go_on("cmdline", 1);
}

#[test]
fn fifty_cmdlines() {
    others_go_on("cmdline", 50);
}

#[test]
fn more_than_there_are_threads_for() {
    let (_tree, mut pty) = stuck("smaps_rollup", 200);
    pty.wait_for("reads stuck");
    for _ in 0..10 {
        keys_answer(&mut pty);
        threads_are_capped(&pty, 200);
    }
    quit(&mut pty);
}
