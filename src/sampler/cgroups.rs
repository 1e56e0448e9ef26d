//! The figures of cgroups, read while someone asks for them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::job::{Job, Token};
use super::table::RunningReads;
use crate::model::{CgroupFigures, Missing, Reading};
use crate::proc::cgroup::mounts::{Mounts, above};

/// How many cgroups are read in one job.
const BATCH: usize = 16;
/// How long figures hold.
const HOLD: Duration = Duration::from_millis(990);
/// How long what is mounted where is taken to hold.
const MOUNTS_HOLD: Duration = Duration::from_secs(30);

/// Cgroups with longer paths or further down are left out: a made tree may claim any, each with as many above it.
const LONGEST: usize = 4096;
const DEEPEST: usize = 64;

/// What is known of each.
#[derive(Debug)]
pub(super) struct Cgroups {
    on: bool,
    mounts: Reading<Arc<Mounts>>,
    mounts_at: Option<Duration>,
    asking_mounts: bool,
    /// By path, hence each after those above it.
    known: BTreeMap<Arc<[u8]>, Known>,
    jobs: u64,
}

#[derive(Debug)]
struct Known {
    /// Its own limits, not those of the cgroups above it.
    figures: CgroupFigures,
    at: Option<Duration>,
    /// The job that reads it.
    asked: Option<u64>,
    /// Whether a process is in it, or below it.
    used: bool,
}

impl Default for Cgroups {
    fn default() -> Self {
        Self {
            on: false,
            mounts: Err(Missing::Pending),
            mounts_at: None,
            asking_mounts: false,
            known: BTreeMap::new(),
            jobs: 0,
        }
    }
}

impl Cgroups {
    /// Reads them from now on, or no more.
    pub(super) fn set(&mut self, on: bool) {
        self.on = on;
        if !on {
            self.known.clear();
        }
    }

    /// Whether they are read.
    pub(super) const fn is_on(&self) -> bool {
        self.on
    }

    /// The job to learn where they are mounted, where that is not known or long ago.
    pub(super) fn ask_mounts(&mut self, now: Duration) -> Option<Job> {
        let fresh = self.mounts_at.is_some_and(|at| now.saturating_sub(at) < MOUNTS_HOLD);
        if !self.on || fresh || std::mem::replace(&mut self.asking_mounts, true) {
            return None;
        }
        Some(Job::Mounts)
    }

    /// Takes in where they are mounted.
    pub(super) fn mounted(&mut self, mounts: Reading<Arc<Mounts>>, now: Duration) {
        self.asking_mounts = false;
        self.mounts_at = Some(now);
        self.mounts = mounts;
    }

    /// Jobs to read those in which the processes are, at `paths`, and those above them as far as they are
    /// mounted. Others are forgotten.
    pub(super) fn ask<'a>(&mut self, paths: impl Iterator<Item = &'a Arc<[u8]>>, now: Duration) -> Vec<Job> {
        self.known.values_mut().for_each(|known| known.used = false);
        for path in paths {
            self.add(path);
        }
        self.known.retain(|_, known| known.used);
        let Ok(mounts) = &self.mounts else { return Vec::new() };
        let due = |known: &Known| known.asked.is_none() && known.at.is_none_or(|at| now.saturating_sub(at) >= HOLD);
        let mut due: Vec<_> = self.known.iter_mut().filter(|(_, known)| due(known)).collect();
        due.chunks_mut(BATCH)
            .map(|batch| {
                self.jobs += 1;
                let number = self.jobs;
                for (_, known) in batch.iter_mut() {
                    known.asked = Some(number);
                }
                Job::Cgroups {
                    number,
                    mounts: Arc::clone(mounts),
                    paths: batch.iter().map(|(path, _)| Arc::clone(path)).collect(),
                }
            })
            .collect()
    }

    fn add(&mut self, path: &Arc<[u8]>) {
        let depth = path.split(|b| *b == b'/').count();
        if path.len() > LONGEST || depth > DEEPEST {
            return;
        }
        if let Some(known) = self.known.get_mut(path) {
            // Then so are those above it.
            if !std::mem::replace(&mut known.used, true) {
                self.add_above(path);
            }
            return;
        }
        self.known.insert(Arc::clone(path), Known::new());
        self.add_above(path);
    }

    fn add_above(&mut self, path: &[u8]) {
        let mut at = path;
        while let Some(up) = above(at) {
            at = up;
            match self.known.get_mut(up) {
                Some(known) if known.used => return,
                Some(known) => known.used = true,
                None => {
                    self.known.insert(up.into(), Known::new());
                }
            }
        }
    }

    /// Takes in what a job has read.
    pub(super) fn read(&mut self, number: u64, figures: Vec<(Arc<[u8]>, CgroupFigures)>, now: Duration) {
        for (path, figures) in figures {
            if let Some(known) = self.known.get_mut(&path).filter(|k| k.asked == Some(number)) {
                known.asked = None;
                known.at = Some(now);
                known.figures = figures;
            }
        }
    }

    /// What they say, with the limits that hold: the least of each and those above it. One whose read has been
    /// under way for longer than `deadline` says so.
    pub(super) fn publish(
        &self,
        running: &RunningReads,
        now: Duration,
        deadline: Duration,
    ) -> Arc<BTreeMap<Arc<[u8]>, CgroupFigures>> {
        if !self.on {
            return Arc::default();
        }
        let late = |token: Token| {
            running
                .get(&token)
                .is_some_and(|since| now.saturating_sub(*since) > deadline)
        };
        let unmounted = match &self.mounts {
            Ok(_) => None,
            Err(Missing::Pending) if late(Token::Mounts) => Some(Missing::TimedOut),
            Err(why) => Some(*why),
        };
        let mut all: BTreeMap<Arc<[u8]>, CgroupFigures> = BTreeMap::new();
        for (path, known) in &self.known {
            let figures = match (unmounted, known.asked) {
                (Some(why), _) => CgroupFigures::missing(why),
                (None, Some(job)) if late(Token::Cgroups(job)) => CgroupFigures::missing(Missing::TimedOut),
                (None, _) => known.figures,
            };
            let mounted = |path: &&[u8]| self.mounts.as_ref().is_ok_and(|m| m.directory(path).is_some());
            let figures = match above(path).filter(mounted).and_then(|up| all.get(up)) {
                Some(above) => figures.below(above),
                None => figures,
            };
            all.insert(Arc::clone(path), figures);
        }
        Arc::new(all)
    }
}

impl Known {
    const fn new() -> Self {
        Self {
            figures: CgroupFigures::missing(Missing::Pending),
            at: None,
            asked: None,
            used: true,
        }
    }
}
