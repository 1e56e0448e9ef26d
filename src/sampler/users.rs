//! The names of the users that own a process: a pure cache, which looks each up once, and again every few minutes; and
//! the lookup itself.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::model::{Missing, Reading};
use crate::proc::files::{self, Roots};
use crate::proc::parse::number;

/// Time for which a name is valid. Users are hardly ever renamed, and a name service may be slow.
pub const NAME_HOLDS: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub struct Users(HashMap<u32, User>);

#[derive(Debug)]
struct User {
    name: Reading<Arc<[u8]>>,
    /// When the name was received.
    at: Duration,
    is_pending: bool,
}

impl Users {
    /// Returns the name of `uid`, which may be pending, and true if a lookup must be started.
    pub fn name(&mut self, uid: u32) -> (Reading<Arc<[u8]>>, bool) {
        if let Some(user) = self.0.get(&uid) {
            return (user.name.clone(), false);
        }
        let user = User {
            name: Err(Missing::Pending),
            at: Duration::ZERO,
            is_pending: true,
        };
        self.0.insert(uid, user);
        (Err(Missing::Pending), true)
    }

    /// Stores a name; returns true if it has changed.
    pub fn set_name(&mut self, uid: u32, name: Reading<Arc<[u8]>>, now: Duration) -> bool {
        let Some(user) = self.0.get_mut(&uid) else { return false };
        user.is_pending = false;
        user.at = now;
        let is_news = user.name != name;
        user.name = name;
        is_news
    }

    /// Returns the users whose names must be looked up again, because they are old. Users not `in_use` are
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

    /// Marks the users without a name whose lookup `is_late` as timed out, and returns them.
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

/// Maximum number of bytes read of a captured `passwd`.
const MAX_PASSWD: usize = 1 << 20;

/// Returns the name of `uid`, raw, or its number as text if it has no name.
///
/// On this machine this queries the name service, which may block indefinitely, so only a reader thread may call it.
/// For another tree, the `etc/passwd` beside it is used.
pub fn name(uid: u32, roots: &Roots) -> Arc<[u8]> {
    let found = if roots.is_own() {
        nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid))
            .ok()
            .flatten()
            .map(|user| user.name.into_bytes().into())
    } else {
        let path = roots.proc.join("../etc/passwd");
        let mut buf = vec![0; MAX_PASSWD];
        files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf)
            .ok()
            .and_then(|bytes| find(bytes, uid))
            .map(Into::into)
    };
    found.unwrap_or_else(|| uid.to_string().into_bytes().into())
}

/// Returns the name of `uid` in a `passwd` file.
pub fn find(passwd: &[u8], uid: u32) -> Option<&[u8]> {
    passwd.split(|b| *b == b'\n').find_map(|line| {
        let mut fields = line.split(|b| *b == b':');
        let name = fields.next().filter(|n| !n.is_empty())?;
        let id = number(fields.nth(1)?)?;
        (id == u64::from(uid)).then_some(name)
    })
}
