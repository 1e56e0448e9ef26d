//! Bytes of the terminal in whole and in pieces, with explicit times.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use zmtop::run::monitor::decoder::{Decoder, ESC_WAIT, HOLD, LATE, Typed};

/// Feeds pieces, each after a pause in milliseconds, and waits for every deadline between them and after the last.
pub(super) fn decode_by(mut decoder: Decoder, pieces: &[(u64, &[u8])]) -> Vec<Typed> {
    let mut typed = Vec::new();
    let mut now = Duration::from_secs(100);
    for (pause, bytes) in pieces {
        now += Duration::from_millis(*pause);
        while let Some(deadline) = decoder.deadline().filter(|deadline| *deadline <= now) {
            typed.extend(decoder.expire(deadline));
        }
        typed.extend(decoder.feed(bytes, now));
    }
    while let Some(deadline) = decoder.deadline() {
        typed.extend(decoder.expire(deadline));
    }
    typed
}

fn decode(pieces: &[(u64, &[u8])]) -> Vec<Typed> {
    decode_by(Decoder::new(false), pieces)
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Typed {
    Typed::Key(KeyEvent::new(code, modifiers))
}

fn plain(code: KeyCode) -> Typed {
    key(code, KeyModifiers::NONE)
}

fn esc() -> Typed {
    plain(KeyCode::Esc)
}

fn chars(text: &str) -> Vec<Typed> {
    text.chars().map(|c| plain(KeyCode::Char(c))).collect()
}

/// Sequences of keys and of the mouse, and their meaning.
fn sequences() -> Vec<(&'static [u8], Typed)> {
    let mouse = |kind, column, row| {
        Typed::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    };
    let (ctrl, alt, shift) = (KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT);
    vec![
        (b"\x1b[A", plain(KeyCode::Up)),
        (b"\x1b[B", plain(KeyCode::Down)),
        (b"\x1b[C", plain(KeyCode::Right)),
        (b"\x1b[D", plain(KeyCode::Left)),
        (b"\x1bOB", plain(KeyCode::Down)),
        (b"\x1b[H", plain(KeyCode::Home)),
        (b"\x1b[1~", plain(KeyCode::Home)),
        (b"\x1b[4~", plain(KeyCode::End)),
        (b"\x1b[F", plain(KeyCode::End)),
        (b"\x1b[2~", plain(KeyCode::Insert)),
        (b"\x1b[3~", plain(KeyCode::Delete)),
        (b"\x1b[5~", plain(KeyCode::PageUp)),
        (b"\x1b[6~", plain(KeyCode::PageDown)),
        (b"\x1bOP", plain(KeyCode::F(1))),
        (b"\x1b[[A", plain(KeyCode::F(1))),
        (b"\x1b[15~", plain(KeyCode::F(5))),
        (b"\x1b[18~", plain(KeyCode::F(7))),
        (b"\x1b[20~", plain(KeyCode::F(9))),
        (b"\x1b[24~", plain(KeyCode::F(12))),
        (b"\x1b[Z", key(KeyCode::BackTab, shift)),
        (b"\x1b[1;3D", key(KeyCode::Left, alt)),
        (b"\x1b[1;5C", key(KeyCode::Right, ctrl)),
        (b"\x1b[5;3~", key(KeyCode::PageUp, alt)),
        (b"\x1b[99;5u", key(KeyCode::Char('c'), ctrl)),
        (b"\x1b[27u", esc()),
        (b"\x1b[27;5;108~", key(KeyCode::Char('l'), ctrl)),
        (b"\x1b[<0;10;5M", mouse(MouseEventKind::Down(MouseButton::Left), 9, 4)),
        (b"\x1b[<0;10;5m", mouse(MouseEventKind::Up(MouseButton::Left), 9, 4)),
        (b"\x1b[<65;200;50M", mouse(MouseEventKind::ScrollDown, 199, 49)),
        (
            b"\x1b[M\x20\x21\x22",
            mouse(MouseEventKind::Down(MouseButton::Left), 0, 1),
        ),
    ]
}

/// Answers and reports of terminals, which are not keys.
const REPORTS: [&[u8]; 21] = [
    b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;rgb:0000/0000/0000\x07",
    b"\x1b]10;rgb:dcdc/dcdc/dcdc\x1b\\",
    b"\x1b]4;1;rgb:cdcd/0000/0000\x07",
    b"\x1b]52;c;cXVpdAo=\x1b\\",
    b"\x1bP>|tmux 3.4\x1b\\",
    b"\x1bP1$r0m\x1b\\",
    b"\x1bP1+r544e=787465726d\x1b\\",
    b"\x1bP0+r\x1b\\",
    b"\x1b_Gi=31;OK\x1b\\",
    b"\x1b[?64;1;2;22c",
    b"\x1b[>41;354;0c",
    b"\x1b[?2026;2$y",
    b"\x1b[0n",
    b"\x1b[24;80R",
    b"\x1b[?1u",
    b"\x1b[8;24;80t",
    b"\x1b[?997;1n",
    b"\x1b[I",
    b"\x1b[O",
    b"\x1b[<200;1;1M",
];

#[test]
fn whole_sequences() {
    for (bytes, meaning) in sequences() {
        assert_eq!(
            decode(&[(0, bytes)]),
            std::slice::from_ref(&meaning),
            "{}",
            bytes.escape_ascii()
        );
        // Between other keys.
        let between = decode(&[(0, &[b"j", bytes, b"k"].concat())]);
        let expected = [chars("j"), vec![meaning], chars("k")].concat();
        assert_eq!(between, expected, "{}", bytes.escape_ascii());
    }
    for bytes in REPORTS {
        let typed = decode(&[(0, &[b"j", bytes, b"k"].concat())]);
        let typed: Vec<_> = typed.into_iter().filter(|t| !matches!(t, Typed::IsLight(_))).collect();
        assert_eq!(typed, chars("jk"), "{}", bytes.escape_ascii());
    }
}

#[test]
fn single_keys() {
    let (ctrl, alt) = (KeyModifiers::CONTROL, KeyModifiers::ALT);
    for (bytes, meaning) in [
        (&b"\r"[..], plain(KeyCode::Enter)),
        (b"\n", plain(KeyCode::Enter)),
        (b"\t", plain(KeyCode::Tab)),
        (b"\x7f", plain(KeyCode::Backspace)),
        (b"\x08", key(KeyCode::Char('h'), ctrl)),
        (b"\x00", key(KeyCode::Char(' '), ctrl)),
        (b"\x03", key(KeyCode::Char('c'), ctrl)),
        (b"\x1a", key(KeyCode::Char('z'), ctrl)),
        (b"\x1f", key(KeyCode::Char('7'), ctrl)),
        (b"q", plain(KeyCode::Char('q'))),
        (b"G", key(KeyCode::Char('G'), KeyModifiers::SHIFT)),
        ("é".as_bytes(), plain(KeyCode::Char('é'))),
        ("猫".as_bytes(), plain(KeyCode::Char('猫'))),
        (b"\x1bx", key(KeyCode::Char('x'), alt)),
        (b"\x1b\xc3\xa9", key(KeyCode::Char('é'), alt)),
        (b"\x1b(", key(KeyCode::Char('('), alt)),
        (b"\x1b\r", key(KeyCode::Enter, alt)),
        (b"\x1b", esc()),
        (b"\x1b]", key(KeyCode::Char(']'), alt)),
        (b"\x1bP", key(KeyCode::Char('P'), alt)),
    ] {
        assert_eq!(decode(&[(0, bytes)]), [meaning], "{}", bytes.escape_ascii());
    }
    assert_eq!(decode(&[(0, b"\x1b\x1b")]), [esc(), esc()]);
    assert_eq!(decode(&[(0, b"\x1b\x1b[B")]), [esc(), plain(KeyCode::Down)]);
    // A character of several bytes, cut; bytes that are none.
    assert_eq!(decode(&[(0, b"\xe7\x8c"), (500, b"\xab")]), chars("猫"));
    assert_eq!(decode(&[(0, b"\xc3j\xffk\x80\x1b\xc3l")]), chars("jkl"));
}

/// Every cut of every sequence, with pauses around the times that count: it is put together, or after an Esc discarded.
#[test]
fn a_key_cut_in_two_is_the_key_or_nothing() {
    for pause in [0, 10, 49, 60, 250, 500, 1900] {
        for (bytes, meaning) in sequences() {
            for cut in 1..bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                let expected = if cut == 1 && pause >= 50 {
                    esc()
                } else {
                    meaning.clone()
                };
                // What a person types afterwards is typed.
                let typed = decode(&[(0, head), (pause, tail), (2500, b"j")]);
                let expected = [vec![expected], chars("j")].concat();
                assert_eq!(typed, expected, "{} cut at {cut} for {pause} ms", bytes.escape_ascii());
            }
        }
    }
}

