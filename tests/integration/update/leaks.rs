//! Leaks: the line, the list, and going from there to a suspect.

use std::sync::Arc;

use crate::support::long;
use crate::support::rows::{MIB, process, walk, with_facts};
use crate::support::session::Session;

use zmtop::act::{Command, ProcessAction, Reply};
use zmtop::columns::Needs;
use zmtop::group::{GroupBy, RowKey};
use zmtop::history::mappings::Coldness;
use zmtop::model::ProcessSample;
use zmtop::model::mapping::{Extent, Mapping, MappingName};
use zmtop::trend::Verdict;
use zmtop::tui::app::Scope;
use zmtop::tui::popup::leaks::LeakList;
use zmtop::tui::{Effect, Event};

const KIB: u64 = 1024;

/// The second by which what leaks from the fifth minute on is called a leak.
const CALLED: u64 = 1500;

fn one(pid: u32, command: &str, bytes: u64) -> ProcessSample {
    let mut sample = with_facts(process(pid, 1, command), |_| {});
    sample.walk = Ok(walk(bytes, 0));
    sample
}

/// A machine on which 500 leaks 10 MB a minute from the fifth minute on, and so does 600, half as fast, until second
/// 1600, when it ends; the twelve workers are never a minute old, and hold ever more together.
fn machine(second: u64) -> Vec<ProcessSample> {
    let grown = second.saturating_sub(300);
    let mut all = vec![
        one(1, "/sbin/init", 9 * MIB),
        one(400, "/usr/bin/postgres", 300 * MIB + second % 7 * 40 * KIB),
        one(500, "/usr/bin/python3 train.py", 100 * MIB + grown * 170 * KIB),
    ];
    if second < 1600 {
        all.push(one(600, "/usr/bin/node server.js", 80 * MIB + grown * 85 * KIB));
    }
    for n in 0..12_u64 {
        let age = second / 50;
        let pid = 1000 + (age * 12 + n) as u32;
        all.push(one(pid, "/usr/sbin/worker", 20 * MIB + grown * 10 * KIB));
    }
    all
}

fn leaking(width: u16, height: u16, until: u64) -> Session {
    watched(Session::new(width, height), until)
}

/// A session that watches the machine until then, every four seconds.
fn watched(mut session: Session, until: u64) -> Session {
    for second in (0..until).step_by(4) {
        session.tick_with(4, machine(second), |snap| {
            snap.system.uptime = Ok(1_000_000.0 + second as f64);
        });
    }
    session
}

fn heap(mib: u64) -> Arc<zmtop::model::Reading<Vec<Mapping>>> {
    Arc::new(Ok(vec![Mapping {
        areas: 1,
        memory: Ok(walk(mib * MIB, 0).memory),
        ..Mapping::new(MappingName::parse(b"[heap]", false))
    }]))
}

#[test]
fn they_are_reported_worst_first_and_each_once() {
    let session = leaking(120, 40, 1700);
    let found: Vec<_> = session
        .app
        .engine
        .suspects
        .iter()
        .map(|s| {
            let who = match &s.key {
                RowKey::Process(id) => id.pid.to_string(),
                RowKey::Group(key) => String::from_utf8_lossy(key.label()).into_owned(),
                RowKey::Part(key) => key.label.into(),
            };
            (who, s.judgement.verdict, s.count, s.ended.is_some())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("500".to_owned(), Verdict::Leaking, 1, false),
            ("worker".to_owned(), Verdict::Leaking, 12, false),
            ("600".to_owned(), Verdict::Leaking, 1, true),
        ]
    );
}

#[test]
fn the_line_names_the_worst_and_what_of_it_grows_before_anybody_asks() {
    let mut session = leaking(160, 40, CALLED);
    // Its mappings are asked for by itself, now and then.
    let asked: Vec<_> = session
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Inspect(inspect) => *inspect,
            _ => None,
        })
        .collect();
    assert!(!asked.is_empty() && asked.iter().all(|i| !i.closely), "{asked:?}");
    assert_eq!(asked[0].id.pid, 500);
    assert!(session.needs().last().unwrap().contains(Needs::CGROUP_FIGURES));
    let id = asked[0].id;
    session.tick(1, machine(CALLED));
    session.feed(Event::Inspected(id, heap(90)));
    for second in CALLED + 1..CALLED + 60 {
        session.tick(1, machine(second));
    }
    session.feed(Event::Inspected(id, heap(101)));
    let line = session.line("▲ leak  ");
    assert!(line.contains("leak") && line.contains("500 python3 train.py"), "{line}");
    assert!(
        ["9.9M/min", "10.0M/min"]
            .iter()
            .any(|pace| line.contains(&format!("{pace} since "))),
        "{line}"
    );
    assert!(line.contains("[heap] +11.0M"), "{line}");
    assert!(session.line("zmtop").contains("leak"));
    // The panel begins with what was read before it was opened.
    session.keys("L Enter");
    assert!(session.app.shows_panel());
    assert_eq!(session.selected(), Some(500));
    assert!(session.line("[heap]").contains("+11.0M"), "{}", session.picture());
}

