//! The fields that a recording adds to each line, its incidents and its checksum, and lines that stand for damage.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize};

use super::bounds;
use super::exits::ExitRecord;
use super::read::Time;
use super::seconds;
use crate::model::{Exit, Snapshot};
use crate::{order, text};

/// Maximum length of the text of an incident, and of damage, in characters.
const MAX_TEXT: usize = 400;
/// Maximum length of the text of a new incident in bytes. A character may have several combining marks.
const MAX_TEXT_BYTES: usize = 1024;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentKind {
    /// A process was killed because memory was short.
    Kill,
    /// Memory will soon be full.
    Danger,
    /// Tasks wait for memory.
    Stall,
    /// A verdict became leaking.
    Leak,
    /// An alert of the user's rules fired.
    Alert,
    /// The machine started.
    Boot,
}

/// An event, as it was reported when it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Incident {
    /// Nanoseconds since 1970.
    #[serde(rename = "time_ns")]
    nanos: i64,
    pub kind: IncidentKind,
    /// A line of text. The author of a file may have chosen it, so it must be made safe before it is printed.
    #[serde(deserialize_with = "short_line")]
    pub text: String,
    /// It concerns the limit of a cgroup, not the machine. False in older recordings.
    #[serde(default, rename = "of_cgroup", skip_serializing_if = "is_false")]
    pub is_of_cgroup: bool,
    /// It is a danger or a stall of the machine that began while much memory was available: no reason to keep a file for long. False
    /// in older recordings.
    #[serde(default, rename = "minor", skip_serializing_if = "is_false")]
    pub is_minor: bool,
    /// The key of the owner of its cgroup, who can cause any number of such incidents; empty if it is unknown. It is not recorded.
    #[serde(skip)]
    owner: Box<[u8]>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// Reads the beginning of a text.
fn short_line<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = Cow::<str>::deserialize(from)?;
    Ok(text.chars().take(MAX_TEXT).collect())
}

impl Incident {
    pub fn new(at: SystemTime, kind: IncidentKind, mut text: String) -> Self {
        text.truncate(text::prefix(&text, MAX_TEXT_BYTES).len());
        Self {
            nanos: nanos(at),
            kind,
            text,
            is_of_cgroup: false,
            is_minor: false,
            owner: Box::default(),
        }
    }

    /// Returns it with the flag [`Self::is_of_cgroup`].
    #[must_use]
    pub const fn of_cgroup(mut self, is_of_cgroup: bool) -> Self {
        self.is_of_cgroup = is_of_cgroup;
        self
    }

    /// Returns it with the flag [`Self::is_minor`].
    #[must_use]
    pub const fn minor(mut self, is_minor: bool) -> Self {
        self.is_minor = is_minor;
        self
    }

    /// Returns it with the key of the owner of its cgroup.
    #[must_use]
    pub fn owned_by(mut self, owner: &[u8]) -> Self {
        self.owner = owner.into();
        self
    }

    /// Returns the key of the owner of its cgroup; empty if it is unknown.
    pub fn owner(&self) -> &[u8] {
        &self.owner
    }

    /// Returns true if it is a reason to keep a file for long.
    pub const fn is_serious(&self) -> bool {
        !self.is_minor && !matches!(self.kind, IncidentKind::Leak | IncidentKind::Alert)
    }

    pub fn at(&self) -> SystemTime {
        time(self.nanos)
    }
}

/// Leaves out incidents until the costs of the others are at most `most`: first those that are not [serious](Incident::is_serious),
/// then those of cgroups, of the owner with most of them, and last those of the machine; of these, the oldest. Returns true if any was
/// left out.
pub fn leave_out(incidents: &mut Vec<Incident>, most: usize, cost: impl Fn(&Incident) -> usize) -> bool {
    let mut of_owners: HashMap<&[u8], usize> = HashMap::new();
    let newest_first = incidents.iter().enumerate().rev();
    let mut places: Vec<_> = newest_first
        .map(|(at, incident)| {
            let mut number = 0;
            if incident.is_serious() && incident.is_of_cgroup {
                let so_far = of_owners.entry(&incident.owner).or_default();
                *so_far += 1;
                number = *so_far;
            }
            ((!incident.is_serious(), number), at)
        })
        .collect();
    order::sort_by_key(&mut places, |(place, _)| *place);
    let mut left = most;
    let fits = places.iter().map_while(|(_, at)| {
        left = left.checked_sub(cost(&incidents[*at]))?;
        Some(*at)
    });
    let kept: HashSet<usize> = fits.collect();
    let mut at = 0..;
    incidents.retain(|_| at.next().is_some_and(|at| kept.contains(&at)));
    kept.len() < places.len()
}

/// The parts of a snapshot that an index needs. They are found in a line without reading the rest.
pub struct Brief {
    pub time: SystemTime,
    /// 0 if it is not known.
    pub monotonic: Duration,
    /// `MemTotal` and `MemAvailable` in bytes, if the line has all fields.
    pub total: Option<u64>,
    pub available: Option<u64>,
    /// Memory pressure, `some avg10`, in hundredths of a percent; 0 if it is not known.
    pub pressure: u32,
    /// The highest peak in bytes of the processes that [came and went](Exit::is_brief); 0 if there are none.
    pub peak: u64,
    pub incidents: Vec<Incident>,
}

