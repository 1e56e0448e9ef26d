//! Last words: the lines for the kernel's log, and how they get there.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, fcntl_setfl, mkfifoat};
use zmtop::alert::Alerts;
use zmtop::engine::{Incidents, LastWords, State};
use zmtop::history::History;
use zmtop::model::kill::OomKill;
use zmtop::model::{Missing, ProcessSample, Snapshot};
use zmtop::record::IncidentKind;
use zmtop::recorder::KernelLog;

use crate::support::fill;
use crate::support::kills::{killed, killed_by_daemon};
use crate::support::rows::{MIB, snapshot, with_pss};

fn holding(pid: u32, command: &str, mib: u64) -> ProcessSample {
    with_pss(pid, command, mib * MIB)
}

/// The machine has 1000 MiB and no swap. What its processes hold is not available.
fn machine(second: u64, rows: Vec<ProcessSample>, kills: &[OomKill]) -> Arc<Snapshot> {
    let used: u64 = rows.iter().map(|row| row.memory().unwrap().pss).sum();
    let mut snap = snapshot(Duration::from_secs(1000 + second), rows);
    let system = &mut snap.system;
    system.mem_total = Ok(1000 * MIB);
    system.mem_available = Ok((1000 * MIB).saturating_sub(used));
    (system.swap_total, system.swap_free) = (Ok(0), Ok(0));
    snap.oom_kills = kills.into();
    Arc::new(snap)
}

/// Returns the lines of each snapshot.
fn said(snapshots: impl IntoIterator<Item = Arc<Snapshot>>) -> Vec<(u64, String)> {
    let mut state = State::new(History::new(Duration::from_secs(10)), Alerts::default());
    let (mut incidents, mut words) = (Incidents::default(), LastWords::default());
    let mut said = Vec::new();
    for snapshot in snapshots {
        let second = snapshot.monotonic.as_secs() - 1000;
        let alerts = state.push(snapshot);
        let found = incidents.of(&state, &alerts);
        said.extend(words.of(&state, &found).into_iter().map(|line| (second, line)));
    }
    said
}

/// A program takes 2 MiB more each second of 450, and is then killed.
fn outgrown(name: &'static str) -> impl Iterator<Item = Arc<Snapshot>> {
    (0..450).map(move |second| {
        machine(
            second,
            vec![holding(7, name, 50 + 2 * second), holding(8, "idle", 40)],
            &[],
        )
    })
}

