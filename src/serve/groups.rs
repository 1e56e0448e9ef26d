//! The families of groups: the columns with a metric name, the verdicts, and counters of page faults. Chooses the groups that
//! have series of their own, so that their number is bounded.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::families::{Family, Labels};
use crate::columns::{COLUMNS, Row};
use crate::group::{Group, GroupBy, GroupKey, GroupNames, Totals};
use crate::history::History;
use crate::model::{Identity, Memory, ProcessSample, Snapshot};
use crate::order;
use crate::text::{is_wider, safe_prefix};
use crate::trend::{Judgement, Verdict};

/// The label of the sum of all other groups.
const OTHERS: &str = "(others)";
/// Maximum length of a label's value in terminal columns.
const LONGEST: usize = 128;

/// The time during which a small group is new.
const NEW: Duration = Duration::from_secs(60);

/// The groups of a snapshot, divided.
pub(super) struct Chosen {
    /// The places of the groups with series of their own, and their labels, which are unique.
    pub(super) shown: Vec<(usize, Labels)>,
    others: Vec<usize>,
}

/// Chooses up to `top` groups: first [those that grow or leak](growing), then those with the largest footprints. A group that
/// was shown before stays until it is a fifth smaller than one that was not, so that series at the edge do not come and go.
/// Small groups that are [new](is_new) are not chosen.
pub(super) fn choose(
    top: usize,
    before: &mut HashSet<GroupKey>,
    groups: &[Group],
    faults: &mut FaultCounters,
    history: &History,
    snapshot: &Snapshot,
) -> Chosen {
    let worth = |group: &Group| {
        let row = history.of_group(group, snapshot);
        let verdict = row.map_or(Verdict::Unknown, |row| row.trend().verdict);
        let memory = group.totals.memory.as_ref();
        let footprint = memory.map_or(group.totals.counted_rss, |m| Memory::footprint(m).unwrap_or(m.pss));
        let was_shown = before.contains(&group.key);
        let is_eligible = was_shown || !is_new(group, footprint, faults, snapshot);
        let bonus = if was_shown { footprint / 4 } else { 0 };
        Worth {
            grows: is_eligible && verdict.is_growth(),
            leaks: verdict == Verdict::Leaking,
            footprint: footprint.saturating_add(bonus),
            is_eligible,
        }
    };
    let worth: Vec<_> = groups.iter().map(worth).collect();
    let growing = growing(top, groups, &worth, snapshot);
    let mut order: Vec<_> = (0..groups.len()).filter(|at| worth[*at].is_eligible).collect();
    let rank = |at: &usize| (Reverse((growing.contains(at), worth[*at].footprint)), &groups[*at].key);
    order::sort_by(&mut order, |a, b| rank(a).cmp(&rank(b)));
    let mut taken = HashSet::from([OTHERS.into()]);
    let mut others: Vec<_> = (0..groups.len()).filter(|at| !worth[*at].is_eligible).collect();
    let mut shown = Vec::new();
    for at in order {
        let group = &groups[at];
        let name = name_of(group.key.label());
        if shown.len() < top && taken.insert(name.clone()) {
            shown.push((at, labels(group, name, snapshot)));
        } else {
            others.push(at);
        }
    }
    *before = shown.iter().map(|(at, _)| groups[*at].key.clone()).collect();
    Chosen { shown, others }
}

/// Returns the name of a group as the value of a label. Names that are equal once cut would be one series, so what is cut has a suffix.
fn name_of(label: &[u8]) -> Box<str> {
    let name = safe_prefix(label, LONGEST);
    if *name == *OTHERS {
        return format!("{OTHERS} (name)").into();
    }
    if !is_wider(label, LONGEST) && !name.starts_with(OTHERS) {
        return name.into();
    }
    let digest = BuildHasherDefault::<DefaultHasher>::new().hash_one(label);
    format!("{name} ({digest:016x})").into()
}

