//! Estimates between walks, beside walks of that moment.

use std::path::{Path, PathBuf};

use zmtop::model::Memory;
use zmtop::proc::pid::inexact;
use zmtop::proc::{pid, smaps};
use zmtop::sampler::estimate::{Anchor, Counters, Estimate, Others, Tracker};
use zmtop::sampler::{Options, Scanner};

use super::row;
use crate::accuracy::child::{self, Child};
use crate::support::{block_on, cannot, long, skip};

const MB: u64 = 1 << 20;

/// The counters of a process.
fn counters(pid: u32) -> Counters {
    let file = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap();
    let page = rustix::param::page_size() as u64;
    Counters {
        resident: pid::statm(&file("statm"), page).ok(),
        swap: pid::swap(&file("status")).ok(),
        ..Counters::new(&pid::stat(&file("stat"), page).unwrap().stat)
    }
}

/// Returns the counters of a process, its walk, and the anonymous pages in the walk, all of one moment. A process that has
/// answered may still run for a while before it waits.
fn read(pid: u32) -> (Counters, Memory, Option<u64>) {
    let mut before = counters(pid);
    loop {
        let file = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap();
        let (rollup, status) = (file("smaps_rollup"), file("status"));
        let after = counters(pid);
        if before == after {
            let status = pid::resident(&status).unwrap();
            assert_eq!(Some(status), after.resident, "status and statm of {pid}");
            return (after, smaps::rollup(&rollup).unwrap(), smaps::anonymous(&rollup));
        }
        before = after;
    }
}

/// A child that waits, and its estimates.
struct Tracked {
    pid: u32,
    tracker: Tracker,
}

impl Tracked {
    fn new(pid: u32) -> Self {
        let tracker = Tracker::default();
        let mut tracked = Self { pid, tracker };
        tracked.walk();
        tracked
    }

    fn walk(&mut self) {
        let (counters, memory, anonymous) = read(self.pid);
        let anchor = Anchor::new(memory, anonymous, &counters, counters, 0);
        self.tracker.walked(Some(anchor), &Others::default());
    }

    /// Compares the estimate with a walk, and returns its bound. Other programs come to share the libraries and leave.
    fn compare(&mut self, what: &str) -> u64 {
        const OTHERS: u64 = MB;
        let (counters, memory, _) = read(self.pid);
        self.tracker.glanced(counters);
        let Estimate { memory: m, bound, .. } = self.tracker.estimate().unwrap();
        let error = m.footprint().unwrap().abs_diff(memory.footprint().unwrap());
        assert!(error <= bound + OTHERS, "{what}: {m:?} {memory:?} {bound}");
        assert_eq!((m.rss, m.swap >> 20), (memory.rss, memory.swap >> 20), "{what}");
        // A page that is no longer shared adds half of it or more to PSS, and all of it to USS.
        let uss = m.uss().abs_diff(memory.uss());
        assert!(uss <= 2 * (bound + OTHERS), "{what}: {m:?} {memory:?} {bound}");
        let anon = m.pss_anon.unwrap().abs_diff(memory.pss_anon.unwrap());
        assert!(anon <= bound + OTHERS, "{what}: {m:?} {memory:?} {bound}");
        bound
    }
}

#[test]
fn a_child_is_within_its_bound_of_a_walk() {
    const NAME: &str = "kernel::estimate::a_child_is_within_its_bound_of_a_walk";
    child::be(NAME);
    if inexact(rustix::system::uname().release().to_bytes(), 1, 1) > 0 {
        skip("the counters of this kernel are not exact");
        return;
    }
    let mut a = Child::start_alone(NAME);
    let mut of_a = Tracked::new(a.pid());
    // The least of these steps is 8 MB; CPU time without a trace is bounded too, and debug builds take much.
    let small = |bound: u64, what: &str| assert!(bound < 8 * MB, "{what}: {bound}");
    for order in [
        "map 0 64",
        "touch 0 0 64",
        "free 0 0 32",
        "touch 0 8 8",
        "unmap 0 48 16",
    ] {
        a.tell(order);
        small(of_a.compare(order), order);
        // What a fault was for is told apart from one walk to the next only.
        of_a.walk();
    }
    // The fork is walked; its copies then are seen, or in the bound.
    let kid: u32 = a.tell("fork").parse().unwrap();
    let mut of_kid = Tracked::new(kid);
    a.tell("touch 0 32 8");
    of_kid.compare("copied on write");
    a.tell("free 0 36 8");
    of_kid.compare("freed, shared and not");
    a.tell("map 1 16");
    a.tell("touch 1 0 16");
    of_kid.compare("grown beside what is shared");
    of_kid.walk();
    a.tell("free 1 0 16");
    of_kid.compare("given back beside what is shared");
    a.tell("exit");
    // A file's pages come, and go for others at an even count.
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(32 * MB).unwrap();
    std::fs::write(file.path(), vec![1; 32 * MB as usize]).unwrap();
    of_a.walk();
    a.tell(&format!("file 2 32 {}", file.path().display()));
    a.tell("read 2 0 16");
    of_a.compare("a file");
    of_a.walk();
    a.tell("free 2 0 16");
    a.tell("read 2 16 16");
    of_a.compare("other pages of it, as many");
}

