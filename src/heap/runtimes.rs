//! The heap of a language runtime: its parts, its objects by type, and the code that allocated them.

use std::collections::HashMap;
use std::time::Duration;

use super::kinds::Kind;
use crate::units::{self, Units, counted};

/// A part of a runtime's heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    pub used: u64,
    /// Bytes that the runtime has reserved for it. `None` if it does not say.
    pub committed: Option<u64>,
    /// The part of them that is in RAM; the rest costs nothing. `None` if that is not known.
    pub resident: Option<u64>,
    /// It holds the program's objects, and is no part of another part.
    pub is_heap: bool,
}

/// The objects of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeUse {
    pub name: String,
    pub count: u64,
    pub bytes: u64,
    /// The program, or one of its libraries, defines it, rather than the runtime.
    pub is_own: bool,
}

/// The change of the objects of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeChange {
    pub name: String,
    pub count: i64,
    pub bytes: i64,
    pub is_own: bool,
}

/// The objects that one call path allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The functions, innermost first.
    pub frames: Vec<String>,
    /// Number of objects; `None` if the runtime does not say.
    pub count: Option<u64>,
    pub bytes: u64,
}

/// Samples of objects of one class that are in use, and the call path that allocated them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub class: String,
    /// The methods, innermost first.
    pub frames: Vec<String>,
    pub samples: u64,
}

/// Objects by type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    /// Largest first.
    pub types: Vec<TypeUse>,
    /// All of them were counted.
    pub is_whole: bool,
}

/// The heap of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    pub kind: Kind,
    /// Its name and version, as it states them. Raw.
    pub version: String,
    pub parts: Vec<Part>,
    /// Of an allocator, the bytes in use and the free bytes that are in RAM or in swap.
    pub figures: Option<(u64, u64)>,
    /// Free bytes between the objects of its heap, as of the last collection, if it states them.
    pub gaps: Option<u64>,
    /// The memory of the process in RAM and swap, if it is not known how much of the heap is in RAM: at most that much.
    pub memory: Option<u64>,
    /// Other memory by purpose, if the runtime accounts for it.
    pub native: Vec<(String, u64)>,
    pub objects: Option<Objects>,
    /// The changes since an earlier read, the largest growth first, and the time between both reads.
    pub changes: Option<(Duration, Vec<TypeChange>)>,
    /// Call paths with what they allocated and is in use, largest first.
    pub sites: Vec<Site>,
    /// Samples of objects that were allocated while a Java machine recorded, and were in use at its end. The most first.
    pub kept: Vec<Kept>,
    /// Data that was not read, with the reasons. Complete sentences.
    pub remarks: Vec<String>,
}

/// Types and call paths of a list.
const LISTED: usize = 12;
/// Minimum free memory to report.
const MIN_HOARD: u64 = 32 << 20;

impl Objects {
    pub fn count(&self) -> u64 {
        self.types.iter().fold(0, |sum, of| sum.saturating_add(of.count))
    }

    pub fn bytes(&self) -> u64 {
        self.types.iter().fold(0, |sum, of| sum.saturating_add(of.bytes))
    }

    /// Returns the largest type that is the program's own.
    pub fn first_own(&self) -> Option<&TypeUse> {
        self.types.iter().find(|of| of.is_own)
    }

    /// Returns the types whose objects changed since `before`, by the growth of their bytes.
    pub fn changes(&self, before: &Self) -> Vec<TypeChange> {
        let mut old: HashMap<&str, &TypeUse> = before.types.iter().map(|of| (of.name.as_str(), of)).collect();
        let change = |name: &str, old: (u64, u64), new: (u64, u64), is_own| TypeChange {
            name: name.to_owned(),
            count: new.0.cast_signed().saturating_sub(old.0.cast_signed()),
            bytes: new.1.cast_signed().saturating_sub(old.1.cast_signed()),
            is_own,
        };
        let mut changes: Vec<_> = Vec::new();
        for of in &self.types {
            let was = old
                .remove(of.name.as_str())
                .map_or((0, 0), |was| (was.count, was.bytes));
            changes.push(change(&of.name, was, (of.count, of.bytes), of.is_own));
        }
        changes.extend(
            old.into_values()
                .map(|was| change(&was.name, (was.count, was.bytes), (0, 0), was.is_own)),
        );
        changes.retain(|change| change.count != 0 || change.bytes != 0);
        changes.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        changes
    }
}

