//! Reads the memory controller's figures of a cgroup.

use std::borrow::Cow;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use super::{Mounts, Version, above, charged, each_id};
use crate::model::cgroup::Count;
use crate::model::{CgroupFigures, Missing, Reading};
use crate::proc::files::{self, Roots};
use crate::proc::parse::{number, words, words_after};

/// A v1 limit of at least this value means "no limit". It is `PAGE_COUNTER_MAX`, the largest multiple of a page that
/// fits into 63 bits, for pages of up to 64 KiB.
pub(super) const NO_LIMIT: u64 = 0x7fff_ffff_ffff_0000;
/// `memory.stat` has about 2 KiB.
pub(super) const MAX_STAT: usize = 16 << 10;

/// Reads the mount points of the memory controller, as `self` sees them. In a captured tree, only mounts within its own
/// sysfs count. If only cgroups above zmtop's cgroup namespace are mounted (`unshare --cgroup`), searches them for the
/// namespace's root, which contains zmtop.
pub fn mounts(roots: &Roots) -> Reading<Mounts> {
    let mounts = super::mounts(&files::mountinfo(roots).map_err(files::optional_reason)?)?;
    if roots.is_own() {
        return Ok(resolved(mounts));
    }
    let sys = roots.sys.as_deref().map(Path::as_os_str).ok_or(Missing::Unsupported)?;
    Ok(mounts.within(sys.as_encoded_bytes()))
}

/// Finds the root of zmtop's own cgroup namespace by zmtop's pid.
fn resolved(mounts: Mounts) -> Mounts {
    let (version, own) = (mounts.version, std::process::id());
    let mut buf = [0; 4096];
    let path = files::slurp(b"/proc/self/cgroup", &mut buf).map_err(files::reason);
    let Ok(path) = path.and_then(|bytes| charged(bytes, version).map(<[u8]>::to_vec)) else {
        return mounts;
    };
    let children = |directory: &[u8]| {
        let mut names = Vec::new();
        let _ = files::directories(directory, |name| names.push(name.to_vec()));
        names
    };
    mounts.resolved(children, |directory| {
        let file = [directory, path.strip_suffix(b"/").unwrap_or(&path), b"/cgroup.procs"].concat();
        let mut found = false;
        each_id(&file, &mut [0; 4096], |pid| found |= pid == own).is_ok() && found
    })
}

/// Selects the files of a cgroup to read.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The limits.
    pub limits: bool,
    /// Memory and swap; for a cgroup with its own limit, also the figures that show how close the limit is.
    pub usage: bool,
    /// With `usage`, those figures of any cgroup, its peak, and its removed descendants.
    pub details: bool,
}

impl Extent {
    pub const ALL: Self = Self {
        limits: true,
        usage: true,
        details: false,
    };
}

/// Reads the cgroup's own limits into `figures`.
fn read_limits(version: Version, dir: &OwnedFd, figures: &mut CgroupFigures) {
    match version {
        Version::V1 => {
            figures.limit = read_file(dir, b"memory.limit_in_bytes", limit);
            let both = match read_file(dir, b"memory.memsw.limit_in_bytes", limit) {
                // The kernel does not account swap.
                Err(Missing::Unsupported) => Ok(None),
                other => other,
            };
            figures.swap_limit = swap_limit(both, figures.limit);
            figures.high = Ok(None);
        }
        Version::V2 => {
            let read = |name| match read_file(dir, name, limit) {
                // Among cgroups with the controller, only the root lacks the file.
                Err(Missing::Unsupported) if has_memory(dir) => Ok(None),
                other => other,
            };
            figures.limit = read(b"memory.max");
            figures.swap_limit = read(b"memory.swap.max");
            figures.high = read(b"memory.high");
        }
    }
}

