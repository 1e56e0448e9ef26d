//! Reads the facts of processes: user, cgroup, program, shared address space; and any other small file.
//!
//! To add a fact that is read once per program, read it in [`read_facts`] if `is_full`.

use std::cell::Cell;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, openat, readlinkat_raw, statat};
use rustix::io::Errno;

use super::target::Target;
use super::{Context, ProcessRef};
use crate::model::{Missing, Reading, Replaced};
use crate::proc::cgroup::container::{owner, pod_uid};
use crate::proc::cgroup::{self, Mounts, each_thread};
use crate::proc::namespace::{self, Namespace};
use crate::proc::pid::{self, FileId, name_digest};
use crate::proc::{clock, files};
use crate::sampler::containers::ContainerPlace;

/// Reads one of the process's files, up to the size of `buf`. If the file was opened by path, checks that the process
/// is still the same.
pub(crate) fn read<'a>(process: &ProcessRef, proc: &Path, name: &[u8], buf: &'a mut [u8]) -> Reading<&'a [u8]> {
    let target = &*process.target;
    let len = target
        .whole(proc, name, buf, files::read_all)
        .map_err(|e| absent_file(e, name, target, proc))?;
    check_same(process, proc)?;
    Ok(&buf[..len])
}

/// Checks that the data read by path belongs to this process and its pid was not reused.
pub(crate) fn check_same(process: &ProcessRef, proc: &Path) -> Reading<()> {
    let is_same = process.target.is_bound() || process.target.is_same(process.starttime, proc, &mut [0; 1024]);
    is_same.then_some(()).ok_or(Missing::Gone)
}

/// Returns why a file could not be read. A file that is missing while its process and its thread exist is unsupported.
pub(crate) fn absent(errno: Errno, target: &Target, proc: &Path) -> Missing {
    match files::reason(errno) {
        Missing::Gone if target.is_living(target.thread(), proc) && target.stat(proc, &mut [0; 1024]).is_ok() => {
            Missing::Unsupported
        }
        other => other,
    }
}

/// Returns why the file `name` could not be read. If a capture lacks it, the capture has the reason.
fn absent_file(errno: Errno, name: &[u8], target: &Target, proc: &Path) -> Missing {
    match absent(errno, target, proc) {
        Missing::Unsupported => target
            .captured_reason(proc, &[name], &mut [0; 1024])
            .unwrap_or(Missing::Unsupported),
        other => other,
    }
}

/// The cgroup of a process, and the unit and the container that its path names.
pub(crate) struct CgroupMembership {
    pub(crate) path: Arc<[u8]>,
    pub(crate) unit: Option<Arc<[u8]>>,
    pub(crate) container: Option<ContainerPlace>,
}

pub(crate) struct FactsRequest {
    pub(crate) process: ProcessRef,
    pub(crate) is_full: bool,
    /// Read the facts that the process itself can change, unless its CPU time still equals `ran`.
    pub(crate) reads_own: bool,
    pub(crate) ran: Option<Duration>,
    pub(crate) reads_cgroup: bool,
}

/// The facts read of a process. Unlike the command line, none of them can block the reader.
pub(crate) struct FactsResult {
    pub(crate) process: ProcessRef,
    /// Its CPU time before the read.
    pub(crate) ran: Option<Duration>,
    /// The user; `None` if neither it nor the command line can have changed.
    pub(crate) uid: Option<Reading<u32>>,
    /// The effective user of a program that has the set-user-ID bit, and the user who started it, if all facts were read.
    pub(crate) starter: Option<(u32, u32)>,
    pub(crate) is_full: bool,
    pub(crate) cgroup: Option<Reading<CgroupMembership>>,
    pub(crate) exe: Option<Reading<ExeFile>>,
}

