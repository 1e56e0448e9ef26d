//! The keys, the mouse and the screen of a replay.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crossterm::event::{MouseButton, MouseEventKind};
use zmtop::record::{Incident, IncidentKind};
use zmtop::source::Recording;
use zmtop::tui::Effect;
use zmtop::tui::event::Inspect;
use zmtop::tui::replay::{ReplayCommand, ReplayStatus, Timeline};

use super::{made, ndjson};
use crate::support::session::Session;

/// 2026-11-24 03:00:00 UTC.
const BEGIN: Duration = Duration::from_secs(1_795_489_200);

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + BEGIN + Duration::from_secs(seconds)
}

/// A session that shows the last of 121 snapshots of ten minutes, with two events.
fn replay(width: u16, height: u16) -> Session {
    let snapshots = made(at(0), 121);
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("recording");
    std::fs::write(&file, ndjson(&snapshots)).unwrap();
    let groups = Recording::open(&file).unwrap().groups().to_vec();
    let incidents = vec![
        Incident::new(at(150), IncidentKind::Danger, "full in 2m".into()),
        Incident::new(at(450), IncidentKind::Kill, "python3 was killed".into()),
    ];
    let mut session = Session::new(width, height);
    session.app.set_replay(Some(ReplayStatus {
        name: "recording".into(),
        position: Some(at(600)),
        speed: 10,
        is_playing: true,
        timeline: Arc::new(Timeline { groups, incidents }),
        ..ReplayStatus::default()
    }));
    for snapshot in snapshots {
        session.push(snapshot);
    }
    session.effects.clear();
    session
}

fn commands(session: &mut Session) -> Vec<ReplayCommand> {
    let command = |effect| match effect {
        Effect::Replay(command) => Some(command),
        _ => None,
    };
    session.effects.drain(..).filter_map(command).collect()
}

#[test]
fn a_group_that_ends_before_it_begins_is_drawn() {
    let mut session = replay(120, 40);
    let status = session.app.replay.as_mut().unwrap();
    let mut timeline = (*status.timeline).clone();
    let header = &mut timeline.groups[0].header;
    (header.from, header.to) = (at(400), at(100));
    status.timeline = Arc::new(timeline);
    let picture = session.picture();
    assert!(picture.contains(" REPLAY "), "{picture}");
}

