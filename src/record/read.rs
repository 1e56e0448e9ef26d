//! `zmtop/1` as a snapshot.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::model::{CgroupFigures, Identity, ProcessSample, Sampling, Snapshot};
use crate::record::cgroup::Cgroup;
use crate::record::process::{Process, place};
use crate::record::system::System;
use crate::record::unread::{Unread, why};
use crate::record::{MAX_PROCESSES, Own, Tick, seconds, shared, string};
use crate::text;

/// Why a text is no snapshot. The words are safe to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// JSON, but of another kind.
    #[error("its schema is {0}, not zmtop/1: no snapshot of zmtop")]
    Schema(String),
    /// A later major version.
    #[error("its schema is {0}, which is newer than this zmtop: it reads zmtop/1")]
    Newer(String),
    /// Not JSON, or a field that is not what the schema says.
    #[error("{what}{}", in_column(*column))]
    Malformed {
        /// The line in the text, from 1.
        line: usize,
        /// The byte in the line, from 1; 0 for its end.
        column: usize,
        /// What is wrong.
        what: String,
        /// The text ends too early.
        cut: bool,
    },
}

fn in_column(column: usize) -> String {
    match column {
        0 => String::new(),
        column => format!(" (column {column})"),
    }
}

/// A snapshot as it was read, not yet on a clock.
#[derive(Clone, Debug)]
pub struct Recorded {
    snapshot: Snapshot,
    monotonic: Option<Duration>,
}

impl Recorded {
    /// Its wall clock.
    pub const fn time(&self) -> SystemTime {
        self.snapshot.time
    }

    /// Its own monotonic clock, where it was written.
    pub const fn monotonic(&self) -> Option<Duration> {
        self.monotonic
    }

    /// The snapshot at this time of the monotonic clock.
    pub fn at(mut self, monotonic: Duration, tick: u64) -> Snapshot {
        self.snapshot.monotonic = monotonic;
        self.snapshot.tick = tick;
        for sample in self.snapshot.processes.iter_mut().flatten() {
            place(sample, monotonic);
        }
        self.snapshot
    }
}

/// What every version says of itself.
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
struct In<'a> {
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
    own: Option<Own>,
    #[serde(borrow, default)]
    system: System<'a>,
    #[serde(borrow, default)]
    cgroups: BTreeMap<Cow<'a, str>, Cgroup<'a>>,
    processes: Option<Processes>,
    unread: Option<Unread>,
}

struct Time(SystemTime);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        let time: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(Self(time.into()))
    }
}

/// Turned into samples as they come, so that not all of them are held twice.
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
        let mut rows = Vec::new();
        while let Some(process) = seq.next_element::<Process<'de>>()? {
            if rows.len() == MAX_PROCESSES {
                return Err(A::Error::custom(format_args!("more than {MAX_PROCESSES} processes")));
            }
            rows.push(process.sample());
        }
        // Whoever wrote them may have sorted or repeated them.
        rows.sort_by_key(|row| row.id);
        rows.dedup_by_key(|row| row.id);
        let known: Vec<Identity> = rows.iter().map(|row| row.id).collect();
        for other in rows.iter_mut().filter_map(|row| row.shares_mm.as_mut()) {
            let at = known.partition_point(|id| id.pid < other.pid);
            if let Some(id) = known.get(at).filter(|id| id.pid == other.pid) {
                *other = *id;
            }
        }
        Ok(rows)
    }
}

/// Reads one snapshot.
///
/// # Errors
/// [`WireError`].
pub fn read(json: &[u8]) -> Result<Recorded, WireError> {
    let json = json.trim_ascii_end();
    let input: In<'_> = serde_json::from_slice(json).map_err(|error| wrong(json, &error))?;
    known(Some(&input.schema))?;
    let unread = input.unread.as_ref();
    let took = seconds(input.took_s).unwrap_or_default();
    let cgroups: BTreeMap<Arc<[u8]>, CgroupFigures> = input
        .cgroups
        .into_iter()
        .map(|(path, figures)| (shared(path), figures.figures()))
        .collect();
    Ok(Recorded {
        monotonic: seconds(input.monotonic_s),
        snapshot: Snapshot {
            time: input.time.0,
            monotonic: Duration::ZERO,
            tick: 0,
            host: shared(input.host.unwrap_or_default()),
            boot_id: input
                .boot_id
                .map(|id| string(&id).into())
                .ok_or_else(|| why(unread, "boot_id")),
            interval: seconds(input.interval_s).unwrap_or_default(),
            sampling: input.sampling.map_or(
                Sampling {
                    took,
                    ..Sampling::default()
                },
                |tick| tick.sampling(took),
            ),
            own: input.own.and_then(|own| own.cost()).ok_or_else(|| why(unread, "self")),
            system: input.system.sample(),
            cgroups: Arc::new(cgroups),
            processes: input
                .processes
                .map(|rows| rows.0)
                .ok_or_else(|| why(unread, "processes")),
        },
    })
}

/// The wall clock of one snapshot, for less than reading it.
///
/// # Errors
/// [`WireError`].
pub fn time_of(json: &[u8]) -> Result<SystemTime, WireError> {
    let json = json.trim_ascii_end();
    let head: Head<'_> = serde_json::from_slice(json).map_err(|error| wrong(json, &error))?;
    known(Some(&head.schema))?;
    Ok(head.time.0)
}

/// Whether it is a schema that can be read: `zmtop/1`, or `zmtop/1.4`.
fn known(schema: Option<&str>) -> Result<(), WireError> {
    let shown = || text::safe_prefix(schema.unwrap_or("not given").as_bytes(), 40).into_owned();
    let version = schema.and_then(|schema| schema.strip_prefix("zmtop/"));
    let major = version.and_then(|version| version.split('.').next()?.parse().ok());
    match major {
        Some(1) => Ok(()),
        Some(2_u32..) => Err(WireError::Newer(shown())),
        _ => Err(WireError::Schema(shown())),
    }
}

/// What is wrong with a text that was not understood: of another version it need not be.
fn wrong(json: &[u8], error: &serde_json::Error) -> WireError {
    if let Ok(named) = serde_json::from_slice::<Named<'_>>(json)
        && let Err(other) = known(named.schema.as_deref())
    {
        return other;
    }
    let what = error.to_string();
    // The place is told apart.
    let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
    // A line that ends within a string is taken for the one after it.
    let after = error.column() == 0 && error.line() > 1;
    WireError::Malformed {
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