/// KSM at full speed; as it was when dropped.
struct Ksm(Vec<(PathBuf, Vec<u8>)>);

impl Ksm {
    fn run() -> std::io::Result<Self> {
        let mut ksm = Self(Vec::new());
        for (name, value) in [("sleep_millisecs", "10"), ("pages_to_scan", "10000"), ("run", "1")] {
            let file = Path::new("/sys/kernel/mm/ksm").join(name);
            let before = std::fs::read(&file)?;
            std::fs::write(&file, value)?;
            ksm.0.push((file, before));
        }
        Ok(ksm)
    }
}

impl Drop for Ksm {
    fn drop(&mut self) {
        for (file, before) in &self.0 {
            let _ = std::fs::write(file, before);
        }
    }
}

#[test]
fn pages_that_the_kernel_merges_are_seen_within_the_greatest_age() {
    const NAME: &str = "kernel::estimate::pages_that_the_kernel_merges_are_seen_within_the_greatest_age";
    child::be(NAME);
    if !long() {
        cannot("a minute of merged pages: set ZMTOP_TEST_LONG=1");
        return;
    }
    let mut a = Child::start_alone(NAME);
    a.tell("map 0 64");
    a.tell("touch 0 0 64");
    let mut scanner = Scanner::new(&Options::new(None));
    let pid = a.pid();
    let mut shown = || {
        let snapshot = block_on(scanner.tick());
        std::thread::sleep(scanner.interval());
        row(&snapshot, pid).walk
    };
    let mut ticks = 0;
    while !shown().is_ok_and(|walk| walk.memory.pss > 60 * MB) {
        ticks += 1;
        assert!(ticks < 40, "it is never walked");
    }
    // Hosts start KSM when memory gets scarce.
    let Ok(_ksm) = Ksm::run() else {
        skip("KSM needs root, and a kernel that has it");
        return;
    };
    a.tell("merge 0 0 64");
    let merged = || read(pid).1.pss < 48 * MB;
    ticks = 0;
    while !merged() {
        let _ = shown();
        ticks += 1;
        assert!(ticks < 120, "nothing is merged");
    }
    ticks = 0;
    // Half a minute where there is time for it: the tests beside this one take of the same budget.
    while !shown().is_ok_and(|walk| walk.memory.pss < 48 * MB) {
        ticks += 1;
        assert!(ticks < 120, "merged pages are not seen");
    }
}

#[test]
fn what_is_swapped_out_and_in_stays_within_its_bound() {
    const NAME: &str = "kernel::estimate::what_is_swapped_out_and_in_stays_within_its_bound";
    child::be(NAME);
    if inexact(rustix::system::uname().release().to_bytes(), 1, 1) > 0 {
        skip("the counters of this kernel are not exact");
        return;
    }
    let Some(_swap) = super::swap::swap_file() else {
        return;
    };
    let mut a = Child::start_alone(NAME);
    a.tell("map 0 24");
    a.tell("touch 0 0 24");
    let mut of_a = Tracked::new(a.pid());
    a.tell("pageout 0 0 16");
    assert!(of_a.compare("swapped out") < 8 * MB);
    if read(a.pid()).1.swap < 8 * MB {
        cannot("this kernel swaps out next to nothing when asked to");
    }
    of_a.walk();
    for order in ["touch 0 0 4", "free 0 4 4", "unmap 0 8 4"] {
        a.tell(order);
        let bound = of_a.compare(order);
        // Twice what it does, where others swap so that the two counters of swap differ: less there, and more in RAM.
        assert!(bound <= 2 * 4 * MB, "{order}: {bound}");
        of_a.walk();
    }
    a.tell("unmap 0 0 8");
    a.tell("unmap 0 12 12");
}
