//! Schedules the reads of the machine's own files, of the inputs of its account, and of the log of OOM kills. Files that
//! change slowly are read seldom.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::counters::SwapUse;
use super::job::{Job, JobKey};
use crate::model::snapshot::{OomKill, OomVictim};
use crate::model::system::{AccountingInputs, MemoryMount};
use crate::model::{Missing, Reading, SystemSample};
use crate::proc::accounting::{AccountingFile, Held, InputUpdate, MemoryFs};
use crate::proc::cgroup::scope::{Place, ScopeReading};
use crate::proc::clock;
use crate::proc::system::{Machine, MachineUpdate, SystemFile};

/// Time between two reads of values that hardly ever change or only serve a warning: the host name, zmtop's own
/// cgroup limit; and, if there are none, swap areas, zram devices and the ZFS cache.
const SELDOM: Duration = Duration::from_secs(10);
/// Time between two reads of the uptime. The clock advances it in between.
const UPTIME_HOLDS: Duration = Duration::from_secs(60);
/// Time for which pressure is valid. The kernel updates its averages every 2 s (`PSI_FREQ` of `kernel/sched/psi.c`).
/// A little less, because ticks vary slightly.
const PRESSURE_HOLDS: Duration = Duration::from_millis(1900);

/// The machine, and when its files were read.
#[derive(Default)]
pub(super) struct SystemFiles {
    pub(super) machine: Machine,
    reading: Vec<SystemFile>,
    asked_at: HashMap<SystemFile, Duration>,
    /// The uptime as read, and the clock then; `None` in a captured tree, whose time may stand still.
    uptime: Option<(f64, Duration)>,
    /// The cgroup that stands for the machine, once it is known; what was read of it; when that was last requested.
    place: Option<Place>,
    pub(super) scope: Option<ScopeReading>,
    is_reading_scope: bool,
    scope_asked_at: Option<Duration>,
}

impl SystemFiles {
    /// Creates the schedule for a machine; `place` is the cgroup that stands for it, if any.
    pub(super) fn of(place: Option<Place>) -> Self {
        Self {
            place,
            ..Self::default()
        }
    }

    /// Returns the jobs that are due. If the tree `is_made` of plain files, most files are read every time, since
    /// they may change at any time.
    pub(super) fn jobs(&mut self, now: Duration, is_made: bool) -> impl Iterator<Item = Job> {
        let holds = if self.place.is_some() { Duration::ZERO } else { SELDOM };
        let is_due = self.scope_asked_at.is_none_or(|at| now.saturating_sub(at) >= holds);
        let scope = (is_due && !self.is_reading_scope).then(|| {
            (self.is_reading_scope, self.scope_asked_at) = (true, Some(now));
            Job::Scope(self.place.clone())
        });
        scope.into_iter().chain(self.files(now, is_made))
    }

    fn files(&mut self, now: Duration, is_made: bool) -> impl Iterator<Item = Job> {
        SystemFile::ALL.into_iter().filter_map(move |file| {
            let holds = match file {
                SystemFile::BootId if self.machine.boot_id.is_ok() => Duration::MAX,
                SystemFile::Limit => SELDOM,
                _ if is_made => Duration::ZERO,
                SystemFile::Host => SELDOM,
                SystemFile::Zram if self.machine.sample.zram.is_empty() => SELDOM,
                SystemFile::Arcstats if self.machine.sample.arc_size == Err(Missing::Unsupported) => SELDOM,
                SystemFile::Swaps if self.machine.sample.swap_total == Ok(0) => SELDOM,
                SystemFile::Uptime => UPTIME_HOLDS,
                SystemFile::Pressure => PRESSURE_HOLDS,
                _ => Duration::ZERO,
            };
            let is_due = self
                .asked_at
                .get(&file)
                .is_none_or(|at| now.saturating_sub(*at) >= holds);
            if !is_due || self.reading.contains(&file) {
                return None;
            }
            self.asked_at.insert(file, now);
            self.reading.push(file);
            Some(Job::System(file))
        })
    }

    pub(super) fn take_in(&mut self, file: SystemFile, update: MachineUpdate, is_made: bool) {
        self.reading.retain(|other| *other != file);
        update(&mut self.machine);
        if file == SystemFile::Uptime && !is_made {
            let uptime = self.machine.sample.uptime.ok();
            self.uptime = uptime.map(|uptime| (uptime, clock::since_boot()));
        }
    }

    /// Stores the memory of the cgroup that stands for the machine, if there is one.
    pub(super) fn take_in_scope(&mut self, reading: Option<ScopeReading>) {
        self.is_reading_scope = false;
        if let Some(reading) = &reading {
            self.place = Some(reading.place.clone());
        }
        self.scope = reading;
    }

