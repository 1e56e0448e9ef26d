//! The counters of a .NET runtime (`CoreCLR`), which it sends over its diagnostics socket: `ipc-protocol.md` of dotnet/diagnostics.
//! The events that contain them are a stream of version 4 of the format of `NetTraceFormat_v5.md` of microsoft/perfview.
//!
//! The process controls the stream, so every length in it is checked.

use std::collections::{HashMap, HashSet};

use super::kinds::Kind;
use super::runtimes::{Part, Runtime};

/// Maximum size of a block, in bytes. A runtime fills some 100 kB.
const MAX_BLOCK: usize = 1 << 20;
/// Maximum number of the definitions of events with counters. A runtime sends one.
const MAX_EVENTS: usize = 1 << 12;
const MAGIC: &[u8] = b"DOTNET_IPC_V1\0";
/// The source of the counters.
const PROVIDER: &str = "System.Runtime";
/// The unit of `gc-heap-size` and `gc-committed`.
const MEGABYTE: f64 = 1e6;
/// The counters of the generations, whose unit is the byte.
const GENERATIONS: [(&str, &str); 5] = [
    ("gen-0-size", "generation 0"),
    ("gen-1-size", "generation 1"),
    ("gen-2-size", "generation 2"),
    ("loh-size", "large objects"),
    ("poh-size", "pinned objects"),
];
/// The other counters. The last one comes after all generations, in all versions.
const OTHERS: [&str; 4] = ["gc-heap-size", "gc-committed", "gc-fragmentation", "assembly-count"];

/// Returns the request to send the counters each second, without the list of all methods at the end: `CollectTracing2`.
pub fn start() -> Vec<u8> {
    let text = |text: &str| {
        let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
        let length = (units.len() as u32).to_le_bytes();
        length
            .into_iter()
            .chain(units.into_iter().flat_map(u16::to_le_bytes))
            .collect::<Vec<_>>()
    };
    let mut payload = Vec::new();
    // The buffer in MB, and the format of the stream.
    payload.extend([1_u32, 1].into_iter().flat_map(u32::to_le_bytes));
    payload.push(0);
    payload.extend(1_u32.to_le_bytes());
    // No keywords, and the lowest level: counters have none.
    payload.extend(0_u64.to_le_bytes());
    payload.extend(1_u32.to_le_bytes());
    payload.extend(text(PROVIDER));
    payload.extend(text("EventCounterIntervalSec=1"));
    message(3, &payload)
}

/// Returns the request to end a session: `StopTracing`.
pub fn stop(session: u64) -> Vec<u8> {
    message(1, &session.to_le_bytes())
}

/// Returns a request of `EventPipe`.
fn message(command: u8, payload: &[u8]) -> Vec<u8> {
    let mut message = MAGIC.to_vec();
    message.extend((20 + payload.len() as u16).to_le_bytes());
    message.extend([2, command, 0, 0]);
    message.extend(payload);
    message
}

/// The answer to a request, as far as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its length is not reached yet.
    More,
    /// The session whose events follow.
    Session(u64),
    /// The code of the fault, an `HRESULT`.
    Failed(u32),
    /// It is no answer of a runtime.
    Strange,
}

/// Lengths of the answers.
pub const FAULT: usize = 24;
pub const SESSION: usize = 28;

/// Parses the answer to a request, of which [`FAULT`] or [`SESSION`] bytes were read.
pub fn answer(bytes: &[u8]) -> Answer {
    let mut rest = Bytes(bytes);
    let (Some(magic), Some(length), Some(kind)) = (rest.take(MAGIC.len()), rest.number::<2>(), rest.number::<4>())
    else {
        return Answer::More;
    };
    match (magic == MAGIC, length as usize, kind) {
        (true, FAULT, 0xffff) => rest
            .number::<4>()
            .map_or(Answer::More, |code| Answer::Failed(code as u32)),
        (true, SESSION, 0x00ff) => rest.number::<8>().map_or(Answer::More, Answer::Session),
        _ => Answer::Strange,
    }
}

/// The stream of events of a session.
#[derive(Default)]
pub struct Stream {
    /// Bytes of an object that is not complete yet.
    rest: Vec<u8>,
    /// The position of these bytes in the stream.
    at: usize,
    /// The events that contain counters, by the numbers that the stream gave them.
    events: HashSet<u64>,
    counters: Counters,
}

