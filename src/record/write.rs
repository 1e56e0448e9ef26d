//! Writes a snapshot as `zmtop/1`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::group::Totals;
use crate::model::system::AccountingInputs;
use crate::model::{Missing, ProcessSample, Snapshot};
use crate::record::accounting::{Accounting, Field, OomKillRecord};
use crate::record::cgroup::Cgroup;
use crate::record::close_look::{AddressLimit, Heap, Jvm};
use crate::record::exits::ExitsRecord;
use crate::record::killers;
use crate::record::process::Process;
use crate::record::system::System;
use crate::record::taker::TakerRecord;
use crate::record::unread::{MissingFields, Unread};
use crate::record::{Cost, SCHEMA, Tick, slab, time_text};
use crate::schema::{Schema, described};
use crate::text::lossless;

/// A snapshot that serializes as `zmtop/1`. Its processes are converted one at a time.
#[derive(Debug)]
pub struct Record<'a> {
    snapshot: &'a Snapshot,
    rows: Vec<&'a ProcessSample>,
}

impl<'a> Record<'a> {
    /// Creates a record of the whole snapshot.
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self::selected(snapshot, snapshot.rows().iter().collect())
    }

    /// Creates a record with only these processes, in this order, and their totals.
    pub const fn selected(snapshot: &'a Snapshot, rows: Vec<&'a ProcessSample>) -> Self {
        Self { snapshot, rows }
    }
}

described! {
    #[derive(Serialize)]
    struct Fields<'a> {
        /// The name of this schema.
        schema: &'static str = text(),
        /// The time of the snapshot.
        time: String = time(),
        /// The same time on the monotonic clock.
        monotonic_s: f64 = seconds(),
        /// The name of the host.
        host: Cow<'a, str> = foreign(),
        /// The id of the boot. Identities of processes are valid within one boot.
        boot_id: Option<Cow<'a, str>> = text().unread(),
        /// The configured interval; 0 for a single snapshot.
        interval_s: f64 = seconds(),
        /// Time needed to take the snapshot.
        took_s: f64 = seconds(),
        /// Statistics of the sampler in this tick.
        sampling: Tick = object(Tick::fields()),
        /// The cost of zmtop itself.
        own as "self": Option<Cost> = object(Cost::fields()).unread(),
        /// The machine.
        system: System<'a> = object(System::fields()),
        /// Inputs of the account of the RAM, which are read seldom.
        #[serde(skip_serializing_if = "Option::is_none")]
        accounting: Option<Accounting> = object(Accounting::fields()).absent("until it is read"),
        /// The last OOM kills.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        oom_kills: Vec<OomKillRecord> = list(object(OomKillRecord::fields())).absent("if there are none"),
        /// The number of OOM kills since zmtop started, by cause: machine, cgroup, daemon or unknown.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        oom_counts: BTreeMap<&'static str, u64> = map(count()).absent("if there were none"),
        /// The daemons that kill when memory is short: watched, or why their signals are not seen.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        killers: BTreeMap<&'static str, String> = map(text()).absent("if there are none"),
        /// The processes that started and ended since the previous snapshot.
        #[serde(skip_serializing_if = "Option::is_none")]
        exits: Option<ExitsRecord> = object(ExitsRecord::fields()).absent("unless it is asked for"),
        /// The figures of cgroups, by their paths.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        cgroups: BTreeMap<Cow<'a, str>, Cgroup> =
            map(object(Cgroup::fields())).absent("if none is needed; those with a limit always are, while zmtop runs"),
        /// The slab caches of 1 MiB and more, by name, at most the 40 largest. Read once a minute.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        slab: slab::Caches<'a> = map(object(slab::Cache::fields())).absent("if they were not read, as root alone may"),
        /// The heaps of Java virtual machines, by their own counters.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        jvms: Vec<Jvm> = list(object(Jvm::fields())).absent("if none was read"),
        /// Free memory inside the heaps of `malloc`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        heaps: Vec<Heap> = list(object(Heap::fields())).absent("if none was read"),
        /// The limits on growing address spaces (`RLIMIT_AS`).
        #[serde(skip_serializing_if = "Vec::is_empty")]
        address_limits: Vec<AddressLimit> = list(object(AddressLimit::fields())).absent("if there are none"),
        /// The processes that use up the memory below a limit less than two minutes ahead, read once per danger; for a minute.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        takers: Vec<TakerRecord> = list(object(TakerRecord::fields())).absent("if there are none, and outside of recordings"),
        /// The processes, in the requested order.
        processes: Option<Processes<'a>> = list(object(Process::documented())).unread(),
        /// Sums over these processes; partial if some are unreadable.
        totals: TotalsRecord = object(TotalsRecord::fields()),
        /// The reasons of nulls.
        unread: Option<Unread> = unread(),
    }
}

