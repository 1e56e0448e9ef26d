//! A snapshot as the changes since the one before it: the lines of a recording.
//!
//! A recording is a sequence of groups of lines. The first line of a group is a whole snapshot, as `zmtop/1`. Each other
//! line is a JSON object with the schema `zmtop-changes/1`:
//!
//! ```text
//! {"schema":"zmtop-changes/1","time":"…","monotonic_s":12.5,
//!  "machine":{"system":{"mem_free":-4096},"took_s":0.011},      the fields of zmtop/1 but for the processes
//!  "processes":{"17:4711":{"minflt":3,"pss":8192}},             by pid and start time
//!  "ended":["18:4712"]}
//! ```
//!
//! A field that is absent has not changed. A number that replaces a number is its difference if both are integers;
//! all other values replace the one before. `-` lists fields that are gone. Objects are changed field by field, lists as a
//! whole. A process that is absent has not changed, but its `age_s` grows with the clock.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::bounds::{self, MAX_OF_PROCESS};
use super::line::{CHANGES, damage_in, is_changes, is_whole};
use super::process::Process;
use super::read::{RecordError, Recorded, from_object, malformed, read};
use super::{MAX_PROCESSES, Record, seconds, time_text};
use crate::model::{Identity, ProcessSample, RowChanges, Snapshot};
use crate::schema::{Schema, described};

/// Lists the fields that are gone. No field of `zmtop/1` and no path of a cgroup has this name.
const GONE: &str = "-";

type Object = Map<String, Value>;

described! {
    #[derive(Deserialize, Serialize)]
    struct Line {
        /// The name of this schema.
        schema: String = text(),
        /// The time of the snapshot.
        time: String = time(),
        /// The same time on the monotonic clock.
        monotonic_s: f64 = seconds(),
        /// The changed fields of zmtop/1, except those above and the processes.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        machine: Object = object(Vec::new()).absent("if none changed"),
        /// The new processes, and the changed fields of the others, by pid and start time: 17:4711.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        processes: BTreeMap<String, Object> = map(object(Vec::new())).absent("if none changed"),
        /// The processes that have ended since, by pid and start time.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ended: Vec<String> = list(text()).absent("if none did"),
    }
}

/// Returns the schema of lines of changes.
pub fn schema() -> Schema {
    Schema {
        name: CHANGES,
        help: "The changes of a snapshot since the one before, in a recording. A number that replaces an integer is the difference. Lists and other values replace the one before. The field \"-\" of an object lists fields that are gone. Lines of recordings also have crc32, the CRC-32 of the line before it, and incidents, if there were any.",
        fields: Line::fields(),
    }
}

/// Writes snapshots as lines.
#[derive(Debug, Default)]
pub struct ChangeWriter {
    last: Option<(Arc<Snapshot>, Object)>,
}

impl ChangeWriter {
    /// Begins a new group: the next line is a whole snapshot.
    pub fn begin(&mut self) {
        self.last = None;
    }

    /// Returns the line of a snapshot, without a line feed: its changes since the last one, or the whole snapshot if it is
    /// the first of a group or if another boot, another host or an unreadable `/proc` is between them.
    pub fn line(&mut self, snapshot: &Arc<Snapshot>) -> Vec<u8> {
        let machine = machine(snapshot);
        let last = self.last.take().filter(|(last, _)| continues(last, snapshot));
        let line = match &last {
            Some((last, before)) => serde_json::to_vec(&changes(last, before, snapshot, &machine)),
            None => serde_json::to_vec(&Record::new(snapshot)),
        };
        self.last = Some((Arc::clone(snapshot), machine));
        line.unwrap_or_default()
    }
}

/// Returns true if a snapshot can be written as changes of another one.
fn continues(last: &Snapshot, snapshot: &Snapshot) -> bool {
    let is_same = last.boot_id == snapshot.boot_id && last.host == snapshot.host;
    is_same && snapshot.monotonic >= last.monotonic && last.processes.is_ok() && snapshot.processes.is_ok()
}

/// Returns all fields of a snapshot but its times and processes.
fn machine(snapshot: &Snapshot) -> Object {
    let mut fields = object(&Record::selected(snapshot, Vec::new()));
    for name in ["schema", "time", "monotonic_s", "processes", "totals"] {
        fields.remove(name);
    }
    fields
}

/// Serializes a value that becomes an object.
fn object(value: &impl Serialize) -> Object {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Object::new(),
    }
}

