//! Reads clocks and the cost of zmtop itself. The source is always this machine's `/proc`, whatever tree is shown.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::files;
use super::parse::{number, words};
use crate::model::{Missing, Reading, SelfCost};

/// Reads zmtop's user and system time since start from `CLOCK_PROCESS_CPUTIME_ID`, and its resident set from
/// `/proc/self/statm`. Neither can block.
pub fn self_cost() -> Reading<SelfCost> {
    let mut buf = [0; 256];
    let statm = files::slurp(b"/proc/self/statm", &mut buf).map_err(files::reason)?;
    let pages = words(statm).nth(1).and_then(number).ok_or(Missing::Malformed)?;
    Ok(SelfCost {
        cpu: read(ClockId::ProcessCPUTime),
        rss: pages.saturating_mul(rustix::param::page_size() as u64),
    })
}

/// Reads `CLOCK_MONOTONIC`.
pub fn monotonic() -> Duration {
    read(ClockId::Monotonic)
}

/// Reads `CLOCK_BOOTTIME`, which also counts while the machine is suspended.
pub fn since_boot() -> Duration {
    read(ClockId::Boottime)
}

pub fn thread_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Reads the CPU time of all threads of process `pid`, including threads that have ended. `pid` is in zmtop's own pid
/// namespace. The time stands still while no thread runs. Returns `None` if there is no such process. Cannot block.
pub fn process_time(pid: u32) -> Option<Duration> {
    /// `CPUCLOCK_SCHED` of `include/linux/posix-timers_types.h`.
    const CPUCLOCK_SCHED: libc::clockid_t = 2;
    /// Number of bits kept for a pid. The kernel uses at most 22.
    const BITS: u32 = 28;
    if pid >> BITS != 0 {
        return None;
    }
    let clock = (!pid.cast_signed() << 3) | CPUCLOCK_SCHED;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    #[expect(unsafe_code, reason = "rustix offers no clock of another process")]
    // SAFETY: clock_gettime only writes to `time`, which is valid for the call.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    (status == 0).then(|| Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0)))
}

fn read(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