/// The order in which groups get series of their own.
struct Worth {
    grows: bool,
    leaks: bool,
    /// In bytes, more if the group was shown before.
    footprint: u64,
    is_eligible: bool,
}

/// Returns the growing groups that have series of their own, however small they are: at most half of `top`, and at most a
/// quarter for each user. Users take turns, and the leaking ones of a user come first. So many growing programs, above all those of one user, do not replace all others.
fn growing(top: usize, groups: &[Group], worth: &[Worth], snapshot: &Snapshot) -> HashSet<usize> {
    let mut growing: Vec<_> = (0..groups.len()).filter(|at| worth[*at].grows).collect();
    let rank = |at: &usize| (Reverse((worth[*at].leaks, worth[*at].footprint)), &groups[*at].key);
    order::sort_by(&mut growing, |a, b| rank(a).cmp(&rank(b)));
    let mut of_user: HashMap<Option<u32>, usize> = HashMap::new();
    let numbered = growing.into_iter().map(|at| {
        let number = of_user.entry(user(&groups[at], snapshot)).or_default();
        *number += 1;
        (*number, at)
    });
    let mut numbered: Vec<_> = numbered.filter(|(number, _)| *number <= top.div_ceil(4)).collect();
    // Users take turns.
    order::sort_by_key(&mut numbered, |(number, _)| *number);
    numbered.into_iter().take(top.div_ceil(2)).map(|(_, at)| at).collect()
}

/// Returns the uid of the owner of all processes of a group; `None` if they have several, or if it is unknown.
fn user(group: &Group, snapshot: &Snapshot) -> Option<u32> {
    let mut users = group
        .members
        .iter()
        .map(|at| snapshot.rows()[*at].facts.owner_uid().ok());
    let first = users.next()??;
    users.all(|user| user == Some(first)).then_some(first)
}

/// Returns true if a group with this footprint gets no series of its own yet: it began less than a minute ago, after the first
/// snapshot, and takes less than a hundredth of the memory. Programs that rename themselves would otherwise start ever more series.
fn is_new(group: &Group, footprint: u64, faults: &mut FaultCounters, snapshot: &Snapshot) -> bool {
    let since = faults.see(&group.key, snapshot.time);
    let age = snapshot.time.duration_since(since).unwrap_or_default();
    let is_large = snapshot.system.mem_total.is_ok_and(|total| footprint >= total / 100);
    age < NEW && !is_large && faults.first.is_none_or(|first| since > first)
}

/// Returns the labels of a group. A container's labels include its pod and namespace, but not its image: a new image would
/// start new series.
fn labels(group: &Group, name: Box<str>, snapshot: &Snapshot) -> Labels {
    let mut labels = vec![("by", group.key.by.id().into()), ("group", name)];
    let first = group.members.first().map(|at| &snapshot.rows()[*at].facts.container);
    if let (GroupBy::Container | GroupBy::Pod, Some(Some(container))) = (group.key.by, first)
        && let Ok(names) = &container.names
    {
        let known = [("namespace", &names.namespace), ("pod", &names.pod)].into_iter();
        labels.extend(known.filter_map(|(label, value)| Some((label, safe_prefix(value.as_deref()?, LONGEST).into()))));
    }
    labels.into()
}

/// Metric, help, value.
type JudgedFigure = (&'static str, &'static str, fn(&Judgement) -> bool);

/// The verdicts on a group, as alert rules need them.
const JUDGED: [JudgedFigure; 2] = [
    (
        "zmtop_growing",
        "1 if the group's memory warms up, hoards, grows or leaks, else 0; absent while unknown.",
        |judged| judged.verdict.is_growth(),
    ),
    (
        "zmtop_leaking",
        "1 if the group's memory grows beyond what a cache fill, a warm-up or a load explains, else 0; absent while \
         unknown.",
        |judged| judged.verdict == Verdict::Leaking,
    ),
];

