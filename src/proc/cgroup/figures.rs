//! What the memory controller says of a cgroup.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;

use super::mounts::{self, Mounts, Version};
use crate::model::{CgroupFigures, Missing, Reading};
use crate::proc::files::{self, Roots};
use crate::proc::parse::number;

/// The most of a `mountinfo` that is read: some ten thousand mounts.
const MOUNTINFO: usize = 2 << 20;
/// From here on a v1 limit is none: `PAGE_COUNTER_MAX`, the greatest multiple of the page that fits 63 bits,
/// for pages of up to 64 KiB.
const NO_LIMIT: u64 = 0x7fff_ffff_ffff_0000;

/// Where the memory controller is mounted, as `self` sees it. In a tree that is not this machine's only
/// what lies in its own sysfs counts.
pub fn mounts(roots: &Roots) -> Reading<Mounts> {
    let path = roots.proc.join("self/mountinfo");
    let mut buf = vec![0; 64 << 10];
    let fd = files::open(path.as_os_str().as_encoded_bytes()).map_err(absent)?;
    let mut len = 0;
    loop {
        len += files::read_all(&fd, &mut buf[len..]).map_err(absent)?;
        if len < buf.len() || len >= MOUNTINFO {
            break;
        }
        buf.resize(len * 2, 0);
    }
    let mounts = mounts::parse(&buf[..len])?;
    if roots.is_own() {
        return Ok(mounts);
    }
    let sys = roots.sys.as_deref().map(Path::as_os_str).ok_or(Missing::Unsupported)?;
    Ok(mounts.within(sys.as_encoded_bytes()))
}

/// The figures of the cgroup at `path` alone, its limits being its own.
pub fn read(mounts: &Mounts, path: &[u8]) -> CgroupFigures {
    let directory = mounts.directory(path).ok_or(Missing::Unsupported);
    let opened = directory.and_then(|d| files::open_dir(&d).map_err(absent));
    let dir = match opened {
        Ok(dir) => dir,
        Err(why) => return CgroupFigures::missing(why),
    };
    let figure = |name| file(&dir, name, figure);
    let limit = |name| match file(&dir, name, limit) {
        // A cgroup without the file, such as the root, sets no limit of its own.
        Err(Missing::Unsupported) => Ok(None),
        other => other,
    };
    match mounts.version {
        Version::V2 => CgroupFigures {
            current: figure(b"memory.current"),
            swap: figure(b"memory.swap.current"),
            limit: limit(b"memory.max"),
            swap_limit: limit(b"memory.swap.max"),
        },
        Version::V1 => {
            let current = figure(b"memory.usage_in_bytes");
            let both = figure(b"memory.memsw.usage_in_bytes");
            let limit_of_both = limit(b"memory.memsw.limit_in_bytes");
            let limit = limit(b"memory.limit_in_bytes");
            CgroupFigures {
                current,
                swap: both.and_then(|both| Ok(both.saturating_sub(current?))),
                limit,
                swap_limit: swap_limit(limit_of_both, limit),
            }
        }
    }
}

/// The one value of a file.
fn file<T>(dir: impl AsFd, name: &[u8], parse: impl Fn(&[u8]) -> Reading<T>) -> Reading<T> {
    let mut buf = [0; 64];
    let fd = files::open_at(dir, name).map_err(absent)?;
    let len = files::read_record(fd, &mut buf).map_err(files::reason)?;
    parse(buf[..len].trim_ascii())
}

/// The figures of that cgroup, of the one at `path` and those above it, which has the least limit; of the one at
/// `path` where none has any.
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

/// A figure as the kernel writes it.
pub fn figure(text: &[u8]) -> Reading<u64> {
    number(text).ok_or(Missing::Malformed)
}

/// A limit as the kernel writes it: a number, or `max` (v2) or one too great to be one (v1) for none.
pub fn limit(text: &[u8]) -> Reading<Option<u64>> {
    if text == b"max" {
        return Ok(None);
    }
    Ok(Some(figure(text)?).filter(|n| *n < NO_LIMIT))
}

/// The limit on swap that a v1 limit on memory and swap together leaves.
pub fn swap_limit(both: Reading<Option<u64>>, memory: Reading<Option<u64>>) -> Reading<Option<u64>> {
    Ok(match (both?, memory?) {
        (Some(both), memory) => Some(both.saturating_sub(memory.unwrap_or(0))),
        (None, _) => None,
    })
}

fn absent(errno: Errno) -> Missing {
    match errno {
        Errno::NOENT | Errno::NOTDIR => Missing::Unsupported,
        other => files::reason(other),
    }
}
