//! The memory left until a limit is reached.
//!
//! Compressed pages take RAM, so free swap counts only by the memory that it really adds:
//!
//! | swap | adds |
//! |---|---|
//! | on a disk | its free space |
//! | on a disk, behind zswap | its free space − the possible growth of the pool: min(`max_pool_percent` of the RAM − pool, free ÷ ratio) |
//! | on zram | min(its free space, (`mem_limit` − used) × ratio) × (1 − 1 ÷ ratio), at most (ratio − 1) × (available + anonymous memory), its gain if all of that were swapped |
//!
//! Pages of swap that are in RAM, too (`SwapCached`), count in full: either copy can be freed. The kernel keeps both until half of the swap
//! is used, so while a machine swaps in as much as it swaps out, its free swap alone would fall.
//!
//! If the swap areas are unknown, all free swap counts as on zram if there is a zram device.
//!
//! *Ratio* is the stored size ÷ the RAM used for it, in the devices or in the pool, between 1 and [`MAX_RATIO`]. It is
//! [`CAUTIOUS_RATIO`] while they store less than [`MIN_STORED`].

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use crate::account::overview::zswap_limit;
use crate::account::{file_pages, less};
use crate::model::cgroup::CgroupFigures;
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::Reading;
use crate::model::snapshot::Snapshot;
use crate::model::system::{AccountingInputs, SystemSample, Zram};

/// Compression ratio assumed before any memory was compressed.
pub const CAUTIOUS_RATIO: f64 = 2.0;
/// Upper bound of the ratio. The first pages stored are often pages of zeros.
pub const MAX_RATIO: f64 = 4.0;
/// Minimum number of stored bytes for their ratio to be used.
pub const MIN_STORED: u64 = 64 << 20;
/// The kernel's default of zswap's `max_pool_percent`, used if it was not read.
const ZSWAP_PERCENT: u64 = 20;

/// Returns how many more bytes a process in that cgroup, or in none, may allocate: the minimum of [what the machine has
/// left](machine_headroom) and what the limits of the cgroup and its ancestors leave. Cached files do not count, as they can be
/// reclaimed.
///
/// Returns `None` if nothing is known. Limits are known only while cgroups are [requested](Snapshot::cgroups).
pub fn headroom(snapshot: &Snapshot, cgroup: Option<&[u8]>) -> Option<u64> {
    if snapshot.fleet.is_some() {
        // No row could use the memory of all hosts together.
        return None;
    }
    let limits = cgroup.into_iter().flat_map(with_ancestors).filter_map(|path| {
        let (figures, room) = (snapshot.cgroups.get(path)?, || unreclaimable(snapshot, path));
        Some(room_in(&snapshot.system, figures, room)?.left)
    });
    machine_headroom(snapshot).into_iter().chain(limits).min()
}

/// Returns by how many more bytes the address space of a process may grow. Returns `None` if it has no limit or does not grow.
pub fn address_space_left(snapshot: &Snapshot, id: Identity) -> Option<u64> {
    let limit = snapshot.address_limits.get(&id)?;
    Some(limit.saturating_sub(snapshot.row(id)?.stat.vsize))
}

/// Returns how many more bytes a process may allocate under all limits. These include its address-space limit and, if the verdict
/// is on the live set of a Java virtual machine, the heap's limit.
pub fn process_headroom(snapshot: &Snapshot, id: Identity, is_live_set: bool, cgroup: Option<&[u8]>) -> Option<u64> {
    let heap = heap_left(snapshot, id).filter(|_| is_live_set);
    let limits = [headroom(snapshot, cgroup), address_space_left(snapshot, id), heap];
    limits.into_iter().flatten().min()
}

/// Returns how many bytes the live set in the heap of a Java virtual machine may still grow, or `None` if unknown.
fn heap_left(snapshot: &Snapshot, id: Identity) -> Option<u64> {
    let heap = snapshot.jvms.get(&id)?.as_ref().ok()?;
    Some(heap.old_max.ok()?.saturating_sub(heap.live.or(heap.old).ok()?))
}

/// Returns [the available memory](crate::model::SystemSample::available) plus what swap adds to it, in bytes, by
/// the [rules of this module](self). Returns `None` if the former is unknown. For a cgroup that stands in for the
/// machine, returns what its limits and the host leave.
pub fn machine_headroom(snapshot: &Snapshot) -> Option<u64> {
    if let Some(scope) = &snapshot.system.scope {
        return scope.left.ok();
    }
    let added = swap_adds(&snapshot.system, &snapshot.accounting).ok()?;
    Some(snapshot.system.available().ok()?.saturating_add(added))
}