/// Returns those of `pids`, in ascending order, that are not in the list of the cgroup at `path`.
pub(crate) fn strays(pids: &[u32], mounts: &Mounts, path: &[u8], buf: &mut [u8]) -> Vec<u32> {
    let mut is_listed = vec![false; pids.len()];
    let listed = each_thread(mounts, path, buf, |id| {
        if let Ok(at) = pids.binary_search(&id) {
            is_listed[at] = true;
        }
    });
    if let Err(e) = listed {
        tracing::debug!(%e, "the list of a cgroup");
    }
    let strays = pids.iter().zip(is_listed).filter(|(_, is_listed)| !is_listed);
    strays.map(|(pid, _)| *pid).collect()
}

pub(crate) fn read_facts(request: FactsRequest, context: &Context, buf: &mut [u8]) -> FactsResult {
    let FactsRequest { process, is_full, .. } = request;
    let proc = context.roots.proc.as_path();
    let looks_own = is_full || request.reads_own;
    // Read the clock first, so that changes during the read are seen the next time.
    let ran = (looks_own && context.has_own_pids).then(|| clock::process_time(process.pid));
    let ran = ran.flatten();
    let has_run = is_full || (looks_own && (ran.is_none() || ran != request.ran));
    let uid = has_run.then(|| uid(&process, context, buf));
    let full_uid = uid.filter(|_| is_full).and_then(Result::ok);
    let starter = full_uid.and_then(|uid| Some((uid, starter(&process, uid, context, buf)?)));
    FactsResult {
        ran: if looks_own { ran } else { request.ran },
        uid,
        starter,
        is_full,
        cgroup: (is_full || request.reads_cgroup).then(|| read(&process, proc, b"cgroup", buf).and_then(parse_cgroup)),
        exe: is_full.then(|| exe_from_link(&process, context, buf)),
        process,
    }
}

/// Reads the effective user.
fn uid(process: &ProcessRef, context: &Context, buf: &mut [u8]) -> Reading<u32> {
    let (proc, target) = (context.roots.proc.as_path(), &*process.target);
    if !context.open_files.is_procfs {
        return read(process, proc, b"status", buf).and_then(pid::uid);
    }
    let uid = match target.owner(proc) {
        Ok(uid) => uid,
        // No thread lives long enough. The first one had the same user when it ended.
        Err(Errno::NOENT | Errno::SRCH) if target.thread().is_some() => {
            let first = target
                .open_first(proc, b"status")
                .and_then(|fd| files::read_all(fd, buf));
            pid::uid(&buf[..first.map_err(|e| absent(e, target, proc))?])?
        }
        Err(e) => return Err(absent(e, target, proc)),
    };
    // If the directory was opened before the process ended, root owns it now.
    let is_sure = uid != 0 && target.is_bound();
    if !is_sure && !target.is_same(process.starttime, proc, buf) {
        return Err(Missing::Gone);
    }
    Ok(uid)
}

/// Returns the user who started a program that has the set-user-ID bit, if the effective user `uid` is another one.
fn starter(process: &ProcessRef, uid: u32, context: &Context, buf: &mut [u8]) -> Option<u32> {
    let proc = context.roots.proc.as_path();
    let starter = process.target.starter(uid, proc, buf);
    starter.filter(|_| check_same(process, proc).is_ok())
}

fn parse_cgroup(bytes: &[u8]) -> Reading<CgroupMembership> {
    let found = cgroup::parse(bytes)?;
    let container = found.container.map(|container| ContainerPlace {
        id: container.id.into(),
        name: container.name.map(|name| name.into_owned().into()),
        owner: owner(found.path),
        pod_uid: pod_uid(found.path).map(Into::into),
    });
    Ok(CgroupMembership {
        path: found.path.into(),
        unit: found.unit.map(|unit| Arc::from(&*unit)),
        container,
    })
}

pub(crate) struct ExeFile {
    /// The digest of the link's text, to detect changes.
    pub(crate) digest: u64,
    pub(crate) path: Arc<[u8]>,
    pub(crate) replaced: Option<Replaced>,
    /// The kernel marks the file's name as deleted, so the file must be looked up.
    pub(crate) is_marked: bool,
}

