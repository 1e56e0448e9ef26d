//! Suspects: processes, groups and parts of the RAM that grow or leak, worst first.

use std::array;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::account::headroom::{common_cgroup, headroom, machine_headroom, process_headroom};
use crate::account::{ANON, PartKind, REST, SHMEM, SLAB};
use crate::call_tree::KeptBy;
use crate::group::{GroupBy, GroupKey, GroupNames, PartKey, RowKey};
use crate::history::growth::LastGrowth;
use crate::history::held::HeldHistory;
use crate::history::holders::PartShare;
use crate::history::kernel::growth;
use crate::history::process::Ended;
use crate::history::{History, RowHistory};
use crate::model::HeldKind;
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::reading::Missing;
use crate::model::snapshot::Snapshot;
use crate::order;
use crate::text;
use crate::trend::{Judgement, Metric, Verdict, agree};
use crate::units::{self, Units};

/// Minimum number, and minimum share, of a program's processes that must grow to be reported in one line. If fewer grow, each
/// is reported.
const MIN_ALIKE: usize = 3;
const MIN_ALIKE_SHARE: f64 = 0.75;
/// Multiple of their median pace above which a process is reported by itself.
const MAX_ALIKE_PACE: f64 = 4.0;
/// Number of rows of each user that come before all further rows with the same verdict.
const FIRST_OF_USER: usize = 3;
/// The parts of the RAM that contain little besides mapped and held memory.
const EXPLAINED_BY_PROCESSES: [&str; 3] = ["shmem", "gpu", "files_locked"];
/// Minimum share of the growth of such a part that is reported elsewhere, to leave the part out.
const MIN_EXPLAINED: f64 = 0.6;
/// Minimum share of the growth of a file system in memory that must be left of that of shared memory, to report it beside processes.
const MIN_BESIDE: f64 = 0.75;
/// Maximum number of rows whose growth stopped.
const MAX_STOPPED: usize = 5;
/// Minimum time for which such a process grew.
const MIN_ENDED_GROWTH: Duration = Duration::from_secs(600);
/// The time after its end in which a process is listed that grew and was not called a leak.
const ENDED_GROWTH_LISTED: Duration = Duration::from_secs(3600);
/// Minimum time for which the memory of a user must have grown to be listed, and minimum growth in bytes. On a machine that built and
/// tested software for two hours, none of 109 evaluations found such growth.
const MIN_USER_GROWTH: Duration = Duration::from_secs(180);
const MIN_USER_BYTES: f64 = 32.0 * 1024.0 * 1024.0;
/// Maximum time over which the pace of such growth is measured, unless it is a leak.
const LONGEST_PACE: Duration = Duration::from_secs(600);
/// Parts of that time, and number of parts with about the median growth if the memory grows evenly, not in stairs.
const PARTS: usize = 6;
const MIN_EVEN: usize = 4;
/// Maximum time over which this growth is measured.
const LONGEST_LOOK: Duration = Duration::from_secs(300);
/// The share of this growth that may be in the last half of [`MIN_USER_GROWTH`]. A build that has just begun is no growth of minutes,
/// even if the memory grew slowly before.
const MAX_LATE_GROWTH: f64 = 0.75;
/// The services that are installed with zmtop. Only root can create a system unit with such a name.
const SERVICES: [&[u8]; 2] = [b"zmtop-record.service", b"zmtop-serve.service"];
/// Maximum width of a slab cache's name, in columns.
const MAX_NAME: usize = 40;

/// A process, a group or a part of the RAM with a requested verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    pub key: RowKey,
    /// The names of a process, also after it ended; `None` otherwise.
    pub facts: Option<Arc<Facts>>,
    /// The raw name of its program, as in groups by command; the name of a group.
    pub command: Option<Arc<[u8]>>,
    /// The number of processes of the group; 1 for a process, 0 for a part of the RAM. If a program row
    /// reports the processes of one user only, the number of that user's processes.
    pub count: usize,
    /// The users of the processes of a program, or the user of a user's row. Empty for processes and parts of the RAM.
    pub users: Users,
    /// The number of those whose parent is gone, if the number of processes grows; else 0.
    pub orphans: usize,
    /// If a program is reported instead of its processes because nearly all of them grow, their number; else 0.
    pub alike: usize,
    /// In a fleet: the number of hosts on which a program grows, and on which it runs.
    pub hosts: Option<(usize, usize)>,
    pub judgement: Judgement,
    /// Its newest footprint, in bytes.
    pub footprint: u64,
    /// Seconds until it reaches the nearest limit at this pace; `None` if it stopped, or no limit is known.
    pub eta: Option<f64>,
    /// The time of its end, on the monotonic clock.
    pub ended: Option<Duration>,
    /// The number of ended processes of the program with such a verdict, this last one included; 0 while it lives.
    pub times: usize,
    /// The memory that grows, if it is not the footprint as a whole.
    pub cause: Option<Cause>,
    /// The code that keeps its memory, if that was measured; of a program, of one of its processes.
    pub kept_by: Option<Arc<KeptBy>>,
    /// Its growth, if that has stopped: see [`stopped`].
    pub stopped: Option<LastGrowth>,
}

/// The users whose processes a program's row reports. Anybody may give a file the name of another program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// The uid and the name of the user, if it is only one, as far as they are known. Of subordinate uids, those of the owner.
    pub uid: Option<u32>,
    pub name: Option<Arc<[u8]>>,
    /// The number of users; 0 if that is unknown.
    pub count: usize,
}

/// The memory that grows in a row, if it is not the footprint, or is a part of it of its own kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Memory held through descriptors, by kind.
    Held(HeldKind),
    /// A slab cache, by its raw name.
    Slab(Box<[u8]>),
    /// The process or the program that has most of the part, or of its growth.
    Holder(PartShare),
    /// System V segments, most of which one user created: its name or uid, the creator of the largest one, and the bytes of the user.
    SystemV { user: Box<str>, pid: u32, bytes: u64 },
    /// Transparent huge pages; `collapsed` if the kernel made them, without faults of the process.
    HugePages { collapsed: bool },
    /// Mapped shared memory and files of tmpfs, of which the machine's part grows with it.
    SharedMemory,
    /// Anonymous memory of all programs of a user, of which those that are listed explain little.
    Together,
    /// The processes that a program started meanwhile. None of them grows.
    NewProcesses,
    /// Anonymous memory of the machine, of which neither the listed rows nor one user explain half.
    OfAllUsers,
    /// Anonymous memory of the machine, most of whose growth is in no process that was read.
    Unseen,
    /// Memory that is not accounted for: the buffers of TCP sockets have grown by these bytes meanwhile, in slab or outside.
    Sockets { grown: u64 },
    /// Memory that the program freed, and its allocator or runtime keeps; with the footprint, both in bytes.
    KeptFree { free: u64, footprint: u64 },
    /// This program, or the monitor whose past is continued, fills its history, which is bounded by this many bytes.
    Own { limit: u64 },
    /// Another monitor: the same program of the same user. Its history is bounded, too, but its configuration is not known.
    OtherMonitor,
}

