//! Limits reads whose length a user can choose: a user may have millions of descriptors, and areas of memory with
//! names of a megabyte.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use super::target::Target;
use crate::model::{Missing, Reading};
use crate::proc::accounts::{self, Account};
use crate::proc::clock;
use crate::proc::files::Roots;

/// Maximum CPU time for all processes of a user: enough for a million descriptors.
const LIMIT: Duration = Duration::from_secs(5);
/// Maximum length of the areas of all processes of a user, in bytes of `smaps`: more than a million areas. Their time is no measure,
/// because the kernel walks page tables for it, and those of databases are large.
const MAX_AREAS: u64 = 1 << 30;
/// Maximum number of bytes read of a `status`, for the users in its first lines.
const MAX_STATUS: usize = 512;

/// The time and the text that one scan spent on each user.
#[derive(Default)]
pub(crate) struct Spending(Mutex<Users>);

#[derive(Default)]
struct Users {
    spent: HashMap<u32, (Duration, u64)>,
    /// The owners of subordinate uids, by uid.
    owners: HashMap<u32, u32>,
}

impl Spending {
    /// Begins a read of a process.
    pub(crate) fn begin(&self, target: &Target, roots: &Roots) -> Spender<'_> {
        let uid = real_uid(target, roots);
        let known = self.0.lock().owners.get(&uid).copied();
        let owner = known.unwrap_or_else(|| {
            let owner = owner_of(uid, roots);
            self.0.lock().owners.insert(uid, owner);
            owner
        });
        let since = clock::thread_time();
        Spender {
            spending: self,
            owner,
            since,
        }
    }
}

/// Returns the real user of a process; the superuser if it is not known. Anyone may start programs that run as root.
pub(crate) fn real_uid(target: &Target, roots: &Roots) -> u32 {
    let mut status = [0; MAX_STATUS];
    target.real_uid(&roots.proc, &mut status).unwrap_or(0)
}

/// Returns the user who is responsible for a uid: itself, or the one whose subordinate uid that is.
pub(crate) fn owner_of(uid: u32, roots: &Roots) -> u32 {
    let Account { owner, .. } = accounts::account(uid, roots);
    owner.map_or(uid, |owner| owner.uid)
}

/// A read of a process.
pub(crate) struct Spender<'a> {
    spending: &'a Spending,
    owner: u32,
    since: Duration,
}

impl Spender<'_> {
    /// Charges the CPU time since the last call to the owner of the process.
    ///
    /// # Errors
    /// [`Missing::TimedOut`] if nothing is left for its processes.
    pub(crate) fn charge(&mut self) -> Reading<()> {
        let now = clock::thread_time();
        let used = now.saturating_sub(std::mem::replace(&mut self.since, now));
        let mut users = self.spending.0.lock();
        let (spent, _) = users.spent.entry(self.owner).or_default();
        *spent += used;
        if *spent < LIMIT { Ok(()) } else { Err(Missing::TimedOut) }
    }

    /// Charges this many bytes of areas.
    ///
    /// # Errors
    /// [`Missing::TimedOut`] if nothing is left for its processes.
    pub(crate) fn charge_areas(&self, bytes: usize) -> Reading<()> {
        let mut users = self.spending.0.lock();
        let (_, spent) = users.spent.entry(self.owner).or_default();
        *spent += bytes as u64;
        if *spent < MAX_AREAS {
            Ok(())
        } else {
            Err(Missing::TimedOut)
        }
    }
}