/// Reads memory and swap. Swap is not read again if the memory is the same to the byte: swapping changes both.
fn read_usage(version: Version, dir: &OwnedFd, figures: &mut CgroupFigures) {
    let file: &[u8] = match version {
        Version::V1 => b"memory.usage_in_bytes",
        Version::V2 => b"memory.current",
    };
    let before = std::mem::replace(&mut figures.current, read_file(dir, file, figure));
    if figures.current.is_ok() && figures.current == before && figures.swap.is_ok() {
        return;
    }
    match version {
        Version::V1 => {
            let both = read_file(dir, b"memory.memsw.usage_in_bytes", figure);
            figures.swap = both.and_then(|both| Ok(both.saturating_sub(figures.current?)));
        }
        Version::V2 => figures.swap = read_file(dir, b"memory.swap.current", figure),
    }
}

/// Returns the name in `memory.stat` of what v2 calls `name`. v1 includes descendants only in the `total_` fields.
pub(super) fn stat_name(version: Version, name: &[u8]) -> Cow<'_, [u8]> {
    let name: &[u8] = match (version, name) {
        (Version::V2, name) | (Version::V1, name @ b"hierarchical_memory_limit") => return name.into(),
        (Version::V1, b"anon") => b"rss",
        (Version::V1, b"anon_thp") => b"rss_huge",
        (Version::V1, b"file") => b"cache",
        (Version::V1, b"file_mapped") => b"mapped_file",
        (Version::V1, b"file_dirty") => b"dirty",
        (Version::V1, b"file_writeback") => b"writeback",
        (Version::V1, other) => other,
    };
    [b"total_", name].concat().into()
}

/// Returns the memory that reclaim frees first, by the fields of `memory.stat`: file pages on the reclaim lists, and reclaimable
/// slab, which v1 does not have. Lazily freed memory is on these lists, too, but does not count: it stays there when it is written again.
pub(super) fn reclaimable(get: impl Fn(&[u8]) -> Reading<u64>) -> Reading<u64> {
    let lists = get(b"active_file")?.saturating_add(get(b"inactive_file")?);
    let lists = lists.min(files(&get).unwrap_or(u64::MAX));
    Ok(lists.saturating_add(get(b"slab_reclaimable").unwrap_or(0)))
}

/// Returns the cache of files, without shared memory and tmpfs.
fn files(get: impl Fn(&[u8]) -> Reading<u64>) -> Reading<u64> {
    let all = get(b"file")?.saturating_sub(get(b"shmem")?);
    Ok(all.saturating_sub(get(b"swapcached").unwrap_or(0)))
}

/// Returns the kernel memory that is in no process and that reclaim cannot free.
fn kernel(get: impl Fn(&[u8]) -> Reading<u64>) -> Reading<u64> {
    let (kernel, or_none) = (get(b"kernel")?, |name: &[u8]| get(name).unwrap_or(0));
    let others = [&b"pagetables"[..], b"slab_reclaimable", b"zswap"].map(or_none);
    let rest = others.into_iter().fold(kernel, u64::saturating_sub);
    Ok(rest.saturating_add(or_none(b"sock")))
}

/// Returns what is neither anonymous, nor in a file, nor kernel memory, and files that are neither mapped nor on the reclaim lists, such as
/// those of a ramfs. v1 does not know its kernel memory.
fn unmapped(current: Reading<u64>, get: impl Fn(&[u8]) -> Reading<u64>) -> Reading<u64> {
    let or_none = |name: &[u8]| get(name).unwrap_or(0);
    let sum = |names: &[&[u8]]| names.iter().fold(0, |sum: u64, name| sum.saturating_add(or_none(name)));
    let kernel = || sum(&[b"kernel_stack", b"pagetables", b"percpu", b"slab"]);
    let known = [
        get(b"anon")?,
        get(b"file")?,
        get(b"kernel").unwrap_or_else(|_| kernel()),
        or_none(b"sock"),
    ];
    let on_lists = sum(&[b"active_file", b"inactive_file", b"file_mapped"]);
    let pinned = files(&get).map_or(0, |files| files.saturating_sub(on_lists));
    // The swap cache may be among the files.
    let pinned = pinned.min(or_none(b"unevictable"));
    let rest = known.into_iter().fold(current?, u64::saturating_sub);
    Ok(rest.saturating_add(pinned))
}

