//! Schedules the reads of the machine's files, of the inputs of its account, of the kernel's tables of its own memory, and of
//! the log of OOM kills. Files that change slowly are read rarely.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::job::{Job, JobKey, RunningReads, job};
use crate::account::headroom::common_cgroup;
use crate::model::kernel::KernelTables;
use crate::model::kill::{DaemonKill, KillCause, OomCounts, OomKill, OomVictim, acts_for_cgroups, forget_kills};
use crate::model::snapshot::InspectedCgroup;
use crate::model::system::{AccountingInputs, MemoryMount, ScopeKind};
use crate::model::{Missing, Reading, SystemSample};
use crate::proc::accounting::{self, AccountingFile, MemoryFs};
use crate::proc::cgroup::scope::{Place, ScopeReading};
use crate::proc::cgroup::{Mounts, figures};
use crate::proc::clock;
use crate::proc::kmsg::{KillLog, LoggedKill, LoggedKills};
use crate::proc::system::{Machine, MachineUpdate, SystemFile};
use crate::sampler::kernel::{SlabKinds, read_allocinfo, read_slabinfo};
use crate::sampler::kills::recent;
use crate::sampler::reading::counters::SwapUse;

/// When figures were last requested, and whether they are shown.
#[derive(Default)]
pub(super) struct Turns {
    is_shown: bool,
    asked_at: Option<Duration>,
    is_reading: bool,
}

impl Turns {
    /// Sets whether the figures are shown. If they just became visible, the next tick reads them.
    pub(super) const fn show(&mut self, is_shown: bool) {
        if is_shown && !self.is_shown {
            self.asked_at = None;
        }
        self.is_shown = is_shown;
    }

    fn is_due(&self, now: Duration, holds: Duration) -> bool {
        self.asked_at.is_none_or(|at| now.saturating_sub(at) >= holds)
    }

    /// Returns true if a read is due, because the last one is older than `holds`, and records that it starts.
    fn starts(&mut self, now: Duration, holds: Duration) -> bool {
        let starts = self.is_due(now, holds) && !self.is_reading;
        if starts {
            (self.asked_at, self.is_reading) = (Some(now), true);
        }
        starts
    }
}

/// Time between two reads of values that hardly ever change or only serve a warning: the host name, zmtop's own
/// cgroup limit; and, if there are none, swap areas, zram devices and the ZFS cache. Also between two reads of the account
/// while it is not shown: a read takes 1 to 2 ms, which would delay the reads of processes.
const SELDOM: Duration = Duration::from_secs(10);
/// Time between two reads of the account and of the kernel's tables while they are shown.
const OFTEN: Duration = Duration::from_secs(2);
/// Time between two reads of the uptime. The clock advances it in between.
const UPTIME_HOLDS: Duration = Duration::from_secs(60);
/// Time for which pressure is valid. The kernel updates its averages every 2 s (`PSI_FREQ` of `kernel/sched/psi.c`).
/// A little less, because ticks vary slightly.
const PRESSURE_HOLDS: Duration = Duration::from_millis(1900);

#[derive(Default)]
pub(super) struct SystemFiles {
    pub(super) machine: Machine,
    files: HashMap<SystemFile, Turns>,
    /// By how many seconds the uptime differs from `CLOCK_BOOTTIME`; `None` in a captured tree, whose time may stand still.
    uptime_offset: Option<f64>,
    /// The cgroup that stands for the machine, once it is known, and its memory.
    place: Option<Place>,
    pub(super) scope: Option<ScopeReading>,
    scope_turns: Turns,
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
    pub(super) fn jobs(&mut self, now: Duration, is_made: bool) -> Vec<Job> {
        let mut jobs = Vec::new();
        let holds = if self.place.is_some() { Duration::ZERO } else { SELDOM };
        if self.scope_turns.starts(now, holds) {
            let place = self.place.clone();
            let scope = job(
                JobKey::Scope,
                if place.is_some() { 100 } else { 30 },
                |context, _| {
                    let place = place.or_else(|| Place::of_container(&context.roots));
                    place.map(|place| place.read())
                },
                |scanner, reading| scanner.system.set_scope(reading),
            );
            jobs.push(scope.urgent());
        }
        for file in SystemFile::ALL {
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
            if self.files.entry(file).or_default().starts(now, holds) {
                let read = job(
                    JobKey::System(file),
                    30,
                    move |context, reader| file.read(&context.roots, reader.buf),
                    move |scanner, update| {
                        scanner.system.update(file, update, is_made);
                        if file == SystemFile::Vmstat && scanner.system.place.is_none() {
                            let kills = scanner.system.machine.sample.oom_kill;
                            let job = scanner.oom.follow(kills, None, is_made);
                            scanner.jobs.extend(job);
                        }
                    },
                );
                jobs.push(read.urgent());
            }
        }
        jobs
    }

