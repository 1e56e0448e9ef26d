//! The families of the machine, and of zmtop itself.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::families::{Family, Labels};
use crate::account::overview::compressed;
use crate::columns::system::{COLUMNS, SystemRow};
use crate::group::Coverage;
use crate::history::History;
use crate::model::kill::KillCause;
use crate::model::{Reading, Snapshot, SystemSample};
use crate::text::safe;
use crate::trend::Verdict;

/// Metric, help, value.
type Counter = (&'static str, &'static str, fn(&SystemSample) -> Reading<u64>);

/// Counters of the kernel.
const COUNTERS: [Counter; 8] = [
    (
        "zmtop_system_swap_in_bytes",
        "Read from swap since boot. Kernel: pswpin in vmstat.",
        |s| s.pswpin,
    ),
    (
        "zmtop_system_swap_out_bytes",
        "Written to swap since boot. Kernel: pswpout in vmstat.",
        |s| s.pswpout,
    ),
    (
        "zmtop_system_major_faults",
        "Page faults that waited for a disk, since boot. Kernel: pgmajfault in vmstat.",
        |s| s.pgmajfault,
    ),
    (
        "zmtop_system_reclaimed_kswapd_bytes",
        "Memory reclaimed in the background since boot. Kernel: pgsteal_kswapd in vmstat.",
        |s| s.steal_kswapd,
    ),
    (
        "zmtop_system_reclaimed_direct_bytes",
        "Memory that tasks had to reclaim themselves since boot. Kernel: pgsteal_direct in vmstat.",
        |s| s.steal_direct,
    ),
    (
        "zmtop_system_refault_anon_bytes",
        "Read back from swap soon after it was reclaimed, since boot. Kernel: workingset_refault_anon in vmstat.",
        |s| s.refault_anon,
    ),
    (
        "zmtop_system_refault_file_bytes",
        "Files read again soon after they were reclaimed, since boot. Kernel: workingset_refault_file in vmstat.",
        |s| s.refault_file,
    ),
    (
        "zmtop_system_oom_kills",
        "Processes killed for lack of memory since boot. Kernel: oom_kill in vmstat.",
        |s| s.oom_kill,
    ),
];

/// Builds the families of the machine. Its counters count since the boot.
pub(super) fn families(
    snapshot: &Snapshot,
    history: &History,
    boot: Option<SystemTime>,
    started: SystemTime,
) -> Vec<Family> {
    let row = SystemRow { snapshot, history };
    let mut families: Vec<Family> = COLUMNS
        .iter()
        .filter_map(|column| {
            let value = (column.value)(&row).number();
            Some(Family::gauge(column.metric?, column.help_of_metric()).with(value, None))
        })
        .collect();
    families.extend(COUNTERS.map(|(metric, help, get)| {
        let value = get(&snapshot.system).ok().map(|value| value as f64);
        Family::counter(metric, help).with(value, boot)
    }));
    families.push(kills(snapshot, started));
    families.push(parts(history));
    families.extend(judged_parts(history));
    families.extend(pools(snapshot));
    let help = "1; the name that the machine gives itself is a label.";
    families.push(info("zmtop_host_info", help, "nodename", &safe(&snapshot.host)));
    families
}

/// Builds the family of the OOM kills by cause, which counts since zmtop started.
fn kills(snapshot: &Snapshot, started: SystemTime) -> Family {
    let mut family = Family::counter(
        "zmtop_oom_kills",
        "Processes killed for lack of memory since zmtop started, by cause: the machine's memory was full, the limit of a cgroup \
         was reached or systemd-oomd acted for one, a daemon such as earlyoom acted, or unknown, as the kernel's log cannot be read or does not have the \
         kill. Kernel: oom_kill in vmstat, /dev/kmsg, the tracepoint signal_generate.",
    );
    if snapshot.system.oom_kill.is_ok() {
        for cause in KillCause::ALL {
            let count = snapshot.oom_counts.get(cause) as f64;
            family.count(&label("cause", cause.id()), Some(count), Some(started));
        }
    }
    family
}

/// Builds the family of the parts of the RAM, whose series sum to `MemTotal`.
fn parts(history: &History) -> Family {
    let mut family = Family::gauge(
        "zmtop_account_bytes",
        "The RAM in parts, which sum to MemTotal; unattributed is what no counter of the kernel shows. It is negative if some \
         memory was counted twice.",
    );
    let Some(account) = history.parts().account() else {
        return family;
    };
    for part in &account.parts {
        family.push(&label("part", part.id), part.bytes.ok().map(|bytes| bytes as f64));
    }
    let rest = account.rest.ok().map(|bytes| bytes as f64);
    family.push(&label("part", "unattributed"), rest);
    family
}

