//! The report of the memory that the allocators of a process use and keep.
//!
//! ```text
//! 4711 server: 38.9G in RAM and swap
//! ARENA SYSTEM IN USE CACHED  FREE  FAST UNSORTED SMALL LARGE   TOP  TRIM
//!     1  36.2G   1.2G   240K 35.0G     0    34.9G     0     0 98.0M 34.9G
//!     2   2.4G   1.3G    16K  1.1G  1.2M       0   512K  1.1G   33K  1.1G
//!       38.6G    2.5G   256K 36.1G  1.2M    34.9G  512K  1.1G 98.1M 36.0G
//! Mapped one by one: 12 chunks, 310M
//! 36.1G of 38.9G are free inside glibc: malloc_trim(0) would return 36.0G.
//! ```

use std::collections::HashMap;
use std::io::{self, Write};

use crate::columns::{Cell, Value};
use crate::heap::glibc::Heap;
use crate::heap::kinds::Kind;
use crate::heap::runtimes::{Kept, Part, Runtime, Site, TypeChange, TypeUse};
use crate::heap::{Arena, Change, Chunks, Placed, State};
use crate::output::data::{DataTable, Document, Node, Object, described_object, names};
use crate::output::text_table::{TextTable, value_cell, word};
use crate::output::{OutputStyle, Report};
use crate::schema::Schema;
use crate::text::{self, Align, safe};
use crate::units::{self, counted};

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-heap/1";
/// Arenas of a table. The totals include all.
const LISTED: usize = 16;

pub struct HeapReport {
    pub state: State,
    /// Types and call paths of a table.
    pub top: usize,
    pub style: OutputStyle,
}