/// Reads how much of the cgroup's memory can be reclaimed, its events and its pressure.
fn read_nearness(version: Version, dir: &OwnedFd, figures: &mut CgroupFigures) {
    let mut buf = vec![0; MAX_STAT];
    let stat = slurp(dir, b"memory.stat", &mut buf);
    let get = |name: &[u8]| value(stat?, &stat_name(version, name));
    figures.reclaimable = reclaimable(get);
    figures.inactive_file = get(b"inactive_file");
    figures.shmem = get(b"shmem");
    figures.file_mapped = get(b"file_mapped");
    figures.anon = get(b"anon");
    figures.unmapped = unmapped(figures.current, get);
    figures.kernel = kernel(get);
    figures.major_faults = get(b"pgmajfault").map(Count);
    let anon = get(b"workingset_refault_anon");
    let refaults = anon.and_then(|anon| Ok(anon.saturating_add(get(b"workingset_refault_file")?)));
    figures.refaults = refaults.or_else(|_| get(b"workingset_refault")).map(Count);
    let events: &[u8] = match version {
        Version::V1 => b"memory.oom_control",
        Version::V2 => b"memory.events",
    };
    let mut buf = [0; 512];
    let text = slurp(dir, events, &mut buf);
    let event = |name: &[u8]| text.and_then(|text| value(text, name)).map(Count);
    figures.oom_kills = event(b"oom_kill");
    (figures.throttled, figures.limit_hits) = match version {
        Version::V1 => (
            Err(Missing::Unsupported),
            read_file(dir, b"memory.failcnt", figure).map(Count),
        ),
        Version::V2 => (event(b"high"), event(b"max")),
    };
    let stalls = slurp(dir, b"memory.pressure", &mut buf).and_then(stalls);
    figures.stalled_some = stalls.map(|[some, _]| some);
    figures.stalled_full = stalls.map(|[_, full]| full);
}

/// Reads the highest use of the cgroup so far, and how many of its descendants were removed and still hold memory.
fn read_details(version: Version, dir: &OwnedFd, figures: &mut CgroupFigures) {
    let peak: &[u8] = match version {
        Version::V1 => b"memory.max_usage_in_bytes",
        Version::V2 => b"memory.peak",
    };
    figures.peak = read_file(dir, peak, figure);
    figures.dying = read_dying(dir).map(Count);
}

/// In v1 removed cgroups are not counted.
fn read_dying(dir: &OwnedFd) -> Reading<u64> {
    let mut buf = [0; 2048];
    slurp(dir, b"cgroup.stat", &mut buf).and_then(|text| value(text, b"nr_dying_descendants"))
}

/// Reads how many cgroups of the whole hierarchy were removed and still hold memory.
pub fn dying(mounts: &Mounts) -> Reading<u64> {
    let root = mounts.directory(b"/").ok_or(Missing::OutOfView)?;
    read_dying(&open_directory(&root)?)
}

/// Parses the `total` of `some` and of `full` in a `pressure/memory`: how long tasks have waited for memory.
pub(in crate::proc) fn stalls(bytes: &[u8]) -> Reading<[Duration; 2]> {
    let total = |name: &[u8]| {
        let word = words_after(bytes, name)?.find_map(|word| word.strip_prefix(b"total="))?;
        Some(Duration::from_micros(number(word)?))
    };
    match (total(b"some"), total(b"full")) {
        (Some(some), Some(full)) => Ok([some, full]),
        _ => Err(Missing::Malformed),
    }
}