fn changes(last: &Snapshot, before: &Object, snapshot: &Snapshot, machine: &Object) -> Line {
    let mut line = Line {
        schema: CHANGES.into(),
        time: time_text(snapshot.time),
        monotonic_s: snapshot.monotonic.as_secs_f64(),
        machine: difference(before, machine).unwrap_or_default(),
        processes: BTreeMap::new(),
        ended: Vec::new(),
    };
    // Both are sorted by pid.
    let mut before = last.rows().iter().peekable();
    for sample in snapshot.rows() {
        while let Some(old) = before.next_if(|old| old.id.pid < sample.id.pid) {
            line.ended.push(key(old.id));
        }
        let with_pid = before.next_if(|old| old.id.pid == sample.id.pid);
        let (old, other) = (
            with_pid.filter(|old| old.id == sample.id),
            with_pid.filter(|old| old.id != sample.id),
        );
        line.ended.extend(other.map(|other| key(other.id)));
        if old.is_some_and(|old| is_same(old, sample)) {
            continue;
        }
        let new = object(&Process::new(sample, snapshot.monotonic));
        let old = old.map(|old| object(&Process::new(old, last.monotonic)));
        let changed = old.map_or_else(|| Some(new.clone()), |old| difference(&old, &new));
        line.processes.extend(changed.map(|changed| (key(sample.id), changed)));
    }
    line.ended.extend(before.map(|old| key(old.id)));
    line
}

fn key(id: Identity) -> String {
    format!("{}:{}", id.pid, id.starttime)
}

fn identity(key: &str) -> Option<Identity> {
    let (pid, starttime) = key.split_once(':')?;
    Some(Identity {
        pid: pid.parse().ok()?,
        starttime: starttime.parse().ok()?,
    })
}

/// Returns true if the records of both differ only in the age of the walk.
fn is_same(old: &ProcessSample, new: &ProcessSample) -> bool {
    // Most facts are shared, so that this compares pointers first.
    let facts = Arc::ptr_eq(&old.facts, &new.facts) || old.facts == new.facts;
    let figures = old.stat == new.stat && old.walk == new.walk && old.exec == new.exec && old.stale == new.stale;
    let read = (old.data, old.oom_score, old.counted) == (new.data, new.oom_score, new.counted)
        && (old.peak, old.page_tables) == (new.peak, new.page_tables);
    facts && figures && read && old.shares_mm == new.shares_mm && old.held == new.held
}

/// Returns what must be [applied](apply) to `old` to get `new`; `None` if they are equal.
fn difference(old: &Object, new: &Object) -> Option<Object> {
    let mut found = Object::new();
    for (name, value) in new {
        let changed = match (old.get(name), value) {
            (Some(before), value) if before == value => continue,
            (Some(Value::Object(before)), Value::Object(after)) => difference(before, after).map(Value::Object),
            (Some(Value::Number(before)), Value::Number(after)) => Some(step(before, after)),
            _ => Some(value.clone()),
        };
        found.extend(changed.map(|changed| (name.clone(), changed)));
    }
    let gone: Vec<_> = old
        .keys()
        .filter(|name| !new.contains_key(*name))
        .cloned()
        .map(Value::String)
        .collect();
    if !gone.is_empty() {
        found.insert(GONE.into(), Value::Array(gone));
    }
    (!found.is_empty()).then_some(found)
}

/// Returns the difference of integers, modulo 2^64, or the second number.
fn step(before: &Number, after: &Number) -> Value {
    match (before.as_u64(), after.as_u64()) {
        (Some(before), Some(after)) => after.wrapping_sub(before).cast_signed().into(),
        _ => Value::Number(after.clone()),
    }
}

/// Applies changes; returns true if only numbers changed.
fn apply(to: &mut Object, changed: Object) -> bool {
    let mut are_numbers = true;
    for (name, value) in changed {
        match (to.get_mut(&name), value) {
            (_, Value::Array(names)) if name == GONE => {
                for name in names.iter().filter_map(Value::as_str) {
                    to.remove(name);
                }
                are_numbers = false;
            }
            (Some(Value::Object(before)), Value::Object(inner)) => are_numbers &= apply(before, inner),
            (Some(before), value) => {
                are_numbers &= before.is_number() && value.is_number();
                let sum = before.as_u64().zip(value.as_i64());
                *before = sum.map_or(value, |(before, step)| before.wrapping_add_signed(step).into());
            }
            (None, value) => {
                to.insert(name, value);
                are_numbers = false;
            }
        }
    }
    are_numbers
}

