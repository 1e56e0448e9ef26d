//! The report of what the allocators of a process hold.
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

use std::io::{self, Write};

use crate::columns::{Cell, Value};
use crate::heap::glibc::Heap;
use crate::heap::kinds::Kind;
use crate::heap::{Arena, Chunks, Placed, State};
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
        /// Bytes in use, as `malloc_stats` counts them: with what threads keep for themselves.
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
        /// What `malloc_trim(0)` would give back.
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
        /// What would show its state.
        "shown_by": text() => kind.shown_by(),
        /// It replaces `malloc` of the C library.
        "malloc": switch() => kind.is_malloc(),
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
        /// Other allocators and runtimes, whose own memory is not read.
        "others": list(object(other_fields())) => report.state.others.iter().map(|kind| other(*kind)).collect::<Vec<_>>(),
        /// A quarter of its memory and more is free inside glibc.
        "hoard": switch() => report.state.is_hoard(),
        /// What that means, in sentences.
        "verdict": list(text()) => report.state.verdict(units::Units::Auto),
    }
}

pub fn schema() -> Schema {
    Schema {
        name: SCHEMA,
        help: "What the allocators of a process hold: in use, free, and what would go back. Written by `zmtop heap`.",
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
                "The caches of threads were not found: what they keep counts as in use."
            )?;
        }
        Ok(())
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
        for line in state.verdict(self.style.units) {
            for line in text::wrap(&line, self.style.width.unwrap_or(100).max(40)) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
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