impl Cause {
    /// Returns text that is safe to print: `held: memfd`, `slab kmalloc-64`, `61M of it in evil (pid 123)`, `in transparent huge
    /// pages`.
    pub fn text(&self) -> String {
        match self {
            Self::Held(kind) => format!("held: {}", kind.id()),
            Self::Holder(share) => share.text(),
            Self::Slab(name) => format!("slab {}", text::safe_prefix(name, MAX_NAME)),
            Self::SystemV { user, pid, bytes } => {
                let bytes = units::bytes(*bytes, Units::Auto);
                format!("{bytes} of it in System V segments of {user}, the largest created by pid {pid}")
            }
            Self::HugePages { collapsed: false } => "in transparent huge pages".into(),
            Self::HugePages { collapsed: true } => "in transparent huge pages, without faults".into(),
            Self::SharedMemory => "in shared memory and tmpfs".into(),
            Self::NewProcesses => "in its new processes".into(),
            Self::Together => "all programs of this user together".into(),
            Self::OfAllUsers => "programs of several users together".into(),
            Self::Unseen => "most of it in processes that zmtop cannot see".into(),
            Self::Sockets { grown } => {
                let grown = units::bytes(*grown, Units::Auto);
                format!("the buffers of TCP sockets, some of which are in slab, grew by {grown} meanwhile")
            }
            Self::KeptFree { free, footprint } => {
                let [free, footprint] = [free, footprint].map(|bytes| units::bytes(*bytes, Units::Auto));
                format!("{free} of {footprint} are free inside its allocator")
            }
            Self::Own { limit } => {
                let limit = units::bytes(*limit, Units::Auto);
                format!("zmtop itself: its history is limited to {limit}")
            }
            Self::OtherMonitor => "another zmtop, whose history has a limit".into(),
        }
    }
}

impl RowHistory {
    /// Returns the kind of memory that its growth consists of, if it is kept free, huge pages or shared memory.
    fn cause(&self) -> Option<Cause> {
        let growth = self.growth_since_start()?;
        if growth.is_kept_free() {
            let free = self.known?.free.bytes();
            let footprint = self.newest_footprint();
            return Some(Cause::KeptFree { free, footprint });
        }
        let collapsed = growth.is_collapsed();
        let is_huge = growth.is_in_huge_pages();
        let huge = is_huge.then_some(Cause::HugePages { collapsed });
        huge.or_else(|| growth.is_in_shared_memory().then_some(Cause::SharedMemory))
    }
}

impl Suspect {
    fn new(key: RowKey, command: Option<Arc<[u8]>>, history: &RowHistory) -> Self {
        Self {
            key,
            facts: None,
            command,
            count: 0,
            users: Users::default(),
            orphans: 0,
            alike: 0,
            hosts: None,
            judgement: *history.trend(),
            footprint: history.newest_footprint(),
            eta: None,
            ended: None,
            times: 0,
            cause: history.cause(),
            kept_by: None,
            stopped: None,
        }
    }

    fn held(key: RowKey, command: Option<Arc<[u8]>>, held: &HeldHistory) -> Self {
        Self {
            cause: Some(Cause::Held(held.kind())),
            ..Self::new(key, command, held.row())
        }
    }

    /// Returns true if memory held through descriptors grows, which no mapping shows.
    pub const fn is_held(&self) -> bool {
        matches!(self.cause, Some(Cause::Held(_)))
    }

    /// Returns true if the number of its processes grows.
    pub const fn is_population(&self) -> bool {
        matches!(self.judgement.metric, Metric::Processes)
    }

    /// Returns true if the memory of its mappings grows.
    pub const fn is_mapped(&self) -> bool {
        !self.is_held() && !self.is_population()
    }

    /// Returns the uid of the owner of the process, or of all processes of the program, if it is one and known.
    pub fn uid(&self) -> Option<u32> {
        match &self.facts {
            Some(facts) => facts.owner_uid().ok(),
            None => self.users.uid,
        }
    }

