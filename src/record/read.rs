//! Reads a snapshot from `zmtop/1`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::model::cgroup::is_usual_path;
use crate::model::kill::OomKill;
use crate::model::system::AccountingInputs;
use crate::model::taker::Taker;
use crate::model::{CgroupFigures, Identity, Missing, ProcessSample, RowChanges, Sampling, Snapshot};
use crate::record::accounting::{Accounting, Field, OomKillRecord};
use crate::record::cgroup::Cgroup;
use crate::record::close_look::{AddressLimit, Heap, Jvm};
use crate::record::exits::ExitsRecord;
use crate::record::killers;
use crate::record::process::{Process, set_walk_time};
use crate::record::system::System;
use crate::record::taker::TakerRecord;
use crate::record::unread::{Reasons, Unread};
use crate::record::{Cost, MAX_PROCESSES, Tick, bytes, seconds, slab, string};
use crate::text;

/// The reason why a text is not a snapshot. Its message is safe to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// JSON of another kind.
    #[error("its schema is {0}, not zmtop/1: it is not a snapshot that zmtop ps --format ndjson wrote")]
    Schema(String),
    /// A later major version.
    #[error("its schema is {0}, which is newer than this zmtop: it reads zmtop/1")]
    Newer(String),
    /// Not JSON, or a field with a value that the schema does not allow.
    #[error("{what}{}", in_column(*column))]
    Malformed {
        /// The line in the text, from 1.
        line: usize,
        /// The byte in the line, from 1; 0 for its end.
        column: usize,
        what: String,
        /// The text is incomplete.
        cut: bool,
    },
}

fn in_column(column: usize) -> String {
    match column {
        0 => String::new(),
        column => format!(" (column {column})"),
    }
}

/// A snapshot that is not placed on a clock yet.
#[derive(Clone, Debug)]
pub struct Recorded {
    snapshot: Snapshot,
    /// Its monotonic time on the machine that wrote it.
    pub monotonic: Option<Duration>,
}

impl Recorded {
    pub const fn time(&self) -> SystemTime {
        self.snapshot.time
    }

    /// Sets the rows that differ from the snapshot recorded before this one.
    pub(super) fn set_changes(&mut self, changes: RowChanges) {
        self.snapshot.changes = Some(changes);
    }

    /// Places the snapshot at this time of the reader's monotonic clock.
    pub fn at(mut self, monotonic: Duration, tick: u64) -> Snapshot {
        self.snapshot.monotonic = monotonic;
        self.snapshot.tick = tick;
        for sample in self.snapshot.processes.iter_mut().flatten() {
            set_walk_time(sample, monotonic);
        }
        self.snapshot
    }
}

/// The field that every version of the schema has.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    schema: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    schema: Cow<'a, str>,
    time: Time,
}

#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    schema: Cow<'a, str>,
    time: Time,
    monotonic_s: Option<f64>,
    host: Option<Cow<'a, str>>,
    boot_id: Option<Cow<'a, str>>,
    interval_s: Option<f64>,
    took_s: Option<f64>,
    sampling: Option<Tick>,
    #[serde(rename = "self")]
    own: Option<Cost>,
    #[serde(borrow, default)]
    system: System<'a>,
    accounting: Option<Accounting>,
    #[serde(default)]
    oom_kills: Vec<OomKillRecord>,
    #[serde(default)]
    oom_counts: BTreeMap<String, u64>,
    #[serde(default)]
    killers: BTreeMap<String, String>,
    exits: Option<ExitsRecord>,
    #[serde(borrow, default)]
    cgroups: BTreeMap<Cow<'a, str>, Cgroup>,
    #[serde(borrow, default)]
    slab: slab::Caches<'a>,
    #[serde(default)]
    jvms: Vec<Jvm>,
    #[serde(default)]
    heaps: Vec<Heap>,
    #[serde(default)]
    address_limits: Vec<AddressLimit>,
    #[serde(default)]
    takers: Vec<TakerRecord>,
    processes: Option<Processes>,
    unread: Option<Unread>,
}

pub(super) struct Time(pub(super) SystemTime);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        let time: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Self(time.into()))
    }
}

/// The processes, converted one at a time so that they are not all in memory twice.
struct Processes(Vec<ProcessSample>);

impl<'de> Deserialize<'de> for Processes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Rows).map(Self)
    }
}

struct Rows;

impl<'de> Visitor<'de> for Rows {
    type Value = Vec<ProcessSample>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of processes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut rows: Vec<ProcessSample> = Vec::new();
        while let Some(process) = seq.next_element::<Process<'de>>()? {
            if rows.len() == MAX_PROCESSES {
                return Err(A::Error::custom(format_args!("more than {MAX_PROCESSES} processes")));
            }
            rows.push(process.into());
        }
        // Another writer may have sorted them differently or repeated some.
        rows.sort_by_key(|row| row.id);
        rows.dedup_by_key(|row| row.id);
        resolve_shared(&mut rows);
        Ok(rows)
    }
}

/// Completes `shares_mm`, of which a record has only the pid. The rows are sorted.
fn resolve_shared(rows: &mut [ProcessSample]) {
    let known: Vec<Identity> = rows.iter().map(|row| row.id).collect();
    for other in rows.iter_mut().filter_map(|row| row.shares_mm.as_mut()) {
        let at = known.partition_point(|id| id.pid < other.pid);
        if let Some(id) = known.get(at).filter(|id| id.pid == other.pid) {
            *other = *id;
        }
    }
}

