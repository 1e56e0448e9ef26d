//! The screen in ASCII.

use zmtop::config::Env;
use zmtop::tui::Event;

use crate::support::session::{Session, env};

fn ascii(width: u16, height: u16) -> Session {
    let env = Env { utf8: false, ..env() };
    Session::with_env(width, height, &env)
}

#[test]
fn no_panel_draws_more_than_ascii_where_there_is_nothing_else() {
    let keys = [
        "",
        "t",
        "t *",
        "v",
        "?",
        "? End",
        "s",
        "u",
        "C",
        "D",
        "L",
        "!",
        "/",
        "F3",
        "d",
        "b",
        "Space",
        "Tab",
        "Tab Enter",
        "Tab Enter Enter",
        "Enter",
        "Enter ( (",
        "F9",
        "F9 End Enter",
        "i",
        "o",
        "c",
        "m",
        "x x",
        "H",
        "y",
        "2",
        "2 End Enter ( x",
        "3",
        "3 Tab",
        "3 Tab Tab",
    ];
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        for keys in keys {
            let mut session = ascii(width, height);
            session.grouped_minute().keys(keys);
            session.feed(Event::Failed("caf\u{e9} → ≤ Σ …".into()));
            let picture = session.picture();
            let other = picture.chars().find(|c| !c.is_ascii());
            assert_eq!(other, None, "{keys:?} at {width}x{height}:\n{picture}");
        }
    }
}

#[test]
fn parts_of_bars_and_signs_are_distinguished_in_ascii() {
    let mut session = ascii(120, 40);
    let picture = session.minute().keys("v").picture();
    assert!(picture.contains("vPSS") && picture.contains("dPSS"), "{picture}");
    let bar = session.line(" Mem ");
    assert!(bar.contains('#') && bar.contains('-') && bar.contains('='), "{bar}");
}

#[test]
fn ascii_is_chosen_by_the_locale_the_console_and_the_user() {
    let is_ascii = |utf8: bool, term: &str| {
        let env = Env {
            utf8,
            term: Some(term.into()),
            ..Env::default()
        };
        zmtop::config::Config::load(None, &env).unwrap().ascii
    };
    assert!(!is_ascii(true, "xterm-256color"));
    assert!(is_ascii(false, "xterm-256color"));
    assert!(is_ascii(true, "linux"));
}
