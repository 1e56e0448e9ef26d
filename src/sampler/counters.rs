//! Reads the counters of a process, which tell what its memory does between walks.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::estimate::{Anchor, Counters};
use super::target::Target;
use super::thread;
use super::walk::Walked;
use crate::model::Stat;
use crate::proc::files::Roots;
use crate::proc::{clock, files, stat, statm, status};

/// CPUs where they cannot be counted: many.
const UNKNOWN_CPUS: u64 = 1024;

/// Use of swap on the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SwapUse {
    /// There is none.
    #[default]
    Absent,
    /// There is some, and nothing in it.
    Empty,
    /// Something is swapped out.
    Used,
}

/// The counters that are known, so that they are read only where they may have changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownCounters {
    pub(super) counters: Counters,
    pub(super) swap_use: SwapUse,
    /// Its memory may not be read, so that of all counters only its use of swap is shown.
    pub(super) is_denied: bool,
}

/// Time for which it is taken to be known if KSM runs: hosts turn it on when memory gets scarce.
const KSM_HOLDS: Duration = Duration::from_secs(10);

/// Reads counters, with what must be known of the kernel.
pub(super) struct CounterReader {
    page: u64,
    /// `/sys/kernel/mm/ksm/run`, when it was read last, and if it said that KSM runs.
    ksm: Option<PathBuf>,
    merges: Mutex<(Option<Duration>, bool)>,
    release: Vec<u8>,
    cpus: u64,
}

impl CounterReader {
    /// Creates a reader for these trees, with the page size in bytes.
    pub(super) fn new(roots: &Roots, page: u64) -> Self {
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

    /// Adds to counters of `stat` what else counts; what is `known` is not read again, unless it may have changed without
    /// a sign in `stat`.
    pub(super) fn complete(
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
        // Freeing what is swapped out moves neither RSS nor a fault count.
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

    /// Reads the counters of `stat`, and the number of threads.
    pub(super) fn of_stat(&self, target: &Target, proc: &Path, buf: &mut [u8]) -> Option<Stat> {
        let len = target.stat(proc, buf).ok()?;
        let mut stat = stat::parse(&buf[..len], self.page).ok()?.stat;
        thread::complete(&mut stat, target, proc, self.page).ok()?;
        Some(stat)
    }

    /// Makes the anchor of a walk that was just made; `before` is the `stat` before it. Nothing where the process is gone.
    pub(super) fn anchor(
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
        let inexact = statm::inexact(&self.release, self.cpus, after.threads).saturating_mul(self.page);
        let before = Counters::new(&before?);
        Some(Anchor {
            may_merge: self.merges(),
            ..Anchor::new(walked.memory, walked.anonymous, &before, counters, inexact)
        })
    }

    /// Returns true if KSM runs.
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
        let len = target.open(proc, b"statm").and_then(|fd| files::read_record(fd, buf));
        counters.resident = len.ok().and_then(|len| statm::parse(&buf[..len], self.page).ok());
    }

    fn read_with_swap(&self, counters: &mut Counters, target: &Target, proc: &Path, buf: &mut [u8]) {
        let len = target.open(proc, b"status").and_then(|fd| files::read_record(fd, buf));
        let Ok(len) = len else { return };
        counters.swap = status::swap(&buf[..len]).ok();
        counters.resident = status::resident(&buf[..len]).ok();
        if counters.resident.is_none() {
            self.read_resident(counters, target, proc, buf);
        }
    }
}
