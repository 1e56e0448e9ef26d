//! Used and available memory, on machines whose kernel counts less as available than it gets back.

use std::sync::Arc;
use std::time::Duration;

use zmtop::account::headroom::machine_headroom;
use zmtop::account::{self, overview};
use zmtop::columns::Value;
use zmtop::columns::system::{self, SystemRow};
use zmtop::history::History;
use zmtop::model::{Missing, SystemSample};
use zmtop::proc::system::{Machine, SystemFile};

use super::account::{MEMINFO, inputs, part};
use super::{KB, userland};
use crate::support::rows::snapshot;

/// The machine with this in its `arcstats`, and these lines in its meminfo.
fn with_arc(arcstats: &str, lines: &str) -> SystemSample {
    let mut machine = Machine {
        sample: SystemSample::missing(Missing::Unsupported),
        ..Machine::default()
    };
    SystemFile::Meminfo.parse(Ok(format!("{MEMINFO}{lines}").as_bytes()))(&mut machine);
    if !arcstats.is_empty() {
        SystemFile::Arcstats.parse(Ok(arcstats.as_bytes()))(&mut machine);
    }
    machine.sample
}

/// Lines of `arcstats`, in KiB.
fn arcstats(size: u64, c_min: u64) -> String {
    format!(
        "13 1 0x01 147 39984 3958000000 94608000000\nname                            type data\n\
         hits                            4    123\nc                               4    {c}\n\
         c_min                           4    {}\nc_max                           4    {c}\n\
         size                            4    {}\nhdr_size                        4    10240\n\
         data_size                       4    {}\nmetadata_size                   4    10240\n",
        c_min * KB,
        size * KB,
        size.saturating_sub(20) * KB,
        c = size * KB,
    )
}

#[test]
fn what_is_used_leaves_out_what_the_kernel_gets_back() {
    let used = |s: &SystemSample| s.used().map(|n| n / KB);
    // MemTotal − MemAvailable, where there is neither.
    let plain = with_arc("", "");
    assert_eq!((used(&plain), plain.arc()), (Ok(400_000), Err(Missing::Unsupported)));
    assert_eq!(overview::available_formula(&plain), "MemAvailable");
    // Graphics pages that the driver gives back.
    let gpu = with_arc("", "GPUActive: 1000 kB\nGPUReclaim: 250000 kB\n");
    assert_eq!((used(&gpu), gpu.available()), (Ok(150_000), Ok(850_000 * KB)));
    assert_eq!(overview::available_formula(&gpu), "MemAvailable + GPUReclaim");
    let account = account::account(&gpu, &inputs(), &userland(0, 0));
    assert_eq!(
        (part(&account, "gpu"), part(&account, "gpu_reclaim")),
        (Ok(251_000), Ok(250_000))
    );
    // The ZFS cache above its minimum.
    let zfs = with_arc(&arcstats(300_000, 40_000), "");
    assert_eq!((used(&zfs), zfs.available()), (Ok(140_000), Ok(860_000 * KB)));
    assert_eq!(overview::available_formula(&zfs), "MemAvailable + ARC size − c_min");
    let (with, without) = [&zfs, &plain]
        .map(|s| account::account(s, &inputs(), &userland(0, 0)))
        .into();
    // Its headers are in slab.
    assert_eq!(
        (part(&with, "arc"), part(&with, "arc_reclaimable")),
        (Ok(299_990), Ok(260_000))
    );
    assert_eq!(without.rest.unwrap() - with.rest.unwrap(), 299_990 * 1024);
    // Both.
    let both = with_arc(&arcstats(300_000, 40_000), "GPUActive: 0 kB\nGPUReclaim: 50000 kB\n");
    assert_eq!(used(&both), Ok(90_000));
    assert_eq!(overview::ram(&both).used, both.used());
    // Never more than there is.
    let all = with_arc(&arcstats(900_000, 0), "");
    assert_eq!((used(&all), all.available()), (Ok(0), Ok(1_000_000 * KB)));
}

#[test]
fn everything_that_tells_what_is_left_counts_alike() {
    let mut snap = snapshot(Duration::from_secs(1), Vec::new());
    snap.system = with_arc(&arcstats(300_000, 40_000), "GPUActive: 0 kB\nGPUReclaim: 50000 kB\n");
    // MemAvailable 600,000 KiB + 50,000 + 260,000; swap 400,000 free, of which zswap, which has 2,000 in RAM, may take a
    // fifth of the RAM; 5,000 are in RAM and in swap.
    let (available, used) = (910_000 * KB, 90_000 * KB);
    assert_eq!(
        machine_headroom(&snap),
        Some(available + (400_000 - 198_000 + 5_000) * KB)
    );
    let mut history = History::new(Duration::from_secs(60));
    history.push(&Arc::new(snap.clone()));
    assert_eq!(history.system().mem().last(), Some(used));
    let row = SystemRow {
        snapshot: &snap,
        history: &history,
    };
    let value = |id: &str| {
        let column = system::COLUMNS.iter().find(|column| column.id == id).unwrap();
        match (column.value)(&row) {
            Value::Bytes(bytes) => bytes,
            Value::Share(share) => (share * 1000.0).round() as u64,
            other => panic!("{other:?}"),
        }
    };
    let values = ["mem_available", "mem_used", "mem_percent"].map(value);
    assert_eq!(values, [available, used, 90]);
}

#[test]
fn an_absurd_arc_is_not_credited() {
    let plain = with_arc("", "").used();
    let good = arcstats(300_000, 40_000);
    let negative = good.replace(
        "size                            4    3",
        "size                            4    -3",
    );
    let cut = &good[..good.find("size     ").unwrap() + 40];
    for (text, why) in [
        // More than there is RAM.
        (arcstats(2_000_000, 40_000), Missing::Malformed),
        ("garbage\n\u{1b}[31m\n".into(), Missing::Malformed),
        (negative, Missing::Malformed),
        ("\n".into(), Missing::Malformed),
        // The last digits of its size are missing.
        (cut.into(), Missing::Malformed),
    ] {
        let s = with_arc(&text, "");
        assert_eq!((s.used(), s.arc()), (plain, Err(why)), "{text}");
        let account = account::account(&s, &inputs(), &userland(0, 0));
        assert_eq!(part(&account, "arc"), Err(why));
    }
    // It is below its minimum, as after boot: it is there, and gives nothing back.
    let small = with_arc(&arcstats(30_000, 40_000), "");
    assert_eq!((small.used(), small.arc().map(|n| n / KB)), (plain, Ok(29_990)));
    assert_eq!(small.arc_reclaimable(), Ok(0));
    // Without a minimum it is not known what it gives back.
    let minimum = good.lines().find(|line| line.starts_with("c_min")).unwrap();
    let endless = with_arc(&good.replace(&format!("{minimum}\n"), ""), "");
    assert_eq!((endless.used(), endless.arc().is_ok()), (plain, true));
}