described_object! {
    fn placed, placed_fields(placed: Placed) -> Object<'static> {
        /// In RAM.
        "resident": bytes() => placed.resident,
        /// In swap.
        "swapped": bytes() => placed.swapped,
    }

    fn chunks, chunks_fields(chunks: Chunks) -> Object<'static> {
        /// Their number.
        "count": count() => chunks.count,
        /// Their bytes, with the overhead of each.
        "bytes": bytes() => chunks.bytes,
    }

    fn arena, arena_fields(arena: &Arena) -> Object<'static> {
        /// Bytes from the kernel.
        "system": bytes() => arena.system,
        /// The most bytes that it ever had from the kernel.
        "system_max": bytes() => arena.system_most,
        /// Bytes in use, as `malloc_stats` counts them: including the caches of threads.
        "in_use": bytes() => arena.in_use,
        /// All free bytes.
        "free": bytes() => arena.free(),
        /// Free bytes that are in RAM or in swap.
        "kept": bytes() => arena.kept(),
        /// Freed chunks that threads keep for themselves.
        "cached": object(chunks_fields()) => chunks(arena.cached),
        /// Freed small chunks that are not joined with their neighbours.
        "fast": object(chunks_fields()) => chunks(arena.fast),
        /// Freed chunks that are not sorted yet.
        "unsorted": object(chunks_fields()) => chunks(arena.unsorted),
        /// Free chunks below 1 KiB.
        "small": object(chunks_fields()) => chunks(arena.small),
        /// Free chunks of 1 KiB and more.
        "large": object(chunks_fields()) => chunks(arena.large),
        /// The free end.
        "top": bytes() => arena.top,
        /// The memory that `malloc_trim(0)` would return to the kernel.
        "trim": object(placed_fields()) => placed(arena.trim),
        /// Whole pages of the free end that `malloc_trim` leaves.
        "top_kept": object(placed_fields()) => placed(arena.top_kept),
    }

    fn heap_of, heap_fields<'s>(heap: &'s Heap) -> Object<'s> {
        /// Its arenas, the first one first.
        "arenas": list(object(arena_fields())) => heap.arenas.iter().map(arena).collect::<Vec<_>>(),
        /// The sums of all arenas.
        "totals": object(arena_fields()) => arena(&heap.total()),
        /// Chunks in use with a mapping of their own.
        "mapped": object(chunks_fields()).null("not found") => heap.mapped.map(chunks),
        /// Threads whose caches were read.
        "caches": count().null("no cache was found: `cached` is 0") => heap.caches,
        /// There were more free chunks than could be followed: free bytes are a minimum.
        "partial": switch() => heap.is_partial,
    }

    fn other, other_fields(kind: Kind) -> Object<'static> {
        /// Its name.
        "name": text() => kind.id(),
        /// Instructions to see its state.
        "shown_by": text() => kind.shown_by(),
        /// It replaces `malloc` of the C library.
        "malloc": switch() => kind.is_malloc(),
    }

    fn part, part_fields<'s>(part: &'s Part) -> Object<'s> {
        /// Its name in the runtime.
        "name": foreign() => Node::bytes(part.name.as_bytes()),
        /// Bytes in use, including garbage that was not collected yet. For a generation of .NET: its size after the last
        /// collection.
        "used": bytes() => part.used,
        /// Bytes that the runtime has committed for it.
        "committed": bytes().null("the runtime does not report it") => part.committed,
        /// The part of them that is in RAM.
        "resident": bytes().null("not known") => part.resident,
        /// It holds the program's objects and is not contained in another part. A generation of .NET is contained in the heap.
        "objects": switch() => part.is_heap,
    }

    fn type_use, type_fields<'s>(of: &'s TypeUse) -> Object<'s> {
        /// The type or class.
        "name": foreign() => Node::bytes(of.name.as_bytes()),
        /// Its objects.
        "count": count() => of.count,
        /// Their bytes. For a class of Python, with the plain data that only its objects refer to.
        "bytes": bytes() => of.bytes,
        /// The program or one of its libraries defines it.
        "own": switch() => of.is_own,
    }

    fn type_change, change_fields<'s>(change: &'s TypeChange) -> Object<'s> {
        /// The type or class.
        "name": foreign() => Node::bytes(change.name.as_bytes()),
        /// Change of the number of its objects.
        "count": number() => change.count,
        /// Change of their bytes.
        "bytes": delta() => change.bytes,
        /// The program or one of its libraries defines it.
        "own": switch() => change.is_own,
    }

    fn site, site_fields<'s>(site: &'s Site) -> Object<'s> {
        /// The functions, innermost first.
        "frames": list(foreign()) => site.frames.iter().map(|name| Node::bytes(name.as_bytes())).collect::<Vec<_>>(),
        /// Estimated number of objects that it allocated and that are in use. `null` for V8, which does not report it.
        "count": count() => site.count,
        /// Their bytes.
        "bytes": bytes() => site.bytes,
    }

    fn kept, kept_fields<'s>(kept: &'s Kept) -> Object<'s> {
        /// The class of the objects.
        "class": foreign() => Node::bytes(kept.class.as_bytes()),
        /// The methods that allocated them, innermost first.
        "frames": list(foreign()) => kept.frames.iter().map(|name| Node::bytes(name.as_bytes())).collect::<Vec<_>>(),
        /// Number of samples of objects that are in use. Larger objects are sampled more often.
        "samples": count() => kept.samples,
    }

    fn native, native_fields<'s>(of: &'s (String, u64)) -> Object<'s> {
        /// The purpose, as the JVM names it.
        "name": foreign() => Node::bytes(of.0.as_bytes()),
        /// Bytes committed for it.
        "bytes": bytes() => of.1,
    }

    fn runtime_of, runtime_fields<'s>(runtime: &'s Runtime) -> Object<'s> {
        /// Its name, as in `others`.
        "name": text() => runtime.kind.id(),
        /// Its version, as it reports it; empty if it was not queried.
        "version": foreign() => Node::bytes(runtime.version.as_bytes()),
        /// The parts of its heap.
        "parts": list(object(part_fields())) => runtime.parts.iter().map(part).collect::<Vec<_>>(),
        /// Free bytes between the objects of its heap, as of the last collection.
        "gaps": bytes().null("only .NET 5 and later report them, after the first collection") => runtime.gaps,
        /// Its objects by type, largest first.
        "types": list(object(type_fields())).null("they were not counted") => runtime.objects.as_ref().map(|objects| objects.types.iter().map(type_use).collect::<Vec<_>>()),
        /// All objects were counted.
        "whole": switch().null("they were not counted") => runtime.objects.as_ref().map(|objects| objects.is_whole),
        /// The time between the two reads of `--for`.
        "time_s": seconds().null("there was one look") => runtime.changes.as_ref().map(|(time, _)| time.as_secs_f64()),
        /// The changes between the two reads, largest growth first.
        "changes": list(object(change_fields())).null("there was one look") => runtime.changes.as_ref().map(|(_, changes)| changes.iter().map(type_change).collect::<Vec<_>>()),
        /// The call paths of Go that allocated the memory in use.
        "sites": list(object(site_fields())) => runtime.sites.iter().map(site).collect::<Vec<_>>(),
        /// Objects that a JVM allocated during the recording of `--code` and that were still in use at its end.
        "kept": list(object(kept_fields())) => runtime.kept.iter().map(kept).collect::<Vec<_>>(),
        /// Other memory by purpose, if a JVM tracks it: `-XX:NativeMemoryTracking=summary`.
        "native": list(object(native_fields())) => runtime.native.iter().map(native).collect::<Vec<_>>(),
        /// At least a quarter of its heap in RAM is free.
        "hoard": switch() => runtime.is_hoard(),
        /// The conclusions, as sentences.
        "verdict": list(text()) => runtime.verdict(units::Units::Auto),
    }

    fn overall, overall_fields<'s>(change: Change) -> Object<'s> {
        /// Seconds between the two reads.
        "seconds": seconds() => change.time.as_secs_f64(),
        /// The change of the bytes in use.
        "in_use": delta() => change.in_use,
        /// The change of the free bytes that are in RAM or in swap.
        "free": delta() => change.free,
    }

    fn object_of, fields<'s>(report: &'s HeapReport) -> Object<'s> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// The process.
        "pid": id() => report.state.pid,
        /// Its short name.
        "comm": foreign() => Node::bytes(&report.state.comm),
        /// All of its memory, with shared memory and files.
        "memory": object(placed_fields()).null("it could not be read") => report.state.memory.map(placed),
        /// The heap of glibc.
        "glibc": object(heap_fields()).null("not known; `glibc_unknown` has the reason") => report.state.heap.as_ref().ok().map(heap_of),
        /// Why the heap of glibc is not known.
        "glibc_unknown": text().null("it is known") => report.state.heap.as_ref().err().map(ToString::to_string),
        /// Other allocators and runtimes.
        "others": list(object(other_fields())) => report.state.others.iter().map(|kind| other(*kind)).collect::<Vec<_>>(),
        /// The heaps of the runtimes that can be queried or read.
        "runtimes": list(object(runtime_fields())) => report.state.runtimes.iter().map(runtime_of).collect::<Vec<_>>(),
        /// The change between the two reads of `--for`, of glibc or of the allocator in its place.
        "change": object(overall_fields()).null("it was read once, or could not be read as a whole") => report.state.change.map(overall),
        /// At least a quarter of its memory is free inside glibc.
        "hoard": switch() => report.state.is_hoard(),
        /// The conclusions, as sentences.
        "verdict": list(text()) => report.state.verdict(units::Units::Auto),
    }
}

