//! The facts of one process, and when they are read: at first, after a sign of change, and in rotation.

use std::sync::Arc;
use std::time::Duration;

use crate::model::{Facts, Missing, Reading, Stat};
use crate::sampler::job::{CgroupMembership, ExeFile};

/// Time from which an old fact is no longer shown while it is being read again, the same within which a change is to be
/// seen. A reader that waits for a moment makes no row blink.
const HOLDS: Duration = Duration::from_secs(10);

/// The facts of one process.
pub(super) struct FactsCache {
    pub(super) facts: Arc<Facts>,
    /// A counter of the programs that it ran.
    pub(super) version: u32,
    /// Since when it is new, or another program; `None` if it was there at the first scan.
    pub(super) born: Option<Duration>,
    /// Its CPU time when its own facts were read.
    pub(super) ran: Option<Duration>,
    /// It is to be looked at in this tick: somebody looks at its row, or its turn is overdue.
    pub(super) is_near: bool,
    /// All may have changed and are to be read.
    is_dirty: bool,
    /// Since when they are being read.
    pending: Option<Duration>,
    pub(super) line: LineState,
    pub(super) exe: ExeWatch,
}

/// The state of the command line, which is read by itself, and only after the CPU time was: else a title that is written
/// between the two would never be seen.
#[derive(Clone, Copy, Default)]
pub(super) struct LineState {
    /// It may have changed and is to be read.
    is_dirty: bool,
    /// Since when it is being read.
    pending: Option<Duration>,
    /// It was empty when last read, though it had not been: a process that ends looks the same.
    was_empty: bool,
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
    /// The file is being looked up.
    is_pending: bool,
}

impl FactsCache {
    /// Creates facts of which only the comm is known.
    pub(super) fn new(comm: &[u8], born: Option<Duration>) -> Self {
        Self {
            facts: Arc::new(Facts::pending(comm)),
            version: 0,
            born,
            ran: None,
            is_near: false,
            is_dirty: true,
            pending: None,
            line: LineState::default(),
            exe: ExeWatch::default(),
        }
    }