    /// Returns whether swap exists and is used; assumes that it is used if that is unknown.
    pub(super) fn swap_use(&self) -> SwapUse {
        let system = &self.machine.sample;
        match (system.swap_total, system.swap_used()) {
            (Ok(0), _) => SwapUse::Absent,
            (_, Ok(0)) => SwapUse::Empty,
            _ => SwapUse::Used,
        }
    }

    /// Returns the current figures of the machine, or of the cgroup that stands for it. Files whose read `is_late`
    /// are reported as timed out.
    pub(super) fn sample(&mut self, accounting: &Accounting, is_late: impl Fn(JobKey) -> bool) -> SystemSample {
        if let Some((uptime, then)) = self.uptime {
            let since = clock::since_boot().saturating_sub(then);
            self.machine.sample.uptime = Ok(uptime + since.as_secs_f64());
        }
        for file in self.reading.iter().filter(|file| is_late(JobKey::System(**file))) {
            file.parse(Err(Missing::TimedOut))(&mut self.machine);
        }
        self.machine.sample.mark_swap();
        let host = &self.machine.sample;
        if self.is_reading_scope && is_late(JobKey::Scope) {
            self.scope = self.scope.as_ref().map(ScopeReading::late);
        }
        let narrow = self
            .scope
            .as_ref()
            .and_then(|scope| scope.narrow(host, &accounting.inputs));
        narrow.unwrap_or_else(|| host.clone())
    }
}

/// Time between two reads while the account is not shown. It changes slowly, and a read takes 1 to 2 ms, which would
/// otherwise delay the reads of processes.
const ACCOUNT_SELDOM: Duration = Duration::from_secs(10);
/// Time between two reads while the account is shown.
const ACCOUNT_OFTEN: Duration = Duration::from_secs(2);

pub(super) struct Accounting {
    inputs: Arc<AccountingInputs>,
    is_wanted: bool,
    asked_at: Option<Duration>,
    reading: Vec<AccountingFile>,
    is_listing: bool,
    /// The devices of the in-memory file systems that are being read.
    asking: HashSet<u64>,
}

impl Default for Accounting {
    fn default() -> Self {
        Self {
            inputs: Arc::new(AccountingInputs::missing(Missing::Pending)),
            is_wanted: false,
            asked_at: None,
            reading: Vec::new(),
            is_listing: false,
            asking: HashSet::new(),
        }
    }
}

impl Accounting {
    /// Sets whether the account is shown. If it just became visible, the next tick reads it.
    pub(super) fn set(&mut self, is_wanted: bool) {
        if is_wanted && !self.is_wanted {
            self.asked_at = None;
        }
        self.is_wanted = is_wanted;
    }

    /// Returns the jobs to read the account if that is due. The `first` tick may serve a single table, so it
    /// reads the account only if it is wanted.
    pub(super) fn jobs(&mut self, now: Duration, is_first: bool) -> Vec<Job> {
        let holds = if self.is_wanted { ACCOUNT_OFTEN } else { ACCOUNT_SELDOM };
        let is_due = self.asked_at.is_none_or(|at| now.saturating_sub(at) >= holds);
        if !is_due || (is_first && !self.is_wanted) {
            return Vec::new();
        }
        self.asked_at = Some(now);
        let due = AccountingFile::ALL.iter().filter(|file| !self.reading.contains(file));
        let due: Vec<_> = due.copied().collect();
        self.reading.extend(&due);
        let mut jobs: Vec<_> = due.into_iter().map(Job::Accounting).collect();
        if !std::mem::replace(&mut self.is_listing, true) {
            jobs.push(Job::MemoryMounts);
        }
        jobs
    }

    pub(super) fn take_in(&mut self, file: AccountingFile, update: InputUpdate) {
        self.reading.retain(|other| *other != file);
        update(Arc::make_mut(&mut self.inputs));
    }