    fn update(&mut self, file: SystemFile, update: MachineUpdate, is_made: bool) {
        self.files.entry(file).or_default().is_reading = false;
        update(&mut self.machine);
        if file == SystemFile::Uptime && !is_made {
            let uptime = self.machine.sample.uptime.ok();
            self.uptime_offset = uptime.map(|uptime| clock::uptime_offset(uptime, clock::since_boot()));
        }
    }

    fn set_scope(&mut self, reading: Option<ScopeReading>) {
        self.scope_turns.is_reading = false;
        if let Some(reading) = &reading {
            self.place = Some(reading.place.clone());
        }
        self.scope = reading;
    }

    /// Returns the cgroup that stands for the machine.
    pub(super) const fn place(&self) -> Option<&Place> {
        self.place.as_ref()
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

    /// Returns the current figures of the machine, or of the cgroup that stands for it. Files whose read is late are
    /// reported as timed out.
    /// The uptime was read at `since_boot` of `CLOCK_BOOTTIME`.
    pub(super) fn sample(
        &mut self,
        accounting: &Accounting,
        running: &RunningReads,
        since_boot: Duration,
    ) -> SystemSample {
        if let Some(offset) = self.uptime_offset {
            self.machine.sample.uptime = Ok(since_boot.as_secs_f64() + offset);
        }
        for (file, turns) in &self.files {
            if turns.is_reading && running.is_late(JobKey::System(*file)) {
                file.parse(Err(Missing::TimedOut))(&mut self.machine);
            }
        }
        self.machine.sample.mark_swap();
        let host = &self.machine.sample;
        if self.scope_turns.is_reading && running.is_late(JobKey::Scope) {
            self.scope = self.scope.as_ref().map(ScopeReading::late);
        }
        let narrow = self
            .scope
            .as_ref()
            .and_then(|scope| scope.narrow(host, &accounting.inputs));
        narrow.unwrap_or_else(|| host.clone())
    }
}

/// The cgroup that the user inspects, besides the machine.
#[derive(Default)]
pub(super) struct Inspector {
    path: Option<Arc<[u8]>>,
    reading: Option<Reading<ScopeReading>>,
    turns: Turns,
}

impl Inspector {
    /// Chooses the cgroup. The next tick reads another one.
    pub(super) fn set(&mut self, path: Option<Arc<[u8]>>) {
        if self.path != path {
            self.reading = None;
            self.turns.asked_at = None;
            self.path = path;
        }
    }

    /// Returns the job to read the cgroup if that is due.
    pub(super) fn job(&mut self, now: Duration) -> Option<Job> {
        let path = Arc::clone(self.path.as_ref()?);
        self.turns.starts(now, OFTEN).then(|| {
            job(
                JobKey::Inspected,
                200,
                |context, _| {
                    let mounts = figures::mounts(&context.roots).map(Arc::new);
                    let place = mounts.and_then(|mounts| Place::at(mounts, Arc::clone(&path)));
                    (path, place.map(|place| place.read()))
                },
                |scanner, (path, reading)| {
                    let inspector = &mut scanner.inspector;
                    inspector.turns.is_reading = false;
                    if inspector.path.as_ref() == Some(&path) {
                        inspector.reading = Some(reading);
                    }
                },
            )
        })
    }

