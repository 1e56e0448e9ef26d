//! The cgroup of a process, where cgroups are mounted, and the processes in one.

pub mod container;
pub mod figures;
pub mod scope;

use std::borrow::Cow;
use std::collections::HashMap;

use container::ContainerInPath;
use rustix::io::Errno;

use super::files::{self, Roots};
use super::parse::{MountLine, mount_lines, unescape_octal};
use super::pids::{self, PidList};
use crate::model::{Missing, Reading, unit};

/// The cgroup of a process. The fields borrow raw bytes, since cgroup names may hold anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CgroupPath<'a> {
    /// The path in the memory hierarchy (v1), or in the unified one (v2).
    pub path: &'a [u8],
    /// The systemd unit: the outermost service, scope or the like, or else a slice. The name of one that a user or a container chose
    /// begins with that: `user@1000/ssh.service`. It is not the system's of the same name.
    pub unit: Option<Cow<'a, [u8]>>,
    pub container: Option<ContainerInPath<'a>>,
}

/// Parses a `/proc/<pid>/cgroup`, whose lines are `number:controllers:path`.
///
/// If the machine has both hierarchies, the path is the one under the memory controller, which memory is charged to,
/// unless that is the root. The unit is the most reliable one of all hierarchies, since systemd may keep it only in its own.
pub fn parse(bytes: &[u8]) -> Reading<CgroupPath<'_>> {
    let (mut memory, mut unified, mut systemd) = (None, None, None);
    for (controllers, path) in hierarchies(bytes) {
        if controllers.is_empty() {
            unified = Some(path);
        } else if controllers == b"name=systemd" {
            systemd = Some(path);
        } else if has_memory(controllers) {
            memory = Some(path);
        }
    }
    let path = match (memory, unified) {
        (Some(memory), Some(unified)) if memory == b"/" => unified,
        (Some(memory), _) => memory,
        (None, Some(unified)) => unified,
        (None, None) => systemd.ok_or(Missing::Malformed)?,
    };
    let all = || [Some(path), unified, systemd].into_iter().flatten();
    Ok(CgroupPath {
        path,
        unit: all()
            .filter_map(unit::of_path)
            .min_by_key(|(origin, _)| *origin)
            .map(|(_, name)| name),
        container: all().find_map(container::find),
    })
}

/// Returns the path in the hierarchy of that version that has the memory controller.
pub fn charged(bytes: &[u8], version: Version) -> Reading<&[u8]> {
    let is_charged = |controllers: &[u8]| match version {
        Version::V1 => has_memory(controllers),
        Version::V2 => controllers.is_empty(),
    };
    let found = hierarchies(bytes).find(|(controllers, _)| is_charged(controllers));
    found.map(|(_, path)| path).ok_or(Missing::Unsupported)
}

/// Returns the controllers and the path in each line.
fn hierarchies(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    bytes.split(|b| *b == b'\n').filter_map(|line| {
        let mut parts = line.splitn(3, |b| *b == b':').skip(1);
        Some((parts.next()?, parts.next()?))
    })
}

fn has_memory(controllers: &[u8]) -> bool {
    controllers.split(|b| *b == b',').any(|name| name == b"memory")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy for each controller.
    V1,
    /// A single, unified hierarchy.
    V2,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    /// The path, as in `/proc/<pid>/cgroup`, of the cgroup at its root.
    root: Vec<u8>,
    point: Vec<u8>,
}

/// The mounts of the memory controller. A hybrid machine has it in the v1 hierarchy, if that is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounts {
    pub version: Version,
    usable: Vec<Mount>,
    /// Mount points of cgroups above the root of the cgroup namespace, with the number of levels between them.
    outer: Vec<(usize, Vec<u8>)>,
    /// The directories of the cgroups above the namespace's root, innermost first; empty if they are not visible.
    pub above: Vec<Vec<u8>>,
}

