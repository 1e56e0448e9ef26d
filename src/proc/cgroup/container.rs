//! The container in a cgroup path: its id, and its name where the path has it.

use std::borrow::Cow;

use crate::model::unit::leading_slices;

/// The container that a process is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerInPath<'a> {
    /// The id; if there is none, the name of the container's cgroup.
    pub id: &'a [u8],
    /// The name; `None` if only files of the container engine have it.
    pub name: Option<Cow<'a, [u8]>>,
}

/// Returns the innermost container of a path.
pub fn find(path: &[u8]) -> Option<ContainerInPath<'_>> {
    let mut names = inward(path);
    while let Some(name) = names.next() {
        if let Some(id) = engine(name).or_else(|| bare(name, names.clone())) {
            return Some(ContainerInPath { id, name: None });
        }
        let own = named(name, names.clone().next());
        if let Some(own) = own.filter(|own| !own.is_empty()) {
            return Some(ContainerInPath {
                id: name,
                name: Some(own),
            });
        }
    }
    None
}

/// Returns true for an id, as opposed to the name of a cgroup.
pub(super) fn is_id(name: &[u8]) -> bool {
    name.len() >= 12 && name.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the user in whose session the cgroup is: the owner of a rootless container. 0 outside of all sessions. The outermost
/// slice counts: the user may have made the others, and those below another cgroup.
pub fn owner(path: &[u8]) -> u32 {
    let slice = |name: &[u8]| {
        let uid = name.strip_prefix(b"user-")?.strip_suffix(b".slice")?;
        std::str::from_utf8(uid).ok()?.parse().ok()
    };
    leading_slices(path).find_map(slice).unwrap_or(0)
}

/// Returns the unique id of the pod of Kubernetes that the cgroup is in.
pub fn pod_uid(path: &[u8]) -> Option<Vec<u8>> {
    let uid = inward(path).find_map(|name| {
        let uid = match name.strip_suffix(b".slice") {
            // systemd's driver writes `_` for `-`, which separates the levels in the name of a slice.
            Some(slice) => {
                let at = slice.windows(4).rposition(|part| part == b"-pod")?;
                &slice[at + 4..]
            }
            None => name.strip_prefix(b"pod")?,
        };
        let is_uid = uid.len() >= 8 && uid.iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b'-' | b'_'));
        is_uid.then_some(uid)
    })?;
    let is_in_kubernetes = inward(path).any(|name| name.windows(8).any(|part| part == b"kubepods"));
    is_in_kubernetes.then(|| uid.iter().map(|b| if *b == b'_' { b'-' } else { *b }).collect())
}

/// Returns the components of a path from the innermost to the outermost.
fn inward(path: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    path.strip_suffix(b" (deleted)")
        .unwrap_or(path)
        .rsplit(|b| *b == b'/')
        .filter(|c| !c.is_empty())
}

/// Returns the id in `docker-<id>.scope`, `cri-containerd-<id>.scope`, `crio-<id>`, `libpod-<id>.scope` and the like, and
/// in `slice:cri-containerd:<id>`.
fn engine(name: &[u8]) -> Option<&[u8]> {
    const ENGINES: [&[u8]; 6] = [
        b"docker-",
        b"cri-containerd-",
        b"crio-",
        b"libpod-payload-",
        b"libpod-",
        b"nerdctl-",
    ];
    let name = name.strip_suffix(b".scope").unwrap_or(name);
    if let Some(at) = name.windows(16).position(|w| w == b":cri-containerd:") {
        return Some(&name[at + 16..]).filter(|id| is_id(id));
    }
    ENGINES
        .iter()
        .find_map(|engine| name.strip_prefix(*engine))
        .filter(|id| is_id(id))
}

/// Returns `name` if it is an id: any name below `docker` or in a pod, otherwise only one of full length.
fn bare<'a>(name: &'a [u8], mut outer: impl Iterator<Item = &'a [u8]>) -> Option<&'a [u8]> {
    let known = name.len() == 64 || outer.any(|o| o == b"docker" || o.starts_with(b"kubepods"));
    (known && is_id(name)).then_some(name)
}

/// Returns the name of a container whose cgroup has the name `name`, below `outer`.
fn named<'a>(name: &'a [u8], outer: Option<&[u8]>) -> Option<Cow<'a, [u8]>> {
    match outer {
        Some(b"lxc" | b"lxc.payload" | b"garden") => return Some(name.into()),
        // Nomad: an allocation's id, and the task's name.
        Some(outer) if outer.starts_with(b"nomad") || matches!(outer, b"share.slice" | b"reserve.slice") => {
            let task = name.strip_suffix(b".scope").unwrap_or(name);
            return is_uuid(task.get(..36)?)
                .then(|| task[36..].strip_prefix(b".").map(Into::into))
                .flatten();
        }
        _ => {}
    }
    if let Some(name) = name.strip_prefix(b"lxc.payload.") {
        return Some(name.into());
    }
    let between = |start: &[u8], end: &[u8]| name.strip_prefix(start)?.strip_suffix(end);
    // systemd-machined.
    if let Some(machine) = between(b"machine-", b".scope").or_else(|| between(b"systemd-nspawn@", b".service")) {
        return Some(unescaped(machine));
    }
    if let Some(flatpak) = between(b"app-flatpak-", b".scope") {
        let end = flatpak.iter().rposition(|b| *b == b'-')?;
        return Some(unescaped(&flatpak[..end]));
    }
    if let Some(snap) = name.strip_prefix(b"snap.") {
        let mut parts = snap.split(|b| *b == b'.');
        // The snap and its program.
        return parts.next().filter(|_| parts.next().is_some()).map(unescaped);
    }
    None
}

fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Returns a name without the escapes that systemd writes in names of units: `\x2d` for `-`.
fn unescaped(name: &[u8]) -> Cow<'_, [u8]> {
    if !name.contains(&b'\\') {
        return name.into();
    }
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, others)) = rest.split_first() {
        let digits = others.strip_prefix(b"x").and_then(|digits| digits.get(..2));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'\\' => {
                plain.push(byte);
                rest = &others[3..];
            }
            _ => {
                plain.push(*first);
                rest = others;
            }
        }
    }
    plain.into()
}
