//! Allocations per tick. A machine short of memory may refuse them, or make them wait.
//!
//! The counter counts the whole program, so the test runs itself again in a process of its own, which sees no others.

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use zmtop::sampler::{Options, Scanner};

use crate::support::pty::have;
use crate::support::{Owned, PATIENCE, block_on, cannot, skip};

/// Number of ticks before and during the measurement.
const WARM_UP: usize = 20;
const MEASURED: usize = 21;
/// Set in the process that counts.
const COUNTS: &str = "ZMTOP_TEST_ALLOCATIONS";

static IS_ON: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

fn count() {
    if IS_ON.load(Relaxed) {
        ALLOCATIONS.fetch_add(1, Relaxed);
    }
}

struct Counter;

#[global_allocator]
static COUNTER: Counter = Counter;

#[expect(unsafe_code, reason = "only an allocator can count allocations")]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller of this function promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller of this function promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as the caller of this function promises.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller of this function promises.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

/// Starts so many processes that do nothing, below a shell: a tick also reads the cost of zmtop's own children.
fn idle(count: usize) -> Owned {
    let script = format!("for n in $(seq {count}); do sleep 600 & done; wait");
    Owned(
        Command::new("sh")
            .args(["-c", &script])
            .stdout(Stdio::null())
            .spawn()
            .unwrap(),
    )
}

/// Returns the allocations of the median of some ticks, once at least so many processes are listed, and all were walked.
fn per_tick(scanner: &mut Scanner, processes: usize) -> u64 {
    let mut counts = Vec::new();
    let mut settled = 0;
    let began = Instant::now();
    block_on(async {
        while counts.len() < MEASURED {
            assert!(began.elapsed() < PATIENCE, "not every process was walked");
            tokio::time::sleep(Duration::from_millis(50)).await;
            ALLOCATIONS.store(0, Relaxed);
            IS_ON.store(true, Relaxed);
            let snapshot = scanner.tick().await;
            IS_ON.store(false, Relaxed);
            let rows = snapshot.rows();
            let is_settled = rows.len() >= processes && rows.iter().all(|row| row.walk.is_ok());
            settled = if is_settled { settled + 1 } else { 0 };
            if settled > WARM_UP {
                counts.push(ALLOCATIONS.load(Relaxed));
            }
        }
    });
    counts.sort_unstable();
    counts[counts.len() / 2]
}

#[test]
fn an_idle_process_costs_no_allocation() {
    if std::env::var_os(COUNTS).is_some() {
        let mut scanner = Scanner::new(&Options::new(None));
        let few = idle(20);
        let before = per_tick(&mut scanner, 20);
        let many = idle(400);
        let after = per_tick(&mut scanner, 420);
        drop((few, many));
        // Of 400, not even every tenth costs one.
        assert!(after < before + 40, "{before} {after}");
        return;
    }
    if !rustix::process::geteuid().is_root() || !have("unshare") {
        return skip("a machine without other processes needs root and unshare");
    }
    let alone = || {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
        command
    };
    if !alone().arg("true").status().unwrap().success() {
        return cannot("no namespace of processes can be made here");
    }
    let status = alone()
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "allocations::an_idle_process_costs_no_allocation",
            "--nocapture",
        ])
        .env(COUNTS, "1")
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
}