    /// Returns the figures as last read.
    pub(super) fn publish(
        &self,
        host: &SystemSample,
        accounting: &Accounting,
        running: &RunningReads,
    ) -> Option<Arc<InspectedCgroup>> {
        let path = Arc::clone(self.path.as_ref()?);
        let reading = match &self.reading {
            _ if self.turns.is_reading && running.is_late(JobKey::Inspected) => Err(Missing::TimedOut),
            None => Err(Missing::Pending),
            Some(reading) => reading.as_ref().map_err(|why| *why),
        };
        let system = reading.and_then(|read| {
            let system = read.narrow(host, &accounting.inputs).ok_or(Missing::OutOfView)?;
            // The directory of a cgroup without the controller exists.
            system.scope.as_ref().ok_or(Missing::OutOfView)?.current?;
            Ok(system)
        });
        let missing = || AccountingInputs::missing(Missing::Unsupported);
        Some(Arc::new(InspectedCgroup {
            path,
            system,
            accounting: reading.map_or_else(|_| missing(), ScopeReading::accounting),
        }))
    }
}

pub(super) struct Accounting {
    pub(super) turns: Turns,
    inputs: Arc<AccountingInputs>,
    reading: HashSet<AccountingFile>,
    is_listing: bool,
    /// The devices of the in-memory file systems that are being read.
    asking: HashSet<u64>,
}

impl Default for Accounting {
    fn default() -> Self {
        Self {
            turns: Turns::default(),
            inputs: Arc::new(AccountingInputs::missing(Missing::Pending)),
            reading: HashSet::new(),
            is_listing: false,
            asking: HashSet::new(),
        }
    }
}

impl Accounting {
    /// Returns the jobs to read the account if that is due. The first tick may serve a single table, so it reads the
    /// account only if it is shown. The free lists of processors are then read at every tick: pages move between them and
    /// `MemFree`, which would show as memory that is not accounted for, or as counted twice.
    pub(super) fn jobs(&mut self, now: Duration, is_first: bool) -> Vec<Job> {
        let holds = if self.turns.is_shown { OFTEN } else { SELDOM };
        if !self.turns.is_due(now, holds) || (is_first && !self.turns.is_shown) {
            let zones = self.turns.is_shown.then(|| self.job(AccountingFile::Zones));
            return zones.flatten().into_iter().collect();
        }
        self.turns.asked_at = Some(now);
        let files = AccountingFile::ALL.iter();
        let mut jobs: Vec<Job> = files.filter_map(|file| self.job(*file)).collect();
        if !std::mem::replace(&mut self.is_listing, true) {
            jobs.push(job(
                JobKey::MemoryMounts,
                50,
                |context, _| accounting::list(&context.roots),
                |scanner, found| scanner.accounting.set_mounts(found, &mut scanner.jobs),
            ));
        }
        jobs
    }

    /// Returns the job that reads a file; `None` if it is being read.
    fn job(&mut self, file: AccountingFile) -> Option<Job> {
        self.reading.insert(file).then(|| {
            job(
                JobKey::Accounting(file),
                60,
                move |context, _| file.read(&context.roots),
                move |scanner, update| {
                    scanner.accounting.reading.remove(&file);
                    update(Arc::make_mut(&mut scanner.accounting.inputs));
                },
            )
        })
    }

    /// Stores the list of in-memory file systems, and adds one job per file system, because its mount point may be
    /// below one that never answers.
    fn set_mounts(&mut self, found: Reading<Vec<MemoryFs>>, jobs: &mut Vec<Job>) {
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
            let device = fs.device;
            if self.asking.insert(device) {
                jobs.push(job(
                    JobKey::MemoryMount(device),
                    5,
                    move |context, _| accounting::held(&fs, &context.roots),
                    move |scanner, held| {
                        scanner.accounting.asking.remove(&device);
                        if let Some(mount) = mount_of(&mut scanner.accounting.inputs, device) {
                            (mount.path, mount.used, mount.size) = (held.path, held.used, held.size);
                        }
                    },
                ));
            }
        }
    }

