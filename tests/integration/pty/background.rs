//! The terminal is asked for its background, and no key is lost over it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use zmtop::run::monitor::background::{AnswerPicker, Picked};

use crate::support::pty::Pty;

fn key(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)
}

fn alt(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::ALT)
}

/// The keys that crossterm makes of an answer, ended by `end`.
fn answer(text: &str, end: KeyEvent) -> Vec<KeyEvent> {
    let start = std::iter::once(alt(']'));
    start.chain(text.chars().map(key)).chain([end]).collect()
}

/// The keys that are passed on, and what is told of the background.
fn pick(keys: &[KeyEvent]) -> (Vec<KeyEvent>, Vec<bool>) {
    let mut picker = AnswerPicker::default();
    let (mut passed, mut told) = (Vec::new(), Vec::new());
    for key in keys {
        match picker.take(*key) {
            Picked::Keys(keys) => passed.extend(keys),
            Picked::IsLight(is_light) => told.push(is_light),
        }
    }
    passed.extend(picker.release());
    (passed, told)
}

#[test]
fn an_answer_is_told_from_keys_in_every_form() {
    let bell = KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL);
    for (text, is_light) in [
        ("11;rgb:0000/0000/0000", false),
        ("11;rgb:ffff/ffff/ffff", true),
        ("11;rgb:28/2a/36", false),
        ("11;rgb:f/f/f", true),
        ("11;rgba:fdfd/f6f6/e3e3/ffff", true),
        ("11;rgb:1E1E/1E1E/2E2E", false),
    ] {
        for end in [bell, alt('\\')] {
            assert_eq!(pick(&answer(text, end)), (vec![], vec![is_light]), "{text}");
        }
    }
}

#[test]
fn every_key_that_is_no_answer_is_passed_on_in_order() {
    let typed: Vec<KeyEvent> = "/pss>1G".chars().map(key).collect();
    let mixed = [typed.clone(), answer("11;rgb:0/0/0", alt('\\')), typed.clone()].concat();
    assert_eq!(pick(&mixed), ([typed.clone(), typed.clone()].concat(), vec![false]));
    for keys in [
        vec![alt(']')],
        vec![alt(']'), key('q')],
        vec![alt(']'), key('1'), key('1'), key(';'), key('x')],
        vec![alt(']'), KeyEvent::new(KeyCode::Up, KeyModifiers::NONE)],
        answer("11;rgb:zz", alt('\\')),
        answer("11;rgb:", alt('\\')),
        answer(&format!("11;rgb:{}", "0".repeat(60)), alt('\\')),
        vec![alt('\\'), key('a')],
    ] {
        assert_eq!(pick(&keys), (keys.clone(), vec![]), "{keys:?}");
    }
}

#[test]
fn a_light_terminal_gets_the_light_theme_and_what_is_typed_meanwhile_counts() {
    let mut pty = Pty::zmtop((120, 30), &["--interval", "200ms"]);
    let has_written = |pty: &Pty, bytes: &[u8]| pty.raw().windows(bytes.len()).any(|part| part == bytes);
    pty.wait("the question", |_| has_written(&pty, b"\x1b]11;?\x1b\\"));
    // A filter is opened before the answer, and written after it.
    pty.send("/\x1b]11;rgb:ffff/ffff/ffff\x1b\\zmtop");
    pty.wait_for(" Filter  zmtop");
    // The title of the light theme, nearest of 256.
    pty.wait("its blue", |_| has_written(&pty, b"38;5;25"));
    pty.send("\x03");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