/// Reads lines back.
#[derive(Debug, Default)]
pub struct ChangeReader {
    /// The last whole snapshot, if nothing was changed since.
    whole: Vec<u8>,
    state: Option<State>,
}

/// The snapshot to which the next changes apply.
#[derive(Debug)]
struct State {
    machine: Object,
    rows: Rows,
    last: Snapshot,
}

/// The records of the processes.
#[derive(Debug, Default)]
struct Rows {
    by_id: HashMap<Identity, Row>,
    /// Their memory in bytes.
    memory: usize,
}

/// The record of a process. Most processes of a flood never change, so their fields are not needed one by one.
#[derive(Debug)]
enum Row {
    Text(Box<RawValue>),
    /// With their memory in bytes.
    Fields(Object, usize),
}

/// The memory of all records up to which those that change stay fields, and the most.
const MAX_FIELDS: usize = 512 << 20;
const MAX_ROWS: usize = 768 << 20;

impl Rows {
    fn remove(&mut self, id: Identity) -> Option<Row> {
        let row = self.by_id.remove(&id)?;
        self.memory -= row.memory();
        Some(row)
    }

    fn insert(&mut self, id: Identity, row: Row) -> Result<(), RecordError> {
        self.remove(id);
        self.memory += row.memory();
        bounds::check(self.memory, MAX_ROWS)?;
        self.by_id.insert(id, row);
        Ok(())
    }

    /// Applies changes to a process, which may be a new one; returns it.
    fn change(&mut self, id: Identity, changed: &RawValue) -> Result<ProcessSample, RecordError> {
        let damaged = |e| malformed(&e);
        bounds::check_text(changed.get(), MAX_OF_PROCESS)?;
        let Some(row) = self.remove(id) else {
            self.insert(id, Row::Text(changed.to_owned()))?;
            let process: Process<'_> = serde_json::from_str(changed.get()).map_err(damaged)?;
            return Ok(process.into());
        };
        let (mut fields, known) = match row {
            Row::Text(text) => {
                bounds::check_text(text.get(), MAX_OF_PROCESS)?;
                (serde_json::from_str(text.get()).map_err(damaged)?, None)
            }
            Row::Fields(fields, memory) => (fields, Some(memory)),
        };
        let are_numbers = apply(&mut fields, serde_json::from_str(changed.get()).map_err(damaged)?);
        let known = known.filter(|_| are_numbers);
        let memory = known.unwrap_or_else(|| bounds::memory_of(&fields));
        bounds::check(memory, MAX_OF_PROCESS)?;
        let sample = Process::deserialize(&fields).map_err(damaged)?.into();
        let row = if self.memory + memory <= MAX_FIELDS {
            Row::Fields(fields, memory)
        } else {
            Row::Text(serde_json::value::to_raw_value(&fields).map_err(damaged)?)
        };
        self.insert(id, row)?;
        Ok(sample)
    }
}

impl Row {
    fn memory(&self) -> usize {
        match self {
            Self::Text(text) => text.get().len(),
            Self::Fields(_, memory) => *memory,
        }
    }
}

/// A [`Line`] as it is read.
#[derive(Deserialize)]
struct ReadLine<'a> {
    time: String,
    monotonic_s: f64,
    #[serde(borrow)]
    machine: Option<&'a RawValue>,
    #[serde(borrow, default)]
    processes: BTreeMap<Cow<'a, str>, &'a RawValue>,
    #[serde(borrow, default)]
    ended: Vec<Cow<'a, str>>,
}

impl ChangeReader {
    /// Reads a line, whole or changes.
    ///
    /// # Errors
    /// It is neither, or the line that it changes could not be read. The next whole snapshot can be read again.
    pub fn read(&mut self, line: &[u8]) -> Result<Recorded, RecordError> {
        let line = line.trim_ascii_end();
        if !is_whole(line) {
            (self.state, self.whole) = (None, Vec::new());
            return Err(RecordError::lost("its checksum is wrong"));
        }
        if let Some(what) = damage_in(line) {
            (self.state, self.whole) = (None, Vec::new());
            return Err(RecordError::lost(&what));
        }
        if !is_changes(line) {
            self.state = None;
            self.whole.clear();
            bounds::check_line(line)?;
            let recorded = read(line)?;
            self.whole.extend_from_slice(line);
            return Ok(recorded);
        }
        let found = self.apply(line);
        if found.is_err() {
            (self.state, self.whole) = (None, Vec::new());
        }
        found
    }

