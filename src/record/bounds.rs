//! Bounds the memory that a line of a recording may need. A recording may be made by anyone: three bytes of JSON can become a structure
//! of hundreds of bytes.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::MAX_PROCESSES;
use super::read::{RecordError, malformed};

/// The memory that an object takes for each eight of its fields, and another value, in bytes: as nodes of B-trees, and more than most
/// structures into which they are converted.
const PER_OBJECT: usize = 640;
const PER_VALUE: usize = 64;
/// The memory that the fields of the machine may need. Ten thousand cgroups need 40 MiB.
const MAX_OF_MACHINE: usize = 128 << 20;
/// The longest string, in bytes of JSON. The longest that zmtop writes are paths and command lines, of 4 KiB before escapes. Some are
/// kept for long.
const MAX_STRING: usize = 64 << 10;
/// The memory that all processes may need, which are converted one by one. A process needs 8 KiB.
const MAX_OF_PROCESSES: usize = 12 << 10 << 18;
/// The memory that the fields of a process may need. A process with the most open objects that are listed needs 100 KiB.
pub(super) const MAX_OF_PROCESS: usize = 8 << 20;
/// The most values of a line: 64 of each process, and those of the machine.
const MAX_VALUES: usize = 64 * MAX_PROCESSES + (4 << 20);

/// The size of JSON text: its objects, its other values, and its longest string.
#[derive(Clone, Copy, Default)]
struct Contents {
    objects: usize,
    /// The most values that it may have, without the objects.
    values: usize,
    /// The length of the longest string.
    longest: usize,
    len: usize,
}

impl Contents {
    fn of(text: &[u8]) -> Self {
        let (mut found, mut start) = (Self::default(), None);
        let mut bytes = text.iter().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match (byte, start) {
                (b'"', None) => start = Some(at),
                (b'"', Some(begin)) => {
                    found.longest = found.longest.max(at - begin);
                    start = None;
                }
                // The next byte is escaped.
                (b'\\', Some(_)) => drop(bytes.next()),
                (b'{', None) => found.objects += 1,
                (b',' | b'[', None) => found.values += 1,
                _ => {}
            }
        }
        if let Some(begin) = start {
            found.longest = found.longest.max(text.len() - begin);
        }
        found.len = text.len();
        found
    }

    /// Returns the memory that it may need as [`Value`]s.
    const fn needed(self) -> usize {
        self.objects * PER_OBJECT + self.values * PER_VALUE + self.len
    }
}

/// Returns the memory that JSON text may need as [`Value`]s.
fn needed(text: &str) -> usize {
    Contents::of(text.as_bytes()).needed()
}

/// Returns the memory of fields. An empty object counts, because a structure takes its place.
pub(super) fn memory_of(fields: &Map<String, Value>) -> usize {
    let of_fields = fields.iter().map(|(name, value)| name.len() + of_value(value));
    of_fields.sum::<usize>() + fields.len().div_ceil(8).max(1) * PER_OBJECT
}

fn of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| PER_VALUE + of_value(item)).sum(),
        Value::Object(fields) => memory_of(fields),
    }
}

/// Checks the memory of a part of a line.
pub(super) fn check(needed: usize, most: usize) -> Result<(), RecordError> {
    let is_small = needed <= most;
    is_small
        .then_some(())
        .ok_or_else(|| RecordError::lost("it needs too much memory"))
}

/// Checks the fields of the machine.
pub(super) fn check_machine(fields: &Map<String, Value>) -> Result<(), RecordError> {
    check(memory_of(fields), MAX_OF_MACHINE)
}

/// Checks the memory that JSON text may need as [`Value`]s.
pub(super) fn check_text(text: &str, most: usize) -> Result<(), RecordError> {
    // No byte needs more than an object.
    let is_short = text.len() <= most / (PER_OBJECT + 1);
    check(if is_short { 0 } else { needed(text) }, most)
}

/// Checks the memory that a line needs: a whole snapshot, or changes.
pub(super) fn check_line(line: &[u8]) -> Result<(), RecordError> {
    /// The part that may need more than the others together.
    #[derive(Deserialize)]
    struct Large<'a> {
        #[serde(borrow)]
        processes: Option<&'a RawValue>,
    }
    // No byte needs more than an object.
    if line.len() <= MAX_STRING {
        return Ok(());
    }
    let all = Contents::of(line);
    check(all.longest, MAX_STRING)?;
    if all.needed() <= MAX_OF_MACHINE {
        return Ok(());
    }
    check(all.values + all.objects, MAX_VALUES)?;
    let large: Large<'_> = serde_json::from_slice(line).map_err(|e| malformed(&e))?;
    let of_processes = large.processes.map_or(0, |all| needed(all.get()));
    check(of_processes, MAX_OF_PROCESSES)?;
    check(all.needed() - of_processes, MAX_OF_MACHINE)
}
