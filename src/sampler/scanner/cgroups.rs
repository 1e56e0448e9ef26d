//! Reads the figures of cgroups: always for cgroups with a limit, otherwise while they are needed.
//!
//! The limits of all cgroups are read every ten seconds. The memory of a cgroup with a limit is read once a second while it
//! or one of its processes changes or it is half full, else every four seconds.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::job::{Job, JobKey, RunningReads, job};
use crate::model::cgroup::is_usual_path;
use crate::model::{CgroupFigures, Missing, Reading};
use crate::proc::cgroup::figures::{self, Extent};
use crate::proc::cgroup::{Mounts, above};

/// Cgroups read in one job, at some 15 to 60 µs each: far more than the cost of a job itself.
const BATCH: usize = 16;
/// Time for which figures are valid. At an interval of 1 s, each tick reads them, even one that comes a little early: a danger
/// is only reported once two reads in a row show a fall. At shorter intervals they are read about once a second.
const FIGURES_HOLD: Duration = Duration::from_millis(750);
/// The same for a cgroup at rest, far below its limit, while figures are not needed.
const REST_HOLDS: Duration = Duration::from_millis(3750);
/// Time for which figures are valid while the next read is late: memory that is short delays reads, and a limit must not be forgotten then.
const LATE_FIGURES_HOLD: Duration = Duration::from_secs(10);
/// Time for which the limits of a cgroup are valid, and of one that has a limit and whose memory changes.
const LIMITS_HOLD: Duration = Duration::from_millis(9750);
const MOVING_LIMITS_HOLD: Duration = Duration::from_millis(1750);
/// Time between two searches for cgroups without processes, while figures are not needed. New ones are found at once.
const USE_HOLDS: Duration = Duration::from_secs(10);
/// Time for which mounts are valid. They hardly ever change.
const MOUNTS_HOLD: Duration = Duration::from_secs(30);

type Published = Arc<BTreeMap<Arc<[u8]>, CgroupFigures>>;

#[derive(Default)]
pub(super) struct Cgroups {
    /// The figures of all cgroups are needed.
    pub(super) is_on: bool,
    /// Their details are needed too.
    has_details: bool,
    /// The mounts, and when they were read.
    mounts: Option<(Reading<Arc<Mounts>>, Duration)>,
    is_reading_mounts: bool,
    /// Sorted, so that each comes after its ancestors.
    by_path: BTreeMap<Arc<[u8]>, Cgroup>,
    /// The last published figures, unless some changed since.
    published: Option<Published>,
    /// When cgroups without processes were last dropped.
    used_at: Option<Duration>,
    jobs: u64,
}

struct Cgroup {
    /// Its own limits, not its ancestors'.
    figures: CgroupFigures,
    at: Option<Duration>,
    limits_at: Option<Duration>,
    /// Its memory changed between the last two reads, or it is at least half full.
    is_moving: bool,
    job: Option<u64>,
    /// A process is in it, or below it.
    is_used: bool,
}

impl Cgroup {
    /// Returns the files to read now; `None` if all of them are fresh.
    fn due(&self, now: Duration, [is_on, details]: [bool; 2], is_touched: bool) -> Option<Extent> {
        let is_over = |at: Option<Duration>, holds| at.is_none_or(|at| now.saturating_sub(at) >= holds);
        let is_limited = self.figures.ceiling().is_some();
        let holds = if is_on || is_touched || self.is_moving {
            FIGURES_HOLD
        } else {
            REST_HOLDS
        };
        let limits_hold = if is_limited && self.is_moving {
            MOVING_LIMITS_HOLD
        } else {
            LIMITS_HOLD
        };
        let extent = Extent {
            limits: is_over(self.limits_at, limits_hold),
            usage: (is_on || is_limited) && is_over(self.at, holds),
            details,
        };
        (extent.limits || extent.usage).then_some(extent)
    }

    fn set(&mut self, figures: &CgroupFigures, extent: Extent, now: Duration) {
        if extent.limits {
            self.limits_at = Some(now);
        }
        if extent.usage {
            self.is_moving = figures.is_near_limit() || figures.current != self.figures.current;
            self.at = Some(now);
        }
        (self.figures, self.job) = (*figures, None);
    }
}

impl Cgroups {
    pub(super) fn set(&mut self, is_on: bool, has_details: bool) {
        if std::mem::replace(&mut self.is_on, is_on) != is_on {
            self.published = None;
        }
        self.has_details = is_on && has_details;
    }

    /// Returns the mount points of cgroups, if known.
    pub(super) fn mounts(&self) -> Option<Arc<Mounts>> {
        let (mounts, _) = self.mounts.as_ref()?;
        mounts.as_ref().ok().map(Arc::clone)
    }

    /// Returns the job to read the mounts if they are unknown or outdated, and `is_needed`.
    pub(super) fn mounts_job(&mut self, now: Duration, is_needed: bool) -> Option<Job> {
        let age = self.mounts.as_ref().map(|(_, at)| now.saturating_sub(*at));
        let is_fresh = age.is_some_and(|age| age < MOUNTS_HOLD);
        if !(self.is_on || is_needed) || is_fresh || std::mem::replace(&mut self.is_reading_mounts, true) {
            return None;
        }
        Some(job(
            JobKey::Mounts,
            50,
            |context, _| figures::mounts(&context.roots).map(Arc::new),
            |scanner, mounts| {
                scanner.cgroups.is_reading_mounts = false;
                scanner.cgroups.mounts = Some((mounts, scanner.now));
                scanner.cgroups.published = None;
            },
        ))
    }