    /// Returns how fast its memory grows, in bytes per second. New processes are assumed to be as large as the others.
    pub(crate) fn pace(&self) -> f64 {
        let slope = self.judgement.slope;
        if self.is_population() {
            slope * self.footprint as f64 / (self.count as f64).max(1.0)
        } else {
            slope
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectQuery {
    /// The least alarming verdict.
    pub least: Verdict,
    /// Report only groups of this kind. `None` reports processes, including ended ones, and programs whose growth no single
    /// process explains because their workers come and go.
    pub by: Option<GroupBy>,
}

impl SuspectQuery {
    pub const GROWING: Self = Self {
        least: Verdict::Warming,
        by: None,
    };
}

/// Returns the suspects in a history, of which `snapshot` is the last. The order is: by verdict, living before ended, what the
/// kernel can reclaim last, the soonest to reach a limit first, then by slope. If several users' programs grow, each user's first three
/// come before the others with that verdict. A program or a family whose number of processes grows is placed by the memory
/// that its new processes use.
///
/// The last ended process of a user's program is reported for all ended ones. A program is reported instead of its living
/// processes if nearly all of them grow. In a fleet, programs that grow on many hosts are reported, and single hosts for the rest.
pub fn suspects(history: &History, snapshot: &Snapshot, query: SuspectQuery) -> Vec<Suspect> {
    let mut found = Vec::new();
    if let Some(by) = query.by {
        find_groups(history, snapshot, by, query.least, &mut found);
        found.extend(held_groups(history, snapshot, by, query.least));
        found.extend(populations(history, snapshot, by, query.least));
        if by == GroupBy::Command {
            MembersByUser::of(history, snapshot, [&found]).name_users(&mut found);
        }
    } else if snapshot.fleet.is_some() {
        find_living(history, snapshot, query.least, &mut found);
        find_fleet_programs(history, snapshot, &mut found);
    } else {
        find_living(history, snapshot, query.least, &mut found);
        find_ended(history, snapshot.monotonic, query.least, &mut found);
        let mut programs = Vec::new();
        find_groups(history, snapshot, GroupBy::Command, query.least, &mut programs);
        let held_programs = held_groups(history, snapshot, GroupBy::Command, query.least);
        let mut numerous = populations(history, snapshot, GroupBy::Command, query.least);
        let members = MembersByUser::of(history, snapshot, [&programs, &held_programs, &numerous]);
        members.name_users(&mut numerous);
        add_programs(programs, &members, &mut found);
        let mut held = held_processes(history, snapshot, query.least);
        add_programs(held_programs, &members, &mut held);
        find_parts(history, snapshot, query.least, &held, &mut found);
        let anon = AnonymousGrowth::of(history, snapshot.monotonic);
        find_users(history, snapshot, anon.as_ref(), query.least, &mut found);
        if let Some(anon) = anon.filter(|_| query.least <= Verdict::Growing) {
            add_unexplained(history, snapshot, &anon, &mut found);
        }
        found.extend(held);
        let mut families = populations(history, snapshot, GroupBy::Family, query.least);
        families.retain(|family| !is_explained_by_programs(history, family, &numerous));
        found.extend(numerous.into_iter().chain(families));
        leave_out_own(&members, &mut found);
    }
    order::sort_by(&mut found, |a, b| {
        let rank = |s: &Suspect| {
            (
                s.judgement.verdict,
                s.ended.is_none(),
                !s.judgement.metric.is_reclaimable(),
            )
        };
        let eta = |s: &Suspect| s.eta.unwrap_or(f64::INFINITY);
        let by_slope = b.pace().total_cmp(&a.pace());
        rank(b).cmp(&rank(a)).then(eta(a).total_cmp(&eta(b))).then(by_slope)
    });
    put_first_of_each_user(&mut found);
    found
}

/// Puts the first rows of each user before the other rows with the same verdict, so that the many small programs of one user do not
/// push those of others out of sight.
fn put_first_of_each_user(found: &mut [Suspect]) {
    let mut of_user: HashMap<_, usize> = HashMap::new();
    let rank = |suspect: &Suspect| (suspect.judgement.verdict, suspect.ended.is_none());
    let mut is_later = HashSet::new();
    for suspect in found.iter() {
        let Some(uid) = suspect.uid() else { continue };
        let rows = of_user.entry((rank(suspect), uid)).or_default();
        *rows += 1;
        if *rows > FIRST_OF_USER {
            is_later.insert(suspect.key.clone());
        }
    }
    // Most machines have one user whose programs grow.
    let several = of_user
        .keys()
        .any(|(_, uid)| of_user.keys().any(|(_, other)| other != uid));
    if several {
        found.sort_by_key(|s| (std::cmp::Reverse(rank(s)), is_later.contains(&s.key)));
    }
}

/// Returns zmtop, the monitor whose past is continued, and their children, which measure other programs. Anybody may give a
/// program the name of zmtop.
fn own_processes(history: &History, snapshot: &Snapshot) -> HashSet<Identity> {
    let is_zmtop = |id: Identity| history.config.own_pid == Some(id.pid) || history.keeper == Some(id);
    let ids = || snapshot.rows().iter().map(|sample| (sample.id, sample.stat.ppid));
    let parents: Vec<Identity> = ids().map(|(id, _)| id).filter(|id| is_zmtop(*id)).collect();
    let is_own = |id: Identity, parent: u32| parents.iter().any(|own| own.pid == parent || *own == id);
    let own = ids().filter(|(id, parent)| is_own(*id, *parent));
    own.map(|(id, _)| id).collect()
}

/// Removes the growth of zmtop and its children, and of a program that consists only of these. Their history has a size limit. A leak
/// stays.
fn leave_out_own(members: &MembersByUser, found: &mut Vec<Suspect>) {
    let is_own = |suspect: &Suspect| match &suspect.key {
        RowKey::Process(id) => members.own.contains(id),
        RowKey::Group(key) => key.by == GroupBy::Command && members.are_own(suspect),
        RowKey::Part(_) => false,
    };
    found.retain(|suspect| suspect.judgement.verdict == Verdict::Leaking || !is_own(suspect));
}

/// Returns the processes, programs and parts of the RAM whose growth stopped not long ago and was not given back, the largest
/// growth first, `MAX_STOPPED` at most. A part is not reported if such processes explain it, nor a program if its processes
/// are reported, here or in `growing`.
pub fn stopped(history: &History, snapshot: &Snapshot, by: Option<GroupBy>, growing: &[Suspect]) -> Vec<Suspect> {
    let new = |key: RowKey, command: Option<Arc<[u8]>>, row: &RowHistory, last: LastGrowth| Suspect {
        stopped: Some(last),
        ..Suspect::new(key, command, row)
    };
    let now = snapshot.monotonic;
    let mut found = Vec::new();
    if by.is_none() {
        for (id, row) in history.processes() {
            let (Some(last), Some(sample)) = (row.stopped_growth(now), snapshot.row(id)) else {
                continue;
            };
            found.push(Suspect {
                facts: Some(Arc::clone(&sample.facts)),
                count: 1,
                ..new(RowKey::Process(id), history.command(id), row, last)
            });
        }
        let shared = found.iter().filter_map(|s: &Suspect| s.stopped);
        let shared: u64 = shared.map(|last| last.bytes()).sum();
        let parts = history.parts().that_may_leak().filter_map(|(key, row)| {
            let last = row.stopped_growth(now)?;
            let is_explained = EXPLAINED_BY_PROCESSES.contains(&key.id) && shared >= last.bytes() / 2;
            let cause = cause_of_part(history, snapshot, &key);
            (!is_explained).then(|| Suspect {
                cause,
                ..new(RowKey::Part(key), None, row, last)
            })
        });
        let parts: Vec<_> = parts.collect();
        found.extend(parts);
    }
    let kind = by.unwrap_or(GroupBy::Command);
    let groups = history.groups_by(kind).filter_map(|(name, row)| {
        let last = row.stopped_growth(now)?;
        let name = name.cloned();
        let count = history.members(kind, name.as_deref());
        let mut reported = found.iter().chain(growing);
        if by.is_none() && (count < 2 || reported.any(|other| other.command == name)) {
            return None;
        }
        let key = RowKey::Group(GroupKey {
            by: kind,
            name: name.clone(),
        });
        Some(Suspect {
            count,
            ..new(key, name, row, last)
        })
    });
    let mut groups: Vec<_> = groups.collect();
    let members = MembersByUser::of(history, snapshot, [&groups]);
    if kind == GroupBy::Command {
        members.name_users(&mut groups);
    }
    found.extend(groups);
    found.retain(|suspect| growing.iter().all(|other| other.key != suspect.key));
    leave_out_own(&members, &mut found);
    let bytes = |suspect: &Suspect| suspect.stopped.map_or(0, |last| last.bytes());
    order::sort_by(&mut found, |a, b| {
        bytes(b).cmp(&bytes(a)).then_with(|| a.key.cmp(&b.key))
    });
    found.truncate(MAX_STOPPED);
    found
}

fn is_suspect(history: &RowHistory, least: Verdict) -> bool {
    let verdict = history.trend().verdict;
    // Memory that the kernel can reclaim and that only warms up is not worth reporting.
    let least = match least {
        Verdict::Warming if history.trend().metric.is_reclaimable() => Verdict::Growing,
        least => least,
    };
    verdict != Verdict::Unknown && verdict >= least
}

fn find_living(history: &History, snapshot: &Snapshot, least: Verdict, found: &mut Vec<Suspect>) {
    let (growing, all) = if least >= Verdict::Warming {
        (Some(history.growing()), None)
    } else {
        (None, Some(history.processes()))
    };
    let listed = growing.into_iter().flatten().chain(all.into_iter().flatten());
    let own_facts = history.own_row(snapshot).map(|sample| &sample.facts);
    for (id, row) in listed.filter(|(_, row)| is_suspect(row, least)) {
        let Some(sample) = snapshot.row(id) else {
            continue;
        };
        // Report a shared address space once.
        if sample.shares_mm.is_some_and(|first| history.get(first).is_some()) {
            continue;
        }
        let cgroup = sample.facts.cgroup.as_deref().ok();
        let limit = history.config.max_memory;
        let own = history.config.own_pid == Some(id.pid) || history.keeper == Some(id);
        let is_other = || own_facts.is_some_and(|own| is_monitor(sample, own)) && row.newest_footprint() < 2 * limit;
        let own = own.then_some(Cause::Own { limit });
        let own = own.or_else(|| is_other().then_some(Cause::OtherMonitor));
        found.push(Suspect {
            facts: Some(Arc::clone(&sample.facts)),
            count: 1,
            kept_by: history.kept_by(id).cloned(),
            cause: own.or_else(|| row.cause()),
            eta: row.trend().eta(process_headroom(
                snapshot,
                id,
                row.trend().metric == Metric::LiveSet,
                cgroup,
            )),
            ..Suspect::new(RowKey::Process(id), history.command(id), row)
        });
    }
}

/// Returns true if a process is another zmtop: one of the services that are installed with it, which have users of their own, or the
/// program, the user and the container of this one. Anybody may run the program with a library that leaks.
fn is_monitor(sample: &ProcessSample, own: &Facts) -> bool {
    let facts = &*sample.facts;
    let is_service = facts.unit.as_deref().is_some_and(|unit| SERVICES.contains(&unit));
    let is_same_user = facts.uid.is_ok() && facts.uid == own.uid;
    let is_same_program = facts.exe.is_ok() && facts.exe == own.exe;
    is_service || is_same_user && is_same_program && facts.container_id() == own.container_id()
}

/// Finds the ended processes that leaked, and those that grew for long and ended recently: not a compiler that grew for minutes.
fn find_ended(history: &History, now: Duration, least: Verdict, found: &mut Vec<Suspect>) {
    // Anybody may give a file the name of another program.
    let mut programs: HashMap<(&[u8], Option<u32>), usize> = HashMap::new();
    let is_listed = |ended: &&Ended| {
        let grew_since = ended.history.trend().seen_since();
        let grew_long = grew_since.is_some_and(|since| ended.at.saturating_sub(since) >= MIN_ENDED_GROWTH);
        let is_recent = now.saturating_sub(ended.at) <= ENDED_GROWTH_LISTED;
        is_suspect(
            &ended.history,
            if grew_long && is_recent {
                least
            } else {
                Verdict::Leaking
            },
        )
    };
    for ended in history.all_ended().filter(is_listed) {
        let name = ended.command.as_deref().unwrap_or(&ended.facts.comm);
        let program = (name, ended.facts.owner_uid().ok());
        if let Some(at) = programs.get(&program) {
            let last: &mut Suspect = &mut found[*at];
            last.times += 1;
            continue;
        }
        programs.insert(program, found.len());
        found.push(Suspect {
            facts: Some(Arc::clone(&ended.facts)),
            count: 1,
            kept_by: history.kept_by(ended.id).cloned(),
            ended: Some(ended.at),
            times: 1,
            ..Suspect::new(RowKey::Process(ended.id), ended.command.clone(), &ended.history)
        });
    }
}

/// Adds growing programs to the processes found. Replaces processes by their program if nearly all of them grow; skips
/// programs whose growth single processes explain.
fn add_programs(mut programs: Vec<Suspect>, members: &MembersByUser, found: &mut Vec<Suspect>) {
    members.name_users(&mut programs);
    for program in &mut programs {
        fold_alike(program, members, found);
    }
    programs.retain(|program| program.alike > 0 || !is_explained_by_processes(program, members, found));
    found.extend(programs);
}

fn find_groups(history: &History, snapshot: &Snapshot, by: GroupBy, least: Verdict, found: &mut Vec<Suspect>) {
    let from = found.len();
    for (name, row) in history.groups_by(by).filter(|(_, row)| is_suspect(row, least)) {
        let name = name.cloned();
        let key = GroupKey { by, name: name.clone() };
        let count = history.members(by, name.as_deref());
        let mut known = history.kept_by.iter().rev();
        let kept_by = known.find(|(id, _)| by == GroupBy::Command && history.command(*id) == name);
        found.push(Suspect {
            count,
            kept_by: kept_by.map(|(_, found)| Arc::clone(found)),
            ..Suspect::new(RowKey::Group(key), name, row)
        });
    }
    let names = GroupNames::new(snapshot.rows());
    if by == GroupBy::Family {
        // A family of one uses the history of its process.
        let alone = history
            .processes()
            .filter(|(id, row)| is_suspect(row, least) && !history.has_family(*id));
        for (id, row) in alone {
            let sample = names.find(id.pid).filter(|sample| sample.id == id);
            let Some(name) = sample.and_then(|sample| names.name_of(sample, by)) else {
                continue;
            };
            let name: Option<Arc<[u8]>> = Some(name.as_ref().into());
            let key = GroupKey { by, name: name.clone() };
            found.push(Suspect {
                count: 1,
                ..Suspect::new(RowKey::Group(key), name, row)
            });
        }
    }
    set_etas(history, snapshot, by, &mut found[from..]);
}

/// Sets the time until groups of that kind reach a limit.
fn set_etas(history: &History, snapshot: &Snapshot, by: GroupBy, found: &mut [Suspect]) {
    if found.is_empty() {
        return;
    }
    // The cgroup of a group only matters if a cgroup has a limit.
    let cgroups = if by != GroupBy::Cgroup && snapshot.cgroups.values().any(|figures| figures.ceiling().is_some()) {
        common_cgroups(history, snapshot, by, found)
    } else {
        HashMap::new()
    };
    for suspect in found {
        let cgroup = if by == GroupBy::Cgroup {
            suspect.command.as_deref()
        } else {
            cgroups.get(&suspect.command).copied().flatten()
        };
        suspect.eta = suspect.judgement.eta(headroom(snapshot, cgroup));
    }
}

/// Returns the innermost cgroup that holds all members, by group name; `None` if that is the root.
fn common_cgroups<'a>(
    history: &History,
    snapshot: &'a Snapshot,
    by: GroupBy,
    groups: &[Suspect],
) -> HashMap<Option<Arc<[u8]>>, Option<&'a [u8]>> {
    let names = GroupNames::new(snapshot.rows());
    let wanted: HashSet<Option<&[u8]>> = groups.iter().map(|group| group.command.as_deref()).collect();
    let mut cgroups = HashMap::new();
    // A history may have only some of the processes.
    let is_member = |sample: &&ProcessSample| !sample.stat.is_kernel_thread() && history.get(sample.id).is_some();
    for sample in snapshot.rows().iter().filter(is_member) {
        let name = names.name_of(sample, by);
        if !wanted.contains(&name.as_deref()) {
            continue;
        }
        let own = sample.facts.cgroup.as_deref().ok();
        let common = cgroups.entry(name.as_deref().map(Arc::from)).or_insert(own);
        *common = common.zip(own).and_then(|(a, b)| common_cgroup(a, b));
    }
    cgroups
}

/// The processes of one user in a program.
struct UserMembers {
    uid: Option<u32>,
    user: Option<Arc<[u8]>>,
    count: usize,
    /// The time since when one of them was first known, on the monotonic clock.
    known_since: Option<Duration>,
}

impl UserMembers {
    fn users(&self) -> Users {
        let is_known = self.uid.is_some() || self.user.is_some();
        Users {
            uid: self.uid,
            name: self.user.clone(),
            count: usize::from(is_known),
        }
    }
}

/// The number of processes that each user has in some programs.
struct MembersByUser {
    programs: HashMap<Arc<[u8]>, Vec<UserMembers>>,
    /// zmtop's own processes, which are not counted.
    own: HashSet<Identity>,
    /// The programs that have such processes.
    of_own: HashSet<Arc<[u8]>>,
}

impl MembersByUser {
    /// Counts the processes of the programs in these lists.
    fn of<'a>(history: &History, snapshot: &Snapshot, lists: impl IntoIterator<Item = &'a Vec<Suspect>>) -> Self {
        let names = lists
            .into_iter()
            .flatten()
            .filter_map(|program| program.command.clone());
        let mut programs: HashMap<_, Vec<UserMembers>> = names.map(|name| (name, Vec::new())).collect();
        let own = own_processes(history, snapshot);
        let of_own = own.iter().filter_map(|id| history.command(*id)).collect();
        let rows = if programs.is_empty() { &[] } else { snapshot.rows() };
        for sample in rows.iter().filter(|sample| !own.contains(&sample.id)) {
            let Some(users) = history.command(sample.id).and_then(|name| programs.get_mut(&name)) else {
                continue;
            };
            let uid = sample.facts.owner_uid().ok();
            let known_since = history.get(sample.id).and_then(|row| row.footprint.start());
            if let Some(members) = users.iter_mut().find(|members| members.uid == uid) {
                members.count += 1;
                members.known_since = members.known_since.into_iter().chain(known_since).min();
            } else {
                users.push(UserMembers {
                    uid,
                    user: sample.facts.owner_name().ok().cloned(),
                    count: 1,
                    known_since,
                });
            }
        }
        Self { programs, own, of_own }
    }