fn hundredths(percent: f32) -> u32 {
    (f64::from(percent) * 100.0).round() as u32
}

impl From<&Snapshot> for Brief {
    /// The incidents are not in the snapshot.
    fn from(snapshot: &Snapshot) -> Self {
        let memory = &snapshot.system;
        let brief = snapshot.exits.list.iter().filter(|exit| exit.is_brief());
        Self {
            time: snapshot.time,
            monotonic: snapshot.monotonic,
            total: memory.mem_total.ok(),
            available: memory.mem_available.ok(),
            pressure: memory.psi.map_or(0, |psi| hundredths(psi.some[0])),
            peak: brief.map(Exit::own).max().unwrap_or(0),
            incidents: Vec::new(),
        }
    }
}

impl Brief {
    /// Reads a line of a recording; `None` if it is damaged.
    pub fn of(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Stalled {
            some_avg10: Option<f32>,
        }
        #[derive(Deserialize)]
        struct Memory {
            mem_total: Option<u64>,
            mem_available: Option<u64>,
            psi: Option<Stalled>,
        }
        #[derive(Deserialize)]
        struct Exits {
            #[serde(default)]
            list: Vec<ExitRecord>,
        }
        /// The fields that a line of changes has in another place.
        #[derive(Deserialize)]
        struct Machine {
            exits: Option<Exits>,
        }
        #[derive(Deserialize)]
        struct Line {
            time: Time,
            monotonic_s: Option<f64>,
            system: Option<Memory>,
            exits: Option<Exits>,
            machine: Option<Machine>,
            #[serde(default)]
            incidents: Vec<Incident>,
        }
        let line = line.trim_ascii_end();
        bounds::check_line(line).ok()?;
        let found: Line = is_whole(line).then(|| serde_json::from_slice(line).ok())??;
        let exits = found.exits.or(found.machine.and_then(|machine| machine.exits));
        let exits = exits.into_iter().flat_map(|exits| exits.list).map(Exit::from);
        let memory = found.system.as_ref();
        let pressure = memory.and_then(|memory| memory.psi.as_ref()?.some_avg10);
        Some(Self {
            time: found.time.0,
            monotonic: seconds(found.monotonic_s).unwrap_or_default(),
            total: memory.and_then(|memory| memory.mem_total),
            available: memory.and_then(|memory| memory.mem_available),
            pressure: pressure.map_or(0, hundredths),
            peak: exits.filter(Exit::is_brief).map(|exit| exit.own()).max().unwrap_or(0),
            incidents: found.incidents,
        })
    }
}

/// The name of the schema of changes.
pub const CHANGES: &str = "zmtop-changes/1";

/// Returns true for a line of changes.
pub(super) fn is_changes(line: &[u8]) -> bool {
    line.strip_prefix(b"{\"schema\":\"")
        .is_some_and(|rest| rest.starts_with(CHANGES.as_bytes()))
}

const SUM: &[u8] = b",\"crc32\":\"";

/// Appends its checksum to an object.
pub(super) fn sign(line: &mut Vec<u8>) {
    if line.pop() != Some(b'}') {
        return;
    }
    let sum = crc32fast::hash(line);
    line.extend(SUM);
    line.extend(format!("{sum:08x}\"}}").into_bytes());
}

/// Checks the checksum of a line, if it has one.
pub(super) fn is_whole(line: &[u8]) -> bool {
    let Some((rest, digits)) = line.strip_suffix(b"\"}").and_then(|rest| rest.split_last_chunk::<8>()) else {
        return true;
    };
    let Some(signed) = rest.strip_suffix(SUM) else {
        return true;
    };
    let sum = std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| u32::from_str_radix(digits, 16).ok());
    sum == Some(crc32fast::hash(signed))
}

/// A line that stands for lines that were lost: readers report it as damage.
#[derive(Deserialize, Serialize)]
struct Damage {
    schema: String,
    what: String,
}

const DAMAGE: &str = "damage";

/// Returns a line that stands for damage: a reader of lines reports it.
pub fn damage(what: &str) -> Vec<u8> {
    let (schema, what) = (DAMAGE.into(), what.into());
    let mut line = serde_json::to_vec(&Damage { schema, what }).unwrap_or_default();
    line.push(b'\n');
    line
}

pub(super) fn damage_in(line: &[u8]) -> Option<String> {
    let rest = line.strip_prefix(b"{\"schema\":\"")?;
    let is_damage = rest.starts_with(DAMAGE.as_bytes());
    let damage = is_damage.then(|| serde_json::from_slice::<Damage>(line).ok())??;
    Some(text::safe_prefix(damage.what.as_bytes(), MAX_TEXT).into_owned())
}

pub(super) fn nanos(time: SystemTime) -> i64 {
    let since = |d: Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => since(after),
        Err(before) => -since(before.duration()),
    }
}

pub(super) fn time(nanos: i64) -> SystemTime {
    let span = Duration::from_nanos(nanos.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let time = if nanos < 0 {
        epoch.checked_sub(span)
    } else {
        epoch.checked_add(span)
    };
    time.unwrap_or(epoch)
}
