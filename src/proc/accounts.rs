//! The names of users, and the owners of subordinate uids.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use super::files::{self, Roots};
use super::parse::number;
use crate::model::{Facts, Owner, Reading};

/// The name of a uid, and its owner if it is a subordinate one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Raw; the number as text if the uid has no name.
    pub name: Arc<[u8]>,
    pub owner: Option<Arc<Owner>>,
}

impl Account {
    /// Returns the owner of what the user runs: its own owner, or the user itself.
    pub fn as_owner(&self, uid: u32) -> Arc<Owner> {
        let name = Arc::clone(&self.name);
        self.owner.clone().unwrap_or_else(|| Arc::new(Owner { uid, name }))
    }
}

/// Stores the account of the user of a process.
pub fn set_account(facts: &mut Facts, account: Reading<Account>) {
    facts.owner = account.as_ref().ok().and_then(|account| account.owner.clone());
    facts.user = account.map(|account| account.name);
}

/// Maximum number of bytes read of `passwd` and `subuid`.
const MAX_FILE: usize = 1 << 20;
/// The uids from which systemd chooses those of containers, one block for each ("Users, Groups, UIDs and GIDs on systemd Systems").
const OF_CONTAINERS: RangeInclusive<u32> = 524_288..=1_879_048_191;
const BLOCK: u32 = 1 << 16;

/// Returns the name of `uid`, raw, or its number as text if it has no name; and its owner if it has no name and is a subordinate uid.
///
/// On this machine this queries the name service, which may block indefinitely, so only a reader thread may call it.
/// For another tree, the `etc/passwd` and `etc/subuid` beside it are used. Ranges that only a name service has are unknown.
pub fn account(uid: u32, roots: &Roots) -> Account {
    if let Some(name) = name(uid, roots) {
        return Account { name, owner: None };
    }
    let range = with_file("subuid", roots, |bytes| {
        let range = subordinate(bytes, uid)?;
        let owner = uid_of(range.owner, roots).filter(|uid| *uid != 0);
        Some(owner.map_or_else(
            || range_of(range.first, range.count),
            |uid| Owner {
                uid,
                name: name(uid, roots).unwrap_or_else(|| range.owner.into()),
            },
        ))
    });
    let block = || OF_CONTAINERS.contains(&uid).then(|| range_of(uid - uid % BLOCK, BLOCK));
    Account {
        name: uid.to_string().into_bytes().into(),
        owner: range.or_else(block).map(Arc::new),
    }
}

/// Returns the owner of a range of uids that belongs to root, or to nobody known.
fn range_of(first: u32, count: u32) -> Owner {
    let last = first.saturating_add(count.saturating_sub(1));
    Owner {
        uid: first,
        name: format!("uids {first}-{last}").into_bytes().into(),
    }
}

fn name(uid: u32, roots: &Roots) -> Option<Arc<[u8]>> {
    if roots.is_own() {
        let found = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid));
        return Some(found.ok()??.name.into_bytes().into());
    }
    with_file("passwd", roots, |bytes| find(bytes, uid).map(Into::into))
}

/// Returns the uid of a user that is given by name, or by number.
fn uid_of(user: &[u8], roots: &Roots) -> Option<u32> {
    if let Some(uid) = number(user) {
        return uid.try_into().ok();
    }
    if roots.is_own() {
        let found = nix::unistd::User::from_name(std::str::from_utf8(user).ok()?);
        return Some(found.ok()??.uid.as_raw());
    }
    with_file("passwd", roots, |bytes| {
        let mut lines = bytes.split(|b| *b == b'\n').map(fields);
        lines.find_map(|[name, _, uid]| {
            if name? == user {
                number(uid?)?.try_into().ok()
            } else {
                None
            }
        })
    })
}

fn with_file<T>(name: &str, roots: &Roots, use_it: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let path = if roots.is_own() {
        Path::new("/etc").join(name)
    } else {
        roots.proc.join("../etc").join(name)
    };
    let mut buf = vec![0; MAX_FILE];
    let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf).ok()?;
    use_it(bytes)
}

/// Returns the first three fields of a line.
fn fields(line: &[u8]) -> [Option<&[u8]>; 3] {
    let mut fields = line.split(|b| *b == b':');
    std::array::from_fn(|_| fields.next())
}

/// Returns the name of `uid` in a `passwd` file.
pub fn find(passwd: &[u8], uid: u32) -> Option<&[u8]> {
    let mut lines = passwd.split(|b| *b == b'\n').map(fields);
    lines.find_map(|[name, _, id]| {
        let name = name.filter(|name| !name.is_empty())?;
        (number(id?)? == u64::from(uid)).then_some(name)
    })
}

/// A range of uids in a `subuid` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<'a> {
    /// The name or the uid of the user.
    pub owner: &'a [u8],
    pub first: u32,
    pub count: u32,
}

/// Returns the first range in a `subuid` file that has `uid`.
pub fn subordinate(subuid: &[u8], uid: u32) -> Option<Range<'_>> {
    let mut lines = subuid.split(|b| *b == b'\n').map(fields);
    lines.find_map(|[owner, first, count]| {
        let owner = owner.filter(|owner| !owner.is_empty() && owner[0] != b'#')?;
        let [first, count] = [number(first?)?, number(count?.trim_ascii())?].map(|n| u32::try_from(n).ok());
        let (first, count) = (first?, count?);
        let is_inside = uid.checked_sub(first).is_some_and(|at| at < count);
        is_inside.then_some(Range { owner, first, count })
    })
}