    /// Returns true if all processes of a program are zmtop's own.
    fn are_own(&self, program: &Suspect) -> bool {
        let is_of_own = program.command.as_ref().is_some_and(|name| self.of_own.contains(name));
        is_of_own && self.of_program(program).is_empty()
    }

    fn of_program(&self, program: &Suspect) -> &[UserMembers] {
        let name = program.command.as_ref();
        name.and_then(|name| self.programs.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Returns true if the growth of a program began before its current processes were first seen: it then began in processes that
    /// have ended.
    fn is_handed_over(&self, program: &Suspect) -> bool {
        let first = self
            .of_program(program)
            .iter()
            .filter_map(|members| members.known_since)
            .min();
        let grew_since = program.judgement.seen_since();
        program.judgement.verdict >= Verdict::Growing
            && first.zip(grew_since).is_some_and(|(first, since)| since < first)
    }

    /// Sets the users of these programs. Code that was measured in a process of one user says nothing of the processes of others.
    fn name_users(&self, programs: &mut [Suspect]) {
        for program in programs {
            match self.of_program(program) {
                [] => {}
                [one] => program.users = one.users(),
                several => {
                    program.users.count = several.len();
                    program.kept_by = None;
                }
            }
        }
    }
}

/// Removes the processes of a growing program if nearly all of them grow alike. A process that is much faster, or has a worse
/// verdict, stays. If several users run the program, the row replaces and reports the processes of one of them. Otherwise, it would
/// attribute one user's growth to another.
fn fold_alike(program: &mut Suspect, members: &MembersByUser, found: &mut Vec<Suspect>) {
    if !program.judgement.verdict.is_growth() {
        return;
    }
    let is_member = |s: &Suspect| {
        let is_own = s.key.process().is_some_and(|id| members.own.contains(&id));
        !is_own && s.ended.is_none() && s.command == program.command && s.judgement.verdict.is_growth()
    };
    let growing = |user: &UserMembers| found.iter().filter(|s| is_member(s) && s.uid() == user.uid).count();
    let users = members.of_program(program);
    let alike = users
        .iter()
        .map(|user| (growing(user), user))
        .filter(|(growing, user)| {
            let least = (user.count as f64 * MIN_ALIKE_SHARE).max(MIN_ALIKE as f64);
            // Processes whose user is unknown may have several.
            (user.uid.is_some() || users.len() == 1) && *growing as f64 >= least
        });
    let Some((_, user)) = alike.max_by_key(|(growing, user)| (*growing, user.uid)) else {
        return;
    };
    // Processes of other users would otherwise be left out.
    if users.len() > 1 && !is_explained_by_processes(program, members, found) {
        return;
    }
    let is_member = |s: &Suspect| is_member(s) && s.uid() == user.uid;
    let mut paces: Vec<f64> = found
        .iter()
        .filter(|s| is_member(s))
        .map(|s| s.judgement.slope)
        .collect();
    paces.sort_unstable_by(f64::total_cmp);
    let fastest = paces[paces.len() / 2] * MAX_ALIKE_PACE;
    let is_mixed = users.len() > 1;
    let verdict = program.judgement.verdict;
    let is_alike =
        |s: &Suspect| is_member(s) && s.judgement.slope <= fastest && (is_mixed || s.judgement.verdict <= verdict);
    let folded: Vec<Suspect> = found.extract_if(.., |s| is_alike(s)).collect();
    program.alike = folded.len();
    if is_mixed {
        report_only(program, user, &folded);
    }
}

/// Makes the row of a program with processes of several users report those of one, of which `folded` grow.
fn report_only(program: &mut Suspect, user: &UserMembers, folded: &[Suspect]) {
    let worst = folded.iter().max_by(|a, b| {
        let by_slope = a.judgement.slope.total_cmp(&b.judgement.slope);
        a.judgement.verdict.cmp(&b.judgement.verdict).then(by_slope)
    });
    let Some(worst) = worst else { return };
    let pace = program.judgement.slope;
    let slope = folded.iter().map(|s| s.judgement.slope).sum();
    program.judgement = Judgement {
        slope,
        ..worst.judgement
    };
    program.eta = program.eta.map(|eta| eta * pace / slope);
    program.footprint = folded.iter().map(|s| s.footprint).sum();
    program.cause.clone_from(&worst.cause);
    program.kept_by = folded.iter().find_map(|s| s.kept_by.clone());
    program.count = user.count;
    program.users = user.users();
}

/// Returns true if the processes found explain the growth of their program.
fn is_explained_by_processes(program: &Suspect, members: &MembersByUser, found: &[Suspect]) -> bool {
    let is_reclaimable = program.judgement.metric.is_reclaimable();
    let own = found
        .iter()
        .filter(|s| s.ended.is_none() && s.command == program.command)
        .filter(|s| is_reclaimable || !s.judgement.metric.is_reclaimable());
    let (slope, worst) = own.fold((0.0, Verdict::Unknown), |(slope, worst), s| {
        (slope + s.judgement.slope, worst.max(s.judgement.verdict))
    });
    // A single process is judged as its program is, unless the growth began in processes that ended.
    let is_of_one = program.count <= 1 && !members.is_handed_over(program);
    // Processes that only grow do not explain a leak.
    is_of_one || (slope >= program.judgement.slope / 2.0 && worst >= program.judgement.verdict)
}

/// Growth of the machine's anonymous memory. It lasted as long as a leak, or for minutes in no process that was read.
struct AnonymousGrowth<'a> {
    row: &'a RowHistory,
    /// In bytes.
    bytes: f64,
    /// The time for which it was watched.
    span: Duration,
    /// The program that has most of it.
    program: Option<(Option<&'a Arc<[u8]>>, &'a RowHistory)>,
    /// It is in no process that was read: perhaps each ends at once, and hands its address space to the next one (`CLONE_VM`).
    is_unseen: bool,
}

impl<'a> AnonymousGrowth<'a> {
    fn of(history: &'a History, now: Duration) -> Option<Self> {
        // A part that processes explain is called growing at most.
        let row = history.parts().get(ANON)?;
        let Judgement { verdict, standing, .. } = row.trend();
        let span = row.trend().watched(now).unwrap_or_default();
        let bytes = row.footprint().change_over(span);
        let is_large = grows_for_minutes(row, span);
        let is_unseen = is_large && history.parts().has_unseen_growth();
        if *verdict != Verdict::Growing || (standing.score < 1.0 && !is_unseen) {
            return None;
        }
        let mut growth = Self {
            row,
            bytes,
            span,
            program: None,
            is_unseen,
        };
        growth.program = history
            .groups_by(GroupBy::Command)
            .find(|(_, row)| growth.is_mostly_in(row));
        Some(growth)
    }

