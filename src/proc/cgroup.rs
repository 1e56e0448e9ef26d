//! `/proc/<pid>/cgroup`: which cgroup a process is charged to, and the unit and container it names.

pub mod figures;
pub mod members;
pub mod mounts;

use mounts::Version;

use crate::model::{Missing, Reading};

/// The cgroup of a process. Borrowed, raw: cgroup names are foreign bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupPath<'a> {
    /// The path in the memory hierarchy (v1), or in the unified one (v2).
    pub path: &'a [u8],
    /// The systemd unit: the innermost service or scope, otherwise another kind of unit, otherwise a slice.
    pub unit: Option<&'a [u8]>,
    /// The first twelve digits of a container's id, or an LXC container's name.
    pub container: Option<&'a [u8]>,
}

/// Parses a `/proc/<pid>/cgroup`, whose lines are `number:controllers:path`.
///
/// On a machine with both hierarchies the path is that of the memory controller's, which memory is charged to,
/// unless it is the root. The unit is looked for in all hierarchies, since systemd may keep it in its own alone.
pub fn parse(bytes: &[u8]) -> Reading<CgroupPath<'_>> {
    let (mut memory, mut unified, mut systemd) = (None, None, None);
    for line in bytes.split(|b| *b == b'\n') {
        let mut parts = line.splitn(3, |b| *b == b':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if controllers.is_empty() {
            unified = Some(path);
        } else if controllers == b"name=systemd" {
            systemd = Some(path);
        } else if controllers.split(|b| *b == b',').any(|c| c == b"memory") {
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
        unit: all().find_map(unit),
        container: all().find_map(container),
    })
}

/// Returns the path in the hierarchy of that version which has the memory controller.
pub fn charged(bytes: &[u8], version: Version) -> Reading<&[u8]> {
    bytes
        .split(|b| *b == b'\n')
        .find_map(|line| {
            let mut parts = line.splitn(3, |b| *b == b':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            let found = match version {
                Version::V1 => controllers.split(|b| *b == b',').any(|c| c == b"memory"),
                Version::V2 => controllers.is_empty(),
            };
            found.then_some(path)
        })
        .ok_or(Missing::Unsupported)
}

/// Returns the components of a path from the innermost to the outermost.
fn inward(path: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    path.strip_suffix(b" (deleted)")
        .unwrap_or(path)
        .rsplit(|b| *b == b'/')
        .filter(|c| !c.is_empty())
}

/// Returns the systemd unit that a cgroup path names.
fn unit(path: &[u8]) -> Option<&[u8]> {
    const LEAVES: [&[u8]; 2] = [b".service", b".scope"];
    const OTHERS: [&[u8]; 4] = [b".socket", b".mount", b".swap", b".automount"];
    const SLICE: [&[u8]; 1] = [b".slice"];
    let innermost = |kinds: &[&[u8]]| {
        inward(path).find(|name| kinds.iter().any(|kind| name.len() > kind.len() && name.ends_with(kind)))
    };
    let name = innermost(&LEAVES)
        .or_else(|| innermost(&OTHERS))
        .or_else(|| innermost(&SLICE))?;
    // systemd escapes a name that would clash with a kernel file by a leading `_`.
    Some(name.strip_prefix(b"_").unwrap_or(name))
}

/// Returns the container that a cgroup path names.
fn container(path: &[u8]) -> Option<&[u8]> {
    let mut names = inward(path);
    while let Some(name) = names.next() {
        let outer = names.clone().next();
        if let Some(id) = engine(name).or_else(|| bare(name, names.clone())) {
            return Some(&id[..12]);
        }
        let lxc = match outer {
            Some(b"lxc" | b"lxc.payload") => Some(name),
            _ => name.strip_prefix(b"lxc.payload."),
        };
        if let Some(name) = lxc.filter(|n| !n.is_empty()) {
            return Some(name);
        }
    }
    None
}

/// Returns the id in `docker-<id>.scope`, `cri-containerd-<id>.scope`, `crio-<id>`, `libpod-<id>.scope` and in
/// `slice:cri-containerd:<id>`.
fn engine(name: &[u8]) -> Option<&[u8]> {
    const ENGINES: [&[u8]; 4] = [b"docker-", b"cri-containerd-", b"crio-", b"libpod-"];
    let name = name.strip_suffix(b".scope").unwrap_or(name);
    if let Some(at) = name.windows(16).position(|w| w == b":cri-containerd:") {
        return Some(&name[at + 16..]).filter(|id| is_id(id));
    }
    ENGINES
        .iter()
        .find_map(|engine| name.strip_prefix(*engine))
        .filter(|id| is_id(id))
}

/// Returns a name that is an id: any below `docker` or in a pod, elsewhere only one of full length.
fn bare<'a>(name: &'a [u8], mut outer: impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    let known = name.len() == 64 || outer.any(|o| o == b"docker" || o.starts_with(b"kubepods"));
    (known && is_id(name)).then_some(name)
}

fn is_id(name: &[u8]) -> bool {
    name.len() >= 12 && name.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}
