//! The facts of one process: what holds for as long as a program runs, and when it is read.

use std::sync::Arc;
use std::time::Duration;

use crate::model::{Facts, Missing, Reading, Stat};
use crate::sampler::job::{CgroupMembership, ExeFile};

/// The facts of one process.
pub(super) struct FactsCache {
    pub(super) facts: Arc<Facts>,
    /// A counter of the programs that it ran.
    pub(super) version: u32,
    /// They may have changed and are to be read.
    is_dirty: bool,
    /// They are being read.
    pub(super) is_pending: bool,
    pub(super) exe: ExeWatch,
}

/// The state of the link to the program's file.
#[derive(Clone, Copy, Default)]
pub(super) struct ExeWatch {
    /// The digest of its text.
    pub(super) digest: u64,
    /// It was marked as that of a file whose name is gone.
    pub(super) is_marked: bool,
    /// It was read once.
    is_read: bool,
    /// When it is read next.
    next: Option<Duration>,
    /// The file is being looked up.
    is_pending: bool,
}

impl FactsCache {
    /// Creates facts of which only the comm is known.
    pub(super) fn new(comm: &[u8]) -> Self {
        Self {
            facts: Arc::new(Facts::pending(comm)),
            version: 0,
            is_dirty: true,
            is_pending: false,
            exe: ExeWatch::default(),
        }
    }

    /// Forgets all but the comm: the process runs another program.
    pub(super) fn reset(&mut self) {
        self.facts = Arc::new(Facts::pending(&self.facts.comm));
        self.version = self.version.wrapping_add(1);
        self.is_dirty = true;
    }

    /// Takes in the differences that a glance shows.
    pub(super) fn glanced(&mut self, comm: Option<Box<[u8]>>, before: &Stat, now: &Stat) {
        if let Some(comm) = comm {
            Arc::make_mut(&mut self.facts).comm = comm;
            // A kernel thread is renamed with every piece of work; nothing else of it changes.
            self.is_dirty |= !now.is_kernel_thread();
        }
        // A dying process has no arguments any more; what it was called is still true.
        self.is_dirty |= now.argv != before.argv && now.argv != 0;
    }

    /// Returns true if they are to be read now, and takes them for pending then.
    pub(super) fn start_read(&mut self) -> bool {
        let starts = self.is_dirty && !self.is_pending;
        if starts {
            (self.is_dirty, self.is_pending) = (false, true);
        }
        starts
    }

    /// Takes in the user and the cgroup.
    pub(super) fn set_owner(
        &mut self,
        (uid, user): (Reading<u32>, Reading<Arc<[u8]>>),
        cgroup: Reading<CgroupMembership>,
    ) {
        self.is_dirty |= uid.is_err_and(is_passing);
        let facts = Arc::make_mut(&mut self.facts);
        (facts.uid, facts.user) = (uid, user);
        (facts.cgroup, facts.unit, facts.container) = match cgroup {
            Ok(found) => (Ok(found.path), found.unit, found.container),
            Err(why) => (Err(why), None, None),
        };
    }

    /// Takes in the command line, the last of the facts that are read.
    pub(super) fn set_cmdline(&mut self, version: u32, cmdline: Reading<Box<[u8]>>) {
        self.is_pending = false;
        if version == self.version {
            self.is_dirty |= cmdline.as_ref().is_err_and(|e| is_passing(*e));
            Arc::make_mut(&mut self.facts).cmdline = cmdline;
        }
    }

    /// Takes in the name of a user, if it is this process's.
    pub(super) fn set_user(&mut self, uid: u32, name: &Reading<Arc<[u8]>>) {
        if self.facts.uid == Ok(uid) && self.facts.user != *name {
            Arc::make_mut(&mut self.facts).user.clone_from(name);
        }
    }

    /// Takes in the program's file, its path as it is kept.
    pub(super) fn set_exe(&mut self, exe: Reading<(ExeFile, Arc<[u8]>)>, stat: &Stat) {
        let (exe, path) = match exe {
            Ok(found) => found,
            // On its way out it has no file any more; what it ran is still true.
            Err(_) if self.facts.exe.is_ok() => return,
            Err(why) => {
                Arc::make_mut(&mut self.facts).exe = Err(stat.lacks_memory().unwrap_or(why));
                return;
            }
        };
        self.exe.digest = exe.digest;
        self.exe.is_marked = exe.is_marked;
        self.exe.is_read = true;
        if self.facts.exe.as_ref() != Ok(&path) || self.facts.replaced != exe.replaced {
            let facts = Arc::make_mut(&mut self.facts);
            facts.exe = Ok(path);
            facts.replaced = exe.replaced;
        }
    }

    /// Makes what has not come in time say so.
    pub(super) fn time_out(&mut self) {
        fn time_out<T>(fact: &mut Reading<T>) {
            if matches!(fact, Err(Missing::Pending)) {
                *fact = Err(Missing::TimedOut);
            }
        }
        let f = &*self.facts;
        let waiting = [f.cmdline.as_ref().err(), f.uid.as_ref().err(), f.cgroup.as_ref().err()];
        // Not to copy the facts at every tick.
        if !waiting.contains(&Some(&Missing::Pending)) {
            return;
        }
        let facts = Arc::make_mut(&mut self.facts);
        time_out(&mut facts.cmdline);
        if facts.uid.is_err() {
            time_out(&mut facts.user);
        }
        time_out(&mut facts.uid);
        time_out(&mut facts.cgroup);
        time_out(&mut facts.exe);
    }
}

impl ExeWatch {
    /// Returns true if the file is to be looked up now, and takes it for pending then.
    pub(super) fn start_look_up(&mut self) -> bool {
        !std::mem::replace(&mut self.is_pending, true)
    }

    /// Notes that the file was looked up.
    pub(super) const fn looked_up(&mut self) {
        self.is_pending = false;
    }

    /// Returns true if it is time to read the link again, which is done `every` so long.
    pub(super) fn is_due(&mut self, pid: u32, now: Duration, every: Duration) -> bool {
        if !self.is_read {
            return false;
        }
        // Staggered by pid: those first read together would all be due at once (Knuth's multiplicative hash).
        let next = *self.next.get_or_insert_with(|| {
            let stagger = f64::from(pid.wrapping_mul(0x9e37_79b9)) / f64::from(u32::MAX);
            now + every.mul_f64(stagger)
        });
        let is_due = next <= now && !self.is_pending;
        if is_due {
            self.next = Some(now + every);
        }
        is_due
    }
}

/// Returns true if another attempt may fare better.
const fn is_passing(why: Missing) -> bool {
    matches!(why, Missing::Gone | Missing::Errno(_))
}
