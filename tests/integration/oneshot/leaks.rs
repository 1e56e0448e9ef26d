//! `zmtop leaks`: how suspects are written, and what the program does with its options.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::program::tree;
use crate::support::kills::killed;
use crate::support::pty::ZMTOP;
use crate::support::rows::{MIB, process, snapshot, with_facts};

use zmtop::account::countdown::Forecast;
use zmtop::call_tree::{Frame, KeptBy, Kind, Source};
use zmtop::group::{GroupBy, GroupKey, RowKey};
use zmtop::history::dangers::{Danger, Limit};
use zmtop::history::growth::LastGrowth;
use zmtop::history::kills::{Grower, Kill};
use zmtop::history::mappings::{MappingFigures, MappingGrowth, Presence};
use zmtop::history::stalls::{Stall, StallKind};
use zmtop::history::suspects::{Cause, Suspect, SuspectQuery, Users, ended_sample, suspects};
use zmtop::history::victims::KnownVictim;
use zmtop::history::{History, Shortfall};
use zmtop::model::kill::OomKill;
use zmtop::model::mapping::MappingKind;
use zmtop::model::page_cache::{CacheFigures, CachedFile, FileKind};
use zmtop::model::{Facts, Identity, Missing};
use zmtop::output::leaks::LeaksReport;
use zmtop::output::{Format, OutputStyle, write};
use zmtop::run::leaks::opening;
use zmtop::trend::{Judgement, Metric, Reasons, Verdict};

struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// Runs it with these arguments and no config.
fn zmtop(args: &[&str]) -> Ran {
    let home = tempfile::TempDir::new().unwrap();
    let done = Command::new(ZMTOP)
        .args(args)
        .env_clear()
        .env("HOME", home.path())
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran {
        code: done.status.code().unwrap(),
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8(done.stderr).unwrap(),
    }
}

const NOW: Duration = Duration::from_secs(100_000);

fn leak((key, facts): (RowKey, Option<Arc<Facts>>), verdict: Verdict, slope: f64) -> Suspect {
    Suspect {
        command: Some((*b"python3").into()),
        key,
        facts,
        count: 1,
        users: Users::default(),
        hosts: None,
        orphans: 0,
        alike: 0,
        stopped: None,
        judgement: Judgement {
            verdict,
            metric: Metric::Held,
            slope,
            confidence: 0.987,
            since: Some(NOW.saturating_sub(Duration::from_secs(3600))),
            floor: 90 * MIB,
            reasons: (verdict == Verdict::Leaking).then_some(Reasons::Window {
                seconds: 3600.0,
                parts: 15,
                grew: 14,
                load: None,
                gave_back: 0.03,
            }),
            ..Judgement::default()
        },
        footprint: 100 * MIB,
        eta: Some(7200.0),
        ended: None,
        times: 0,
        cause: None,
        kept_by: None,
    }
}

fn one(pid: u32, command: &str) -> (RowKey, Option<Arc<Facts>>) {
    let sample = process(pid, 1, command);
    (RowKey::Process(sample.id), Some(sample.facts))
}

fn some() -> Vec<Suspect> {
    let group = RowKey::Group(GroupKey {
        by: GroupBy::Command,
        name: Some((*b"worker").into()),
    });
    let group = (group, None);
    let frame = |function: &str, line| Frame {
        function: function.into(),
        module: "train".into(),
        source: Some(Source {
            file: "/src/train.c".into(),
            line,
        }),
        inlined: false,
        kind: Kind::Program,
    };
    let kept_by = KeptBy {
        frames: vec![frame("remember\x1b[31m", 41), frame("handle", 88)],
        runtime: None,
        bytes: 94 * MIB,
        total: 100 * MIB,
        time: Duration::from_secs(3600),
    };
    vec![
        Suspect {
            kept_by: Some(Arc::new(kept_by)),
            ..leak(one(42, "/usr/bin/python3 train.py"), Verdict::Leaking, 200e3)
        },
        Suspect {
            command: Some((*b"worker").into()),
            count: 12,
            alike: 11,
            eta: None,
            ..leak(group, Verdict::Growing, 10.0)
        },
        Suspect {
            ended: Some(NOW.saturating_sub(Duration::from_secs(60))),
            eta: None,
            times: 3,
            ..leak(one(7, "=cmd\x1b[31m \u{202e}x"), Verdict::Leaking, 5e6)
        },
    ]
}

fn written(suspects: &[Suspect], format: Format, width: Option<usize>) -> String {
    written_with(suspects, Shortfall::default(), format, width)
}

