//! The systemd unit of a cgroup path.
//!
//! systemd nests units in slices only. The owner of any other cgroup chose all names below it: the service manager of a user, a
//! container, a service with `Delegate=`, or a user to whom root gave a cgroup. They may equal names of the system's units.

use std::borrow::Cow;

const SLICE: &[u8] = b".slice";
/// The cgroups at the root that container engines create without systemd, and those of a pod's class below them.
const ENGINES: [&[u8]; 4] = [b"docker", b"kubepods", b"libpod_parent", b"lxc"];
const POD_CLASSES: [&[u8]; 2] = [b"besteffort", b"burstable"];
const LEAVES: [&[u8]; 2] = [b".service", b".scope"];
const OTHERS: [&[u8]; 4] = [b".socket", b".mount", b".swap", b".automount"];

/// The origin of a unit's name, the most reliable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A service, a scope or the like of the system, or of a user's service manager.
    Unit,
    /// The innermost slice, if no other unit is in it.
    Slice,
    /// The owner of a cgroup that is no unit.
    Owner,
}

/// Returns the unit of a cgroup, and the origin of its name. The name of a unit below another cgroup begins with its
/// [owner](below_owner): `user@1000/ssh.service`.
pub fn of_path(path: &[u8]) -> Option<(Origin, Cow<'_, [u8]>)> {
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let slice = leading_slices(path).last();
    let first = names(path).find(|name| !has_kind(name, &[SLICE]));
    let unit = first.filter(|name| has_kind(name, &LEAVES) || has_kind(name, &OTHERS));
    if unit.is_none_or(is_manager)
        && let Some((owner, below)) = below_owner(path).filter(|_| unit.is_some() || slice.is_none())
        && let Some(leaf) = names(below).filter(|name| has_kind(name, &LEAVES)).last()
    {
        let origin = if unit.is_some() { Origin::Unit } else { Origin::Owner };
        return Some((origin, name_of_owner(owner, plain(leaf)).into()));
    }
    let unit = unit.map(|name| (Origin::Unit, name));
    let (origin, name) = unit.or_else(|| slice.map(|name| (Origin::Slice, name)))?;
    Some((origin, plain(name).into()))
}

/// Splits a path at the first cgroup that is no slice: the owner of the names below it, and the path from the next unit on. An owner
/// that is no unit extends to that: `lxc/101`. Without a unit below it, the result is `None`.
pub fn below_owner(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut owner, mut begin) = (None::<(usize, usize)>, 0);
    for name in path.split(|b| *b == b'/') {
        let end = begin + name.len();
        match owner {
            Some((from, to)) if is_name(name) => return Some((&path[from..to], &path[begin..])),
            Some((from, _)) => owner = Some((from, end)),
            None if is_outside(name) || has_kind(name, &[SLICE]) => {}
            None if is_name(name) => return Some((&path[begin..end], path.get(end + 1..)?)),
            None => owner = Some((begin, end)),
        }
        begin = end + 1;
    }
    None
}

/// Returns the slices at the start of a path, outermost first.
pub fn leading_slices(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    names(path).take_while(|name| has_kind(name, &[SLICE]))
}

/// Returns the path down to the cgroup whose owner can make any number of cgroups: the first that is no slice, the slice of a user, or
/// a container or pod below the cgroup of its engine. Else the whole path.
pub fn owned_path(path: &[u8]) -> &[u8] {
    let (mut begin, mut is_in_engine) = (0, false);
    for name in path.split(|b| *b == b'/') {
        let end = begin + name.len();
        let is_slice = is_outside(name) || has_kind(name, &[SLICE]);
        let inner = if is_in_engine { &POD_CLASSES[..] } else { &ENGINES };
        let is_of_engine = inner.contains(&name);
        is_in_engine = !is_slice && is_of_engine && (is_in_engine || begin == 1);
        if (!is_slice && !is_in_engine) || (is_slice && name.starts_with(b"user-")) {
            return &path[..end];
        }
        begin = end + 1;
    }
    path
}

/// Returns true if the name of a cgroup is one of a unit.
pub fn is_name(name: &[u8]) -> bool {
    has_kind(name, &[SLICE]) || has_kind(name, &LEAVES) || has_kind(name, &OTHERS)
}

/// Returns the name of something that may have the same name elsewhere: `user@1000/ssh.service`. No unit and no cgroup has a slash in
/// its name.
pub fn name_of_owner(owner: &[u8], name: &[u8]) -> Vec<u8> {
    let owner = if is_manager(owner) {
        &owner[..owner.len() - LEAVES[0].len()]
    } else {
        owner
    };
    [owner, b"/", name].concat()
}

/// Returns a name without its owner.
pub fn without_owner(name: &[u8]) -> &[u8] {
    name.rsplit(|b| *b == b'/').next().unwrap_or(name)
}

/// Returns the name of a unit as systemd knows it: it puts a `_` before one that would clash with a kernel file.
fn plain(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"_").unwrap_or(name)
}

/// Returns true for the service manager of a user.
fn is_manager(name: &[u8]) -> bool {
    name.starts_with(b"user@") && name.ends_with(LEAVES[0])
}

fn has_kind(name: &[u8], kinds: &[&[u8]]) -> bool {
    kinds.iter().any(|kind| name.len() > kind.len() && name.ends_with(kind))
}

/// Returns true for the root, and for the way from the cgroup namespace's root to a cgroup outside.
fn is_outside(name: &[u8]) -> bool {
    name.is_empty() || name == b".."
}

fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|b| *b == b'/').filter(|name| !is_outside(name))
}
