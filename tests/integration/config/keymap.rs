//! Keys.

use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use proptest::prelude::*;
use zmtop::config::keymap::{Binding, SHIPPED};
use zmtop::config::{Action, Chord, Context, Keymap};

use super::{Home, lines};

const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
const ALT: KeyModifiers = KeyModifiers::ALT;
const NONE: KeyModifiers = KeyModifiers::NONE;

fn over(text: &str) -> Result<Keymap, Vec<String>> {
    let file = Path::new("d/keymap.toml");
    Keymap::parse(file, text.as_bytes().to_vec()).map_err(|e| lines(&e, Path::new("d")))
}

#[test]
fn every_action_is_bound_and_described() {
    let keymap = Keymap::default();
    for action in Action::ALL {
        let mut bound = Context::ALL.into_iter().flat_map(|c| keymap.keys(c, action));
        assert!(bound.next().is_some(), "{} has no key", action.id());
        assert_eq!(Action::from_id(action.id()), Some(action));
    }
    for b in &keymap.bindings {
        assert!(!b.on.is_empty() && !b.desc.is_empty(), "{b:?}");
        assert!(b.desc.chars().next().is_some_and(char::is_uppercase), "{b:?}");
    }
    assert_eq!(keymap.bindings.len(), SHIPPED.matches("\nrun = ").count());
}

#[test]
fn no_key_is_bound_twice_in_a_context_and_every_key_reaches_its_action() {
    let keymap = Keymap::default();
    let mut seen = std::collections::HashSet::new();
    for Binding { context, on, run, .. } in &keymap.bindings {
        for chord in on {
            assert!(seen.insert((*context, *chord)), "{chord} twice in {context:?}");
            let event = KeyEvent::new(chord.code, chord.modifiers);
            assert_eq!(keymap.action(*context, event), Some(*run), "{chord} in {context:?}");
        }
    }
}

#[test]
fn in_a_line_of_text_characters_are_free() {
    let keymap = Keymap::default();
    for c in ' '..='~' {
        let event = KeyEvent::new(KeyCode::Char(c), if c.is_uppercase() { SHIFT } else { NONE });
        assert_eq!(keymap.action(Context::Input, event), None, "{c}");
    }
}

#[test]
fn what_terminals_send_is_brought_to_one_form() {
    let keymap = Keymap::default();
    let at = |code, modifiers| keymap.action(Context::Table, KeyEvent::new(code, modifiers));
    assert_eq!(at(KeyCode::Char('G'), SHIFT), Some(Action::Last));
    assert_eq!(at(KeyCode::Char('G'), NONE), Some(Action::Last));
    assert_eq!(at(KeyCode::Char('g'), NONE), Some(Action::First));
    assert_eq!(at(KeyCode::Char('?'), SHIFT), Some(Action::Help));
    assert_eq!(at(KeyCode::Char('c'), CTRL), Some(Action::Quit));
    assert_eq!(at(KeyCode::Char('C'), CTRL | SHIFT), Some(Action::Quit));
    assert_eq!(at(KeyCode::Char('C'), SHIFT), Some(Action::Columns));
    assert_eq!(at(KeyCode::Char('c'), ALT), None);
    assert_eq!(at(KeyCode::Char('q'), ALT), None);
    assert_eq!(at(KeyCode::Char('q'), KeyModifiers::SUPER), None);
    for (code, modifiers) in [
        (KeyCode::BackTab, SHIFT),
        (KeyCode::BackTab, NONE),
        (KeyCode::Tab, SHIFT),
    ] {
        assert_eq!(at(code, modifiers), Some(Action::PreviousGroups));
    }
    assert_eq!(at(KeyCode::Up, NONE), Some(Action::Up));
    assert_eq!(at(KeyCode::Up, SHIFT), None);
    assert_eq!(at(KeyCode::Up, CTRL), None);
    let kind = |kind| KeyEvent {
        kind,
        ..KeyEvent::new(KeyCode::Char('q'), NONE)
    };
    assert_eq!(
        keymap.action(Context::Table, kind(KeyEventKind::Repeat)),
        Some(Action::Quit)
    );
    assert_eq!(keymap.action(Context::Table, kind(KeyEventKind::Release)), None);
}