/// Returns the memory that programs freed lazily (`MADV_FREE`) and that they use again, in bytes. Such pages stay on the lists of files until
/// reclaim finds them, so that `MemAvailable` contains them. Returns 0 if it is not known, and for a cgroup that stands in for the machine.
pub fn lazily_freed_in_use(snapshot: &Snapshot) -> u64 {
    let system = &snapshot.system;
    let listed = less(system.lru_file, file_pages(system)).ok();
    let lazy = listed.filter(|_| system.scope.is_none()).unwrap_or(0);
    if lazy == 0 {
        return 0;
    }
    let own = snapshot.rows().iter().filter(|sample| sample.shares_mm.is_none());
    let unused = own.filter_map(|sample| Some(sample.memory().ok()?.lazy_alone()));
    lazy.saturating_sub(unused.fold(0, u64::saturating_add))
}

/// Returns the memory that the swap of a machine adds to the available memory, in bytes.
pub fn swap_adds(system: &SystemSample, inputs: &AccountingInputs) -> Reading<u64> {
    let available = system.available()?;
    let free = system.swap_free.unwrap_or(0);
    let on_zram = match &system.swaps {
        Ok(areas) => {
            let areas = areas.iter().filter(|area| area.on_zram());
            let left = areas.map(|area| area.size.saturating_sub(area.used));
            left.fold(0, u64::saturating_add).min(free)
        }
        Err(_) if system.zram.iter().any(|device| device.is_swap) => free,
        Err(_) => 0,
    };
    let added = zram_adds(system, available, on_zram).saturating_add(disk_adds(system, inputs, free - on_zram));
    Ok(added.saturating_add(system.swap_cached.unwrap_or(0)))
}

/// Returns the memory that `free` bytes of swap on zram add.
fn zram_adds(system: &SystemSample, available: u64, free: u64) -> u64 {
    let devices = || system.zram.iter().filter(|device| device.is_swap);
    let sum = |bytes: fn(&Zram) -> u64| devices().map(bytes).fold(0, u64::saturating_add);
    let used = sum(|device| device.compressed);
    let ratio = ratio(sum(|device| device.stored), used);
    // A device without a limit may use all available memory.
    let limits: Option<u64> = devices().map(|device| device.limit).sum();
    let limits = limits.filter(|_| devices().next().is_some());
    let storable = limits.map_or(f64::MAX, |limit| limit.saturating_sub(used) as f64 * ratio);
    let stored = (free as f64).min(storable);
    let anonymous = system.anon_pages.unwrap_or(u64::MAX);
    let swappable = available.saturating_add(anonymous) as f64;
    (stored * (1.0 - 1.0 / ratio)).min(swappable * (ratio - 1.0)) as u64
}

/// Returns the memory that `free` bytes of swap on disks add. Pages may be compressed in RAM first.
fn disk_adds(system: &SystemSample, inputs: &AccountingInputs, free: u64) -> u64 {
    let pool = system.zswap.unwrap_or(0);
    let is_on = inputs.zswap_on.unwrap_or(pool > 0);
    let limit = zswap_limit(system, inputs.zswap_percent.or(Ok(ZSWAP_PERCENT)));
    let (true, Ok(most)) = (is_on, limit) else {
        return free;
    };
    let ratio = ratio(system.zswapped.unwrap_or(0), pool);
    free - most.saturating_sub(pool).min((free as f64 / ratio) as u64)
}

/// Returns the compression ratio expected for further memory.
fn ratio(stored: u64, used: u64) -> f64 {
    if stored < MIN_STORED || used == 0 {
        return CAUTIOUS_RATIO;
    }
    (stored as f64 / used as f64).clamp(1.0, MAX_RATIO)
}

/// The memory that a limit leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The limit is a soft one, `memory.high`.
    pub is_soft: bool,
    /// Memory in use that cannot be reclaimed, and memory swapped out, in bytes.
    pub used: u64,
    /// Bytes that may still be used, including swap that may be used.
    pub left: u64,
    /// The limits on memory and on swap.
    pub ceilings: [u64; 2],
}

