//! Nothing that anyone can choose moves the cursor or breaks a column.

use std::borrow::Cow;
use std::time::Duration;

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use zmtop::text::{Align, fit, is_wider, safe, safe_prefix, skip, width};

use crate::support::thread_time;

/// Bytes meant to do harm.
fn hostile() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [
        "\u{1b}[2J\u{1b}[31mred",
        "\u{1b}]52;c;cm0gLXJmIH4=\u{7}",
        "\u{1b}]0;title\u{1b}\\",
        "bell\u{7}back\u{8}\u{8}del\u{7f}",
        "tab\tline\r\nvt\u{b}ff\u{c}nul\0",
        "\u{9b}31m\u{9d}52;c;x\u{9c}\u{90}q\u{84}\u{85}",
        "\u{202e}gpj.exe\u{202c}\u{2066}x\u{2069}\u{200f}\u{61c}",
        "zero\u{200b}width\u{feff}\u{ad}\u{2060}\u{34f}",
        "\u{301}\u{301}first",
        "x\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}y",
        "日本語の名前 ﾊﾝｶｸ",
        "emoji 🎉🦀 ☃️ ❤️ 👍🏽 1️⃣ ⌚︎",
        "👩‍👩‍👧‍👦 🏳️‍🌈",
        "🇩🇪🇫 🇯🇵",
        "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1100}\u{1161}\u{1161}\u{11a8}",
        "\u{1161}\u{11ab} \u{115f}\u{1160}",
        "ក្ខែ្ម្រ स्त्री ക്ഷ",
        "لا إله ﷽ عربي \u{600}12 \u{6dd}",
        "\u{e0001}\u{e0041}tag\u{e007f}",
        "x\u{fe0f}\u{fe0e}\u{e0100}",
        "\u{fdd0}\u{ffff}\u{10ffff}\u{fff9}\u{fffc}\u{fffd}",
        "\u{2028}\u{2029}\u{3000}\u{a0}",
        "𝔘𝔫𝔦 ﷽ ꧁ 𒐫 𓀀\u{13430}",
        "\u{a8e6}\u{a8e7}a\u{a8e6}",
    ]
    .iter()
    .map(|s| s.as_bytes().to_vec())
    .collect();
    all.push(b"bad\xff\xfe\xc0\x80\xed\xa0\x80 utf\xe2\x82 8\xf0\x9f".to_vec());
    all.push((0..=255).collect());
    all.push("a".bytes().chain("\u{301}".repeat(10_000).bytes()).collect());
    all.push("\u{301}".repeat(10_000).into_bytes());
    all.push("\u{200d}".repeat(1000).into_bytes());
    all.push("🇩".repeat(1000).into_bytes());
    all.push("\u{1100}".repeat(1000).into_bytes());
    all.push("க\u{bbe}".repeat(500).into_bytes());
    all.push(format!("क{}", "\u{93e}".repeat(1000)).into_bytes());
    all.push(vec![0x1b; 1000]);
    all.push(vec![0xff; 1000]);
    all
}

/// The column the cursor is in after printing `text`, by a terminal that knows nothing of clusters.
fn cursor(text: &str) -> u16 {
    let mut terminal = vt100::Parser::new(3.try_into().unwrap(), 500.try_into().unwrap(), 0);
    terminal.process(text.as_bytes());
    let (row, column) = terminal.screen().cursor_position();
    assert_eq!(row, 0, "{text:?} left its line");
    column
}

fn check(bytes: &[u8]) {
    let text = safe(bytes);
    check_text(&text);
    for columns in [0, 1, 2, 7, 80] {
        let part = safe_prefix(bytes, columns);
        let is_long = width(&text) > columns;
        // Of text with too many marks, only the beginning is measured.
        assert!(
            is_wider(bytes, columns) == is_long || (!is_long && bytes.len() > 20 * columns),
            "{bytes:?} in {columns}"
        );
        check_text(&part);
        assert!(
            width(&part) >= columns.min(width(&text)),
            "{part:?} is too short for {columns}"
        );
        for (source, columns) in [(&text, columns), (&part, columns)] {
            for align in [Align::Left, Align::Right] {
                let cell = fit(source, columns, align);
                assert_eq!(width(&cell), columns, "{cell:?}");
                assert_eq!(usize::from(cursor(&cell)), columns, "{cell:?}");
            }
        }
        let rest = skip(&text, columns);
        assert_eq!(width(&rest), width(&text).saturating_sub(columns), "{rest:?}");
    }
}

fn check_text(text: &str) {
    let mut marks = 0;
    for (i, c) in text.chars().enumerate() {
        assert!(!c.is_control(), "{text:?}");
        assert!(!is_hidden(c), "{:x} in {text:?}", u32::from(c));
        if c.width() == Some(0) {
            assert!(i > 0, "{text:?} begins with a mark");
            marks += 1;
            assert!(marks <= 4, "{text:?} piles up marks");
        } else {
            marks = 0;
        }
    }
    for grapheme in text.graphemes(true) {
        let sum: usize = grapheme.chars().filter_map(char::width).sum();
        assert_eq!(grapheme.width(), sum, "{grapheme:?} is wider to one than to another");
    }
}

/// Bidirectional controls, zero-width and other format characters, by the properties' own ranges.
fn is_hidden(c: char) -> bool {
    let ranges: &[(u32, u32)] = &[
        (0xad, 0xad),
        (0x61c, 0x61c),
        (0x180b, 0x180f),
        (0x200b, 0x200f),
        (0x2028, 0x202e),
        (0x2060, 0x206f),
        (0xfe00, 0xfe0f),
        (0xfeff, 0xfeff),
        (0xfff9, 0xfffb),
        (0x1f1e6, 0x1f1ff),
        (0xe0000, 0xe0fff),
    ];
    ranges.iter().any(|(from, to)| (*from..=*to).contains(&u32::from(c)))
}

