//! `zmtop why`: the event that is explained, what is said to have grown, and the text.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;
use zmtop::config::Settings;
use zmtop::history::HistoryConfig;
use zmtop::model::cgroup::Count;
use zmtop::model::kernel::{KernelTables, SlabCache, SlabCaches, SlabFigures};
use zmtop::model::kill::{OomKill, RssParts};
use zmtop::model::snapshot::JvmHeap;
use zmtop::model::taker::{HeapUse, KeptPath, MappingUse, Taker};
use zmtop::model::{CgroupFigures, Exit, Exits, Identity, Missing, ProcessSample, Snapshot};
use zmtop::output::why::WhyReport;
use zmtop::output::{Format, OutputStyle, Report, write};
use zmtop::record::{Incident, IncidentKind, Record};
use zmtop::recorder::{Folder, Options, Place, Writer};
use zmtop::why::explanation::Role;
use zmtop::why::{EventKind, Explanation, Why};

use crate::support::kills::{killed, killed_by_daemon};
use crate::support::pty::ZMTOP;
use crate::support::rows::{MIB, in_cgroup, snapshot, with_facts, with_file, with_pss};

/// A process in a cgroup, with so many MiB. It is older than any recording.
fn holding(pid: u32, command: &str, path: &str, mib: u64) -> ProcessSample {
    in_cgroup(with_pss(pid, command, mib * MIB), path)
}

/// The same, started in that second.
fn started(second: u64, sample: ProcessSample) -> ProcessSample {
    let mut sample = sample;
    sample.id.starttime = (BOOTED + second) * 100;
    sample
}

/// The uptime in second 0.
const BOOTED: u64 = 100_000;

/// A machine of 1000 MiB without swap; what its processes have is not available. `/shop` may have 150 MiB.
fn machine(second: u64, rows: Vec<ProcessSample>) -> Snapshot {
    let used = |path: &str| {
        let within = rows.iter().filter(|row| {
            row.facts
                .cgroup
                .as_deref()
                .is_ok_and(|own| own.starts_with(path.as_bytes()))
        });
        within.filter_map(|row| Some(row.memory().ok()?.pss)).sum::<u64>()
    };
    let figures = CgroupFigures {
        current: Ok(used("/shop")),
        limit: Ok(Some(150 * MIB)),
        reclaimable: Ok(0),
        swap: Ok(0),
        ..CgroupFigures::missing(Missing::Unsupported)
    };
    let all = used("/");
    let mut snap = snapshot(Duration::from_secs(second), rows);
    snap.cgroups = Arc::new(BTreeMap::from([(Arc::from(&b"/shop"[..]), figures)]));
    let system = &mut snap.system;
    system.mem_total = Ok(1000 * MIB);
    system.mem_available = Ok((1000 * MIB).saturating_sub(all));
    (system.swap_total, system.swap_free) = (Ok(0), Ok(0));
    system.uptime = Ok((BOOTED + second) as f64);
    snap
}

fn explain(snapshots: impl IntoIterator<Item = Snapshot>, at: Option<u64>) -> Option<Explanation> {
    let config = HistoryConfig::with_window(Duration::from_secs(10));
    let mut why = Why::new(
        config,
        at.map(|second| SystemTime::UNIX_EPOCH + Duration::from_secs(second)),
    );
    for snapshot in snapshots {
        why.push(&Arc::new(snapshot));
    }
    why.finish()
}

fn report(explanation: &Explanation) -> WhyReport<'_> {
    WhyReport {
        explanation,
        zone: TimeZone::UTC,
        style: OutputStyle::default(),
    }
}

fn written(explanation: &Explanation, format: Format) -> String {
    let mut out = Vec::new();
    write(&mut out, &report(explanation) as &dyn Report, format).unwrap();
    String::from_utf8(out).unwrap()
}

