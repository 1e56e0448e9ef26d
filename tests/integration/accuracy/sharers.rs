//! On this machine: a sharer of each kind of memory comes and goes, beside short programs that share nothing of it. With the
//! shipped defaults, the rows of the others are right within 6 s, and until then their error is said.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use zmtop::model::{Memory, Snapshot};
use zmtop::proc::smaps;
use zmtop::sampler::{Options, Scanner};

use super::CHILD;
use super::child::Child;
use crate::kernel::swap::swap_file;
use crate::support::{block_on, cannot, long};

const MB: u64 = 1 << 20;
/// Ticks until the others must be right.
const PATIENCE: usize = 6;
/// Ticks until they are right to the tolerance once somebody looks at them, if they were not by themselves: what nobody looks
/// at may be off by some tolerances, and says so.
const LOOKED_AT: usize = 2;
/// The most tolerances that the rest may be off which nobody looks at.
const UNSEEN: u64 = 4;
/// Ticks until the bound says that they are not: an end and a birth are seen by the next, and the first walk is done by the
/// one after. What one does itself that nobody looks at and that did nothing for a while is seen within 4 s.
const SEEN: usize = 3;
const SEEN_IN_TURN: usize = 5;

/// Short programs one after another, until it is dropped.
struct Churn {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Churn {
    fn start() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (threads, pause) = if long() { (4, 20) } else { (1, 20) };
        let threads = (0..threads).map(|_| {
            let ends = Arc::clone(&ends);
            std::thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    let program = Command::new("/bin/sh")
                        .args(["-c", "/bin/true"])
                        .stdin(Stdio::null())
                        .spawn();
                    program.unwrap().wait().unwrap();
                    std::thread::sleep(Duration::from_millis(pause));
                }
            })
        });
        Self {
            threads: threads.collect(),
            ends,
        }
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A walk by the test itself.
fn walk(pid: u32) -> Memory {
    smaps::rollup(&std::fs::read(format!("/proc/{pid}/smaps_rollup")).unwrap()).unwrap()
}

struct Stage {
    scanner: Scanner,
    next: Instant,
}

impl Stage {
    fn tick(&mut self) -> Arc<Snapshot> {
        std::thread::sleep(self.next.saturating_duration_since(Instant::now()));
        self.next = Instant::now() + self.scanner.interval();
        block_on(self.scanner.tick())
    }

    /// Ticks until the rows of `pids` are right in `figure` after an end or a birth.
    fn expect(&mut self, what: &str, pids: &[u32], figure: fn(&Memory) -> u64) {
        self.expect_when(SEEN, what, pids, figure);
    }

    /// Ticks until the rows of `pids` are right in `figure` after one of them has done something.
    fn expect_in_turn(&mut self, what: &str, pids: &[u32], figure: fn(&Memory) -> u64) {
        self.expect_when(SEEN_IN_TURN, what, pids, figure);
    }

    fn expect_when(&mut self, seen: usize, what: &str, pids: &[u32], figure: fn(&Memory) -> u64) {
        let began = Instant::now();
        self.scanner.set_focus(Vec::new());
        for tick in 1..=PATIENCE + LOOKED_AT {
            let snapshot = self.tick();
            let rows = pids
                .iter()
                .map(|pid| snapshot.rows().iter().find(|row| row.id.pid == *pid).unwrap());
            let rows: Vec<_> = rows.collect();
            let off = rows.iter().filter_map(|row| {
                let pid = row.id.pid;
                let truth = figure(&walk(pid));
                // Who is just born waits for the first walk, and where the machine is busy for longer than a tick.
                let Ok(shown) = row.walk else {
                    assert!(tick <= seen, "{what}: {pid} after {tick} ticks: {:?}", row.walk);
                    return Some((pid, 0, truth));
                };
                let is = figure(&shown.memory);
                let tolerance = MB.max(truth / 100);
                let error = truth.abs_diff(is);
                assert!(
                    tick <= seen || error <= tolerance + shown.error,
                    "{what}: {is} of {truth} after {tick} ticks, said to be off by {}",
                    shown.error
                );
                assert!(
                    tick < PATIENCE || error <= UNSEEN * tolerance,
                    "{what}: {is} of {truth} after {tick} ticks"
                );
                (error > tolerance).then_some((pid, is, truth))
            });
            let off: Vec<_> = off.collect();
            if off.is_empty() {
                let took = began.elapsed();
                let _ = writeln!(
                    std::io::stderr(),
                    "sharers: {what}: right at tick {tick}, after {took:.1?}"
                );
                return;
            }
            assert!(
                tick < PATIENCE + LOOKED_AT,
                "{what}: wrong after {tick} ticks, though looked at: {off:?}"
            );
            if tick == PATIENCE {
                self.scanner.set_focus(rows.iter().map(|row| row.id).collect());
            }
        }
    }
}