    fn apply(&mut self, line: &[u8]) -> Result<Recorded, RecordError> {
        bounds::check_line(line)?;
        let changed: ReadLine<'_> = serde_json::from_slice(line).map_err(|e| malformed(&e))?;
        let mut state = match self.state.take() {
            Some(state) => state,
            None => State::new(&std::mem::take(&mut self.whole))?,
        };
        let (recorded, next) = state.next(changed)?;
        state.last = next;
        self.state = Some(state);
        Ok(recorded)
    }
}

/// The fields that identify a process in its record.
#[derive(Deserialize)]
struct Key {
    pid: u32,
    starttime: u64,
}

impl State {
    fn new(whole: &[u8]) -> Result<Self, RecordError> {
        let lost = || RecordError::lost("it changes a snapshot that could not be read");
        let recorded = read(whole).map_err(|_| lost())?;
        let monotonic = recorded.monotonic.ok_or_else(lost)?;
        let mut fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(whole).map_err(|_| lost())?;
        let processes = fields.remove("processes");
        let mut machine = Object::new();
        for (name, value) in fields {
            machine.insert(
                name.into_owned(),
                serde_json::from_str(value.get()).map_err(|_| lost())?,
            );
        }
        let processes = processes.map(|all| serde_json::from_str::<Vec<&RawValue>>(all.get()));
        let mut rows = Rows::default();
        for row in processes.transpose().map_err(|_| lost())?.into_iter().flatten() {
            let Key { pid, starttime } = serde_json::from_str(row.get()).map_err(|_| lost())?;
            rows.insert(Identity { pid, starttime }, Row::Text(row.to_owned()))?;
        }
        Ok(Self {
            machine,
            rows,
            last: recorded.at(monotonic, 0),
        })
    }

    /// Applies the changes; returns the snapshot as it is recorded and as it is placed on its own clock.
    fn next(&mut self, line: ReadLine<'_>) -> Result<(Recorded, Snapshot), RecordError> {
        let monotonic = seconds(Some(line.monotonic_s)).ok_or_else(|| RecordError::lost("its time is not valid"))?;
        if let Some(machine) = line.machine {
            apply(
                &mut self.machine,
                serde_json::from_str(machine.get()).map_err(|e| malformed(&e))?,
            );
            bounds::check_machine(&self.machine)?;
        }
        self.machine.insert("time".into(), line.time.into());
        self.machine.insert("monotonic_s".into(), line.monotonic_s.into());
        let last = std::mem::replace(&mut self.last.processes, Ok(Vec::new()));
        // Sorted, as every snapshot is. Few rows change, so the others stay where they are.
        let mut rows = last.unwrap_or_default();
        for old in &mut rows {
            // Records have ages.
            if let Ok(walk) = &mut old.walk {
                walk.at = monotonic.saturating_sub(walk.at);
            }
        }
        let removed: Vec<Identity> = line.ended.iter().filter_map(|key| identity(key)).collect();
        if !removed.is_empty() {
            let ended: HashSet<&Identity> = removed.iter().collect();
            for id in &removed {
                self.rows.remove(*id);
            }
            rows.retain(|row| !ended.contains(&row.id));
        }
        let known = rows.len();
        let mut changed_ids = Vec::with_capacity(line.processes.len());
        for (key, changed) in line.processes {
            let id = identity(&key).ok_or_else(|| RecordError::lost("a process has no pid"))?;
            let sample = self.rows.change(id, changed)?;
            if sample.id != id {
                return Err(RecordError::lost("a process has two pids"));
            }
            changed_ids.push(id);
            match rows[..known].binary_search_by_key(&id, |row| row.id) {
                Ok(at) => rows[at] = sample,
                Err(_) => rows.push(sample),
            }
        }
        if rows.len() > MAX_PROCESSES {
            return Err(RecordError::lost("it has too many processes"));
        }
        if rows.len() > known {
            rows.sort_by_key(|row| row.id);
            rows.dedup_by_key(|row| row.id);
        }
        let place = |id: &Identity| rows.binary_search_by_key(id, |row| row.id).ok();
        let mut places: Vec<u32> = changed_ids.iter().filter_map(place).map(|at| at as u32).collect();
        places.sort_unstable();
        places.dedup();
        let mut recorded = from_object(&self.machine, rows)?;
        recorded.set_changes(RowChanges { rows: places, removed });
        let placed = recorded.clone().at(monotonic, 0);
        Ok((recorded, placed))
    }
}
