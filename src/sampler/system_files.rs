//! The machine's own files: what changes slowly is read seldom.

use std::collections::HashMap;
use std::time::Duration;

use super::counters::SwapUse;
use super::job::Job;
use crate::model::{Missing, SystemSample};
use crate::proc::clock;
use crate::proc::system::{Machine, MachineUpdate, SystemFile, zram};

/// Time between two reads of what hardly ever changes, or is there for a warning only: the name of the host, zmtop's own
/// cgroup limit, swap areas, zram devices and the cache of ZFS where there are none.
const SELDOM: Duration = Duration::from_secs(10);
/// Time between two reads of the uptime, which the clock tells between them.
const UPTIME_HOLDS: Duration = Duration::from_secs(60);
/// Time that pressure holds: the kernel takes its averages anew every two seconds (`PSI_FREQ` of
/// `kernel/sched/psi.c`). A little less, as ticks come a little early or late.
const PRESSURE_HOLDS: Duration = Duration::from_millis(1900);

/// The machine, and when its files were read.
#[derive(Default)]
pub(super) struct SystemFiles {
    pub(super) machine: Machine,
    /// The files that are being read.
    reading: Vec<SystemFile>,
    asked_at: HashMap<SystemFile, Duration>,
    /// The uptime as read, and the clock then; `None` in a tree that is made, whose time may stand still.
    uptime: Option<(f64, Duration)>,
}

impl SystemFiles {
    /// Returns the jobs to read what is due; all of a tree that is `made`, which changes as it likes.
    pub(super) fn jobs(&mut self, now: Duration, is_made: bool) -> impl Iterator<Item = Job> {
        SystemFile::ALL.into_iter().filter_map(move |file| {
            let holds = match file {
                SystemFile::BootId if self.machine.boot_id.is_ok() => Duration::MAX,
                SystemFile::Limit => SELDOM,
                _ if is_made => Duration::ZERO,
                SystemFile::Host => SELDOM,
                SystemFile::Zram if self.machine.sample.zram.is_empty() => SELDOM,
                SystemFile::Arcstats if self.machine.sample.arc_size == Err(Missing::Unsupported) => SELDOM,
                SystemFile::Swaps if self.machine.sample.swap_total == Ok(0) => SELDOM,
                SystemFile::Uptime => UPTIME_HOLDS,
                SystemFile::Pressure => PRESSURE_HOLDS,
                _ => Duration::ZERO,
            };
            let is_due = self
                .asked_at
                .get(&file)
                .is_none_or(|at| now.saturating_sub(*at) >= holds);
            if !is_due || self.reading.contains(&file) {
                return None;
            }
            self.asked_at.insert(file, now);
            self.reading.push(file);
            Some(Job::System(file))
        })
    }

    /// Takes in what was read.
    pub(super) fn take_in(&mut self, file: SystemFile, update: MachineUpdate, is_made: bool) {
        self.reading.retain(|other| *other != file);
        update(&mut self.machine);
        if file == SystemFile::Uptime && !is_made {
            let uptime = self.machine.sample.uptime.ok();
            self.uptime = uptime.map(|uptime| (uptime, clock::since_boot()));
        }
    }

    /// Returns how much swap is used, as far as is known.
    pub(super) fn swap_use(&self) -> SwapUse {
        let system = &self.machine.sample;
        match (system.swap_total, system.swap_used()) {
            (Ok(0), _) => SwapUse::Absent,
            (_, Ok(0)) => SwapUse::Empty,
            _ => SwapUse::Used,
        }
    }

    /// Returns the figures of now; those of files whose read `is_late` say so.
    pub(super) fn sample(&mut self, is_late: impl Fn(SystemFile) -> bool) -> SystemSample {
        if let Some((uptime, then)) = self.uptime {
            let since = clock::since_boot().saturating_sub(then);
            self.machine.sample.uptime = Ok(uptime + since.as_secs_f64());
        }
        for file in self.reading.iter().filter(|file| is_late(**file)) {
            file.parse(Err(Missing::TimedOut))(&mut self.machine);
        }
        zram::mark_swap(&mut self.machine.sample);
        self.machine.sample.clone()
    }
}
