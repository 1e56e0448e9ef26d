//! The lossless escape, and what is harmless to look at.

use proptest::prelude::*;
use zmtop::text::{from_lossless, harmless, lossless};

#[test]
fn each_kind_of_byte() {
    for (bytes, want) in [
        (&b"plain"[..], "plain"),
        (b"", ""),
        ("größe 漢字 \u{1f600}".as_bytes(), "größe 漢字 \u{1f600}"),
        (b"a\xffb", "a\u{efff}b"),
        (b"\x80\xfe", "\u{ef80}\u{effe}"),
        // The beginning of a character without its end.
        (b"\xe2\x82", "\u{efe2}\u{ef82}"),
        // A surrogate, and an overlong slash.
        (b"\xed\xa0\x80", "\u{efed}\u{efa0}\u{ef80}"),
        (b"\xc0\xaf", "\u{efc0}\u{efaf}"),
        // What stands for a byte is itself three bytes.
        ("\u{ef80}".as_bytes(), "\u{efee}\u{efbe}\u{ef80}"),
        ("x\u{efff}".as_bytes(), "x\u{efee}\u{efbf}\u{efbf}"),
        // Their neighbours are plain characters.
        ("\u{ef7f}\u{f000}".as_bytes(), "\u{ef7f}\u{f000}"),
        (b"\0\x1b[2J\n", "\0\x1b[2J\n"),
    ] {
        assert_eq!(lossless(bytes), want, "{bytes:?}");
        assert_eq!(from_lossless(want), bytes, "{want:?}");
    }
}

#[test]
fn what_a_terminal_may_see() {
    let mut text = "a\u{1b}b\u{9b}c\u{202e}d\u{7f}e\u{e0041}\u{fffd}f";
    let mut seen = (String::new(), Vec::new());
    while let (run, Some(c)) = harmless(text) {
        seen.0.push_str(run);
        seen.1.push(c);
        text = &text[run.len() + c.len_utf8()..];
    }
    assert_eq!(seen.0 + text, "abcdef");
    assert_eq!(
        seen.1,
        ['\u{1b}', '\u{9b}', '\u{202e}', '\u{7f}', '\u{e0041}', '\u{fffd}']
    );
    assert_eq!(harmless("größe 漢字 e\u{301}"), ("größe 漢字 e\u{301}", None));
    let pile = format!("a{}", "\u{301}".repeat(9));
    let (run, next) = harmless(&pile);
    assert_eq!((run.chars().count(), next), (5, Some('\u{301}')));
}

/// Bytes that are often nearly UTF-8.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..6),
        ".{0,6}".prop_map(String::into_bytes),
        proptest::char::range('\u{ef00}', '\u{f0ff}').prop_map(|c| c.to_string().into_bytes()),
        any::<char>().prop_map(|c| {
            let mut bytes = c.to_string().into_bytes();
            bytes.pop();
            bytes
        }),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_is_lost(bytes in bytes()) {
        prop_assert_eq!(from_lossless(&lossless(&bytes)), bytes);
    }

    #[test]
    fn different_bytes_are_different_text(a in bytes(), b in bytes()) {
        prop_assert_eq!(a == b, lossless(&a) == lossless(&b));
    }

    #[test]
    fn utf8_stays_as_it_is(text in ".{0,40}") {
        let plain = !text.contains(|c| ('\u{ef80}'..='\u{efff}').contains(&c));
        prop_assert_eq!(lossless(text.as_bytes()) == text, plain);
    }
}