#[test]
fn a_key_in_more_pieces_is_the_key_or_nothing() {
    for pause in [0, 10, 60, 250] {
        for (bytes, meaning) in sequences() {
            let expected = if pause >= 50 { esc() } else { meaning };
            let pieces: Vec<(u64, &[u8])> = bytes.chunks(1).map(|byte| (pause, byte)).collect();
            assert_eq!(
                decode(&pieces),
                std::slice::from_ref(&expected),
                "{}",
                bytes.escape_ascii()
            );
            for cut in 2..bytes.len() {
                let typed = decode(&[(0, &bytes[..1]), (pause, &bytes[1..cut]), (pause, &bytes[cut..])]);
                assert_eq!(
                    typed,
                    std::slice::from_ref(&expected),
                    "{} cut at {cut}",
                    bytes.escape_ascii()
                );
            }
        }
    }
}

#[test]
fn a_report_in_pieces_is_no_key() {
    // An ESC alone, or with the character after it, is a key as well; nothing else of it is.
    let is_begin = |typed: &Typed| match typed {
        Typed::IsLight(_) => true,
        Typed::Key(key) => key.code == KeyCode::Esc || key.modifiers.contains(KeyModifiers::ALT),
        _ => false,
    };
    for bytes in REPORTS {
        for pause in [0, 10, 60, 250, 1000, 1900] {
            for cut in 1..bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                let typed = decode(&[(0, head), (pause, tail)]);
                let what = format!("{} cut at {cut} for {pause} ms: {typed:?}", bytes.escape_ascii());
                let begun = typed.iter().filter(|t| matches!(t, Typed::Key(_))).count();
                assert!(typed.iter().all(is_begin), "{what}");
                assert!(begun <= usize::from(cut <= 2 && pause >= 50), "{what}");
            }
        }
        for pause in [10, 60] {
            let pieces: Vec<(u64, &[u8])> = bytes.chunks(1).map(|byte| (pause, byte)).collect();
            let typed = decode(&pieces);
            assert!(
                typed.iter().all(is_begin),
                "{} by bytes: {typed:?}",
                bytes.escape_ascii()
            );
        }
    }
}