    /// Returns jobs to read the cgroups at `paths`, which hold all processes, and their ancestors as far as they are
    /// mounted. All other cgroups are dropped. The processes of `touched` cgroups changed in this tick.
    pub(super) fn jobs<'a>(
        &mut self,
        paths: impl Iterator<Item = &'a Arc<[u8]>>,
        touched: &HashSet<&'a [u8]>,
        now: Duration,
    ) -> Vec<Job> {
        let is_known = |path: &&[u8]| self.by_path.contains_key(*path);
        let is_fresh = self.used_at.is_some_and(|at| now.saturating_sub(at) < USE_HOLDS);
        if self.is_on || !is_fresh || !touched.iter().all(is_known) {
            self.used_at = Some(now);
            self.by_path.values_mut().for_each(|cgroup| cgroup.is_used = false);
            for path in paths {
                self.mark_used(path);
            }
            let before = self.by_path.len();
            self.by_path.retain(|_, cgroup| cgroup.is_used);
            if self.by_path.len() != before {
                self.published = None;
            }
        }
        let Some((Ok(mounts), _)) = &self.mounts else {
            return Vec::new();
        };
        let is_on = [self.is_on, self.has_details];
        let due = |path: &[u8], cgroup: &Cgroup| {
            let is_idle = cgroup.job.is_none();
            is_idle
                .then(|| cgroup.due(now, is_on, touched.contains(path)))
                .flatten()
        };
        let cgroups = self.by_path.iter_mut();
        let mut wanted: Vec<_> = cgroups
            .filter_map(|(path, cgroup)| Some((path, due(path, cgroup)?, cgroup)))
            .collect();
        let mut jobs = Vec::new();
        for batch in wanted.chunks_mut(BATCH) {
            self.jobs += 1;
            let (number, mounts) = (self.jobs, Arc::clone(mounts));
            let reads: Vec<_> = batch
                .iter_mut()
                .map(|(path, extent, cgroup)| {
                    cgroup.job = Some(number);
                    (Arc::clone(path), *extent, cgroup.figures)
                })
                .collect();
            jobs.push(job(
                JobKey::Cgroups(number),
                15 * reads.len() as u64,
                move |_, _| {
                    let read = |(path, extent, before): (Arc<[u8]>, Extent, CgroupFigures)| {
                        (figures::read(&mounts, &path, extent, &before), path, extent)
                    };
                    reads.into_iter().map(read).collect::<Vec<_>>()
                },
                move |scanner, found| {
                    for (figures, path, extent) in found {
                        let cgroup = scanner.cgroups.by_path.get_mut(&path);
                        if let Some(cgroup) = cgroup.filter(|cgroup| cgroup.job == Some(number)) {
                            if cgroup.figures != figures {
                                scanner.cgroups.published = None;
                            }
                            cgroup.set(&figures, extent, scanner.now);
                        }
                    }
                },
            ));
        }
        jobs
    }

    /// Marks a cgroup and its ancestors as used.
    fn mark_used(&mut self, path: &Arc<[u8]>) {
        if !is_usual_path(path) {
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
                        limits_at: None,
                        is_moving: false,
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

    /// Returns the figures with the effective limits: the lowest of each cgroup and its ancestors. While figures are
    /// not needed, only cgroups with such a limit are returned. A cgroup whose read is late is reported as timed out.
    pub(super) fn publish(&mut self, running: &RunningReads) -> Published {
        let is_late = |cgroup: &Cgroup| {
            let is_known = cgroup.at.is_some();
            let allowed = if is_known {
                running.deadline.max(LATE_FIGURES_HOLD)
            } else {
                running.deadline
            };
            cgroup
                .job
                .is_some_and(|job| running.is_silent(JobKey::Cgroups(job), allowed))
        };
        let is_any_late = self.by_path.values().any(is_late);
        if let Some(published) = self
            .published
            .as_ref()
            .filter(|_| !is_any_late && self.mounts.is_some())
        {
            return Arc::clone(published);
        }
        let unmounted = match &self.mounts {
            Some((Ok(_), _)) => None,
            Some((Err(why), _)) => Some(*why),
            None if running.is_late(JobKey::Mounts) => Some(Missing::TimedOut),
            None => Some(Missing::Pending),
        };
        let mut all: BTreeMap<Arc<[u8]>, CgroupFigures> = BTreeMap::new();
        for (path, cgroup) in &self.by_path {
            let figures = match unmounted {
                Some(why) => CgroupFigures::missing(why),
                None if is_late(cgroup) => CgroupFigures::missing(Missing::TimedOut),
                None => cgroup.figures,
            };
            let is_mounted = |path: &&[u8]| matches!(&self.mounts, Some((Ok(m), _)) if m.directory(path).is_some());
            let figures = match above(path).filter(is_mounted).and_then(|up| all.get(up)) {
                Some(above) => figures.below(above),
                None => figures,
            };
            all.insert(Arc::clone(path), figures);
        }
        if !self.is_on {
            all.retain(|_, figures| figures.ceiling().is_some());
        }
        let all = Arc::new(all);
        self.published = Some(Arc::clone(&all)).filter(|_| !is_any_late);
        all
    }
}
