//! A process, as far as it is known.

use std::sync::Arc;
use std::time::Duration;

use super::facts::FactsCache;
use super::held_watch::HeldWatch;
use super::twins::TwinWatch;
use crate::model::{Counted, Identity, Memory, Missing, Reading, Stat, Walk};
use crate::sampler::counters::{KnownCounters, SwapUse};
use crate::sampler::estimate::{Counters, Tracker};
use crate::sampler::job::{Glance, GlanceRequest, Job, ProcessRef, WalkResult};
use crate::sampler::plan::Purpose;
use crate::sampler::sharing::{ExternalBound, Sharer, Sharing, Walked};
use crate::sampler::target::Target;

/// Ticks in which a process is compared with others until a peer of the same address space is found: sizes may
/// have changed from one glance to the next.
const MM_ATTEMPTS: u8 = 2;

/// A process.
pub(super) struct Process {
    pub(super) serial: u64,
    pub(super) id: Identity,
    pub(super) target: Arc<Target>,
    /// The digest of its comm.
    comm: u64,
    /// A counter of the programs it ran.
    pub(super) exec: u32,
    /// The last image digest that was not hidden.
    image: u64,
    /// Where its address space ended at the last walk, if that was told.
    pub(super) space_end: Option<u64>,
    pub(super) stat: Stat,
    /// Its counters and the last walk, of which `walk` is estimated.
    pub(super) estimates: Tracker,
    pub(super) oom_score: Reading<u32>,
    /// The bound on the error of the last walk's figures that is its own doing, or the reason why there are none.
    pub(super) own_error: Reading<u64>,
    /// The figures, where they are not those of the anchor, as those of most are.
    figures: Option<Box<Memory>>,
    /// A walk is asked for and has not come.
    pub(super) is_walking: bool,
    /// A walk of it has come back before.
    has_answered: bool,
    /// When a walk of it last failed or succeeded.
    pub(super) attempted_at: Option<Duration>,
    /// Processor time of its last walk, or of its parent's before it was forked; and its time on the clock.
    pub(super) cost: Option<Duration>,
    pub(super) took: Duration,
    /// Its last walk was made at an idle one's turn.
    pub(super) was_idle: bool,
    /// When it was first seen, or became another program.
    pub(super) known_since: Duration,
    /// The list of turns that it is on, and the time of its own.
    pub(super) turn: Option<(usize, Duration)>,
    pub(super) sharing: Sharer,
    /// The bound on what others have changed since the last walk.
    pub(super) external: ExternalBound,
    /// It has yet to be put among those it was forked from.
    pub(super) is_unadopted: bool,
    pub(super) facts: FactsCache,
    /// Ticks in which a peer of the same address space is still looked for.
    pub(super) mm_attempts: u8,
    /// The number of its address space, where that is shared.
    pub(super) shared_mm: Option<u64>,
    pub(super) twin: TwinWatch,
    /// Memory that it holds through its descriptors, while that is asked for.
    pub(super) held: Option<Box<HeldWatch>>,
}

impl Process {
    /// Creates a process seen for the first time. `old` had its pid before it and, where the glance is silent on
    /// the comm, the same comm. `is_initial` says that it was there at the first scan.
    pub(super) fn new(
        serial: u64,
        pid: u32,
        target: Option<Arc<Target>>,
        glance: &Glance,
        old: Option<&Self>,
        now: Duration,
        is_initial: bool,
    ) -> Self {
        let comm = glance.comm.as_deref();
        let comm = comm.or(old.map(|o| &*o.facts.facts.comm)).unwrap_or(b"?");
        Self {
            serial,
            id: Identity {
                pid,
                starttime: glance.starttime,
            },
            target: target.unwrap_or_else(|| Arc::new(Target::bare(pid))),
            comm: glance.digest,
            exec: 0,
            image: glance.stat.image,
            space_end: None,
            stat: glance.stat,
            estimates: Tracker::new(Counters::new(&glance.stat)),
            oom_score: glance.oom_score,
            own_error: Err(Missing::Pending),
            figures: None,
            is_walking: false,
            has_answered: false,
            attempted_at: None,
            cost: None,
            took: Duration::ZERO,
            was_idle: false,
            known_since: now,
            turn: None,
            sharing: Sharer::default(),
            external: ExternalBound::default(),
            is_unadopted: true,
            facts: FactsCache::new(comm, (!is_initial).then_some(now)),
            mm_attempts: MM_ATTEMPTS,
            shared_mm: None,
            twin: TwinWatch::default(),
            held: None,
        }
    }