#[test]
fn where_nothing_leaks_there_is_no_line_and_an_empty_page() {
    let mut session = leaking(120, 40, 200);
    assert!(session.app.engine.suspects.is_empty());
    assert!(!session.picture().contains('▲') && !session.line("zmtop").contains("leak"));
    session.keys("L");
    assert!(session.picture().contains("nothing grows or leaks so far"));
    session.keys("Enter");
    assert!(session.app.popup::<LeakList>().is_some());
    let message = session.app.screen.message.as_ref().unwrap();
    assert!(message.text.contains("nothing grows or leaks so far"));
    assert!(!session.effects.iter().any(|e| matches!(e, Effect::Inspect(Some(_)))));
}

#[test]
fn enter_goes_there_through_filters_folds_and_groups() {
    let mut session = leaking(120, 40, CALLED);
    session.app.query.filter.set("postgres");
    session.keys("Tab Tab L Enter");
    assert_eq!(
        (session.selected(), session.app.query.scope.clone()),
        (Some(500), Scope::Processes)
    );
    assert!(session.app.query.filter.good.is_empty() && session.app.shows_panel());
    assert!(
        session
            .app
            .screen
            .message
            .as_ref()
            .unwrap()
            .text
            .contains("without the filter")
    );
    // A program that grows though none of its processes does.
    session.keys("L Down Enter");
    assert_eq!(session.app.query.scope, Scope::Groups(GroupBy::Command));
}

#[test]
fn a_program_and_one_that_ended() {
    let mut session = leaking(120, 40, 1700);
    session.keys("L Down Enter");
    assert_eq!(session.app.query.scope, Scope::Groups(GroupBy::Command));
    assert_eq!(session.selected_group().as_deref(), Some("worker"));
    session.keys("L End Enter");
    assert!(session.app.screen.message.as_ref().unwrap().text.contains("has ended"));
    session.keys("L");
    assert!(session.line("node").contains("ended 96s ago"), "{}", session.picture());
    assert!(session.line("(12 processes)").contains("worker"));
    // The titles stand above the entries: a click on them does nothing, one on an entry goes to that one.
    let row_of = |picture: &str, text: &str| {
        let row = picture.lines().position(|line| line.contains(text)).unwrap();
        u16::try_from(row).unwrap()
    };
    let picture = session.picture();
    session.keys("Esc Tab L").click(60, row_of(&picture, "VERDICT"));
    assert!(session.app.popup::<LeakList>().is_some());
    session.click(60, row_of(&picture, "(12 processes)"));
    assert!(session.app.modal.is_none());
    assert_eq!(session.selected_group().as_deref(), Some("worker"));
}

#[test]
fn the_keys_of_the_table_move_in_the_list() {
    let mut session = leaking(120, 40, CALLED);
    session.keys("L");
    let last = session.app.engine.listed().count() - 1;
    assert!(last >= 2);
    for (key, at) in [
        ("G", last),
        ("k", last - 1),
        ("g", 0),
        ("j", 1),
        ("End", last),
        ("Home", 0),
        ("PageDown", last),
        ("PageUp", 0),
        ("Down", 1),
        ("Up", 0),
    ] {
        session.keys(key);
        assert_eq!(session.app.popup::<LeakList>().unwrap().list.cursor, at, "{key}");
    }
    // A key starts the search, in which letters are text.
    session.keys("/").types("node");
    let line = session.line("Search  node");
    assert!(line.contains("1 of 1"), "{line}");
    session.keys("Esc q");
    assert!(session.app.modal.is_none());
}

#[test]
fn the_cursor_stays_with_whom_it_is_on() {
    let mut session = leaking(120, 40, CALLED);
    session.keys("L j");
    let at = |session: &Session| {
        let cursor = session.app.popup::<LeakList>().unwrap().list.cursor;
        session.app.engine.suspects[cursor].key.clone()
    };
    let who = at(&session);
    for second in CALLED..CALLED + 110 {
        session.tick(1, machine(second));
        let there = session.app.engine.suspects.iter().any(|s| s.key == who);
        assert!(!there || at(&session) == who, "{second}");
    }
}

