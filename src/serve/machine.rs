//! The families of the machine, and of zmtop itself.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::families::{Family, Labels, unlabelled};
use crate::account::overview::compressed;
use crate::columns::system::{COLUMNS, SystemRow};
use crate::group::Coverage;
use crate::history::History;
use crate::model::{Reading, Snapshot, SystemSample};
use crate::text::safe;
use crate::trend::Verdict;

/// Counters of the kernel: metric, help, value.
type Counter = (&'static str, &'static str, fn(&SystemSample) -> Reading<u64>);

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

/// Makes the families of the machine. Its counters count since the boot.
pub(super) fn families(snapshot: &Snapshot, history: &History, boot: Option<SystemTime>) -> Vec<Family> {
    let row = SystemRow { snapshot, history };
    let mut families: Vec<Family> = COLUMNS
        .iter()
        .filter_map(|column| {
            let value = (column.value)(&row).number();
            Some(Family::gauge(column.metric?, column.help).with(&unlabelled(), value))
        })
        .collect();
    families.extend(COUNTERS.map(|(metric, help, get)| {
        let value = get(&snapshot.system).ok().map(|value| value as f64);
        Family::counter(metric, help).counted(&unlabelled(), value, boot)
    }));
    families.push(parts(history));
    families.extend(judged_parts(history));
    families.extend(pools(snapshot));
    let name = safe(&snapshot.host);
    let info = Family::gauge(
        "zmtop_host_info",
        "1; the name that the machine gives itself is a label.",
    );
    families.push(info.with(&label("nodename", &name), (!name.is_empty()).then_some(1.0)));
    families
}

/// Makes the family of the parts of the RAM, whose series sum to `MemTotal`.
fn parts(history: &History) -> Family {
    let mut family = Family::gauge(
        "zmtop_account_bytes",
        "The RAM in parts, which sum to MemTotal; unattributed is what no counter of the kernel shows, and negative where more \
         was counted than there is.",
    );
    let Some(account) = history.parts().account() else {
        return family;
    };
    for part in &account.parts {
        family.push(&label("part", part.id), part.bytes.ok().map(|bytes| bytes as f64));
    }
    family.push(
        &label("part", "unattributed"),
        account.rest.ok().map(|bytes| bytes as f64),
    );
    family
}

/// Makes the families of the verdicts on the parts of the RAM that may leak, mostly the kernel's own memory.
fn judged_parts(history: &History) -> [Family; 2] {
    let mut leaking = Family::gauge(
        "zmtop_account_leaking",
        "1 where a part of the RAM that the kernel cannot take back leaks, else 0; absent while that is not known.",
    );
    let mut slope = Family::gauge(
        "zmtop_account_slope_bytes_per_second",
        "How fast the lowest values of a part of the RAM move.",
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

/// Makes the families of compressed memory.
fn pools(snapshot: &Snapshot) -> [Family; 2] {
    let mut stored = Family::gauge(
        "zmtop_compressed_stored_bytes",
        "Swapped-out memory that zswap or a zram device keeps, uncompressed.",
    );
    let mut in_ram = Family::gauge("zmtop_compressed_ram_bytes", "RAM that zswap or a zram device takes.");
    for pool in compressed(&snapshot.system, &snapshot.accounting) {
        let labels = label("pool", &pool.name);
        stored.push(&labels, pool.stored.ok().map(|bytes| bytes as f64));
        in_ram.push(&labels, pool.in_ram.ok().map(|bytes| bytes as f64));
    }
    [stored, in_ram]
}

/// Makes the families of zmtop itself: its cost since it started, and the age of its figures. `now` is the monotonic clock.
pub(super) fn own(snapshot: &Snapshot, now: Duration, started: SystemTime) -> Vec<Family> {
    let coverage = Coverage::of(snapshot);
    let gauge = |metric, help: &str, value| Family::gauge(metric, help).with(&unlabelled(), value);
    let seconds = |time: Duration| time.as_secs_f64();
    vec![
        Family::counter("zmtop_cpu_seconds", "Processor time of zmtop itself.").counted(
            &unlabelled(),
            snapshot.own.ok().map(|own| seconds(own.cpu)),
            Some(started),
        ),
        gauge(
            "zmtop_resident_bytes",
            "Resident memory of zmtop itself.",
            snapshot.own.ok().map(|own| own.rss as f64),
        ),
        gauge(
            "zmtop_snapshot_age_seconds",
            "Time since the snapshot that this answer is of, when the answer was made: up to an interval before it is asked for.",
            Some(seconds(now.saturating_sub(snapshot.monotonic))),
        ),
        gauge(
            "zmtop_oldest_figure_seconds",
            "Time since the oldest read of a process's memory whose figures are in this answer.",
            coverage.oldest.map(seconds),
        ),
        gauge(
            "zmtop_processes_unreadable",
            "Processes whose memory could not be read; sums are too small by theirs.",
            Some((coverage.hidden - coverage.pending) as f64),
        ),
        gauge(
            "zmtop_reads_stuck",
            "Reads of /proc that have not returned in time.",
            Some(snapshot.sampling.stuck as f64),
        ),
        Family::gauge("zmtop_build_info", "1; the version is a label.")
            .with(&label("version", env!("CARGO_PKG_VERSION")), Some(1.0)),
    ]
}

/// Makes the family of pushes to a collector.
pub(super) fn pushes([taken, failed]: [u64; 2], started: SystemTime) -> Family {
    Family::counter(
        "zmtop_pushes",
        "Pushes to a collector of OpenTelemetry since zmtop started, each with its retries.",
    )
    .counted(&label("result", "taken"), Some(taken as f64), Some(started))
    .counted(&label("result", "failed"), Some(failed as f64), Some(started))
}

fn label(name: &'static str, value: &str) -> Labels {
    Arc::new([(name, value.into())])
}
