//! What is known of one process.

mod facts;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use facts::Watch;

use super::kin::Kin;
use super::sharing::{Event, Sharing};
use crate::model::{Facts, Identity, Memory, Missing, ProcessSample, Reading, Stat, Walk};
use crate::sampler::job::{Job, Party, Seen, Subject, Token, Walked};
use crate::sampler::plan::{Candidate, Purpose};
use crate::sampler::target::Target;

/// One process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) serial: u64,
    pub(super) id: Identity,
    pub(super) target: Arc<Target>,
    /// The digest of its name.
    pub(super) comm: u64,
    pub(super) exec: u32,
    /// The last image digest that was not hidden.
    image: u64,
    pub(super) stat: Stat,
    oom_score: Reading<u32>,
    walk: Reading<Walk>,
    walking: bool,
    /// The glance, and its swap, before the walk that is asked for.
    asked: (Stat, Option<u64>),
    /// When a walk of it last failed or succeeded.
    tried: Option<Duration>,
    /// What its last walk cost in processor time, and took on the clock.
    cost: Duration,
    took: Duration,
    /// Whether a walk of it has ever come back.
    answered: bool,
    /// The glance before the last walk, and its swap.
    walked_at: Option<(Stat, Option<u64>)>,
    /// Its swap at the last glance, where it was looked at.
    swap: Option<u64>,
    /// When a glance last saw anything of it move.
    stirred: Duration,
    /// What others may have done to its PSS since the last walk.
    sharing: Sharing,
    facts: Arc<Facts>,
    /// Counts the times its facts may have changed.
    version: u32,
    facts_due: bool,
    asking_facts: bool,
    watch: Watch,
    /// With whom it shares its address space.
    pub(super) kin: Kin,
}

impl Process {
    /// A process seen for the first time. `old` had its pid before it and, if nothing is said of the name,
    /// the same name.
    pub(super) fn new(
        serial: u64,
        pid: u32,
        target: Option<Arc<Target>>,
        seen: &Seen,
        old: Option<&Self>,
        now: Duration,
    ) -> Self {
        let name = seen.comm.as_deref().or(old.map(|o| &*o.facts.comm)).unwrap_or(b"?");
        Self {
            serial,
            id: Identity {
                pid,
                starttime: seen.starttime,
            },
            target: target.unwrap_or_else(|| Arc::new(Target::bare(pid))),
            comm: seen.digest,
            exec: 0,
            image: seen.stat.image,
            stat: seen.stat,
            oom_score: seen.oom_score,
            walk: Err(Missing::Pending),
            walking: false,
            asked: (seen.stat, None),
            tried: None,
            cost: Duration::ZERO,
            took: Duration::ZERO,
            answered: false,
            walked_at: None,
            swap: None,
            sharing: Sharing::default(),
            stirred: now,
            facts: Arc::new(Facts::pending(name)),
            version: 0,
            facts_due: true,
            asking_facts: false,
            watch: Watch::default(),
            kin: Kin::default(),
        }
    }

    /// Takes in a glance at the same process; what an exec does to others, which leaves them what was shared.
    pub(super) fn glanced(&mut self, target: Option<Arc<Target>>, seen: Seen, now: Duration) -> Option<Event> {
        let mut left = None;
        if let Some(target) = target {
            self.target = target;
        }
        self.oom_score = seen.oom_score;
        let hidden = seen.stat.image == 0;
        if !hidden && self.image != 0 && seen.stat.image != self.image {
            self.exec = self.exec.wrapping_add(1);
            left = self.left();
            self.walk = Err(Missing::Pending);
            self.walked_at = None;
            self.tried = None;
            self.sharing = Sharing::default();
            self.facts = Arc::new(Facts::pending(&self.facts.comm));
            self.kin = Kin::default();
            self.version = self.version.wrapping_add(1);
            self.facts_due = true;
        }
        if !hidden {
            self.image = seen.stat.image;
        }
        if let Some(comm) = seen.comm {
            self.comm = seen.digest;
            Arc::make_mut(&mut self.facts).comm = comm;
            // A kernel thread is renamed with every piece of work; nothing else of it changes.
            self.facts_due |= !seen.stat.is_kernel_thread();
        }
        // A dying process has no arguments any more; what it was called is still true.
        self.facts_due |= seen.stat.argv != self.stat.argv && seen.stat.argv != 0;
        if seen.stat != self.stat || seen.swap != self.swap {
            self.stirred = now;
        }
        self.stat = seen.stat;
        self.swap = seen.swap;
        if let Some((_, swap @ None)) = &mut self.walked_at {
            *swap = seen.swap;
        }
        left
    }