    /// Returns a request for a glance at pid, of which `known` is known; it `holds` its files open where it may.
    pub(super) fn glance_request(
        pid: u32,
        serial: u64,
        known: Option<&Self>,
        swap_use: SwapUse,
        holds: bool,
    ) -> GlanceRequest {
        let walked = known.filter(|p| p.estimates.anchor().is_some() || p.is_denied());
        GlanceRequest {
            pid,
            serial,
            target: known.map(|p| Arc::clone(&p.target)),
            comm: known.map_or(0, |p| p.comm),
            known: walked.map(|p| KnownCounters {
                counters: *p.estimates.counters(),
                swap_use,
                is_denied: p.is_denied(),
            }),
            holds,
        }
    }

    /// Returns true if its memory may not be read.
    fn is_denied(&self) -> bool {
        self.own_error == Err(Missing::Denied)
    }

    /// Returns what the kernel counts for everyone, where its memory may not be read.
    pub(super) fn counted(&self) -> Counted {
        if !self.is_denied() {
            return Counted::default();
        }
        let counters = self.estimates.counters();
        Counted::new(counters.resident.map(|resident| resident.anon), counters.swap)
    }

    /// Takes in a glance at the same process. An exec, and an end that waits to be reaped, leave to others what was
    /// shared.
    pub(super) fn glanced(
        &mut self,
        target: Option<Arc<Target>>,
        glance: Glance,
        now: Duration,
        sharing: &mut Sharing,
    ) {
        if let Some(target) = target {
            self.target = target;
        }
        self.oom_score = glance.oom_score;
        let is_hidden = glance.stat.image == 0;
        if !is_hidden && self.image != 0 && glance.stat.image != self.image {
            self.own_error = Err(Missing::Pending);
            self.figures = None;
            self.estimates = Tracker::default();
            self.attempted_at = None;
            self.space_end = None;
            self.start_program(glance.stat.image, now, sharing);
        }
        if glance.stat.is_zombie() && !self.stat.is_zombie() {
            self.sharing.leave(sharing);
        }
        if let (Some(before), Some(after)) = (self.estimates.counters().swap, glance.counters.swap) {
            self.sharing.swapped(before, after, sharing);
        }
        if !is_hidden {
            self.image = glance.stat.image;
        }
        self.comm = glance.digest;
        self.facts.glanced(glance.comm, &self.stat, &glance.stat);
        // A process whose memory may not be read is no known sharer.
        let before = self.estimates.counters().resident.filter(|_| !self.is_denied());
        if let (Some(before), Some(after)) = (before, glance.counters.resident) {
            let change = after.shared.cast_signed() - before.shared.cast_signed();
            self.sharing.resized(change, sharing);
        }
        let has_changed = self.estimates.glanced(glance.counters);
        self.stat = glance.stat;
        if has_changed {
            self.set_estimate();
        }
    }

    /// Forgets what was true of the program that it ran before.
    fn start_program(&mut self, image: u64, now: Duration, sharing: &mut Sharing) {
        self.exec = self.exec.wrapping_add(1);
        self.cost = None;
        self.known_since = now;
        self.sharing.leave(sharing);
        self.sharing.join(image, sharing);
        self.is_unadopted = false;
        self.mm_attempts = MM_ATTEMPTS;
        self.shared_mm = None;
        self.twin = TwinWatch::default();
        self.facts.reset(now);
    }

    /// Takes in where the address space ends, and returns true if that shows another program. Glances show it sooner
    /// where the kernel does not hide the addresses in `stat` (`CAP_PERFMON` alone does not show them).
    fn has_other_space(&mut self, end: Option<u64>) -> bool {
        let before = self.space_end;
        self.space_end = end.or(before);
        self.image == 0 && before.zip(end).is_some_and(|(before, end)| before != end)
    }

    /// Returns true if it was walked and yet the kernel hides which address space it has.
    pub(super) fn is_space_hidden(&self) -> bool {
        self.stat.image == 0 && self.own_error.is_ok() && self.stat.lacks_memory().is_none()
    }

    /// Closes its files. Until they are opened again, they are read by path.
    pub(super) fn close_files(&mut self) {
        if self.target.holds_any() {
            let bare = Target::bare(self.id.pid);
            bare.set_thread(self.target.thread());
            self.target = Arc::new(bare);
        }
    }

    /// Takes in that it was forked.
    pub(super) fn forked(&mut self) {
        self.estimates.forked();
        self.set_estimate();
    }

    /// Sets its figures to what its counters tell.
    fn set_estimate(&mut self) {
        let mapped = self.newly_mapped();
        if let (Ok(error), Some(estimate)) = (&mut self.own_error, self.estimates.estimate()) {
            *error = estimate.bound.max(mapped);
            self.set_figures(estimate.memory);
        }
        if self.is_program_doubtful()
            && let Ok(walk) = self.walk()
        {
            self.own_error = Ok(walk.error.max(walk.memory.rss));
        }
    }

