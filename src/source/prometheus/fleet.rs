//! The rows and hosts of a fleet, from one round of answers to the next.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::answer::{Answer, Labels};
use super::queries::{Field, HostLabel};
use super::row::{GroupRow, shortened};
use super::sums::take_sum;
use crate::group::GroupBy;
use crate::model::kernel_tables::KernelTables;
use crate::model::system::AccountingInputs;
use crate::model::{
    Fleet, FleetHost, FleetRow, Missing, ProcessSample, Reading, Sampling, SelfCost, Snapshot, SystemSample,
};
use crate::order;

/// Time for which a host that tells nothing any more keeps its rows.
pub const KEPT: Duration = Duration::from_secs(300);
/// Rounds for which a group that ended keeps its number, in case it comes back.
const REMEMBERED: u64 = 120;
/// Maximum number of groups of all hosts; further ones are left out, which is said.
const MAX_ROWS: usize = 250_000;

/// Makes snapshots of rounds of answers.
#[derive(Debug)]
pub struct FleetSource {
    label: HostLabel,
    /// The Prometheus, as it is shown.
    name: Arc<[u8]>,
    hosts: HashMap<Box<str>, Host>,
    /// Number of the groups of all hosts, and the number of the next new one.
    rows: usize,
    next: u32,
    /// The number of this round, from 1, and that in which each figure was answered last.
    round: u64,
    answered: [u64; Field::OF_GROUPS],
    seen_answered: u64,
    /// The time of the answers of this round.
    now: Duration,
    system: SystemSample,
    doubles: usize,
    left_out: usize,
    last: Option<Arc<Snapshot>>,
}

#[derive(Debug, Default)]
struct Host {
    /// The name that it gives itself.
    own_name: Option<Box<str>>,
    shown: Arc<[u8]>,
    seen: Duration,
    seen_in: u64,
    /// By the kind of the group, and its name.
    groups: [HashMap<Box<str>, GroupRow>; GroupBy::OF_PROCESSES.len()],
}

impl FleetSource {
    /// Creates one that knows nothing yet of a Prometheus of that name, whose hosts are told apart by that label.
    pub fn new(name: &str, label: HostLabel) -> Self {
        Self {
            label,
            name: name.as_bytes().into(),
            hosts: HashMap::new(),
            rows: 0,
            next: 1,
            round: 0,
            answered: [0; Field::OF_GROUPS],
            seen_answered: 0,
            now: Duration::ZERO,
            system: SystemSample::missing(Missing::NotExported),
            doubles: 0,
            left_out: 0,
            last: None,
        }
    }

    /// Returns the last snapshot.
    pub const fn last(&self) -> Option<&Arc<Snapshot>> {
        self.last.as_ref()
    }

    /// Returns the number of groups that are known.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Begins a round. What is not answered in it stays as it was.
    pub fn begin(&mut self) {
        self.round += 1;
        (self.doubles, self.left_out) = (0, 0);
    }

    /// Takes in an answer.
    pub fn take(&mut self, field: Field, answer: &Answer<'_>) {
        match field {
            Field::System => self.system = SystemSample::missing(Missing::NotExported),
            Field::Seen => self.seen_answered = self.round,
            Field::Name => {}
            of_group => self.answered[of_group as usize] = self.round,
        }
        for series in &answer.series {
            let Some((at, value)) = series.now() else { continue };
            self.now = self.now.max(Duration::try_from_secs_f64(at).unwrap_or_default());
            match field {
                Field::System => take_sum(&mut self.system, series.metric.get("__name__"), value),
                Field::Seen => {
                    let (seen, round) = (Duration::try_from_secs_f64(value).unwrap_or_default(), self.round);
                    let host = self.host(&series.metric);
                    (host.seen, host.seen_in) = (host.seen.max(seen), round);
                }
                Field::Name => {
                    let name = series.metric.get("nodename").map(shortened);
                    self.host(&series.metric).own_name = name;
                }
                field => self.take_figure(field as usize, &series.metric, value),
            }
        }
    }