/// Builds the families of the chosen groups, and of the sum of the others.
pub(super) fn families(
    groups: &[Group],
    chosen: &Chosen,
    faults: &FaultCounters,
    history: &History,
    snapshot: &Snapshot,
) -> Vec<Family> {
    // Groups share no address spaces, so their totals can be added.
    let mut others = Totals::default();
    for at in &chosen.others {
        others.add(&groups[*at].totals);
    }
    let shown = chosen.shown.iter().map(|(at, labels)| {
        let (group, labels) = (&groups[*at], Arc::clone(labels));
        let row = history.of_group(group, snapshot);
        (labels, Row::of_group(group, row, snapshot))
    });
    let mut rows: Vec<(Labels, Row<'_>)> = shown.collect();
    if let Some(at) = chosen.others.first() {
        // The growth of their sum means little, so it gets no verdict.
        let labels = [("by", groups[*at].key.by.id().into()), ("group", OTHERS.into())];
        rows.push((Arc::new(labels), Row::of_totals(&others, snapshot)));
    }
    let mut families: Vec<Family> = COLUMNS
        .iter()
        .filter_map(|column| {
            let mut family = Family::gauge(column.metric?, column.help_of_metric());
            for (labels, row) in &rows {
                family.push(labels, (column.value)(row).number());
            }
            Some(family)
        })
        .collect();
    for (metric, help, is_true) in JUDGED {
        let mut family = Family::gauge(metric, help);
        for (labels, row) in &rows {
            let judged = row.trend.filter(|judged| judged.verdict != Verdict::Unknown);
            family.push(labels, judged.map(|judged| f64::from(u8::from(is_true(judged)))));
        }
        families.push(family);
    }
    let mut minor = Family::counter(
        "zmtop_minor_faults",
        "Page faults that needed no disk, since zmtop first saw the group. Field 10 of stat, summed while processes come and go.",
    );
    let mut major = Family::counter(
        "zmtop_major_faults",
        "Page faults that waited for a disk, since zmtop first saw the group. Field 12 of stat, summed while processes come \
         and go.",
    );
    for (at, labels) in &chosen.shown {
        let (sum, since) = faults.of(&groups[*at].key);
        minor.count(labels, Some(sum.minor as f64), Some(since));
        major.count(labels, Some(sum.major as f64), Some(since));
    }
    families.extend([minor, major]);
    families
}

/// Builds the families of the numbers of groups and of series.
pub(super) fn counts(groups: usize, shown: usize, series: usize) -> [Family; 3] {
    let counts = [
        ("zmtop_groups", "Number of groups of processes.", groups),
        (
            "zmtop_groups_shown",
            "Groups that have series of their own; the others are summed as (others).",
            shown,
        ),
        // Includes these three.
        ("zmtop_series", "Series in this answer.", series + 3),
    ];
    counts.map(|(metric, help, value)| Family::gauge(metric, help).with(Some(value as f64), None))
}

#[derive(Clone, Copy, Default, PartialEq)]
struct Faults {
    minor: u64,
    major: u64,
}

/// Counts the page faults of groups, so that sums continue while processes come and go.
pub(super) struct FaultCounters {
    by: GroupBy,
    /// The counters of each process when it was last seen.
    processes: HashMap<Identity, Faults>,
    /// The sums of each group since its first process was seen, by its name, and that time.
    groups: HashMap<Arc<[u8]>, (Faults, SystemTime)>,
    /// The sum of the processes without a group.
    ungrouped: Faults,
    started: SystemTime,
    /// The time of the first snapshot.
    first: Option<SystemTime>,
    /// The tick of the last snapshot with a list of processes.
    tick: Option<u64>,
    pushed: u64,
}

impl FaultCounters {
    /// Number of snapshots after which ended groups are forgotten. If they come back before, their counters continue.
    const CLEAN_UP_INTERVAL: u64 = 600;
    /// Number of names beside two of each process at which they are forgotten earlier: processes can rename themselves in each snapshot.
    const MAX_ENDED: usize = 1024;

    pub(super) fn new(by: GroupBy, started: SystemTime) -> Self {
        Self {
            by,
            processes: HashMap::new(),
            groups: HashMap::new(),
            ungrouped: Faults::default(),
            started,
            first: None,
            tick: None,
            pushed: 0,
        }
    }

    /// Adds a snapshot. A process counts from its first snapshot on.
    pub(super) fn push(&mut self, snapshot: &Snapshot) {
        let Ok(rows) = &snapshot.processes else { return };
        self.first.get_or_insert(snapshot.time);
        let names = GroupNames::new(rows);
        let changes = self.tick.and_then(|tick| snapshot.changes_since(tick));
        if let Some(changes) = changes {
            for sample in changes.rows.iter().filter_map(|at| rows.get(*at as usize)) {
                self.count(sample, &names, snapshot.time);
            }
            for id in &changes.removed {
                self.processes.remove(id);
            }
        } else {
            for sample in rows {
                self.count(sample, &names, snapshot.time);
            }
            self.processes.retain(|id, _| snapshot.place(*id).is_some());
        }
        self.tick = Some(snapshot.tick);
        self.pushed += 1;
        let are_many = self.groups.len() > 2 * rows.len() + Self::MAX_ENDED;
        if are_many || self.pushed.is_multiple_of(Self::CLEAN_UP_INTERVAL) {
            let living: HashSet<_> = rows.iter().filter_map(|row| names.name_of(row, self.by)).collect();
            self.groups.retain(|name, _| living.contains(&**name));
            self.groups.shrink_to(2 * self.groups.len());
        }
    }

    fn count<'a>(&mut self, sample: &'a ProcessSample, names: &GroupNames<'a>, time: SystemTime) {
        if sample.stat.is_kernel_thread() {
            return;
        }
        let (minor, major) = (sample.stat.minflt, sample.stat.majflt);
        let known = self.processes.insert(sample.id, Faults { minor, major });
        let more = known.map_or_else(Faults::default, |before| Faults {
            minor: minor.saturating_sub(before.minor),
            major: major.saturating_sub(before.major),
        });
        // A group counts from its first process on, even without a fault: it may end, be forgotten and come back.
        if more == Faults::default() && known.is_some() {
            return;
        }
        let sum = match names.name_of(sample, self.by) {
            None => &mut self.ungrouped,
            Some(name) => {
                if !self.groups.contains_key(&*name) {
                    self.groups.insert(name.as_ref().into(), (Faults::default(), time));
                }
                let Some((sum, _)) = self.groups.get_mut(&*name) else {
                    return;
                };
                sum
            }
        };
        sum.minor += more.minor;
        sum.major += more.major;
    }

    /// See [`Exporter::limit_starts`](super::Exporter::limit_starts).
    pub(super) fn limit_starts(&mut self, time: SystemTime) {
        self.started = self.started.min(time);
        self.first = self.first.map(|first| first.min(time));
        for (_, since) in self.groups.values_mut() {
            *since = time.min(*since);
        }
    }

    /// Returns the time from which the sums of a group count. If it has none, they count from now on.
    fn see(&mut self, key: &GroupKey, now: SystemTime) -> SystemTime {
        let Some(name) = &key.name else { return self.started };
        let (_, since) = self.groups.entry(Arc::clone(name)).or_insert((Faults::default(), now));
        *since
    }

    /// Returns the sums of a group, and the time from which they count.
    fn of(&self, key: &GroupKey) -> (Faults, SystemTime) {
        let ungrouped = (self.ungrouped, self.started);
        let Some(name) = &key.name else { return ungrouped };
        let known = self.groups.get(name).copied();
        known.unwrap_or((Faults::default(), self.started))
    }
}