    fn is_mostly_in(&self, row: &RowHistory) -> bool {
        self.bytes > 0.0 && row.footprint().change_over(self.span) >= self.bytes / 2.0
    }

    /// Returns the growth, which may still be freed.
    fn judgement(&self) -> Judgement {
        let mut judgement = *self.row.trend();
        judgement.call_growing();
        judgement
    }
}

/// Returns true if the memory of a row that was watched for `span` grew enough to list it without a leak, for minutes.
fn grows_for_minutes(row: &RowHistory, span: Duration) -> bool {
    let grown = grown_over(row, span.min(LONGEST_LOOK));
    let is_even = || grown_over(row, MIN_USER_GROWTH / 2) <= grown * MAX_LATE_GROWTH;
    span >= MIN_USER_GROWTH && grown >= MIN_USER_BYTES && is_even()
}

/// Returns the growth of the footprint of a row over `span`, in bytes, without what it only has for a moment.
fn grown_over(row: &RowHistory, span: Duration) -> f64 {
    let since = row.footprint().now().saturating_sub(span);
    growth(row.footprint_series(), since).unwrap_or(0.0)
}

/// Returns the pace of the memory of a user, in bytes per second, that was watched for `span` with that verdict. If it grows evenly, steps
/// are no part of the pace. Returns true if there was one.
fn pace_of_user(row: &RowHistory, verdict: Verdict, span: Duration) -> (f64, bool) {
    let span = match verdict {
        Verdict::Leaking => span,
        _ => span.min(LONGEST_PACE),
    };
    let whole: [f64; PARTS + 1] = array::from_fn(|parts| grown_over(row, span * parts as u32 / PARTS as u32));
    let mut each: [f64; PARTS] = array::from_fn(|part| whole[part + 1] - whole[part]);
    each.sort_unstable_by(f64::total_cmp);
    let median = f64::midpoint(each[(PARTS - 1) / 2], each[PARTS / 2]);
    let usual = each
        .iter()
        .filter(|grown| **grown >= median / 2.0 && **grown <= median * 2.0);
    let pace = |grown: f64, parts: usize| grown * PARTS as f64 / parts as f64 / span.as_secs_f64().max(1.0);
    let has_step = each.iter().any(|grown| *grown > median * 2.0);
    if has_step && median > 0.0 && usual.clone().count() >= MIN_EVEN {
        let even = each.iter().filter(|grown| **grown <= median * 2.0);
        (pace(even.clone().sum(), even.count()), true)
    } else {
        (pace(whole[PARTS], PARTS), false)
    }
}

/// Returns true for growth of anonymous memory. What warms up is often only the last place that a leak moved to. Pages of files are in
/// no anonymous memory.
fn grows_beyond_files(suspect: &Suspect) -> bool {
    let Judgement { verdict, metric, .. } = suspect.judgement;
    let is_living = suspect.ended.is_none() && suspect.key.part().is_none();
    is_living && verdict > Verdict::Warming && !metric.is_reclaimable()
}

/// Finds the users whose memory grows for minutes, if the listed rows explain less than half of that growth: a leak may continue in
/// one program after another. If new programs hide the trend of a user, the trend of the machine's anonymous memory is used. The
/// verdict is at most `Growing`, because a program may still free the memory.
fn find_users(
    history: &History,
    snapshot: &Snapshot,
    anon: Option<&AnonymousGrowth<'_>>,
    least: Verdict,
    found: &mut Vec<Suspect>,
) {
    let lasts = |row: &RowHistory| {
        let Judgement { verdict, metric, .. } = *row.trend();
        let watched = row.trend().watched(snapshot.monotonic).unwrap_or_default();
        let is_long = || verdict == Verdict::Leaking || grows_for_minutes(row, watched);
        verdict >= Verdict::Growing && !metric.is_reclaimable() && is_long()
    };
    // New processes of one program are no growth of a user.
    let anon = anon.filter(|anon| anon.program.is_none());
    let mut users = Vec::new();
    let shares = UserShares::of(history, snapshot, found);
    let is_present = |row: &RowHistory| least <= Verdict::Growing && row.newest_footprint() > 0;
    for (name, row) in history.groups_by(GroupBy::User).filter(|(_, row)| is_present(row)) {
        let is_own = lasts(row);
        let judged = if is_own {
            Some(row)
        } else {
            anon.filter(|anon| anon.is_mostly_in(row)).map(|anon| anon.row)
        };
        let (Some(name), Some(judged)) = (name, judged) else {
            continue;
        };
        let of_user = |sample: &&ProcessSample| sample.facts.owner_name() == Ok(name);
        let uid = snapshot
            .rows()
            .iter()
            .find(of_user)
            .and_then(|sample| sample.facts.owner_uid().ok());
        let listed = found.iter().filter(|s| grows_beyond_files(s));
        let explained: f64 = listed
            .map(|s| match s.users.count {
                // A program of several users explains as much as is in this one's processes.
                2.. => s.judgement.slope * shares.share(s, name),
                _ if !is_own || s.uid() == uid => s.judgement.slope,
                _ => 0.0,
            })
            .sum();
        let mut judgement = *judged.trend();
        if explained >= judgement.slope / 2.0 {
            continue;
        }
        let watched = judgement.watched(snapshot.monotonic).unwrap_or_default();
        let (pace, has_step) = pace_of_user(row, judgement.verdict, watched);
        // Its own judgement may be on the memory that processes hold on to, which misses what new programs keep. A pace of 0 is that
        // of growth that has stopped.
        judgement.slope = match judgement.slope {
            slope if is_own && (slope == 0.0 || slope > pace && !has_step) => slope,
            _ => pace,
        };
        judgement.call_growing();
        let key = GroupKey {
            by: GroupBy::User,
            name: Some(Arc::clone(name)),
        };
        users.push(Suspect {
            judgement,
            count: history.members(GroupBy::User, Some(name)),
            users: Users {
                uid,
                name: Some(Arc::clone(name)),
                count: 1,
            },
            cause: Some(Cause::Together),
            eta: judgement.eta(machine_headroom(snapshot)),
            ..Suspect::new(RowKey::Group(key), Some(Arc::clone(name)), row)
        });
    }
    found.extend(users);
}

/// The growth of the programs of several users, by program and user, in bytes.
struct UserShares(HashMap<Arc<[u8]>, OfUsers>);

/// Bytes by the raw names of users.
type OfUsers = HashMap<Arc<[u8]>, f64>;

impl UserShares {
    /// Sums the growth of the processes of these programs over the last minutes. What a new process has is no growth of it.
    fn of(history: &History, snapshot: &Snapshot, programs: &[Suspect]) -> Self {
        let several = programs.iter().filter(|s| s.users.count > 1);
        let mut shares: HashMap<_, OfUsers> = several
            .filter_map(|s| Some((s.command.clone()?, HashMap::new())))
            .collect();
        let rows = if shares.is_empty() { &[] } else { snapshot.rows() };
        for sample in rows {
            let command = history.command(sample.id);
            let (Some(users), Ok(user)) = (
                command.and_then(|name| shares.get_mut(&name)),
                sample.facts.owner_name(),
            ) else {
                continue;
            };
            let grown = history
                .get(sample.id)
                .map_or(0.0, |row| row.footprint().change_over(LONGEST_LOOK));
            *users.entry(Arc::clone(user)).or_default() += grown.max(0.0);
        }
        Self(shares)
    }

