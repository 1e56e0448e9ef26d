//! The memory that cgroups needed in a recording, and the limits to set.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use zmtop::group::GroupBy;
use zmtop::limits::{Basis, Certainty, Finding, Histogram, Limits};
use zmtop::model::cgroup::Count;
use zmtop::model::{CgroupFigures, Container, ContainerNames, Missing, ProcessSample, Snapshot};
use zmtop::output::json;
use zmtop::record::Record;
use zmtop::recorder::{Options, Place, Writer};

use crate::support::cannot;
use crate::support::kills::killed;
use crate::support::pty::ZMTOP;
use crate::support::rows::{MIB, in_cgroup, process, snapshot, walk, with_facts};
use crate::trend::measure::{expand, unpack};

const WEB: &str = "/system.slice/web.service";
const DAY: u64 = 86_400;

/// A cgroup that has so much memory, of which so much goes first, with no limit, swap and events.
fn figures(current: u64, reclaimable: u64) -> CgroupFigures {
    CgroupFigures {
        current: Ok(current),
        reclaimable: Ok(reclaimable),
        swap: Ok(0),
        limit: Ok(None),
        high: Ok(None),
        throttled: Ok(Count(0)),
        limit_hits: Ok(Count(0)),
        oom_kills: Ok(Count(0)),
        ..CgroupFigures::missing(Missing::Unsupported)
    }
}

/// A snapshot at that second, one of every `interval` seconds.
fn at(second: u64, interval: u64, cgroups: &[(&str, CgroupFigures)]) -> Snapshot {
    let mut made = snapshot(Duration::from_secs(second), Vec::new());
    made.interval = Duration::from_secs(interval);
    let cgroups = cgroups
        .iter()
        .map(|(path, figures)| (Arc::from(path.as_bytes()), *figures));
    made.cgroups = Arc::new(cgroups.collect());
    made
}

fn findings(snapshots: impl IntoIterator<Item = Snapshot>) -> Vec<Finding> {
    let mut limits = Limits::default();
    for snapshot in snapshots {
        limits.push(&snapshot);
    }
    limits.findings()
}

