//! Glances at a process: reads `stat` and the figures that go with it.

use std::sync::Arc;

use rustix::io::Errno;

use super::Context;
use super::counters::KnownCounters;
use super::facts::absent;
use super::target::{self, Target};
use crate::model::{Missing, Reading, Stat};
use crate::proc::{files, pid};
use crate::sampler::estimate::Counters;
use crate::sampler::policy::births::Signs;

pub(crate) struct GlanceRequest {
    pub(crate) pid: u32,
    pub(crate) serial: u64,
    /// The files held open; `None` for a new pid.
    pub(crate) target: Option<Arc<Target>>,
    pub(crate) comm: u64,
    /// The known counters, if more than `stat` is needed.
    pub(crate) known: Option<KnownCounters>,
    pub(crate) holds: bool,
    /// The known peak, if it was read.
    pub(crate) peak: Option<KnownPeak>,
    /// Its page tables are read, whatever else is.
    pub(crate) page_tables: bool,
}

/// The highest RSS of a process, and its figures as it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownPeak {
    pub(crate) bytes: u64,
    pub(crate) starttime: u64,
    pub(crate) stat: Stat,
}

impl KnownPeak {
    /// Returns true if it is still the peak: RSS grows by page faults alone, and an exec begins again.
    fn holds(&self, starttime: u64, now: &Stat) -> bool {
        let figures = |stat: &Stat| (stat.minflt, stat.majflt, stat.rss, stat.image);
        self.starttime == starttime && figures(&self.stat) == figures(now)
    }
}

/// Figures to read with each glance, because they are shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    pub(crate) oom_score: bool,
    pub(crate) peak: bool,
    pub(crate) page_tables: bool,
}

pub(crate) struct GlanceResult {
    pub(crate) pid: u32,
    pub(crate) serial: u64,
    /// The files, if they are new.
    pub(crate) target: Option<Arc<Target>>,
    pub(crate) glance: Reading<Glance>,
}

pub(crate) struct Glance {
    pub(crate) starttime: u64,
    pub(crate) stat: Stat,
    /// Its faults, including the children it has waited for.
    pub(crate) faults: u64,
    pub(crate) digest: u64,
    /// The comm, if it has changed.
    pub(crate) comm: Option<Box<[u8]>>,
    pub(crate) oom_score: Reading<u32>,
    pub(crate) peak: Reading<u64>,
    /// `None` if they were not read.
    pub(crate) page_tables: Option<Reading<u64>>,
    pub(crate) counters: Counters,
}

/// Reads `stat` through the files held open, if they still belong to the process. Otherwise opens it again.
pub(crate) fn glance(request: &GlanceRequest, extras: Extras, context: &Context, buf: &mut [u8]) -> GlanceResult {
    let (proc, open_files) = (context.roots.proc.as_path(), &context.open_files);
    // If descriptors were scarce before, open the files now that there is room.
    let is_kept = |target: &&Target| target.holds_any() || !request.holds || !open_files.has_room();
    let known = request.target.as_deref().filter(is_kept);
    let fault = |errno| {
        if matches!(errno, Errno::MFILE | Errno::NFILE) {
            open_files.shrink();
        }
        Err(files::reason(errno))
    };
    let (target, glance) = match known.map(|target| (target, target.stat(proc, buf))) {
        Some((target, Ok(len))) => (None, finish(len, target, request, extras, context, buf)),
        None | Some((_, Err(Errno::SRCH | Errno::NOENT))) => {
            match Target::new(request.pid, proc, open_files, request.holds, buf) {
                Ok((target, len)) => match finish(len, &target, request, extras, context, buf) {
                    // The directory is useless if only `stat` is read.
                    Ok(glance) if glance.stat.is_kernel_thread() => (Some(target.without_dir()), Ok(glance)),
                    Ok(glance) => (Some(target), Ok(glance)),
                    Err(why) => (None, Err(why)),
                },
                Err(e) => (None, fault(e)),
            }
        }
        Some((_, Err(e))) => (None, fault(e)),
    };
    GlanceResult {
        pid: request.pid,
        serial: request.serial,
        target: target.map(Arc::new),
        glance,
    }
}

/// Parses the `stat` of `len` bytes in `buf`, and reads what else is needed.
fn finish(
    len: usize,
    target: &Target,
    request: &GlanceRequest,
    extras: Extras,
    context: &Context,
    buf: &mut [u8],
) -> Reading<Glance> {
    let proc = context.roots.proc.as_path();
    let mut parsed = pid::stat(&buf[..len], context.page)?;
    target::complete_stat(&mut parsed.stat, target, proc, context.page)?;
    let digest = pid::name_digest(parsed.comm);
    let mut glance = Glance {
        starttime: parsed.starttime,
        stat: parsed.stat,
        faults: parsed.faults,
        digest,
        comm: (digest != request.comm).then(|| parsed.comm.into()),
        oom_score: Err(Missing::Pending),
        peak: Err(Missing::Pending),
        page_tables: None,
        counters: Counters::new(&parsed.stat),
    };
    if let Some(known) = &request.known {
        let counters = &mut glance.counters;
        context.counters.complete(counters, known, target, proc, buf);
    }
    let lacks_memory = glance.stat.lacks_memory();
    let is_valid = |known: &KnownPeak| lacks_memory.is_none() && known.holds(glance.starttime, &glance.stat);
    let known = request.peak.filter(is_valid);
    let reads_tables = extras.page_tables || request.page_tables;
    if extras.peak && known.is_none() || reads_tables {
        let status = match lacks_memory {
            Some(why) => Err(why),
            None => match target.record(proc, b"status", buf) {
                Ok(len) => Ok(&buf[..len]),
                Err(e) => Err(absent(e, target, proc)),
            },
        };
        if extras.peak {
            glance.peak = known.map_or_else(|| status.and_then(pid::peak), |known| Ok(known.bytes));
        }
        glance.page_tables = reads_tables.then(|| status.and_then(pid::page_tables));
    } else if let Some(known) = known.filter(|_| extras.peak) {
        glance.peak = Ok(known.bytes);
    }
    if extras.oom_score {
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
    Ok(glance)
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
