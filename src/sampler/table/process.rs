//! What is known of one process.

use std::sync::Arc;
use std::time::Duration;

use crate::model::{Facts, Identity, Memory, Missing, ProcessSample, Reading, Stat, Walk};
use crate::sampler::job::{Job, Place, Seen, Subject, Token};
use crate::sampler::plan::Candidate;
use crate::sampler::target::Target;

/// One process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) serial: u64,
    pub(super) id: Identity,
    pub(super) target: Arc<Target>,
    /// The digest of its name.
    pub(super) comm: u64,
    exec: u32,
    /// The last image digest that was not hidden.
    image: u64,
    stat: Stat,
    oom_score: Reading<u32>,
    walk: Reading<Walk>,
    walking: bool,
    /// What a walk of it has cost of late.
    cost: Duration,
    /// Whether a walk of it has ever come back.
    answered: bool,
    /// The glance before the last walk.
    walked_at: Option<Stat>,
    facts: Arc<Facts>,
    /// Counts the times its facts may have changed.
    version: u32,
    facts_due: bool,
    asking_facts: bool,
}

impl Process {
    /// A process seen for the first time. `old` had its pid before it and, if nothing is said of the name,
    /// the same name.
    pub(super) fn new(serial: u64, pid: u32, target: Option<Arc<Target>>, seen: &Seen, old: Option<&Self>) -> Self {
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
            cost: Duration::ZERO,
            answered: false,
            walked_at: None,
            facts: Arc::new(Facts::pending(name)),
            version: 0,
            facts_due: true,
            asking_facts: false,
        }
    }

    /// Takes in a glance at the same process.
    pub(super) fn glanced(&mut self, target: Option<Arc<Target>>, seen: Seen) {
        if let Some(target) = target {
            self.target = target;
        }
        self.oom_score = seen.oom_score;
        let hidden = seen.stat.image == 0;
        if !hidden && self.image != 0 && seen.stat.image != self.image {
            self.exec = self.exec.wrapping_add(1);
            self.walk = Err(Missing::Pending);
            self.walked_at = None;
            self.facts = Arc::new(Facts::pending(&self.facts.comm));
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
        self.stat = seen.stat;
    }

    /// What the policy may know.
    pub(super) fn candidate(&self, glanced: bool, now: Duration, focus: &[Identity]) -> Candidate {
        let signals = |s: &Stat| (s.minflt, s.majflt, s.cpu_ticks, s.rss);
        Candidate {
            walkable: glanced && !self.stat.is_kernel_thread() && !self.stat.is_zombie(),
            outstanding: self.walking,
            age: self.walk.ok().map(|w| now.saturating_sub(w.at)),
            cost: self.cost,
            moved: self.walked_at.is_none_or(|then| signals(&then) != signals(&self.stat)),
            focus: focus.contains(&self.id),
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

    /// A walk of it; none while another is outstanding.
    pub(super) fn ask_walk(&mut self) -> Option<Job> {
        if std::mem::replace(&mut self.walking, true) {
            return None;
        }
        self.walked_at = Some(self.stat);
        Some(Job::Walk {
            subject: self.subject(self.exec),
            known: self.answered,
        })
    }

    /// Takes in a walk; says whether it was one of this program.
    pub(super) fn walked(&mut self, subject: &Subject, memory: Reading<Memory>, at: Duration, cost: Duration) -> bool {
        self.walking = false;
        self.answered |= memory.is_ok();
        if subject.version != self.exec {
            return false;
        }
        self.cost = cost;
        self.walk = memory.map(|memory| Walk { memory, at, cost });
        self.walk.is_ok()
    }

    /// Its facts, where they are to be read and are not being read.
    pub(super) fn ask_facts(&mut self) -> Option<Job> {
        if !self.facts_due || self.asking_facts {
            return None;
        }
        self.facts_due = false;
        self.asking_facts = true;
        Some(Job::Facts(self.subject(self.version)))
    }

    /// Takes in where it runs and for whom.
    pub(super) fn placed(
        &mut self,
        subject: &Subject,
        uid: Reading<u32>,
        user: Reading<Arc<[u8]>>,
        place: Reading<Place>,
    ) {
        if subject.version != self.version {
            return;
        }
        self.facts_due |= uid.is_err_and(is_passing);
        let facts = Arc::make_mut(&mut self.facts);
        facts.uid = uid;
        facts.user = user;
        match place {
            Ok(place) => {
                facts.cgroup = Ok(place.path);
                facts.unit = place.unit;
                facts.container = place.container;
            }
            Err(why) => {
                facts.cgroup = Err(why);
                facts.unit = None;
                facts.container = None;
            }
        }
    }

    /// Takes in its command line, the last of its facts.
    pub(super) fn titled(&mut self, subject: &Subject, cmdline: Reading<Box<[u8]>>) {
        self.asking_facts = false;
        if subject.version != self.version {
            return;
        }
        self.facts_due |= cmdline.as_ref().is_err_and(|e| is_passing(*e));
        Arc::make_mut(&mut self.facts).cmdline = cmdline;
    }

    /// Takes in the name of a user, if it is this one's.
    pub(super) fn rename(&mut self, uid: u32, name: &Reading<Arc<[u8]>>) {
        if self.facts.uid == Ok(uid) && self.facts.user != *name {
            Arc::make_mut(&mut self.facts).user.clone_from(name);
        }
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
        } else if self.walking && overdue(Token::Walk(self.serial), deadline.max(self.cost * 2)) {
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
            oom_score: self.oom_score,
        }
    }

    fn overdue_facts(&mut self) {
        fn late<T>(fact: &mut Reading<T>) {
            if matches!(fact, Err(Missing::Pending)) {
                *fact = Err(Missing::TimedOut);
            }
        }
        let f = &*self.facts;
        let waiting = [f.cmdline.as_ref().err(), f.uid.as_ref().err(), f.cgroup.as_ref().err()];
        if !waiting.contains(&Some(&Missing::Pending)) {
            return;
        }
        let facts = Arc::make_mut(&mut self.facts);
        late(&mut facts.cmdline);
        if facts.uid.is_err() {
            late(&mut facts.user);
        }
        late(&mut facts.uid);
        late(&mut facts.cgroup);
    }
}

/// Whether another attempt may fare better.
const fn is_passing(why: Missing) -> bool {
    matches!(why, Missing::Gone | Missing::Errno(_))
}