    /// Whether it need not be glanced at every time: it has long been quiet, nobody looks at it, and should its
    /// pid be given away, what is held of it cannot be mistaken.
    pub(super) fn may_be_spared(&self, sparing: &Sparing<'_>) -> bool {
        sparing.now.saturating_sub(self.stirred) > QUIET && self.target.holds() && !sparing.focus.contains(&self.id)
    }

    /// Whether some of it is swapped out, as far as the last walk tells.
    pub(super) fn is_swapped(&self) -> bool {
        self.walk.is_ok_and(|w| w.memory.swap > 0)
    }

    /// What the policy may know.
    pub(super) fn candidate(&self, glanced: bool, now: Duration, focus: &HashSet<Identity>) -> Candidate {
        let moved = self.moved();
        let age = self.walk.ok().map(|w| now.saturating_sub(w.at));
        let pss = self.walk.map_or(0, |w| w.memory.pss);
        let has_memory = !self.stat.is_kernel_thread() && !self.stat.is_zombie();
        Candidate {
            walkable: glanced && has_memory && !self.rests(age),
            outstanding: self.walking,
            // Asked in vain it is no newcomer any more.
            age: age.or(self.tried.map(|at| now.saturating_sub(at))),
            cost: self.cost,
            own: moved.bytes,
            ran: moved.ran,
            sharers: self.walk.map_or(0, |w| self.sharing.feared(w.memory.shared())),
            pss,
            externally_mutable: self.walk.map_or(u64::MAX, |w| externally_mutable(&w.memory)),
            focus: focus.contains(&self.id),
        }
    }

    /// A process whose walks take long on the clock, by a contended lock or its size, is left alone for ten
    /// times as long.
    fn rests(&self, age: Option<Duration>) -> bool {
        self.took > SLOW && age.is_some_and(|age| age < self.took * 10)
    }

    /// What its own doings since the last walk may have changed.
    fn moved(&self) -> Moved {
        let Some((then, swap)) = &self.walked_at else {
            return Moved::default();
        };
        let now = &self.stat;
        let faults = now
            .minflt
            .wrapping_sub(then.minflt)
            .saturating_add(now.majflt.wrapping_sub(then.majflt));
        let swapped = match (swap, self.swap) {
            (Some(then), Some(now)) => now.abs_diff(*then),
            _ => 0,
        };
        // Address space that comes or goes holds nothing yet, or held what RSS tells; but it may have been
        // swapped out.
        let space = if now.vsize == then.vsize { 0 } else { PAGE };
        let bytes = faults
            .saturating_mul(PAGE)
            .saturating_add(now.rss.abs_diff(then.rss))
            .saturating_add(swapped)
            .saturating_add(space);
        Moved {
            bytes,
            ran: now.cpu_ticks != then.cpu_ticks,
        }
    }

    fn subject(&self, version: u32) -> Subject {
        Subject {
            pid: self.id.pid,
            serial: self.serial,
            starttime: self.id.starttime,
            version,
            target: Arc::clone(&self.target),
        }
    }

    /// How it is named to whoever compares address spaces.
    pub(super) const fn party(&self) -> Party {
        Party {
            pid: self.id.pid,
            serial: self.serial,
            starttime: self.id.starttime,
            exec: self.exec,
        }
    }

