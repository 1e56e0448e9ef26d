//! The figures of the system that an alert rule can test.

use std::borrow::Cow;
use std::time::Duration;

use super::{Column, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::history::History;
use crate::history::dangers::Limit;
use crate::history::kills::Kill;
use crate::model::system::Pressure;
use crate::model::{Missing, Reading, Snapshot};

/// The time that recent kills are counted over.
const RECENT_KILL: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug)]
pub enum System {}

/// The system at one snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SystemRow<'a> {
    pub snapshot: &'a Snapshot,
    /// The history that ends with it.
    pub history: &'a History,
}

impl SystemRow<'_> {
    /// Returns whose kills, stalls or dangers a figure reports now, as keys, each with the time at which it began. `None` for other
    /// figures.
    pub fn owners(&self, id: &str) -> Option<Vec<(Box<[u8]>, Duration)>> {
        Some(match id {
            "recent_kills" => self.recent_kills().map(|kill| (kill.owner(), kill.at)).collect(),
            "stalled" => {
                let stalls = self.history.stalls().iter();
                stalls.map(|stall| (stall.owner().into(), stall.since)).collect()
            }
            "full_in" | "machine_full_in" => {
                let dangers = self.history.shared_dangers();
                dangers
                    .filter(|danger| id == "full_in" || danger.limit == Limit::Machine)
                    .map(|danger| (danger.limit.owner(), danger.forecast.since))
                    .collect()
            }
            _ => return None,
        })
    }

    /// Returns the kills of the last minute whose owner is known. The log of an open one may still be read.
    fn recent_kills(&self) -> impl Iterator<Item = &Kill> {
        self.history.kills_within(RECENT_KILL).filter(|kill| !kill.is_open)
    }
}

impl TableKind for System {
    type Row<'a> = SystemRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;
}

type Entry = Column<System>;

type Get = for<'a> fn(&'a SystemRow<'a>) -> Value<'a>;

const fn bytes(id: &'static str, value: Get) -> Entry {
    Entry::bytes(id, id, value)
}

const fn figure(id: &'static str, unit: Unit, value: Get) -> Entry {
    Entry::figure(id, id, unit, 5, value)
}

fn share(part: Reading<u64>, whole: Reading<u64>) -> Value<'static> {
    Value::share(part.map(|n| n as f64), whole)
}

fn rate(per_second: Option<f64>, wrap: fn(f64) -> Value<'static>) -> Value<'static> {
    per_second.map_or(Value::Missing(Missing::Pending), wrap)
}

fn stalled<'a>(row: &SystemRow<'a>, percent: fn(&Pressure<1>) -> [f32; 1]) -> Value<'a> {
    let share = |psi| percent(&psi).map(|percent| f64::from(percent) / 100.0);
    row.snapshot
        .system
        .psi
        .map_or_else(Value::Missing, |psi| Value::Share(share(psi)[0]))
}