pub fn schema() -> Schema {
    Schema {
        name: SCHEMA,
        help: "The memory that the allocators of a process hold: in use, free, and returnable to the kernel. Written \
               by `zmtop heap`.",
        fields: fields(),
    }
}

impl HeapReport {
    /// Returns the cells of an arena, the first of which is its number.
    fn cells(&self, number: Option<usize>, arena: &Arena) -> Vec<Cell> {
        let bytes = [
            arena.system,
            arena.in_use,
            arena.cached.bytes,
            arena.free(),
            arena.fast.bytes,
            arena.unsorted.bytes,
            arena.small.bytes,
            arena.large.bytes,
            arena.top,
            arena.trim.total(),
        ];
        let number = number.map_or_else(
            || word(String::new()),
            |number| value_cell(&Value::Count(number as u64), self.style.units, usize::MAX),
        );
        let values = bytes.map(|bytes| value_cell(&Value::Bytes(bytes), self.style.units, usize::MAX));
        std::iter::once(number).chain(values).collect()
    }

    fn write_heap(&self, heap: &Heap, out: &mut dyn Write) -> io::Result<()> {
        let titles = [
            "ARENA", "SYSTEM", "IN USE", "CACHED", "FREE", "FAST", "UNSORTED", "SMALL", "LARGE", "TOP", "TRIM",
        ];
        let mut table = TextTable::titled(titles.map(|title| (title, Align::Right)));
        for (at, arena) in heap.arenas.iter().enumerate().take(LISTED) {
            table.push(&self.cells(Some(at + 1), arena));
        }
        if heap.arenas.len() > 1 {
            table.push_totals(&self.cells(None, &heap.total()), "");
        }
        table.write(out, &self.style)?;
        if let Some(more @ 1..) = heap.arenas.len().checked_sub(LISTED) {
            writeln!(out, "{} not listed", counted(more as u64, "more arena"))?;
        }
        if let Some(mapped) = heap.mapped.filter(|mapped| mapped.count > 0) {
            let bytes = units::bytes(mapped.bytes, self.style.units);
            writeln!(out, "Mapped one by one: {}, {bytes}", counted(mapped.count, "chunk"))?;
        }
        if heap.caches.is_none() {
            writeln!(
                out,
                "The caches of threads were not found: their memory counts as in use."
            )?;
        }
        Ok(())
    }
}

impl HeapReport {
    fn write_lines(&self, lines: &[String], out: &mut dyn Write) -> io::Result<()> {
        let width = self.style.width.unwrap_or(100).max(40);
        lines
            .iter()
            .flat_map(|line| text::wrap(line, width))
            .try_for_each(|line| writeln!(out, "{line}"))
    }

