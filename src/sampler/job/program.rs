//! The file a process runs, and what became of it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat_raw, statat};
use rustix::io::Errno;

use super::facts::{absent, same};
use super::{Ground, Subject};
use crate::model::{Missing, Reading, Replaced};
use crate::proc::exe::{self, FileId};
use crate::proc::stat::name_digest;
use crate::sampler::target::Target;

/// What is known of the file.
#[derive(Debug)]
pub(in crate::sampler) struct Program {
    /// Tells whether the link is still the same.
    pub(in crate::sampler) digest: u64,
    pub(in crate::sampler) path: Box<[u8]>,
    pub(in crate::sampler) replaced: Option<Replaced>,
    /// The link is marked as that of a file whose name is gone, so there is more to look up.
    pub(in crate::sampler) marked: bool,
}

/// A process whose link is to be looked at again.
#[derive(Debug)]
pub(in crate::sampler) struct Known {
    pub(in crate::sampler) pid: u32,
    pub(in crate::sampler) serial: u64,
    pub(in crate::sampler) target: Arc<Target>,
    pub(in crate::sampler) digest: u64,
}

/// What the link alone says, which is had without waiting for anyone.
pub(super) fn at_once(subject: &Subject, ground: &Ground, buf: &mut [u8]) -> Reading<Program> {
    let (digest, link) = link(subject, &ground.roots.proc, buf)?;
    // In a tree that is no procfs there is nothing more to be had: what it is of may be another machine.
    let final_word = !ground.budget.is_procfs();
    Ok(Program {
        digest,
        path: link.path.into(),
        replaced: (final_word && link.marked).then_some(Replaced::Deleted),
        marked: link.marked && !final_word,
    })
}

/// The same with a look at the file system, which may wait for one that does not answer.
pub(super) fn looked_up(subject: &Subject, ground: &Ground, buf: &mut [u8]) -> Reading<Program> {
    let proc = ground.roots.proc.as_path();
    let target = &*subject.target;
    let (digest, link) = link(subject, proc, buf)?;
    let runs = target.at(proc, b"exe", |dir, name| file_at(dir, name)).ok();
    let root = root(target, proc);
    let (path, replaced) = link.judge(runs, |path| match &root {
        Some(root) => file_below(root, path).ok(),
        None => file_at(CWD, path).ok(),
    });
    same(subject, proc)?;
    Ok(Program {
        digest,
        path: path.into(),
        replaced,
        marked: link.marked,
    })
}

/// Those whose link is not what it was, or is marked.
pub(super) fn changed(known: &[Known], proc: &Path, buf: &mut [u8]) -> Vec<(u32, u64)> {
    known
        .iter()
        .filter(|k| {
            let text = k
                .target
                .at(proc, b"exe", |dir, name| readlinkat_raw(dir, name, &mut *buf));
            text.is_ok_and(|len| name_digest(&buf[..len]) != k.digest || exe::parse(&buf[..len]).marked)
        })
        .map(|k| (k.pid, k.serial))
        .collect()
}

fn link<'a>(subject: &Subject, proc: &Path, buf: &'a mut [u8]) -> Reading<(u64, exe::Link<'a>)> {
    let target = &*subject.target;
    let len = target
        .at(proc, b"exe", |dir, name| readlinkat_raw(dir, name, &mut *buf))
        .map_err(|e| match e {
            // A made tree's plain file.
            Errno::INVAL => Missing::Unsupported,
            other => absent(other, target, proc),
        })?;
    same(subject, proc)?;
    let text = &buf[..len];
    Ok((name_digest(text), exe::parse(text)))
}

/// From where the kernel's path is to be followed: within one's own mount namespace it is that seen from
/// one's own root (`None`), else that seen from the top of the process's.
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

/// The file at an absolute path below `root`, which no link leads out of (Linux 5.6; before, one may).
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