    fn take_figure(&mut self, field: usize, labels: &Labels<'_>, value: f64) {
        let (round, next, is_full) = (self.round, self.next, self.rows >= MAX_ROWS);
        let Some(name) = labels.get("group") else { return };
        let by = labels.get("by").and_then(GroupBy::from_id).unwrap_or(GroupBy::Command);
        let host = self.host(labels);
        let shown = Arc::clone(&host.shown);
        let Some(groups) = host.groups.get_mut(by as usize) else {
            return;
        };
        let is_known = groups.contains_key(name);
        if !is_known && is_full {
            self.left_out += 1;
            return;
        }
        if !is_known {
            groups.insert(name.into(), GroupRow::new(next, by, name, shown));
        }
        let is_double = groups.get_mut(name).is_some_and(|row| {
            let figure = &mut row.figures[field];
            let is_double = figure.0 == round;
            if !is_double {
                *figure = (round, value);
            }
            is_double
        });
        self.doubles += usize::from(is_double);
        if !is_known {
            self.rows += 1;
            self.next += 1;
        }
    }

    /// Returns the number of the row of a series; `None` for one that is not known.
    pub(super) fn number_of(&self, labels: &Labels<'_>) -> Option<u32> {
        let by = labels.get("by").and_then(GroupBy::from_id).unwrap_or(GroupBy::Command);
        let host = self.hosts.get(self.key(labels))?;
        Some(host.groups.get(by as usize)?.get(labels.get("group")?)?.number)
    }

    fn key<'l>(&self, labels: &'l Labels<'_>) -> &'l str {
        labels
            .get(&self.label.0)
            .or_else(|| labels.get("instance"))
            .unwrap_or("(no host)")
    }

    fn host(&mut self, labels: &Labels<'_>) -> &mut Host {
        let key = self.key(labels);
        if !self.hosts.contains_key(key) {
            let shown = shortened(key).as_bytes().into();
            let host = Host {
                shown,
                ..Host::default()
            };
            self.hosts.insert(key.into(), host);
        }
        self.hosts.entry(key.into()).or_default()
    }

    /// Ends the round: makes its snapshot, of the time of the answers; `None` where nothing was answered. Time does not
    /// run back: where it would, as several servers that are asked in turn differ a little, there is none either.
    pub fn finish(&mut self, interval: Duration, own: Reading<SelfCost>) -> Option<Arc<Snapshot>> {
        if self.answered[Field::Pss as usize] != self.round || self.now.is_zero() {
            return None;
        }
        let now = self.now;
        if self.last.as_ref().is_some_and(|last| last.monotonic >= now) {
            return None;
        }
        self.name_hosts();
        let mut rows = Vec::with_capacity(self.rows);
        let mut hosts = Vec::with_capacity(self.hosts.len());
        let (answered, round, last) = (self.answered, self.round, self.last.take());
        let is_seen_known = self.seen_answered == round;
        let is_partial = self.is_partial();
        self.hosts.retain(|_, host| {
            let before = rows.len();
            if !is_seen_known && host.is_told_in(round) {
                host.seen = now;
            }
            for row in host.groups.iter_mut().flat_map(HashMap::values_mut) {
                if let Some(made) = row.make(&answered, is_partial, host.seen, now) {
                    row.present_in = round;
                    rows.push(made);
                }
            }
            let is_gone = rows.len() == before && (!is_seen_known || host.seen_in != round);
            if is_gone {
                keep_rows(host, last.as_deref(), &mut rows);
            }
            let is_kept = !is_gone || now.saturating_sub(host.seen) < KEPT;
            if is_kept {
                hosts.push(FleetHost {
                    name: Arc::clone(&host.shown),
                    seen: host.seen,
                    is_gone,
                });
                host.forget(round, is_gone);
            } else {
                rows.truncate(before);
            }
            is_kept
        });
        self.rows = self.hosts.values().map(Host::len).sum();
        order::sort_by(&mut hosts, |a, b| a.name.cmp(&b.name));
        rows.sort_unstable_by_key(|(sample, _)| sample.id.pid);
        let (processes, rows) = rows.into_iter().unzip();
        let fleet = Fleet {
            hosts,
            rows,
            is_partial,
        };
        let mut snapshot = self.snapshot_at(now, processes, interval);
        (snapshot.own, snapshot.fleet, snapshot.tick) = (own, Some(Arc::new(fleet)), round);
        let snapshot = Arc::new(snapshot);
        self.last = Some(Arc::clone(&snapshot));
        Some(snapshot)
    }

