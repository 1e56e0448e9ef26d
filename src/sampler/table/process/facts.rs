//! What holds for as long as a program runs, and how it comes to be known.

use std::sync::Arc;
use std::time::Duration;

use super::Process;
use crate::model::{Missing, Reading};
use crate::sampler::job::{Job, Known, Place, Program, Subject};

/// When the link to the program's file is looked at, and what it was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    digest: u64,
    marked: bool,
    /// It was read once.
    read: bool,
    /// When it is looked at next.
    due: Option<Duration>,
    asking: bool,
}

impl Process {
    /// Its facts, where they are to be read and are not being read.
    pub(in crate::sampler::table) fn ask_facts(&mut self) -> Option<Job> {
        if !self.facts_due || self.asking_facts {
            return None;
        }
        self.facts_due = false;
        self.asking_facts = true;
        Some(Job::Facts(self.subject(self.version)))
    }

    /// Takes in where it runs, for whom and what; says what is yet to be looked up of its file.
    pub(in crate::sampler::table) fn placed(
        &mut self,
        subject: &Subject,
        (uid, user): (Reading<u32>, Reading<Arc<[u8]>>),
        place: Reading<Place>,
        program: Reading<(Program, Arc<[u8]>)>,
    ) -> Option<Job> {
        if subject.version != self.version {
            return None;
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
        self.programmed(program);
        if !self.watch.marked || self.watch.asking {
            return None;
        }
        self.watch.asking = true;
        Some(Job::Program(self.subject(self.version)))
    }

    /// Takes in what was looked up of its file.
    pub(in crate::sampler::table) fn looked_up(&mut self, subject: &Subject, program: Reading<(Program, Arc<[u8]>)>) {
        self.watch.asking = false;
        if subject.version == self.version {
            self.programmed(program);
        }
    }

    fn programmed(&mut self, program: Reading<(Program, Arc<[u8]>)>) {
        let (program, path) = match program {
            Ok(found) => found,
            // On its way out it has no file any more; what it ran is still true.
            Err(_) if self.facts.exe.is_ok() => return,
            Err(why) => {
                Arc::make_mut(&mut self.facts).exe = Err(match why {
                    _ if self.stat.is_kernel_thread() => Missing::KernelThread,
                    _ if self.stat.is_zombie() => Missing::Zombie,
                    why => why,
                });
                return;
            }
        };
        self.watch.digest = program.digest;
        self.watch.marked = program.marked;
        self.watch.read = true;
        if self.facts.exe.as_ref() != Ok(&path) || self.facts.replaced != program.replaced {
            let facts = Arc::make_mut(&mut self.facts);
            facts.exe = Ok(path);
            facts.replaced = program.replaced;
        }
    }

    /// The link to its file, where it is time to look at it again; a job of its own where it was marked.
    pub(in crate::sampler::table) fn ask_program(
        &mut self,
        now: Duration,
        again: Duration,
    ) -> Option<Result<Known, Job>> {
        if !self.watch.read {
            return None;
        }
        // Of those first read together each has its own turn.
        let due = *self.watch.due.get_or_insert_with(|| {
            let turn = self.id.pid.wrapping_mul(0x9e37_79b9);
            now + again.mul_f64(f64::from(turn) / f64::from(u32::MAX))
        });
        if due > now || self.watch.asking || self.stat.is_zombie() {
            return None;
        }
        self.watch.due = Some(now + again);
        if self.watch.marked {
            self.watch.asking = true;
            return Some(Err(Job::Program(self.subject(self.version))));
        }
        Some(Ok(Known {
            pid: self.id.pid,
            serial: self.serial,
            target: Arc::clone(&self.target),
            digest: self.watch.digest,
        }))
    }

    /// The link is not what it was: all of it is to be looked up.
    pub(in crate::sampler::table) fn relinked(&mut self) -> Option<Job> {
        if self.watch.asking {
            return None;
        }
        self.watch.asking = true;
        Some(Job::Program(self.subject(self.version)))
    }

    /// The cgroup it is in.
    pub(in crate::sampler::table) fn cgroup(&self) -> Option<&Arc<[u8]>> {
        self.facts.cgroup.as_ref().ok()
    }

    /// Takes in its command line, the last of its facts.
    pub(in crate::sampler::table) fn titled(&mut self, subject: &Subject, cmdline: Reading<Box<[u8]>>) {
        self.asking_facts = false;
        if subject.version != self.version {
            return;
        }
        self.facts_due |= cmdline.as_ref().is_err_and(|e| is_passing(*e));
        Arc::make_mut(&mut self.facts).cmdline = cmdline;
    }

    /// Takes in the name of a user, if it is this one's.
    pub(in crate::sampler::table) fn rename(&mut self, uid: u32, name: &Reading<Arc<[u8]>>) {
        if self.facts.uid == Ok(uid) && self.facts.user != *name {
            Arc::make_mut(&mut self.facts).user.clone_from(name);
        }
    }

    /// What has not come in time says so.
    pub(super) fn overdue_facts(&mut self) {
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
        late(&mut facts.exe);
    }
}

/// Whether another attempt may fare better.
const fn is_passing(why: Missing) -> bool {
    matches!(why, Missing::Gone | Missing::Errno(_))
}
