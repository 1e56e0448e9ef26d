//! The accounts of the users that own a process: a pure cache, for which each is looked up once, and again every few minutes.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::model::{Missing, Reading};
use crate::proc::accounts::Account;

/// Time for which a name is valid. Users are hardly ever renamed, and a name service may be slow.
pub const NAME_HOLDS: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub struct Users(HashMap<u32, User>);

#[derive(Debug)]
struct User {
    account: Reading<Account>,
    /// When it was received.
    at: Duration,
    is_pending: bool,
}

impl Users {
    /// Returns the account of `uid`, which may be pending, and true if a lookup must be started.
    pub fn account(&mut self, uid: u32) -> (Reading<Account>, bool) {
        if let Some(user) = self.0.get(&uid) {
            return (user.account.clone(), false);
        }
        let user = User {
            account: Err(Missing::Pending),
            at: Duration::ZERO,
            is_pending: true,
        };
        self.0.insert(uid, user);
        (Err(Missing::Pending), true)
    }

    /// Stores an account; returns true if it has changed.
    pub fn set(&mut self, uid: u32, account: Reading<Account>, now: Duration) -> bool {
        let Some(user) = self.0.get_mut(&uid) else { return false };
        user.is_pending = false;
        user.at = now;
        let is_news = user.account != account;
        user.account = account;
        is_news
    }

    /// Returns the users that must be looked up again, because they are old. Users not `in_use` are
    /// dropped.
    pub fn renew(&mut self, now: Duration, in_use: impl FnOnce() -> HashSet<u32>) -> Vec<u32> {
        let is_old = |user: &User| !user.is_pending && now.saturating_sub(user.at) > NAME_HOLDS;
        if !self.0.values().any(is_old) {
            return Vec::new();
        }
        let in_use = in_use();
        // Keep pending users, so that no lookup is started twice at the same time.
        self.0.retain(|uid, user| user.is_pending || in_use.contains(uid));
        let old = self.0.iter_mut().filter(|(_, user)| is_old(user));
        old.map(|(uid, user)| {
            user.is_pending = true;
            *uid
        })
        .collect()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Marks the users that are not known and whose lookup `is_late` as timed out, and returns them.
    pub fn time_out(&mut self, is_late: impl Fn(u32) -> bool) -> Vec<u32> {
        let waits = |uid: u32, user: &User| user.is_pending && user.account == Err(Missing::Pending) && is_late(uid);
        let late = self.0.iter_mut().filter(|(uid, user)| waits(**uid, user));
        late.map(|(uid, user)| {
            user.account = Err(Missing::TimedOut);
            *uid
        })
        .collect()
    }
}