pub fn schema() -> Schema {
    Schema {
        name: SCHEMA,
        help: "A snapshot: the machine and its processes. Written by `zmtop ps --format ndjson` without --columns and --by, read by --from.",
        fields: Fields::fields(),
    }
}

struct Processes<'a> {
    rows: &'a [&'a ProcessSample],
    now: Duration,
}

impl Serialize for Processes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.rows.iter().map(|sample| Process::new(sample, self.now)))
    }
}

described! {
    #[derive(Serialize)]
    struct TotalsRecord {
        /// Number of processes.
        processes: usize = count(),
        /// Number of processes whose memory could not be read. The sums lack them.
        unreadable: usize = count(),
        /// Sum of `pss`.
        pss: Option<u64> = bytes().null("no memory could be read"),
        /// Sum of `swap`.
        swap: Option<u64> = bytes().null("no memory could be read"),
        /// Sum of `swap_pss`.
        swap_pss: Option<u64> = bytes().null("unknown for some process"),
    }
}

impl TotalsRecord {
    fn new(rows: &[&ProcessSample]) -> Self {
        let totals = Totals::of(rows.iter().copied(), |_| None);
        let memory = totals.memory.ok();
        Self {
            processes: rows.len(),
            unreadable: rows
                .iter()
                .filter(|sample| sample.walk.is_err_and(Missing::hides_memory))
                .count(),
            pss: memory.map(|m| m.pss),
            swap: memory.map(|m| m.swap),
            swap_pss: memory.and_then(|m| m.swap_pss.ok()),
        }
    }
}

/// Returns true if any input was read.
fn is_read(inputs: &AccountingInputs) -> bool {
    let nothing = [Missing::Pending, Missing::Unsupported].map(AccountingInputs::missing);
    !nothing.contains(inputs)
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let snapshot = self.snapshot;
        let mut missing = MissingFields::default();
        let boot_id = missing.value("boot_id", snapshot.boot_id.as_ref().map_err(|why| *why));
        let own = missing.value("self", snapshot.own.as_ref().map_err(|why| *why));
        let listed = missing.value("processes", snapshot.processes.as_ref().map_err(|why| *why));
        let cgroups = snapshot.cgroups.iter();
        Fields {
            schema: SCHEMA,
            time: time_text(snapshot.time),
            monotonic_s: snapshot.monotonic.as_secs_f64(),
            host: lossless(&snapshot.host),
            boot_id: boot_id.map(|id| lossless(id.as_bytes())),
            interval_s: snapshot.interval.as_secs_f64(),
            took_s: snapshot.sampling.took.as_secs_f64(),
            sampling: Tick::from(&snapshot.sampling),
            own: own.map(Cost::from),
            system: System::from(&snapshot.system),
            accounting: is_read(&snapshot.accounting).then(|| snapshot.accounting.to_json()),
            oom_kills: snapshot.oom_kills.iter().map(Field::to_json).collect(),
            oom_counts: killers::counts(&snapshot.oom_counts),
            killers: killers::killers(&snapshot.killers),
            exits: (!snapshot.exits.is_unread()).then(|| (&*snapshot.exits).into()),
            cgroups: cgroups
                .map(|(path, figures)| (lossless(path), Cgroup::from(figures)))
                .collect(),
            slab: slab::largest(&snapshot.kernel),
            jvms: snapshot
                .jvms
                .iter()
                .filter_map(|(id, heap)| Jvm::new(*id, *heap))
                .collect(),
            heaps: snapshot.heaps.iter().map(|(id, heap)| Heap::new(*id, *heap)).collect(),
            address_limits: snapshot
                .address_limits
                .iter()
                .map(|(id, bytes)| AddressLimit::new(*id, *bytes))
                .collect(),
            takers: snapshot.takers.iter().map(TakerRecord::from).collect(),
            processes: listed.map(|_| Processes {
                rows: &self.rows,
                now: snapshot.monotonic,
            }),
            totals: TotalsRecord::new(&self.rows),
            unread: missing.into_unread("processes"),
        }
        .serialize(to)
    }
}