impl Runtime {
    pub fn new(kind: Kind, version: String) -> Self {
        Self {
            kind,
            version,
            parts: Vec::new(),
            figures: None,
            gaps: None,
            memory: None,
            native: Vec::new(),
            objects: None,
            changes: None,
            sites: Vec::new(),
            kept: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Returns true if any of its data is known.
    pub fn is_read(&self) -> bool {
        self.objects.is_some() || !self.parts.is_empty() || !self.sites.is_empty()
    }

    /// Returns the bytes of the object heap in RAM, and the bytes of it in use. `None` if they are not known.
    pub fn heap(&self) -> Option<(u64, u64)> {
        let heap = || self.parts.iter().filter(|part| part.is_heap);
        let used = heap().fold(0, |sum: u64, part| sum.saturating_add(part.used));
        let mut kept: u64 = 0;
        for part in heap() {
            let committed = part.committed?;
            kept = kept.saturating_add(part.resident.unwrap_or(committed).min(committed));
        }
        heap().next()?;
        // Otherwise, some of it was never touched.
        let is_in_ram = self.memory.is_none_or(|memory| kept <= memory);
        is_in_ram.then_some((kept.max(used), used))
    }

    /// Returns true if at least a quarter of its heap in RAM is free: it hoards.
    pub fn is_hoard(&self) -> bool {
        self.heap().is_some_and(|(kept, used)| {
            let free = kept.saturating_sub(used);
            free >= MIN_HOARD && free >= kept / 4
        })
    }

    /// Returns the figures as lines of a label and a text, the verdict first.
    pub fn lines(&self, units: Units) -> Vec<(String, String)> {
        let bytes = |n| units::bytes(n, units);
        let mut lines: Vec<_> = self
            .verdict(units)
            .into_iter()
            .map(|line| (String::new(), line))
            .collect();
        for part in &self.parts {
            let in_ram = part
                .resident
                .map_or_else(String::new, |n| format!(", {} in RAM", bytes(n)));
            let committed = part
                .committed
                .map_or_else(String::new, |n| format!(", {} committed", bytes(n)));
            let text = format!("{} in use{committed}{in_ram}", bytes(part.used));
            lines.push((part.name.clone(), text));
        }
        let types = self.objects.iter().flat_map(|objects| &objects.types).take(LISTED);
        lines.extend(types.map(|of| {
            (
                bytes(of.bytes),
                format!("{} of {}", counted(of.count, "object"), of.name),
            )
        }));
        let sites = self.sites.iter().take(LISTED);
        lines.extend(sites.map(|site| (bytes(site.bytes), format!("allocated by {}", site.frames.join(" ← ")))));
        lines
    }

    /// Returns the conclusions for a user, as sentences.
    pub fn verdict(&self, units: Units) -> Vec<String> {
        let bytes = |n| units::bytes(n, units);
        let mut lines = Vec::new();
        if let (None, Some((used, free)), Some(memory)) = (self.heap(), self.figures, self.memory) {
            let (used, free, memory) = (bytes(used), bytes(free), bytes(memory));
            lines.push(format!(
                "Its heap has {used} in use and {free} free. At most {memory} of the memory in use is in RAM or swap."
            ));
        }
        if let Some((kept, used)) = self.heap() {
            let free = bytes(kept.saturating_sub(used));
            let is_known = self.parts.iter().any(|part| part.resident.is_some());
            let place = if is_known { "in RAM" } else { "committed" };
            let kept = bytes(kept);
            lines.push(if self.is_hoard() {
                let keeps = self.kind.keeps().unwrap_or("The runtime keeps it for new objects");
                format!("Its heap has {kept} {place}, and {free} of it are free. {keeps}.")
            } else {
                let used = bytes(used);
                format!("Its heap has {kept} {place}: {used} are in use, and {free} are free.")
            });
        }
        if let Some(gaps) = self.gaps.filter(|gaps| *gaps >= MIN_HOARD) {
            let gaps = bytes(gaps);
            lines.push(format!(
                "After the last collection, {gaps} between its objects were free: fragmentation."
            ));
        }
        match (&self.changes, &self.objects) {
            (Some((time, changes)), _) => {
                let time = units::span(*time);
                let own = changes.iter().find(|change| change.is_own && change.bytes > 0);
                let line = own.map_or_else(
                    || format!("In {time}, none of the program's own types grew."),
                    |own| {
                        let (count, bytes) = (own.count.max(0).cast_unsigned(), units::delta(own.bytes, units));
                        let name = crate::text::safe(own.name.as_bytes());
                        format!(
                            "Of the program's own types, {name} grew most in {time}: {} more, {bytes}.",
                            units::count(count)
                        )
                    },
                );
                lines.push(line);
            }
            (None, Some(objects)) => {
                if let Some(own) = objects.first_own() {
                    let name = crate::text::safe(own.name.as_bytes());
                    let objects = counted(own.count, "object");
                    lines.push(format!(
                        "{name} is the largest of the program's own types: {objects}, {}.",
                        bytes(own.bytes)
                    ));
                }
            }
            (None, None) => {}
        }
        if self.objects.as_ref().is_some_and(|objects| !objects.is_whole) {
            lines.push(
                "The counts are uncertain: its objects changed while they were counted, and some are missing."
                    .to_owned(),
            );
        }
        lines.extend(self.remarks.iter().cloned());
        lines
    }
}