#[test]
fn the_awaited_answer_is_no_key_however_late() {
    for (bytes, is_light) in [
        (&b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\"[..], true),
        (b"\x1b]11;rgba:0000/0000/0000/ffff\x07", false),
    ] {
        for pause in [0, 60, 500, 3000, 60_000] {
            for cut in 1..bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                let mut expected = Vec::new();
                expected.extend((cut == 1 && pause >= 50).then(esc));
                expected.push(Typed::IsLight(is_light));
                expected.extend(chars("j"));
                let typed = decode_by(Decoder::new(true), &[(0, head), (pause, tail), (100, b"j")]);
                assert_eq!(typed, expected, "{} cut at {cut} for {pause} ms", bytes.escape_ascii());
            }
            let pieces: Vec<(u64, &[u8])> = bytes.chunks(1).map(|byte| (pause, byte)).collect();
            let typed = decode_by(Decoder::new(true), &pieces);
            // After a pause the ESC alone is a key.
            let mut expected = Vec::new();
            expected.extend((pause >= 50).then(esc));
            expected.push(Typed::IsLight(is_light));
            assert_eq!(typed, expected, "by bytes, {pause} ms");
        }
        let (head, tail) = bytes.split_at(2);
        let typed = decode_by(
            Decoder::new(true),
            &[(0, &head[..1]), (200, &head[1..]), (600, tail), (100, b"j")],
        );
        assert_eq!(typed, [vec![esc(), Typed::IsLight(is_light)], chars("j")].concat());
    }
}