    /// Returns the share of a program's growth that is in the processes of a user; 0 if none of them grows.
    fn share(&self, program: &Suspect, user: &[u8]) -> f64 {
        let users = program.command.as_ref().and_then(|name| self.0.get(name));
        let own = users.and_then(|users| users.get(user)).copied().unwrap_or(0.0);
        let all: f64 = users.map_or(0.0, |users| users.values().sum());
        if all > 0.0 { own / all } else { 0.0 }
    }
}

/// Adds the growth of the machine's anonymous memory, if the listed rows explain less than half of it: as a program, if it is in the
/// new processes of one, or as a part of the RAM, if it moves from user to user.
fn add_unexplained(history: &History, snapshot: &Snapshot, anon: &AnonymousGrowth<'_>, found: &mut Vec<Suspect>) {
    let judgement = anon.judgement();
    let listed = found.iter().filter(|s| grows_beyond_files(s));
    if listed.map(|s| s.judgement.slope).sum::<f64>() >= judgement.slope / 2.0 {
        return;
    }
    let eta = judgement.eta(machine_headroom(snapshot));
    if let Some((name, row)) = anon.program {
        let count = history.members(GroupBy::Command, name.map(|name| &**name));
        let is_listed = |s: &Suspect| s.ended.is_none() && s.command.as_ref() == name;
        if count < 2 || found.iter().any(is_listed) {
            return;
        }
        let key = GroupKey {
            by: GroupBy::Command,
            name: name.cloned(),
        };
        let mut rows = vec![Suspect {
            judgement,
            count,
            cause: Some(Cause::NewProcesses),
            eta,
            ..Suspect::new(RowKey::Group(key), name.cloned(), row)
        }];
        MembersByUser::of(history, snapshot, [&rows]).name_users(&mut rows);
        found.append(&mut rows);
    } else if anon.is_unseen || history.groups_by(GroupBy::User).nth(1).is_some() {
        let cause = if anon.is_unseen {
            Cause::Unseen
        } else {
            Cause::OfAllUsers
        };
        let label = PartKind::find(ANON).map_or(ANON, |kind| kind.label);
        found.push(Suspect {
            judgement,
            cause: Some(cause),
            eta,
            ..Suspect::new(RowKey::Part(PartKey::whole(ANON, label)), None, anon.row)
        });
    }
}

/// Finds the processes whose held memory grows or leaks.
fn held_processes(history: &History, snapshot: &Snapshot, least: Verdict) -> Vec<Suspect> {
    let suspects = history
        .held()
        .processes()
        .filter(|(_, held)| is_suspect(held.row(), least));
    let found = suspects.filter_map(|(id, held)| {
        let sample = snapshot.row(id)?;
        let cgroup = sample.facts.cgroup.as_deref().ok();
        Some(Suspect {
            facts: Some(Arc::clone(&sample.facts)),
            count: 1,
            eta: held.row().trend().eta(headroom(snapshot, cgroup)),
            ..Suspect::held(RowKey::Process(id), history.command(id), held)
        })
    });
    let mut found: Vec<Suspect> = found.collect();
    order::sort_by(&mut found, |a, b| a.key.cmp(&b.key));
    found
}

/// Finds the groups of that kind whose held memory grows or leaks.
fn held_groups(history: &History, snapshot: &Snapshot, by: GroupBy, least: Verdict) -> Vec<Suspect> {
    let suspects = history
        .held()
        .groups_by(by)
        .filter(|(_, held)| is_suspect(held.row(), least));
    let found = suspects.map(|(key, held)| Suspect {
        count: history.members(by, key.name.as_deref()),
        ..Suspect::held(RowKey::Group(key.clone()), key.name.clone(), held)
    });
    let mut found: Vec<Suspect> = found.collect();
    order::sort_by(&mut found, |a, b| a.key.cmp(&b.key));
    set_etas(history, snapshot, by, &mut found);
    found
}

/// Finds the groups of that kind whose number of processes grows.
fn populations(history: &History, snapshot: &Snapshot, by: GroupBy, least: Verdict) -> Vec<Suspect> {
    let least = least.max(Verdict::Growing);
    let found = history.groups.populations(by).filter_map(|(name, row, population)| {
        let judgement = population.judgement(snapshot.monotonic);
        let name = name.cloned();
        let key = GroupKey { by, name: name.clone() };
        (judgement.verdict >= least).then(|| Suspect {
            count: population.living as usize,
            orphans: population.orphans as usize,
            judgement,
            ..Suspect::new(RowKey::Group(key), name, row)
        })
    });
    let mut found: Vec<Suspect> = found.collect();
    order::sort_by(&mut found, |a, b| a.key.cmp(&b.key));
    found
}

/// Returns true if one of these programs, of which the family has processes, explains at least half of its new ones.
fn is_explained_by_programs(history: &History, family: &Suspect, programs: &[Suspect]) -> bool {
    let explains = |program: &Suspect| {
        let keys = program.key.group().zip(family.key.group());
        program.judgement.slope >= family.judgement.slope / 2.0
            && keys.is_some_and(|(program, family)| history.share_member([program, family]))
    };
    programs.iter().any(explains)
}

/// Returns true if the growth that is reported explains more than half of a part's growth, with no better verdict: a leak in two
/// places is reported once.
fn is_explained(part: &str, judged: &Judgement, reported: &[Judgement]) -> bool {
    let slope: f64 = reported.iter().map(|judged| judged.slope).sum();
    let worst = reported.iter().map(|judged| judged.verdict).max();
    EXPLAINED_BY_PROCESSES.contains(&part)
        && slope >= judged.slope * MIN_EXPLAINED
        && worst.is_some_and(|worst| worst >= judged.verdict)
}

/// Returns the file systems in memory that grow, the fastest first, without those that the growth of `reported` explains.
/// Removes the rows that explain one from `reported`, because they cannot explain another as well. If shared memory as a whole grows
/// as fast as both together, they are not the same memory.
fn growing_mounts<'a>(
    history: &'a History,
    now: Duration,
    least: Verdict,
    reported: &mut Vec<Judgement>,
) -> Vec<(PartKey, &'a RowHistory)> {
    let label = PartKind::find(SHMEM).map_or(SHMEM, |kind| kind.label);
    let mounts = history.mounts().all().filter(|(_, row)| is_suspect(row, least));
    let mut mounts: Vec<_> = mounts.collect();
    order::sort_by(&mut mounts, |(a, one), (b, other)| {
        let by_slope = other.trend().slope.total_cmp(&one.trend().slope);
        by_slope.then_with(|| a.cmp(b))
    });
    let whole = history.parts().get(SHMEM);
    let mut counted: f64 = reported.iter().map(|judged| judged.slope).sum();
    // The most similar pace first.
    mounts.retain(|(_, row)| {
        let judged = row.trend();
        let span = judged.watched(now).unwrap_or_default().min(LONGEST_LOOK);
        let pace = |row: &RowHistory| row.footprint().change_over(span) / span.as_secs_f64().max(1.0);
        if whole.is_some_and(|whole| pace(whole) - counted >= pace(row) * MIN_BESIDE) {
            counted += pace(row);
            return true;
        }
        let explains = |other: &Judgement| is_explained(SHMEM, judged, &[*other]);
        let distance = |at: &usize| (reported[*at].slope - judged.slope).abs();
        let similar = (0..reported.len()).filter(|at| explains(&reported[*at]));
        if let Some(at) = similar.min_by(|a, b| distance(a).total_cmp(&distance(b))) {
            reported.swap_remove(at);
            return false;
        }
        if is_explained(SHMEM, judged, reported) {
            reported.clear();
            return false;
        }
        true
    });
    let key = |path: &Arc<[u8]>| PartKey {
        mount: Some(Arc::clone(path)),
        ..PartKey::whole(SHMEM, label)
    };
    mounts.into_iter().map(|(path, row)| (key(path), row)).collect()
}