#[test]
fn escapes_are_as_documented() {
    let table: &[(&[u8], &str)] = &[
        (b"", ""),
        (b"plain text", "plain text"),
        (b"back\\slash", "back\\slash"),
        (b"a\nb\tc\r", "a\\nb\\tc\\r"),
        (b"\x1b[31m\x07\x7f\0", "\\x1b[31m\\x07\\x7f\\x00"),
        ("\u{9b}31m".as_bytes(), "\\x9b31m"),
        (b"\xff\xc3(", "\\xff\\xc3("),
        ("\u{202e}x".as_bytes(), "\\u{202e}x"),
        ("Zoë 日本 é e\u{301}".as_bytes(), "Zoë 日本 é e\u{301}"),
        ("\u{301}x".as_bytes(), "\\u{301}x"),
        (
            "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}x".as_bytes(),
            "e\u{301}\u{301}\u{301}\u{301}…x",
        ),
        ("👍🏽".as_bytes(), "👍\\u{1f3fd}"),
        ("👩\u{200d}🚀".as_bytes(), "👩\\u{200d}🚀"),
        ("❤\u{fe0f}".as_bytes(), "❤\\u{fe0f}"),
        ("한\u{1112}\u{1161}\u{11ab}".as_bytes(), "한\u{1112}\u{1161}\u{11ab}"),
        ("हिन्दी".as_bytes(), "हिन्दी"),
    ];
    for (bytes, text) in table {
        assert_eq!(safe(bytes), *text);
    }
    assert!(matches!(safe(b"plain"), Cow::Borrowed(_)));
}

#[test]
fn hostile_bytes_do_nothing() {
    for bytes in hostile() {
        check(&bytes);
    }
}

#[test]
fn a_long_argument_costs_no_more_than_what_is_shown_of_it() {
    let mib = 1 << 20;
    let start = thread_time();
    for _ in 0..200 {
        for long in [vec![b'a'; mib], vec![0xff; mib], vec![0x1b; mib]] {
            assert!(safe_prefix(&long, 80).len() <= 90);
        }
    }
    // Made once: to make them takes longer than to show them.
    let marks: Vec<u8> = "a".bytes().chain("\u{301}".repeat(mib / 2).bytes()).collect();
    let wide = "漢".repeat(mib / 3).into_bytes();
    for _ in 0..200 {
        let text = safe_prefix(&marks, 80);
        assert_eq!(text, "a\u{301}\u{301}\u{301}\u{301}……");
        assert!(width(&safe_prefix(&wide, 80)) <= 82);
    }
    // Reading them whole would take minutes without optimisation.
    let took = thread_time().saturating_sub(start);
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn fitting_pads_or_cuts() {
    let table = [
        ("abc", 5, Align::Left, "abc  "),
        ("abc", 5, Align::Right, "  abc"),
        ("abc", 3, Align::Left, "abc"),
        ("abcd", 3, Align::Right, "ab…"),
        ("abcd", 1, Align::Left, "…"),
        ("abcd", 0, Align::Left, ""),
        ("", 2, Align::Left, "  "),
        ("日本語", 6, Align::Left, "日本語"),
        ("日本語", 5, Align::Left, "日本…"),
        ("日本語", 4, Align::Left, "日… "),
        ("日本語", 2, Align::Left, "… "),
        ("لا", 3, Align::Left, "لا "),
    ];
    for (text, columns, align, want) in table {
        assert_eq!(fit(text, columns, align), want);
    }
}

#[test]
fn skipping_leaves_the_rest() {
    for (text, columns, want) in [
        ("abc", 0, "abc"),
        ("abc", 1, "bc"),
        ("abc", 3, ""),
        ("abc", 9, ""),
        ("日本", 1, " 本"),
        ("日本", 2, "本"),
        ("日本", 3, " "),
        ("e\u{301}f", 1, "f"),
    ] {
        assert_eq!(skip(text, columns), want, "{text} without {columns}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_made_safe(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        check(&bytes);
    }

    #[test]
    fn any_text_is_made_safe(text in any::<String>()) {
        check(text.as_bytes());
    }

    /// Characters of scripts that terminals have trouble with, in any order.
    #[test]
    fn troublesome_scripts_are_made_safe(
        chars in prop::collection::vec(
            prop_oneof![
                proptest::char::range('\u{300}', '\u{36f}'),
                proptest::char::range('\u{590}', '\u{8ff}'),
                proptest::char::range('\u{900}', '\u{dff}'),
                proptest::char::range('\u{1000}', '\u{17ff}'),
                proptest::char::range('\u{1a00}', '\u{1aff}'),
                proptest::char::range('\u{2000}', '\u{20ff}'),
                proptest::char::range('\u{2d30}', '\u{2d7f}'),
                proptest::char::range('\u{a490}', '\u{abff}'),
                proptest::char::range('\u{fe00}', '\u{feff}'),
                proptest::char::range('\u{10000}', '\u{11fff}'),
                proptest::char::range('\u{1f000}', '\u{1faff}'),
                Just('\u{200d}'),
                Just('a'),
            ],
            0..24,
        )
    ) {
        check(chars.into_iter().collect::<String>().as_bytes());
    }
}