    /// Forgets all but the comm: the process runs another program.
    pub(super) fn reset(&mut self, now: Duration) {
        self.facts = Arc::new(Facts::pending(&self.facts.comm));
        self.version = self.version.wrapping_add(1);
        self.born = Some(now);
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

    /// Returns true if they are being read.
    pub(super) const fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Returns true if anything is being read of which a row would say that it is late.
    pub(super) const fn waits(&self) -> bool {
        self.pending.is_some() || self.line.pending.is_some()
    }

    /// Returns true if all are to be read.
    pub(super) const fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Returns true if all are to be read now, and takes note of that.
    pub(super) const fn take_dirty(&mut self) -> bool {
        std::mem::replace(&mut self.is_dirty, false)
    }

    /// Notes that they are being read.
    pub(super) const fn start_read(&mut self, now: Duration) {
        self.pending = Some(now);
    }

    /// Notes that what was asked for has come.
    pub(super) const fn answered(&mut self) {
        self.pending = None;
    }

    /// Takes in the user.
    pub(super) fn set_user(&mut self, uid: Reading<u32>, user: Reading<Arc<[u8]>>) {
        self.is_dirty |= uid.is_err_and(is_passing);
        // It is about to leave the list; who it was is still true.
        let is_gone = uid == Err(Missing::Gone) && self.facts.uid.is_ok();
        if !is_gone && (self.facts.uid != uid || self.facts.user != user) {
            let facts = Arc::make_mut(&mut self.facts);
            (facts.uid, facts.user) = (uid, user);
        }
    }

    /// Takes in the cgroup, its path as it is kept.
    pub(super) fn set_cgroup(&mut self, cgroup: Reading<CgroupMembership>) {
        self.is_dirty |= cgroup.as_ref().is_err_and(|why| is_passing(*why));
        if matches!(cgroup, Err(Missing::Gone)) && self.facts.cgroup.is_ok() {
            return;
        }
        let (path, unit, container) = match cgroup {
            Ok(found) => (Ok(found.path), found.unit, found.container),
            Err(why) => (Err(why), None, None),
        };
        let known = &*self.facts;
        if known.cgroup != path || known.unit != unit || known.container != container {
            let facts = Arc::make_mut(&mut self.facts);
            (facts.cgroup, facts.unit, facts.container) = (path, unit, container);
        }
    }

    /// Returns true if the command line is to be read now, and takes it for pending then.
    pub(super) fn start_line(&mut self, now: Duration) -> bool {
        let starts = self.line.is_dirty && self.line.pending.is_none();
        if starts {
            (self.line.is_dirty, self.line.pending) = (false, Some(now));
        }
        starts
    }

    /// Takes in that the command line may have changed.
    pub(super) const fn set_line_dirty(&mut self) {
        self.line.is_dirty = true;
    }

    /// Takes in the command line.
    pub(super) fn set_cmdline(&mut self, version: u32, cmdline: Reading<Box<[u8]>>) {
        self.line.pending = None;
        if version != self.version {
            return;
        }
        self.line.is_dirty |= cmdline.as_ref().is_err_and(|why| is_passing(*why));
        let is_known = self.facts.cmdline.as_ref().is_ok_and(|line| !line.is_empty());
        let is_empty = cmdline.as_ref().is_ok_and(|line| line.is_empty());
        // One that ends has none any more: it is believed when it is read again.
        let is_doubtful = is_known && is_empty && !self.line.was_empty;
        self.line.was_empty = is_empty;
        self.line.is_dirty |= is_doubtful;
        let is_gone = is_known && matches!(cmdline, Err(Missing::Gone));
        if !is_doubtful && !is_gone && self.facts.cmdline != cmdline {
            Arc::make_mut(&mut self.facts).cmdline = cmdline;
        }
    }

    /// Takes in the name of a user, if it is this process's; returns true if it is another than before.
    pub(super) fn set_name(&mut self, uid: u32, name: &Reading<Arc<[u8]>>) -> bool {
        let is_news = self.facts.uid == Ok(uid) && self.facts.user != *name;
        if is_news {
            Arc::make_mut(&mut self.facts).user.clone_from(name);
        }
        is_news
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

    /// Makes what has not come in time say so: what was never known where its read is late, which is told of the
    /// facts and of the command line, and what was known where nobody can say any more that it still is so.
    pub(super) fn time_out(&mut self, now: Duration, late: impl FnOnce() -> (bool, bool)) {
        if self.pending.is_none() && self.line.pending.is_none() {
            return;
        }
        let (facts_late, line_late) = late();
        let is_old = |pending: Option<Duration>| pending.is_some_and(|since| now.saturating_sub(since) > HOLDS);
        let (facts_old, line_old) = (is_old(self.pending), is_old(self.line.pending));
        let is_out = |why: Option<&Missing>, is_late: bool, is_old: bool| match why {
            Some(Missing::Pending) => is_late || is_old,
            Some(_) => false,
            None => is_old,
        };
        let f = &*self.facts;
        let line = is_out(f.cmdline.as_ref().err(), line_late, line_old);
        let uid = is_out(f.uid.as_ref().err(), facts_late, facts_old);
        let cgroup = is_out(f.cgroup.as_ref().err(), facts_late, facts_old);
        // Not to copy the facts at every tick.
        if !line && !uid && !cgroup {
            return;
        }
        let facts = Arc::make_mut(&mut self.facts);
        if line {
            facts.cmdline = Err(Missing::TimedOut);
        }
        if uid {
            (facts.uid, facts.user) = (Err(Missing::TimedOut), Err(Missing::TimedOut));
        }
        if cgroup {
            (facts.cgroup, facts.unit, facts.container) = (Err(Missing::TimedOut), None, None);
        }
        if facts_late && facts.exe == Err(Missing::Pending) {
            facts.exe = Err(Missing::TimedOut);
        }
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

    /// Returns true if the link can be read again.
    pub(super) const fn can_be_checked(&self) -> bool {
        self.is_read && !self.is_pending
    }
}

/// Returns true if another attempt may fare better.
const fn is_passing(why: Missing) -> bool {
    matches!(why, Missing::Gone | Missing::Errno(_))
}