/// Returns the file system in memory that the growth of shared memory is in, if its own growth is not judged yet: the one with at
/// least half of it.
fn mount_of_growth(history: &History, shared: &RowHistory, now: Duration) -> Option<Arc<[u8]>> {
    let span = shared.trend().watched(now)?;
    let grown = |row: &RowHistory| row.footprint().change_over(span);
    let mounts = history.mounts().all().map(|(path, row)| (path, grown(row)));
    let (path, most) = mounts.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (most > 0.0 && most >= grown(shared) / 2.0).then(|| Arc::clone(path))
}

/// Returns the process or program that most of a part is in.
fn cause_of_part(history: &History, snapshot: &Snapshot, key: &PartKey) -> Option<Cause> {
    if key.mount.is_some() {
        return None;
    }
    if key.id == SHMEM
        && history.parts().is_shared_in_segments()
        && let Ok(creator) = snapshot.accounting.sysv.and_then(|sysv| sysv.creator)
    {
        return Some(Cause::SystemV {
            user: user_text(snapshot, creator.uid),
            pid: creator.pid,
            bytes: creator.resident,
        });
    }
    if key.id == REST
        && let Some(grown) = history.parts().socket_growth()
    {
        return Some(Cause::Sockets { grown });
    }
    history.part_share(key.id, snapshot).map(Cause::Holder)
}