/// Builds the families of the verdicts on the parts of the RAM that may leak, mostly the kernel's own memory.
fn judged_parts(history: &History) -> [Family; 2] {
    let mut leaking = Family::gauge(
        "zmtop_account_leaking",
        "1 if a part of the RAM that the kernel cannot reclaim leaks, else 0; absent while unknown.",
    );
    let mut slope = Family::gauge(
        "zmtop_account_slope_bytes_per_second",
        "How fast the lowest values of a part of the RAM change.",
    );
    for (part, row) in history.parts().that_may_leak() {
        let judged = row.trend();
        if judged.verdict != Verdict::Unknown {
            let labels = label("part", part.id);
            leaking.push(&labels, Some(f64::from(u8::from(judged.verdict == Verdict::Leaking))));
            slope.push(&labels, Some(judged.slope));
        }
    }
    [leaking, slope]
}

/// Builds the families of compressed memory.
fn pools(snapshot: &Snapshot) -> [Family; 2] {
    let mut stored = Family::gauge(
        "zmtop_compressed_stored_bytes",
        "Uncompressed size of the swapped-out memory in zswap or in a zram device.",
    );
    let mut in_ram = Family::gauge("zmtop_compressed_ram_bytes", "RAM that zswap or a zram device takes.");
    for pool in compressed(&snapshot.system, &snapshot.accounting) {
        let labels = label("pool", &pool.name);
        stored.push(&labels, pool.stored.ok().map(|bytes| bytes as f64));
        in_ram.push(&labels, pool.in_ram.ok().map(|bytes| bytes as f64));
    }
    [stored, in_ram]
}

/// Builds the families about zmtop itself. `now` is the monotonic clock.
pub(super) fn own(snapshot: &Snapshot, now: Duration, started: SystemTime) -> Vec<Family> {
    let coverage = Coverage::of(snapshot);
    let own = snapshot.own.ok();
    let gauge = |metric, help: &str, value| Family::gauge(metric, help).with(value, None);
    vec![
        Family::counter("zmtop_cpu_seconds", "Processor time of zmtop and its children.")
            .with(own.map(|own| own.cpu.as_secs_f64()), Some(started)),
        gauge(
            "zmtop_resident_bytes",
            "Resident memory of zmtop and its children.",
            own.map(|own| own.rss as f64),
        ),
        gauge(
            "zmtop_snapshot_age_seconds",
            "Age of the snapshot in this answer when the answer was prepared, which is up to one interval before the scrape.",
            Some(now.saturating_sub(snapshot.monotonic).as_secs_f64()),
        ),
        gauge(
            "zmtop_oldest_figure_seconds",
            "Age of the oldest memory figures of a process in this answer.",
            coverage.oldest.map(|age| age.as_secs_f64()),
        ),
        gauge(
            "zmtop_processes_unreadable",
            "Processes whose memory could not be read. Sums do not include it.",
            Some((coverage.hidden - coverage.pending) as f64),
        ),
        gauge(
            "zmtop_reads_stuck",
            "Reads of /proc that have not returned in time.",
            Some(snapshot.sampling.stuck as f64),
        ),
        info(
            "zmtop_build_info",
            "1; the version is a label.",
            "version",
            env!("CARGO_PKG_VERSION"),
        ),
    ]
}

/// Builds the family of pushes to a collector.
pub(super) fn pushes([taken, failed]: [u64; 2], started: SystemTime) -> Family {
    let help = "Pushes to a collector of OpenTelemetry since zmtop started, each with its retries.";
    let mut family = Family::counter("zmtop_pushes", help);
    for (result, count) in [("taken", taken), ("failed", failed)] {
        family.count(&label("result", result), Some(count as f64), Some(started));
    }
    family
}

/// Builds a family with the value 1 and this label; without a series if the label is empty.
fn info(metric: &'static str, help: &str, name: &'static str, value: &str) -> Family {
    let mut family = Family::gauge(metric, help);
    family.push(&label(name, value), (!value.is_empty()).then_some(1.0));
    family
}

fn label(name: &'static str, value: &str) -> Labels {
    Arc::new([(name, value.into())])
}
