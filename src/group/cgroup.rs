//! The cgroup that a unit or a container is.

use std::sync::Arc;

use crate::group::key::{GroupBy, GroupKey};
use crate::model::cgroup::CgroupFigures;
use crate::model::snapshot::Snapshot;

/// Returns the figures of the one cgroup that a group is. A unit whose name is found in several places, such as one
/// that two users each run, is not one cgroup.
pub(super) fn of_group(key: &GroupKey, members: &[usize], snapshot: &Snapshot) -> Option<CgroupFigures> {
    if snapshot.cgroups.is_empty() {
        return None;
    }
    let name = key.name.as_deref()?;
    if key.by == GroupBy::Cgroup {
        return snapshot.cgroups.get(name).copied();
    }
    let mut last: Option<&Arc<[u8]>> = None;
    let mut common: Option<&[u8]> = None;
    for at in members {
        let path = snapshot.rows()[*at].facts.cgroup.as_ref().ok()?;
        // Most members share one path, and one allocation of it.
        if last.is_some_and(|last| Arc::ptr_eq(last, path)) {
            continue;
        }
        last = Some(path);
        let prefix = naming_prefix(path, name, key.by)?;
        if *common.get_or_insert(prefix) != prefix {
            return None;
        }
    }
    snapshot.cgroups.get(common?).copied()
}

/// Returns the path up to and with the innermost component that names the unit or the container.
fn naming_prefix<'a>(path: &'a [u8], name: &[u8], by: GroupBy) -> Option<&'a [u8]> {
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let mut end = path.len();
    loop {
        let begin = path[..end].iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
        let component = &path[begin..end];
        let is_named = match by {
            GroupBy::Unit => is_unit(component, name),
            GroupBy::Container => is_container(component, name),
            GroupBy::Command | GroupBy::User | GroupBy::Cgroup | GroupBy::Family | GroupBy::Host | GroupBy::Mapping => {
                false
            }
        };
        if is_named {
            return Some(&path[..end]);
        }
        end = begin.checked_sub(1)?;
    }
}

/// Returns true if a component names the unit. systemd puts a `_` before a name that would clash with a file of the
/// kernel's.
fn is_unit(component: &[u8], unit: &[u8]) -> bool {
    component == unit || component.strip_prefix(b"_") == Some(unit)
}

/// Returns true if a component names the container: by the first twelve digits of its id, at the start or after
/// `docker-`, `cri-containerd:` and the like; by the whole name for LXC.
fn is_container(component: &[u8], container: &[u8]) -> bool {
    const ID: usize = 12;
    if component == container || component.strip_prefix(b"lxc.payload.") == Some(container) {
        return true;
    }
    let is_id = container.len() == ID && container.iter().all(u8::is_ascii_hexdigit);
    is_id
        && component.windows(ID).enumerate().any(|(at, window)| {
            window == container
                && at
                    .checked_sub(1)
                    .is_none_or(|before| matches!(component[before], b'-' | b':'))
        })
}