    /// Returns the current inputs. An input whose read is late is reported as timed out.
    pub(super) fn publish(&mut self, running: &RunningReads) -> Arc<AccountingInputs> {
        for file in &self.reading {
            if running.is_late(JobKey::Accounting(*file)) {
                file.missing(Missing::TimedOut)(Arc::make_mut(&mut self.inputs));
            }
        }
        if self.is_listing && running.is_late(JobKey::MemoryMounts) {
            Arc::make_mut(&mut self.inputs).mounts = Err(Missing::TimedOut);
        }
        for device in &self.asking {
            if running.is_late(JobKey::MemoryMount(*device))
                && let Some(mount) = mount_of(&mut self.inputs, *device)
            {
                (mount.used, mount.size) = (Err(Missing::TimedOut), Err(Missing::TimedOut));
            }
        }
        Arc::clone(&self.inputs)
    }
}

fn mount_of(inputs: &mut Arc<AccountingInputs>, device: u64) -> Option<&mut MemoryMount> {
    let mounts = Arc::make_mut(inputs).mounts.as_mut().ok()?;
    mounts.iter_mut().find(|mount| mount.device == device)
}

/// Time between two reads of the slab caches while they are not shown, for their history. A read takes the kernel some
/// milliseconds, because it counts the objects of each cache.
const SLAB_SELDOM: Duration = Duration::from_secs(60);
/// Expected time of a read of such a table, in µs.
const TABLE_MICROS: u64 = 5000;

#[derive(Default)]
pub(super) struct KernelReader {
    tables: KernelTables,
    kinds: SlabKinds,
    pub(super) slab: Turns,
    pub(super) sites: Turns,
}

impl KernelReader {
    /// Returns the jobs that are due. The first tick may serve a single table, so it reads only what is shown.
    pub(super) fn jobs(&mut self, now: Duration, is_first: bool, cgroups: Option<Arc<Mounts>>) -> Vec<Job> {
        // If the file is missing or not readable now, that will not change.
        let may_read = matches!(self.tables.slab, Ok(_) | Err(Missing::Pending | Missing::TimedOut));
        let mut jobs = Vec::new();
        let holds = if self.slab.is_shown { OFTEN } else { SLAB_SELDOM };
        if (self.slab.is_shown || (may_read && !is_first)) && self.slab.starts(now, holds) {
            let mut kinds = std::mem::take(&mut self.kinds);
            jobs.push(job(
                JobKey::Slab,
                TABLE_MICROS,
                move |context, _| {
                    let dying = cgroups.as_deref().map_or(Err(Missing::Pending), figures::dying);
                    (read_slabinfo(&context.roots, &mut kinds), kinds, dying)
                },
                |scanner, (found, kinds, dying)| {
                    let kernel = &mut scanner.kernel;
                    (kernel.slab.is_reading, kernel.kinds) = (false, kinds);
                    kernel.tables.slab = found.map(Arc::new);
                    kernel.tables.dying_cgroups = dying;
                },
            ));
        }
        if self.sites.is_shown && self.sites.starts(now, OFTEN) {
            jobs.push(job(
                JobKey::AllocSites,
                TABLE_MICROS,
                |context, _| read_allocinfo(&context.roots),
                |scanner, found| {
                    scanner.kernel.sites.is_reading = false;
                    scanner.kernel.tables.sites = found.map(Arc::new);
                },
            ));
        }
        jobs
    }

    /// Returns the current tables. A table whose read is late is reported as timed out.
    pub(super) fn publish(&mut self, running: &RunningReads) -> KernelTables {
        if self.slab.is_reading && running.is_late(JobKey::Slab) {
            self.tables.slab = Err(Missing::TimedOut);
        }
        if self.sites.is_reading && running.is_late(JobKey::AllocSites) {
            self.tables.sites = Err(Missing::TimedOut);
        }
        self.tables.clone()
    }
}

const KEPT: usize = 32;
/// Reads of the log after which a kill counts as not logged. The kernel counts a kill a moment before it logs it.
const TRIES: u32 = 3;
/// Time before the first read of the log in which kills may be in it, but not in the counter.
const LATE: Duration = Duration::from_secs(1);

/// Maximum time between two kills of one event by a daemon, in milliseconds.
const SAME_EVENT: u64 = 1000;
/// Time within which a process that was killed is the same one, in milliseconds: it got SIGTERM first, or the kernel killed it
/// in between.
const SAME_KILL: u64 = 60_000;

