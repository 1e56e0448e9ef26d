//! Reads the facts of processes: user, cgroup, program, command line.
//!
//! To add one that is read once per program, read it in [`look`] where that `is_full`.

use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{AtFlags, statat};

use super::exe::{self, ExeFile};
use super::files::{absent, read};
use super::{ProcessRef, ReaderContext};
use crate::model::{Missing, Reading};
use crate::proc::cgroup::members::each_thread;
use crate::proc::cgroup::mounts::Mounts;
use crate::proc::{cgroup, clock, status};

/// The cgroup that a process is in, and what its path tells.
pub(in crate::sampler) struct CgroupMembership {
    pub(in crate::sampler) path: Arc<[u8]>,
    pub(in crate::sampler) unit: Option<Arc<[u8]>>,
    pub(in crate::sampler) container: Option<Arc<[u8]>>,
}

/// A process to look at.
pub(in crate::sampler) struct FactsRequest {
    pub(in crate::sampler) process: ProcessRef,
    /// Everything is read.
    pub(in crate::sampler) is_full: bool,
    /// Reads what it can change itself, unless its CPU time still is `ran`.
    pub(in crate::sampler) reads_own: bool,
    pub(in crate::sampler) ran: Option<Duration>,
    /// The cgroup is read.
    pub(in crate::sampler) reads_cgroup: bool,
}

/// The facts read of a process. None of them can keep the reader waiting, as the command line can.
pub(in crate::sampler) struct FactsResult {
    pub(in crate::sampler) process: ProcessRef,
    /// Its CPU time before that.
    pub(in crate::sampler) ran: Option<Duration>,
    /// The user; `None` where it cannot have changed, and the command line neither.
    pub(in crate::sampler) uid: Option<Reading<u32>>,
    pub(in crate::sampler) cgroup: Option<Reading<CgroupMembership>>,
    pub(in crate::sampler) exe: Option<Reading<ExeFile>>,
}

/// The cgroup that some processes were in.
pub(in crate::sampler) struct CgroupList {
    pub(in crate::sampler) mounts: Arc<Mounts>,
    pub(in crate::sampler) path: Arc<[u8]>,
}

/// Returns those of `pids`, which are in order, that are not in the cgroup.
pub(super) fn strays(pids: &[u32], list: &CgroupList, buf: &mut [u8]) -> Vec<u32> {
    let mut is_listed = vec![false; pids.len()];
    let listed = each_thread(&list.mounts, &list.path, buf, |id| {
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

/// Reads what is asked for.
pub(super) fn look(request: FactsRequest, context: &ReaderContext, buf: &mut [u8]) -> FactsResult {
    let FactsRequest { process, is_full, .. } = request;
    let proc = context.roots.proc.as_path();
    let looks_own = is_full || request.reads_own;
    // Before all else: what it does meanwhile is then seen the next time.
    let ran = (looks_own && context.has_own_pids).then(|| clock::process_time(process.pid));
    let ran = ran.flatten();
    let has_run = is_full || (looks_own && (ran.is_none() || ran != request.ran));
    FactsResult {
        ran: if looks_own { ran } else { request.ran },
        uid: has_run.then(|| uid(&process, context, buf)),
        cgroup: (is_full || request.reads_cgroup).then(|| read(&process, proc, b"cgroup", buf).and_then(parse_cgroup)),
        exe: is_full.then(|| exe::from_link(&process, context, buf)),
        process,
    }
}

/// Reads the effective user. It owns the directory in procfs (`pid_getattr` of `fs/proc/base.c`), which costs a tenth
/// of `status`.
fn uid(process: &ProcessRef, context: &ReaderContext, buf: &mut [u8]) -> Reading<u32> {
    let (proc, target) = (context.roots.proc.as_path(), &*process.target);
    if !context.open_files.is_procfs() {
        return read(process, proc, b"status", buf).and_then(status::uid);
    }
    let owner = target.at(proc, b"", |dir, name| statat(dir, name, AtFlags::EMPTY_PATH));
    let uid = owner.map_err(|e| absent(e, target, proc))?.st_uid;
    // The directory of one that is gone is root's, if it was opened before.
    let is_sure = uid != 0 && target.is_bound();
    if !is_sure && !target.is_same(process.starttime, proc, buf) {
        return Err(Missing::Gone);
    }
    Ok(uid)
}

fn parse_cgroup(bytes: &[u8]) -> Reading<CgroupMembership> {
    let found = cgroup::parse(bytes)?;
    Ok(CgroupMembership {
        path: found.path.into(),
        unit: found.unit.map(Into::into),
        container: found.container.map(Into::into),
    })
}