#[test]
fn the_order_by_trend_has_leaks_first() {
    let mut session = leaking(120, 40, CALLED);
    session.keys("T");
    assert_eq!(session.pids()[..2], [500, 600]);
    session.keys("I");
    // What is not known yet comes last, either way.
    let known: Vec<u32> = session.pids().into_iter().filter(|pid| *pid < 1000).collect();
    assert_eq!(known, [400, 1, 600, 500]);
}

#[test]
fn while_it_is_paused_nothing_is_read() {
    let mut session = leaking(120, 40, CALLED);
    session.keys("Z");
    let last = session.effects.iter().rev().find_map(|e| match e {
        Effect::Inspect(inspect) => Some(*inspect),
        _ => None,
    });
    assert_eq!(last, Some(None));
}

#[test]
fn a_slow_leak_in_one_of_a_thousand_is_named_with_its_growing_mapping() {
    // A fourth of them in the short form.
    let step = if long() { 1 } else { 4 };
    let mut session = Session::new(120, 40);
    // Each trembles by some hundred KiB of its own; 777 gathers a megabyte a minute from the second minute on.
    let trembles = |pid: u64, second: u64| {
        let mixed = (pid << 32 | second).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ mixed >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 44) % 400 * KIB
    };
    let machine = |second: u64| {
        let all = (1..=1000_u64).step_by(step).map(|pid| {
            let gathered = if pid == 777 {
                second.saturating_sub(120) * MIB / 60
            } else {
                0
            };
            let command = format!("/usr/bin/service{} --shard {pid}", pid / 10);
            let base = 20 + pid * 7919 % 300;
            one(pid as u32, &command, base * MIB + trembles(pid, second) + gathered)
        });
        all.collect::<Vec<_>>()
    };
    let (mut asked, mut told) = (0, None);
    for second in (0..1560).step_by(5) {
        session.tick_with(5, machine(second), |snap| {
            snap.interval = std::time::Duration::from_secs(5);
            snap.system.uptime = Ok(1_000_000.0 + second as f64);
        });
        if !session.app.engine.suspects.is_empty() && told.is_none() {
            told = Some(second);
        }
        // Its mappings are read when they are asked for; the heap holds what it gathered.
        let wanted = session.effects.drain(..).filter_map(|effect| match effect {
            Effect::Inspect(inspect) => inspect,
            _ => None,
        });
        if let Some(inspect) = wanted.collect::<Vec<_>>().pop().or(session.app.requests.inspected) {
            assert_eq!(inspect.id.pid, 777);
            asked += 1;
            session.feed(Event::Inspected(inspect.id, heap(15 + (second - 120) / 60)));
        }
    }
    assert!(
        asked > 10 && told.is_some_and(|second| second <= 720),
        "{asked} {told:?}"
    );
    let line = session.line("▲ leak  ");
    assert!(
        line.contains("▲ leak  777 service77 --shard 777") && line.contains("  [heap] +"),
        "{line}"
    );
    session.keys("L Enter");
    assert_eq!(session.selected(), Some(777));
    let picture = session.picture();
    assert!(
        picture.contains("▲ leaking") && picture.contains("growth in"),
        "{picture}"
    );
    assert!(
        session.line("heap    [heap]").trim_start().starts_with('+'),
        "{picture}"
    );
}

/// The processes whose referenced bits were to be cleared.
fn cleared(session: &Session) -> Vec<u32> {
    let mut ids = Vec::new();
    let mut pinned = Vec::new();
    for effect in &session.effects {
        match effect {
            Effect::Act(Command::Pin(request, of)) => pinned = vec![(*request, of.clone())],
            Effect::Act(Command::Perform(request, ProcessAction::ClearReferenced)) => {
                let of = pinned.iter().find(|(pinned, _)| pinned == request);
                ids.extend(of.unwrap().1.iter().map(|id| id.pid));
            }
            _ => {}
        }
    }
    ids
}