#[derive(Default)]
pub(super) struct OomWatch {
    /// The kernel's counter when it was last read.
    counted: Option<u64>,
    /// Kills that were counted but not yet looked up.
    pending: u64,
    tries: u32,
    /// Kills that were read from the log before the counter had them.
    early: usize,
    /// The kills before zmtop started were looked up.
    looked_back: bool,
    /// The log has been read up to its end at that time.
    is_current: bool,
    log: KillLog,
    /// The kills found in the log before as many were counted.
    found: LoggedKills,
    is_reading: bool,
    /// The newest last.
    pub(super) kills: Arc<[OomKill]>,
    pub(super) counts: OomCounts,
}

impl OomWatch {
    /// Records the kernel's counter. If it rose, returns the job to read the log. The second tick also looks up the kills of
    /// the last ten minutes; a single table needs none. It does not do so in a tree of files (`is_made`), whose
    /// times mean nothing, or in a container, because the log does not distinguish its kills from others.
    pub(super) fn follow(&mut self, counter: Reading<u64>, scope: Option<&Place>, is_made: bool) -> Option<Job> {
        let now = counter.ok()?;
        let is_first = self.counted.is_none();
        let before = self.counted.replace(now).unwrap_or(now);
        self.pending = self.pending.saturating_add(now.saturating_sub(before));
        let is_container = scope.is_some_and(|place| place.kind == ScopeKind::Container);
        let looks_back = !is_first && !self.looked_back && now > 0 && !is_made && !is_container;
        self.looked_back |= !is_first;
        if (self.pending == 0 && !looks_back) || std::mem::replace(&mut self.is_reading, true) {
            return None;
        }
        let chosen = scope.filter(|_| !is_container).map(|place| Arc::clone(&place.path));
        let mut log = std::mem::take(&mut self.log);
        let read = job(
            JobKey::OomKills,
            2000,
            move |context, reader| (log.read(&context.roots, reader.buf), log),
            move |scanner, (found, log)| {
                let found = found.map(|mut found| {
                    if let Some(above) = chosen {
                        found.kills.retain(|kill| kill.victim.is_within(&above));
                    }
                    found
                });
                scanner.oom.log = log;
                if looks_back {
                    scanner.oom.look_back(found);
                } else {
                    scanner.oom.add(found);
                }
            },
        );
        Some(read)
    }

    /// Stores the kills of the last ten minutes.
    fn look_back(&mut self, found: Reading<LoggedKills>) {
        self.is_reading = false;
        let Ok(found) = found else { return };
        self.is_current = true;
        // The counter was read before the log, so it counts these kills later. They are known by then.
        let is_late = |kill: &&LoggedKill| clock::monotonic().saturating_sub(kill.at) < LATE;
        self.early = found.kills.iter().filter(is_late).count();
        let recent = recent(found.kills);
        // Those since the first tick.
        let new = recent.len().min(usize::try_from(self.pending).unwrap_or(usize::MAX));
        self.pending -= new as u64;
        self.early = self.early.saturating_sub(new);
        self.count(&recent[recent.len() - new - self.early..]);
        self.store(recent);
    }

    /// Counts kills by cause.
    fn count(&mut self, kills: &[OomKill]) {
        for kill in kills {
            self.counts.add(kill.cause(), 1);
        }
    }