    /// Stores the list of in-memory file systems, and adds one job per file system, because a read of any of them may
    /// block.
    pub(super) fn take_in_mounts(&mut self, found: Reading<Vec<MemoryFs>>, jobs: &mut Vec<Job>) {
        self.is_listing = false;
        let inputs = Arc::make_mut(&mut self.inputs);
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                inputs.mounts = Err(why);
                return;
            }
        };
        let known = inputs.mounts.as_mut().map_or_else(|_| Vec::new(), std::mem::take);
        let mut known: HashMap<u64, MemoryMount> = known.into_iter().map(|mount| (mount.device, mount)).collect();
        let mount = |fs: &MemoryFs| {
            known.remove(&fs.device).unwrap_or_else(|| MemoryMount {
                device: fs.device,
                path: fs.points[0].clone(),
                kind: fs.kind.clone(),
                used: Err(Missing::Pending),
                size: Err(Missing::Pending),
            })
        };
        inputs.mounts = Ok(found.iter().map(mount).collect());
        for fs in found {
            if self.asking.insert(fs.device) {
                jobs.push(Job::MemoryMount(fs));
            }
        }
    }

    /// Stores how many bytes a file system holds.
    pub(super) fn take_in_held(&mut self, device: u64, held: Held) {
        self.asking.remove(&device);
        let inputs = Arc::make_mut(&mut self.inputs);
        let mounts = inputs.mounts.iter_mut().flatten();
        if let Some(mount) = mounts.into_iter().find(|mount| mount.device == device) {
            (mount.path, mount.used, mount.size) = (held.path, held.used, held.size);
        }
    }

    /// Returns the current inputs. An input whose read `is_late` is reported as timed out.
    pub(super) fn publish(&mut self, is_late: impl Fn(JobKey) -> bool) -> Arc<AccountingInputs> {
        let late: Vec<_> = self
            .reading
            .iter()
            .filter(|file| is_late(JobKey::Accounting(**file)))
            .collect();
        for file in late {
            file.missing(Missing::TimedOut)(Arc::make_mut(&mut self.inputs));
        }
        if self.is_listing && is_late(JobKey::MemoryMounts) {
            Arc::make_mut(&mut self.inputs).mounts = Err(Missing::TimedOut);
        }
        for device in self
            .asking
            .iter()
            .filter(|device| is_late(JobKey::MemoryMount(**device)))
        {
            let inputs = Arc::make_mut(&mut self.inputs);
            let mut mounts = inputs.mounts.iter_mut().flatten();
            if let Some(mount) = mounts.find(|mount| mount.device == *device) {
                (mount.used, mount.size) = (Err(Missing::TimedOut), Err(Missing::TimedOut));
            }
        }
        Arc::clone(&self.inputs)
    }
}

/// Maximum number of kills stored.
const KEPT: usize = 32;
/// Reads of the log after which a kill counts as not logged. The kernel counts a kill a moment before it logs it.
const TRIES: u32 = 3;

pub(super) struct OomWatch {
    /// The kernel's counter when it was last read.
    counted: Option<u64>,
    /// Kills that were counted but not yet looked up.
    pending: u64,
    tries: u32,
    /// The record number of the last kill that was read.
    last: Option<u64>,
    is_reading: bool,
    /// The newest last.
    pub(super) kills: Arc<[OomKill]>,
}

impl Default for OomWatch {
    fn default() -> Self {
        Self {
            counted: None,
            pending: 0,
            tries: 0,
            last: None,
            is_reading: false,
            kills: Arc::from([]),
        }
    }
}

impl OomWatch {
    /// Records the kernel's counter. If it rose, returns the job to read the log.
    pub(super) fn follow(&mut self, counter: Reading<u64>) -> Option<Job> {
        let now = counter.ok()?;
        let before = self.counted.replace(now).unwrap_or(now);
        self.pending = self.pending.saturating_add(now.saturating_sub(before));
        if self.pending == 0 || std::mem::replace(&mut self.is_reading, true) {
            return None;
        }
        Some(Job::OomKills)
    }

    /// Stores the kills found in the log, with their record numbers.
    pub(super) fn take_in(&mut self, found: Reading<Vec<(u64, OomVictim)>>) {
        self.is_reading = false;
        let pending = usize::try_from(self.pending).unwrap_or(usize::MAX);
        let (new, why) = match found {
            Ok(found) => {
                // Without a previous record number, only the newest `pending` kills are new.
                let older = found.len().saturating_sub(pending);
                let is_new = |at: usize, record: u64| self.last.map_or(at >= older, |last| record > last);
                let new: Vec<_> = found
                    .into_iter()
                    .enumerate()
                    .filter(|(at, (record, _))| is_new(*at, *record))
                    .map(|(_, kill)| kill)
                    .collect();
                self.tries += 1;
                if new.len() < pending && self.tries < TRIES {
                    return;
                }
                (new, Missing::Gone)
            }
            Err(why) => (Vec::new(), why),
        };
        (self.pending, self.tries) = (0, 0);
        self.last = new.last().map(|(record, _)| *record).or(self.last);
        let time = SystemTime::now();
        let monotonic_ms = Ok(clock::monotonic().as_millis() as u64);
        let unknown = pending.saturating_sub(new.len()).min(KEPT);
        let victims = std::iter::repeat_n(Err(why), unknown).chain(new.into_iter().map(|(_, victim)| Ok(victim)));
        let mut kills = self.kills.to_vec();
        kills.extend(victims.map(|victim| OomKill {
            time,
            monotonic_ms,
            victim,
        }));
        let older = kills.len().saturating_sub(KEPT);
        self.kills = kills.split_off(older).into();
    }
}
