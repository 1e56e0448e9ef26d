//! Glances at a process: reads `stat` and the figures that go with it.

use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::Context;
use super::counters::KnownCounters;
use super::facts::absent;
use super::target::{self, OpenFiles, Target};
use crate::model::{Missing, Reading, Stat};
use crate::proc::{files, pid};
use crate::sampler::estimate::Counters;
use crate::sampler::policy::births::Signs;

pub(crate) struct GlanceRequest {
    pub(crate) pid: u32,
    pub(crate) serial: u64,
    /// The files held open; `None` for a new pid.
    pub(crate) target: Option<Arc<Target>>,
    /// The digest of the known comm.
    pub(crate) comm: u64,
    /// The known counters, if more than `stat` is needed.
    pub(crate) known: Option<KnownCounters>,
    /// Hold its files open.
    pub(crate) holds: bool,
}

pub(crate) struct GlanceResult {
    pub(crate) pid: u32,
    pub(crate) serial: u64,
    /// The files, if they are new.
    pub(crate) target: Option<Arc<Target>>,
    pub(crate) glance: Reading<Glance>,
}

/// The content of a glance.
pub(crate) struct Glance {
    pub(crate) starttime: u64,
    pub(crate) stat: Stat,
    /// Its faults, including the children it has waited for.
    pub(crate) faults: u64,
    /// The digest of the comm.
    pub(crate) digest: u64,
    /// The comm, if it has changed.
    pub(crate) comm: Option<Box<[u8]>>,
    pub(crate) oom_score: Reading<u32>,
    pub(crate) counters: Counters,
}

/// Reads `stat` through the files held open, if they still belong to the process. Otherwise opens it anew.
pub(crate) fn glance(request: &GlanceRequest, oom_score: bool, context: &Context, buf: &mut [u8]) -> GlanceResult {
    let proc = context.roots.proc.as_path();
    // If descriptors were scarce before, open the files now that there is room.
    let is_kept = |target: &&Target| target.holds_any() || !request.holds || !context.open_files.has_room();
    let known = request.target.as_deref().filter(is_kept);
    let known = known.map(|target| (target, target.stat(proc, buf)));
    let (target, glance) = match known {
        Some((target, Ok(len))) => {
            let mut glance = parse(&buf[..len], request.comm, target, context);
            complete(&mut glance, request, target, context, buf);
            (None, glance.map(|glance| add_score(glance, target, proc, oom_score)))
        }
        None | Some((_, Err(Errno::SRCH | Errno::NOENT))) => glance_anew(request, oom_score, context, buf),
        Some((_, Err(e))) => (None, Err(fault(e, &context.open_files))),
    };
    GlanceResult {
        pid: request.pid,
        serial: request.serial,
        target: target.map(Arc::new),
        glance,
    }
}

fn glance_anew(
    request: &GlanceRequest,
    oom_score: bool,
    context: &Context,
    buf: &mut [u8],
) -> (Option<Target>, Reading<Glance>) {
    let proc = context.roots.proc.as_path();
    let (target, len) = match Target::new(request.pid, proc, &context.open_files, request.holds, buf) {
        Ok(opened) => opened,
        Err(e) => return (None, Err(fault(e, &context.open_files))),
    };
    let mut glance = parse(&buf[..len], request.comm, &target, context);
    complete(&mut glance, request, &target, context, buf);
    match glance {
        Ok(glance) => {
            let glance = add_score(glance, &target, proc, oom_score);
            let is_kernel_thread = glance.stat.is_kernel_thread();
            let target = if is_kernel_thread { target.without_dir() } else { target };
            (Some(target), Ok(glance))
        }
        Err(e) => (None, Err(e)),
    }
}

/// Reads the signs of births and ends; `None` in a tree with other pids, where they are meaningless.
pub(crate) fn signs(context: &Context, buf: &mut [u8]) -> Option<Signs> {
    if !context.has_own_pids {
        return None;
    }
    let path = [context.roots.proc.as_os_str().as_encoded_bytes(), b"/loadavg"].concat();
    let bytes = files::slurp(&path, buf).ok()?;
    let mut fields = str::from_utf8(bytes).ok()?.split_whitespace().skip(3);
    let (_, tasks) = fields.next()?.split_once('/')?;
    Some(Signs {
        last_pid: fields.next()?.parse().ok()?,
        tasks: tasks.parse().ok()?,
    })
}

fn fault(errno: Errno, open_files: &OpenFiles) -> Missing {
    if matches!(errno, Errno::MFILE | Errno::NFILE) {
        open_files.shrink();
    }
    files::reason(errno)
}

fn parse(bytes: &[u8], known_comm: u64, target: &Target, context: &Context) -> Reading<Glance> {
    let mut parsed = pid::stat(bytes, context.page)?;
    target::complete_stat(&mut parsed.stat, target, &context.roots.proc, context.page)?;
    let digest = pid::name_digest(parsed.comm);
    Ok(Glance {
        starttime: parsed.starttime,
        stat: parsed.stat,
        faults: parsed.faults,
        digest,
        comm: (digest != known_comm).then(|| parsed.comm.into()),
        oom_score: Err(Missing::Pending),
        counters: Counters::new(&parsed.stat),
    })
}

/// Adds the counters that are needed.
fn complete(glance: &mut Reading<Glance>, request: &GlanceRequest, target: &Target, context: &Context, buf: &mut [u8]) {
    if let (Ok(glance), Some(known)) = (glance, &request.known) {
        let proc = context.roots.proc.as_path();
        context
            .counters
            .complete(&mut glance.counters, known, target, proc, buf);
    }
}

/// Adds `oom_score` if it `is_wanted`.
fn add_score(mut glance: Glance, target: &Target, proc: &Path, is_wanted: bool) -> Glance {
    if is_wanted {
        let mut buf = [0; 32];
        glance.oom_score = target
            .open(proc, b"oom_score")
            .and_then(|fd| files::read_record(fd, &mut buf))
            .map_err(|e| absent(e, target, proc))
            .and_then(|len| {
                let text = str::from_utf8(&buf[..len]).ok();
                text.and_then(|text| text.trim().parse().ok()).ok_or(Missing::Malformed)
            });
    }
    glance
}