    /// Stores the kills that the log has since the last read.
    fn add(&mut self, found: Reading<LoggedKills>) {
        self.is_reading = false;
        let pending = usize::try_from(self.pending).unwrap_or(usize::MAX);
        let why = match found {
            Ok(mut found) => {
                if !std::mem::replace(&mut self.is_current, true) {
                    // The log was read from its beginning: only the newest are new.
                    if found.more > 0 {
                        // Of the machine, those before all others are kept, however old they are.
                        let first = found.kills.iter().find(|kill| !kill.is_of_machine());
                        let first = first.map_or(0, |kill| kill.record);
                        found.kills.retain(|kill| kill.record >= first);
                    }
                    let all = found.kills.len() + found.repeats;
                    let older = all.saturating_sub(pending);
                    found.kills.drain(..older.min(found.kills.len()));
                    found.more = found.more.min(pending.saturating_sub(all));
                    found.group_of_last = None;
                }
                self.join(found);
                self.tries += 1;
                let all = self.found.kills.len() + self.found.more + self.found.repeats;
                if all + self.early < pending && self.tries < TRIES {
                    return;
                }
                Missing::Gone
            }
            Err(why) => why,
        };
        let found = std::mem::take(&mut self.found);
        (self.pending, self.tries) = (0, 0);
        let all = found.kills.len() + found.more + found.repeats + self.early;
        let unknown = pending.saturating_sub(all);
        self.early = all.saturating_sub(pending);
        let (time, now) = (SystemTime::now(), Ok(clock::monotonic().as_millis() as u64));
        let kill = |record, victim| OomKill {
            time,
            monotonic_ms: now,
            record,
            daemon: None,
            victim,
        };
        let shown = unknown.min(KEPT);
        let known = found.kills.into_iter();
        let known = known.map(|found| kill(Some(found.record), Ok(found.victim)));
        let new: Vec<_> = std::iter::repeat_n(kill(None, Err(why)), shown).chain(known).collect();
        self.count(&new);
        let others = (unknown - shown).saturating_add(found.more);
        self.counts.add(KillCause::Unknown, others as u64);
        self.store(new);
    }

    /// Adds the results of a read to the earlier ones.
    fn join(&mut self, found: LoggedKills) {
        if let Some(group) = &found.group_of_last {
            let earlier = self.found.kills.last_mut().map(|kill| &mut kill.victim);
            if let Some(first) = earlier {
                first.group = Some(group.clone());
            } else {
                let mut kills = self.kills.to_vec();
                let last = kills.iter_mut().rfind(|kill| kill.record.is_some());
                if let Some(Ok(first)) = last.map(|kill| &mut kill.victim) {
                    first.group = Some(group.clone());
                }
                self.kills = kills.into();
            }
        }
        self.found.more += found.more;
        self.found.repeats += found.repeats;
        self.found.kills.extend(found.kills);
        self.found.more += forget_kills(&mut self.found.kills, 2 * KEPT, LoggedKill::origin);
    }

    /// Adds the kill of a process by a daemon. One within a second of another by the same daemon is of the same event: it may
    /// kill all of a cgroup.
    pub(super) fn add_sent(&mut self, name: &str, at: Duration, victim: OomVictim) {
        let millis = at.as_millis() as u64;
        let is_known = |kill: &OomKill| {
            let same = kill.victim.as_ref();
            let is_same = same.is_ok_and(|known| (known.pid, &known.comm) == (victim.pid, &victim.comm));
            is_same && kill.monotonic_ms.is_ok_and(|known| known.abs_diff(millis) < SAME_KILL)
        };
        if self.kills.iter().any(is_known) {
            return;
        }
        let cause = if acts_for_cgroups(name) {
            KillCause::Cgroup
        } else {
            KillCause::Daemon
        };
        self.counts.add(cause, 1);
        let mut kills = self.kills.to_vec();
        let of_daemon = kills.iter_mut().rev().filter_map(|kill| {
            let daemon = kill.daemon.as_mut().filter(|daemon| *daemon.name == *name)?;
            Some((daemon, &mut kill.victim, kill.monotonic_ms.ok()?))
        });
        let event = of_daemon
            .take(1)
            .find(|(.., first)| first.abs_diff(millis) <= SAME_EVENT);
        if let Some((daemon, first, _)) = event {
            daemon.others += 1;
            if let Ok(first) = first {
                let path = first.group.as_deref().or(first.cgroup.as_deref());
                first.group = path
                    .zip(victim.cgroup.as_deref())
                    .and_then(|(a, b)| common_cgroup(a, b))
                    .map(Into::into);
            }
            self.kills = kills.into();
            return;
        }
        self.store(vec![OomKill {
            time: SystemTime::now(),
            monotonic_ms: Ok(millis),
            record: None,
            daemon: Some(DaemonKill {
                name: name.into(),
                others: 0,
            }),
            victim: Ok(victim),
        }]);
    }

    fn store(&mut self, new: Vec<OomKill>) {
        let mut kills = self.kills.to_vec();
        kills.extend(new);
        forget_kills(&mut kills, KEPT, OomKill::origin);
        self.kills = kills.into();
    }
}
