//! How much more fits until something gives.

use crate::model::process::ProcessSample;
use crate::model::snapshot::Snapshot;

/// How many bytes more a process in that cgroup, or in none, may come to hold: the least of what the machine
/// has, `MemAvailable` and `SwapFree` of `/proc/meminfo`, and of what the limits of the cgroup and those above it
/// leave beside what their processes hold. Files that are cached count for nothing: they give way.
///
/// `None` where nothing of it is known. Limits are known only while cgroups are [asked
/// for](Snapshot::cgroups).
pub fn headroom(snapshot: &Snapshot, cgroup: Option<&[u8]>) -> Option<u64> {
    let system = &snapshot.system;
    let machine = system
        .mem_available
        .ok()
        .map(|free| free.saturating_add(system.swap_free.unwrap_or(0)));
    let limits = cgroup.into_iter().flat_map(upwards).filter_map(|path| {
        let figures = snapshot.cgroups.get(path)?;
        let limit = figures.limit.ok()??;
        let held = held(snapshot, path);
        Some(limit.saturating_sub(figures.current.map_or(held, |current| held.min(current))))
    });
    machine.into_iter().chain(limits).min()
}

/// What cannot give way of what the processes in a cgroup and below it hold, in bytes.
fn held(snapshot: &Snapshot, path: &[u8]) -> u64 {
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

fn is_within(path: &[u8], above: &[u8]) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || above.ends_with(b"/"))
}

/// A cgroup and those above it, without the root, which has no limit.
fn upwards(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path).filter(|path| path.len() > 1), |path| above(path))
}

/// The cgroup above one, if that is not the root.
fn above(path: &[u8]) -> Option<&[u8]> {
    let slash = path.iter().rposition(|b| *b == b'/')?;
    (slash > 0).then(|| &path[..slash])
}
