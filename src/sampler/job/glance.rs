//! A glance: `stat`, and what is looked at with it.

use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::facts::absent;
use super::{Glance, Glanced, Ground, Seen};
use crate::model::{Missing, Reading};
use crate::proc::{files, stat, status};
use crate::sampler::target::{Budget, Target};

/// Reads `stat`, through the files known where they are still the process's; otherwise it is opened anew.
pub(super) fn glance(ask: &Glance, oom: bool, ground: &Ground, buf: &mut [u8]) -> Glanced {
    let proc = ground.roots.proc.as_path();
    let known = ask.target.as_deref().map(|target| (target, target.stat(proc, buf)));
    let (target, seen) = match known {
        Some((target, Ok(len))) => {
            let mut seen = seen(&buf[..len], ask.comm, ground.page);
            if let (true, Ok(seen)) = (ask.swapped, &mut seen) {
                // Freeing what is swapped out moves neither RSS nor a fault count.
                seen.swap = target
                    .status(proc, buf)
                    .ok()
                    .and_then(|len| status::swap(&buf[..len]).ok());
            }
            (None, seen.map(|seen| score(seen, target, proc, oom)))
        }
        None | Some((_, Err(Errno::SRCH | Errno::NOENT))) => glance_anew(ask, oom, ground, buf),
        Some((_, Err(e))) => (None, Err(fault(e, &ground.budget))),
    };
    Glanced {
        pid: ask.pid,
        serial: ask.serial,
        target: target.map(Arc::new),
        seen,
    }
}

fn glance_anew(ask: &Glance, oom: bool, ground: &Ground, buf: &mut [u8]) -> (Option<Target>, Reading<Seen>) {
    let proc = ground.roots.proc.as_path();
    let (target, len) = match Target::new(ask.pid, proc, &ground.budget, buf) {
        Ok(opened) => opened,
        Err(e) => return (None, Err(fault(e, &ground.budget))),
    };
    match seen(&buf[..len], ask.comm, ground.page) {
        Ok(seen) if seen.stat.is_kernel_thread() => {
            let seen = score(seen, &target, proc, oom);
            (Some(target.without_dir()), Ok(seen))
        }
        Ok(seen) => {
            let seen = score(seen, &target, proc, oom);
            (Some(target), Ok(seen))
        }
        Err(e) => (None, Err(e)),
    }
}

/// The pid that was given out last in this pid namespace: the last field of `loadavg`. Trees that are no procfs
/// say nothing true.
pub(super) fn last_pid(ground: &Ground, buf: &mut [u8]) -> Option<u64> {
    if !ground.budget.is_procfs() {
        return None;
    }
    let path = [ground.roots.proc.as_os_str().as_encoded_bytes(), b"/loadavg"].concat();
    let bytes = files::slurp(&path, buf).ok()?;
    std::str::from_utf8(bytes).ok()?.split_whitespace().nth(4)?.parse().ok()
}

fn fault(errno: Errno, budget: &Budget) -> Missing {
    if matches!(errno, Errno::MFILE | Errno::NFILE) {
        budget.shrink();
    }
    files::reason(errno)
}

fn seen(bytes: &[u8], comm: u64, page: u64) -> Reading<Seen> {
    let glance = stat::parse(bytes, page)?;
    let digest = stat::name_digest(glance.comm);
    Ok(Seen {
        starttime: glance.starttime,
        stat: glance.stat,
        digest,
        comm: (digest != comm).then(|| glance.comm.into()),
        oom_score: Err(Missing::Pending),
        swap: None,
    })
}

fn score(mut seen: Seen, target: &Target, proc: &Path, wanted: bool) -> Seen {
    if wanted {
        let mut buf = [0; 32];
        seen.oom_score = target
            .open(proc, b"oom_score")
            .and_then(|fd| files::read_record(fd, &mut buf))
            .map_err(|e| absent(e, target, proc))
            .and_then(|len| {
                str::from_utf8(&buf[..len])
                    .ok()
                    .and_then(|text| text.trim().parse().ok())
                    .ok_or(Missing::Malformed)
            });
    }
    seen
}