/// Returns the name of a user that runs a process, safe to print, or else `uid 1000`.
fn user_text(snapshot: &Snapshot, uid: u32) -> Box<str> {
    let mut rows = snapshot.rows().iter().filter(|row| row.facts.uid == Ok(uid));
    let name = rows.find_map(|row| row.facts.user.as_deref().ok());
    name.map_or_else(
        || format!("uid {uid}").into(),
        |name| text::safe_prefix(name, MAX_NAME).into(),
    )
}

/// Finds the parts of the RAM that grow and may leak, unless the held or shared memory that is reported explains it. Unreclaimable slab is
/// reported with the cache that grows, and shared memory by file system: one may leak while another is emptied.
fn find_parts(history: &History, snapshot: &Snapshot, least: Verdict, held: &[Suspect], found: &mut Vec<Suspect>) {
    // A part that only warms up is not worth reporting.
    let least = least.max(Verdict::Growing);
    let cache = history.slab().grower();
    let cause = cache.map(|(name, _)| Cause::Slab(name.into()));
    let suspect = |key: PartKey, row: &RowHistory, cause| Suspect {
        eta: row.trend().eta(machine_headroom(snapshot)),
        cause,
        ..Suspect::new(RowKey::Part(key), None, row)
    };
    let parts = history.parts().that_may_leak();
    let parts = parts.filter(|(_, row)| is_suspect(row, least));
    let is_live = |s: &&Suspect| s.ended.is_none() && (s.key.process().is_some() || s.alike > 0);
    let shared = found.iter().filter(|s| s.cause == Some(Cause::SharedMemory));
    let reported = held.iter().chain(shared).filter(is_live);
    let mut reported: Vec<_> = reported.map(|s| s.judgement).collect();
    let is_in_shmem = |s: &&Suspect| match s.cause {
        Some(Cause::Held(kind)) => matches!(kind, HeldKind::Memfd | HeldKind::Gpu),
        _ => s.cause == Some(Cause::SharedMemory),
    };
    let in_shmem = held.iter().chain(&*found).filter(is_live).filter(is_in_shmem);
    let mut in_shmem: Vec<_> = in_shmem.map(|s| s.judgement).collect();
    let mounts = growing_mounts(history, snapshot.monotonic, least, &mut in_shmem);
    reported.extend(mounts.iter().map(|(_, row)| *row.trend()));
    let parts: Vec<_> = parts
        .filter(|(key, row)| !is_explained(key.id, row.trend(), &reported))
        .collect();
    found.extend(mounts.into_iter().map(|(key, row)| suspect(key, row, None)));
    let mut has_cause = false;
    for (mut key, row) in parts {
        if key.id == SHMEM {
            key.mount = key.mount.or_else(|| mount_of_growth(history, row, snapshot.monotonic));
        }
        let slab = cause.clone().filter(|_| key.id == SLAB);
        has_cause |= slab.is_some();
        let cause = slab.or_else(|| cause_of_part(history, snapshot, &key));
        found.push(suspect(key, row, cause));
    }
    // Other caches that shrink may hide a cache that leaks.
    if let (Some((_, row)), Some(PartKind { id, label, .. }), false) = (cache, PartKind::find(SLAB), has_cause)
        && row.trend().verdict == Verdict::Leaking
    {
        found.push(suspect(PartKey::whole(id, label), row, cause));
    }
}

/// Adds the programs of a fleet that grow on more hosts than chance explains, and removes the hosts that they explain.
fn find_fleet_programs(history: &History, snapshot: &Snapshot, found: &mut Vec<Suspect>) {
    let mut programs: HashMap<Arc<[u8]>, Vec<Judgement>> = HashMap::new();
    for suspect in found.iter() {
        let Some(name) = &suspect.command else { continue };
        programs.entry(Arc::clone(name)).or_default().push(suspect.judgement);
    }
    for (name, judgements) in programs {
        let all = history.members(GroupBy::Command, Some(&name));
        let Some((hosts, judgement)) = agree(judgements, all, snapshot.monotonic) else {
            continue;
        };
        found.retain(|s| s.command.as_ref() != Some(&name) || s.judgement.verdict > judgement.verdict);
        let key = GroupKey {
            by: GroupBy::Command,
            name: Some(Arc::clone(&name)),
        };
        let Some(row) = history.group(&key) else { continue };
        found.push(Suspect {
            count: all,
            hosts: Some((hosts, all)),
            judgement,
            ..Suspect::new(RowKey::Group(key), Some(name), row)
        });
    }
}

/// Returns a placeholder for an ended process, for filters. It has names but no figures.
pub fn ended_sample(id: Identity, facts: &Arc<Facts>) -> ProcessSample {
    ProcessSample::unread(id, Arc::clone(facts), Missing::Gone)
}