/// Parses a `mountinfo`. Mounts that others hide do not count. Returns [`Missing::Unsupported`] if it has no mount of the
/// memory controller, and [`Missing::OutOfView`] if all such mounts are hidden or of cgroups outside the cgroup namespace.
pub fn mounts(mountinfo: &[u8]) -> Reading<Mounts> {
    let none = |version| Mounts {
        version,
        usable: Vec::new(),
        outer: Vec::new(),
        above: Vec::new(),
    };
    let (mut v1, mut v2) = (none(Version::V1), none(Version::V2));
    let (mut has_v1, mut has_v2) = (false, false);
    let table = MountTable::new(mountinfo);
    for (at, line) in table.lines.iter().enumerate() {
        let (mounts, is_mounted) = match line.kind {
            b"cgroup2" => (&mut v2, &mut has_v2),
            b"cgroup" if has_memory(line.options) => (&mut v1, &mut has_v1),
            _ => continue,
        };
        *is_mounted = true;
        if table.is_hidden(at) {
            continue;
        }
        let (root, point) = (unescape_octal(line.root), unescape_octal(line.point));
        if is_plain(&root) {
            mounts.usable.push(Mount { root, point });
        } else if let Some(levels) = levels_above(&root) {
            mounts.outer.push((levels, point));
        }
    }
    // If a v1 hierarchy is mounted, it has the controller even if its mounts cannot be used.
    let mounts = if has_v1 { v1 } else { v2 };
    match mounts.usable.is_empty() && mounts.outer.is_empty() {
        false => Ok(mounts),
        true if has_v1 || has_v2 => Err(Missing::OutOfView),
        true => Err(Missing::Unsupported),
    }
}

/// The lines of a `mountinfo`, and their indices by mount id.
struct MountTable<'a> {
    lines: Vec<MountLine<'a>>,
    index: HashMap<&'a [u8], usize>,
}

impl<'a> MountTable<'a> {
    fn new(mountinfo: &'a [u8]) -> Self {
        let lines: Vec<_> = mount_lines(mountinfo).collect();
        let index = lines.iter().enumerate().map(|(at, line)| (line.id, at)).collect();
        Self { lines, index }
    }

    /// Returns true if the mount with this index cannot be reached by its mount point: another mount is on its root, or on
    /// the way from one of its ancestors to the next.
    fn is_hidden(&self, at: usize) -> bool {
        let (lines, own) = (&self.lines, &self.lines[at]);
        // A made-up list may have a loop.
        let way: Vec<_> = std::iter::successors(Some(at), |at| self.index.get(lines[*at].parent).copied())
            .take(lines.len())
            .collect();
        let mut others = lines.iter().enumerate().filter(|(other, _)| !way.contains(other));
        others.any(|(other, over)| {
            let is_on_root = over.parent == own.id && over.point == own.point;
            is_on_root
                || way.iter().any(|at| {
                    let line = &lines[*at];
                    // Of two mounts on one directory, the later one is on top.
                    let is_on_top = over.point != line.point || other > *at;
                    over.parent == line.parent && below(line.point, over.point).is_some() && is_on_top
                })
        })
    }
}

/// Returns how many levels a root such as `/..` or `/../..` is above the root of the cgroup namespace.
fn levels_above(root: &[u8]) -> Option<usize> {
    let mut names = root.strip_prefix(b"/")?.split(|b| *b == b'/');
    names.clone().all(|name| name == b"..").then(|| names.by_ref().count())
}

impl Mounts {
    /// Returns the directory of the cgroup at `path`, or `None` if it is outside all mounts.
    pub fn directory(&self, path: &[u8]) -> Option<Vec<u8>> {
        if !is_plain(path) {
            return None;
        }
        self.usable.iter().find_map(|mount| {
            let below = below(path, &mount.root)?;
            let mut directory = mount.point.clone();
            directory.extend_from_slice(below);
            Some(directory)
        })
    }

    /// Returns the directories of the cgroup at `path` and of its visible ancestors, innermost first.
    pub fn levels(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let paths = std::iter::successors(Some(path), |path| above(path));
        let mut levels: Vec<_> = paths.map_while(|path| self.directory(path)).collect();
        if !levels.is_empty() {
            levels.extend_from_slice(&self.above);
        }
        levels
    }

    /// Returns the path of the cgroup in this directory, or `None` if no mount contains it.
    pub fn path(&self, directory: &[u8]) -> Option<Vec<u8>> {
        self.usable.iter().find_map(|mount| {
            let rest = below(directory, &mount.point)?;
            let root = mount.root.strip_suffix(b"/").unwrap_or(&mount.root);
            let path = [root, rest].concat();
            Some(if path.is_empty() { b"/".to_vec() } else { path })
        })
    }

    /// Finds the root of the cgroup namespace if only cgroups above it are mounted. `children` lists the names in a
    /// directory; `is_root` returns true if a directory is that root.
    #[must_use]
    pub fn resolved(
        mut self,
        mut children: impl FnMut(&[u8]) -> Vec<Vec<u8>>,
        is_root: impl Fn(&[u8]) -> bool,
    ) -> Self {
        /// Maximum number of directories on one level; with more, the search gives up.
        const MAX_LOOKS: usize = 8192;
        if !self.usable.is_empty() {
            return self;
        }
        for (levels, point) in &self.outer {
            let mut level = vec![point.clone()];
            for _ in 0..*levels {
                let mut below = Vec::new();
                for directory in &level {
                    below.extend(
                        children(directory)
                            .into_iter()
                            .map(|name| [directory, &b"/"[..], &name].concat()),
                    );
                    if below.len() > MAX_LOOKS {
                        return self;
                    }
                }
                level = below;
            }
            let Some(root) = level.into_iter().find(|directory| is_root(directory)) else {
                continue;
            };
            let above = std::iter::successors(Some(&root[..]), |path| above(path));
            self.above = above.skip(1).take(*levels).map(<[u8]>::to_vec).collect();
            self.usable.push(Mount {
                root: b"/".to_vec(),
                point: root,
            });
            return self;
        }
        self
    }