/// The counters that were received, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    values: HashMap<&'static str, f64>,
    /// Another set has begun, or the last one that is needed was received.
    is_complete: bool,
}

/// The stream is in another format, or damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strange;

enum Stop {
    /// The object is not complete yet.
    More,
    Strange,
}

impl Stream {
    /// Reads the next bytes of the stream.
    ///
    /// # Errors
    /// It is not understood.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Strange> {
        let mut rest = std::mem::take(&mut self.rest);
        rest.extend_from_slice(bytes);
        let start = self.at;
        loop {
            match self.object(&rest[self.at - start..]) {
                Ok(length) => self.at += length,
                Err(Stop::More) => break,
                Err(Stop::Strange) => return Err(Strange),
            }
        }
        rest.drain(..self.at - start);
        self.rest = rest;
        Ok(())
    }

    /// Returns the counters, if a whole set was received.
    pub fn counters(&self) -> Option<&Counters> {
        Some(&self.counters).filter(|counters| counters.is_complete)
    }

    /// Reads an object of the stream, and returns its length.
    fn object(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        const START: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1";
        let mut rest = Bytes(bytes);
        if self.at == 0 {
            let start = rest.take(START.len()).ok_or(Stop::More)?;
            return if start == START {
                Ok(START.len())
            } else {
                Err(Stop::Strange)
            };
        }
        // The end of the stream.
        if bytes.first() == Some(&1) {
            return Ok(1);
        }
        let tags = rest.take(3).ok_or(Stop::More)?;
        let head = (rest.number::<4>(), rest.number::<4>(), rest.number::<4>());
        let (Some(_), Some(oldest), Some(length)) = head else {
            return Err(Stop::More);
        };
        if tags != [5, 5, 1] || oldest > 4 || length > 32 {
            return Err(Stop::Strange);
        }
        let name = rest.take(length as usize).ok_or(Stop::More)?;
        let end_of_type = rest.take(1).ok_or(Stop::More)?;
        let block = if name == b"Trace" {
            rest.take(48).ok_or(Stop::More)?
        } else {
            let length = rest.number::<4>().ok_or(Stop::More)? as usize;
            if length > MAX_BLOCK {
                return Err(Stop::Strange);
            }
            let at = self.at + bytes.len() - rest.0.len();
            rest.take(at.next_multiple_of(4) - at).ok_or(Stop::More)?;
            rest.take(length).ok_or(Stop::More)?
        };
        let end = rest.take(1).ok_or(Stop::More)?;
        let is_read = match name {
            b"MetadataBlock" => self.block(block, true),
            b"EventBlock" => self.block(block, false),
            _ => Some(()),
        };
        if is_read.is_none() || end_of_type != [6] || end != [6] {
            return Err(Stop::Strange);
        }
        Ok(bytes.len() - rest.0.len())
    }

    /// Reads a block of events, or of the definitions of events, which are stored as events.
    fn block(&mut self, block: &[u8], is_metadata: bool) -> Option<()> {
        let mut rest = Bytes(block);
        let header = rest.number::<2>()? as usize;
        // Every runtime compresses the heads of events.
        if rest.number::<2>()? & 1 == 0 {
            return None;
        }
        rest.take(header.checked_sub(4)?)?;
        // A head has what differs from the one before.
        let (mut event, mut length) = (0, 0);
        while !rest.0.is_empty() {
            let flags = rest.number::<1>()?;
            let has = |flag| flags & flag != 0;
            if has(1) {
                event = rest.varying()?;
            }
            // A sequence number, a thread and a processor; another thread; a stack.
            let skipped = 3 * usize::from(has(2)) + usize::from(has(4)) + usize::from(has(8));
            // The time is always there.
            for _ in 0..=skipped {
                rest.varying()?;
            }
            rest.take(16 * (usize::from(has(16)) + usize::from(has(32))))?;
            if has(128) {
                length = usize::try_from(rest.varying()?).ok()?;
            }
            let payload = Bytes(rest.take(length)?);
            if is_metadata {
                let event = payload.counter_event();
                self.events.extend(event.filter(|_| self.events.len() < MAX_EVENTS));
            } else if self.events.contains(&event)
                && let Some((name, value)) = payload.counter()
            {
                self.counters.add(name, value);
            }
        }
        Some(())
    }
}