#[test]
fn what_is_called_a_leak_is_asked_about_once_where_the_config_wants_it() {
    assert!(cleared(&leaking(80, 24, CALLED)).is_empty(), "not by itself");
    let proving = |readonly| {
        let mut session = Session::new(80, 24);
        session.app.config.settings.suspects.prove = true;
        session.app.config.settings.ui.readonly = readonly;
        watched(session, CALLED)
    };
    assert!(
        cleared(&proving(true)).is_empty(),
        "nothing is changed where only reading is allowed"
    );
    let mut session = proving(false);
    let mut asked = cleared(&session);
    asked.sort_unstable();
    assert_eq!(asked, [500, 600]);
    // What was not touched is told with the leak.
    let id = session.app.engine.leaks().next().unwrap().key.process().unwrap();
    session.feed(Event::Act(Reply::Performed(
        1,
        ProcessAction::ClearReferenced,
        vec![Ok(0)],
    )));
    let look = *session.app.requests.looks.first().unwrap();
    assert_eq!(look.id, id);
    let heap = Mapping {
        areas: 1,
        memory: Ok(walk(430 * MIB, 0).memory),
        extent: Ok(Extent {
            referenced: Ok(18 * MIB),
            ..Extent::NONE
        }),
        ..Mapping::new(MappingName::parse(b"[heap]", false))
    };
    let coldness = Coldness::new(&[heap], std::time::Duration::from_secs(600));
    session.feed(Event::Looked(look, Ok(coldness)));
    session.feed(Event::Resize(200, 50));
    assert!(
        session.picture().contains("412M of 430M in [heap] untouched for 10m"),
        "{}",
        session.picture()
    );
    session.keys("L");
    let list = session.picture();
    assert!(list.contains("freed nothing"), "{list}");
    assert!(list.contains("412M of 430M in [heap] untouched"), "{list}");
}

#[test]
fn growth_that_slows_down_is_reported_too() {
    let mut session = Session::new(120, 30);
    for second in 0..200_u64 {
        let filled = 400.0 * (1.0 - (-(second as f64) / 80.0).exp());
        session.tick_with(
            1,
            vec![one(500, "/usr/bin/cache", (100.0 + filled) as u64 * MIB)],
            |snap| {
                snap.system.uptime = Ok(1_000_000.0 + second as f64);
            },
        );
    }
    let verdicts: Vec<_> = session
        .app
        .engine
        .suspects
        .iter()
        .map(|s| s.judgement.verdict)
        .collect();
    assert_eq!(verdicts, [Verdict::Warming]);
    let picture = session.picture();
    assert!(picture.contains("~ warming up  500"), "{picture}");
}

/// A process that grows by 10 MiB a minute from the fifth minute until the fifteenth, one that frees all then, and one that needs it
/// again later.
fn that_stop(second: u64) -> Vec<ProcessSample> {
    let grown = second.clamp(300, 900) - 300;
    let given_back = if second < 900 { grown } else { 0 };
    let again = if (900..1000).contains(&second) { 0 } else { grown };
    vec![
        one(500, "/usr/bin/python3 fill.py", 100 * MIB + grown * 170 * KIB),
        one(600, "/usr/bin/node batch.js", 100 * MIB + given_back * 170 * KIB),
        one(700, "/usr/bin/ruby again.rb", 100 * MIB + again * 170 * KIB),
    ]
}

#[test]
fn growth_that_stopped_is_listed_below_what_grows_for_a_while() {
    let mut session = Session::new(120, 40);
    let watch = |session: &mut Session, seconds: std::ops::Range<u64>| {
        for second in seconds.step_by(4) {
            session.tick_with(4, that_stop(second), |snap| {
                snap.system.uptime = Ok(1_000_000.0 + second as f64);
            });
        }
    };
    watch(&mut session, 0..880);
    assert!(session.app.engine.stopped.is_empty());
    watch(&mut session, 880..1300);
    let state = &session.app.engine;
    assert!(state.suspects.is_empty(), "{:?}", state.suspects);
    let pids: Vec<_> = state
        .stopped
        .iter()
        .filter_map(|s| Some(s.key.process()?.pid))
        .collect();
    assert_eq!(pids, [500]);
    assert!(!session.picture().contains("growing"), "{}", session.picture());
    session.keys("L");
    let line = session.line("fill.py  grew until ");
    assert!(line.contains("steady") && line.contains(", now steady"), "{line}");
    session.line("it grew by 93.0M and kept it");
    session.keys("Enter");
    assert_eq!(session.selected(), Some(500));
    watch(&mut session, 1300..1800);
    assert!(session.app.engine.stopped.is_empty());
}

#[test]
fn the_note_says_how_sure_a_leak_is_where_the_column_has_no_room() {
    let mut session = leaking(80, 24, CALLED);
    session.keys("L");
    let picture = session.picture();
    assert!(
        !picture.contains("SURE") && picture.contains("% sure that it grows"),
        "{picture}"
    );
}