fn written_with(suspects: &[Suspect], shortfall: Shortfall, format: Format, width: Option<usize>) -> String {
    written_of(suspects, &[], shortfall, format, width)
}

/// Of the machine and of a cgroup.
fn stalls() -> [Stall; 2] {
    let one = one(1, "init").0;
    let id = one.process().expect("it is one");
    let thrash = Stall {
        cgroup: None,
        kind: StallKind::Thrash,
        share: 0.58,
        since: NOW,
        waiter: Some((id, 4e7)),
        taker: Some((id, 2e6)),
    };
    let throttled = Stall {
        cgroup: Some(b"/a\nb"[..].into()),
        kind: StallKind::Throttled,
        waiter: None,
        taker: None,
        ..thrash.clone()
    };
    [thrash, throttled]
}

fn written_of(
    suspects: &[Suspect],
    dangers: &[Danger],
    shortfall: Shortfall,
    format: Format,
    width: Option<usize>,
) -> String {
    let mut snap = snapshot(NOW, vec![process(1, 0, "init")]);
    snap.time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    // Of the first the heap grew.
    let heap = MappingGrowth {
        kind: MappingKind::Heap,
        name: (*b"[heap]").into(),
        before: Ok(MIB),
        now: Ok(40 * MIB),
        figures: Ok(MappingFigures::default()),
        areas: 1,
        presence: Presence::Both,
    };
    let grown = suspects
        .first()
        .map(|first| (first.key.clone(), heap))
        .into_iter()
        .collect();
    let (kills, stalls) = (kills(), stalls());
    let stop = |suspect: &Suspect| Suspect {
        judgement: Judgement {
            verdict: Verdict::Steady,
            ..Judgement::NONE
        },
        stopped: Some(LastGrowth {
            since: NOW.saturating_sub(Duration::from_secs(900)),
            until: NOW.saturating_sub(Duration::from_secs(300)),
            from: 100 * MIB,
            to: 200 * MIB,
        }),
        ..suspect.clone()
    };
    let stopped: Vec<_> = suspects.iter().take(dangers.len().min(1)).map(stop).collect();
    let files = suspects
        .last()
        .map(|last| (last.key.clone(), queue()))
        .filter(|_| suspects.len() > 1);
    let files = files.into_iter().collect();
    let report = LeaksReport {
        snapshot: &snap,
        history: &History::new(Duration::from_secs(10)),
        watched: Duration::from_secs(600),
        past_age: None,
        by: None,
        matched: (suspects.len() > 1).then_some(3),
        suspects,
        stopped: &stopped,
        dangers,
        stalls: stalls.get(..2 * dangers.len().min(1)).unwrap_or_default(),
        kills: kills.iter().filter(|_| !dangers.is_empty()).collect(),
        grown: &grown,
        files: &files,
        more: 2,
        shortfall,
        style: OutputStyle {
            width,
            ..OutputStyle::default()
        },
    };
    let mut out = Vec::new();
    write(&mut out, &report, format).unwrap();
    String::from_utf8(out).unwrap()
}

/// The largest file of a file system in memory.
fn queue() -> CachedFile {
    CachedFile {
        path: (*b"/dev/shm/queue\x1b.dat").into(),
        is_deleted: false,
        kind: FileKind::Shmem,
        size: Ok(224 * MIB),
        figures: Ok(CacheFigures::only(224 * MIB, Ok(0))),
        processes: Ok(1),
        first: Some((6576, (*b"python3").into())),
    }
}

/// A kill of which all is known, and one of which nothing is.
fn kills() -> [Kill; 2] {
    let seen = with_facts(process(9137, 1, "/srv/importer --all\x1b[31m"), |facts| {
        facts.container = Some(zmtop::model::Container::named(&b"3f4ab2c8e9d0"[..]));
    });
    let whole = Kill {
        event: killed(NOW.as_secs() - 14, 5, 9137, "importer", 148, Some("/sh\x1bop")),
        at: NOW.saturating_sub(Duration::from_secs(14)),
        known: Some(KnownVictim {
            id: seen.id,
            facts: seen.facts,
            footprint: 147 * MIB,
        }),
        grower: Some(Grower {
            key: one(12, "python3").0,
            name: (*b"python3").into(),
            bytes: 300 * MIB,
            over: Duration::from_secs(120),
        }),
        cgroup: None,
        is_seen: false,
        is_open: false,
    };
    let unknown = Kill {
        event: OomKill {
            record: None,
            victim: Err(Missing::Denied),
            ..whole.event.clone()
        },
        known: None,
        grower: None,
        ..whole.clone()
    };
    [whole, unknown]
}

