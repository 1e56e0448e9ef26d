//! Snapshots of rounds of answers.

use std::sync::Arc;
use std::time::Duration;

use zmtop::alert::Alerts;
use zmtop::columns::{self, Row, Value};
use zmtop::engine::State;
use zmtop::fleet::{Answer, AnswerError, DEFAULT_LABEL, Field, FleetSource, Past};
use zmtop::group::{GroupBy, RowKey, groups};
use zmtop::history::History;
use zmtop::model::{Missing, Snapshot};
use zmtop::trend::Verdict;

use crate::support::rows::MIB;

const INTERVAL: Duration = Duration::from_secs(15);

/// An answer of these series, each with its labels and its value, at a time.
fn answer(at: u64, series: &[(&str, f64)]) -> String {
    let series: Vec<_> = series
        .iter()
        .map(|(labels, value)| format!(r#"{{"metric":{{{labels}}},"value":[{at},"{value}"]}}"#))
        .collect();
    let series = series.join(",");
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}"#)
}

fn group(host: &str, name: &str) -> String {
    format!(r#""by":"command","group":"{name}","instance":"{host}""#)
}

/// A round of answers about the PSS of groups, and all else that a row needs.
struct Rounds(FleetSource);

impl Rounds {
    fn new() -> Self {
        Self(FleetSource::new("prometheus", DEFAULT_LABEL))
    }

    /// Takes in an answer that was asked for at its own time.
    fn take(&mut self, field: Field, text: &str) {
        let answer = Answer::read(text.as_bytes()).unwrap();
        let asked = answer.evaluated.unwrap_or_default();
        self.0.take(field, &answer, asked);
    }

    /// Rows of so many MiB, and other answers.
    fn round(&mut self, at: u64, rows: &[(&str, &str, u64)], more: &[(Field, String)]) -> Option<Arc<Snapshot>> {
        self.0.begin();
        let labels: Vec<_> = rows
            .iter()
            .map(|(host, name, mib)| (group(host, name), (mib * MIB) as f64))
            .collect();
        let series: Vec<_> = labels.iter().map(|(labels, bytes)| (labels.as_str(), *bytes)).collect();
        for field in [Field::Pss, Field::Uss, Field::Rss] {
            self.take(field, &answer(at, &series));
        }
        self.take(Field::Swap, &answer(at, &[]));
        for (field, text) in more {
            self.take(*field, text);
        }
        self.0.finish(INTERVAL, Err(Missing::Pending))
    }
}

/// The rows: host, name, PSS in MiB, and if they are what was seen last.
fn rows(snapshot: &Snapshot) -> Vec<(String, String, u64, bool)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let rows = snapshot.rows().iter().map(|row| {
        let host = text(row.facts.host.as_deref().unwrap());
        (host, text(&row.facts.comm), row.memory().unwrap().pss / MIB, row.stale)
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

fn row(host: &str, name: &str, mib: u64, is_stale: bool) -> (String, String, u64, bool) {
    (host.into(), name.into(), mib, is_stale)
}

#[test]
fn a_host_that_vanishes_keeps_its_rows_for_a_while() {
    let mut rounds = Rounds::new();
    let both = [("web", "api", 3), ("db", "pg", 5), ("db", "cron", 1)];
    rounds.round(1000, &both, &[]).unwrap();
    let ids = |snapshot: &Snapshot| snapshot.rows().iter().map(|row| row.id).collect::<Vec<_>>();
    // A group that ends on a host that lives has ended.
    let less = rounds.round(1015, &both[..2], &[]).unwrap();
    assert_eq!(rows(&less), [row("db", "pg", 5, false), row("web", "api", 3, false)]);
    let gone = rounds.round(1030, &both[..1], &[]).unwrap();
    assert_eq!(rows(&gone), [row("db", "pg", 5, true), row("web", "api", 3, false)]);
    assert_eq!(ids(&less), ids(&gone));
    let fleet = gone.fleet.as_ref().unwrap();
    let hosts: Vec<_> = fleet
        .hosts
        .iter()
        .map(|host| (&*host.name, host.seen, host.is_gone))
        .collect();
    let at = Duration::from_secs;
    assert_eq!(hosts, [(&b"db"[..], at(1015), true), (&b"web"[..], at(1030), false)]);
    let column = columns::find("age").unwrap().get();
    let stale = gone.rows().iter().find(|row| row.stale).unwrap();
    let of_gone = Row::of_process(stale, None, &gone);
    let age = (column.value)(&of_gone);
    assert!(matches!(age, Value::Seconds(s) if (s - 15.0).abs() < 1e-9), "{age:?}");
    let late = rounds.round(1320, &both[..1], &[]).unwrap();
    assert_eq!(rows(&late), [row("web", "api", 3, false)]);
}

#[test]
fn answers_that_are_none() {
    for (text, error) in [
        ("<!doctype html>", AnswerError::Foreign),
        ("", AnswerError::Foreign),
        (
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":7}]}}"#,
            AnswerError::Foreign,
        ),
        // A bare NaN is no JSON.
        (
            r#"{"status":"success","data":{"result":[{"metric":{},"value":[NaN,"1"]}]}}"#,
            AnswerError::Foreign,
        ),
        (
            r#"{"status":"error","errorType":"bad_data","error":"a\u001b[31mb\nc"}"#,
            AnswerError::Refused("a\u{fffd}[31mb\u{fffd}c".into()),
        ),
    ] {
        let found = Answer::read(text.as_bytes()).unwrap_err();
        if let (AnswerError::Refused(found), AnswerError::Refused(_)) = (&found, &error) {
            assert!(!found.contains(['\x1b', '\n']), "{found:?}");
        } else {
            assert_eq!(found, error, "{text}");
        }
    }
}

/// A server whose clock is so far ahead, in seconds; its samples are ten seconds old.
struct Replica(i64);

impl Replica {
    /// Answers at this elapsed time of the machine that asks.
    fn answer(&self, source: &mut FleetSource, elapsed: u64, mib: u64) -> Option<Arc<Snapshot>> {
        let now = (5_000_000 + elapsed).saturating_add_signed(self.0);
        source.begin();
        let api = group("web", "api");
        let figures = answer(now, &[(api.as_str(), (mib * MIB) as f64)]);
        let seen = answer(now, &[(r#""instance":"web""#, (now - 10) as f64)]);
        let fields = [Field::Pss, Field::Uss, Field::Rss].map(|field| (field, &figures));
        for (field, text) in fields.into_iter().chain([(Field::Seen, &seen)]) {
            let answer = Answer::read(text.as_bytes()).unwrap();
            source.take(field, &answer, Duration::from_secs(elapsed));
        }
        source.finish(INTERVAL, Err(Missing::Pending))
    }
}

/// The age of the only row's figures, in seconds.
fn age(snapshot: &Snapshot) -> u64 {
    let walk = snapshot.rows()[0].walk.unwrap();
    snapshot.monotonic.saturating_sub(walk.at).as_secs()
}

#[test]
fn snapshots_go_on_and_ages_stay_true_whatever_the_clocks_of_servers_do() {
    let remark = |source: &FleetSource| source.remarks().into_iter().next().unwrap_or_default();
    let hour = 3600;
    for (ahead, how) in [
        (-hour, "set back by 1h00"),
        (hour, "set ahead by 1h00"),
        (-20 * hour, "set back by 20h"),
    ] {
        let mut source = FleetSource::new("prometheus", DEFAULT_LABEL);
        let first = Replica(0).answer(&mut source, 100, 3).unwrap();
        assert_eq!((age(&first), remark(&source)), (10, String::new()));
        for round in 0..300 {
            let snapshot = Replica(ahead).answer(&mut source, 115 + 15 * round, 4 + round).unwrap();
            assert_eq!(age(&snapshot), 10, "{how}, round {round}");
            assert_eq!(rows(&snapshot), [row("web", "api", 4 + round, false)]);
            let passed = 15 + 15 * round;
            assert_eq!(
                snapshot.monotonic.saturating_sub(first.monotonic).as_secs(),
                passed,
                "{how}"
            );
            // It is said for five minutes, and for as long as the server answers figures of a time that it was at before.
            let again = (-ahead).unsigned_abs().min(1 << 30) * u64::from(ahead < 0);
            let is_said = passed < 300.max(again.saturating_sub(40));
            assert_eq!(
                remark(&source).contains(how),
                is_said,
                "{how} after {passed} s: {}",
                remark(&source)
            );
        }
        // It is set right.
        if ahead < -3600 {
            Replica(0).answer(&mut source, 4700, 1).unwrap();
            assert!(remark(&source).contains("set ahead by 20h"), "{}", remark(&source));
        }
    }
    // Two replicas in turns.
    let mut source = FleetSource::new("prometheus", DEFAULT_LABEL);
    for round in 0..20 {
        let replica = Replica(if round % 3 == 1 { hour } else { 0 });
        let snapshot = replica.answer(&mut source, 100 + 15 * round, 3 + round).unwrap();
        assert_eq!(age(&snapshot), 10, "round {round}");
        assert_eq!(rows(&snapshot), [row("web", "api", 3 + round, false)]);
        let said = remark(&source);
        assert!(
            round < 2 || said.contains("in turn, and their clocks differ by 1h00"),
            "{round}: {said}"
        );
    }
    let snapshot = Replica(0).answer(&mut source, 2000, 1).unwrap();
    assert_eq!((age(&snapshot), remark(&source)), (10, String::new()));
    // A clock that is set by seconds is nothing to be said of.
    let snapshot = Replica(-20).answer(&mut source, 2015, 2).unwrap();
    assert_eq!((age(&snapshot), remark(&source)), (10, String::new()));
}

#[test]
fn a_sample_keeps_its_time_however_long_answers_take() {
    let mut source = FleetSource::new("prometheus", DEFAULT_LABEL);
    // The clock differs by as long as the question took to arrive.
    let late = [9, 0, 4, 1];
    let mut taken = Vec::new();
    for (round, late) in (0..).zip(late) {
        source.begin();
        let now = 7_000_000 + 5 * round + late;
        let api = group("web", "api");
        let figures = answer(now, &[(api.as_str(), MIB as f64)]);
        let seen = answer(now, &[(r#""instance":"web""#, 6_999_995.0)]);
        for (field, text) in [(Field::Pss, &figures), (Field::Seen, &seen)] {
            let answer = Answer::read(text.as_bytes()).unwrap();
            source.take(field, &answer, Duration::from_secs(100 + 5 * round));
        }
        let snapshot = source.finish(INTERVAL, Err(Missing::Pending)).unwrap();
        taken.push(snapshot.fleet.as_ref().unwrap().hosts[0].seen);
    }
    assert!(taken.iter().all(|at| *at == taken[0]), "{taken:?}");
}

#[test]
fn numbers_that_are_none_do_no_harm_and_are_said() {
    let good = group("web", "api");
    for (bad, value, untimed) in [
        ("1e19", "1", true),
        ("-1", "1", true),
        ("1e300", "1", true),
        ("4294967296", "1", true),
        ("-1e-9", "1", true),
        ("253402300800", "1", true),
        ("1000", "NaN", false),
        ("1000", "+Inf", false),
        ("1000", "-Inf", false),
        ("1000", "", false),
    ] {
        let bad = format!(r#"[{bad},"{value}"]"#);
        // One of several series: the others count.
        let text = format!(
            r#"{{"status":"success","data":{{"result":[
                {{"metric":{{{}}},"value":{bad}}},
                {{"metric":{{{good}}},"value":[1000,"{MIB}"]}},{{"metric":{{{}}},"value":[1000,"{MIB}"]}}]}}}}"#,
            group("web", "bad"),
            group("db", "pg"),
        );
        let mut rounds = Rounds::new();
        rounds.0.begin();
        rounds.take(Field::Pss, &text);
        for field in [Field::Uss, Field::Rss] {
            rounds.take(field, &text);
        }
        let snapshot = rounds.0.finish(INTERVAL, Err(Missing::Pending)).unwrap();
        assert_eq!(
            rows(&snapshot),
            [row("db", "pg", 1, false), row("web", "api", 1, false)],
            "{bad}"
        );
        assert_eq!(snapshot.monotonic, Duration::from_secs(1000), "{bad}");
        let said = rounds.0.remarks();
        let is_said = said.iter().any(|said| said.contains("3 values with an invalid time"));
        assert_eq!(is_said, untimed, "{bad}: {said:?}");
        // The only one: no snapshot or no row, and no panic.
        let text = format!(r#"{{"status":"success","data":{{"result":[{{"metric":{{{good}}},"value":{bad}}}]}}}}"#);
        let mut rounds = Rounds::new();
        rounds.0.begin();
        rounds.take(Field::Pss, &text);
        let found = rounds.0.finish(INTERVAL, Err(Missing::Pending));
        let found = found.map(|snapshot| rows(&snapshot));
        assert_eq!(found, (!untimed).then(Vec::new), "{bad}");
        // A range.
        let matrix = format!(
            r#"{{"status":"success","data":{{"result":[{{"metric":{{{good}}},"values":[{bad},[900,"{MIB}"]]}}]}}}}"#
        );
        let mut rounds = Rounds::new();
        rounds.round(1000, &[("web", "api", 1)], &[]).unwrap();
        let mut past = Past::new(rounds.0.clock().unwrap());
        past.take(&rounds.0, Field::Pss, &Answer::read(matrix.as_bytes()).unwrap());
        assert_eq!(past.snapshots(&rounds.0).len(), 1, "{bad}");
    }
}

#[test]
fn figures_beyond_all_bounds_do_no_harm() {
    const FIELDS: [Field; 17] = [
        Field::Pss,
        Field::Uss,
        Field::Rss,
        Field::Swap,
        Field::SwapPss,
        Field::Processes,
        Field::Anon,
        Field::File,
        Field::Shmem,
        Field::Verdict,
        Field::Steady,
        Field::Slope,
        Field::Confidence,
        Field::GrowingFor,
        Field::Seen,
        Field::System,
        Field::Pressure,
    ];
    let metrics = [
        "memory_total",
        "memory_available",
        "memory_free",
        "swap_total",
        "swap_free",
        "anon",
        "cached",
    ];
    let mut names: Vec<_> = metrics.map(|name| format!("zmtop_system_{name}_bytes")).to_vec();
    names.extend(["some", "full"].map(|name| format!("zmtop_system_stalled_{name}_ratio")));
    let all = [1e19, -1.0, 1e300, -1e300, 18_446_744_073_709_551_615.0, 1e-300, 9e15];
    // The one invalid figure of a leak.
    for (field, bad) in [Field::Slope, Field::GrowingFor, Field::Confidence]
        .into_iter()
        .flat_map(|field| all.map(|bad| (field, bad)))
    {
        let api = group("web", "api");
        let told = |field, value: f64| (field, answer(100_000, &[(api.as_str(), value)]));
        let more = [told(Field::Verdict, 5.0), told(field, bad)];
        let snapshot = Rounds::new().round(100_000, &[("web", "api", 3)], &more).unwrap();
        let verdict = snapshot.fleet_row(0).unwrap().verdict.unwrap();
        let what = format!("{field:?} {bad}: {verdict:?}");
        assert!(
            verdict.slope.abs() <= 9e15 && (0.0..=1.0).contains(&verdict.confidence),
            "{what}"
        );
        let is_sane = bad.abs() < 100_000.0 && bad >= 0.0;
        assert_eq!(verdict.since.is_some(), field == Field::GrowingFor && is_sane, "{what}");
    }
    for bad in all {
        let mut rounds = Rounds::new();
        let mut state = State::default();
        for at in [1000, 1015, 1030] {
            rounds.0.begin();
            for field in FIELDS {
                let mut labels: Vec<_> = ["web", "db"].map(|host| group(host, "api")).to_vec();
                labels.extend(names.iter().map(|name| format!(r#""__name__":"{name}""#)));
                // Of one host all is well, at the second time.
                let series: Vec<_> = labels.iter().map(|labels| (labels.as_str(), bad)).collect();
                let well = [(labels[0].as_str(), 5.0)];
                rounds.take(field, &answer(at, if at == 1015 { &well } else { &series }));
            }
            let snapshot = rounds.0.finish(INTERVAL, Err(Missing::Pending)).unwrap();
            state.push(Arc::clone(&snapshot));
            for sample in snapshot.rows() {
                let row = Row::of_process(sample, state.history.get(sample.id), &snapshot);
                for column in columns::ColumnId::all() {
                    columns::cell(&(column.get().value)(&row), zmtop::units::Units::Auto, 8);
                }
            }
            groups(&snapshot, GroupBy::Host, |_| true, |_| None);
        }
    }
}

#[test]
fn sums_and_pressures_of_hosts_are_distinguished() {
    let sums = r#"{"status":"success","data":{"result":[
        {"metric":{"__name__":"zmtop_system_memory_total_bytes"},"value":[1000,"1048576"]}]}}"#;
    let pressures = r#"{"status":"success","data":{"result":[
        {"metric":{"__name__":"zmtop_system_stalled_some_ratio"},"value":[1000,"0.25"]},
        {"metric":{"__name__":"zmtop_system_stalled_full_ratio"},"value":[1000,"0.5"]}]}}"#;
    let both = [(Field::System, sums), (Field::Pressure, pressures)];
    for order in [both, [both[1], both[0]]] {
        let more = order.map(|(field, text)| (field, text.to_owned()));
        let snapshot = Rounds::new().round(1000, &[("web", "api", 3)], &more).unwrap();
        let psi = snapshot.system.psi.unwrap();
        assert_eq!((psi.some[0], psi.full[0]), (25.0, 50.0));
        assert_eq!(snapshot.system.mem_total, Ok(1 << 20));
    }
}

/// The changes over ten seconds of a program that grows by 8 MiB in ten seconds, as shown at each round. Its hosts are scraped
/// at times of their own.
fn changes(interval: u64, scraped_every: u64, hosts: &[&str]) -> Vec<[Option<i64>; 3]> {
    let mut source = FleetSource::new("prometheus", DEFAULT_LABEL);
    // As shipped: the heading says ten seconds.
    let mut state = State::new(History::new(Duration::from_secs(10)), Alerts::default());
    let mut shown = Vec::new();
    for elapsed in (0..=300).step_by(interval as usize) {
        let now = 1_000_000 + elapsed;
        let (mut figures, mut seen) = (Vec::new(), Vec::new());
        for (nth, host) in (0..).zip(hosts) {
            let sampled = now - (now + nth * 7) % scraped_every;
            // In KiB, which divide by the seconds.
            figures.push((group(host, "api"), ((sampled - 900_000) * 4096 / 5 * 1024) as f64));
            seen.push((format!(r#""instance":"{host}""#), sampled as f64));
        }
        source.begin();
        let text = |series: &[(String, f64)]| {
            let series: Vec<_> = series.iter().map(|(labels, value)| (labels.as_str(), *value)).collect();
            answer(now, &series)
        };
        let (figures, seen) = (text(&figures), text(&seen));
        let fields = [Field::Pss, Field::Uss, Field::Rss].map(|field| (field, &figures));
        let none = answer(now, &[]);
        for (field, text) in fields.into_iter().chain([(Field::Seen, &seen), (Field::Swap, &none)]) {
            let answer = Answer::read(text.as_bytes()).unwrap();
            source.take(field, &answer, Duration::from_secs(elapsed));
        }
        let snapshot = source
            .finish(Duration::from_secs(interval), Err(Missing::Pending))
            .unwrap();
        state.push(Arc::clone(&snapshot));
        let row = state.history.get(snapshot.rows()[0].id).unwrap();
        let group = |by, name: &[u8]| {
            let key = zmtop::group::GroupKey {
                by,
                name: Some(name.into()),
            };
            state.history.group(&key).and_then(|row| row.change().pss)
        };
        let by_command = group(GroupBy::Command, b"api");
        let of_user = state
            .history
            .get(snapshot.rows().last().unwrap().id)
            .unwrap()
            .change()
            .pss;
        shown.push([row.change().pss, by_command, of_user]);
    }
    shown
}

#[test]
fn a_change_is_a_rate_of_samples_at_any_interval() {
    let of_one = 8 * MIB.cast_signed();
    for (interval, scraped_every) in [
        (60, 15),
        (15, 15),
        (5, 15),
        (1, 15),
        (60, 60),
        (5, 60),
        (15, 10),
        (5, 5),
        (7, 30),
    ] {
        let what = format!("every {interval} s of samples every {scraped_every} s");
        let shown = changes(interval, scraped_every, &["a", "b", "c"]);
        // Unknown until there are samples of two times; then right at every round, but for whole KiB.
        assert_eq!(shown[0], [None; 3], "{what}");
        let first = shown.iter().position(|changes| changes[0].is_some()).unwrap();
        assert!(
            first as u64 * interval <= scraped_every.max(interval),
            "{what}: {shown:?}"
        );
        let settled = (scraped_every.max(interval) + 10).div_ceil(interval) as usize + 1;
        assert!(shown.len() > settled + 1, "{what}");
        for changes in &shown[settled..] {
            let near = |got: Option<i64>, want: i64| (got.unwrap() - want).abs() <= want / 50;
            let [row, by_command, last] = *changes;
            assert!(
                near(row, of_one) && near(last, of_one) && near(by_command, 3 * of_one),
                "{what}: {changes:?}"
            );
        }
    }
}

#[test]
fn doubles_are_left_out_and_told() {
    let mut rounds = Rounds::new();
    let twice = [("web", "api", 3), ("web", "api", 3)];
    let snapshot = rounds.round(1000, &twice, &[]).unwrap();
    assert_eq!(rows(&snapshot), [row("web", "api", 3, false)]);
    assert!(
        rounds.0.remarks()[0].contains("--host-label"),
        "{:?}",
        rounds.0.remarks()
    );
}

#[test]
fn more_hosts_and_series_than_fit_are_left_out() {
    let mut rounds = Rounds::new();
    let names: Vec<String> = (0..20_010).map(|at| format!(r#""instance":"host{at}""#)).collect();
    let series: Vec<_> = names.iter().map(|labels| (labels.as_str(), 1000.0)).collect();
    let seen = (Field::Seen, answer(1000, &series));
    let snapshot = rounds.round(1000, &[("late", "api", 3)], &[seen]).unwrap();
    // Those that came first stay.
    assert_eq!(rows(&snapshot), [row("late", "api", 3, false)]);
    assert_eq!(snapshot.fleet.as_ref().unwrap().hosts.len(), 20_000);
    assert_eq!(rounds.0.remarks(), ["more than 20000 hosts: --match chooses some"]);
    let series = vec![r#"{"metric":{}}"#; 500_001].join(",");
    let text = format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}"#);
    assert_eq!(Answer::read(text.as_bytes()).unwrap_err(), AnswerError::TooMany);
}

#[test]
fn forged_answers_stay_small() {
    let of = |series: &str| format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{series}]}}}}"#);
    let labels = |count: usize| vec![r#""a":"a""#; count].join(",");
    let series = |key: &str, labels: &str| format!(r#"{{"{key}":{{{labels}}}}}"#);
    for (text, what) in [
        (of(&vec![series(r"m\u0065tric", ""); 500_001].join(",")), "series"),
        (of(&vec![series("metric", &labels(64)); 46_876].join(",")), "labels"),
        (
            of(&format!(
                r#"{{"metric":{{}},"values":[{}[]]}}"#,
                "[],".repeat(4_000_000)
            )),
            "values",
        ),
        (of(&format!("{}{{}}", "{},".repeat(2_000_000))), "objects"),
    ] {
        assert_eq!(
            Answer::read(text.as_bytes()).unwrap_err(),
            AnswerError::TooMany,
            "{what}"
        );
    }
    // Of a series, the first labels count.
    let group = group("web", "api");
    for (labels, found) in [
        (format!("{},{group}", labels(61)), vec![row("web", "api", 3, false)]),
        (format!("{},{group}", labels(64)), Vec::new()),
        (format!("{group},{}", labels(1000)), vec![row("web", "api", 3, false)]),
    ] {
        let mut rounds = Rounds::new();
        let text = answer(1000, &[(&labels, (3 * MIB) as f64)]);
        let more = [Field::Pss, Field::Uss, Field::Rss].map(|field| (field, text.clone()));
        let snapshot = rounds.round(1000, &[], &more);
        assert_eq!(
            snapshot.map(|snapshot| rows(&snapshot)).unwrap_or_default(),
            found,
            "{labels}"
        );
    }
    // Of the warnings, the first that differ.
    let numbered = |at: usize| format!(r#""{at} {}\u001b""#, "w".repeat(1000));
    for (warnings, found) in [
        ((0..1000).map(numbered).collect::<Vec<_>>(), 16),
        ((0..1000).map(|at| numbered(at % 3)).collect(), 3),
        (vec![r#""""#.to_owned(); 1000], 1),
        (Vec::new(), 0),
    ] {
        let text = format!(
            r#"{{"status":"success","data":{{"result":[]}},"warnings":[{}]}}"#,
            warnings.join(",")
        );
        let read = Answer::read(text.as_bytes()).unwrap().warnings;
        assert_eq!(read.len(), found);
        assert!(
            read.iter()
                .all(|warning| warning.len() <= 200 && !warning.contains('\x1b')),
            "{read:?}"
        );
    }
}

#[test]
fn hosts_have_the_names_that_they_give_themselves_if_these_differ() {
    let three = [("a:1", "api", 3), ("b:1", "api", 3), ("c:1", "api", 3)];
    let name = |host: &str, name: &str| format!(r#""instance":"{host}","nodename":"{name}""#);
    let names = [name("a:1", "web"), name("b:1", "db"), name("c:1", "db")];
    let names: Vec<_> = names.iter().map(|labels| (labels.as_str(), 1.0)).collect();
    let mut rounds = Rounds::new();
    let more = [(Field::Name, answer(1000, &names))];
    let snapshot = rounds.round(1000, &three, &more).unwrap();
    let hosts: Vec<_> = rows(&snapshot).into_iter().map(|row| row.0).collect();
    assert_eq!(hosts, ["b:1", "c:1", "web"]);
    let by_host = groups(&snapshot, GroupBy::Host, |_| true, |_| None);
    assert_eq!(by_host.len(), 3);
}

#[test]
fn what_was_not_told_is_unknown() {
    let mut rounds = Rounds::new();
    let api = group("web", "api");
    let swap = [(Field::Swap, answer(1000, &[(&api, MIB as f64)]))];
    let snapshot = rounds
        .round(1000, &[("web", "api", 3), ("web", "cron", 1)], &swap)
        .unwrap();
    let find = |name: &str| {
        snapshot
            .rows()
            .iter()
            .find(|row| *row.facts.comm == *name.as_bytes())
            .unwrap()
    };
    let [api, cron] = ["api", "cron"].map(|name| find(name).memory().unwrap());
    assert_eq!((api.swap, api.swap_pss), (MIB, Err(Missing::NotExported)));
    assert_eq!((cron.swap, cron.swap_pss), (0, Ok(0)));
    assert_eq!(
        (api.pss_anon, api.pss_dirty),
        (Err(Missing::NotExported), Err(Missing::NotExported))
    );
    let cell =
        |id: &str| (columns::find(id).unwrap().get().value)(&Row::of_process(find("api"), None, &snapshot)).number();
    for id in ["dirty", "count", "pid", "pss_dirty", "held"] {
        assert_eq!(cell(id), None, "{id}");
    }
}

#[test]
fn a_large_fleet_is_asked_for_its_pss_first() {
    let mut rounds = Rounds::new();
    let figures = |at: u64, names: &[&str], mib: u64| {
        let labels: Vec<_> = names.iter().map(|name| group("web", name)).collect();
        let series: Vec<_> = labels
            .iter()
            .map(|labels| (labels.as_str(), (mib * MIB) as f64))
            .collect();
        answer(at, &series)
    };
    let others = |rounds: &mut Rounds, at, names: &[&str], mib| {
        for field in [Field::Uss, Field::Rss] {
            rounds.take(field, &figures(at, names, mib));
        }
        rounds.take(Field::Swap, &answer(at, &[]));
    };
    let cells = |snapshot: &Snapshot, name: &str| {
        let row = snapshot.rows().iter().find(|row| *row.facts.comm == *name.as_bytes());
        let row = Row::of_process(row.unwrap(), None, snapshot);
        ["pss", "uss", "rss", "swap", "shared_pss", "footprint"]
            .map(|id| (columns::find(id).unwrap().get().value)(&row))
            .map(|value| match value {
                Value::Missing(why) => Err(why),
                value => Ok(value.number().unwrap() as u64 / MIB),
            })
    };
    let pss_alone = |mib| {
        [Ok(mib)]
            .into_iter()
            .chain([Err(Missing::Pending); 5])
            .collect::<Vec<_>>()
    };

    rounds.0.begin();
    rounds.take(Field::Pss, &figures(1000, &["api", "cron"], 9));
    let first = rounds.0.finish(INTERVAL, Err(Missing::Pending)).unwrap();
    assert!(first.is_partial());
    assert_eq!(cells(&first, "api").to_vec(), pss_alone(9));
    // The rest of the same round, which comes a while after.
    others(&mut rounds, 1003, &["api", "cron"], 4);
    let whole = rounds.0.complete().unwrap();
    assert!(!whole.is_partial() && whole.monotonic == first.monotonic);
    assert_eq!(cells(&whole, "api"), [Ok(9), Ok(4), Ok(4), Ok(0), Ok(5), Ok(9)]);

    // A group that ended has no row, though its RSS was told in the round before; one that is new waits for its own.
    rounds.0.begin();
    rounds.take(Field::Pss, &figures(1015, &["api", "new"], 7));
    let next = rounds.0.finish(INTERVAL, Err(Missing::Pending)).unwrap();
    assert_eq!(next.rows().len(), 2);
    assert_eq!(cells(&next, "api"), [Ok(7), Ok(4), Ok(4), Ok(0), Ok(3), Ok(7)]);
    assert_eq!(cells(&next, "new"), [Err(Missing::Pending); 6]);
    others(&mut rounds, 1018, &["api", "new"], 2);
    rounds.0.begin();
    rounds.take(Field::Pss, &figures(1030, &["api", "new"], 7));
    let last = rounds.0.finish(INTERVAL, Err(Missing::Pending)).unwrap();
    assert_eq!(cells(&last, "new"), [Ok(7), Ok(2), Ok(2), Ok(0), Ok(5), Ok(7)]);
}

#[test]
fn programs_that_leak_on_many_hosts_are_one_suspect() {
    let hosts: Vec<String> = (0..30).map(|n| format!("web{n:02}")).collect();
    let leaking = 12;
    let told = |field, value: f64| {
        let labels: Vec<_> = hosts[..leaking].iter().map(|host| group(host, "api")).collect();
        let series: Vec<_> = labels.iter().map(|labels| (labels.as_str(), value)).collect();
        (field, answer(90_000, &series))
    };
    let mut more = vec![
        told(Field::Slope, 1000.0),
        told(Field::GrowingFor, 3600.0),
        told(Field::Confidence, 0.95),
    ];
    let verdict = |of_cron: f64| {
        let mut labels: Vec<_> = hosts[..leaking].iter().map(|host| (group(host, "api"), 5.0)).collect();
        labels.push((group("web29", "cron"), of_cron));
        let series: Vec<_> = labels.iter().map(|(labels, rank)| (labels.as_str(), *rank)).collect();
        (Field::Verdict, answer(90_000, &series))
    };
    more.push(verdict(4.0));
    more.push((Field::Steady, answer(90_000, &[(&group("web28", "cron"), 2.0)])));
    let rows: Vec<_> = hosts
        .iter()
        .flat_map(|host| [(host.as_str(), "api", 9), (host.as_str(), "cron", 1)])
        .collect();
    let mut state = State::default();
    state.push(Rounds::new().round(90_000, &rows, &more).unwrap());
    let told: Vec<_> = state
        .suspects
        .iter()
        .map(|s| (s.key.clone(), s.judgement.verdict, s.hosts))
        .collect();
    let RowKey::Group(api) = &told[0].0 else {
        panic!("{told:?}")
    };
    assert_eq!(
        (api.label(), told[0].1, told[0].2),
        (&b"api"[..], Verdict::Leaking, Some((12, 30)))
    );
    let since = state.suspects[0].judgement.since;
    assert_eq!(since, Some(Duration::from_secs(90_000 - 3600)));
    assert!((state.suspects[0].judgement.slope - 12_000.0).abs() < 1e-6);
    // That of a single host stands for itself.
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!((told[1].1, told[1].2), (Verdict::Growing, None));
    // The column says what the host said.
    let snapshot = state.snapshot.as_ref().unwrap();
    let count = |verdict| {
        let rows = snapshot.rows().iter().filter_map(|row| state.history.get(row.id));
        rows.filter(|row| row.trend().verdict == verdict).count()
    };
    assert_eq!(count(Verdict::Leaking), 12);
    assert_eq!([count(Verdict::Steady), count(Verdict::Unknown)], [1, 60 - 12 - 2]);
}

#[test]
fn the_past_comes_before_the_first_snapshot() {
    let mut rounds = Rounds::new();
    let snapshot = rounds.round(1000, &[("web", "api", 9), ("db", "pg", 4)], &[]).unwrap();
    let values = |of: &dyn Fn(u64) -> u64| {
        let points = (0..20).map(|n| format!(r#"[{},"{}"]"#, 700 + n * 15, of(n) * MIB));
        points.collect::<Vec<_>>().join(",")
    };
    let matrix = format!(
        r#"{{"status":"success","data":{{"resultType":"matrix","result":[
            {{"metric":{{{}}},"values":[{}]}},{{"metric":{{{}}},"values":[{}]}},{{"metric":{{{}}},"values":[[700,"1"]]}}]}}}}"#,
        group("web", "api"),
        values(&|n| n / 4 + 4),
        group("db", "pg"),
        values(&|_| 4),
        group("db", "ended"),
    );
    let mut past = Past::new(rounds.0.clock().unwrap());
    past.take(&rounds.0, Field::Pss, &Answer::read(matrix.as_bytes()).unwrap());
    let snapshots = past.snapshots(&rounds.0);
    assert_eq!(snapshots.len(), 20);
    let mut state = State::default();
    for past in &snapshots {
        assert!(past.monotonic < snapshot.monotonic && past.rows().len() == 2);
        state.history.push(past);
    }
    state.push(Arc::clone(&snapshot));
    let api = snapshot.rows().iter().find(|row| &*row.facts.comm == b"api").unwrap();
    let series = state.history.get(api.id).unwrap().footprint_series();
    assert_eq!(series.start(), Some(Duration::from_secs(700)));
    assert_eq!(series.newest().map(|(_, bytes)| bytes), Some(9 * MIB));
}