#[test]
fn a_danger_of_less_than_a_minute_is_one_line_with_who_how_much_and_how_fast() {
    let said = said(outgrown("/usr/bin/importer"));
    assert_eq!(said.len(), 1, "{said:?}");
    let (second, line) = &said[0];
    // 2 MiB a second use up the last of it in second 455.
    assert!((380..450).contains(second), "{said:?}");
    for part in [
        "memory is full in ",
        "7 importer has ",
        "M, +120M/min",
        "M of 1000M available",
        "swap 0 of 0 free",
    ] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_kill_is_a_line_although_a_danger_was_one() {
    let kill = killed(1450, 1, 7, "importer", 948, None);
    let after = machine(451, vec![holding(8, "idle", 40)], &[kill]);
    let said = said(outgrown("/usr/bin/importer").chain([after]));
    assert_eq!(said.len(), 2, "{said:?}");
    let (_, line) = &said[1];
    for part in [
        "killed 7 importer by the kernel: memory was full",
        "948M",
        "960M of 1000M available",
    ] {
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn incidents_of_cgroups_are_distinguished_from_those_of_the_machine() {
    let mut unknown = killed(1450, 1, 7, "importer", 948, None);
    unknown.victim = Err(Missing::Denied);
    let kills = [
        (killed(1450, 1, 7, "importer", 948, None), false),
        (killed(1450, 1, 7, "importer", 948, Some("/web")), true),
        (killed_by_daemon(1450, 7, "importer", 948, 0), true),
        (unknown, false),
    ];
    for (kill, of_cgroup) in kills {
        let mut state = State::new(History::new(Duration::from_secs(10)), Alerts::default());
        let mut incidents = Incidents::default();
        let mut found = Vec::new();
        let kill = [kill];
        let after = (451..470).map(|second| machine(second, vec![holding(8, "idle", 40)], &kill));
        for snapshot in outgrown("/usr/bin/importer").chain(after) {
            let alerts = state.push(snapshot);
            found.extend(incidents.of(&state, &alerts));
        }
        let of = |kind| {
            let incident = found.iter().find(|incident| incident.kind == kind);
            incident.unwrap_or_else(|| panic!("{kind:?} {found:?}")).is_of_cgroup
        };
        assert!(!of(IncidentKind::Danger), "{found:?}");
        assert_eq!(of(IncidentKind::Kill), of_cgroup, "{found:?}");
    }
}

#[test]
fn a_danger_is_minor_until_little_memory_is_left() {
    let found = |from: u64, to: u64, times: u64| {
        let mut state = State::new(History::new(Duration::from_secs(10)), Alerts::default());
        let mut incidents = Incidents::default();
        let mut found = Vec::new();
        for second in 0..times {
            let mib = from + (to - from) * second / times;
            let alerts = state.push(machine(second, vec![holding(7, "importer", mib)], &[]));
            found.extend(incidents.of(&state, &alerts));
        }
        let dangers = found.iter().filter(|incident| incident.kind == IncidentKind::Danger);
        dangers.map(|incident| incident.is_minor).collect::<Vec<_>>()
    };
    assert_eq!(found(100, 500, 40), [true]);
    assert_eq!(found(100, 900, 80), [true, false]);
    assert_eq!(found(800, 900, 40), [false]);
}

#[test]
fn a_stall_is_minor_only_while_much_ram_is_available() {
    for (available, swap_free, minor) in [(500, 0, true), (100, 0, false), (100, 5000, false)] {
        let mut state = State::new(History::new(Duration::from_secs(10)), Alerts::default());
        let mut incidents = Incidents::default();
        let mut found = Vec::new();
        for second in 0..30_u64 {
            let mut snap = (*machine(second, vec![holding(8, "idle", 40)], &[])).clone();
            let system = &mut snap.system;
            system.mem_available = Ok(available * MIB);
            (system.swap_total, system.swap_free) = (Ok(6000 * MIB), Ok(swap_free * MIB));
            system.stalled = Ok([Duration::from_millis(second * 500); 2]);
            system.pgmajfault = Ok(second * 1000);
            (system.steal_kswapd, system.steal_direct) = (Ok(second * 1000 * 4096), Ok(0));
            let alerts = state.push(Arc::new(snap));
            found.extend(incidents.of(&state, &alerts));
        }
        let stalls = found.iter().filter(|incident| incident.kind == IncidentKind::Stall);
        let stalls: Vec<_> = stalls.map(|incident| incident.is_minor).collect();
        assert_eq!(stalls, [minor], "{available} {swap_free}");
    }
}

#[test]
fn a_hostile_name_is_escaped_and_the_line_is_bounded() {
    let name: &'static str = Box::leak(format!("/x/a\n<0>\u{1b}[2J{}", "ü".repeat(400)).into_boxed_str());
    let said = said(outgrown(name));
    assert_eq!(said.len(), 1);
    let line = &said[0].1;
    assert!(line.len() <= LastWords::MOST, "{} bytes", line.len());
    assert!(!line.chars().any(char::is_control), "{line:?}");
}

#[test]
fn many_kills_are_few_lines() {
    // From second 5 on, one every two seconds.
    let killed_at = |pid: u32| 5 + 2 * u64::from(pid - 10);
    let snapshots = (0..90).map(|second| {
        let (dead, alive): (Vec<u32>, Vec<u32>) = (10..50).partition(|pid| killed_at(*pid) <= second);
        let rows = alive.into_iter().map(|pid| holding(pid, "worker", 10)).collect();
        let kills = dead.into_iter();
        let kills = kills.map(|pid| killed(1000 + killed_at(pid), pid.into(), pid, "worker", 10, None));
        machine(second, rows, &kills.collect::<Vec<_>>())
    });
    let said = said(snapshots);
    assert_eq!(said.len(), 12, "{said:?}");
    assert!(said[6].1.contains("; 24 more kills before"), "{said:?}");
}

#[test]
fn many_kills_at_the_limits_of_cgroups_hide_no_danger_to_the_machine() {
    // One each second, in turn of one user and of two.
    for (owners, most) in [(1, 2), (2, 3)] {
        let kill = |second: u64| {
            let user = 1000 + second % owners;
            let limit = format!("/user.slice/user-{user}.slice/run-{second}.scope");
            killed(
                1000 + second,
                second,
                10_000 + second as u32,
                "worker",
                10,
                Some(&limit),
            )
        };
        let snapshots = (0..450).map(|second| {
            let kills: Vec<_> = (370..=second).map(kill).collect();
            let rows = vec![holding(7, "/usr/bin/importer", 50 + 2 * second), holding(8, "idle", 40)];
            machine(second, rows, &kills)
        });
        let said = said(snapshots);
        let of_machine = said.iter().filter(|(_, line)| line.starts_with("memory is full in "));
        assert_eq!(of_machine.count(), 1, "{said:?}");
        let first = said[0].0;
        let of_kills = said
            .iter()
            .filter(|(second, line)| line.starts_with("killed ") && *second < first + 60);
        assert_eq!(of_kills.count(), most, "{said:?}");
    }
}

#[test]
fn each_line_is_one_write_with_a_priority() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
    let mut reader = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(&path)
        .unwrap();
    let log = KernelLog::open(&path).unwrap();
    log.write("the first".into());
    log.write("the second".into());
    drop(log);
    // The thread that writes may not be done: wait for it to close the file.
    fcntl_setfl(&reader, OFlags::empty()).unwrap();
    let mut all = String::new();
    reader.read_to_string(&mut all).unwrap();
    let pid = std::process::id();
    assert_eq!(
        all,
        format!("<2>zmtop[{pid}]: the first\n<2>zmtop[{pid}]: the second\n")
    );
}

#[test]
fn a_log_that_takes_nothing_delays_nobody_and_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kmsg");
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
    let reader = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(&path)
        .unwrap();
    let log = KernelLog::open(&path).unwrap();
    fill(&path);
    // More than may wait. No call waits for the log.
    (0..20).for_each(|_| log.write("nobody reads it".into()));
    let fault = log.end();
    assert!(
        matches!(
            fault.as_deref(),
            Some("Resource temporarily unavailable" | "the consoles are too slow")
        ),
        "{fault:?}"
    );
    let log = KernelLog::open(&path).unwrap();
    log.write("nobody reads it".into());
    assert_eq!(log.end().as_deref(), Some("Resource temporarily unavailable"));
    let log = KernelLog::open(&path).unwrap();
    drop(reader);
    log.write("nobody can read it".into());
    let fault = log.end();
    assert_eq!(fault.as_deref(), Some("Broken pipe"));
    // Neither is a file created nor an old one changed.
    let absent = dir.path().join("absent");
    assert!(KernelLog::open(&absent).is_err());
    assert!(!absent.exists());
    let plain = dir.path().join("plain");
    fs::write(&plain, "kept").unwrap();
    assert!(KernelLog::open(&plain).is_err());
    assert_eq!(fs::read(&plain).unwrap(), b"kept");
}
