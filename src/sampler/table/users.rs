//! The names of users who have a process, asked for once each, and again every few minutes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Missing, Reading};
use crate::sampler::job::Job;

/// Time that a name holds: users are renamed hardly ever, and a name service may be slow.
const NAME_HOLDS: Duration = Duration::from_secs(300);

/// The users seen.
#[derive(Default)]
pub(super) struct Users(HashMap<u32, User>);

struct User {
    name: Reading<Arc<[u8]>>,
    /// When the name came.
    at: Duration,
    is_pending: bool,
}

impl Users {
    /// Returns the name of `uid`, or that it is not known yet; and the job to ask for it, if nobody has.
    pub(super) fn name(&mut self, uid: u32) -> (Reading<Arc<[u8]>>, Option<Job>) {
        if let Some(user) = self.0.get(&uid) {
            return (user.name.clone(), None);
        }
        let name = Err(Missing::Pending);
        let user = User {
            name: name.clone(),
            at: Duration::ZERO,
            is_pending: true,
        };
        self.0.insert(uid, user);
        (name, Some(Job::User(uid)))
    }

    /// Takes in a name; returns true if it is another than before.
    pub(super) fn set_name(&mut self, uid: u32, name: Reading<Arc<[u8]>>, now: Duration) -> bool {
        let Some(user) = self.0.get_mut(&uid) else { return false };
        user.is_pending = false;
        user.at = now;
        let is_news = user.name != name;
        user.name = name;
        is_news
    }

    /// Returns jobs for the names that were asked for long ago. Users who are not `in_use` any more are forgotten.
    pub(super) fn jobs(&mut self, now: Duration, in_use: impl FnOnce() -> HashSet<u32>) -> Vec<Job> {
        let is_old = |user: &User| !user.is_pending && now.saturating_sub(user.at) > NAME_HOLDS;
        if !self.0.values().any(is_old) {
            return Vec::new();
        }
        let in_use = in_use();
        // Nobody may be asked about twice at once.
        self.0.retain(|uid, user| user.is_pending || in_use.contains(uid));
        let old = self.0.iter_mut().filter(|(_, user)| is_old(user));
        old.map(|(uid, user)| {
            user.is_pending = true;
            Job::User(*uid)
        })
        .collect()
    }

    /// Returns the users who have no name yet and whose answer `is_late`; from now on their rows say so.
    pub(super) fn time_out(&mut self, is_late: impl Fn(u32) -> bool) -> Vec<u32> {
        let waits = |uid: u32, user: &User| user.is_pending && user.name == Err(Missing::Pending) && is_late(uid);
        let late = self.0.iter_mut().filter(|(uid, user)| waits(**uid, user));
        late.map(|(uid, user)| {
            user.name = Err(Missing::TimedOut);
            *uid
        })
        .collect()
    }
}
