//! The memory that is left before a limit is reached.

use crate::model::process::ProcessSample;
use crate::model::snapshot::Snapshot;

/// Returns how many bytes more a process in that cgroup, or in none, may take: the least of `MemAvailable + SwapFree`,
/// and of what the limits of the cgroup and those above it leave. Cached files do not count, as they are reclaimed.
///
/// `None` where nothing of it is known. Limits are known only while cgroups are [asked for](Snapshot::cgroups).
pub fn headroom(snapshot: &Snapshot, cgroup: Option<&[u8]>) -> Option<u64> {
    let system = &snapshot.system;
    let machine = system
        .mem_available
        .ok()
        .map(|free| free.saturating_add(system.swap_free.unwrap_or(0)));
    let limits = cgroup.into_iter().flat_map(with_ancestors).filter_map(|path| {
        let figures = snapshot.cgroups.get(path)?;
        let limit = figures.limit.ok()??;
        let taken = unreclaimable(snapshot, path);
        Some(limit.saturating_sub(figures.current.map_or(taken, |current| taken.min(current))))
    });
    machine.into_iter().chain(limits).min()
}

/// Returns the memory of the processes in a cgroup and below it that cannot be reclaimed, in bytes.
fn unreclaimable(snapshot: &Snapshot, path: &[u8]) -> u64 {
    let within = |sample: &&ProcessSample| sample.facts.cgroup.as_ref().is_ok_and(|own| is_within(own, path));
    let samples = snapshot
        .rows()
        .iter()
        .filter(within)
        .filter(|sample| sample.shares_mm.is_none());
    samples
        .filter_map(|sample| sample.memory().ok())
        .map(|m| match (m.pss_anon, m.pss_shmem) {
            (Ok(anon), Ok(shmem)) => anon.saturating_add(shmem),
            _ => m.pss,
        })
        .fold(0, u64::saturating_add)
}

/// Returns true if a path is that of the cgroup `above` or below it.
fn is_within(path: &[u8], above: &[u8]) -> bool {
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
