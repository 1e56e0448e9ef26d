//! The figures of the system that an alert rule can judge.

use super::{Column, TableKind, Unit, Value};
use crate::history::History;
use crate::model::system::Psi;
use crate::model::{Missing, Reading, Snapshot};

/// The system: a table of one row.
#[derive(Clone, Copy, Debug)]
pub enum System {}

/// The system at one snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SystemRow<'a> {
    /// The snapshot.
    pub snapshot: &'a Snapshot,
    /// The history that ends with it.
    pub history: &'a History,
}

impl TableKind for System {
    type Row<'a> = SystemRow<'a>;
}

type Entry = Column<System>;

const fn bytes(id: &'static str, help: &'static str, value: for<'a> fn(&'a SystemRow<'a>) -> Value<'a>) -> Entry {
    Entry::bytes(id, id, help, value)
}

const fn figure(
    id: &'static str,
    unit: Unit,
    help: &'static str,
    value: for<'a> fn(&'a SystemRow<'a>) -> Value<'a>,
) -> Entry {
    Entry::figure(id, id, help, unit, 5, value)
}

/// RAM in use: `MemTotal − MemAvailable`.
fn used(row: &SystemRow<'_>) -> Reading<u64> {
    let system = &row.snapshot.system;
    Ok(system.mem_total?.saturating_sub(system.mem_available?))
}

fn share(part: Reading<u64>, whole: Reading<u64>) -> Value<'static> {
    match (part, whole) {
        (Ok(_), Ok(0)) => Value::Blank,
        (Ok(part), Ok(whole)) => Value::Share(part as f64 / whole as f64),
        (Err(e), _) | (_, Err(e)) => Value::Missing(e),
    }
}

fn rate(per_second: Option<f64>, wrap: fn(f64) -> Value<'static>) -> Value<'static> {
    per_second.map_or(Value::Missing(Missing::Pending), wrap)
}

fn stalled<'a>(row: &SystemRow<'a>, percent: fn(&Psi) -> f32) -> Value<'a> {
    let psi = row.snapshot.system.psi.as_ref();
    psi.map_or_else(
        |e| Value::Missing(*e),
        |psi| Value::Share(f64::from(percent(psi)) / 100.0),
    )
}

/// Every figure there is.
pub static COLUMNS: &[Entry] = &[
    bytes("mem_total", "Kernel: MemTotal in meminfo.", |r| {
        Value::bytes(r.snapshot.system.mem_total)
    }),
    bytes("mem_free", "Kernel: MemFree in meminfo.", |r| {
        Value::bytes(r.snapshot.system.mem_free)
    }),
    bytes("mem_available", "Kernel: MemAvailable in meminfo.", |r| {
        Value::bytes(r.snapshot.system.mem_available)
    }),
    bytes("mem_used", "RAM in use. Formula: MemTotal − MemAvailable.", |r| {
        Value::bytes(used(r))
    }),
    figure(
        "mem_percent",
        Unit::Share,
        "The part of RAM that is in use. Formula: mem_used ÷ MemTotal.",
        |r| share(used(r), r.snapshot.system.mem_total),
    ),
    bytes("anon", "Kernel: AnonPages in meminfo.", |r| {
        Value::bytes(r.snapshot.system.anon_pages)
    }),
    bytes("cached", "Kernel: Cached in meminfo.", |r| {
        Value::bytes(r.snapshot.system.cached)
    }),
    bytes("shmem", "Kernel: Shmem in meminfo.", |r| {
        Value::bytes(r.snapshot.system.shmem)
    }),
    bytes("slab", "Kernel: Slab in meminfo.", |r| {
        Value::bytes(r.snapshot.system.slab)
    }),
    bytes("swap_total", "Kernel: SwapTotal in meminfo.", |r| {
        Value::bytes(r.snapshot.system.swap_total)
    }),
    bytes("swap_free", "Kernel: SwapFree in meminfo.", |r| {
        Value::bytes(r.snapshot.system.swap_free)
    }),
    bytes("swap_used", "Formula: SwapTotal − SwapFree of meminfo.", |r| {
        Value::bytes(r.snapshot.system.swap_used())
    }),
    figure(
        "swap_percent",
        Unit::Share,
        "The part of swap that is in use. Formula: swap_used ÷ SwapTotal.",
        |r| share(r.snapshot.system.swap_used(), r.snapshot.system.swap_total),
    ),
    figure(
        "swap_in",
        Unit::Growth,
        "Read from swap. Kernel: pswpin in vmstat.",
        |r| rate(r.history.system().swap_in, Value::Growth),
    ),
    figure(
        "swap_out",
        Unit::Growth,
        "Written to swap. Kernel: pswpout in vmstat.",
        |r| rate(r.history.system().swap_out, Value::Growth),
    ),
    figure(
        "majflt",
        Unit::PerSecond,
        "Major faults a second. Kernel: pgmajfault in vmstat.",
        |r| rate(r.history.system().majfault, Value::PerSecond),
    ),
    figure(
        "psi_some",
        Unit::Share,
        "The part of the last ten seconds in which some task waited for memory. Kernel: pressure/memory.",
        |r| stalled(r, |psi| psi.some_avg10),
    ),
    figure(
        "psi_full",
        Unit::Share,
        "The part of the last ten seconds in which every task waited for memory. Kernel: pressure/memory.",
        |r| stalled(r, |psi| psi.full_avg10),
    ),
    figure("processes", Unit::Count, "The number of processes.", |r| {
        match &r.snapshot.processes {
            Ok(list) => Value::Count(list.len() as u64),
            Err(e) => Value::Missing(*e),
        }
    }),
];