    /// Returns the mounts within a captured sysfs tree at `sys`.
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
            usable: self.usable.iter().filter_map(moved).collect(),
            outer: Vec::new(),
            above: Vec::new(),
        }
    }
}

/// Returns the parent of the cgroup at `path`, or `None` for `/`.
pub fn above(path: &[u8]) -> Option<&[u8]> {
    let at = path.iter().rposition(|b| *b == b'/')?;
    match (at, path.len()) {
        (0, 1) => None,
        (0, _) => Some(&path[..1]),
        _ => Some(&path[..at]),
    }
}

/// Returns true if `path` is the cgroup at `root` or a descendant.
pub fn is_below(path: &[u8], root: &[u8]) -> bool {
    below(path, root).is_some()
}

/// Returns the part of `path` below `root`: empty, or a path that begins with a slash.
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

/// Calls `each` with the id of every thread in the cgroup at `path`, in zmtop's own pid namespace. A process belongs to
/// the cgroup of its main thread, whose id is the pid.
pub fn each_thread(mounts: &Mounts, path: &[u8], buf: &mut [u8], each: impl FnMut(u32)) -> Result<(), Errno> {
    let mut file = mounts.directory(path).ok_or(Errno::NOENT)?;
    file.extend_from_slice(match mounts.version {
        Version::V1 => b"/tasks",
        Version::V2 => b"/cgroup.threads",
    });
    each_id(&file, buf, each)
}

/// Calls `each` with every number in a file that has one number a line.
fn each_id(file: &[u8], buf: &mut [u8], mut each: impl FnMut(u32)) -> Result<(), Errno> {
    let fd = files::open(file)?;
    // A number may continue in the next piece.
    let mut id = 0_u32;
    loop {
        let len = files::read_once(&fd, buf)?;
        if len == 0 {
            return Ok(());
        }
        for byte in &buf[..len] {
            match byte {
                b'0'..=b'9' => id = id.wrapping_mul(10).wrapping_add(u32::from(byte - b'0')),
                _ => each(std::mem::take(&mut id)),
            }
        }
    }
}

/// Maximum number of listed descendants.
const MAX_CGROUPS: usize = 10_000;

/// Lists the processes in the cgroup at `path` and its descendants, in zmtop's own pid namespace.
pub fn processes_below(mounts: &Mounts, path: &[u8], buf: &mut [u8]) -> Reading<PidList> {
    let mut directories = vec![mounts.directory(path).ok_or(Missing::OutOfView)?];
    let mut pids = Vec::new();
    let mut at = 0;
    while let Some(directory) = directories.get(at).cloned() {
        let listed = each_id(&[&directory, &b"/cgroup.procs"[..]].concat(), buf, |pid| pids.push(pid));
        match listed {
            // Descendants may vanish at any time, and a cgroup with threads only has no process list.
            Ok(()) => {}
            Err(_) if at > 0 => {}
            Err(errno) => return Err(files::reason(errno)),
        }
        at += 1;
        if directories.len() < MAX_CGROUPS {
            let found = files::directories(&directory, |name| {
                directories.push([&directory, &b"/"[..], name].concat());
            });
            if let (Err(errno), 1) = (found, at) {
                return Err(files::reason(errno));
            }
        }
    }
    Ok(PidList::whole(pids))
}

/// Lists the processes of a tree whose `/proc/<pid>/cgroup` names the cgroup at `path` or one below it.
pub fn processes_by_files(roots: &Roots, version: Version, path: &[u8], buf: &mut [u8]) -> Reading<PidList> {
    let proc = roots.proc.as_os_str().as_encoded_bytes();
    let is_in = |pid: &u32| {
        let file = [proc, format!("/{pid}/cgroup").as_bytes()].concat();
        let bytes = files::slurp(&file, &mut *buf).map_err(files::reason);
        bytes
            .and_then(|bytes| charged(bytes, version))
            .is_ok_and(|own| is_below(own, path))
    };
    let pids = pids::all(proc)?.pids;
    Ok(PidList::whole(pids.into_iter().filter(is_in).collect()))
}
