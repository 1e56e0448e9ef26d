//! `/proc/self/mountinfo`: where the cgroups' memory controller is mounted.

use crate::model::{Missing, Reading};
use crate::proc::parse::unescape_octal;

/// A version of the cgroup hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 1: a hierarchy for each controller.
    V1,
    /// Version 2: a single, unified hierarchy.
    V2,
}

/// A mount.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// The cgroup at its root, by its path in `/proc/<pid>/cgroup`.
    root: Vec<u8>,
    /// The mount point.
    point: Vec<u8>,
}

/// The mounts of the memory controller. On a hybrid machine it is in the v1 hierarchy, if that is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounts {
    /// The version of the hierarchy.
    pub version: Version,
    mounts: Vec<Mount>,
}

/// Parses a `mountinfo`; [`Missing::Unsupported`] if it has no usable mount.
///
/// Lines are `id parent major:minor root point options [optional…] - type source super-options`
/// (`Documentation/filesystems/proc.rst`, 3.5).
pub fn parse(mountinfo: &[u8]) -> Reading<Mounts> {
    let (mut v1, mut v2) = (Vec::new(), Vec::new());
    for line in mountinfo.split(|b| *b == b'\n') {
        let mut fields = line.split(|b| *b == b' ');
        let (Some(root), Some(point)) = (fields.nth(3), fields.next()) else {
            continue;
        };
        let mut kind = fields.skip_while(|f| *f != b"-").skip(1);
        let list = match (kind.next(), kind.nth(1)) {
            (Some(b"cgroup2"), _) => &mut v2,
            (Some(b"cgroup"), Some(options)) if options.split(|b| *b == b',').any(|o| o == b"memory") => &mut v1,
            _ => continue,
        };
        let mount = Mount {
            root: unescape_octal(root),
            point: unescape_octal(point),
        };
        // No path leads into a mount from outside the cgroup namespace, `/../…`.
        if is_plain(&mount.root) {
            list.push(mount);
        }
    }
    let (version, mounts) = if v1.is_empty() {
        (Version::V2, v2)
    } else {
        (Version::V1, v1)
    };
    if mounts.is_empty() {
        return Err(Missing::Unsupported);
    }
    Ok(Mounts { version, mounts })
}

impl Mounts {
    /// Returns the directory of the cgroup at `path`; `None` if it is outside all mounts.
    pub fn directory(&self, path: &[u8]) -> Option<Vec<u8>> {
        if !is_plain(path) {
            return None;
        }
        self.mounts.iter().find_map(|mount| {
            let below = below(path, &mount.root)?;
            let mut directory = mount.point.clone();
            directory.extend_from_slice(below);
            Some(directory)
        })
    }

    /// Returns the mounts in a captured sysfs, whose tree is at `sys`.
    #[must_use]
    pub fn within(&self, sys: &[u8]) -> Self {
        let moved = |mount: &Mount| {
            let rest = below(&mount.point, b"/sys")?;
            Some(Mount {
                root: mount.root.clone(),
                point: [sys, rest].concat(),
            })
        };
        Self {
            version: self.version,
            mounts: self.mounts.iter().filter_map(moved).collect(),
        }
    }
}

/// Returns the parent of the cgroup at `path`; `None` for `/`.
pub fn above(path: &[u8]) -> Option<&[u8]> {
    let at = path.iter().rposition(|b| *b == b'/')?;
    match (at, path.len()) {
        (0, 1) => None,
        (0, _) => Some(&path[..1]),
        _ => Some(&path[..at]),
    }
}

/// Returns the part of `path` below `root`: nothing, or a path that begins with a slash.
fn below<'a>(path: &'a [u8], root: &[u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(root.strip_suffix(b"/").unwrap_or(root))?;
    match rest {
        [] | b"/" => Some(b""),
        [b'/', ..] => Some(rest),
        _ => None,
    }
}

/// Returns true for an absolute path without `..`.
fn is_plain(path: &[u8]) -> bool {
    path.starts_with(b"/") && !path.split(|b| *b == b'/').any(|name| name == b"..")
}