    /// A walk of it; none while another is outstanding.
    pub(super) fn ask_walk(&mut self, purpose: Purpose) -> Option<Job> {
        if std::mem::replace(&mut self.walking, true) {
            return None;
        }
        self.asked = (self.stat, self.swap);
        Some(Job::Walk {
            subject: self.subject(self.exec),
            purpose,
            expected: self.cost,
            known: self.answered,
        })
    }

    /// Takes in a walk; what it says of what others share, where it was one of this program.
    pub(super) fn walked(&mut self, subject: &Subject, done: &Walked, purpose: Purpose) -> Option<Event> {
        let walk = done.memory.map(|memory| Walk {
            memory,
            at: done.at,
            cost: done.took,
        });
        self.walking = false;
        self.answered |= walk.is_ok();
        if subject.version != self.exec {
            return None;
        }
        let before = std::mem::replace(&mut self.walk, walk);
        let quiet = self.moved().bytes == 0;
        self.walked_at = Some(self.asked);
        self.cost = done.cost;
        self.took = done.took;
        self.tried = Some(done.at);
        let now = walk.ok()?;
        Some(self.sharing.walked(before.ok(), &now, quiet, purpose == Purpose::First))
    }

    /// What others did, as far as it may have changed what this one's last walk saw.
    pub(super) fn hear(&mut self, event: &Event) {
        if let Ok(walk) = &self.walk {
            self.sharing.hear(event, walk.at);
        }
    }

    /// What its end does to others.
    pub(super) fn left(&self) -> Option<Event> {
        self.walk.ok().and_then(|w| self.sharing.left(&w.memory))
    }

    /// Its row. A read that is overdue makes what it would have told say so; a walk is allowed twice what
    /// the last one took, so that a huge process is not called stuck each time it is walked.
    pub(super) fn row(
        &mut self,
        fault: Option<Missing>,
        deadline: Duration,
        overdue: impl Fn(Token, Duration) -> bool,
    ) -> ProcessSample {
        if self.asking_facts && overdue(Token::Facts(self.serial), deadline) {
            self.overdue_facts();
        }
        let walk = if let Some(why) = fault {
            Err(why)
        } else if self.stat.is_kernel_thread() {
            Err(Missing::KernelThread)
        } else if self.stat.is_zombie() {
            Err(Missing::Zombie)
        } else if self.walking && overdue(Token::Walk(self.serial), deadline.max(self.took * 2)) {
            Err(Missing::TimedOut)
        } else {
            self.walk
        };
        ProcessSample {
            id: self.id,
            exec: self.exec,
            stat: self.stat,
            facts: Arc::clone(&self.facts),
            walk,
            stale: self.moved().bytes > 0,
            oom_score: self.oom_score,
            shares_mm: None,
        }
    }
}

/// Who need not be glanced at every time.
#[derive(Debug)]
pub(in crate::sampler) struct Sparing<'a> {
    pub(in crate::sampler) now: Duration,
    /// Who is looked at.
    pub(in crate::sampler) focus: &'a HashSet<Identity>,
}

/// A process that showed nothing for so long is quiet.
const QUIET: Duration = Duration::from_secs(10);
/// Walks that take longer are made seldom.
const SLOW: Duration = Duration::from_millis(100);
/// The least that a fault brings. The kernel's own page may be larger, which only weighs.
const PAGE: u64 = 4096;

/// What a process did since its last walk.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    /// Bytes that may have changed.
    bytes: u64,
    /// It ran.
    ran: bool,
}

/// Returns an upper bound on a PSS change caused by other processes, in bytes: all memory that is shared now, or the
/// file-backed and shmem pages that others may yet map, whichever is more. Private anonymous pages stay private
/// unless the process forks. `u64::MAX` where the kernel does not split PSS (before Linux 5.4).
fn externally_mutable(memory: &Memory) -> u64 {
    match (memory.pss_file, memory.pss_shmem) {
        // PSS rises if the other sharers of a page leave, and falls if others come to share one.
        (Ok(file), Ok(shmem)) => memory.shared().max(file.saturating_add(shmem)),
        _ => u64::MAX,
    }
}