/// Reads the `extent` of the cgroup at `path`, with its own limits only; the rest stays as in `before`. If no path leads to
/// its parent, as at the root of a cgroup namespace, the limits above it count too, as far as they are known.
pub fn read(mounts: &Mounts, path: &[u8], extent: Extent, before: &CgroupFigures) -> CgroupFigures {
    let Some(directory) = mounts.directory(path) else {
        return CgroupFigures::missing(Missing::OutOfView);
    };
    if above(path).is_none_or(|parent| mounts.directory(parent).is_none()) {
        let levels = read_levels(mounts, path);
        let all = levels.into_iter().reduce(|own, above| own.below(&above));
        return all.unwrap_or(CgroupFigures::missing(Missing::OutOfView));
    }
    let dir = match open_directory(&directory) {
        Ok(dir) => dir,
        Err(why) => return CgroupFigures::missing(why),
    };
    let mut figures = *before;
    if extent.limits {
        read_limits(mounts.version, &dir, &mut figures);
    }
    // A limit was just found.
    let is_new = figures.ceiling().is_some() && before.current.is_err();
    if extent.usage || is_new {
        read_usage(mounts.version, &dir, &mut figures);
        let is_wanted = figures.ceiling().is_some() || extent.details;
        let is_unread = matches!(before.reclaimable, Err(Missing::Unlimited | Missing::Pending));
        if figures.is_near_limit() || (is_wanted && (is_unread || figures.current != before.current)) {
            read_nearness(mounts.version, &dir, &mut figures);
        } else if !is_wanted {
            figures = CgroupFigures {
                current: figures.current,
                swap: figures.swap,
                limit: figures.limit,
                swap_limit: figures.swap_limit,
                high: figures.high,
                ..CgroupFigures::missing(Missing::Unlimited)
            };
        }
        if extent.details {
            read_details(mounts.version, &dir, &mut figures);
        }
    }
    figures
}

/// Reads the figures of the cgroup at `path` and of its visible ancestors, innermost first, each with its own limits. The
/// limits of the outermost one include those above it that are not visible.
fn read_levels(mounts: &Mounts, path: &[u8]) -> Vec<CgroupFigures> {
    let directories = mounts.levels(path);
    let read = |directory: &Vec<u8>| read_directory(mounts.version, directory);
    let mut levels: Vec<_> = directories.iter().map(read).collect();
    if let (Some(figures), Some(directory)) = (levels.last_mut(), directories.last()) {
        add_hidden_limits(mounts.version, directory, figures);
    }
    levels
}

/// Adds the limits above the outermost visible cgroup. In v1 its `memory.stat` has the lowest ones. In v2 they are
/// unknown, unless it is the root, which has no file of a limit.
fn add_hidden_limits(version: Version, directory: &[u8], figures: &mut CgroupFigures) {
    let Ok(dir) = open_directory(directory) else { return };
    match version {
        Version::V1 => {
            let mut buf = vec![0; MAX_STAT];
            let stat = slurp(&dir, b"memory.stat", &mut buf).unwrap_or_default();
            let lowest = |key| value(stat, key).map(|bytes| Some(bytes).filter(|bytes| *bytes < NO_LIMIT));
            let (limit, both) = (
                lowest(b"hierarchical_memory_limit"),
                lowest(b"hierarchical_memsw_limit"),
            );
            figures.limit = limit.or(figures.limit);
            figures.swap_limit = swap_limit(both, limit).or(figures.swap_limit);
        }
        Version::V2 => {
            for (limit, file) in [
                (&mut figures.limit, &b"memory.max"[..]),
                (&mut figures.swap_limit, b"memory.swap.max"),
            ] {
                if *limit == Ok(None) && files::open_at(&dir, file).is_ok() {
                    *limit = Err(Missing::OutOfView);
                }
            }
        }
    }
}

/// Parses the value of `key` in a file of lines `key value`.
pub(super) fn value(text: &[u8], key: &[u8]) -> Reading<u64> {
    let mut words = words_after(text, key).ok_or(Missing::Unsupported)?;
    figure(words.next().ok_or(Missing::Malformed)?)
}

