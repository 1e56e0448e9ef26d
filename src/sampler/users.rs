//! The names of users who have a process, asked for once each, and again every few minutes. Pure: it tells whom to ask for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Missing, Reading};

/// Time that a name holds: users are renamed hardly ever, and a name service may be slow.
pub const NAME_HOLDS: Duration = Duration::from_secs(300);

/// The users seen.
#[derive(Debug, Default)]
pub struct Users(HashMap<u32, User>);

#[derive(Debug)]
struct User {
    name: Reading<Arc<[u8]>>,
    /// When the name came.
    at: Duration,
    is_pending: bool,
}

impl Users {
    /// Returns the name of `uid`, or that it is not known yet; and true if it is to be asked for.
    pub fn name(&mut self, uid: u32) -> (Reading<Arc<[u8]>>, bool) {
        if let Some(user) = self.0.get(&uid) {
            return (user.name.clone(), false);
        }
        let name = Err(Missing::Pending);
        let user = User {
            name: name.clone(),
            at: Duration::ZERO,
            is_pending: true,
        };
        self.0.insert(uid, user);
        (name, true)
    }

    /// Takes in a name; returns true if it is another than before.
    pub fn set_name(&mut self, uid: u32, name: Reading<Arc<[u8]>>, now: Duration) -> bool {
        let Some(user) = self.0.get_mut(&uid) else { return false };
        user.is_pending = false;
        user.at = now;
        let is_news = user.name != name;
        user.name = name;
        is_news
    }

    /// Returns those whose names were asked for long ago, to be asked for again. Users who are not `in_use` any more
    /// are forgotten.
    pub fn renew(&mut self, now: Duration, in_use: impl FnOnce() -> HashSet<u32>) -> Vec<u32> {
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
            *uid
        })
        .collect()
    }

    /// Returns how many are known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if nobody is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the users who have no name yet and whose answer `is_late`; from now on their rows say so.
    pub fn time_out(&mut self, is_late: impl Fn(u32) -> bool) -> Vec<u32> {
        let waits = |uid: u32, user: &User| user.is_pending && user.name == Err(Missing::Pending) && is_late(uid);
        let late = self.0.iter_mut().filter(|(uid, user)| waits(**uid, user));
        late.map(|(uid, user)| {
            user.name = Err(Missing::TimedOut);
            *uid
        })
        .collect()
    }
}
