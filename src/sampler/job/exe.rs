//! The file that a process runs, and what became of it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat_raw, statat};
use rustix::io::Errno;

use super::files::{absent, check_same};
use super::{ProcessRef, ReaderContext};
use crate::model::{Missing, Reading, Replaced};
use crate::proc::exe::{self, FileId};
use crate::proc::stat::name_digest;
use crate::sampler::target::Target;

/// The file, as far as it is known.
pub(in crate::sampler) struct ExeFile {
    /// The digest of the link's text; tells whether the link is still the same.
    pub(in crate::sampler) digest: u64,
    pub(in crate::sampler) path: Box<[u8]>,
    pub(in crate::sampler) replaced: Option<Replaced>,
    /// The link is marked as that of a file whose name is gone, so there is more to look up.
    pub(in crate::sampler) is_marked: bool,
}

/// Reads the link alone, which never waits for anyone.
pub(super) fn from_link(process: &ProcessRef, context: &ReaderContext, buf: &mut [u8]) -> Reading<ExeFile> {
    let (digest, link) = link(process, &context.roots.proc, buf)?;
    // In a tree that is no procfs there is nothing more to be had: it may be of another machine.
    let is_final = !context.open_files.is_procfs();
    Ok(ExeFile {
        digest,
        path: link.path.into(),
        replaced: (is_final && link.marked).then_some(Replaced::Deleted),
        is_marked: link.marked && !is_final,
    })
}

/// Reads the link and looks its file up, which may wait for a file system that does not answer.
pub(super) fn look_up(process: &ProcessRef, context: &ReaderContext, buf: &mut [u8]) -> Reading<ExeFile> {
    let proc = context.roots.proc.as_path();
    let target = &*process.target;
    let (digest, link) = link(process, proc, buf)?;
    let running = target.at(proc, b"exe", |dir, name| file_at(dir, name)).ok();
    let root = root(target, proc);
    let (path, replaced) = link.judge(running, |path| match &root {
        Some(root) => file_below(root, path).ok(),
        None => file_at(CWD, path).ok(),
    });
    check_same(process, proc)?;
    Ok(ExeFile {
        digest,
        path: path.into(),
        replaced,
        is_marked: link.marked,
    })
}

/// Returns pid and serial number of those whose link's text has another digest, or is marked.
pub(super) fn changed(links: &[(ProcessRef, u64)], proc: &Path, buf: &mut [u8]) -> Vec<(u32, u64)> {
    let mut is_changed = |process: &ProcessRef, digest: u64| {
        let text = process
            .target
            .at(proc, b"exe", |dir, name| readlinkat_raw(dir, name, &mut *buf));
        text.is_ok_and(|len| name_digest(&buf[..len]) != digest || exe::parse(&buf[..len]).marked)
    };
    let changed = links.iter().filter(|(process, digest)| is_changed(process, *digest));
    changed.map(|(process, _)| (process.pid, process.serial)).collect()
}

fn link<'a>(process: &ProcessRef, proc: &Path, buf: &'a mut [u8]) -> Reading<(u64, exe::Link<'a>)> {
    let target = &*process.target;
    let len = target
        .at(proc, b"exe", |dir, name| readlinkat_raw(dir, name, &mut *buf))
        .map_err(|e| match e {
            // A made tree's plain file.
            Errno::INVAL => Missing::Unsupported,
            other => absent(other, target, proc),
        })?;
    check_same(process, proc)?;
    let text = &buf[..len];
    Ok((name_digest(text), exe::parse(text)))
}

/// Opens the directory that the kernel's path is to be followed from: the top of the process's own mount
/// namespace, or nothing where that is zmtop's own.
fn root(target: &Target, proc: &Path) -> Option<OwnedFd> {
    let own = file_at(CWD, b"/proc/self/ns/mnt").ok();
    if own.is_some() && own == target.at(proc, b"ns/mnt", |dir, name| file_at(dir, name)).ok() {
        return None;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    target
        .at(proc, b"root", |dir, name| openat(dir, name, flags, Mode::empty()))
        .ok()
}

fn file_at(dir: impl AsFd, path: &[u8]) -> Result<FileId, Errno> {
    statat(dir, path, AtFlags::NO_AUTOMOUNT).map(|s| id(&s))
}

/// Looks up an absolute path below `root`, which no link leads out of (Linux 5.6; before, one may).
fn file_below(root: &OwnedFd, path: &[u8]) -> Result<FileId, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, path, flags, Mode::empty(), resolve) {
        Ok(fd) => fstat(fd).map(|s| id(&s)),
        Err(Errno::NOSYS) => file_at(root, path.strip_prefix(b"/").unwrap_or(path)),
        Err(e) => Err(e),
    }
}

const fn id(stat: &Stat) -> FileId {
    (stat.st_dev, stat.st_ino)
}
