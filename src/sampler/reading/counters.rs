//! Reads the counters of a process, which show how its memory changes between walks.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::target::{self, Target};
use super::walk::Walked;
use crate::model::Stat;
use crate::proc::files::Roots;
use crate::proc::{clock, pid};
use crate::sampler::estimate::{Anchor, Counters};

/// Assumed number of CPUs if they cannot be counted. A high number is safe.
const UNKNOWN_CPUS: u64 = 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SwapUse {
    #[default]
    Absent,
    Empty,
    Used,
}

/// The counters read before, so that they are read again only if they may have changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownCounters {
    pub(crate) counters: Counters,
    pub(crate) swap_use: SwapUse,
    /// Its memory figures are not readable, so that only its use of swap is shown.
    pub(crate) is_denied: bool,
}

/// Time for which the state of KSM is cached. Hosts enable it when memory gets scarce.
const KSM_HOLDS: Duration = Duration::from_secs(10);

/// Reads counters; holds the facts about the kernel that this needs.
pub(crate) struct CounterReader {
    page: u64,
    /// `/sys/kernel/mm/ksm/run`, when it was last read, and whether KSM ran then.
    ksm: Option<PathBuf>,
    merges: Mutex<(Option<Duration>, bool)>,
    release: Vec<u8>,
    cpus: u64,
}

impl CounterReader {
    /// Creates a reader for these trees, with the page size in bytes.
    pub(crate) fn new(roots: &Roots, page: u64) -> Self {
        let stat = std::fs::read(roots.proc.join("stat")).unwrap_or_default();
        let is_cpu = |line: &&[u8]| {
            line.strip_prefix(b"cpu")
                .is_some_and(|l| l.first().is_some_and(u8::is_ascii_digit))
        };
        let cpus = stat.split(|b| *b == b'\n').filter(is_cpu).count() as u64;
        Self {
            page,
            ksm: roots.sys.as_ref().map(|sys| sys.join("kernel/mm/ksm/run")),
            merges: Mutex::default(),
            release: rustix::system::uname().release().to_bytes().to_vec(),
            cpus: if cpus == 0 { UNKNOWN_CPUS } else { cpus },
        }
    }

    /// Adds the counters that `stat` lacks. Those that are `known` are read again only if they may have changed
    /// without a change in `stat`.
    pub(crate) fn complete(
        &self,
        counters: &mut Counters,
        known: &KnownCounters,
        target: &Target,
        proc: &Path,
        buf: &mut [u8],
    ) {
        let then = &known.counters;
        if known.is_denied {
            let is_known = then.swap.is_some() && then.resident.is_some() && counters.has_same_stat(then);
            if is_known {
                (counters.resident, counters.swap) = (then.resident, then.swap);
            } else if known.swap_use == SwapUse::Used {
                return self.read_with_swap(counters, target, proc, buf);
            } else {
                self.read_resident(counters, target, proc, buf);
            }
            if known.swap_use != SwapUse::Used {
                counters.swap = Some(0);
            }
            return;
        }
        // Freeing swapped-out memory changes neither RSS nor a fault count.
        let has_swap = then.swap != Some(0);
        if !has_swap && counters.has_same_stat(then) {
            (counters.resident, counters.swap) = (then.resident, then.swap);
            return;
        }
        if !has_swap && known.swap_use != SwapUse::Used {
            self.read_resident(counters, target, proc, buf);
            counters.swap = then.swap;
            let fell = counters
                .resident
                .zip(then.resident)
                .is_some_and(|(now, then)| now.anon < then.anon);
            if !fell || known.swap_use == SwapUse::Absent {
                return;
            }
        }
        self.read_with_swap(counters, target, proc, buf);
    }

    /// Reads `stat`; of a process whose first thread has ended, completes it from a live one.
    pub(crate) fn of_stat(&self, target: &Target, proc: &Path, buf: &mut [u8]) -> Option<Stat> {
        let len = target.stat(proc, buf).ok()?;
        let mut stat = pid::stat(&buf[..len], self.page).ok()?.stat;
        target::complete_stat(&mut stat, target, proc, self.page).ok()?;
        Some(stat)
    }

    /// Creates the anchor of a walk that was just made; `before` is the `stat` before it. Returns `None` if the
    /// process is gone.
    pub(crate) fn anchor(
        &self,
        walked: &Walked,
        before: Option<Stat>,
        target: &Target,
        proc: &Path,
        buf: &mut [u8],
    ) -> Option<Anchor> {
        let after = self.of_stat(target, proc, buf)?;
        let mut counters = Counters::new(&after);
        if walked.memory.swap == 0 {
            self.read_resident(&mut counters, target, proc, buf);
            counters.swap = Some(0);
        } else {
            self.read_with_swap(&mut counters, target, proc, buf);
        }
        let inexact = pid::inexact(&self.release, self.cpus, after.threads).saturating_mul(self.page);
        let before = Counters::new(&before?);
        Some(Anchor {
            may_merge: self.merges(),
            ..Anchor::new(walked.memory, walked.anonymous, &before, counters, inexact)
        })
    }

    /// Returns true if KSM merged pages of equal content when that was last read for a walk.
    pub(crate) fn is_merging(&self) -> bool {
        self.merges.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    fn merges(&self) -> bool {
        let Some(file) = &self.ksm else { return false };
        let now = clock::monotonic();
        let lock = || self.merges.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, merges) = *lock();
        if at.is_some_and(|at| now.saturating_sub(at) <= KSM_HOLDS) {
            return merges;
        }
        let merges = std::fs::read(file).is_ok_and(|run| run.trim_ascii() == b"1");
        *lock() = (Some(now), merges);
        merges
    }

    fn read_resident(&self, counters: &mut Counters, target: &Target, proc: &Path, buf: &mut [u8]) {
        let thread = target.thread();
        let len = target.record(proc, b"statm", buf).ok();
        let resident = len.and_then(|len| pid::statm(&buf[..len], self.page).ok());
        counters.resident = resident.filter(|statm| statm.anon + statm.shared > 0 || target.is_living(thread, proc));
    }

    fn read_with_swap(&self, counters: &mut Counters, target: &Target, proc: &Path, buf: &mut [u8]) {
        let Ok(len) = target.record(proc, b"status", buf) else {
            return;
        };
        counters.swap = pid::swap(&buf[..len]).ok();
        counters.resident = pid::resident(&buf[..len]).ok();
        if counters.resident.is_none() {
            self.read_resident(counters, target, proc, buf);
        }
    }
}
