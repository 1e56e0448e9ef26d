//! File systems in memory: where they are mounted, and how much they hold.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, fstat, fstatfs, makedev};
use rustix::io::Errno;

use crate::model::{Missing, Reading};
use crate::proc::files::{self, Roots};
use crate::proc::parse::{number, unescape_octal};

/// File systems that are looked at: more are no list that anybody reads.
const MAX_FILE_SYSTEMS: usize = 1000;
/// Mount points of one that are tried: a hostile namespace may have it in many thousands of places.
const MAX_POINTS: usize = 32;

/// A file system in memory, with the places where it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFs {
    /// Its device number.
    pub device: u64,
    /// `tmpfs` or `devtmpfs`.
    pub kind: Box<str>,
    /// The mount points, raw, in the order of mounting. Never empty.
    pub points: Vec<Box<[u8]>>,
}

/// The bytes that a file system holds, and the limit of its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The mount point by which it was reached.
    pub path: Box<[u8]>,
    /// Bytes that its files have.
    pub used: Reading<u64>,
    /// The limit of its size.
    pub size: Reading<u64>,
}

/// Parses a `mountinfo` into the file systems in memory, each once.
///
/// Lines are `id parent major:minor root point options [optional…] - type source super-options`
/// (`Documentation/filesystems/proc.rst`, 3.5). `ramfs` is not among them, as it tells no size.
pub fn parse(mountinfo: &[u8]) -> Vec<MemoryFs> {
    let mut all: Vec<MemoryFs> = Vec::new();
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    for line in mountinfo.split(|b| *b == b'\n') {
        let Some((device, point, kind)) = mount(line) else {
            continue;
        };
        let place = match places.get(&device) {
            Some(place) => *place,
            None if all.len() < MAX_FILE_SYSTEMS => {
                places.insert(device, all.len());
                all.push(MemoryFs {
                    device,
                    kind: kind.into(),
                    points: Vec::new(),
                });
                all.len() - 1
            }
            None => continue,
        };
        if all[place].points.len() < MAX_POINTS {
            all[place].points.push(point);
        }
    }
    all
}

/// Parses the line of one in memory: its device, its mount point and its kind.
fn mount(line: &[u8]) -> Option<(u64, Box<[u8]>, &'static str)> {
    let mut fields = line.split(|b| *b == b' ');
    let (device, _, point) = (fields.nth(2)?, fields.next()?, fields.next()?);
    let kind = match fields.skip_while(|f| *f != b"-").nth(1)? {
        b"tmpfs" => "tmpfs",
        b"devtmpfs" => "devtmpfs",
        _ => return None,
    };
    let colon = device.iter().position(|b| *b == b':')?;
    let part = |digits| u32::try_from(number(digits)?).ok();
    let device = makedev(part(&device[..colon])?, part(&device[colon + 1..])?);
    Some((device, unescape_octal(point).into(), kind))
}

/// Reads where they are mounted, as `self` sees it.
pub fn list(roots: &Roots) -> Reading<Vec<MemoryFs>> {
    let path = roots.proc.join("self/mountinfo");
    let bytes = files::slurp_grown(path.as_os_str().as_encoded_bytes(), 64 << 10, files::MAX_MOUNTINFO);
    bytes.map(|bytes| parse(&bytes)).map_err(files::optional_reason)
}

/// Reads how much a file system holds, at the first of its mount points that no other mount hides.
///
/// Paths are those below `/proc/self/root`, as `mountinfo` has them.
pub fn held(fs: &MemoryFs, roots: &Roots) -> Held {
    let root = roots.proc.join("self/root");
    let mut why = Missing::Unsupported;
    for point in &fs.points {
        match at(&root, point, fs.device) {
            Ok(Some(held)) => return held,
            // Another mount lies over it, or it is gone.
            Ok(None) | Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(errno) => why = files::reason(errno),
        }
    }
    Held {
        path: fs.points.first().cloned().unwrap_or_default(),
        used: Err(why),
        size: Err(why),
    }
}

/// Returns what the file system of that device holds, if it is the one found at a mount point.
fn at(root: &Path, point: &[u8], device: u64) -> Result<Option<Held>, Errno> {
    let path = root.join(OsStr::from_bytes(point.strip_prefix(b"/").unwrap_or(point)));
    // Opening a directory only as a path mounts nothing that is mounted on demand.
    let fd = rustix::fs::open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    if fstat(&fd)?.st_dev != device {
        return Ok(None);
    }
    let stat = fstatfs(&fd)?;
    let unit = u64::try_from(stat.f_bsize).unwrap_or(0);
    let bytes = |blocks: u64| match stat.f_blocks {
        // Without a limit it does not count its blocks.
        0 => Err(Missing::Unsupported),
        _ => blocks.checked_mul(unit).ok_or(Missing::Malformed),
    };
    Ok(Some(Held {
        path: point.into(),
        used: bytes(stat.f_blocks.saturating_sub(stat.f_bfree)),
        size: bytes(stat.f_blocks),
    }))
}
