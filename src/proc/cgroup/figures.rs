//! The memory controller's figures of a cgroup.

use std::os::fd::OwnedFd;
use std::path::Path;

use super::mounts::{self, Mounts, Version};
use crate::model::cgroup::cgroup_figures;
use crate::model::{CgroupFigures, Missing, Reading};
use crate::proc::files::{self, Roots};
use crate::proc::parse::number;

/// A v1 limit from here on means no limit: `PAGE_COUNTER_MAX`, the greatest multiple of a page that fits
/// into 63 bits, for pages of up to 64 KiB.
const NO_LIMIT: u64 = 0x7fff_ffff_ffff_0000;

/// Reads where the memory controller is mounted, as `self` sees it. In a captured tree only mounts within its
/// own sysfs count.
pub fn mounts(roots: &Roots) -> Reading<Mounts> {
    let path = roots.proc.join("self/mountinfo");
    let bytes = files::slurp_grown(path.as_os_str().as_encoded_bytes(), 64 << 10, files::MAX_MOUNTINFO);
    let mounts = mounts::parse(&bytes.map_err(files::optional_reason)?)?;
    if roots.is_own() {
        return Ok(mounts);
    }
    let sys = roots.sys.as_deref().map(Path::as_os_str).ok_or(Missing::Unsupported)?;
    Ok(mounts.within(sys.as_encoded_bytes()))
}

macro_rules! define_reading {
    ($($(#[$doc:meta])* $figure:ident: $type:ty = $file:literal,)*) => {
        /// Reads the figures of a cgroup of the unified hierarchy.
        fn read_v2(dir: &OwnedFd) -> CgroupFigures {
            CgroupFigures {
                $($figure: <$type as Value>::read(dir, $file),)*
            }
        }
    };
}

cgroup_figures!(define_reading);

fn read_v1(dir: &OwnedFd) -> CgroupFigures {
    let current = u64::read(dir, b"memory.usage_in_bytes");
    let both = u64::read(dir, b"memory.memsw.usage_in_bytes");
    let limit = Option::read(dir, b"memory.limit_in_bytes");
    let limit_of_both = Option::read(dir, b"memory.memsw.limit_in_bytes");
    CgroupFigures {
        current,
        swap: both.and_then(|both| Ok(both.saturating_sub(current?))),
        limit,
        swap_limit: swap_limit(limit_of_both, limit),
    }
}

/// Reads the figures of the cgroup at `path`, with its own limits only.
pub fn read(mounts: &Mounts, path: &[u8]) -> CgroupFigures {
    let directory = mounts.directory(path).ok_or(Missing::Unsupported);
    match directory.and_then(|d| files::open_dir(&d).map_err(files::optional_reason)) {
        Ok(dir) if mounts.version == Version::V1 => read_v1(&dir),
        Ok(dir) => read_v2(&dir),
        Err(why) => CgroupFigures::missing(why),
    }
}

/// A value that a file of the memory controller holds.
trait Value: Sized {
    /// Reads the file `name` in the cgroup's directory.
    fn read(dir: &OwnedFd, name: &[u8]) -> Reading<Self>;
}

impl Value for u64 {
    fn read(dir: &OwnedFd, name: &[u8]) -> Reading<Self> {
        read_file(dir, name, figure)
    }
}

impl Value for Option<u64> {
    fn read(dir: &OwnedFd, name: &[u8]) -> Reading<Self> {
        match read_file(dir, name, limit) {
            // A cgroup without the file, such as the root, sets no limit of its own.
            Err(Missing::Unsupported) => Ok(None),
            other => other,
        }
    }
}

/// Reads the one value of a file.
fn read_file<T>(dir: &OwnedFd, name: &[u8], parse: fn(&[u8]) -> Reading<T>) -> Reading<T> {
    let mut buf = [0; 64];
    let fd = files::open_at(dir, name).map_err(files::optional_reason)?;
    let len = files::read_record(fd, &mut buf).map_err(files::reason)?;
    parse(buf[..len].trim_ascii())
}

/// Reads the figures of the cgroup with the lowest limit, among the one at `path` and those above it; of the one
/// at `path` if none has a limit.
pub fn tightest(mounts: &Mounts, path: &[u8]) -> CgroupFigures {
    let mut found = read(mounts, path);
    let mut at = path;
    while let Some(up) = mounts::above(at).filter(|up| mounts.directory(up).is_some()) {
        at = up;
        let above = read(mounts, at);
        let less = match (above.limit, found.limit) {
            (Ok(Some(above)), Ok(Some(least))) => above < least,
            (Ok(Some(_)), _) => true,
            _ => false,
        };
        if less {
            found = above;
        }
    }
    found
}

/// Parses a figure.
pub fn figure(text: &[u8]) -> Reading<u64> {
    number(text).ok_or(Missing::Malformed)
}

/// Parses a limit: a number; for no limit `max` (v2) or a number too great to be one (v1).
pub fn limit(text: &[u8]) -> Reading<Option<u64>> {
    if text == b"max" {
        return Ok(None);
    }
    Ok(Some(figure(text)?).filter(|n| *n < NO_LIMIT))
}

/// Returns the limit on swap that a v1 limit on memory and swap together leaves.
pub fn swap_limit(both: Reading<Option<u64>>, memory: Reading<Option<u64>>) -> Reading<Option<u64>> {
    Ok(match (both?, memory?) {
        (Some(both), memory) => Some(both.saturating_sub(memory.unwrap_or(0))),
        (None, _) => None,
    })
}