const fn pss(memory: &Memory) -> u64 {
    memory.pss
}

fn footprint(memory: &Memory) -> u64 {
    memory.footprint().unwrap()
}

fn path(file: &impl AsRawFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// Starts the short programs and the sampler, and lets it settle. The programs end when the first is dropped.
fn stage() -> (Churn, Stage) {
    let mut stage = Stage {
        scanner: Scanner::new(&Options::new(None)),
        next: Instant::now(),
    };
    let churn = Churn::start();
    for _ in 0..if long() { 90 } else { 4 } {
        stage.tick();
    }
    (churn, stage)
}

fn start() -> Child {
    Child::start(CHILD)
}

/// A child with 64 MB of its own.
fn maker() -> Child {
    let mut maker = start();
    for order in ["map 0 64", "touch 0 0 64"] {
        maker.tell(order);
    }
    maker
}

#[test]
fn others_are_right_within_6_seconds_after_a_sharer_came_or_went() {
    let memory = memfd_create("zmtop-test", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&memory, 96 * MB).unwrap();
    let file = tempfile::tempfile().unwrap();
    file.set_len(48 * MB).unwrap();
    let [mut holder, mut leaver, mut comer] = [start(), start(), start()];
    let [mut reader, mut other] = [start(), start()];
    for holder in [&mut holder, &mut leaver] {
        holder.tell(&format!("share 0 96 {}", path(&memory)));
    }
    for reader in [&mut reader, &mut other] {
        reader.tell(&format!("share 0 48 {}", path(&file)));
    }
    let (_churn, mut stage) = stage();
    let (held, came, read) = (holder.pid(), comer.pid(), reader.pid());
    stage.expect("at rest", &[held, leaver.pid(), came, read], pss);
    leaver.end();
    stage.expect("one of two holders of a memfd ends", &[held], pss);
    comer.tell(&format!("share 0 96 {}", path(&memory)));
    stage.expect_in_turn("another comes", &[held, came], pss);
    comer.tell("unmap 0 0 96");
    stage.expect_in_turn("it unmaps", &[held, came], pss);
    other.end();
    stage.expect("one of two that map a file ends", &[read], pss);
}

#[test]
fn others_are_right_within_6_seconds_after_a_fork() {
    let mut maker = maker();
    let (_churn, mut stage) = stage();
    let pid = maker.pid();
    let kid: u32 = maker.tell("fork").parse().unwrap();
    stage.expect("a fork", &[pid, kid], pss);
    maker.tell("touch 0 0 64");
    stage.expect_in_turn("copy on write by it", &[pid, kid], pss);
    maker.tell("exit");
    stage.expect("its end", &[pid], pss);
    let kid: u32 = maker.tell("fork").parse().unwrap();
    stage.expect("another fork", &[pid, kid], pss);
    maker.tell("exec");
    stage.expect_in_turn("its exec", &[pid, kid], pss);
    maker.tell("exit");
    let kid: u32 = maker.tell("fork").parse().unwrap();
    stage.expect("a third fork", &[pid, kid], pss);
    maker.tell("exit");
    stage.expect("its end, having done nothing", &[pid], pss);
}

#[test]
fn others_are_right_within_6_seconds_after_swapping() {
    let Some(_swap) = swap_file() else { return };
    let [mut maker, mut holder, mut comer] = [start(), start(), start()];
    let (_churn, mut stage) = stage();
    for order in ["map 1 24", "touch 1 0 24", "pageout 1 0 24"] {
        maker.tell(order);
    }
    let pid = maker.pid();
    if walk(pid).swap < 12 * MB {
        cannot("this kernel swaps out next to nothing when asked to");
        return;
    }
    stage.expect_in_turn("swapped out", &[pid], footprint);
    let kid: u32 = maker.tell("fork").parse().unwrap();
    stage.expect("a fork of what is swapped out", &[pid, kid], footprint);
    maker.tell("exit");
    stage.expect("its end", &[pid], footprint);
    let kid: u32 = maker.tell("fork").parse().unwrap();
    stage.expect("another fork of it", &[pid, kid], footprint);
    maker.tell("touch 1 0 24");
    stage.expect_in_turn("swapped in by the fork", &[pid, kid], footprint);
    maker.tell("exit");
    stage.expect("its end", &[pid], footprint);
    maker.tell("unmap 1 0 24");

    let memory = memfd_create("zmtop-test", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&memory, 24 * MB).unwrap();
    holder.tell(&format!("share 1 24 {}", path(&memory)));
    holder.tell("pageout 1 0 24");
    let swap = |m: &Memory| m.swap;
    stage.expect_in_turn("swapped-out shmem", &[holder.pid()], swap);
    comer.tell(&format!("share 1 24 {}", path(&memory)));
    stage.expect_in_turn("read back by another", &[holder.pid()], swap);
    let _: File = memory.into();
}