fn dangers() -> [Danger; 3] {
    let forecast = Forecast {
        is_tooth: false,
        left: 16 << 30,
        pace: 1_500_000.0,
        window: Duration::from_secs(128),
        since: NOW,
    };
    let program = GroupKey {
        by: GroupBy::Command,
        name: Some(b"nginx\x1b[31m"[..].into()),
    };
    [
        Danger {
            limit: Limit::Cgroup(b"/a\nb"[..].into()),
            forecast: Forecast {
                left: 1 << 30,
                ..forecast
            },
            place: None,
            taker: Some((one(1, "init").0, 1_400_000.0)),
        },
        Danger {
            limit: Limit::Machine,
            forecast,
            place: None,
            taker: Some((RowKey::Group(program), 900_000.0)),
        },
        Danger {
            limit: Limit::Machine,
            forecast,
            place: None,
            taker: None,
        },
    ]
}

/// Reports with suspects and dangers, as JSON.
pub(crate) fn of_all() -> [String; 2] {
    [&[][..], &dangers()].map(|dangers| written_of(&some(), dangers, Shortfall::default(), Format::Json, None))
}

#[test]
fn dangers_come_first() {
    let dangers = dangers();
    let written = |format| written_of(&some()[..1], &dangers, Shortfall::default(), format, None);
    insta::assert_snapshot!("leaks-dangers", written(Format::Table));
    insta::assert_snapshot!("leaks-dangers-json", written(Format::Json));
}

#[test]
fn as_a_table() {
    let text = written(&some(), Format::Table, None);
    insta::assert_snapshot!("leaks-table", text);
    // Nothing is wider than the terminal, and nothing of a name is raw.
    for width in [1, 20, 60, 80, 200] {
        let text = written(&some(), Format::Table, Some(width));
        let all = text
            .lines()
            .take_while(|line| *line != "and 2 more")
            .all(|line| zmtop::text::width(line) <= width);
        assert!(
            all && !text.contains('\x1b') && !text.contains('\u{202e}'),
            "{width}:\n{text}"
        );
    }
    let none = written(&[], Format::Table, None);
    assert_eq!(none, "nothing to report: 1 processes seen over 10m00\n");
}