/// Reads the link alone, which never blocks.
fn exe_from_link(process: &ProcessRef, context: &Context, buf: &mut [u8]) -> Reading<ExeFile> {
    let (digest, link) = link(process, &context.roots.proc, buf)?;
    // A tree that is not procfs may come from another machine, so its files cannot be looked up.
    let is_final = !context.open_files.is_procfs;
    Ok(ExeFile {
        digest,
        path: link.path.into(),
        replaced: (is_final && link.marked).then_some(Replaced::Deleted),
        is_marked: link.marked && !is_final,
    })
}

/// Reads the link and looks up its file, which may block on a file system that does not answer.
pub(crate) fn look_up_exe(process: &ProcessRef, context: &Context, buf: &mut [u8]) -> Reading<ExeFile> {
    let proc = context.roots.proc.as_path();
    let target = &*process.target;
    let (digest, link) = link(process, proc, buf)?;
    let folder = proc.join(process.pid.to_string());
    // A file system that another user's program serves is not asked, so it stays unknown whether it was replaced.
    let is_foreign = Cell::new(false);
    let known = |found: Result<FileId, Errno>| {
        is_foreign.set(is_foreign.get() || found == Err(Errno::REMOTE));
        found.ok()
    };
    let running = target.at(proc, b"exe", |dir, name| {
        let pinned = openat(dir, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        namespace::check_pinned(&pinned, &folder)?;
        fstat(pinned).map(|stat| file_id(&stat))
    });
    let running = known(running);
    let namespace = if is_in_own_namespace(target, proc) {
        Namespace::own()
    } else {
        Namespace::new(&folder)
    };
    let (path, replaced) = link.judge(running, |path| {
        let pinned = namespace.pin(Path::new(OsStr::from_bytes(path)));
        known(pinned.and_then(|pinned| fstat(pinned).map(|stat| file_id(&stat))))
    });
    if is_foreign.get() {
        return Err(files::reason(Errno::REMOTE));
    }
    check_same(process, proc)?;
    Ok(ExeFile {
        digest,
        path: path.into(),
        replaced,
        is_marked: link.marked,
    })
}

/// Returns the processes whose link has another digest than the one given, or is marked as deleted.
pub(crate) fn changed_links(links: Vec<(ProcessRef, u64)>, proc: &Path, buf: &mut [u8]) -> Vec<ProcessRef> {
    let mut is_changed = |process: &ProcessRef, digest: u64| {
        let target = &process.target;
        let text = target.at(proc, b"exe", |dir, name| readlinkat_raw(dir, name, &mut *buf));
        text.is_ok_and(|len| name_digest(&buf[..len]) != digest || pid::exe_link(&buf[..len]).marked)
    };
    let links = links.into_iter();
    links
        .filter_map(|(process, digest)| is_changed(&process, digest).then_some(process))
        .collect()
}

fn link<'a>(process: &ProcessRef, proc: &Path, buf: &'a mut [u8]) -> Reading<(u64, pid::ExeLink<'a>)> {
    let target = &*process.target;
    let len = target
        .retry(proc, || {
            target.at(proc, b"exe", |dir, name| readlinkat_raw(dir, name, &mut *buf))
        })
        .map_err(|e| match e {
            // A plain file in a copied tree.
            Errno::INVAL => Missing::Unsupported,
            other => absent_file(other, b"exe", target, proc),
        })?;
    check_same(process, proc)?;
    let text = &buf[..len];
    Ok((name_digest(text), pid::exe_link(text)))
}

/// Returns true if a process is in the mount namespace of zmtop.
fn is_in_own_namespace(target: &Target, proc: &Path) -> bool {
    let own = file_at(CWD, b"/proc/self/ns/mnt").ok();
    own.is_some() && own == target.at(proc, b"ns/mnt", |dir, name| file_at(dir, name)).ok()
}

fn file_at(dir: impl AsFd, path: &[u8]) -> Result<FileId, Errno> {
    statat(dir, path, AtFlags::NO_AUTOMOUNT).map(|s| file_id(&s))
}

const fn file_id(stat: &Stat) -> FileId {
    (stat.st_dev, stat.st_ino)
}
