//! The memory that is left before a limit is reached.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;

/// Returns how many bytes more a process in that cgroup, or in none, may take: the least of what is available + `SwapFree`,
/// and of what the limits of the cgroup and those above it leave. Cached files do not count, as they are reclaimed.
///
/// `None` where nothing of it is known. Limits are known only while cgroups are [asked for](Snapshot::cgroups).
pub fn headroom(snapshot: &Snapshot, cgroup: Option<&[u8]>) -> Option<u64> {
    if snapshot.fleet.is_some() {
        // The room of all hosts together is none that a row could take.
        return None;
    }
    let limits = cgroup.into_iter().flat_map(with_ancestors).filter_map(|path| {
        // Without a limit its processes need not be summed.
        snapshot.cgroups.get(path)?.limit.ok()??;
        left_in(snapshot, path, unreclaimable(snapshot, path))
    });
    machine_headroom(snapshot).into_iter().chain(limits).min()
}

/// Returns how many bytes more the address space of a process may take; `None` where it has no limit, or does not grow.
pub fn address_space_left(snapshot: &Snapshot, id: Identity) -> Option<u64> {
    let limit = snapshot.address_limits.get(&id)?;
    Some(limit.saturating_sub(snapshot.row(id)?.stat.vsize))
}

/// Returns how many bytes more a process may take by all limits, its own among them: that of its address space, and, if
/// what is judged is what stays alive in the heap of a Java virtual machine, that of the heap.
pub fn process_headroom(snapshot: &Snapshot, id: Identity, is_live_set: bool, cgroup: Option<&[u8]>) -> Option<u64> {
    let heap = heap_left(snapshot, id).filter(|_| is_live_set);
    let limits = [headroom(snapshot, cgroup), address_space_left(snapshot, id), heap];
    limits.into_iter().flatten().min()
}

/// Returns how many bytes more may stay alive in the heap of a Java virtual machine; `None` where that is not known.
fn heap_left(snapshot: &Snapshot, id: Identity) -> Option<u64> {
    let heap = snapshot.jvms.get(&id)?.as_ref().ok()?;
    Some(heap.old_max.ok()?.saturating_sub(heap.live.or(heap.old).ok()?))
}

/// Returns [what is available](crate::model::SystemSample::available) + `SwapFree`, in bytes; `None` where the former is
/// not known.
pub fn machine_headroom(snapshot: &Snapshot) -> Option<u64> {
    let system = &snapshot.system;
    let available = system.available().ok()?;
    Some(available.saturating_add(system.swap_free.unwrap_or(0)))
}

/// Returns how many bytes more each cgroup may take that has a limit of its own, lower than those above it. Limits are
/// known only while cgroups are [asked for](Snapshot::cgroups).
pub fn cgroup_headrooms(snapshot: &Snapshot) -> Vec<(Arc<[u8]>, u64)> {
    let limit = |path: &[u8]| snapshot.cgroups.get(path)?.limit.ok()?;
    let mut limited: HashMap<&Arc<[u8]>, u64> = snapshot
        .cgroups
        .keys()
        .filter(|path| path.len() > 1)
        .filter(|path| limit(path).is_some_and(|own| parent(path).and_then(limit) != Some(own)))
        .map(|path| (path, 0))
        .collect();
    if limited.is_empty() {
        return Vec::new();
    }
    // By cgroup first: its path is the same allocation in all of its processes' facts, and there are few of them.
    let mut taken: HashMap<&[u8], u64> = HashMap::new();
    for sample in snapshot.rows().iter().filter(|sample| sample.shares_mm.is_none()) {
        if let (Ok(path), Some(bytes)) = (&sample.facts.cgroup, unreclaimable_of(sample)) {
            *taken.entry(path).or_default() += bytes;
        }
    }
    for (path, bytes) in taken {
        for above in with_ancestors(path) {
            if let Some(sum) = limited.get_mut(&Arc::from(above)) {
                *sum += bytes;
            }
        }
    }
    let left = limited.into_iter();
    left.filter_map(|(path, taken)| Some((Arc::clone(path), left_in(snapshot, path, taken)?)))
        .collect()
}

/// Returns what the limit of a cgroup leaves, if there is one, where its processes have `taken` so much that cannot be
/// reclaimed: all that is charged to it at most.
fn left_in(snapshot: &Snapshot, path: &[u8], taken: u64) -> Option<u64> {
    let figures = snapshot.cgroups.get(path)?;
    let taken = figures.current.map_or(taken, |current| taken.min(current));
    Some(figures.limit.ok()??.saturating_sub(taken))
}

/// Returns the memory of the processes in a cgroup and below it that cannot be reclaimed, in bytes.
fn unreclaimable(snapshot: &Snapshot, path: &[u8]) -> u64 {
    let within = |sample: &&ProcessSample| sample.facts.cgroup.as_ref().is_ok_and(|own| is_within(own, path));
    let samples = snapshot
        .rows()
        .iter()
        .filter(within)
        .filter(|sample| sample.shares_mm.is_none());
    samples.filter_map(unreclaimable_of).fold(0, u64::saturating_add)
}

/// Returns the memory of a process that cannot be reclaimed, in bytes; its PSS where the kinds are not told apart.
fn unreclaimable_of(sample: &ProcessSample) -> Option<u64> {
    let memory = sample.memory().ok()?;
    Some(match (memory.pss_anon, memory.pss_shmem) {
        (Ok(anon), Ok(shmem)) => anon.saturating_add(shmem),
        _ => memory.pss,
    })
}

/// Returns true if a path is that of the cgroup `above` or below it.
pub fn is_within(path: &[u8], above: &[u8]) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || above.ends_with(b"/"))
}

/// Returns a cgroup and those above it, without the root, which has no limit.
fn with_ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path).filter(|path| path.len() > 1), |path| parent(path))
}

/// Returns the cgroup above one, if that is not the root.
fn parent(path: &[u8]) -> Option<&[u8]> {
    let slash = path.iter().rposition(|b| *b == b'/')?;
    (slash > 0).then(|| &path[..slash])
}