pub fn read(json: &[u8]) -> Result<Recorded, RecordError> {
    let json = json.trim_ascii_end();
    let fields: Fields<'_> = serde_json::from_slice(json).map_err(|e| error(json, &e))?;
    check_schema(Some(&fields.schema))?;
    Ok(fields.into())
}

/// Reads a snapshot whose processes were read before, sorted.
pub(super) fn from_object(fields: &Map<String, Value>, mut rows: Vec<ProcessSample>) -> Result<Recorded, RecordError> {
    resolve_shared(&mut rows);
    let fields = Fields::deserialize(fields).map_err(|e| malformed(&e))?;
    let mut recorded = Recorded::from(fields);
    recorded.snapshot.processes = Ok(rows);
    Ok(recorded)
}

impl From<Fields<'_>> for Recorded {
    fn from(fields: Fields<'_>) -> Self {
        let reasons = Reasons(fields.unread.as_ref());
        let cgroups: BTreeMap<Arc<[u8]>, CgroupFigures> = fields
            .cgroups
            .into_iter()
            .map(|(path, figures)| (bytes(&path).into(), figures.into()))
            .filter(|(path, _): &(Arc<[u8]>, _)| is_usual_path(path))
            .collect();
        let interval = seconds(fields.interval_s).unwrap_or_default();
        Self {
            monotonic: seconds(fields.monotonic_s),
            snapshot: Snapshot {
                time: fields.time.0,
                host: bytes(&fields.host.unwrap_or_default()).into(),
                boot_id: reasons.reading("boot_id", fields.boot_id.map(|id| string(&id).into())),
                sampling: Sampling {
                    took: seconds(fields.took_s).unwrap_or_default(),
                    ..fields.sampling.unwrap_or_default().into()
                },
                own: reasons.reading("self", fields.own.and_then(|cost| cost.complete())),
                system: fields.system.into(),
                accounting: Arc::new(fields.accounting.map_or_else(
                    || AccountingInputs::missing(Missing::Unsupported),
                    AccountingInputs::from_json,
                )),
                kernel: slab::tables(fields.slab),
                oom_kills: fields.oom_kills.into_iter().map(OomKill::from_json).collect(),
                oom_counts: killers::read_counts(&fields.oom_counts),
                killers: killers::read_killers(&fields.killers),
                exits: Arc::new(fields.exits.map(Into::into).unwrap_or_default()),
                cgroups: Arc::new(cgroups),
                jvms: Arc::new(fields.jvms.into_iter().map(Jvm::heap).collect()),
                heaps: Arc::new(fields.heaps.into_iter().map(Heap::heap).collect()),
                address_limits: Arc::new(fields.address_limits.into_iter().map(AddressLimit::limit).collect()),
                takers: fields.takers.into_iter().take(Taker::MOST).map(Taker::from).collect(),
                processes: reasons.reading("processes", fields.processes.map(|rows| rows.0)),
                ..Snapshot::missing(Duration::ZERO, interval, Missing::Unsupported)
            },
        }
    }
}

/// Reads only the wall-clock time of a snapshot, which is cheaper.
pub fn time_of(json: &[u8]) -> Result<SystemTime, RecordError> {
    let json = json.trim_ascii_end();
    let head: Head<'_> = serde_json::from_slice(json).map_err(|e| error(json, &e))?;
    check_schema(Some(&head.schema))?;
    Ok(head.time.0)
}

/// Checks that the schema can be read: `zmtop/1`, or `zmtop/1.4`.
fn check_schema(schema: Option<&str>) -> Result<(), RecordError> {
    let shown = || text::safe_prefix(schema.unwrap_or("not given").as_bytes(), 40).into_owned();
    let version = schema.and_then(|schema| schema.strip_prefix("zmtop/"));
    let major = version.and_then(|version| version.split('.').next()?.parse().ok());
    match major {
        Some(1) => Ok(()),
        Some(2_u32..) => Err(RecordError::Newer(shown())),
        _ => Err(RecordError::Schema(shown())),
    }
}

/// Explains why a text could not be read. It may be of another version, which may lack these fields.
fn error(json: &[u8], error: &serde_json::Error) -> RecordError {
    if let Ok(named) = serde_json::from_slice::<Named<'_>>(json)
        && let Err(other) = check_schema(named.schema.as_deref())
    {
        return other;
    }
    malformed(error)
}

impl RecordError {
    /// A line that cannot be read, although it is JSON.
    pub(super) fn lost(what: &str) -> Self {
        Self::Malformed {
            line: 1,
            column: 0,
            what: what.into(),
            cut: false,
        }
    }
}

pub(super) fn malformed(error: &serde_json::Error) -> RecordError {
    let what = error.to_string();
    // Line and column are fields of the error.
    let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
    // serde_json counts a line that ends within a string as the next one.
    let after = error.column() == 0 && error.line() > 1;
    RecordError::Malformed {
        line: error.line().saturating_sub(usize::from(after)).max(1),
        column: error.column(),
        what: if after {
            "a string does not end in its line".into()
        } else {
            text::safe_prefix(what.as_bytes(), 160).into_owned()
        },
        cut: error.is_eof(),
    }
}