    fn write_runtime(&self, runtime: &Runtime, out: &mut dyn Write) -> io::Result<()> {
        let units = self.style.units;
        let bytes = |n| value_cell(&Value::Bytes(n), units, usize::MAX);
        let count = |n| value_cell(&Value::Count(n), units, usize::MAX);
        let name = |name: &str| word(safe(name.as_bytes()));
        if runtime.version.is_empty() {
            return self.write_lines(&runtime.verdict(units), out);
        }
        writeln!(out, "\n{}", safe(runtime.version.as_bytes()))?;
        let mut table = TextTable::titled([
            ("USED", Align::Right),
            ("COMMITTED", Align::Right),
            ("IN RAM", Align::Right),
            ("PART", Align::Left),
        ]);
        for part in &runtime.parts {
            let known = |n: Option<u64>| n.map_or_else(|| word("-"), bytes);
            let (committed, resident) = (known(part.committed), known(part.resident));
            table.push(&[bytes(part.used), committed, resident, name(&part.name)]);
        }
        for (purpose, committed) in &runtime.native {
            table.push(&[word(""), bytes(*committed), word(""), name(purpose)]);
        }
        if !runtime.parts.is_empty() || !runtime.native.is_empty() {
            table.write(out, &self.style)?;
        }
        let titles = [("COUNT", Align::Right), ("BYTES", Align::Right), ("TYPE", Align::Left)];
        if let Some((_, changes)) = &runtime.changes {
            let grown = [("+COUNT", Align::Right), ("+BYTES", Align::Right)];
            let mut table = TextTable::titled(grown.into_iter().chain(titles));
            let objects = runtime.objects.iter().flat_map(|objects| &objects.types);
            let now: HashMap<&str, &TypeUse> = objects.map(|of| (of.name.as_str(), of)).collect();
            for change in changes.iter().take(self.top) {
                let (n, b) = now.get(change.name.as_str()).map_or((0, 0), |of| (of.count, of.bytes));
                let grown = word(format!("{:+}", change.count));
                let more = value_cell(&Value::Delta(change.bytes, 0), units, usize::MAX);
                table.push(&[grown, more, count(n), bytes(b), name(&change.name)]);
            }
            table.write(out, &self.style)?;
        } else if let Some(objects) = &runtime.objects {
            let mut table = TextTable::titled(titles);
            for of in objects.types.iter().take(self.top) {
                table.push(&[count(of.count), bytes(of.bytes), name(&of.name)]);
            }
            table.push_totals(&[count(objects.count()), bytes(objects.bytes()), word("")], "");
            table.write(out, &self.style)?;
        }
        if !runtime.sites.is_empty() {
            let titles = [
                ("COUNT", Align::Right),
                ("BYTES", Align::Right),
                ("ALLOCATED BY", Align::Left),
            ];
            let mut table = TextTable::titled(titles);
            for site in runtime.sites.iter().take(self.top) {
                table.push(&[
                    site.count.map_or_else(|| word("-"), count),
                    bytes(site.bytes),
                    name(&site.frames.join(" ← ")),
                ]);
            }
            table.write(out, &self.style)?;
        }
        if !runtime.kept.is_empty() {
            let titles = [
                ("SAMPLES", Align::Right),
                ("KEPT", Align::Left),
                ("ALLOCATED BY", Align::Left),
            ];
            let mut table = TextTable::titled(titles);
            for kept in runtime.kept.iter().take(self.top) {
                table.push(&[count(kept.samples), name(&kept.class), name(&kept.frames.join(" ← "))]);
            }
            table.write(out, &self.style)?;
        }
        self.write_lines(&runtime.verdict(units), out)
    }
}

impl Report for HeapReport {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let state = &self.state;
        let memory = state.memory.map_or_else(
            |why| why.to_string(),
            |memory| format!("{} in RAM and swap", units::bytes(memory.total(), self.style.units)),
        );
        writeln!(out, "{} {}: {memory}", state.pid, safe(&state.comm))?;
        if let Ok(heap) = &state.heap {
            self.write_heap(heap, out)?;
        }
        self.write_lines(&state.verdict(self.style.units), out)?;
        state
            .runtimes
            .iter()
            .try_for_each(|runtime| self.write_runtime(runtime, out))
    }

    fn document(&self) -> Document<'_> {
        Document::Object(object_of(self))
    }

    fn table(&self) -> DataTable<'_> {
        let arenas = self.state.heap.iter().flat_map(|heap| &heap.arenas);
        DataTable {
            names: Some(names(arena_fields())),
            rows: Box::new(arenas.map(|one| arena(one).into_row())),
        }
    }
}
