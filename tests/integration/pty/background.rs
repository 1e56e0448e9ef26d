//! The terminal is asked for its background, and no key is lost over it.

use crossterm::event::{KeyCode, KeyEvent};
use zmtop::run::monitor::decoder::{Decoder, Typed};

use super::decoder::decode_by;
use crate::support::pty::Pty;

#[test]
fn an_answer_is_distinguished_from_keys_in_every_form() {
    for (text, is_light) in [
        ("11;rgb:0000/0000/0000", Some(false)),
        ("11;rgb:ffff/ffff/ffff", Some(true)),
        ("11;rgb:28/2a/36", Some(false)),
        ("11;rgb:f/f/f", Some(true)),
        ("11;rgba:fdfd/f6f6/e3e3/ffff", Some(true)),
        ("11;rgb:1E1E/1E1E/2E2E", Some(false)),
        ("11;rgb:zz", None),
        ("11;rgb:", None),
        ("10;rgb:ffff/ffff/ffff", None),
    ] {
        for end in ["\x07", "\x1b\\"] {
            let bytes = format!("j\x1b]{text}{end}k");
            let key = |c| Typed::Key(KeyEvent::from(KeyCode::Char(c)));
            let expected: Vec<_> = [Some(key('j')), is_light.map(Typed::IsLight), Some(key('k'))]
                .into_iter()
                .flatten()
                .collect();
            assert_eq!(
                decode_by(Decoder::new(true), &[(0, bytes.as_bytes())]),
                expected,
                "{text}"
            );
        }
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