#[test]
fn chords_are_read_as_they_are_written() {
    for (text, code, modifiers) in [
        ("q", KeyCode::Char('q'), NONE),
        ("G", KeyCode::Char('G'), NONE),
        ("-", KeyCode::Char('-'), NONE),
        ("C", KeyCode::Char('C'), NONE),
        ("\\", KeyCode::Char('\\'), NONE),
        ("ä", KeyCode::Char('ä'), NONE),
        ("C--", KeyCode::Char('-'), CTRL),
        ("C-c", KeyCode::Char('c'), CTRL),
        ("C-Space", KeyCode::Char(' '), CTRL),
        ("A-x", KeyCode::Char('x'), ALT),
        ("A-X", KeyCode::Char('X'), ALT),
        ("C-A-Delete", KeyCode::Delete, CTRL | ALT),
        ("Space", KeyCode::Char(' '), NONE),
        ("BackTab", KeyCode::BackTab, NONE),
        ("F12", KeyCode::F(12), NONE),
        ("PageUp", KeyCode::PageUp, NONE),
    ] {
        let chord: Chord = text.parse().unwrap();
        assert_eq!(chord, Chord { code, modifiers }, "{text}");
        assert_eq!(chord.to_string(), text);
    }
    assert_eq!("A-C-c".parse::<Chord>(), "C-A-c".parse());
    assert_eq!("C-C".parse::<Chord>(), "C-c".parse());
    for text in ["", " ", "C-", "A-", "F0", "F13", "enter", "C-C-c", "qq", "\u{1b}", "\t"] {
        assert!(text.parse::<Chord>().is_err(), "{text:?}");
    }
    for (text, sent) in [("C-i", "Tab"), ("C-m", "Enter"), ("C-[", "Esc"), ("C-A-M", "Enter")] {
        let e = text.parse::<Chord>().unwrap_err().to_string();
        assert_eq!(e, format!("a terminal sends {sent} for {text}"));
    }
}

#[test]
fn a_users_key_replaces_the_shipped_one_in_its_context_only() {
    let keymap = over(
        r#"
        [[table]]
        on = ["x", "q"]
        run = "save"
        [[table]]
        on = ["Z", "k"]
        run = "none"
        [[list]]
        on = ["C-n"]
        run = "down"
        desc = "Go down"
        "#,
    )
    .unwrap();
    let at = |context, c| keymap.action(context, KeyEvent::new(KeyCode::Char(c), NONE));
    assert_eq!(at(Context::Table, 'x'), Some(Action::Save));
    assert_eq!(at(Context::Table, 'q'), Some(Action::Save));
    assert_eq!(at(Context::Table, 'W'), Some(Action::Save));
    assert_eq!(at(Context::List, 'q'), Some(Action::Cancel));
    assert_eq!(at(Context::Table, 'Z'), None);
    assert_eq!(at(Context::Table, 'k'), None);
    assert_eq!(at(Context::List, 'k'), Some(Action::Up));
    let keys = |context, action| keymap.keys(context, action).map(Chord::to_string).collect::<Vec<_>>();
    assert_eq!(keys(Context::Table, Action::Save), ["W", "x", "q"]);
    assert_eq!(keys(Context::Table, Action::Quit), ["F10", "C-c"]);
    assert_eq!(keys(Context::Table, Action::Pause), [""; 0]);
    let desc = |context, run| {
        let mut all = keymap.bindings.iter().filter(|b| b.context == context && b.run == run);
        all.next().map(|b| b.desc.clone())
    };
    assert_eq!(desc(Context::List, Action::Down).as_deref(), Some("Go down"));
    assert_eq!(
        desc(Context::Table, Action::Pause),
        None,
        "the help lists no action without a key"
    );
    assert!(keymap.bindings.iter().all(|b| !b.on.is_empty()));
}

