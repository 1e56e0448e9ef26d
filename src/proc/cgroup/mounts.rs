//! `/proc/self/mountinfo`: where the cgroups' memory controller is mounted.

use crate::model::{Missing, Reading};

/// Which of the two kinds of hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy a controller.
    V1,
    /// One for all.
    V2,
}

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// Which cgroup is at its top, as `/proc/<pid>/cgroup` calls it.
    root: Vec<u8>,
    /// Where it is.
    point: Vec<u8>,
}

/// Where the figures of memory are. Of two kinds of hierarchy (hybrid) the memory controller is in the v1
/// one where that is mounted at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounts {
    /// Which kind.
    pub version: Version,
    mounts: Vec<Mount>,
}

/// The mounts in the bytes of a `mountinfo`; [`Missing::Unsupported`] where there is none to be used.
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
            root: unescape(root),
            point: unescape(point),
        };
        // One that lies outside the cgroup namespace, `/../…`, has no path that leads into it.
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
    /// The directory of the cgroup at `path`; `None` where it lies outside everything mounted here.
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

    /// The same mounts below another root: only those in sysfs, whose tree is at `sys`.
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

/// The cgroup above that at `path`; none above `/`.
pub fn above(path: &[u8]) -> Option<&[u8]> {
    let at = path.iter().rposition(|b| *b == b'/')?;
    match (at, path.len()) {
        (0, 1) => None,
        (0, _) => Some(&path[..1]),
        _ => Some(&path[..at]),
    }
}

/// What of `path` is below `root`: nothing, or a path that begins with a slash.
fn below<'a>(path: &'a [u8], root: &[u8]) -> Option<&'a [u8]> {
    let rest = path.strip_prefix(root.strip_suffix(b"/").unwrap_or(root))?;
    match rest {
        [] | b"/" => Some(b""),
        [b'/', ..] => Some(rest),
        _ => None,
    }
}

/// An absolute path that climbs nowhere.
fn is_plain(path: &[u8]) -> bool {
    path.starts_with(b"/") && !path.split(|b| *b == b'/').any(|name| name == b"..")
}

/// Blanks, newlines and backslashes of a path are written as `\` and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        rest = after;
        let digits = after.get(..3).filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        match digits {
            Some(&[a, b, c]) if *first == b'\\' && a <= b'3' => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = &after[3..];
            }
            _ => out.push(*first),
        }
    }
    out
}
