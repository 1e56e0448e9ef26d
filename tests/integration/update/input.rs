//! Lines of text: the filter, the search, the interval.

use std::time::Duration;

use zmtop::config::Action;
use zmtop::tui::app::RecordingStatus;
use zmtop::tui::prompt::Prompt;
use zmtop::tui::widgets::TextInput;
use zmtop::tui::{Effect, Event};

use crate::support::session::Session;

/// Keys after `abc déf`, and what stands there then, with `|` for the cursor.
#[test]
fn editing() {
    let table: &[(&str, &str)] = &[
        ("", "abc déf|"),
        ("Left Left", "abc d|éf"),
        ("Left Left Backspace", "abc |éf"),
        ("Left Left Delete", "abc d|f"),
        ("Home", "|abc déf"),
        ("Home Delete Right Right Right Right Right Right Right", "bc déf|"),
        ("C-w", "abc |"),
        ("C-w C-w", "|"),
        ("Left C-u", "|f"),
        ("C-a C-e", "abc déf|"),
        ("Home Backspace Left", "|abc déf"),
    ];
    for (keys, after) in table {
        let mut session = Session::new(80, 24);
        session.minute().keys("F3").types("abc déf").keys(keys);
        let Some(Prompt { input: line, .. }) = session.app.modal() else {
            panic!("the line closed after {keys:?}")
        };
        let (before, rest) = line.split();
        assert_eq!(format!("{before}|{rest}"), *after, "after {keys:?}");
    }
}

#[test]
fn clusters_are_one_character() {
    let mut line = TextInput::new("e\u{301}👩‍🚀x");
    line.on_action(Action::Left);
    line.on_action(Action::Backspace);
    assert_eq!(line.text(), "e\u{301}x");
    line.on_action(Action::Backspace);
    assert_eq!(line.text(), "x");
}

#[test]
fn pasted_text_is_one_bounded_line() {
    let mut session = Session::new(80, 24);
    session
        .minute()
        .keys("F3")
        .feed(Event::Paste("one\ntwo\x1b[31m".into()));
    let line = &session.app.modal::<Prompt>().unwrap().input;
    assert_eq!(line.text(), "one two [31m");
    session.feed(Event::Paste("x".repeat(100_000)));
    let line = &session.app.modal::<Prompt>().unwrap().input;
    assert!(line.text().len() <= 4096);
    session.keys("Esc").feed(Event::Paste("q".into()));
    assert!(session.effects.is_empty(), "pasting on the table does nothing");
}

#[test]
fn search_goes_to_a_match_and_on() {
    let mut session = Session::new(120, 40);
    session.minute().keys("F3").types("POSTGRES");
    assert_eq!(session.selected(), Some(400));
    session.keys("Enter n");
    assert_eq!(session.selected(), Some(401));
    session.keys("n n");
    assert_eq!(session.selected(), Some(400), "round and round");
    session.keys("N");
    assert_eq!(session.selected(), Some(402));
    session.keys("F3").types("900");
    assert_eq!(session.selected(), Some(900), "a pid is found too");
}

#[test]
fn the_interval_is_checked_and_sent() {
    let mut session = Session::new(80, 24);
    session.minute().keys("d C-u").types("50ms").keys("Enter");
    assert!(session.effects.is_empty());
    assert!(session.picture().contains("100ms to 1h"), "{}", session.picture());
    session.keys("C-u").types("2.5s").keys("Enter");
    assert!(session.effects.is_empty());
    let wanted = session.wanted.last().unwrap();
    assert_eq!(wanted.interval, Duration::from_millis(2500));
    assert_eq!(session.app.requests.interval, Duration::from_millis(2500));
}

#[test]
fn effects_of_single_keys() {
    let table: &[(&str, Vec<Effect>)] = &[
        ("q", vec![Effect::Quit]),
        ("F10", vec![Effect::Quit]),
        ("C-c", vec![Effect::Quit]),
        ("? F10", vec![Effect::Quit]),
        ("/ F10", vec![Effect::Quit]),
        ("C-z", vec![Effect::Suspend]),
        ("C-l", vec![Effect::Redraw]),
        ("/ q", vec![]),
        ("? Esc", vec![]),
    ];
    for (keys, effects) in table {
        let mut session = Session::new(80, 24);
        session.minute().keys(keys);
        assert_eq!(session.effects, *effects, "after {keys:?}");
    }
}

#[test]
fn keys_that_the_sampler_is_reported_of() {
    for (keys, paused, refresh) in [
        ("Z", vec![true], 0),
        ("Z Z", vec![true, false], 0),
        ("C-r", vec![false], 1),
        ("Z C-r C-r", vec![true, true, true], 2),
    ] {
        let mut session = Session::new(80, 24);
        session.minute();
        let before = session.wanted.len();
        session.keys(keys);
        let told = &session.wanted[before..];
        assert_eq!(
            told.iter().map(|w| w.paused).collect::<Vec<_>>(),
            paused,
            "after {keys:?}"
        );
        assert_eq!(told.last().unwrap().refresh, refresh, "after {keys:?}");
        assert!(session.effects.is_empty(), "after {keys:?}");
    }
}

