//! Clocks, and the cost of zmtop itself; from this machine's `/proc`, whatever tree is shown.

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

/// Reads `CLOCK_THREAD_CPUTIME_ID` of the calling thread.
pub fn thread_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

fn read(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
