//! Snapshots of rounds of answers.

use std::sync::Arc;
use std::time::Duration;

use zmtop::columns::{self, Row, Value};
use zmtop::engine::State;
use zmtop::group::{GroupBy, RowKey, groups};
use zmtop::model::{Missing, Snapshot};
use zmtop::source::prometheus::{Answer, AnswerError, Field, FleetSource, HostLabel, Past};
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
        Self(FleetSource::new("prometheus", HostLabel::default()))
    }

    fn take(&mut self, field: Field, text: &str) {
        self.0.take(field, &Answer::read(text.as_bytes()).unwrap());
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

#[test]
fn time_is_that_of_the_answers_and_never_runs_back() {
    let mut rounds = Rounds::new();
    let one = [("web", "api", 3)];
    let first = rounds.round(5_000_000, &one, &[]).unwrap();
    assert_eq!(first.monotonic, Duration::from_secs(5_000_000));
    assert!(rounds.round(5_000_000, &one, &[]).is_none());
    assert!(rounds.round(4_999_999, &one, &[]).is_none());
    assert!(rounds.round(5_000_001, &one, &[]).is_some());
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
    let mut past = Past::default();
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