/// Answers that nobody here asked for: to the program before, or a second one.
#[test]
fn a_colour_is_no_key_however_late_its_rest() {
    for bytes in [
        &b"\x1b]11;rgb:dcdc/dcdc/dcdc\x1b\\"[..],
        b"\x1b]11;rgba:dcdc/dcdc/dcdc/ffff\x07",
        b"\x1b]10;rgb:dcdc/dcdc/dcdc\x07",
        b"\x1b]4;255;rgb:dc/dc/dc\x1b\\",
    ] {
        let begun = bytes.windows(4).position(|four| four == b";rgb").unwrap() + 4;
        for pause in [100, 2100, 60_000] {
            for cut in begun..bytes.len() {
                let (head, tail) = bytes.split_at(cut);
                let mut typed = decode(&[(0, head), (pause, tail), (100, b"j")]);
                typed.retain(|t| !matches!(t, Typed::IsLight(_)));
                assert_eq!(
                    typed,
                    chars("j"),
                    "{} cut at {cut} for {pause} ms",
                    bytes.escape_ascii()
                );
            }
        }
        // Its beginning was reported as keys, byte by byte. The rest is in one piece.
        let mut typed = decode(&[(0, b"\x1b"), (200, b"]"), (600, &bytes[2..]), (100, b"j")]);
        typed.retain(|t| !matches!(t, Typed::IsLight(_)));
        assert_eq!(
            typed,
            [vec![esc()], chars("]j")].concat(),
            "{} after its beginning",
            bytes.escape_ascii()
        );
    }
    // What a person types after such a beginning, and what does not fit, is typed.
    assert_eq!(
        decode(&[(0, b"\x1b"), (200, b"]"), (600, b"1"), (200, b"5\r")]),
        [vec![esc()], chars("]15"), vec![plain(KeyCode::Enter)]].concat()
    );
    assert_eq!(decode(&[(0, b"\x1b]11;rgb:dd"), (2100, b"q")]), chars("q"));
}

#[test]
fn a_paste_in_pieces_is_one_paste() {
    let bytes = b"\x1b[200~kill [B\r\x1b[A\x1b[20 ]d\x1b[201~";
    let text = "kill [B\r\x1b[A\x1b[20 ]d";
    for pause in [0, 10, 60, 500, 1900] {
        for cut in 1..bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            let expected = if cut == 1 && pause >= 50 {
                esc()
            } else {
                Typed::Paste(text.into())
            };
            let typed = decode(&[(0, head), (pause, tail), (100, b"j")]);
            assert_eq!(
                typed,
                [vec![expected], chars("j")].concat(),
                "cut at {cut} for {pause} ms"
            );
        }
    }
    // After a long pause it goes on, but a single key is a person's.
    let typed = decode(&[(0, b"\x1b[200~one"), (5000, b"two\x1b[201~"), (100, b"j")]);
    let paste = |text: &str| Typed::Paste(text.into());
    assert_eq!(typed, [vec![paste("one"), paste("two")], chars("j")].concat());
    for (bytes, meaning) in [
        (&b"q"[..], plain(KeyCode::Char('q'))),
        (b"\x1b[B", plain(KeyCode::Down)),
        (b"\x1b", esc()),
    ] {
        let typed = decode(&[(0, b"\x1b[200~one"), (5000, bytes), (100, b"j")]);
        assert_eq!(typed, [vec![paste("one"), meaning], chars("j")].concat());
    }
    // An endless one takes no endless memory.
    let endless = "x".repeat(1 << 20);
    let typed = decode(&[(0, b"\x1b[200~"), (0, endless.as_bytes()), (0, b"\x1b[201~")]);
    assert!(matches!(&typed[..], [Typed::Paste(text)] if text.len() == 64 << 10));
}