#[test]
fn the_head_says_that_it_is_a_replay_of_which_time_and_how_it_is_played() {
    let mut session = replay(120, 40);
    let title = |session: &mut Session| session.picture().lines().next().unwrap().to_owned();
    let shown = title(&mut session);
    assert!(shown.contains(" REPLAY   11-24 03:10:00  playing 10×"), "{shown}");
    for (change, expected) in [
        ((|r| r.is_playing = false) as fn(&mut ReplayStatus), "paused, 10×"),
        (|r| r.is_at_end = true, "at the end"),
        (|r| r.is_playing = true, "at the end, waiting for more"),
        (|r| r.is_visit = true, " BLACK BOX "),
        (|r| r.known_since = Some(at(60)), "verdicts since 03:01:00"),
    ] {
        change(session.app.replay.as_mut().unwrap());
        let shown = title(&mut session);
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn keys_command_the_player() {
    let mut session = replay(120, 40);
    session.keys("; Z ] F8 [ F7 } { r R");
    let step = |forward| ReplayCommand::Step { forward };
    let event = |forward| ReplayCommand::Event { forward };
    let expected = [
        ReplayCommand::Pause,
        ReplayCommand::Pause,
        step(true),
        step(true),
        step(false),
        step(false),
        event(true),
        event(false),
        ReplayCommand::Faster,
        ReplayCommand::Slower,
    ];
    assert_eq!(commands(&mut session), expected);
    // The other keys are those of the table.
    session.keys("t");
    assert!(session.app.query.tree);
    session.keys("q");
    assert!(session.ended);
}

#[test]
fn a_time_is_typed_in_the_words_of_at() {
    let mut session = replay(120, 40);
    for (typed, expected) in [
        ("03:04", at(240)),
        ("-1m", at(540)),
        ("start", at(0)),
        ("end", at(600)),
        ("2026-11-24T03:02:00Z", at(120)),
    ] {
        session.keys("@").types(typed).keys("Enter");
        assert_eq!(commands(&mut session), [ReplayCommand::Jump(expected)], "{typed}");
    }
    // The cursor of the chart is at a time to go to.
    session.keys("Enter ( ( ( @ Enter");
    let [ReplayCommand::Jump(time)] = commands(&mut session)[..] else {
        panic!("no jump");
    };
    assert!(at(580) < time && time < at(600), "{time:?}");
    session.keys("Esc Esc @").types("noon").keys("Enter");
    assert_eq!(commands(&mut session), []);
    session.line("noon is no time");
    session.keys("Esc");
    assert!(session.app.modal.is_none());
}

#[test]
fn nothing_acts_on_the_machine_and_nothing_of_the_present_is_read() {
    for keys in ["F9", "i", "o", "e", "l", "m", "d"] {
        let mut session = replay(120, 40);
        session.keys(keys);
        let said = session.app.screen.message.as_ref().unwrap();
        assert!(
            said.bad && said.text.contains("this is a recording"),
            "{keys}: {said:?}"
        );
        assert!(session.app.modal.is_none(), "{keys}");
        assert_eq!(session.effects, [], "{keys}");
    }
    // The panel reads no mappings, and the page of the kernel traces nothing.
    let mut session = replay(120, 60);
    session.keys("Enter");
    session.line("its mappings are not recorded");
    session.keys("Esc 3");
    session.line("slab caches are not recorded");
    assert_eq!(session.effects, []);
    // Where root recorded, the largest are there.
    let mut snapshot = made(at(600), 1).remove(0);
    snapshot.kernel.slab = crate::formats::made::small().kernel.slab;
    session.push(snapshot);
    session.line("kmalloc-512");
}

#[test]
fn the_time_line_shows_memory_events_and_the_position() {
    let mut session = replay(80, 24);
    let picture = session.picture();
    let lines: Vec<_> = picture.lines().collect();
    assert!(lines[21].starts_with(" 03:00:00 "), "{picture}");
    assert!(lines[21].ends_with(" 03:10:00"), "{picture}");
    let below: Vec<char> = lines[22].chars().collect();
    // 60 columns from the 10th on: a column is ten seconds.
    assert_eq!(
        (below[10 + 15], below[10 + 45], below[69]),
        ('!', '✖', '↑'),
        "{picture}"
    );
    assert!(lines[22].contains("03:10:00"), "{picture}");
    // A lower screen leaves it out.
    assert_eq!(replay(80, 21).app.layout().timeline.height, 0);
    for (width, height) in Session::ODD_SIZES {
        replay(width, height).frame();
    }
}

#[test]
fn a_click_goes_to_its_time_and_the_mouse_drags_the_position() {
    let mut session = replay(80, 24);
    session.click(10 + 30, 21);
    assert_eq!(commands(&mut session), [ReplayCommand::Jump(at(305))]);
    // While the button is down, the mouse may leave the line.
    let drag = MouseEventKind::Drag(MouseButton::Left);
    session.mouse(drag, 10, 3).mouse(drag, 79, 23);
    assert_eq!(
        commands(&mut session),
        [ReplayCommand::Jump(at(0)), ReplayCommand::Jump(at(600))]
    );
    // A drag that began elsewhere moves nothing.
    session.click(5, 6).mouse(drag, 40, 21);
    assert_eq!(commands(&mut session), []);
}

#[test]
fn a_stream_goes_forward_only() {
    let mut session = replay(80, 24);
    let keys = |session: &mut Session| session.picture().lines().last().unwrap().to_owned();
    assert!(keys(&mut session).contains("[ back") && keys(&mut session).contains("@ go to"));
    session.app.replay.as_mut().unwrap().is_stream = true;
    assert!(!keys(&mut session).contains("[ back") && !keys(&mut session).contains("@ go to"));
    assert_eq!(session.app.layout().timeline.height, 0);
    for keys in ["[", "{", "@"] {
        session.keys(keys);
        assert!(
            session
                .app
                .screen
                .message
                .as_ref()
                .unwrap()
                .text
                .contains("a pipe cannot go back")
        );
    }
    assert_eq!(commands(&mut session), []);
    session.keys("]");
    assert_eq!(commands(&mut session), [ReplayCommand::Step { forward: true }]);
}

#[test]
fn from_the_live_monitor_a_key_visits_the_black_box_and_esc_returns() {
    let mut session = Session::new(100, 40);
    for snapshot in made(at(0), 20) {
        session.push(snapshot);
    }
    session.keys("b Space Enter").answers();
    let inspects = |session: &mut Session| {
        let inspect = |effect| match effect {
            Effect::Inspect(what) => Some(what),
            _ => None,
        };
        session
            .effects
            .drain(..)
            .filter_map(inspect)
            .collect::<Vec<Option<Inspect>>>()
    };
    assert!(inspects(&mut session).last().unwrap().is_some());
    session.keys("@").types("-1m").keys("Enter");
    assert_eq!(session.effects.pop(), Some(Effect::Visit(at(35))));
    // Until it is open, q and Esc stay here.
    for key in ["q", "Esc"] {
        session.line("reading the black box");
        session.keys(key).line("the black box is not shown");
        assert!(session.app.requests.visits.is_none() && !session.effects.contains(&Effect::Quit));
        session.keys("@").types("-1m").keys("Enter");
        assert_eq!(session.effects.pop(), Some(Effect::Visit(at(35))));
    }
    session.app.requests.visits = None;

    let status = ReplayStatus {
        is_visit: true,
        position: Some(at(35)),
        ..ReplayStatus::default()
    };
    session.app.set_replay(Some(status));
    for snapshot in made(at(0), 8) {
        session.push(snapshot);
    }
    assert_eq!(inspects(&mut session), [None]);
    assert!(session.app.tables.tags.is_empty() && session.app.data.marks.current().is_none());
    session.line("Esc now");
    // The chart ends at the time that is looked at.
    let axis = session.line("└5 min before");
    assert!(axis.trim_end().ends_with(" 03:00:35"), "{axis}");
    for key in ["Esc", "q"] {
        session.keys(key);
        assert_eq!(commands(&mut session), [ReplayCommand::Leave], "{key}");
    }
    // The panel, the mark and the tags of the present are as they were.
    session.app.set_replay(None);
    assert!(session.app.shows_panel());
    assert!(!session.app.tables.tags.is_empty() && session.app.data.marks.current().is_some());
}

#[test]
fn a_time_before_the_beginning_leads_there_and_is_reported() {
    let mut session = replay(100, 40);
    session.keys("@").types("02:00").keys("Enter");
    assert!(matches!(commands(&mut session)[..], [ReplayCommand::Jump(time)] if time < at(0)));
    session.line("recording begins at 03:00:00");
    for typed in ["start", "03:05", "end"] {
        session.keys("@").types(typed).keys("Enter");
        assert!(!session.picture().contains("begins at"), "{typed}");
    }

    let mut session = Session::new(100, 40);
    for snapshot in made(at(0), 20) {
        session.push(snapshot);
    }
    let timeline = replay(100, 40).app.replay.unwrap().timeline;
    let status = |name: &str| ReplayStatus {
        name: name.into(),
        is_visit: true,
        position: Some(at(0)),
        timeline: Arc::clone(&timeline),
        ..ReplayStatus::default()
    };
    for (typed, is_told) in [("-1m", false), ("-2h", true)] {
        session.keys("@").types(typed).keys("Enter");
        session.line("reading the black box");
        session.app.set_replay(Some(status("the black box")));
        assert!(session.app.requests.visits.is_none());
        // It is told once, and stays.
        session.push(made(at(0), 1).remove(0));
        let picture = session.picture();
        let told = picture.contains("the black box begins at 03:00:00");
        assert_eq!(told, is_told, "{typed}: {picture}");
        session.app.set_replay(None);
    }
}

#[test]
fn without_a_recording_the_keys_of_a_replay_keep_their_meaning() {
    let mut session = Session::new(100, 40);
    session.minute();
    session.effects.clear();
    session.keys("Z");
    assert!(session.app.requests.paused);
    session.keys("]");
    assert!(session.app.modal.is_some(), "the niceness is asked for");
    assert_eq!(commands(&mut session), []);
}
