//! Which cgroup a unit or a container is.

use std::sync::Arc;

use crate::group::{Group, GroupBy};
use crate::model::cgroup::CgroupFigures;
use crate::model::snapshot::Snapshot;

/// What the kernel says of the one cgroup that the group is. A unit whose name is found in several places,
/// such as one that two users each run, is not one cgroup.
pub(super) fn of(group: &Group, snapshot: &Snapshot) -> Option<CgroupFigures> {
    if snapshot.cgroups.is_empty() {
        return None;
    }
    let name = group.key.name.as_deref()?;
    if group.key.by == GroupBy::Cgroup {
        return snapshot.cgroups.get(name).copied();
    }
    let mut last: Option<&Arc<[u8]>> = None;
    let mut one: Option<&[u8]> = None;
    for at in &group.members {
        let path = snapshot.rows()[*at].facts.cgroup.as_ref().ok()?;
        // Most members share one path.
        if last.is_some_and(|last| Arc::ptr_eq(last, path)) {
            continue;
        }
        last = Some(path);
        let place = place(path, name, group.key.by)?;
        if *one.get_or_insert(place) != place {
            return None;
        }
    }
    snapshot.cgroups.get(one?).copied()
}

/// The path up to and with the innermost component that names the unit or the container.
fn place<'a>(path: &'a [u8], name: &[u8], by: GroupBy) -> Option<&'a [u8]> {
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let mut end = path.len();
    loop {
        let begin = path[..end].iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
        let component = &path[begin..end];
        let named = match by {
            GroupBy::Unit => is_unit(component, name),
            GroupBy::Container => is_container(component, name),
            GroupBy::Command | GroupBy::User | GroupBy::Cgroup | GroupBy::Mapping => false,
        };
        if named {
            return Some(&path[..end]);
        }
        end = begin.checked_sub(1)?;
    }
}

/// systemd puts a `_` before a name that would clash with a file of the kernel's.
fn is_unit(component: &[u8], unit: &[u8]) -> bool {
    component == unit || component.strip_prefix(b"_") == Some(unit)
}

/// A container is named by the first twelve digits of its id, which stand at the beginning or after
/// `docker-`, `cri-containerd:` and the like; one of LXC's by its whole name.
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