#[test]
fn the_sampler_is_reported_which_rows_are_in_sight_whatever_changed_them() {
    let mut session = Session::new(120, 10);
    session.minute();
    let few = session.focused();
    let shown = |session: &Session| {
        let mut pids = session.pids();
        pids.truncate(session.app.rows_shown());
        pids.sort_unstable();
        pids
    };
    assert_eq!(few, shown(&session));
    session.feed(Event::Resize(120, 40));
    assert_eq!(session.focused(), shown(&session));
    assert!(session.focused().len() > few.len(), "a larger screen shows more");
    session.feed(Event::Resize(120, 10));
    assert_eq!(session.focused(), few);
    session.keys("/").types("postgres");
    assert_eq!(session.focused(), [400, 401, 402]);
}

#[test]
fn saving_hands_over_what_is_shown() {
    let mut session = Session::new(80, 24);
    session
        .minute()
        .keys("S I t E / ")
        .types("pss>1M")
        .keys("Enter W")
        .answers()
        .keys("Enter");
    let Some(Effect::Save(name, saved)) = session.effects.last() else {
        panic!("{:?}", session.effects)
    };
    assert_eq!(name, "default");
    assert_eq!(saved.sort.get().id, "swap");
    assert!(!saved.descending && saved.tree);
    assert_eq!(saved.filter, "pss>1M");
    assert!(
        saved.columns.iter().all(|c| c.get().id != "tree_pss"),
        "the tree's own column is not the user's choice"
    );
}

/// Keys after `d` in a prompt that holds `1s`, and what stands there then.
#[test]
fn what_is_typed_first_replaces_what_was_there_and_cursor_keys_keep_it() {
    for (keys, text) in [
        ("5", "5"),
        ("5 m", "5m"),
        ("End 5", "1s5"),
        ("Left 5", "15s"),
        ("Backspace 5", "15"),
        ("C-u 5", "5"),
        ("", "1s"),
    ] {
        let mut session = Session::new(80, 24);
        session.minute().keys("d").keys(keys);
        assert_eq!(
            session.app.modal::<Prompt>().unwrap().input.text(),
            text,
            "after {keys:?}"
        );
    }
    // A space goes on with a filter, any other character begins a new one.
    let mut session = Session::new(80, 24);
    session
        .minute()
        .keys("/")
        .types("postgres")
        .keys("Enter /")
        .types(" pss>1M");
    assert_eq!(session.app.query.filter.text, "postgres pss>1M");
    session.keys("Enter /").types("python");
    assert_eq!(session.app.query.filter.text, "python");
    session.keys("Esc");
    assert_eq!(session.app.query.filter.text, "postgres pss>1M", "Esc restores it");
}

#[test]
fn an_interval_of_1s5_is_an_error() {
    let mut session = Session::new(80, 24);
    session.minute().keys("d End 5 Enter");
    assert!(session.app.modal.is_some(), "it stays open to be mended");
    assert!(
        session
            .picture()
            .contains("1s5  not a time: type a number and a unit, such as 500ms, 2s, 1m"),
        "{}",
        session.picture()
    );
    for (typed, what) in [
        ("10ms", "10ms  too short: 100ms to 1h"),
        ("2h", "2h  too long: 100ms to 1h"),
        (" ", "nothing typed: 100ms to 1h, such as 500ms, 2s, 1m"),
    ] {
        session.keys("C-u").types(typed).keys("Enter");
        assert!(session.picture().contains(what), "{typed}: {}", session.picture());
    }
    assert_eq!(session.app.requests.interval, Duration::from_secs(1));
    session.keys("Esc d").types("5").keys("Enter");
    assert_eq!(session.app.requests.interval, Duration::from_secs(5));
}

#[test]
fn a_key_starts_a_recording_into_a_file_and_ends_it() {
    let mut session = Session::new(120, 40);
    session.minute().keys("R");
    let picture = session.picture();
    assert!(picture.contains(" Record into "), "{picture}");
    session.keys("Enter");
    let [Effect::Record(Some(name))] = &session.effects[..] else {
        panic!("{:?}", session.effects);
    };
    assert!(name.starts_with("zmtop-") && name.contains(".zmrec"), "{name}");
    assert!(!name.contains('/'), "{name}");
    session.effects.clear();
    session.app.recording = Some(RecordingStatus::default());
    assert!(session.picture().lines().next().unwrap().contains("● rec"));
    session.app.recording = Some(RecordingStatus {
        fault: Some("No space left on device".into()),
    });
    let text = session.picture();
    assert!(
        text.lines()
            .next()
            .unwrap()
            .contains("not recorded: No space left on device"),
        "{text}"
    );
    session.keys("R");
    assert_eq!(session.effects, [Effect::Record(None)]);
    // A name of nothing starts nothing.
    (session.app.recording, session.effects) = (None, Vec::new());
    session.keys("R C-u Enter");
    assert!(session.effects.is_empty(), "{:?}", session.effects);
}