#[test]
fn what_a_person_types_is_typed_in_time() {
    // Esc is told after its wait, and no sooner.
    let mut decoder = Decoder::new(true);
    let now = Duration::from_secs(1);
    assert_eq!(decoder.feed(b"\x1b", now), []);
    assert_eq!(decoder.deadline(), Some(now + ESC_WAIT));
    assert_eq!(decoder.expire(now + ESC_WAIT / 2), []);
    assert_eq!(decoder.expire(now + ESC_WAIT), [esc()]);
    // What could be its rest waits no longer than this.
    let later = now + Duration::from_secs(1);
    assert_eq!(decoder.feed(b"[", later), []);
    assert_eq!(decoder.deadline(), Some(later + HOLD));
    assert_eq!(decoder.expire(later + HOLD), chars("["));

    let typed = |pieces: &[(u64, &[u8])]| decode_by(Decoder::new(true), pieces);
    let late = LATE.as_millis() as u64 + 1;
    let alt = |c| key(KeyCode::Char(c), KeyModifiers::ALT);
    let keys = |first: Typed, text: &str| [vec![first], chars(text)].concat();
    assert_eq!(typed(&[(0, b"\x1b"), (60, b"j")]), keys(esc(), "j"));
    assert_eq!(typed(&[(0, b"\x1b"), (60, b"/"), (60, b"[")]), keys(esc(), "/["));
    assert_eq!(typed(&[(0, b"\x1b"), (late, b"[")]), keys(esc(), "["));
    assert_eq!(typed(&[(0, b"\x1b"), (700, b"]"), (700, b"d")]), keys(esc(), "]d"));
    // While the answer is awaited, `]` waits for what shows that it is a key.
    assert_eq!(
        typed(&[(0, b"\x1b"), (700, b"]"), (9000, b"\r")])[..2],
        keys(esc(), "]")
    );
    assert_eq!(
        decode(&[(0, b"\x1b"), (700, b"]"), (9000, b"]")]),
        keys(esc(), "]]"),
        "not awaited"
    );
    assert_eq!(
        typed(&[(0, b"\x1b"), (60, b"\x1b"), (60, b"\x1b")]),
        [esc(), esc(), esc()]
    );
    // A sequence that is never finished keeps nothing back for longer than that.
    for begun in [
        &b"\x1b["[..],
        b"\x1b[1;",
        b"\x1bO",
        b"\x1b[<0;1",
        b"\x1b[M!",
        b"\x1b[?2026",
    ] {
        assert_eq!(
            typed(&[(0, begun), (late, b"jq")]),
            chars("jq"),
            "{}",
            begun.escape_ascii()
        );
        let ctrl_c = key(KeyCode::Char('c'), KeyModifiers::CONTROL);
        if !begun.starts_with(b"\x1b[M") {
            assert_eq!(
                typed(&[(0, begun), (100, b"\x03")]),
                [ctrl_c],
                "{}",
                begun.escape_ascii()
            );
        }
    }
    // Nor a text: what no terminal answers is typed after a pause, and all after the bound.
    let pieces = |begun: &'static [u8]| decode(&[(0, begun), (100, b"q"), (100, b"j")]);
    assert_eq!(pieces(b"\x1b]"), keys(alt(']'), "qj"));
    assert_eq!(pieces(b"\x1bP"), keys(alt('P'), "qj"));
    assert_eq!(pieces(b"\x1b_"), keys(alt('_'), "qj"));
    assert_eq!(pieces(b"\x1bX"), keys(alt('X'), "qj"));
    assert_eq!(decode(&[(0, b"\x1b]52;c;abc"), (late, b"j")]), chars("j"));
    // While the answer is awaited only what fits it is kept back: 27 characters at most.
    let person: Vec<(u64, &[u8])> = [b"\x1b]".as_slice(), b"1", b"1", b";", b"a", b"q"]
        .map(|key| (900, key))
        .into();
    assert_eq!(typed(&person), chars("aq"));
    let mut person: Vec<(u64, &[u8])> = vec![(0, b"\x1b]11;rgb:")];
    person.extend([(900, &b"a"[..]); 40]);
    let swallowed = 27 - "11;rgb:".len();
    assert_eq!(typed(&person), chars(&"a".repeat(40 - swallowed)));
}