/// Returns the rooms of the cgroups with a limit of their own that is lower than their ancestors', by path. Limits are known
/// only of [the cgroups of the snapshot](Snapshot::cgroups). A limit that covers everything shown is the machine's.
pub fn rooms(snapshot: &Snapshot) -> BTreeMap<Arc<[u8]>, Room> {
    let ceiling = |path: &[u8]| snapshot.cgroups.get(path)?.ceiling();
    let scope = snapshot.system.scope.as_ref();
    let mut limited: Vec<_> = snapshot
        .cgroups
        .iter()
        .filter(|(path, _)| path.len() > 1 && scope.is_none_or(|scope| !is_within(&scope.path, path)))
        .filter(|(path, figures)| {
            figures
                .ceiling()
                .is_some_and(|own| parent(path).and_then(ceiling) != Some(own))
        })
        .map(|(path, figures)| (path, figures, 0))
        .collect();
    // Sum over the processes only if a cgroup does not say what is reclaimable. There are few cgroups, and all facts of a
    // cgroup's processes share the allocation of its path.
    if limited.iter().any(|(_, figures, _)| figures.reclaimable.is_err()) {
        let mut taken: HashMap<&[u8], u64> = HashMap::new();
        for sample in snapshot.rows().iter().filter(|sample| sample.shares_mm.is_none()) {
            if let (Ok(path), Some(bytes)) = (&sample.facts.cgroup, unreclaimable_of(sample)) {
                *taken.entry(path).or_default() += bytes;
            }
        }
        let key = RandomState::new();
        let numbered = limited.iter().enumerate();
        let numbers: HashMap<u64, usize> = numbered
            .filter_map(|(number, (path, ..))| Some((digests(&key, path).last()?, number)))
            .collect();
        for (path, bytes) in taken {
            for number in digests(&key, path).filter_map(|digest| numbers.get(&digest)) {
                limited[*number].2 += bytes;
            }
        }
    }
    let rooms = limited.into_iter();
    rooms
        .filter_map(|(path, figures, sum)| Some((Arc::clone(path), room_in(&snapshot.system, figures, || sum)?)))
        .collect()
}

/// Returns the room that the limits of a cgroup leave, if it has one. `processes` returns the unreclaimable memory of its
/// processes, which counts up to the cgroup's charge if the cgroup does not report its reclaimable memory.
fn room_in(system: &SystemSample, figures: &CgroupFigures, processes: impl FnOnce() -> u64) -> Option<Room> {
    let (ceiling, is_soft) = figures.ceiling()?;
    let stays = match (figures.current, figures.reclaimable) {
        (Ok(current), Ok(reclaimable)) => current.saturating_sub(reclaimable),
        (current, _) => processes().min(current.unwrap_or(u64::MAX)),
    };
    let swap = figures.swap.unwrap_or(0);
    let free = system.swap_free.unwrap_or(0);
    let swap_left = match figures.swap_limit {
        Ok(Some(limit)) => limit.saturating_sub(swap).min(free),
        Ok(None) => free,
        Err(_) => 0,
    };
    Some(Room {
        is_soft,
        used: stays.saturating_add(swap),
        ceilings: [ceiling, figures.swap_limit.map_or(0, |limit| limit.unwrap_or(u64::MAX))],
        left: ceiling.saturating_sub(stays).saturating_add(swap_left),
    })
}

/// Returns the unreclaimable memory of the processes in a cgroup and its descendants, in bytes.
fn unreclaimable(snapshot: &Snapshot, path: &[u8]) -> u64 {
    let within = |sample: &&ProcessSample| sample.facts.cgroup.as_ref().is_ok_and(|own| is_within(own, path));
    let samples = snapshot
        .rows()
        .iter()
        .filter(within)
        .filter(|sample| sample.shares_mm.is_none());
    samples.filter_map(unreclaimable_of).fold(0, u64::saturating_add)
}

/// Returns the unreclaimable memory of a process in bytes, or its PSS if the kinds are unknown.
fn unreclaimable_of(sample: &ProcessSample) -> Option<u64> {
    let memory = sample.memory().ok()?;
    Some(match (memory.used_anon(), memory.pss_shmem) {
        (Ok(anon), Ok(shmem)) => anon.saturating_add(shmem),
        _ => memory.pss,
    })
}

/// Returns true if `path` is the cgroup `above` or a descendant.
pub fn is_within(path: &[u8], above: &[u8]) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || above.ends_with(b"/"))
}

/// Returns the digests of the ancestors of a cgroup, the outermost first, and of itself. Users choose the lengths and the number of the
/// paths of cgroups, so that each is read only once.
pub fn digests<'a>(key: &RandomState, path: &'a [u8]) -> impl Iterator<Item = u64> + use<'a> {
    let mut hasher = key.build_hasher();
    path.split(|byte| *byte == b'/').skip(1).map(move |name| {
        hasher.write(name);
        hasher.write_u8(b'/');
        hasher.finish()
    })
}

/// Returns a cgroup and its ancestors, except the root, which has no limit.
pub fn with_ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path).filter(|path| path.len() > 1), |path| parent(path))
}

/// Returns the innermost cgroup that holds both, unless that is the root.
pub fn common_cgroup<'a>(one: &'a [u8], other: &[u8]) -> Option<&'a [u8]> {
    with_ancestors(one).find(|above| is_within(other, above))
}

/// Returns the parent of a cgroup unless that is the root.
fn parent(path: &[u8]) -> Option<&[u8]> {
    let slash = path.iter().rposition(|b| *b == b'/')?;
    (slash > 0).then(|| &path[..slash])
}
