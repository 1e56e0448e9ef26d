//! Reads the figures of cgroups while they are needed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::job::{Job, JobKey, RunningReads, job};
use crate::model::{CgroupFigures, Missing, Reading};
use crate::proc::cgroup::{Mounts, above, figures};

/// Cgroups read in one job, at some 15 µs each: far more than the cost of a job itself.
const BATCH: usize = 16;
/// Time for which figures are valid. Each cgroup is read once a second, whether the interval is 1 s or shorter.
const FIGURES_HOLD: Duration = Duration::from_millis(990);
/// Time for which mounts are valid. They hardly ever change.
const MOUNTS_HOLD: Duration = Duration::from_secs(30);
/// Length in bytes and number of levels beyond which a path is ignored. A forged tree may contain any path, and each
/// adds as many ancestors.
const MAX_PATH: usize = 4096;
const MAX_DEPTH: usize = 64;

#[derive(Default)]
pub(super) struct Cgroups {
    pub(super) is_on: bool,
    /// The mounts, and when they were read.
    mounts: Option<(Reading<Arc<Mounts>>, Duration)>,
    is_reading_mounts: bool,
    /// Sorted, so that each comes after its ancestors.
    by_path: BTreeMap<Arc<[u8]>, Cgroup>,
    jobs: u64,
}

struct Cgroup {
    /// Its own limits, not its ancestors'.
    figures: CgroupFigures,
    at: Option<Duration>,
    job: Option<u64>,
    /// A process is in it, or below it.
    is_used: bool,
}

impl Cgroups {
    pub(super) fn set(&mut self, is_on: bool) {
        self.is_on = is_on;
        if !is_on {
            self.by_path.clear();
        }
    }

    /// Returns where cgroups are mounted, if that is known.
    pub(super) fn mounts(&self) -> Option<Arc<Mounts>> {
        let (mounts, _) = self.mounts.as_ref()?;
        mounts.as_ref().ok().map(Arc::clone)
    }

    /// Returns the job to read the mounts if they are unknown or outdated, and needed: for the figures or for `other`
    /// uses.
    pub(super) fn mounts_job(&mut self, now: Duration, other: bool) -> Option<Job> {
        let age = self.mounts.as_ref().map(|(_, at)| now.saturating_sub(*at));
        let is_fresh = age.is_some_and(|age| age < MOUNTS_HOLD);
        if !(self.is_on || other) || is_fresh || std::mem::replace(&mut self.is_reading_mounts, true) {
            return None;
        }
        Some(job(
            JobKey::Mounts,
            50,
            |context, _| figures::mounts(&context.roots).map(Arc::new),
            |scanner, mounts| {
                scanner.cgroups.is_reading_mounts = false;
                scanner.cgroups.mounts = Some((mounts, scanner.now));
            },
        ))
    }

    /// Returns jobs to read the cgroups at `paths`, which hold all processes, and their ancestors as far as
    /// they are mounted. All other cgroups are dropped.
    pub(super) fn jobs<'a>(&mut self, paths: impl Iterator<Item = &'a Arc<[u8]>>, now: Duration) -> Vec<Job> {
        self.by_path.values_mut().for_each(|cgroup| cgroup.is_used = false);
        for path in paths {
            self.mark_used(path);
        }
        self.by_path.retain(|_, cgroup| cgroup.is_used);
        let Some((Ok(mounts), _)) = &self.mounts else {
            return Vec::new();
        };
        let is_old = |c: &Cgroup| c.at.is_none_or(|at| now.saturating_sub(at) >= FIGURES_HOLD);
        let cgroups = self.by_path.iter_mut();
        let mut wanted: Vec<_> = cgroups.filter(|(_, c)| c.job.is_none() && is_old(c)).collect();
        let mut jobs = Vec::new();
        for batch in wanted.chunks_mut(BATCH) {
            self.jobs += 1;
            let (number, mounts) = (self.jobs, Arc::clone(mounts));
            for (_, cgroup) in batch.iter_mut() {
                cgroup.job = Some(number);
            }
            let paths: Vec<_> = batch.iter().map(|(path, _)| Arc::clone(path)).collect();
            jobs.push(job(
                JobKey::Cgroups(number),
                15 * paths.len() as u64,
                move |_, _| {
                    let read = |path: Arc<[u8]>| (figures::read(&mounts, &path), path);
                    paths.into_iter().map(read).collect::<Vec<_>>()
                },
                move |scanner, found| scanner.cgroups.set_figures(number, found, scanner.now),
            ));
        }
        jobs
    }

    /// Marks a cgroup and its ancestors as used.
    fn mark_used(&mut self, path: &Arc<[u8]>) {
        let depth = path.split(|b| *b == b'/').count();
        if path.len() > MAX_PATH || depth > MAX_DEPTH {
            return;
        }
        let mut at: &[u8] = path;
        loop {
            match self.by_path.get_mut(at) {
                // Then its ancestors are marked too.
                Some(cgroup) if cgroup.is_used => return,
                Some(cgroup) => cgroup.is_used = true,
                None => {
                    let key = if at.len() == path.len() {
                        Arc::clone(path)
                    } else {
                        at.into()
                    };
                    let cgroup = Cgroup {
                        figures: CgroupFigures::missing(Missing::Pending),
                        at: None,
                        job: None,
                        is_used: true,
                    };
                    self.by_path.insert(key, cgroup);
                }
            }
            let Some(up) = above(at) else { return };
            at = up;
        }
    }

    fn set_figures(&mut self, job: u64, found: Vec<(CgroupFigures, Arc<[u8]>)>, now: Duration) {
        for (figures, path) in found {
            if let Some(cgroup) = self.by_path.get_mut(&path).filter(|c| c.job == Some(job)) {
                (cgroup.figures, cgroup.at, cgroup.job) = (figures, Some(now), None);
            }
        }
    }

    /// Returns the figures with the effective limits: the lowest of each cgroup and its ancestors. A cgroup whose
    /// read is late is reported as timed out.
    pub(super) fn publish(&self, running: &RunningReads) -> Arc<BTreeMap<Arc<[u8]>, CgroupFigures>> {
        if !self.is_on {
            return Arc::default();
        }
        let unmounted = match &self.mounts {
            Some((Ok(_), _)) => None,
            Some((Err(why), _)) => Some(*why),
            None if running.is_late(JobKey::Mounts) => Some(Missing::TimedOut),
            None => Some(Missing::Pending),
        };
        let mut all: BTreeMap<Arc<[u8]>, CgroupFigures> = BTreeMap::new();
        for (path, cgroup) in &self.by_path {
            let figures = match (unmounted, cgroup.job) {
                (Some(why), _) => CgroupFigures::missing(why),
                (None, Some(job)) if running.is_late(JobKey::Cgroups(job)) => CgroupFigures::missing(Missing::TimedOut),
                (None, _) => cgroup.figures,
            };
            let is_mounted = |path: &&[u8]| matches!(&self.mounts, Some((Ok(m), _)) if m.directory(path).is_some());
            let figures = match above(path).filter(is_mounted).and_then(|up| all.get(up)) {
                Some(above) => figures.below(above),
                None => figures,
            };
            all.insert(Arc::clone(path), figures);
        }
        Arc::new(all)
    }
}