    fn set_figures(&mut self, memory: Memory) {
        let is_anchored = self.estimates.anchor().is_some_and(|anchor| anchor.memory == memory);
        self.figures = (!is_anchored).then(|| Box::new(memory));
    }

    /// Returns its memory as the last walk and the counters since tell it, with the bound that is its own doing.
    pub(super) fn walk(&self) -> Reading<Walk> {
        let error = self.own_error?;
        let anchored = self.estimates.anchor().map(|anchor| &anchor.memory);
        let memory = self.figures.as_deref().or(anchored).ok_or(Missing::Pending)?;
        Ok(Walk {
            memory: *memory,
            error,
            at: self.attempted_at.unwrap_or_default(),
            cost: self.took,
        })
    }

    /// Returns the change of its files and shmem since the walk, where so much of its address space has changed too that
    /// other objects seem to be mapped: the sharers of those are not known, so that nothing learnt holds.
    fn newly_mapped(&self) -> u64 {
        let then = self.estimates.anchor().and_then(|anchor| anchor.counters.resident);
        let Some((then, now)) = then.zip(self.estimates.counters().resident) else {
            return 0;
        };
        let asks = self.sharing.last_maps().asks(Some(self.stat.vsize), now.shared);
        if asks { now.shared.abs_diff(then.shared) } else { 0 }
    }

    /// Returns true if it may run another program, and only a walk can tell.
    pub(super) fn is_program_doubtful(&self) -> bool {
        let anchor = self.estimates.anchor();
        self.is_space_hidden() && anchor.is_some_and(|a| a.counters.vsize != self.stat.vsize)
    }

    /// Returns it as reads name it.
    pub(super) fn reference(&self, version: u32) -> ProcessRef {
        ProcessRef {
            pid: self.id.pid,
            serial: self.serial,
            starttime: self.id.starttime,
            version,
            target: Arc::clone(&self.target),
        }
    }

    /// Returns the job to walk it; none while another is outstanding.
    pub(super) fn walk_job(&mut self, purpose: Purpose, sharing: &Sharing) -> Option<Job> {
        if std::mem::replace(&mut self.is_walking, true) {
            return None;
        }
        self.sharing.asked(sharing);
        Some(Job::Walk {
            process: self.reference(self.exec),
            purpose,
            expected: self.expected_cost(),
            is_known: self.has_answered,
            last_maps: self.sharing.last_maps(),
        })
    }

    /// Takes in a walk; returns true if it was one of this program.
    pub(super) fn walked(
        &mut self,
        version: u32,
        result: &WalkResult,
        purpose: Purpose,
        sharing: &mut Sharing,
    ) -> bool {
        self.is_walking = false;
        self.has_answered |= result.walked.is_ok();
        if version != self.exec {
            return false;
        }
        let own_change = self.estimates.walked(result.anchor, &self.others());
        let estimate = self.estimates.estimate();
        self.own_error = result.walked.map(|_| estimate.map_or(0, |estimate| estimate.bound));
        self.figures = None;
        if let Ok(walked) = result.walked {
            self.set_figures(walked.memory);
        }
        self.cost = Some(result.cost);
        self.took = result.took;
        self.was_idle = purpose == Purpose::Idle;
        self.attempted_at = Some(result.at);
        let Ok(walked) = result.walked else {
            return false;
        };
        let seen = Walked {
            memory: &walked.memory,
            anonymous: walked.anonymous,
            swap: self.estimates.counters().swap,
            vsize: self.estimates.counters().vsize,
            objects: result.objects.as_ref(),
            own_change,
            is_initial: purpose == Purpose::Initial,
        };
        self.sharing.walked(&seen, sharing);
        self.external = self.sharing.external(sharing);
        if self.has_other_space(walked.end) {
            self.start_program(self.image, result.at, sharing);
        }
        true
    }

    /// Returns the job to look its program's file up; none while another is outstanding.
    pub(super) fn exe_job(&mut self) -> Option<Job> {
        let starts = self.facts.exe.start_look_up();
        starts.then(|| Job::Exe(self.reference(self.facts.version)))
    }

    /// Returns the link to its file to be read again; a job of its own where it is marked.
    pub(super) fn exe_check(&mut self) -> Option<Result<(ProcessRef, u64), Job>> {
        if self.stat.is_zombie() || !self.facts.exe.can_be_checked() {
            return None;
        }
        if self.facts.exe.is_marked {
            return self.exe_job().map(Err);
        }
        Some(Ok((self.reference(self.facts.version), self.facts.exe.digest)))
    }

    /// Returns true if something of it is being read, so that time alone may change its row.
    pub(super) fn waits(&self) -> bool {
        self.is_walking || self.facts.waits() || self.held.as_ref().is_some_and(|held| held.is_reading())
    }
}