    /// Returns true if nothing but PSS was ever answered.
    fn is_partial(&self) -> bool {
        [Field::Uss, Field::Rss, Field::Swap]
            .iter()
            .all(|field| self.answered[*field as usize] == 0)
    }

    /// Makes the snapshot of the first round anew, of answers that came after it.
    pub fn complete(&mut self) -> Option<Arc<Snapshot>> {
        let first = self.last.take()?;
        self.now = first.monotonic;
        self.finish(first.interval, first.own)
    }

    /// Returns a snapshot of these rows, of which nothing else is known but the last figures of the hosts.
    pub(super) fn snapshot_at(&self, now: Duration, processes: Vec<ProcessSample>, interval: Duration) -> Snapshot {
        Snapshot {
            time: UNIX_EPOCH + now,
            monotonic: now,
            tick: 0,
            host: Arc::clone(&self.name),
            boot_id: Err(Missing::NotExported),
            interval,
            sampling: Sampling::default(),
            own: Err(Missing::NotExported),
            system: self.system.clone(),
            accounting: Arc::new(AccountingInputs::missing(Missing::NotExported)),
            kernel: KernelTables::default(),
            oom_kills: Arc::from([]),
            processes: Ok(processes),
            changes: None,
            cgroups: Arc::default(),
            jvms: Arc::default(),
            address_limits: Arc::default(),
            fleet: Some(Arc::default()),
        }
    }

    /// Returns what is to be said of the round, each safe to print.
    pub fn remarks(&self) -> Vec<String> {
        let doubles = (self.doubles > 0).then(|| {
            format!(
                "{} series of the same host and group were left out: --host-label names the label that tells hosts apart",
                self.doubles
            )
        });
        let left_out = (self.left_out > 0).then(|| format!("more than {MAX_ROWS} groups: --match chooses some"));
        doubles.into_iter().chain(left_out).collect()
    }

    /// Gives each host the name that it has for itself, if no other has the same.
    fn name_hosts(&mut self) {
        let mut names: HashMap<Box<str>, usize> = HashMap::new();
        for name in self.hosts.values().filter_map(|host| host.own_name.clone()) {
            *names.entry(name).or_default() += 1;
        }
        let is_default = self.label == HostLabel::default();
        for (key, host) in &mut self.hosts {
            let own = host
                .own_name
                .as_ref()
                .filter(|name| is_default && names.get(*name) == Some(&1));
            let shown = own.map_or_else(|| shortened(key), Clone::clone);
            if *shown.as_bytes() != *host.shown {
                host.shown = shown.as_bytes().into();
                for row in host.groups.iter_mut().flat_map(HashMap::values_mut) {
                    Arc::make_mut(&mut row.facts).host = Some(Arc::clone(&host.shown));
                }
            }
        }
    }
}

impl Host {
    fn len(&self) -> usize {
        self.groups.iter().map(HashMap::len).sum()
    }

    /// Returns true if the memory of one of its groups was told in that round.
    fn is_told_in(&self, round: u64) -> bool {
        let mut rows = self.groups.iter().flat_map(HashMap::values);
        rows.any(|row| row.figures[Field::Pss as usize].0 == round)
    }

    /// Forgets groups that ended long ago; none while the host is gone.
    fn forget(&mut self, round: u64, is_gone: bool) {
        for groups in self.groups.iter_mut().filter(|_| !is_gone) {
            groups.retain(|_, row| row.present_in + REMEMBERED >= round);
        }
    }
}

/// Adds the last rows of a host that tells nothing any more.
fn keep_rows(host: &Host, last: Option<&Snapshot>, rows: &mut Vec<(ProcessSample, FleetRow)>) {
    let Some(last) = last else { return };
    for row in host.groups.iter().flat_map(HashMap::values) {
        if let Some(place) = last.place(row.id()) {
            let mut sample = last.rows()[place].clone();
            sample.stale = true;
            let known = last.fleet_row(place).copied().unwrap_or_default();
            rows.push((sample, FleetRow { verdict: None, ..known }));
        }
    }
}
