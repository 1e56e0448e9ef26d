//! Reads clocks and the cost of zmtop itself. The source is always this machine's `/proc`, whatever tree is shown.

use std::fs;
use std::time::{Duration, SystemTime};

use nix::sys::resource::UsageWho;
use nix::sys::time::TimeValLike;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::time::{ClockId, clock_gettime};

use super::files;
use super::parse::{number, words};
use crate::model::{Missing, Reading, SelfCost};

/// Reads the CPU time and the resident memory of zmtop and its children. Nothing that is read can block.
pub fn self_cost() -> Reading<SelfCost> {
    let children = children_cost();
    Ok(SelfCost {
        cpu: read(ClockId::ProcessCPUTime) + children.cpu,
        rss: own_rss()? + children.rss,
    })
}

/// Reads the cost of zmtop's children, such as `zmtop callers`: the CPU time of all, and the resident memory of those that
/// run. Those that run are unknown to a kernel without `CONFIG_PROC_CHILDREN`; their CPU time then counts when they end.
pub fn children_cost() -> SelfCost {
    /// Maximum number of reads, should children end all the time.
    const MAX_READS: usize = 4;
    let mut cost = SelfCost::default();
    for _ in 0..MAX_READS {
        let ended = ended_children_time();
        cost = SelfCost { cpu: ended, rss: 0 };
        for pid in children() {
            cost.cpu += process_time(pid).unwrap_or_default();
            cost.rss += resident(format!("/proc/{pid}/statm").as_bytes()).unwrap_or(0);
        }
        // A child that was waited for meanwhile would be missing, or counted twice.
        if ended_children_time() == ended {
            break;
        }
    }
    cost
}

/// Returns the CPU time of the children that were waited for, and of theirs.
fn ended_children_time() -> Duration {
    let usage = nix::sys::resource::getrusage(UsageWho::RUSAGE_CHILDREN).ok();
    let micros = usage.map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// Returns the pids of the children that were not waited for.
fn children() -> Vec<u32> {
    // Usually there is none, so do not list the threads.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if waitid(WaitId::All, options).is_err() {
        return Vec::new();
    }
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Reads the RSS of zmtop, in bytes.
pub fn own_rss() -> Reading<u64> {
    resident(b"/proc/self/statm")
}

/// Reads the resident memory in a `statm`, in bytes.
fn resident(statm: &[u8]) -> Reading<u64> {
    let mut buf = [0; 256];
    let statm = files::slurp(statm, &mut buf).map_err(files::reason)?;
    let pages = words(statm).nth(1).and_then(number).ok_or(Missing::Malformed)?;
    Ok(pages.saturating_mul(rustix::param::page_size() as u64))
}

/// Reads `CLOCK_MONOTONIC`.
pub fn monotonic() -> Duration {
    read(ClockId::Monotonic)
}

/// Reads `CLOCK_BOOTTIME`, which also counts while the machine is suspended.
pub fn since_boot() -> Duration {
    read(ClockId::Boottime)
}

/// The clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// `CLOCK_MONOTONIC`.
    pub monotonic: Duration,
    /// `CLOCK_BOOTTIME`.
    pub since_boot: Duration,
    pub time: SystemTime,
}

/// Reads the clocks together. On a busy machine, the thread may have to wait between two reads: then the clocks are read again, up
/// to ten times.
pub fn moment() -> Moment {
    const TRIES: usize = 10;
    const CLOSE: Duration = Duration::from_micros(100);
    let read = || {
        let monotonic = monotonic();
        let (since_boot, time) = (since_boot(), SystemTime::now());
        let took = self::monotonic().saturating_sub(monotonic);
        let moment = Moment {
            monotonic,
            since_boot,
            time,
        };
        (took, moment)
    };
    let mut closest = read();
    for _ in 1..TRIES {
        if closest.0 <= CLOSE {
            break;
        }
        let next = read();
        if next.0 < closest.0 {
            closest = next;
        }
    }
    closest.1
}

/// Returns by how much an uptime that was read differs from `since_boot`, in seconds. A difference of less than a minute is none:
/// the uptime was read earlier, and on a busy machine perhaps seconds earlier. A container may have an uptime of its own.
pub fn uptime_offset(uptime: f64, since_boot: Duration) -> f64 {
    let offset = uptime - since_boot.as_secs_f64();
    if offset.abs() < 60.0 { 0.0 } else { offset }
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