#[track_caller]
fn only(snapshots: impl IntoIterator<Item = Snapshot>) -> Finding {
    let mut found = findings(snapshots);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A service over that time with a need by the number of the snapshot, which are a minute apart.
fn service(seconds: u64, need: impl Fn(u64) -> u64) -> Finding {
    only((0..=seconds / 60).map(|n| at(n * 60, 60, &[(WEB, figures(need(n), 0))])))
}

proptest! {
    #[test]
    fn a_quantile_is_at_most_a_sixty_fourth_too_high(values in proptest::collection::vec(any::<u64>(), 1..50), shift in 0..64_u32) {
        let mut values: Vec<u64> = values.into_iter().map(|value| value >> shift).collect();
        let mut histogram = Histogram::default();
        for value in &values {
            histogram.add(*value, 1);
        }
        values.sort_unstable();
        for percent in [1, 50, 99, 100] {
            let exact = values[(values.len() * percent).div_ceil(100) - 1];
            let found = histogram.quantile(percent as f64 / 100.0).unwrap();
            prop_assert!(found >= exact && found - exact <= exact / 64, "{percent} %: {found} for {exact}");
        }
        prop_assert!(histogram.len() <= 3776);
    }

    #[test]
    fn no_limit_is_below_what_was_needed(
        needs in proptest::collection::vec((0..1_u64 << 40, 0..1_u64 << 40, 0..1_u64 << 30), 1..40),
        minutes in 1..2000_u64,
    ) {
        let snapshots = needs.iter().enumerate().map(|(n, (stays, cache, swap))| {
            let figures = CgroupFigures { swap: Ok(*swap), ..figures(stays + cache, *cache) };
            at(n as u64 * minutes * 60, minutes * 60, &[(WEB, figures)])
        });
        let found = only(snapshots);
        let proposal = found.proposal().unwrap();
        let most = needs.iter().map(|(stays, _, swap)| stays + swap).max().unwrap();
        prop_assert!(proposal.max > most && proposal.high > most, "{proposal:?} for {most}");
        prop_assert!(proposal.request <= proposal.high && proposal.high <= proposal.max, "{proposal:?}");
    }
}

#[test]
fn a_value_counts_for_as_long_as_it_was_held() {
    // Ten values of a second, then one of ten minutes, whatever their numbers.
    let short = (0..10).map(|n| at(n, 1, &[(WEB, figures(10 * MIB, 0))]));
    let long = [
        at(10, 600, &[(WEB, figures(100 * MIB, 0))]),
        at(610, 1, &[(WEB, figures(10 * MIB, 0))]),
    ];
    let found = only(short.chain(long));
    assert!((100 * MIB..=102 * MIB).contains(&found.median), "{}", found.median);
    assert_eq!((found.peak, found.observed), (100 * MIB, Duration::from_secs(611)));
}

#[test]
fn a_gap_counts_as_one_interval() {
    let found = only([0, 10, DAY].map(|second| at(second, 10, &[(WEB, figures(MIB, 0))])));
    assert_eq!(found.observed, Duration::from_secs(30));
}

#[test]
fn file_cache_is_no_need_and_swap_is() {
    let with_cache = CgroupFigures {
        swap: Ok(20 * MIB),
        ..figures(1000 * MIB, 900 * MIB)
    };
    let found = only([at(0, 60, &[(WEB, with_cache)])]);
    assert_eq!((found.peak, found.basis), (120 * MIB, Basis::Cgroup));
    // Too short: twice the peak, and the soft limit in the middle.
    assert_eq!(found.line().unwrap(), "MemoryHigh=180M MemoryMax=240M");
    assert_eq!(found.certainty, Certainty::Short);
}

#[test]
fn a_peak_between_two_snapshots_counts() {
    let with_peak = |current: u64, peak: u64| CgroupFigures {
        peak: Ok(peak * MIB),
        ..figures(current * MIB, 50 * MIB)
    };
    // The first peak may be older than the record; the second one is 300 MiB above both snapshots.
    let found = only([
        at(0, 10, &[(WEB, with_peak(100, 700))]),
        at(10, 10, &[(WEB, with_peak(100, 700))]),
        at(20, 10, &[(WEB, with_peak(110, 710))]),
    ]);
    assert_eq!(found.peak, (60 + 600) * MIB);
    // The cache that grew is in the second snapshot, so that the peak says nothing.
    let grown = only([
        at(0, 10, &[(WEB, with_peak(100, 100))]),
        at(10, 10, &[(WEB, with_peak(200, 200))]),
    ]);
    assert_eq!(grown.peak, 150 * MIB);
    // All that a new cgroup had is of the record.
    let found = findings([
        at(0, 10, &[("/a.service", with_peak(60, 60))]),
        at(
            10,
            10,
            &[("/a.service", with_peak(60, 60)), ("/b.service", with_peak(60, 500))],
        ),
    ]);
    assert_eq!((&*found[1].name, found[1].peak), (&b"b.service"[..], 450 * MIB));
}

#[test]
fn a_limit_is_named_with_the_cgroup_that_sets_it() {
    let limited = |limit: u64| CgroupFigures {
        limit: Ok(Some(limit * MIB)),
        ..figures(90 * MIB, 0)
    };
    let found = findings([at(
        0,
        10,
        &[
            ("/system.slice", limited(200)),
            (WEB, limited(200)),
            ("/system.slice/own.service", limited(100)),
        ],
    )]);
    let of = |at: usize| found[at].limit.of.as_deref();
    assert_eq!([of(0), of(1), of(2)], [None, None, Some(&b"/system.slice"[..])]);
    assert_eq!(found[1].limit.bytes, Ok(Some(100 * MIB)));
    assert_eq!(found[1].near, Some(0.9));
}

#[test]
fn events_count_since_the_first_snapshot_and_a_kill_raises_the_limit() {
    let after = |throttled: u64, hits: u64, kills: u64| CgroupFigures {
        limit: Ok(Some(400 * MIB)),
        throttled: Ok(Count(throttled)),
        limit_hits: Ok(Count(hits)),
        oom_kills: Ok(Count(kills)),
        ..figures(100 * MIB, 0)
    };
    let found = only([
        at(0, 10, &[(WEB, after(5, 7, 1))]),
        at(10, 10, &[(WEB, after(6, 7, 1))]),
        at(20, 10, &[(WEB, after(9, 12, 2))]),
    ]);
    assert_eq!((found.throttled, found.limit_hits, found.kills), (Ok(4), Ok(5), Ok(1)));
    // It was killed at its limit, though no snapshot has more than 100 MiB.
    assert_eq!((found.peak, found.certainty), (400 * MIB, Certainty::Killed));
    assert_eq!(found.proposal().unwrap().max, 800 * MIB);

    // The machine was full: its limit had nothing to do with it.
    let found = only([
        at(0, 10, &[(WEB, after(0, 7, 1))]),
        at(10, 10, &[(WEB, after(0, 7, 2))]),
    ]);
    assert_eq!((found.peak, found.certainty), (100 * MIB, Certainty::Killed));

    // The counters begin anew with the cgroup.
    let found = only([
        at(0, 10, &[(WEB, after(5, 7, 1))]),
        at(10, 10, &[(WEB, after(2, 0, 0))]),
    ]);
    assert_eq!((found.throttled, found.kills), (Ok(2), Ok(0)));
}

#[test]
fn a_kill_in_the_log_counts_with_the_victims_memory() {
    let mut second = at(10, 10, &[(WEB, figures(50 * MIB, 0))]);
    second.oom_kills = Arc::from([killed(9, 1, 7, "web", 120, Some(WEB))]);
    let third = Snapshot {
        time: SystemTime::UNIX_EPOCH + Duration::from_secs(20),
        monotonic: Duration::from_secs(20),
        ..second.clone()
    };
    let found = only([at(0, 10, &[(WEB, figures(50 * MIB, 0))]), second, third]);
    assert_eq!((found.kills, found.peak), (Ok(1), 150 * MIB));

    // A kill before the record does not.
    let mut first = at(10, 10, &[(WEB, figures(50 * MIB, 0))]);
    first.oom_kills = Arc::from([killed(9, 1, 7, "web", 120, Some(WEB))]);
    assert_eq!(only([first]).peak, 50 * MIB);
}

#[test]
fn the_margin_falls_with_the_length_of_the_record() {
    let even = |seconds| {
        let found = service(seconds, |_| 1000 * MIB);
        (found.margin(), found.certainty, found.line().unwrap())
    };
    assert_eq!(even(600).0, 100);
    assert_eq!(even(7200).0, 50);
    assert_eq!(
        even(2 * DAY),
        (25, Certainty::Sure, "MemoryHigh=1125M MemoryMax=1250M".into())
    );
    assert_eq!(
        even(8 * DAY),
        (15, Certainty::Sure, "MemoryHigh=1075M MemoryMax=1150M".into())
    );
}

/// The limits of a series after some of its time, the time between two values being `step` seconds. Returns the finding, and
/// whether its limit is exceeded later; it would have killed nothing until then.
fn backtest(needs: &[Option<f64>], step: u64, until: usize) -> (Finding, bool) {
    let (before, after) = needs.split_at(until);
    let known = (0..).zip(before).filter_map(|(n, need)| Some((n, (*need)? as u64)));
    let finding = only(known.map(|(n, need)| at(n * step, step, &[(WEB, figures(need, 0))])));
    let limit = finding.proposal().unwrap().max as f64;
    assert!(before.iter().flatten().all(|need| *need <= limit), "{finding:?}");
    let is_exceeded = after.iter().flatten().any(|need| *need > limit);
    (finding, is_exceeded)
}

/// Real machines over six days, each as a service. `ZMTOP_TEST_MACHINES=FILE` tries others, in the same format.
#[test]
fn the_limits_of_some_days_hold_for_the_days_after() {
    let text = match std::env::var_os("ZMTOP_TEST_MACHINES") {
        Some(path) => unpack(&std::fs::read(path).unwrap()),
        None => unpack(include_bytes!("../fixtures/trend/machines.csv.zst")),
    };
    // A percent is 300 MB.
    let needs = text.lines().map(|line| expand(line.split_once(',').unwrap().1, 0.3e9));
    let needs: Vec<Vec<Option<f64>>> = needs.collect();
    let mut report = String::from("limits of real machines; after days, lines to paste, exceeded later\n");
    for days in [2, 3, 4] {
        let found = needs.iter().map(|needs| backtest(needs, 60, days * DAY as usize / 60));
        let sure: Vec<_> = found.filter(|(found, _)| found.certainty == Certainty::Sure).collect();
        let exceeded = sure.iter().filter(|(_, is_exceeded)| *is_exceeded).count();
        let _ = writeln!(report, "{days} {} of {} {exceeded}", sure.len(), needs.len());
        assert!(sure.len() * 10 >= needs.len() * 9 && exceeded == 0, "{report}");
    }
    let _ = write!(std::io::stdout(), "{report}");
}

/// Real services under load for 36 minutes. What leaks outgrows any limit; no line of it is pasted.
#[test]
fn the_limits_of_twelve_minutes_hold_for_services_that_do_not_leak() {
    let text = unpack(include_bytes!("../fixtures/trend/services.csv.zst"));
    let (mut harmless, mut exceeded) = (0, Vec::new());
    for line in text.lines() {
        let fields: Vec<_> = line.split(',').collect();
        let needs = expand(fields[4], 1024.0);
        let (finding, is_exceeded) = backtest(&needs, 5, 12 * 60 / 5);
        assert!(finding.doubt().is_some(), "{line}");
        harmless += usize::from(fields[1] == "ok");
        if is_exceeded && fields[1] == "ok" {
            exceeded.push(format!(
                "{} {} {}",
                fields[0],
                finding.peak,
                finding.proposal().unwrap().max
            ));
        }
    }
    let _ = writeln!(
        std::io::stdout(),
        "limits of {harmless} real services; exceeded later: {}\n{}",
        exceeded.len(),
        exceeded.join("\n")
    );
    assert!(harmless > 20 && exceeded.is_empty(), "{exceeded:?}");
}

#[test]
fn a_user_that_walks_through_cgroups_keeps_no_other_out() {
    let snapshots = (0..90_u64).map(|second| {
        let own: Vec<_> = (0..60)
            .map(|n| format!("/user.slice/user-5.slice/a{second}.{n}"))
            .collect();
        let mut all: Vec<_> = own.iter().map(|path| (&**path, figures(MIB, 0))).collect();
        all.push(("/first", figures(MIB / 2, 0)));
        if second > 80 {
            all.push(("/late", figures(60 * MIB, 0)));
        }
        at(second, 1, &all)
    });
    let found = findings(snapshots);
    for path in ["/first", "/late"] {
        assert!(found.iter().any(|one| *one.path == *path.as_bytes()), "{path}");
    }
    assert!(found.len() <= 4096, "{}", found.len());
}

#[test]
fn what_grows_has_no_certain_limit() {
    // 1 MiB a minute for two days.
    let found = service(2 * DAY, |n| (200 + n) * MIB);
    assert_eq!(found.certainty, Certainty::Grows);
    let (peak, max) = (found.peak, found.proposal().unwrap().max);
    // The margin, and as much growth again.
    assert!(max > peak + peak / 4 + 2000 * MIB, "{max} for {peak}");
    assert!(found.doubt().unwrap().contains("it grows by"), "{:?}", found.doubt());
    assert!(found.rule(zmtop::units::Units::default()).contains(" + growth "));
}

#[test]
fn without_figures_of_the_cgroup_the_footprints_of_its_processes_count() {
    let member = |pid, path: &str, pss: u64| {
        let mut sample = in_cgroup(process(pid, 1, "web"), path);
        sample.walk = Ok(walk(pss * MIB, MIB));
        sample
    };
    let mut hidden = member(3, WEB, 0);
    hidden.walk = Err(Missing::Denied);
    hidden.stat.rss = 30 * MIB;
    let mut shares = member(4, WEB, 500);
    shares.shares_mm = Some(hidden.id);
    let rows = vec![member(1, "/", 99), member(2, WEB, 10), hidden, shares];
    let found = findings([snapshot(Duration::ZERO, rows.clone())]);
    let told: Vec<_> = found
        .iter()
        .map(|found| (&*found.path, found.peak / MIB, found.basis))
        .collect();
    assert_eq!(
        told,
        [
            (&b"/system.slice"[..], 41, Basis::Processes),
            (WEB.as_bytes(), 41, Basis::Processes)
        ]
    );
    assert_eq!(found[1].kills, Err(Missing::Unsupported));

    // Nothing is known of a process: then there is no line.
    let mut unseen = rows.clone();
    unseen[2].stat.state = zmtop::model::Stat::UNKNOWN_STATE;
    let found = findings([snapshot(Duration::ZERO, unseen)]);
    assert_eq!((found[1].certainty, found[1].line()), (Certainty::Partial, None));

    // Once the kernel's figures are there, they count alone.
    let mut first = at(0, 10, &[]);
    first.processes = Ok(rows);
    let found = findings([first, at(10, 10, &[(WEB, figures(5 * MIB, 0))])]);
    assert_eq!((found[1].basis, found[1].peak), (Basis::Cgroup, 5 * MIB));

    // Figures that come after a long time, such as for the seconds after a kill, do not replace what was seen until then.
    let long = (0..100).map(|step| snapshot(Duration::from_secs(step * 10), rows_of(member, step)));
    let late = (100..102).map(|step| {
        let mut snap = at(step * 10, 10, &[(WEB, figures(5 * MIB, 0))]);
        snap.processes = Ok(rows_of(member, step));
        snap
    });
    let found = findings(long.chain(late));
    let web = found.iter().find(|found| *found.path == *WEB.as_bytes()).unwrap();
    assert_eq!((web.basis, web.peak / MIB), (Basis::Processes, 112));
}

/// A process of the service that grows by 1 MiB a step.
fn rows_of(member: impl Fn(u32, &str, u64) -> ProcessSample, step: u64) -> Vec<ProcessSample> {
    vec![member(2, WEB, 10 + step)]
}

#[test]
fn a_container_that_was_started_again_is_the_same_one() {
    const POD: &str = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice";
    let started = |second, id: char, name: &str, pod: Option<&str>, above: &str| {
        let id = id.to_string().repeat(64);
        let path = format!("{above}/cri-{id}.scope");
        let row = with_facts(process(1, 0, "api"), |facts| {
            facts.cgroup = Ok(Arc::from(format!("{path}/worker").as_bytes()));
            facts.container = Some(Arc::new(Container {
                id: id.as_bytes().into(),
                names: Ok(ContainerNames {
                    name: name.as_bytes().into(),
                    pod: pod.map(|pod| pod.as_bytes().into()),
                    namespace: pod.map(|_| b"shop"[..].into()),
                    image: None,
                }),
            }));
        });
        let mut made = at(
            second,
            10,
            &[(&path, figures(70 * MIB, 0)), (above, figures(80 * MIB, 0))],
        );
        made.processes = Ok(vec![row]);
        made
    };
    let found = findings([
        started(0, 'a', "shop/api-7/api", Some("api-7"), POD),
        started(10, 'b', "shop/api-7/api", Some("api-7"), POD),
    ]);
    let of = |by| found.iter().filter(move |found| found.by == by);
    let container = of(GroupBy::Container).next().unwrap();
    assert_eq!((of(GroupBy::Container).count(), of(GroupBy::Pod).count()), (1, 1));
    assert_eq!(
        (&*container.name, container.observed),
        (&b"shop/api-7/api"[..], Duration::from_secs(20))
    );
    assert_eq!(
        container.line().unwrap(),
        "resources: {requests: {memory: 70Mi}, limits: {memory: 140Mi}}"
    );
    assert_eq!(&*of(GroupBy::Pod).next().unwrap().name, b"shop/api-7");

    let found = findings([started(0, 'a', "web", None, "/system.slice")]);
    let docker = found.iter().find(|found| found.by == GroupBy::Container).unwrap();
    assert_eq!(docker.line().unwrap(), "--memory=140m");
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// Runs `zmtop limits` with these words, in a home of its own that has the record `rec`.
fn limits(snapshots: &[Snapshot], words: &[&str]) -> Ran {
    let home = tempfile::TempDir::new().unwrap();
    let mut record = Vec::new();
    for snapshot in snapshots {
        json::line(&mut record, &Record::new(snapshot)).unwrap();
    }
    std::fs::write(home.path().join("rec"), record).unwrap();
    let done = Command::new(ZMTOP)
        .arg("limits")
        .args(words)
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran {
        code: done.status.code().unwrap(),
        out: text(done.stdout),
        err: text(done.stderr).replace(home.path().to_str().unwrap(), "HOME"),
    }
}

/// Two days of a service with a limit, and the last minutes of another.
fn record() -> Vec<Snapshot> {
    let limited = CgroupFigures {
        limit: Ok(Some(200 * MIB)),
        peak: Ok(150 * MIB),
        ..figures(150 * MIB, 50 * MIB)
    };
    let both = [(WEB, limited), ("/system.slice/new.service", figures(10 * MIB, 0))];
    let cgroups = |n: u64| if n >= 48 { &both[..] } else { &both[..1] };
    (0..=49).map(|n| at(n * 3600, 3600, cgroups(n))).collect()
}

/// The report as JSON.
pub(crate) fn document() -> String {
    limits(&record(), &["rec", "--format", "json"]).out
}

#[test]
fn the_table_has_a_line_to_paste_below_each_row() {
    let ran = limits(&record(), &["rec", "--by", "unit"]);
    assert_eq!((ran.code, &*ran.err), (0, ""));
    insta::assert_snapshot!(ran.out, @r"
    MEDIAN    P99   PEAK  LIMIT  NEAR  KILLS    FOR    MAX  SURE   NAME
      100M   100M   100M   200M  50.0      0  2d02h   125M  sure   web.service
      MemoryHigh=113M MemoryMax=125M
     10.0M  10.0M  10.0M    max            0   2h00  26.0M  short  new.service
      MemoryHigh=18M MemoryMax=26M; less than a day was recorded: not yet certain
                                                                   2 cgroups
    a record of 2d02h in 50 snapshots
    ");
}

#[test]
fn only_certain_lines_are_pasted() {
    let ran = limits(&record(), &["rec", "--paste", "--filter", "service"]);
    insta::assert_snapshot!(ran.out, @r"
    # unit web.service: peak 100M + 25% for a recording of 2d02h
    MemoryHigh=113M MemoryMax=125M
    # unit new.service: peak 10.0M + 50% for a recording of 2h00; less than a day was recorded: not yet certain
    # MemoryHigh=18M MemoryMax=26M
    ");
}

#[test]
fn the_last_part_of_a_record_can_be_chosen_and_its_data_be_read() {
    let ran = limits(
        &record(),
        &[
            "rec",
            "--since",
            "2h",
            "--format",
            "json",
            "--filter",
            "unit:web peak>1M",
        ],
    );
    let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&document["snapshots"], &document["recorded_s"]),
        (&2.into(), &7200.0.into())
    );
    let rows = document["cgroups"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["name"], "web.service");
    assert_eq!(rows[0]["limit"], 200 * MIB);
    assert_eq!(rows[0]["soft"], "max");
}

#[test]
fn a_record_that_is_not_there_is_an_error() {
    let ran = limits(&[], &[]);
    assert_eq!(ran.code, 3);
    assert_eq!(
        ran.err,
        "zmtop: there is no black box at HOME/.local/state/zmtop/blackbox yet; name a FILE of snapshots\n"
    );
    let empty = limits(&[], &["rec"]);
    assert_eq!((empty.code, &*empty.out), (3, ""));
    let stream = limits(&[], &["-", "--since", "1h"]);
    assert_eq!(stream.code, 2);
    assert!(stream.err.contains("the end of standard input"), "{}", stream.err);
    assert_eq!(limits(&[], &["rec", "--by", "user"]).code, 2);
}

#[test]
fn root_reads_the_black_box_that_is_recorded_to() {
    let dir = tempfile::tempdir().unwrap();
    // Files with one, two and three snapshots.
    for count in 1..=3 {
        let place = Place::File(dir.path().join(count.to_string()));
        let mut writer = Writer::new(Options::plain(place)).unwrap();
        for snapshot in &record()[..count] {
            writer.record(&Arc::new(snapshot.clone()), &[]);
        }
        writer.close();
    }
    let script = r#"
        mount -t tmpfs none /var/lib || exit 97
        for each in $1:"$HOME/.local/state/zmtop/blackbox" $2:/var/lib/zmtop $3:/var/lib/zmtop-serve/blackbox; do
            what=${each%%:*} folder=${each#*:}
            test $what = - && continue
            file=$folder/20261124T120000Z.zmrec
            mkdir -p "$folder" && cp "$FILES/${what%@*}" "$file" && touch -d "${what#*@} minutes ago" "$file" || exit
        done
        exec "$ZMTOP" limits --format json
    "#;
    // The files of the own box, of that of zmtop-record and of that of zmtop-serve, with their ages in minutes; and the number of
    // snapshots of the one that is read.
    for (boxes, expected) in [
        (["1@5", "-", "-"], 1),
        (["-", "2@5", "-"], 2),
        (["-", "-", "3@5"], 3),
        (["-", "2@5", "3@500"], 2),
        (["-", "2@500", "3@5"], 3),
        (["1@5", "2@500", "3@500"], 1),
        (["1@500", "-", "3@5"], 3),
        // Of several that are recorded to, the largest.
        (["1@5", "3@6", "2@7"], 3),
        (["3@5", "2@6", "1@7"], 3),
        (["1@5", "2@6", "-"], 2),
        // A clock that was ahead.
        (["2@5", "1@-500", "-"], 2),
        (["2@500", "1@-500", "-"], 1),
    ] {
        let home = tempfile::tempdir().unwrap();
        let run = Command::new("unshare")
            .args(["-m", "sh", "-c", script, "sh"])
            .args(boxes)
            .env("ZMTOP", ZMTOP)
            .env("FILES", dir.path())
            .env("HOME", home.path())
            .env_remove("XDG_STATE_HOME")
            .env_remove("STATE_DIRECTORY")
            .output()
            .unwrap();
        if !rustix::process::geteuid().is_root() || run.status.code() == Some(97) {
            return cannot("the folders of services need root and mount namespaces");
        }
        let document: serde_json::Value = serde_json::from_slice(&run.stdout)
            .unwrap_or_else(|error| panic!("{error}: {boxes:?} {}", String::from_utf8_lossy(&run.stderr)));
        assert_eq!(document["snapshots"], expected, "{boxes:?}");
    }
}