pub static COLUMNS: &[Entry] = &[
    bytes("mem_total", |r| Value::bytes(r.snapshot.system.mem_total)).help(
        "The RAM. In a container, and with --cgroup, the limit of the cgroup; the figures below then are those of the \
         cgroup. Kernel: MemTotal in meminfo.",
    )
    .metric("zmtop_system_memory_total_bytes")
        .metric_help(
            "The RAM. In a container, and with --cgroup, the limit of the cgroup; the other memory metrics then are \
             those of the cgroup. Kernel: MemTotal in meminfo.",
        ),
    bytes("mem_free", |r| Value::bytes(r.snapshot.system.mem_free)).help("Kernel: MemFree in meminfo.")
    .metric("zmtop_system_memory_free_bytes"),
    bytes("mem_available", |r| Value::bytes(r.snapshot.system.available())).help(
        "Memory that programs can still get without swapping. Formula: MemAvailable + GPUReclaim of meminfo + size − \
         c_min of ZFS's arcstats, where they exist; at most MemTotal.",
    )
    .metric("zmtop_system_memory_available_bytes"),
    bytes("mem_used", |r| Value::bytes(r.snapshot.system.used()))
        .help("RAM in use. Formula: MemTotal − mem_available.")
    .metric("zmtop_system_memory_used_bytes")
        .metric_help(
            "RAM in use. Formula: zmtop_system_memory_total_bytes − zmtop_system_memory_available_bytes.",
        ),
    figure("mem_percent", Unit::Share, |r| {
        share(r.snapshot.system.used(), r.snapshot.system.mem_total)
    })
    .help("The part of RAM that is in use. Formula: mem_used ÷ MemTotal."),
    bytes("anon", |r| Value::bytes(r.snapshot.system.anon_pages)).help("Kernel: AnonPages in meminfo.")
    .metric("zmtop_system_anon_bytes"),
    bytes("cached", |r| Value::bytes(r.snapshot.system.cached)).help("Kernel: Cached in meminfo.")
    .metric("zmtop_system_cached_bytes"),
    bytes("shmem", |r| Value::bytes(r.snapshot.system.shmem)).help("Kernel: Shmem in meminfo.")
    .metric("zmtop_system_shmem_bytes"),
    bytes("slab", |r| Value::bytes(r.snapshot.system.slab)).help("Kernel: Slab in meminfo.")
    .metric("zmtop_system_slab_bytes"),
    bytes("swap_total", |r| Value::bytes(r.snapshot.system.swap_total)).help("Kernel: SwapTotal in meminfo.")
    .metric("zmtop_system_swap_total_bytes"),
    bytes("swap_free", |r| Value::bytes(r.snapshot.system.swap_free)).help("Kernel: SwapFree in meminfo.")
    .metric("zmtop_system_swap_free_bytes"),
    bytes("swap_used", |r| Value::bytes(r.snapshot.system.swap_used()))
        .help("Formula: SwapTotal − SwapFree of meminfo.")
    .metric("zmtop_system_swap_used_bytes"),
    figure("swap_percent", Unit::Share, |r| {
        share(r.snapshot.system.swap_used(), r.snapshot.system.swap_total)
    })
    .help("The part of swap that is in use. Formula: swap_used ÷ SwapTotal."),
    figure("swap_in", Unit::Growth, |r| {
        rate(r.history.system().swap_in, Value::Growth)
    })
    .help("Read from swap. Kernel: pswpin in vmstat."),
    figure("swap_out", Unit::Growth, |r| {
        rate(r.history.system().swap_out, Value::Growth)
    })
    .help("Written to swap. Kernel: pswpout in vmstat."),
    figure("majflt", Unit::PerSecond, |r| {
        rate(r.history.system().majfault, Value::PerSecond)
    })
    .help("Major faults per second. Kernel: pgmajfault in vmstat."),
    figure("reclaim_kswapd", Unit::Growth, |r| {
        rate(r.history.system().steal_kswapd, Value::Growth)
    })
    .help("Memory that the kernel reclaims in the background. Kernel: pgsteal_kswapd in vmstat."),
    figure("reclaim_direct", Unit::Growth, |r| {
        rate(r.history.system().steal_direct, Value::Growth)
    })
    .help("Memory that tasks reclaim themselves while they wait for memory. Kernel: pgsteal_direct in vmstat."),
    figure("refault_anon", Unit::Growth, |r| {
        rate(r.history.system().refault_anon, Value::Growth)
    })
    .help("Read back from swap soon after it was reclaimed. Kernel: workingset_refault_anon in vmstat."),
    figure("refault_file", Unit::Growth, |r| {
        rate(r.history.system().refault_file, Value::Growth)
    })
    .help("Files read again soon after they were reclaimed. Kernel: workingset_refault_file in vmstat."),
    figure("oom_kills", Unit::Count, |r| {
        r.snapshot.system.oom_kill.map_or_else(Value::Missing, Value::Count)
    })
    .help("Processes killed for lack of memory since boot. Kernel: oom_kill in vmstat."),
    figure("recent_kills", Unit::Count, |r| {
        let count = |_| Value::Count(r.recent_kills().count() as u64);
        r.snapshot.system.oom_kill.map_or_else(Value::Missing, count)
    })
    .help("Processes killed for lack of memory in the last minute, at most 32. Kernel: oom_kill in vmstat, and its log."),
    figure("psi_some", Unit::Share, |r| stalled(r, |psi| psi.some))
        .help("The part of the last ten seconds in which some task waited for memory. Kernel: pressure/memory.")
    .metric("zmtop_system_stalled_some_ratio"),
    figure("psi_full", Unit::Share, |r| stalled(r, |psi| psi.full))
        .help("The part of the last ten seconds in which every task waited for memory. Kernel: pressure/memory.")
    .metric("zmtop_system_stalled_full_ratio"),
    figure("stalled", Unit::Share, |r| {
        Value::Share(r.history.stalls().iter().map(|stall| stall.share).fold(0.0, f64::max))
    })
    .help(
        "The part of the last five seconds in which tasks of the machine or of a cgroup waited for memory, while this \
         is reported as a stall: they read back reclaimed pages, or memory.high throttles them. 0 if there is no \
         stall. Formula: time in memory.pressure ÷ time.",
    )
    .metric("zmtop_system_stall_ratio"),
    figure("full_in", Unit::Seconds, |r| {
        let dangers = r.history.shared_dangers();
        let soonest = dangers.map(|danger| danger.forecast.seconds()).min_by(f64::total_cmp);
        soonest.map_or(Value::Never, Value::Forecast)
    })
    .help(
        "The time until the machine's memory is full or a cgroup reaches its limit at the current rate, while this is \
         reported as a danger (trend.danger in the config). Filter: full_in<10m.",
    )
    .metric("zmtop_system_full_in_seconds")
        .metric_help(
            "The time until the machine's memory is full or a cgroup reaches its limit at the current rate, while this \
             is reported as a danger (trend.danger in the config).",
        ),
    figure("machine_full_in", Unit::Seconds, |r| {
        let mut dangers = r.history.dangers().iter();
        let of_machine = dangers.find(|danger| danger.limit == Limit::Machine);
        of_machine.map_or(Value::Never, |danger| Value::Forecast(danger.forecast.seconds()))
    })
    .help(
        "The time until the machine's memory is full at the current rate, while this is reported as a danger (trend.danger \
         in the config). Filter: machine_full_in<10m.",
    )
    .metric("zmtop_system_machine_full_in_seconds")
        .metric_help(
            "The time until the machine's memory is full at the current rate, while this is reported as a danger \
             (trend.danger in the config).",
        ),
    figure("processes", Unit::Count, |r| match &r.snapshot.processes {
        Ok(list) => Value::Count(list.len() as u64),
        Err(e) => Value::Missing(*e),
    })
    .help("The number of processes.")
    .metric("zmtop_system_processes"),
];

impl Filterable for SystemRow<'_> {
    fn text(&self, _: TextField) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn number(&self, column: usize) -> Option<f64> {
        (COLUMNS.get(column)?.value)(self).number()
    }
}