impl Counters {
    fn add(&mut self, name: &'static str, value: f64) {
        let is_last = name == "assembly-count" && self.values.contains_key("gc-heap-size");
        self.is_complete |= is_last || self.values.contains_key(name);
        self.values.insert(name, value);
    }

    /// Returns a counter in bytes.
    fn bytes(&self, name: &str, unit: f64) -> Option<u64> {
        let value = self.values.get(name).copied();
        value
            .filter(|value| value.is_finite() && *value >= 0.0)
            .map(|value| (value * unit) as u64)
    }

    /// Converts the counters into the form that runtimes have. `memory` is all memory of the process in RAM and swap, in bytes.
    pub fn runtime(&self, version: String, memory: Option<u64>) -> Runtime {
        let mut runtime = Runtime::new(Kind::Dotnet, version);
        let Some(used) = self.bytes("gc-heap-size", MEGABYTE) else {
            runtime
                .remarks
                .push("It did not report the size of its heap.".to_owned());
            return runtime;
        };
        // It is as of the last collection, before the first one 0: by now, it may be more.
        let committed = self.bytes("gc-committed", MEGABYTE).filter(|bytes| *bytes >= used);
        let part = |name: &str, used, committed, is_heap| Part {
            name: name.to_owned(),
            used,
            committed,
            resident: None,
            is_heap,
        };
        runtime.parts.push(part("heap", used, committed, true));
        let generations: Vec<_> = GENERATIONS
            .iter()
            .filter_map(|(counter, name)| Some((*name, self.bytes(counter, 1.0)?)))
            .collect();
        let size = generations
            .iter()
            .fold(0, |sum: u64, (_, size)| sum.saturating_add(*size));
        if size > 0 {
            let generation = |(name, size): (&str, u64)| part(name, size, None, false);
            runtime.parts.extend(generations.into_iter().map(generation));
            runtime.gaps = self
                .bytes("gc-fragmentation", size as f64 / 100.0)
                .map(|gaps| gaps.min(size));
        }
        runtime.memory = memory;
        match (committed, memory) {
            (None, _) if self.values.contains_key("gc-committed") => runtime
                .remarks
                .push("Its committed memory is known only after its next collection.".to_owned()),
            (None, _) => runtime
                .remarks
                .push(".NET before 6 does not report its committed memory.".to_owned()),
            (Some(committed), Some(memory)) if committed > memory => runtime.remarks.push(
                "Its heap has committed more than the process has in RAM and swap: the rest was never touched, and costs nothing."
                    .to_owned(),
            ),
            _ => {}
        }
        runtime
    }
}

/// The bytes that are left to read.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a number of `N` bytes, up to 8.
    fn number<const N: usize>(&mut self) -> Option<u64> {
        let bytes = self.take(N)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    }

    /// Reads a number of up to 10 bytes with 7 bits each.
    fn varying(&mut self) -> Option<u64> {
        let mut number = 0;
        for n in 0..10 {
            let byte = self.number::<1>()?;
            number |= (byte & 0x7f) << (7 * n);
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a text in UTF-16, which a 0 ends.
    fn text(&mut self) -> Option<&'b [[u8; 2]]> {
        let (units, _) = self.0.as_chunks::<2>();
        let length = units.iter().position(|unit| *unit == [0, 0])?;
        self.take(2 * length + 2)?;
        units.get(..length)
    }

    /// Reads the definition of an event. Returns its number if it contains a counter.
    fn counter_event(mut self) -> Option<u64> {
        let number = self.number::<4>()?;
        let provider = self.text()?;
        self.number::<4>()?;
        (is(provider, PROVIDER) && is(self.text()?, "EventCounters")).then_some(number)
    }

    /// Reads a counter that is needed: its name, its name for a screen, and its value.
    fn counter(mut self) -> Option<(&'static str, f64)> {
        let name = self.text()?;
        let mut known = OTHERS.iter().chain(GENERATIONS.iter().map(|(name, _)| name));
        let name = known.find(|known| is(name, known))?;
        self.text()?;
        Some((*name, f64::from_bits(self.number::<8>()?)))
    }
}

/// Returns true if a text in UTF-16 is that one.
fn is(text: &[[u8; 2]], expected: &str) -> bool {
    expected.encode_utf16().map(u16::to_le_bytes).eq(text.iter().copied())
}