/// The text as one line, so that it does not matter where it wraps.
fn text(explanation: &Explanation) -> String {
    written(explanation, Format::Table)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Two minutes of these processes, by the second. In second 120, process 7 is killed.
fn with_kill(rows: impl Fn(u64) -> Vec<ProcessSample>, kill: &OomKill) -> Vec<Snapshot> {
    let kills = |second| if second < 120 { Vec::new() } else { vec![kill.clone()] };
    let of = |second| {
        let mut rows = rows(second);
        rows.retain(|row| row.id.pid != 7 || second < 120);
        let mut snap = machine(second, rows);
        snap.oom_kills = kills(second).into();
        snap
    };
    (0..140).map(of).collect()
}

/// From second 60 on, 3 MiB a second.
fn later(second: u64) -> u64 {
    second.clamp(60, 120).saturating_sub(60) * 2
}

fn limit() -> Vec<Snapshot> {
    let rows = |second| {
        let mut rows = vec![
            holding(7, "/srv/importer --all", "/shop/web", 20 + later(second)),
            holding(8, "calm", "/shop", 9),
            holding(9, "far", "/other", 50 + 4 * later(second)),
        ];
        rows.retain(|row| row.id.pid != 9 || second > 1);
        rows
    };
    with_kill(rows, &killed(120, 1, 7, "importer", 138, Some("/shop")))
}

fn bystander() -> Vec<Snapshot> {
    // The victim was read once, as it started.
    let rows = |second: u64| {
        vec![
            holding(7, "database", "/shop", if second < 50 { 10 } else { 90 }),
            started(
                80,
                holding(8, "crawler --deep", "/shop/jobs", second.saturating_sub(79)),
            ),
        ]
    };
    let rows = move |second| {
        let mut rows = rows(second);
        rows.retain(|row| row.id.pid != 8 || second >= 80);
        rows
    };
    with_kill(rows, &killed(120, 1, 7, "database", 90, Some("/shop")))
}

#[test]
fn a_victim_that_grew_is_named_with_its_growth_and_its_limit() {
    let found = explain(limit(), None).unwrap();
    assert_eq!(
        (found.event.kind, found.victims[0].role),
        (EventKind::Kill, Role::Grower)
    );
    let text = text(&found);
    for part in [
        "1970-01-01 00:02:00, db1: OOM kill The kernel killed importer --all (pid 7): /shop reached its limit of 150M. The \
         victim had 138M in RAM.",
        "The victim itself had grown: from 20.0M to 138M in 5",
        ", from 00:01:0",
        "in cgroup /shop/web.",
        "not short of memory: 331M of 1000M were available. It has no swap.",
        "7 138M +118M importer --all (killed) 8 9.0M 0 calm",
        "/shop OF 150M at 00:01:59 331M none - 147M 1 min before 921M none - 29.0M 2 min before",
        "the snapshots of this boot begin at 00:00:00.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("far"), "{text}");
}

fn mapping(name: &[u8], mib: u64) -> MappingUse {
    MappingUse {
        name: name.into(),
        bytes: mib * MIB,
    }
}

/// The limit's victim as it was read 40 s before, by a look that ten snapshots have, with the code that keeps its memory.
fn taken() -> Vec<Snapshot> {
    let mut all = limit();
    let id = all[0].row(all[0].rows()[0].id).unwrap().id;
    let second = |second| SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    let taker = Taker {
        id,
        comm: (*b"importer").into(),
        time: second(80),
        memory: Ok(60 * MIB),
        heap: Ok(HeapUse {
            in_use: 57 * MIB,
            free: 5 * MIB,
            kept: 2 * MIB,
        }),
        mappings: Ok(vec![mapping(b"[heap]", 58), mapping(b"[anon]", 1)]),
        kept_by: Some(KeptPath {
            functions: vec!["remember_session".into(), "handle_request".into()],
            runtime: None,
            bytes: 47 * MIB,
            total: 50 * MIB,
            span: Duration::from_secs(30),
        }),
    };
    // Not of the cgroup, and long before.
    let far = Taker {
        id: Identity { pid: 9, ..id },
        comm: (*b"far").into(),
        ..taker.clone()
    };
    for snap in &mut all[81..91] {
        snap.takers = Arc::from([far.clone(), taker.clone()]);
    }
    all
}

#[test]
fn what_took_the_memory_is_reported_as_it_was_read_before() {
    let found = explain(taken(), None).unwrap();
    let said = text(&found);
    let line = "At 00:01:20, 40 s before, importer (pid 7) had 57.0M of its 60.0M in use inside malloc, and 2.0M free there; kept by \
                remember_session ← handle_request, 94% of 50.0M in 30 s; most of it lies in [heap] (58.0M).";
    assert!(said.contains(line), "{said}");
    assert!(!said.contains("far"), "{said}");
    let document: serde_json::Value = serde_json::from_str(&written(&found, Format::Json)).unwrap();
    let taker = &document["takers"][0];
    assert_eq!(
        (taker["pid"].as_u64(), taker["before_s"].as_f64()),
        (Some(7), Some(40.0))
    );
    assert_eq!(taker["kept_by"]["functions"][1], "handle_request");
    // After the kill it is no longer the cause of what happens.
    let mut late = taken();
    for snap in &mut late {
        snap.takers = snap
            .takers
            .iter()
            .cloned()
            .map(|taker| Taker {
                time: taker.time + Duration::from_secs(60),
                ..taker
            })
            .collect();
    }
    assert_eq!(explain(late, None).unwrap().takers, []);
}

#[test]
fn a_bystander_is_named_as_such() {
    let found = explain(bystander(), None).unwrap();
    assert_eq!(found.victims[0].role, Role::Bystander);
    let text = text(&found);
    for part in [
        "killed database (pid 7): /shop reached its limit of 150M",
        "The victim was a bystander: it had hardly grown for",
        "crawler --deep (pid 8): to 40.0M within 39 s of its start at 00:01:20",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// A snapshot each five seconds: see [`with_kill`].
fn seldom(rows: impl Fn(u64) -> Vec<ProcessSample>, kill: &OomKill) -> Explanation {
    let all = with_kill(rows, kill).into_iter().step_by(5);
    let all = all.map(|snap| Snapshot {
        interval: Duration::from_secs(5),
        ..snap
    });
    explain(all, None).unwrap()
}

#[test]
fn what_a_victim_took_after_the_last_snapshot_is_its_growth() {
    // Beside a process that grew by 12 MiB. The parts of the victim's 140 MiB, and what is said.
    let own = "The victim itself had grown: from 20.0M to 140M within 5 s, from 00:01:55 on.";
    let bystander = "The victim was a bystander: it had not grown.";
    let parts = |anon, file, shmem| {
        Some(RssParts {
            anon: anon * MIB,
            file: file * MIB,
            shmem: shmem * MIB,
        })
    };
    for (parts, expected) in [
        (parts(140, 0, 0), own),
        (parts(20, 0, 120), own),
        (parts(20, 120, 0), bystander),
        (None, own),
    ] {
        let mut kill = killed(120, 1, 7, "node", 140, Some("/shop"));
        kill.victim.as_mut().unwrap().parts = parts;
        let rows = |second| {
            vec![
                holding(7, "node", "/shop", 20),
                holding(8, "logger", "/shop", 10 + second / 10),
            ]
        };
        let told = text(&seldom(rows, &kill));
        assert!(told.contains(expected), "{parts:?}: {told}");
    }
    // Growth that went on.
    let rows = |second| vec![holding(7, "node", "/shop", 20 + later(second))];
    let told = text(&seldom(rows, &killed(120, 1, 7, "node", 140, Some("/shop"))));
    let expected = "The victim itself had grown: from 20.0M to 140M in 56 s (129M/min), from 00:01:04 on";
    assert!(told.contains(expected), "{told}");
    // It grew beside the others of its program.
    let rows = |second| {
        [7, 20, 21, 22]
            .map(|pid| holding(pid, "node", "/shop", 5 + later(second) / 6))
            .into()
    };
    let told = text(&seldom(rows, &killed(120, 1, 7, "node", 44, Some("/shop"))));
    let expected = "belonged to node (4 processes), which had grown as a whole: from 20.0M to 113M in";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn what_is_not_new_in_the_kernels_log_is_no_growth_of_the_victim() {
    // What the process had in the last minute, by the second, and the MiB of the log: anonymous and shared memory.
    type Case = (&'static str, fn(u64, ProcessSample) -> ProcessSample, [u64; 2]);
    let cases: [Case; 3] = [
        (
            "read back from swap",
            |_, mut row| {
                let memory = &mut row.walk.as_mut().unwrap().memory;
                (memory.swap, memory.swap_pss) = (100 * MIB, Ok(100 * MIB));
                row
            },
            [110, 0],
        ),
        (
            "half of it was freed before the last snapshot",
            |second, row| {
                let freed = if second < 115 { 0 } else { 60 };
                holding(row.id.pid, "node", "/shop", 120 - freed)
            },
            [120, 0],
        ),
        (
            "of others that share it, too",
            |_, mut row| {
                let memory = &mut row.walk.as_mut().unwrap().memory;
                (memory.rss, memory.pss_shmem, memory.pss_anon) = (110 * MIB, Ok(3 * MIB), Ok(17 * MIB));
                row
            },
            [17, 130],
        ),
    ];
    for (case, had, [anon, shmem]) in cases {
        let mut kill = killed(120, 1, 7, "node", anon + shmem, Some("/shop"));
        kill.victim.as_mut().unwrap().parts = Some(RssParts {
            anon: anon * MIB,
            shmem: shmem * MIB,
            ..RssParts::default()
        });
        let rows = |second| {
            vec![
                had(second, holding(7, "node", "/shop", 20)),
                holding(8, "logger", "/shop", 10 + second / 10),
            ]
        };
        let found = seldom(rows, &kill);
        let told = text(&found);
        let expected = "The victim was a bystander: it had not grown.";
        assert!(told.contains(expected), "{case}: {told}");
    }
}

#[test]
fn a_victim_that_took_most_after_the_last_snapshot_explains_the_growth_before() {
    let rows = |second| {
        vec![
            holding(7, "node", "/shop", 20 + later(second) / 6),
            holding(8, "calm", "/shop", 9),
        ]
    };
    let found = seldom(rows, &killed(120, 1, 7, "node", 140, Some("/shop")));
    let told = text(&found);
    assert_eq!(found.victims[0].role, Role::Grower, "{told}");
    assert!(!told.contains("explains only"), "{told}");
}

#[test]
fn a_leak_that_displaces_its_own_files_is_named() {
    // The kernel reclaims them as the leak takes their place.
    for limit in [Some("/shop"), None] {
        let rows = |second| {
            let files = (120 - later(second)) * MIB;
            vec![
                with_file(holding(7, "index", "/shop", 20 + later(second)), files),
                holding(8, "logger", "/shop", 1 + second / 15),
            ]
        };
        let mut snapshots = with_kill(rows, &killed(120, 1, 7, "index", 138, limit));
        for (second, snapshot) in snapshots.iter_mut().enumerate() {
            let mut figures = snapshot.cgroups[&b"/shop"[..]];
            (figures.shmem, figures.file_mapped) = (Ok(0), Ok(0));
            figures.anon = Ok((25 + later(second as u64)) * MIB);
            snapshot.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
        }
        let told = text(&explain(snapshots, None).unwrap());
        let expected = "The victim itself had grown: from 20.0M to 138M in 5";
        assert!(told.contains(expected), "{limit:?}: {told}");
    }
}

#[test]
fn processes_that_ended_do_not_explain_growth_of_a_cgroup() {
    // Each took 95 MiB, and ended before the cgroup was full.
    let rows = |second: u64| {
        let mut rows = vec![holding(7, "database", "/shop", 30)];
        if second < 100 {
            rows.push(holding(20 + second as u32 / 20, "compiler", "/shop", 5 * (second % 20)));
        }
        rows
    };
    let mut kill = killed(120, 1, 7, "database", 30, Some("/shop"));
    kill.victim.as_mut().unwrap().limit.as_mut().unwrap().usage = Some(90 * MIB);
    let mut snapshots = with_kill(rows, &kill);
    for (second, snapshot) in snapshots.iter_mut().enumerate() {
        let mut figures = snapshot.cgroups[&b"/shop"[..]];
        (figures.shmem, figures.file_mapped) = (Ok(0), Ok(0));
        // What it is charged for may be in pages that the database shares since a fork.
        figures.anon = Ok((30 + later(second as u64) / 2) * MIB);
        snapshot.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
        for row in snapshot
            .processes
            .as_mut()
            .unwrap()
            .iter_mut()
            .filter(|row| row.id.pid == 7)
        {
            row.walk.as_mut().unwrap().memory.shared_dirty = 200 * MIB;
        }
    }
    let told = text(&explain(snapshots, None).unwrap());
    let expected = "memory of no known process: from 30.0M to 89.0M in ";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn java_heaps_that_grow_together_are_named() {
    // Each heap grows by less than is named, and nothing was collected yet.
    let rows = |second| {
        let heaps = (20..32).map(|pid| holding(pid, "java", "/", 20 + later(second) / 8));
        heaps.chain([holding(7, "database", "/", 150)]).collect()
    };
    let mut snapshots = with_kill(rows, &killed(120, 1, 7, "database", 150, None));
    for snapshot in &mut snapshots {
        let heap = JvmHeap {
            used: 10 * MIB,
            capacity: 100 * MIB,
            old: Ok(5 * MIB),
            live: Err(Missing::Unsupported),
            old_max: Ok(100 * MIB),
            collections: 1,
            old_collections: 1,
        };
        let ids = snapshot.rows().iter().map(|row| row.id).filter(|id| id.pid >= 20);
        snapshot.jvms = Arc::new(ids.map(|id| (id, Ok(heap))).collect());
    }
    let told = text(&explain(snapshots, None).unwrap());
    let expected = "What had grown was java (12 processes): from 240M to 408M in ";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_victim_that_no_snapshot_has_may_have_taken_all_of_its_memory() {
    let rows = |second| vec![holding(8, "logger", "/shop", 10 + second / 10)];
    let kill = killed(120, 1, 7, "node", 140, Some("/shop"));
    let told = text(&seldom(rows, &kill));
    let expected =
        "No snapshot has the victim: all of its 140M may be new, taken within 5 s. What had grown was logger";
    assert!(told.contains(expected), "{told}");
    let told = text(&seldom(|_| vec![holding(8, "calm", "/shop", 10)], &kill));
    let expected = "taken within 5 s. Nothing that was recorded had grown much.";
    assert!(told.contains(expected), "{told}");
    // It was seen, but not read.
    let rows = |second: u64| {
        let mut rows = rows(second);
        if second == 115 {
            rows.push(started(113, holding(7, "node", "/shop", 0)));
            rows[1].walk = Err(Missing::Pending);
        }
        rows
    };
    let told = text(&seldom(rows, &kill));
    let expected = "The victim itself had grown: to 140M within 7 s of its start at 00:01:53";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn shared_memory_that_no_process_maps_is_named_instead_of_the_victim() {
    let rows = |second| vec![holding(7, "database", "/shop", 60 + later(second) / 6)];
    let mut snapshots = with_kill(rows, &killed(120, 1, 7, "database", 80, Some("/shop")));
    for (second, snapshot) in snapshots.iter_mut().enumerate() {
        let mut figures = snapshot.cgroups[&b"/shop"[..]];
        (figures.shmem, figures.file_mapped) = (Ok((1 + later(second as u64) / 2) * MIB), Ok(MIB));
        snapshot.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
    }
    let found = explain(snapshots, None).unwrap();
    assert_eq!(found.victims[0].role, Role::Unknown);
    let text = text(&found);
    for part in [
        "What had grown was shared memory and tmpfs: from 1.0M to 60.0M in ",
        "The victim itself had grown by 19.0M in ",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn memory_of_a_process_that_left_the_cgroup_is_named_instead_of_the_victim() {
    let rows = |second| {
        vec![
            holding(7, "database", "/shop", 60 + later(second) / 6),
            holding(8, "mover", "/", later(second) / 2),
        ]
    };
    let mut snapshots = with_kill(rows, &killed(120, 1, 7, "database", 80, Some("/shop")));
    for (second, snapshot) in snapshots.iter_mut().enumerate() {
        let mut figures = snapshot.cgroups[&b"/shop"[..]];
        let second = later(second as u64);
        (figures.shmem, figures.file_mapped) = (Ok(0), Ok(0));
        figures.anon = Ok((60 + second / 6 + second / 2) * MIB);
        snapshot.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
    }
    let found = explain(snapshots, None).unwrap();
    assert_eq!(found.victims[0].role, Role::Unknown);
    let text = text(&found);
    let part = "What had grown was memory of processes outside of it: from ";
    assert!(text.contains(part), "{part}\n{text}");
}

#[test]
fn a_program_that_fills_a_cgroup_is_named_if_it_also_runs_elsewhere() {
    let rows = |second| {
        let small = |pid| {
            holding(
                pid,
                "logger",
                if pid == 20 { "/" } else { "/shop" },
                1 + later(second) / 20,
            )
        };
        (20..31)
            .map(small)
            .chain([holding(7, "database", "/shop", 60 + later(second) / 6)])
            .collect()
    };
    let found = explain(with_kill(rows, &killed(120, 1, 7, "database", 80, Some("/shop"))), None).unwrap();
    assert_eq!(found.victims[0].role, Role::Bystander);
    let text = text(&found);
    let part = "What had grown was logger (10 processes): from 10.0M to 60.0M in ";
    assert!(text.contains(part), "{part}\n{text}");
}

#[test]
fn what_the_named_growth_does_not_explain_in_a_cgroup_is_said() {
    // It grew minutes ago, and something else fills the cgroup.
    let rows = |second: u64| vec![holding(7, "database", "/shop", second.min(30))];
    let mut snapshots = with_kill(rows, &killed(120, 1, 7, "database", 30, Some("/shop")));
    for (second, snapshot) in snapshots.iter_mut().enumerate() {
        let mut figures = snapshot.cgroups[&b"/shop"[..]];
        figures.current = Ok((30 + later(second as u64)) * MIB);
        snapshot.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
    }
    let found = explain(snapshots, None).unwrap();
    assert_eq!(found.victims[0].role, Role::Unknown);
    let text = text(&found);
    let part = "/shop grew by 118M. The growth named above explains only 0 of this.";
    assert!(text.contains(part), "{part}\n{text}");
}

#[test]
fn what_a_cgroup_took_after_the_last_snapshot_is_named_instead_of_slow_growth() {
    // By the log, it used 150 MiB at the kill.
    let rows = |second| {
        vec![
            holding(7, "database", "/shop", 40),
            holding(8, "backup", "/shop", 20 + later(second) / 4),
        ]
    };
    let mut snapshots = with_kill(rows, &killed(120, 1, 7, "database", 40, Some("/shop")));
    for (second, snapshot) in snapshots.iter_mut().enumerate() {
        let mut figures = snapshot.cgroups[&b"/shop"[..]];
        let anon = 60 + later(second as u64) / 4;
        (figures.shmem, figures.file_mapped) = (Ok(0), Ok(0));
        (figures.anon, figures.current) = (Ok(anon * MIB), Ok((anon + 5) * MIB));
        figures.limit = Ok(Some(150 * MIB));
        snapshot.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
    }
    let told = text(&explain(snapshots, None).unwrap());
    let expected = "What had grown was memory of no known process: from 89.0M to 145M within 1 s";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn growth_of_a_cgroup_that_no_row_explains_is_named_instead_of_the_victim() {
    // What is charged may be in pages that the victim shares since a fork. It grows by a small part of that, or by a larger one.
    for (part, expected) in [
        (
            60,
            "What had grown was memory of no known process: from 60.0M to 119M in ",
        ),
        (6, "The victim itself had grown: from 30.0M to 49.0M in "),
    ] {
        let rows = |second| {
            let mut row = holding(7, "database", "/shop", 30 + later(second) / part);
            row.walk.as_mut().unwrap().memory.shared_dirty = 200 * MIB;
            vec![row]
        };
        let mut kill = killed(120, 1, 7, "database", 30, Some("/shop"));
        kill.victim.as_mut().unwrap().limit.as_mut().unwrap().usage = Some(120 * MIB);
        let mut snapshots = with_kill(rows, &kill);
        for (second, snapshot) in snapshots.iter_mut().enumerate() {
            let mut figures = snapshot.cgroups[&b"/shop"[..]];
            (figures.shmem, figures.file_mapped) = (Ok(0), Ok(0));
            figures.anon = Ok((60 + later(second as u64) / 2) * MIB);
            snapshot.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
        }
        let told = text(&explain(snapshots, None).unwrap());
        assert!(told.contains(expected) && !told.contains("bystander"), "{part}: {told}");
    }
}

#[test]
fn kills_in_a_cgroup_displace_no_kill_of_the_machine_within_a_day() {
    // The minutes of the kill of the machine and of the one in the cgroup, and the victim that is explained.
    let cases = [
        ([60, 1200], b"first"),
        ([60, 1560], b"other"),
        ([1200, 60], b"first"),
        ([60, 60], b"first"),
    ];
    for (minutes, expected) in cases {
        let [machine_at, cgroup_at] = minutes.map(|minute: u64| minute * 60);
        let mut kills = [
            killed(machine_at, 1, 7, "first", 80, None),
            killed(cgroup_at + 5, 2, 8, "other", 800, Some("/shop")),
        ];
        kills.sort_by_key(|kill| kill.time);
        let snapshots = (0..30 * 30).map(|step| {
            let second = step * 120;
            let mut snap = machine(second, vec![holding(9, "calm", "/shop", 9)]);
            let past = kills
                .iter()
                .filter(|kill| kill.monotonic().is_some_and(|at| at.as_secs() <= second));
            snap.oom_kills = past.cloned().collect();
            snap
        });
        let found = explain(snapshots, None).unwrap();
        assert_eq!(&*found.event.who, expected, "{minutes:?}");
        assert_eq!((found.victims.len(), found.others.len()), (1, 1), "{minutes:?}");
    }
}

#[test]
fn many_small_processes_and_one_that_lived_for_seconds_are_named() {
    let workers = |second| {
        let workers = (20..30).map(|pid| holding(pid, "worker", "/", 10 + later(second) / 2));
        workers.chain([holding(7, "database", "/", 200)]).collect()
    };
    let found = explain(with_kill(workers, &killed(120, 1, 7, "database", 200, None)), None).unwrap();
    let told = text(&found);
    assert!(
        told.contains("What had grown was worker (10 processes): from 100M to 690M in 5"),
        "{told}"
    );
    // Of 500 MiB within 4 seconds.
    let burst = |second| {
        let mut rows = vec![holding(3, "calm", "/", 300)];
        if second >= 116 {
            rows.push(started(116, holding(7, "burst", "/", (second - 115) * 150)));
        }
        rows
    };
    let found = explain(with_kill(burst, &killed(120, 1, 7, "burst", 600, None)), None).unwrap();
    let told = text(&found);
    assert!(
        told.contains("The victim itself had grown: to 600M within 3 s of its start at 00:01:56"),
        "{told}"
    );
    assert!(told.contains("had 100M of 1000M available"), "{told}");
}

/// Two minutes in which a process takes 5 MiB a second; a machine of that boot.
fn filling(boot: &str) -> impl Iterator<Item = Snapshot> {
    (0..185).map(move |second| {
        let mut snap = machine(
            second,
            vec![
                holding(5, "importer", "/", 20 + 5 * second),
                holding(6, "calm", "/", 30),
            ],
        );
        snap.boot_id = Ok(Arc::from(boot));
        snap
    })
}

fn calm(boot: &str, from: u64) -> impl Iterator<Item = Snapshot> {
    (from..from + 60).map(move |second| {
        let mut snap = machine(second, vec![holding(6, "calm", "/", 30)]);
        snap.boot_id = Ok(Arc::from(boot));
        snap
    })
}

fn reboot() -> impl Iterator<Item = Snapshot> {
    let after = calm("two", 0).map(|mut snap| {
        snap.time += Duration::from_secs(300);
        snap
    });
    filling("one").chain(after)
}

#[test]
fn a_reboot_is_explained_if_memory_was_short() {
    let found = explain(reboot(), None).unwrap();
    assert_eq!((found.event.kind, found.event.is_short), (EventKind::Reboot, true));
    let told = text(&found);
    for part in [
        "00:03:04, db1: reboot while memory was short",
        "rebooted between the snapshots of 00:03:04 and 00:05:00.",
        "What had grown was importer (pid 5): from",
        "had only 30.0M of 1000M available",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    // The first snapshot of a slow machine lacks the boot.
    let mut all: Vec<_> = reboot().collect();
    all[185].boot_id = Err(Missing::Pending);
    let found = explain(all, None).unwrap();
    assert_eq!((found.event.kind, found.event.is_short), (EventKind::Reboot, true));
    let found = explain(calm("one", 0).chain(calm("two", 60)), None).unwrap();
    assert_eq!((found.event.kind, found.event.is_short), (EventKind::Reboot, false));
    assert!(text(&found).contains("Memory was not short then, so it does not explain the reboot."));
}

#[test]
fn a_kill_before_a_reboot_is_what_happened_and_the_reboot_is_another_event() {
    let then = |before: Vec<Snapshot>| {
        let boot = |id: &'static str| {
            move |mut snap: Snapshot| {
                snap.boot_id = Ok(Arc::from(id));
                snap
            }
        };
        let after = calm("two", 0).map(|mut snap| {
            snap.time += Duration::from_secs(300);
            snap
        });
        before.into_iter().map(boot("one")).chain(after)
    };
    // The machine resets four seconds after the kernel killed a process of a cgroup, or of a machine that was full.
    let full = |second| {
        vec![
            holding(7, "importer", "/", 200 + 6 * second),
            holding(8, "calm", "/", 9),
        ]
    };
    let full = with_kill(full, &killed(120, 1, 7, "importer", 900, None));
    for (before, why) in [(limit(), "/shop reached its limit"), (full, "memory was full")] {
        let found = explain(then(before[..125].to_vec()), None).unwrap();
        assert_eq!(
            (found.event.kind, found.victims[0].role),
            (EventKind::Kill, Role::Grower)
        );
        let others: Vec<_> = found.others.iter().map(|event| (event.kind, event.is_short)).collect();
        assert_eq!(others, [(EventKind::Reboot, false)]);
        let told = text(&found);
        for part in [
            why,
            "Within seconds, the machine rebooted; the next snapshot is of 00:05:00.",
            "Other events: reboot at 00:02:04.",
        ] {
            assert!(told.contains(part), "{part}\n{told}");
        }
    }
    // If the kill did not free enough, the reboot is what happened, and the kill is a part of it.
    let still = |second: u64| {
        vec![
            holding(7, "importer", "/", 10),
            holding(8, "hog", "/", 300 + 5 * second.min(135)),
        ]
    };
    let still = with_kill(still, &killed(120, 1, 7, "importer", 10, None));
    let found = explain(then(still[..125].to_vec()), None).unwrap();
    assert_eq!(
        (found.event.kind, found.event.is_short, found.victims.len()),
        (EventKind::Reboot, true, 1)
    );
}

/// A kill because the machine's memory was full.
fn full_machine() -> Vec<Snapshot> {
    let rows = |second| vec![holding(7, "bulk", "/", 20 + 6 * later(second))];
    with_kill(rows, &killed(120, 1, 7, "bulk", 740, None))
}

/// These snapshots, as if the machine had booted so many seconds later with that id.
fn booted(id: &str, later: u64, snapshots: impl IntoIterator<Item = Snapshot>) -> Vec<Snapshot> {
    let moved = snapshots.into_iter().map(|mut snap| {
        snap.boot_id = Ok(Arc::from(id));
        snap.time += Duration::from_secs(later);
        for kill in Arc::make_mut(&mut snap.oom_kills) {
            kill.time += Duration::from_secs(later);
        }
        snap
    });
    moved.collect()
}

/// A black box of boots, each of which the recorder's end closed or, without warning, did not.
fn black_box(home: &Path, boots: &[(Vec<Snapshot>, bool)]) {
    let folder = home.join(".local/state/zmtop/blackbox");
    std::fs::create_dir_all(&folder).unwrap();
    let host = std::fs::read("/proc/sys/kernel/hostname").unwrap();
    for (boot, is_sudden) in boots {
        let place = Place::Folder(Folder::open(&folder).unwrap(), Settings::default().record.retention());
        let mut writer = Writer::new(Options::plain(place)).unwrap();
        for (at, snap) in boot.iter().enumerate() {
            let snap = Snapshot {
                host: Arc::from(host.trim_ascii()),
                ..snap.clone()
            };
            let kills = snap
                .oom_kills
                .iter()
                .skip(at.checked_sub(1).map_or(0, |at| boot[at].oom_kills.len()));
            let kills = kills.map(|kill| {
                let incident = Incident::new(kill.time, IncidentKind::Kill, "7 importer by the kernel".into());
                incident.of_cgroup(kill.is_of_cgroup())
            });
            writer.record(&Arc::new(snap.clone()), &kills.collect::<Vec<_>>());
        }
        if !is_sudden {
            writer.close();
        }
    }
}

/// Checks how the explanation of a black box begins, and a part of it. For each boot, its snapshots and whether it ended without warning.
fn assert_explained(case: &str, boots: &[(Vec<Snapshot>, bool)], title: &str, part: &str) {
    let home = tempfile::tempdir().unwrap();
    black_box(home.path(), boots);
    let done = Command::new(ZMTOP)
        .arg("why")
        .env_clear()
        .env("HOME", home.path())
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let told = String::from_utf8(done.stdout).unwrap();
    let first = told.lines().next().unwrap_or_default();
    assert!(
        first.ends_with(&format!(": {title}")),
        "{case}: {told}{:?}",
        done.stderr
    );
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(part), "{case}: {told}");
}

#[test]
fn the_last_harm_is_explained_and_a_reboot_in_order_is_none() {
    let hours = |n: u64| n * 3600;
    let calm = |id: &str, later| booted(id, later, calm(id, 0));
    let kill = || booted("one", 0, limit());
    let full = || booted("two", hours(3), filling("two"));
    let of_machine = || booted("one", 0, full_machine());
    let this = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let this = || calm(this.trim(), hours(9));
    // The boots, whether each ended without warning, and how the explanation begins.
    for (case, boots, title, part) in [
        (
            "a kill before a reboot",
            vec![(kill(), false), (this(), false)],
            "OOM kill",
            "Other events: reboot at",
        ),
        (
            "the same, days of reboots before",
            vec![
                (kill(), false),
                (calm("two", hours(4)), false),
                (calm("three", hours(6)), false),
                (this(), true),
            ],
            "OOM kill",
            "Other events: reboot",
        ),
        (
            "a kill before a power cut",
            vec![(kill(), false), (calm("two", hours(4)), true), (this(), true)],
            "reboot without warning",
            "Before that, zmtop was not asked to end",
        ),
        (
            "a power cut, and no zmtop since",
            vec![(kill(), false), (calm("two", hours(4)), true)],
            "reboot without warning",
            "The machine rebooted after the snapshot of",
        ),
        (
            "an orderly end, and no zmtop since",
            vec![(kill(), false), (calm("two", hours(4)), false)],
            "OOM kill",
            "importer",
        ),
        (
            "an orderly reboot of a full machine",
            vec![(kill(), false), (full(), false), (this(), true)],
            "reboot while memory was short",
            "What had grown was importer (pid 5)",
        ),
        (
            "a power cut seconds after a kill",
            vec![(of_machine()[..124].to_vec(), true), (this(), true)],
            "OOM kill",
            "Within seconds, the machine rebooted",
        ),
        (
            "a power cut 20 seconds after a kill",
            vec![(of_machine(), true), (this(), true)],
            "OOM kill",
            "Other events: reboot without warning at",
        ),
        ("only this boot", vec![(this(), true)], "nothing happened", ""),
        (
            "an orderly reboot",
            vec![(calm("two", hours(4)), false), (this(), true)],
            "reboot",
            "Memory was not short",
        ),
    ] {
        assert_explained(case, &boots, title, part);
    }
}

#[test]
fn a_kill_in_a_cgroup_hides_no_harm_of_the_machine() {
    let hours = |n: u64| n * 3600;
    let this = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let this = || booted(this.trim(), hours(9), calm(this.trim(), 0));
    let kill = || booted("one", 0, limit());
    let of_machine = || booted("one", 0, full_machine());
    for (case, boots, title, part) in [
        (
            "a kill of the machine, and one in a cgroup hours later",
            vec![
                (of_machine(), false),
                (booted("two", hours(4), limit()), false),
                (this(), false),
            ],
            "OOM kill",
            "killed bulk",
        ),
        (
            "a power cut seconds after a kill in a cgroup",
            vec![(kill()[..124].to_vec(), true), (this(), true)],
            "reboot without warning",
            "Other events: kill of importer",
        ),
    ] {
        assert_explained(case, &boots, title, part);
    }
}

#[test]
fn a_recording_that_ends_in_a_danger_says_so() {
    let found = explain(filling("one"), None).unwrap();
    assert_eq!(found.event.kind, EventKind::End);
    let told = text(&found);
    assert!(
        told.contains(
            "The recording ends at 00:03:04, while memory had 30.0M left and would have been full in 6 s at that rate."
        ),
        "{told}"
    );
    assert!(told.contains("What had grown was importer (pid 5)"), "{told}");
    // What passed is a danger.
    let found = explain(filling("one").chain(calm("one", 185)), None).unwrap();
    assert_eq!(found.event.kind, EventKind::Danger);
    assert!(text(&found).contains("The danger passed, and nothing was killed."));
}

#[test]
fn a_cgroup_near_its_limit_at_the_end_hides_no_kill_before() {
    // Once it has lost its victim, another process of /shop grows up to the limit.
    let after = (140..200).map(|second| machine(second, vec![holding(8, "calm", "/shop", 10 + 2 * (second - 140))]));
    let found = explain(limit().into_iter().chain(after), None).unwrap();
    assert_eq!(found.event.kind, EventKind::Kill);
    let others: Vec<_> = found.others.iter().map(|event| event.kind).collect();
    assert_eq!(others, [EventKind::Danger]);
}

/// A minute of calm, then tasks wait half of the time.
fn stalled() -> impl Iterator<Item = Snapshot> {
    (0..120).map(|second: u64| {
        let slow = second.saturating_sub(60);
        let mut row = holding(5, "indexer", "/", 400);
        row.stat.majflt = 1000 * slow;
        let mut snap = machine(second, vec![row, holding(6, "calm", "/", 30)]);
        snap.system.stalled = Ok([Duration::from_millis(700 * slow), Duration::from_millis(500 * slow)]);
        snap.system.pgmajfault = Ok(1000 * slow);
        snap
    })
}

#[test]
fn a_machine_that_is_only_slow_has_no_victim() {
    let found = explain(stalled(), None).unwrap();
    assert_eq!((found.event.kind, found.victims.len()), (EventKind::End, 0));
    let found = explain(stalled().chain(calm("boot", 120)), None).unwrap();
    assert_eq!((found.event.kind, found.victims.len()), (EventKind::Stall, 0));
    let told = text(&found);
    for part in [
        "stall: tasks waited for memory",
        "all its tasks waited for memory 50% of the time.",
        "indexer (pid 5) waited most: it read 3.9M/s of its memory back in.",
        "Nothing was killed.",
        "Nothing that was recorded had grown much.",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
}

#[test]
fn a_stall_of_a_cgroup_hides_no_stall_of_the_machine() {
    // Tasks of /shop are throttled for most of the time, before, during and after the stall of the machine.
    let throttled = |(second, mut snapshot): (usize, Snapshot)| {
        let mut figures = snapshot.cgroups[&b"/shop"[..]];
        let waited = Duration::from_millis(900 * second as u64);
        (figures.current, figures.high) = (Ok(50 * MIB), Ok(Some(50 * MIB)));
        figures.reclaimable = Ok(0);
        (figures.stalled_some, figures.stalled_full) = (Ok(waited), Ok(waited));
        figures.throttled = Ok(Count(10 * second as u64));
        snapshot.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
        snapshot
    };
    let snapshots = stalled().chain(calm("boot", 120)).enumerate().map(throttled);
    let found = explain(snapshots, None).unwrap();
    assert_eq!(found.event.kind, EventKind::Stall);
    assert!(found.is_of_machine(), "{}", text(&found));
    assert!(text(&found).contains("indexer (pid 5) waited most"), "{}", text(&found));
    let others: Vec<_> = found.others.iter().map(|event| (event.kind, &*event.who)).collect();
    assert_eq!(others, [(EventKind::Stall, &b"/shop"[..])]);
}

#[test]
fn a_process_is_not_left_out_because_of_its_name() {
    let named = stalled().map(|mut snap| {
        let mut rows = snap.rows().to_vec();
        rows[0] = with_facts(rows[0].clone(), |facts| facts.comm = (*b"zmtop").into());
        snap.processes = Ok(rows);
        snap
    });
    let told = text(&explain(named.chain(calm("boot", 120)), None).unwrap());
    assert!(told.contains("(pid 5) waited most: it read"), "{told}");
}

#[test]
fn an_end_within_seconds_of_the_start_shows_no_short_memory() {
    // A program takes 40 MiB a second, and the recording ends after so many. A forecast must not reach further than that.
    let snapshots = |seconds: u64| {
        let rows = |second| vec![holding(5, "importer", "/", 20 + 40 * second)];
        (0..seconds).map(move |second| machine(second, rows(second)))
    };
    for (seconds, kind) in [(6, EventKind::Danger), (16, EventKind::End)] {
        let found = explain(snapshots(seconds), None).unwrap();
        assert_eq!(found.event.kind, kind, "{seconds} s");
        let found = explain(
            booted("one", 0, snapshots(seconds))
                .into_iter()
                .chain(booted("two", 60, calm("two", 0))),
            None,
        );
        let found = found.unwrap();
        let is_reboot = found.event.kind == EventKind::Reboot && found.event.is_short;
        assert_eq!(is_reboot, kind == EventKind::End, "{seconds} s: {:?}", found.event);
    }
    // Nor does a forecast from before the program ended.
    let after = (16..20).map(|second| machine(second, vec![holding(6, "calm", "/", 30)]));
    let found = explain(snapshots(16).chain(after), None).unwrap();
    assert_eq!(found.event.kind, EventKind::Danger);
}

#[test]
fn a_fork_without_a_program_of_its_own_is_named() {
    // It lives for half a minute and takes 20 MiB a second beside the 300 MiB of its parent.
    let rows = |second: u64| {
        let child = started(90, holding(31, "server", "/", 20 * second.saturating_sub(90)));
        vec![holding(7, "database", "/", 50), holding(30, "server", "/", 300), child]
    };
    let rows = move |second| {
        let mut rows = rows(second);
        rows.retain(|row| row.id.pid != 31 || second > 90);
        rows
    };
    let found = explain(with_kill(rows, &killed(120, 1, 7, "database", 50, None)), None).unwrap();
    assert_eq!(found.growers[0].key.process().map(|id| id.pid), Some(31));
    assert_eq!(found.growers.len(), 1);
    // It lives between two snapshots. Its peak has its parent's pages, too.
    for (parent, told) in [
        (
            Some(300),
            Some("reached an RSS of 900M, 600M more than that of its parent, and ended at "),
        ),
        (Some(890), None),
        (None, None),
    ] {
        let mut all = spike();
        let mut exits = (*all[20].exits).clone();
        exits.list.truncate(1);
        let exit = &mut exits.list[0];
        (exit.peak, exit.is_fork) = (900 * MIB, true);
        exit.parent_rss = parent.map(|mib| mib * MIB);
        all[20].exits = Arc::new(exits);
        let found = explain(all, None).unwrap();
        assert_eq!(found.brief.len(), usize::from(told.is_some()), "{parent:?}");
        let text = text(&found);
        assert!(told.is_none_or(|told| text.contains(told)), "{parent:?}: {text}");
    }
}

/// A database is killed beside a server that took 40 MiB, and what these rows took.
fn beside(more: impl Fn(u64) -> Vec<ProcessSample>) -> Explanation {
    let rows = |second: u64| {
        let mut rows = vec![
            holding(7, "database", "/", 150),
            holding(8, "server", "/", 20 + second / 3),
        ];
        rows.extend(more(second));
        rows
    };
    explain(with_kill(rows, &killed(120, 1, 7, "database", 150, None)), None).unwrap()
}

#[test]
fn a_process_that_runs_exec_again_and_again_is_named() {
    let found = beside(|second| {
        let mut row = holding(5, &format!("w{}", second / 4), "/", 10 + 6 * second);
        row.exec = (second / 4) as u32;
        vec![row]
    });
    assert_eq!(
        found.growers[0].key.process().map(|id| id.pid),
        Some(5),
        "{:?}",
        found.growers
    );
    assert_eq!(found.growers.len(), 1);
}

#[test]
fn forks_that_were_not_read_yet_have_not_taken_the_memory_of_their_parent() {
    let found = beside(|second| {
        let mut parent = holding(30, "pool", "/", 300);
        (parent.stat.rss, parent.stat.image) = (300 * MIB, 5);
        let fork = |pid| {
            let mut fork = started(110, holding(pid, "pool", "/", 0));
            (fork.walk, fork.stat) = (Err(Missing::Pending), parent.stat);
            fork.stat.ppid = 30;
            fork
        };
        let number = if second < 110 { 0 } else { 3 };
        [parent.clone()]
            .into_iter()
            .chain((40..40 + number).map(fork))
            .collect()
    });
    let named: Vec<_> = found.growers.iter().map(|grower| &*grower.name).collect();
    assert_eq!(named, [b"server"]);
}

#[test]
fn forks_that_share_their_memory_have_not_taken_it() {
    let found = beside(|second| {
        let shared = |pid| {
            let mut row = holding(pid, "pool", "/", 75);
            let memory = &mut row.walk.as_mut().unwrap().memory;
            (memory.rss, memory.shared_dirty, memory.private_dirty) = (300 * MIB, 300 * MIB, 0);
            row
        };
        let number = if second < 110 { 0 } else { 3 };
        let forks = (40..40 + number).map(|pid| {
            let mut fork = started(110, shared(pid));
            fork.stat.ppid = 30;
            fork
        });
        let parent = if second < 110 {
            holding(30, "pool", "/", 300)
        } else {
            shared(30)
        };
        [parent].into_iter().chain(forks).collect()
    });
    let named: Vec<_> = found.growers.iter().map(|grower| &*grower.name).collect();
    assert_eq!(named, [b"server"]);
}

/// A process of 6 MiB a second, with another name each.
fn crowd(second: u64, user: &Result<Arc<[u8]>, Missing>) -> Vec<ProcessSample> {
    let one = |nth: u64| {
        let row = holding(100 + nth as u32, &format!("w{nth}"), "/", 6);
        with_facts(started(nth, row), |facts| facts.user.clone_from(user))
    };
    (0..second.min(120)).map(one).collect()
}

#[test]
fn the_user_of_many_small_programs_is_named() {
    let found = beside(|second| crowd(second, &Ok(Arc::from(&b"al\x1bice"[..]))));
    let told = text(&found);
    assert!(
        told.contains("What had grown was the memory of user al\\x1bice (119 processes): "),
        "{told}"
    );
    assert_eq!(found.victims[0].role, Role::Bystander);
    assert!(!told.contains("explains only"), "{told}");
    // Three programs of one user are named themselves.
    let found = beside(|second| {
        (20..23)
            .map(|pid| holding(pid, &format!("w{pid}"), "/", 10 + second))
            .collect()
    });
    let named: Vec<_> = found.growers.iter().filter_map(|grower| grower.key.process()).collect();
    assert_eq!(named.len(), 3, "{:?}", found.growers);
}

#[test]
fn pages_of_files_are_no_growth() {
    // A reader of files beside the server's 40 MiB, alone or with others of its program. One also takes 10 MiB.
    let files = |second: u64| 2 * second.min(100) * MIB;
    for readers in [1, 3] {
        let found = beside(|second| {
            let reader = |pid| with_file(holding(pid, "reader", "/", 5), files(second));
            (20..20 + readers).map(reader).collect()
        });
        let named: Vec<_> = found.growers.iter().map(|grower| &*grower.name).collect();
        assert_eq!(named, [b"server"], "{readers}");
    }
    let found = beside(|second| vec![with_file(holding(20, "both", "/", 5 + second / 4), files(second))]);
    let told = text(&found);
    for part in [
        "What had grown most was server (pid 8)",
        "both (pid 20) had grown, too: from 5.0M to 34.0M",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(!told.contains("mapped files"), "{told}");
    // It has just started.
    let found = beside(|second| {
        let young = || with_file(started(118, holding(20, "young", "/", 2)), 500 * MIB);
        if second == 119 { vec![young()] } else { Vec::new() }
    });
    assert_eq!(found.growers.len(), 1, "{:?}", found.growers);
}

#[test]
fn growth_that_explains_little_is_said_to() {
    let told = text(&beside(|second| crowd(second, &Err(Missing::Gone))));
    let expected = "What had grown most was server (pid 8): from 20.0M to 59.0M";
    assert!(told.contains(expected), "{told}");
    assert!(
        told.contains("In 2 min, available memory and free swap together fell by 753M. The growth named above explains only 39.0M of this."),
        "{told}"
    );
}

#[test]
fn a_process_that_ended_before_is_named() {
    let rows = |second: u64| {
        let mut rows = vec![holding(6, "calm", "/", 30)];
        if second < 60 {
            rows.push(holding(5, "batch", "/jobs", 10 + 5 * second));
        }
        rows
    };
    let found = explain((0..90).map(|second| machine(second, rows(second))), Some(80)).unwrap();
    let told = text(&found);
    assert_eq!(found.event.kind, EventKind::Chosen);
    assert!(
        told.contains("What had grown was batch (pid 5): from 10.0M to 305M in"),
        "{told}"
    );
    assert!(told.contains("and ended 20 s before, in cgroup /jobs"), "{told}");
}

#[test]
fn a_large_process_that_lived_for_seconds_is_named_after_its_end() {
    let rows = |second: u64| {
        let mut rows = vec![holding(6, "calm", "/", 30)];
        if (30..35).contains(&second) {
            rows.push(started(30, holding(5, "batch", "/jobs", 100 * (second - 29))));
        }
        rows
    };
    let found = explain((0..60).map(|second| machine(second, rows(second))), Some(36)).unwrap();
    let told = text(&found);
    assert!(
        told.contains("What had grown was batch (pid 5): to 500M within 4 s of its start at 00:00:30"),
        "{told}"
    );
}

/// A machine whose kernel takes 6 MiB a second. The table of its caches is read once a minute.
fn slab() -> impl Iterator<Item = Snapshot> {
    let mut table = Arc::default();
    (0..150).map(move |second| {
        let mut snap = machine(second, vec![holding(6, "calm", "/", 30)]);
        let taken = 20 * MIB + 6 * MIB * second;
        snap.system.mem_available = snap.system.mem_available.map(|bytes| bytes - taken.min(bytes));
        (snap.system.slab, snap.system.sunreclaim) = (Ok(taken + 8 * MIB), Ok(taken));
        if second % 60 == 5 {
            let cache = |name: &[u8], size| SlabCache {
                name: name.into(),
                reclaimable: Some(false),
                figures: SlabFigures {
                    size,
                    ..SlabFigures::default()
                },
                ..SlabCache::default()
            };
            table = Arc::new(SlabCaches {
                caches: vec![
                    cache(b"kmalloc-\x1b512", 10 * MIB + 5 * MIB * second),
                    cache(b"task_struct", 5 * MIB),
                ],
                malformed: 0,
            });
        }
        if second >= 5 {
            snap.kernel.slab = Ok(Arc::clone(&table));
        }
        snap
    })
}

#[test]
fn the_slab_cache_that_took_the_memory_is_named() {
    let found = explain(slab(), None).unwrap();
    assert_eq!(found.event.kind, EventKind::End);
    let told = text(&found);
    assert!(told.contains(" in the slab cache kmalloc-"), "{told}");
    let (name, bytes) = found.growers[0].cache.clone().unwrap();
    assert_eq!((&*name, bytes >> 20), (&b"kmalloc-\x1b512"[..], 600));
    // It is unknown without a table.
    let without = slab().map(|mut snap| {
        snap.kernel = KernelTables::default();
        snap
    });
    assert!(!text(&explain(without, None).unwrap()).contains("slab cache"));
}

#[test]
fn if_nothing_happened_the_worst_moment_is_reported() {
    let dip = |second: u64| if (30..40).contains(&second) { 300 } else { 30 };
    let snapshots = (0..60).map(|second| machine(second, vec![holding(6, "calm", "/", dip(second))]));
    let found = explain(snapshots, None).unwrap();
    assert_eq!(found.event.kind, EventKind::Nothing);
    let told = text(&found);
    assert!(
        told.starts_with("1970-01-01 00:00:00 to 00:00:59, db1: nothing happened"),
        "{told}"
    );
    assert!(
        told.contains("Least memory was available at 00:00:30: 700M of 1000M. --at 00:00:30 explains it."),
        "{told}"
    );
}

/// A kill in second 120, and another one every 1500 seconds.
fn kills(times: u64) -> Vec<Snapshot> {
    let kill = |n: u64| {
        let pid = 7 + 100 * u32::try_from(n).unwrap();
        killed(120 + 1500 * n, n + 1, pid, "importer", 138, Some("/shop"))
    };
    let mut all = Vec::new();
    for n in 0..times {
        for mut snap in limit() {
            let shift = Duration::from_secs(1500 * n);
            snap.time += shift;
            snap.monotonic += shift;
            snap.system.uptime = snap.system.uptime.map(|uptime| uptime + shift.as_secs_f64());
            for row in snap.processes.as_mut().unwrap() {
                row.id.pid += 100 * u32::try_from(n).unwrap();
            }
            let known = if snap.oom_kills.is_empty() { n } else { n + 1 };
            snap.oom_kills = (0..known).map(kill).collect();
            all.push(snap);
        }
    }
    all
}

fn two_kills() -> Vec<Snapshot> {
    kills(2)
}

#[test]
fn a_service_that_is_killed_again_and_again_is_reported_once() {
    let told = text(&explain(kills(5), None).unwrap());
    let others = "Other events: kill of importer (4 times, last at 01:17:00). To explain one: zmtop why --at 01:17:00";
    assert!(told.ends_with(others), "{told}");
    // There are no snapshots of ten minutes before.
    let machine = "at 01:41:59 331M none - 147M 1 min before 921M none - 29.0M 52 min before";
    assert!(told.contains(machine), "{told}");
    assert!(!told.contains("Nothing earlier"), "{told}");
}

#[test]
fn of_several_events_the_last_or_the_nearest_is_explained() {
    let found = explain(two_kills(), None).unwrap();
    assert_eq!(found.others.len(), 1);
    let told = text(&found);
    assert!(told.starts_with("1970-01-01 00:27:00, db1: OOM kill"), "{told}");
    assert!(
        told.contains("Other events: kill of importer at 00:02:00. To explain one: zmtop why --at 00:02:00"),
        "{told}"
    );
    let found = explain(two_kills(), Some(130)).unwrap();
    assert!(text(&found).starts_with("1970-01-01 00:02:00, db1: OOM kill"));
    assert_eq!(found.victims[0].role, Role::Grower);
    // Too far from either.
    let found = explain(two_kills(), Some(860)).unwrap();
    assert_eq!((found.event.kind, found.others.len()), (EventKind::Chosen, 2));
    assert_eq!(explain(calm("boot", 10), Some(3)), None);
    // A danger that passed is less than a kill before it.
    let later = filling("boot").chain(calm("boot", 185)).map(|mut snap| {
        snap.time += Duration::from_secs(2000);
        snap.monotonic += Duration::from_secs(2000);
        snap
    });
    let found = explain(two_kills().into_iter().chain(later), None).unwrap();
    assert_eq!((found.event.kind, found.others.len()), (EventKind::Kill, 2));
}

#[test]
fn a_kill_before_the_recording_and_an_unknown_victim_are_reported_as_such() {
    let old = killed(3, 1, 7, "importer", 138, Some("/shop"));
    let with = |snapshots: Vec<Snapshot>, kill: &OomKill| {
        snapshots
            .into_iter()
            .map(|mut snap| {
                snap.oom_kills = [kill.clone()].into();
                snap
            })
            .collect::<Vec<_>>()
    };
    let found = explain(with(calm("boot", 100).collect(), &old), None).unwrap();
    let told = text(&found);
    assert!(
        told.contains("killed importer (pid 7): /shop reached its limit"),
        "{told}"
    );
    assert!(
        told.contains("That was before the recording began. It is known only from the kernel's log."),
        "{told}"
    );
    assert!(found.growers.is_empty() && !told.contains("LARGEST"), "{told}");
    // Anything that was recorded is explained instead.
    let found = explain(with(filling("one").collect(), &killed(0, 1, 7, "old", 9, None)), None).unwrap();
    assert_eq!(found.event.kind, EventKind::End);
    let mut unknown = killed(120, 1, 7, "importer", 138, None);
    unknown.victim = Err(Missing::Denied);
    let told = text(&explain(with_kill(|_| vec![holding(8, "calm", "/", 50)], &unknown), None).unwrap());
    assert!(
        told.contains(
            "The kernel killed a process. Which process is unknown: the kernel's log cannot be read: permission denied."
        ),
        "{told}"
    );
}

#[test]
fn a_daemon_is_named() {
    let rows = |second| vec![holding(7, "web", "/shop/web", 20 + later(second))];
    let found = explain(with_kill(rows, &killed_by_daemon(120, 7, "web", 138, 2)), None).unwrap();
    let told = text(&found);
    assert!(
        told.contains(
            "killed because memory was short systemd-oomd killed web (pid 7), with 2 more of /shop: memory was short."
        ),
        "{told}"
    );
    assert!(told.contains("with 2 more of /shop"), "{told}");
}

#[test]
fn foreign_names_are_harmless_and_lines_are_short() {
    let name = "\x1b]0;x\x07\u{202e}evil\n\n".repeat(20);
    let rows = move |second| {
        vec![
            holding(
                7,
                &name,
                &format!("/shop/\x1b[2J{}", "x".repeat(300)),
                20 + later(second),
            ),
            with_facts(holding(8, "calm", "/shop", 9), |facts| {
                facts.comm = (*b"\x1b\xff\n").into();
            }),
        ]
    };
    let mut kill = killed(120, 1, 7, "x", 138, Some("/shop"));
    kill.victim.as_mut().unwrap().comm = rows(0)[0].facts.comm.clone();
    let found = explain(with_kill(rows, &kill), None).unwrap();
    assert_eq!(found.victims[0].role, Role::Grower);
    let text = written(&found, Format::Table);
    let is_bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!text.contains(is_bad), "{text:?}");
    let longest = text.lines().map(zmtop::text::width).max();
    assert!(longest <= Some(80), "{longest:?}\n{text}");
    assert!(text.lines().count() <= 22, "{text}");
}

/// Documents in which every field has a value.
/// A calm minute in which two compilers came and went, one of them with a gigabyte.
fn spike() -> Vec<Snapshot> {
    let mut all: Vec<_> = calm("boot", 0).collect();
    let snap = &mut all[20];
    let exit = |comm: &[u8], mib, lifetime| Exit {
        pid: 31,
        starttime: None,
        ppid: 27,
        parent: Some((*b"ma\x1bke").into()),
        uid: 1000,
        comm: comm.into(),
        cgroup: None,
        time: snap.time - Duration::from_millis(200),
        lifetime,
        peak: mib * MIB,
        is_fork: false,
        parent_rss: None,
        code: Some(0),
        signal: None,
    };
    let short = Duration::from_millis(300);
    snap.exits = Arc::new(Exits {
        list: vec![
            exit(b"cc1\x1b[31m", 1024, short),
            exit(b"ld", 20, short),
            exit(b"server", 900, Duration::from_secs(900)),
        ],
        ..Exits::default()
    });
    all
}

#[test]
fn the_time_of_an_event_is_that_of_the_kill_it_names() {
    use zmtop::model::kill::forget_kills;

    // Of a process of another user; 13 s later a flood begins, so many kills a second that each snapshot has new ones only.
    let flood = |second: u64| {
        (0..40).map(move |n| {
            let is_large = (second, n) == (127, 20);
            let mut kill = killed(
                second,
                second * 100 + n,
                900,
                "flood",
                if is_large { 60 } else { 5 },
                Some("/k"),
            );
            kill.victim.as_mut().unwrap().uid = Some(5);
            kill
        })
    };
    let explain_at = |at: Option<u64>| {
        let mut kills: Vec<OomKill> = Vec::new();
        let snapshots: Vec<_> = (0..140)
            .map(|second| {
                if second == 108 {
                    let mut kill = killed(108, 1, 7, "innocent", 138, Some("/shop"));
                    kill.victim.as_mut().unwrap().uid = Some(6);
                    kills.push(kill);
                } else if (121..128).contains(&second) {
                    kills.extend(flood(second));
                }
                forget_kills(&mut kills, 32, OomKill::origin);
                let rows = if second < 108 {
                    vec![holding(7, "innocent", "/shop", 138)]
                } else {
                    Vec::new()
                };
                let mut snapshot = machine(second, rows);
                snapshot.oom_kills = kills.clone().into();
                snapshot
            })
            .collect();
        explain(snapshots, at).unwrap()
    };
    for (at, time, victim) in [
        (None, 127, "flood"),
        (Some(126), 127, "flood"),
        (Some(109), 108, "innocent"),
    ] {
        let found = explain_at(at);
        assert_eq!(
            found.event.time,
            SystemTime::UNIX_EPOCH + Duration::from_secs(time),
            "{at:?}"
        );
        let first = found.victims.first().unwrap();
        assert_eq!(first.kill.event.time, found.event.time, "{at:?}");
        assert_eq!(
            &*first.kill.event.victim.as_ref().unwrap().comm,
            victim.as_bytes(),
            "{at:?}"
        );
        let kills = found.others.iter().filter(|event| event.kind == EventKind::Kill);
        assert_eq!(kills.count(), 1, "{at:?}: {:?}", found.others);
    }
}

#[test]
fn a_kill_just_before_the_recording_is_another_event() {
    let mut all = limit().split_off(115);
    for snap in &mut all {
        let mut kills = vec![killed(113, 0, 3, "other", 10, Some("/shop"))];
        kills.extend(snap.oom_kills.iter().cloned());
        snap.oom_kills = kills.into();
    }
    let found = explain(all, None).unwrap();
    let killed: Vec<_> = found
        .victims
        .iter()
        .filter_map(|victim| victim.kill.event.record)
        .collect();
    assert_eq!(killed, [1]);
    assert_eq!(found.others.len(), 1);
}

#[test]
fn the_end_of_a_victim_is_said_once() {
    let mut all = limit();
    let mut exits = (*spike()[20].exits).clone();
    exits.list.truncate(1);
    let exit = &mut exits.list[0];
    (exit.pid, exit.comm) = (7, (*b"importer").into());
    (exit.cgroup, exit.time) = (Some((*b"/shop/web").into()), all[120].time);
    let victim = all[0].rows()[0].id.starttime;
    // The pid, the start time and the name of a process that ended, the seconds since the kill, and the number of ends reported.
    for (pid, starttime, comm, later, told) in [
        (7, None, "importer", 0, 0),
        (7, Some(victim), "renamed", 0, 0),
        // Others, of which some have its pid or its name.
        (77, None, "importer", 0, 1),
        (7, Some(victim + 1), "importer", 0, 1),
        (7, None, "sh", 0, 1),
        (7, None, "importer", 15, 1),
    ] {
        let exit = &mut exits.list[0];
        (exit.pid, exit.starttime, exit.comm) = (pid, starttime, comm.as_bytes().into());
        exit.time = all[120 + later].time;
        all[120].exits = Arc::new(exits.clone());
        let found = explain(all.clone(), None).unwrap();
        assert_eq!(found.brief.len(), told, "{pid} {starttime:?} {comm} {later}");
    }
}

#[test]
fn a_kill_before_the_recording_hides_no_process_of_it() {
    // The kernel's log has a kill from 1 hour, or 8 seconds, before the first snapshot, in a cgroup or not.
    for (ago, limit) in [(3600, None), (3600, Some("/shop")), (8, None), (8, Some("/shop"))] {
        for later in [1, 30, 119] {
            for (pid, comm) in [(7, "importer"), (7, "cc1"), (31, "importer"), (31, "cc1")] {
                let kill = killed(10_000 - ago, 1, 7, "importer", 138, limit);
                let mut all: Vec<_> = (0..120)
                    .map(|second| machine(10_000 + second, vec![holding(6, "calm", "/", 30)]))
                    .collect();
                for snap in &mut all {
                    snap.oom_kills = [kill.clone()].into();
                }
                let mut exits = (*spike()[20].exits).clone();
                let exit = &mut exits.list[0];
                (exit.pid, exit.comm, exit.time) = (pid, comm.as_bytes().into(), all[later].time);
                all[later].exits = Arc::new(exits);
                let found = explain(all, None).unwrap();
                let case = format!("{ago} {limit:?} {later} {pid} {comm}");
                assert_eq!((found.event.kind, found.brief.len()), (EventKind::Kill, 1), "{case}");
                let told = text(&found);
                let expected = format!("Nothing has happened since. Between two snapshots, {comm} (pid {pid}");
                assert!(told.contains(&expected), "{case}\n{told}");
            }
        }
    }
}

#[test]
fn brief_processes_of_one_user_displace_none_of_another_user_or_of_the_event() {
    let mut all = spike();
    let many = |snap: &Snapshot, uid, peak| {
        let mut exits = (*snap.exits).clone();
        let first = spike()[20].exits.list[0].clone();
        exits.list = (0..130)
            .map(|pid| Exit {
                pid: 1000 + pid,
                uid: if uid < 1 << 16 { uid } else { uid + pid },
                comm: b"sshd"[..].into(),
                time: snap.time,
                peak,
                is_fork: false,
                ..first.clone()
            })
            .collect();
        Arc::new(exits)
    };
    // Another user's in the next snapshot.
    all[21].exits = many(&all[21], 4242, 12 << 30);
    let names = |all: &[Snapshot]| {
        let chosen = all[25].time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let told = text(&explain(all.to_vec(), Some(chosen.as_secs())).unwrap());
        (told.contains("cc1"), told.contains("sshd"))
    };
    assert_eq!(names(&all), (true, true));
    // Those of subordinate uids are one user's.
    all[21].exits = many(&all[21], 1_000_000, 12 << 30);
    assert_eq!(names(&all), (true, true));
    // The same user's, long after the chosen moment.
    let mut last = all.last().unwrap().clone();
    let uid = all[20].exits.list[0].uid;
    all[21].exits = Arc::default();
    last.time += Duration::from_secs(3600);
    last.monotonic += Duration::from_secs(3600);
    last.exits = many(&last, uid, 12 << 30);
    all.push(last);
    assert_eq!(names(&all), (true, false));
}

#[test]
fn a_process_that_came_and_went_between_two_snapshots_is_found() {
    let explanation = explain(spike(), None).unwrap();
    let told = text(&explanation);
    assert!(told.contains("Between two snapshots, cc1"), "{told}");
    assert!(told.contains(" reached an RSS of 1.0G and ended at "), "{told}");
    assert!(told.contains(", 0.3s after its start."), "{told}");
    // One was small, the other lived long enough to be in the snapshots.
    assert_eq!(explanation.brief.len(), 1);
    assert!(!told.contains('\x1b'), "{told:?}");
}

pub(crate) fn of_all() -> Vec<String> {
    let mut daemon = limit();
    let mut kills = BTreeMap::new();
    for snap in &mut daemon {
        kills.insert(snap.time, snap.oom_kills.len());
        snap.system.stalled = Ok([snap.monotonic / 2, snap.monotonic / 2]);
        snap.system.pgmajfault = Ok(snap.monotonic.as_secs() * 1000);
        snap.system.psi = Ok(zmtop::model::system::Pressure {
            some: [50.0],
            full: [50.0],
        });
        let mut cgroups = (*snap.cgroups).clone();
        for figures in cgroups.values_mut() {
            figures.oom_kills = Ok(Count(0));
        }
        snap.cgroups = Arc::new(cgroups);
    }
    let all = [
        explain(daemon, None),
        explain(two_kills(), None),
        explain(bystander(), None),
        explain(reboot(), None),
        explain(stalled(), None),
        explain(calm("boot", 0), None),
        explain(spike(), None),
        explain(slab(), None),
        explain(taken(), None),
    ];
    all.into_iter()
        .flatten()
        .map(|found| written(&found, Format::Json))
        .collect()
}

#[test]
fn the_command_reads_a_file_and_needs_one() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("rec.ndjson");
    let lines = limit()
        .iter()
        .map(|snap| serde_json::to_string(&Record::new(snap)).unwrap() + "\n")
        .collect::<String>();
    std::fs::write(&file, lines).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(ZMTOP);
        let done = command
            .arg("why")
            .args(args)
            .env_clear()
            .env("HOME", home.path())
            .env("TZ", "UTC")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let file = file.to_str().unwrap();
    let (code, out, err) = run(&[file, "--format", "text"]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert!(out.contains("The victim itself had grown"), "{out}");
    let (code, out, _) = run(&[file, "--at=-10s", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, document["event"]["kind"].as_str()), (Some(0), Some("kill")));
    let (code, out, err) = run(&[file, "--at=2100-01-01 03:00"]);
    assert_eq!((code, &*out), (Some(3), ""));
    assert!(err.contains("rec.ndjson ends earlier, at "), "{err}");
    let (code, out, err) = run(&[]);
    assert_eq!((code, &*out), (Some(3), ""));
    assert!(
        err.contains("there is no black box at ") && err.contains("name a FILE"),
        "{err}"
    );
}

/// Scenes with a name each, whose texts are kept as pictures.
fn scenes() -> Vec<(&'static str, Vec<Snapshot>)> {
    let boots = |before: Vec<Snapshot>| {
        let after = calm("two", 0).map(|mut snap| {
            snap.time += Duration::from_secs(300);
            snap
        });
        let before = before.into_iter().map(|mut snap| {
            snap.boot_id = Ok(Arc::from("one"));
            snap
        });
        before.chain(after).collect::<Vec<_>>()
    };
    let full = |second| {
        vec![
            holding(7, "importer --all", "/jobs", 200 + 6 * second),
            holding(8, "calm", "/", 9),
        ]
    };
    let by_daemon = |second| vec![holding(7, "web", "/shop/web", 20 + later(second))];
    let mut unknown = killed(120, 1, 7, "importer", 138, None);
    unknown.victim = Err(Missing::Denied);
    let mut earlier: Vec<_> = calm("boot", 100).collect();
    let kill = killed(3, 1, 7, "importer", 138, Some("/shop"));
    for snap in &mut earlier {
        snap.oom_kills = [kill.clone()].into();
    }
    vec![
        ("limit", limit()),
        ("taken", taken()),
        ("bystander", bystander()),
        ("machine", with_kill(full, &killed(120, 1, 7, "importer", 920, None))),
        ("limit-reboot", boots(limit()[..125].to_vec())),
        ("reboot-short", reboot().collect()),
        ("reboot", boots(calm("one", 0).collect())),
        ("stall", stalled().chain(calm("boot", 120)).collect()),
        ("danger", filling("one").chain(calm("one", 185)).collect()),
        ("end", filling("one").collect()),
        ("slab", slab().collect()),
        ("nothing", calm("boot", 0).collect()),
        ("came-and-went", spike()),
        ("daemon", with_kill(by_daemon, &killed_by_daemon(120, 7, "web", 138, 2))),
        ("unknown", with_kill(|_| vec![holding(8, "calm", "/", 50)], &unknown)),
        ("before", earlier),
        ("repeated", kills(5)),
    ]
}

#[test]
fn the_texts_are_kept() {
    for (name, snapshots) in scenes() {
        let found = explain(snapshots, None).unwrap();
        insta::assert_snapshot!(format!("why-{name}"), written(&found, Format::Table));
    }
}

#[test]
fn a_kill_in_a_cgroup_does_not_split_the_kills_of_the_machine() {
    let mut all = full_machine();
    let kills = [
        killed(120, 1, 7, "bulk", 740, None),
        killed(122, 2, 30, "own", 10, Some("/shop")),
        killed(124, 3, 31, "small", 20, None),
    ];
    for (second, snap) in all.iter_mut().enumerate() {
        let known = kills.iter().zip([120, 122, 124]).filter(|(_, at)| second >= *at);
        snap.oom_kills = known.map(|(kill, _)| kill.clone()).collect::<Vec<_>>().into();
    }
    let found = explain(all, None).unwrap();
    assert_eq!(
        (found.event.kind, found.victims.len()),
        (EventKind::Kill, 2),
        "{}",
        text(&found)
    );
    assert!(
        found.is_of_machine() && text(&found).contains("bulk"),
        "{}",
        text(&found)
    );
    let others: Vec<_> = found.others.iter().map(|event| event.kind).collect();
    assert_eq!(others, [EventKind::Kill]);
}

#[test]
fn a_kill_in_a_cgroup_does_not_hide_the_end_of_a_recording() {
    let with_kill = filling("one").enumerate().map(|(second, mut snap)| {
        let kill = (second >= 178).then(|| killed(178, 1, 30, "own", 10, Some("/own")));
        snap.oom_kills = kill.into_iter().collect::<Vec<_>>().into();
        snap
    });
    let found = explain(with_kill, None).unwrap();
    assert_eq!(found.event.kind, EventKind::End, "{}", text(&found));
}