#[test]
fn the_name_matters_more_than_the_cause() {
    let suspect = Suspect {
        cause: Some(Cause::SharedMemory),
        ..leak(one(42, "/usr/bin/python3 train.py"), Verdict::Growing, 200e3)
    };
    let lines = |width| {
        let text = written(std::slice::from_ref(&suspect), Format::Table, Some(width));
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let wide = lines(200);
    assert!(
        wide[1].ends_with("python3 train.py  in shared memory and tmpfs"),
        "{wide:?}"
    );
    let narrow = lines(80);
    assert!(narrow[1].ends_with("python3 train.py"), "{narrow:?}");
    assert!(narrow[2].contains("in shared memory and tmpfs"), "{narrow:?}");
}

#[test]
fn what_the_history_did_not_keep_is_said() {
    let shortfall = Shortfall {
        processes: 1200,
        groups: 1,
        ..Shortfall::default()
    };
    for suspects in [some(), Vec::new()] {
        let text = written_with(&suspects, shortfall, Format::Table, Some(80));
        let want = "1200 processes, 1 group without history: history.max_memory is too small for them";
        assert_eq!(text.lines().last(), Some(want));
    }
    let json: serde_json::Value = serde_json::from_str(&written_with(&[], shortfall, Format::Json, None)).unwrap();
    assert_eq!(json["without_history"], 1201);
}

#[test]
fn what_is_flat_has_no_pace() {
    let mut suspects = vec![leak(one(7, "ingest"), Verdict::Leaking, 0.0)];
    suspects[0].judgement.flat_since = Some(NOW.saturating_sub(Duration::from_secs(180)));
    suspects[0].eta = None;
    let text = written(&suspects, Format::Table, None);
    let words: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(words[..5], ["leaking", "paused", "98%", "1h00", "-"]);
    let json: serde_json::Value = serde_json::from_str(&written(&suspects, Format::Json, None)).unwrap();
    assert_eq!(json["leaks"][0]["slope_bytes_per_s"], 0.0);
    assert_eq!(json["leaks"][0]["flat_since"], "2027-01-15T07:57:00.000Z");
}

#[test]
fn as_data() {
    let json = written(&some(), Format::Json, None);
    insta::assert_snapshot!("leaks-json", json);
    let line = written(&some(), Format::Ndjson, None);
    assert_eq!(line.lines().count(), 1);
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(read(&json), read(&line));
    let csv = written(&some(), Format::Csv, None);
    insta::assert_snapshot!("leaks-csv", csv.replace("\r\n", "\n"));
}

#[test]
fn one_that_ended_can_be_asked_for_its_words() {
    use zmtop::columns::{COLUMNS, Row};
    use zmtop::filter::Filter;
    let sample = process(9, 1, "/usr/bin/node server.js");
    let gone = ended_sample(sample.id, &sample.facts);
    let snap = snapshot(NOW, Vec::new());
    let passes = |text: &str| {
        let row = Row::of_process(&gone, None, &snap);
        Filter::parse(text, &COLUMNS).unwrap().matches(&row)
    };
    assert!(passes("node user:root pid:9"));
    assert!(!passes("python") && !passes("pss>0") && !passes("!pss>0"));
}

#[test]
fn of_nothing_there_are_no_suspects() {
    let history = History::new(Duration::from_secs(10));
    let snap = snapshot(NOW, Vec::new());
    assert_eq!(suspects(&history, &snap, SuspectQuery::GROWING), []);
    for by in GroupBy::OF_PROCESSES {
        let ask = SuspectQuery {
            least: Verdict::Shrinking,
            by: Some(by),
        };
        assert_eq!(suspects(&history, &snap, ask), []);
    }
    assert!(history.ended(Identity { pid: 1, starttime: 1 }).is_none());
}

#[test]
fn a_recorded_service_that_leaks_is_called_and_one_that_does_not_is_not() {
    let fixture = |name: &str| format!("{}/tests/fixtures/recordings/{name}", env!("CARGO_MANIFEST_DIR"));
    let check = |name: &str, args: &[&str]| {
        let path = fixture(name);
        zmtop(&[&["leaks", "--check", "--from", &path], args].concat())
    };
    let leaking = check("leaking-service.ndjson.zst", &[]);
    assert_eq!(leaking.code, 1, "{}{}", leaking.out, leaking.err);
    assert!(
        leaking.out.contains("leaking") && leaking.out.contains("/min"),
        "{}",
        leaking.out
    );
    // A filter that selects nothing says so, and is no all-clear. One by figures is.
    let nobody = check("leaking-service.ndjson.zst", &["nobody"]);
    let said = "zmtop: not yet judged: no process matches the filter\n";
    assert_eq!((nobody.code, nobody.err.as_str()), (5, said));
    assert_eq!(check("leaking-service.ndjson.zst", &["pss>1T"]).code, 0);
    let path = fixture("leaking-service.ndjson.zst");
    let unchecked = zmtop(&["leaks", "--from", &path, "nobody", "--format", "json"]);
    let said = "zmtop: no process matches the filter\n";
    assert_eq!((unchecked.code, unchecked.err.as_str()), (0, said));
    assert!(unchecked.out.contains("\"matched\":0,"), "{}", unchecked.out);
    // After half of the time it grows, at an even pace or a little slower: a fact, and no leak yet.
    let half = check("leaking-service.ndjson.zst", &["--at", "-10m"]);
    let grows = ["growing", "warming"].iter().any(|word| half.out.contains(word));
    assert!(half.code == 5 && grows, "{}", half.out);
    assert!(
        half.err.contains("not yet judged") && half.err.contains("16m"),
        "{}",
        half.err
    );
    assert_eq!(
        check("leaking-service.ndjson.zst", &["--by", "command", "verdict:leaking"]).code,
        1
    );
    let steady = check("steady-service.ndjson.zst", &[]);
    assert_eq!((steady.code, steady.err.as_str()), (0, ""), "{}", steady.out);
    assert!(
        steady.out.starts_with("nothing to report: 1 processes seen over 19m5"),
        "{}",
        steady.out
    );
    let all = check("steady-service.ndjson.zst", &["--all", "--format", "csv"]);
    assert!(all.out.contains(",steady,held,"), "{}", all.out);
}

#[test]
fn a_leak_is_not_hidden_by_the_sum_of_its_group() {
    let path = format!(
        "{}/tests/fixtures/recordings/leaking-service.ndjson.zst",
        env!("CARGO_MANIFEST_DIR")
    );
    let packed = std::fs::read(path).unwrap();
    let recorded = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let mut lines = String::new();
    for line in recorded.lines() {
        let mut snapshot: serde_json::Value = serde_json::from_str(line).unwrap();
        let processes = snapshot["processes"].as_array_mut().unwrap();
        // Another one of the same user gives back what the first takes.
        let mut other = processes[0].clone();
        other["pid"] = (other["pid"].as_u64().unwrap() + 1).into();
        (other["comm"], other["cmdline"]) = ("other".into(), "other\0".into());
        for figure in ["pss", "pss_anon", "pss_dirty", "uss", "rss", "private_dirty"] {
            if let Some(bytes) = other[figure].as_u64() {
                other[figure] = ((4 << 30) - bytes).into();
            }
        }
        processes.push(other);
        lines += &(snapshot.to_string() + "\n");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("two.ndjson");
    std::fs::write(&path, lines).unwrap();
    let ran = zmtop(&["leaks", "--check", "--by", "user", "--from", path.to_str().unwrap()]);
    assert!(!ran.out.contains("leaking"), "{}", ran.out);
    let said = "zmtop: no group leaks as a whole, but there is 1 leak without --by\n";
    assert_eq!((ran.code, ran.err.as_str()), (1, said), "{}", ran.out);
    let ps = |filter| {
        zmtop(&[
            "ps",
            "--check",
            "--by",
            "user",
            "--from",
            path.to_str().unwrap(),
            filter,
        ])
    };
    let ran = ps("verdict:leaking");
    let said = "zmtop: no group matches, but 1 process matches without --by\n";
    assert_eq!((ran.code, ran.err.as_str()), (1, said), "{}", ran.out);
    // Figures apply to sums.
    assert_eq!(ps("pss>1T").code, 0);
}

#[test]
fn it_announces_at_once_how_long_it_watches() {
    let tree = tree();
    let mut child = Command::new(ZMTOP)
        .args(["leaks", "--for", "2m", "--proc-root"])
        .arg(tree.root())
        .env_clear()
        .env("HOME", tree.path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let read = BufReader::new(child.stderr.take().unwrap()).read_line(&mut line);
    child.kill().unwrap();
    child.wait().unwrap();
    read.unwrap();
    assert_eq!(
        line,
        "zmtop: no history is kept for this: watching for 2m; Ctrl-C reports\n"
    );
}

#[test]
fn a_filter_that_matches_no_process_is_answered_at_once() {
    let tree = tree();
    for (option, code) in [("--check", 5), ("--all", 0)] {
        let ran = zmtop(&[
            "leaks",
            "no-such-program",
            option,
            "--proc-root",
            tree.root().to_str().unwrap(),
        ]);
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(ran.err.contains("no process matches the filter"), "{}", ran.err);
    }
}

#[test]
fn the_announcement_is_true_of_the_past() {
    let minutes = |n: u64| Duration::from_secs(60 * n);
    let line = |past, known| opening(past, minutes(known), minutes(20));
    let past = || Some(Ok("the history that the monitor saved until 13:05, 2m03 ago".to_owned()));
    assert_eq!(
        line(past(), 12),
        "the history that the monitor saved until 13:05, 2m03 ago, is too short to judge: 12m00 are known; watching for 20m; \
         Ctrl-C reports"
    );
    assert_eq!(
        line(past(), 40),
        "continues the history that the monitor saved until 13:05, 2m03 ago; watching for 20m; Ctrl-C reports"
    );
    assert_eq!(
        opening(None, minutes(0), minutes(20)),
        "no history is kept for this: watching for 20m; Ctrl-C reports"
    );
    let stale = "the history that the monitor saved ended 1h ago, more than 15m";
    assert_eq!(
        line(Some(Err(stale.into())), 0),
        format!("{stale}; watching for 20m; Ctrl-C reports")
    );
}

#[test]
fn options_that_make_no_sense_are_reported() {
    for (args, what) in [
        (
            &["leaks", "--for", "1m"][..],
            "--for: expected a duration from 2m to 24h, such as 20m",
        ),
        (&["leaks", "--for", "soon"], "--for: expected a duration"),
        (&["leaks", "--from", "x", "--for", "5m"], "cannot be used with"),
        (
            &["leaks", "--by", "mapping"],
            "possible values: command, user, unit, container, pod, cgroup",
        ),
        (&["leaks", "--at", "-5m"], "--from"),
        (
            &["leaks", "pss>"],
            "FILTER: not a filter: a figure is missing after pss: write a size such as 100M or 1.5G\nzmtop:     pss>\nzmtop:         ^\n",
        ),
        (&["leaks", "--interval", "1ms"], "--interval: `1ms` is out of range"),
    ] {
        let Ran { code, err, .. } = zmtop(args);
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(what), "{args:?}: {err}");
    }
    let Ran { code, err, out } = zmtop(&["leaks", "--from", "/nonexistent"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.contains("/nonexistent"), "{err}");
}
