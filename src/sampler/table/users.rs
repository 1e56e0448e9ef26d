//! Names of users: asked for once each, and again every few minutes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Missing, Reading};
use crate::sampler::job::Job;

/// How long a name is taken to hold.
const HOLDS: Duration = Duration::from_secs(300);

/// The users seen.
#[derive(Debug, Default)]
pub(super) struct Users(HashMap<u32, User>);

#[derive(Debug)]
struct User {
    name: Reading<Arc<[u8]>>,
    at: Duration,
    asking: bool,
}

impl Users {
    /// The name of `uid`, or that it is not known yet; and the job to ask for it if nobody has.
    pub(super) fn name(&mut self, uid: u32) -> (Reading<Arc<[u8]>>, Option<Job>) {
        if let Some(user) = self.0.get(&uid) {
            return (user.name.clone(), None);
        }
        let user = User {
            name: Err(Missing::Pending),
            at: Duration::ZERO,
            asking: true,
        };
        (self.0.entry(uid).or_insert(user).name.clone(), Some(Job::User(uid)))
    }

    /// Takes in a name; says whether it is news.
    pub(super) fn named(&mut self, uid: u32, name: Reading<Arc<[u8]>>, now: Duration) -> bool {
        let Some(user) = self.0.get_mut(&uid) else { return false };
        user.asking = false;
        user.at = now;
        let news = user.name != name;
        user.name = name;
        news
    }

    /// Jobs for the names that were asked for long ago.
    pub(super) fn ask_again(&mut self, now: Duration) -> Vec<Job> {
        self.0
            .iter_mut()
            .filter(|(_, user)| !user.asking && now.saturating_sub(user.at) > HOLDS)
            .map(|(uid, user)| {
                user.asking = true;
                Job::User(*uid)
            })
            .collect()
    }

    /// Those who have no name yet and whose answer `is_late`: from now on their rows say so.
    pub(super) fn overdue(&mut self, is_late: impl Fn(u32) -> bool) -> Vec<u32> {
        self.0
            .iter_mut()
            .filter(|(uid, user)| user.asking && user.name == Err(Missing::Pending) && is_late(**uid))
            .map(|(uid, user)| {
                user.name = Err(Missing::TimedOut);
                *uid
            })
            .collect()
    }
}