/// Reads the memory, swap and own limits of the cgroup in this directory.
fn read_directory(version: Version, directory: &[u8]) -> CgroupFigures {
    open_directory(directory).map_or_else(CgroupFigures::missing, |dir| read_opened(version, &dir))
}

pub(super) fn read_opened(version: Version, dir: &OwnedFd) -> CgroupFigures {
    let mut figures = CgroupFigures::missing(Missing::Unlimited);
    read_limits(version, dir, &mut figures);
    read_usage(version, dir, &mut figures);
    figures
}

/// Opens the directory of a cgroup. If it does not exist, the cgroup is mounted elsewhere or hidden by another mount.
pub(super) fn open_directory(directory: &[u8]) -> Reading<OwnedFd> {
    files::open_dir(directory).map_err(|errno| match files::optional_reason(errno) {
        Missing::Unsupported => Missing::OutOfView,
        other => other,
    })
}

/// Returns true if a cgroup of the unified hierarchy has the memory controller.
fn has_memory(dir: &OwnedFd) -> bool {
    let mut buf = [0; 256];
    let fd = files::open_at(dir, b"cgroup.controllers");
    fd.and_then(|fd| files::read_record(fd, &mut buf))
        .is_ok_and(|len| words(&buf[..len]).any(|word| word == b"memory"))
}

/// Reads a file that not every kernel has.
pub(super) fn slurp<'a>(dir: &OwnedFd, name: &[u8], buf: &'a mut [u8]) -> Reading<&'a [u8]> {
    let len = files::open_at(dir, name).and_then(|fd| files::read_all(fd, buf));
    Ok(&buf[..len.map_err(files::optional_reason)?])
}

pub(super) fn read_file<T>(dir: &OwnedFd, name: &[u8], parse: fn(&[u8]) -> Reading<T>) -> Reading<T> {
    let mut buf = [0; 64];
    let fd = files::open_at(dir, name).map_err(files::optional_reason)?;
    let len = files::read_record(fd, &mut buf).map_err(files::reason)?;
    parse(buf[..len].trim_ascii())
}

/// Reads the figures of the cgroup with the lowest limit, from the cgroup at `path` up to the root. If none has a
/// limit, returns the figures of the cgroup at `path`.
pub fn tightest(mounts: &Mounts, path: &[u8]) -> CgroupFigures {
    let mut all = read_levels(mounts, path).into_iter();
    let Some(own) = all.next() else {
        return CgroupFigures::missing(Missing::OutOfView);
    };
    all.fold(own, |found, above| {
        let is_less = match (above.limit, found.limit) {
            (Ok(Some(above)), Ok(Some(least))) => above < least,
            // A cgroup without the controller is charged to its parent.
            // Hidden cgroups may have a limit.
            (Ok(Some(_)), _) | (Ok(None), Err(Missing::Unsupported)) | (Err(Missing::OutOfView), Ok(None)) => true,
            _ => false,
        };
        if is_less { above } else { found }
    })
}

pub fn figure(text: &[u8]) -> Reading<u64> {
    number(text).ok_or(Missing::Malformed)
}

/// Parses a limit: a number, or "no limit", which is `max` in v2 and a very large number in v1.
pub fn limit(text: &[u8]) -> Reading<Option<u64>> {
    if text == b"max" {
        return Ok(None);
    }
    Ok(Some(figure(text)?).filter(|n| *n < NO_LIMIT))
}

/// Derives the limit on swap alone from the v1 limit on memory and swap together.
pub fn swap_limit(both: Reading<Option<u64>>, memory: Reading<Option<u64>>) -> Reading<Option<u64>> {
    Ok(match (both?, memory?) {
        (Some(both), memory) => Some(both.saturating_sub(memory.unwrap_or(0))),
        (None, _) => None,
    })
}