#[test]
fn keys_can_be_moved_between_actions() {
    let keymap = over("[[table]]\non = ['Z']\nrun = 'freeze'\n[[table]]\non = ['z']\nrun = 'pause'\n").unwrap();
    let keys = |action| {
        keymap
            .keys(Context::Table, action)
            .map(Chord::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (keys(Action::Freeze), keys(Action::Pause)),
        (vec!["Z".into()], vec!["z".into()])
    );
}

#[test]
fn every_fault_of_a_keymap_is_named() {
    let faults = over(
        r#"[[table]]
on = ["x"]
run = "sav"
[[tabel]]
on = ["x"]
run = "save"
[[table]]
on = ["Entr", 3, "C-i"]
run = "save"
[[table]]
on = ["y"]
run = "tree"
key = "y"
[[table]]
on = ["y"]
run = 7
[[input]]
on = ["a", "C-y"]
run = "tree"
[[list]]
run = "up"
[[table]]
on = "w"
run = "none"
desc = 1
[[list]]
on = ["w"]
"#,
    )
    .unwrap_err();
    let expected = [
        "keymap.toml:3:7: table.run: unknown action in table `sav`; did you mean `save`?",
        "keymap.toml:4:3: tabel: unknown context `tabel`; did you mean `table`?",
        "keymap.toml:8:7: table.on: unknown key `Entr`; did you mean `Enter`? A key is a character, or one of ",
        "keymap.toml:8:15: table.on: expected a key in quotes, found 3",
        "keymap.toml:8:18: table.on: a terminal sends Tab for C-i",
        "keymap.toml:13:1: table.key: unknown key `key`. Known: on, run, desc",
        "keymap.toml:16:7: table.run: expected an action's name in quotes, found 7",
        "keymap.toml:18:7: input.on: `a` types itself in a line of text",
        "keymap.toml:19:7: input.run: unknown action in input `tree`",
        "keymap.toml:20:1: list.on: missing: each entry has `on` and `run`",
        "keymap.toml:23:6: table.on: expected an array of keys such as [\"F1\", \"C-c\"], found \"w\"",
        "keymap.toml:25:8: table.desc: expected a text in quotes, found 1",
        "keymap.toml:26:1: list.run: missing: each entry has `on` and `run`",
    ];
    for (fault, expected) in faults.iter().zip(expected) {
        assert!(fault.starts_with(expected), "{fault}\n{expected}");
    }
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
}

#[test]
fn a_key_bound_twice_is_a_fault_even_by_another_name() {
    let text = "[[table]]\non = ['x']\nrun = 'save'\n[[table]]\non = ['C-b', 'x', 'C-B']\nrun = 'tree'\n";
    let expected = [
        "keymap.toml:5:14: table.on: key `x` is bound twice in table: first in line 2",
        "keymap.toml:5:19: table.on: key `C-b` is bound twice in table: first in line 5",
    ];
    assert_eq!(over(text).unwrap_err(), expected);
}

#[test]
fn nobody_can_lock_himself_in() {
    let text = "[[table]]\non = ['q', 'F10', 'C-c']\nrun = 'none'\n[[input]]\non = ['Esc', 'C-c']\nrun = 'none'\n";
    let expected = [
        "keymap.toml: no key is left for `quit` in table",
        "keymap.toml: no key is left for `cancel` in input",
    ];
    assert_eq!(over(text).unwrap_err(), expected);
}

#[test]
fn the_file_beside_the_config_is_read() {
    let home = Home::new();
    home.write("keymap.toml", "[[table]]\non = ['x']\nrun = 'save'\n");
    let keymap = home.load().unwrap().keymap;
    let x = KeyEvent::new(KeyCode::Char('x'), NONE);
    assert_eq!(keymap.action(Context::Table, x), Some(Action::Save));
    home.write("keymap.toml", "[[table]]\non = ['x']\nrun = 'sve'\n");
    assert!(home.faults()[0].starts_with("keymap.toml:3:7: table.run: unknown action"));
}

proptest! {
    #[test]
    fn every_chord_round_trips(code in code(), ctrl: bool, alt: bool) {
        let mut modifiers = NONE;
        modifiers.set(CTRL, ctrl);
        modifiers.set(ALT, alt);
        // What a key event becomes is what a file can say, save for what terminals never send.
        if let Some(chord) = Chord::of(KeyEvent::new(code, modifiers)) {
            match chord.to_string().parse::<Chord>() {
                Ok(read) => prop_assert_eq!(read, chord),
                Err(e) => prop_assert!(e.to_string().starts_with("a terminal sends"), "{}", e),
            }
        }
    }

    #[test]
    fn no_key_name_panics(text: String) {
        if let Ok(chord) = text.parse::<Chord>() {
            prop_assert_eq!(chord.to_string().parse::<Chord>(), Ok(chord));
        }
    }

    #[test]
    fn no_keymap_panics(bytes: Vec<u8>) {
        let _ = Keymap::parse(Path::new("k"), bytes);
    }
}

fn code() -> impl Strategy<Value = KeyCode> {
    prop_oneof![
        proptest::char::range(' ', '~').prop_map(KeyCode::Char),
        proptest::char::range('\u{a1}', '\u{17f}')
            .prop_filter("soft hyphen is not typed", |c| *c != '\u{ad}')
            .prop_map(KeyCode::Char),
        (1u8..=12).prop_map(KeyCode::F),
        prop::sample::select(vec![
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::Tab,
            KeyCode::BackTab,
            KeyCode::Backspace,
            KeyCode::Delete,
            KeyCode::Insert,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::PageUp,
            KeyCode::PageDown,
        ]),
    ]
}
