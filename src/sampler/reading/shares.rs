//! Limits how many threads the processes of one user can block. Anyone can start processes whose memory lock is never released.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::spending::{owner_of, real_uid};
use super::target::Target;
use crate::proc::clock;
use crate::proc::files::Roots;

/// A read that takes longer may be blocked. Most take well below 1 ms.
const SILENT: Duration = Duration::from_millis(25);

/// The reads in progress that may block.
pub(crate) struct Shares {
    /// Maximum number of reads that may be blocked.
    max_stuck: usize,
    reads: Mutex<Vec<InProgress>>,
    /// The users who are responsible for uids, while many reads are blocked.
    owners: Mutex<HashMap<u32, u32>>,
}

struct InProgress {
    target: Arc<Target>,
    since: Duration,
    /// The user of the process, once it was needed.
    owner: Option<u32>,
}

/// A read in progress. It ends when this is dropped.
pub(crate) struct Share<'a> {
    shares: &'a Shares,
    target: &'a Arc<Target>,
    since: Duration,
}

impl Shares {
    /// Creates shares of `max_stuck` reads that may be blocked. A user's processes may block half of those that others leave, so that
    /// several users together leave some, too.
    pub(crate) fn new(max_stuck: usize) -> Self {
        Self {
            max_stuck,
            reads: Mutex::default(),
            owners: Mutex::default(),
        }
    }

    /// Returns the user who is responsible for a process: its real user, or the one whose subordinate uid that is.
    fn owner(&self, target: &Target, roots: &Roots) -> u32 {
        let uid = real_uid(target, roots);
        let known = self.owners.lock().get(&uid).copied();
        known.unwrap_or_else(|| {
            let owner = owner_of(uid, roots);
            self.owners.lock().insert(uid, owner);
            owner
        })
    }

    /// Begins a read of a process. Returns `None` if it must not start now, because so many of its user's are blocked. The superuser's may
    /// always start.
    pub(crate) fn begin<'a>(&'a self, target: &'a Arc<Target>, roots: &Roots) -> Option<Share<'a>> {
        let now = clock::monotonic();
        let mut reads = self.reads.lock();
        let is_silent = |read: &InProgress| now.saturating_sub(read.since) >= SILENT;
        let mut owner = None;
        if reads.iter().any(is_silent) || reads.len() >= self.max_stuck / 2 {
            let unknown = reads.iter().filter(|read| read.owner.is_none());
            let unknown: Vec<_> = unknown.map(|read| Arc::clone(&read.target)).collect();
            drop(reads);
            let user = self.owner(target, roots);
            let known: Vec<_> = unknown.iter().map(|other| self.owner(other, roots)).collect();
            reads = self.reads.lock();
            for read in reads.iter_mut() {
                let place = unknown.iter().position(|other| Arc::ptr_eq(other, &read.target));
                read.owner = read.owner.or(place.map(|place| known[place]));
            }
            let own = reads.iter().filter(|read| read.owner == Some(user)).count();
            if user != 0 && own >= self.max_stuck.saturating_sub(reads.len()) {
                return None;
            }
            owner = Some(user);
        } else {
            // Normally no read is blocked, and the users do not matter.
            self.owners.lock().clear();
        }
        reads.push(InProgress {
            target: Arc::clone(target),
            since: now,
            owner,
        });
        Some(Share {
            shares: self,
            target,
            since: now,
        })
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut reads = self.shares.reads.lock();
        let own = |read: &InProgress| Arc::ptr_eq(&read.target, self.target) && read.since == self.since;
        if let Some(place) = reads.iter().position(own) {
            reads.swap_remove(place);
        }
    }
}
