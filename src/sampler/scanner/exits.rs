//! The processes that started and ended since the previous snapshot, while they are wanted.

use std::time::{Duration, SystemTime};

use crate::model::{Exits, Missing, ProcessSample, Reading, Snapshot};
use crate::proc::files::Roots;
use crate::sampler::Options;
use crate::sampler::exits::ExitWatch;
use crate::sampler::policy::births::Signs;

pub(super) struct Turnover {
    /// The trees, unless a cgroup stands for the machine: the records do not name cgroups.
    roots: Reading<Roots>,
    watch: Option<Reading<ExitWatch>>,
    /// The last pid that the kernel had allocated at the previous snapshot.
    last_pid: Reading<u64>,
}

impl Turnover {
    pub(super) fn new(options: &Options) -> Self {
        let is_whole = options.cgroup.is_none();
        Self {
            roots: is_whole.then(|| options.roots()).ok_or(Missing::OutOfView),
            watch: None,
            last_pid: Err(Missing::Pending),
        }
    }

    pub(super) fn show(&mut self, is_on: bool) {
        if is_on != self.watch.is_some() {
            self.watch = is_on.then(|| self.roots.clone().map(ExitWatch::start));
            self.last_pid = Err(Missing::Pending);
        }
    }

    /// Returns the processes that started and ended since the `last` snapshot. `rows` are the current processes.
    pub(super) fn take(
        &mut self,
        last: Option<&Snapshot>,
        rows: &[ProcessSample],
        signs: Option<Signs>,
        now: (SystemTime, Duration),
    ) -> Exits {
        let exits = match &self.watch {
            None => return Exits::default(),
            Some(Err(why)) => Exits::missing(*why),
            Some(Ok(watch)) => watch.take(last, rows, now),
        };
        let pid = signs.map(|signs| signs.last_pid).ok_or(Missing::Pending);
        let before = std::mem::replace(&mut self.last_pid, pid);
        let started = before.and_then(|before| {
            // The pids have wrapped around.
            pid?.checked_sub(before).ok_or(Missing::Pending)
        });
        Exits {
            started: self.roots.as_ref().map_or_else(|why| Err(*why), |_| started),
            ..exits
        }
    }
}
