//! Messages about filters that do not parse, and the places that they mark.

use zmtop::columns::COLUMNS;
use zmtop::filter::{Filter, FilterError};

#[track_caller]
fn error(text: &str) -> FilterError {
    match Filter::parse(text, &COLUMNS) {
        Ok(_) => panic!("{text} was understood"),
        Err(e) => e,
    }
}

#[test]
fn every_fault_has_its_place_and_its_words() {
    let table: &[(&str, usize, &str)] = &[
        ("foo user:", 9, "needs a name"),
        ("pid:", 4, "needs a number"),
        ("pid:x", 4, "a pid is a whole number"),
        ("pid:1,é,2", 6, "a pid is a whole number"),
        ("pid:99999999999", 4, "a pid is a whole number"),
        ("pid:,", 4, "needs a number"),
        ("state:SQ", 7, "a state is one of"),
        ("state:ß", 6, "a state is one of"),
        ("usr:bob", 0, "unknown key usr: did you mean user?"),
        ("a usre:bob", 2, "did you mean user?"),
        ("veridct:leaking", 0, "unknown key veridct: did you mean verdict?"),
        ("http://x", 0, "put it in quotes"),
        ("sawp>1", 0, "did you mean swap?"),
        ("pssss>1M", 0, "did you mean pss?"),
        ("swap>", 5, "a figure is missing after swap"),
        ("swap > ", 7, "a figure is missing after swap"),
        ("swap > | x", 7, "a figure is missing after swap"),
        ("> 1", 0, "a column is missing before >"),
        ("x \"y\" > 1", 6, "a column is missing before >"),
        ("firefox > 1", 0, "unknown key firefox"),
        (
            "verdict:bad",
            8,
            "verdict needs shrinking, steady, warming, hoarding, growing or leaking, not bad",
        ),
        ("verdict>1M", 8, "verdict needs shrinking"),
        ("trend>leaking", 6, "trend needs a size per time"),
        ("x swap>1Q", 7, "swap needs a size such as 100M or 1.5G, not 1Q"),
        ("swap>ten", 5, "swap needs a size"),
        ("swap>1.2.3", 5, "swap needs a size"),
        ("swap>\"", 5, "this quote is not closed"),
        ("growth>1M", 7, "growth needs a size per time"),
        ("growth>1M/x", 7, "growth needs a size per time"),
        ("cpu>x%", 4, "cpu needs a percentage"),
        ("age>5q", 4, "age needs a time"),
        ("threads>1x", 8, "threads needs a number"),
        ("user=root", 0, "user is a word: write user:root"),
        ("pss:100M", 0, "pss is a figure: write pss>100M"),
        ("ppid:1", 0, "write ppid=1"),
        ("uptime>1h", 0, "unknown key uptime: did you mean elapsed?"),
        (
            "pss>1M & pss<2M",
            7,
            "write a space for \"both\"; for the characters, put them in quotes",
        ),
        ("é \"abc", 2, "this quote is not closed"),
        ("x 'y z", 2, "this quote is not closed"),
        ("o'brien", 1, "put a word with a ' in it in double quotes"),
        ("cmd:'a b'\"c", 9, "this quote is not closed"),
        ("swap>'1", 5, "this quote is not closed"),
        ("swap>0 or pss>1g", 7, "write | for"),
        ("a OR !b", 2, "write | for"),
        ("(a) and (b)", 4, "write a space for"),
        ("bash && sleep", 5, "write a space for"),
        ("a and user:x", 2, "write a space for"),
        ("not root", 0, "write ! for"),
        ("a (Not b)", 3, "write ! for"),
        ("x pid 1", 2, "write pid:1"),
        ("''", 0, "nothing between the quotes"),
        ("cmd:''\"\"", 4, "nothing between the quotes"),
        ("\"\"", 0, "nothing between the quotes"),
        ("cmd:\"\"", 4, "nothing between the quotes"),
        ("a /bc", 2, "this regular expression is not closed"),
        ("/a\\/", 0, "this regular expression is not closed"),
        ("/a\\", 0, "this regular expression is not closed"),
        ("//", 0, "nothing between the slashes"),
        ("/usr/bin/top", 4, "put a path in quotes"),
        ("x /a(/", 2, "bad regular expression: unclosed group"),
        ("user:/[/", 5, "bad regular expression: unclosed character class"),
        ("/(\\w{500}){500}/", 0, "too large"),
        ("(a", 0, "this ( is not closed"),
        ("a (b (c)", 2, "this ( is not closed"),
        ("(", 0, "this ( is not closed"),
        ("a)", 1, "this ) closes nothing"),
        (")", 0, "this ) closes nothing"),
        ("trend:leak", 0, "the verdict is written verdict:leaking"),
        ("growth:fast", 0, "growth is a figure: write growth> and a number"),
        ("a ()", 2, "nothing between the parentheses"),
        ("a |", 2, "a term is missing after |"),
        ("a | | b", 2, "a term is missing after |"),
        ("(a |)", 3, "a term is missing after |"),
        ("| a", 0, "a term is missing before |"),
        ("(| a)", 1, "a term is missing before |"),
        ("a !", 2, "a term is missing after !"),
        ("a !| b", 2, "a term is missing after !"),
        ("(a !)", 3, "a term is missing after !"),
    ];
    for (text, at, what) in table {
        let e = error(text);
        assert!(e.what.contains(what), "{text}: {e}");
        assert_eq!(e.at, *at, "{text}: {e}");
        assert!(!e.what.contains('\n') && e.what.chars().count() < 120, "{text}: {e}");
    }
}

#[test]
fn places_are_shown_from_one() {
    assert_eq!(error("a )").to_string(), "this ) closes nothing at column 3");
}

#[test]
fn the_place_is_marked_below_the_filter() {
    for (text, lines) in [
        ("a )", "this ) closes nothing\n    a )\n      ^"),
        (
            "日本 swap>x",
            "swap needs a size such as 100M or 1.5G, not x\n    日本 swap>x\n              ^",
        ),
    ] {
        assert_eq!(error(text).in_lines(text), lines);
    }
    let long = format!("{} )", "a".repeat(300));
    assert_eq!(error(&long).in_lines(&long), "this ) closes nothing at column 302");
    let lines = error("x\u{1b}\u{202e} k:1").in_lines("x\u{1b}\u{202e} k:1");
    assert!(!lines.contains(['\u{1b}', '\u{202e}']), "{lines}");
}

#[test]
fn what_was_typed_is_shown_safely() {
    let e = error("\u{2066}x k\u{300}\u{1b}ey:1 x\u{202e}y>1 swap>1\u{1b}[31m\u{9b}");
    assert!(!e.what.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{e}");
    let e = error("swap>1\u{1b}[31m\u{202e}\u{9b}");
    assert!(!e.what.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{e}");
    let e = error(&format!("swap>{}", "9x".repeat(1000)));
    assert!(e.what.chars().count() < 120, "{e}");
    let e = error(&format!("{}:1", "é".repeat(1000)));
    assert!(e.what.chars().count() < 120, "{e}");
}

#[test]
fn length_depth_and_patterns_are_bounded() {
    let deep = |n: usize| format!("{}a{}", "(".repeat(n), ")".repeat(n));
    Filter::parse(&deep(Filter::MAX_DEPTH), &COLUMNS).unwrap();
    let e = error(&deep(Filter::MAX_DEPTH + 1));
    assert!(e.what.contains("nest more than 64 deep"), "{e}");
    assert_eq!(e.at, Filter::MAX_DEPTH);
    let nots = format!("{}a", "!".repeat(Filter::MAX_BYTES - 1));
    Filter::parse(&nots, &COLUMNS).unwrap();

    Filter::parse(&"a ".repeat(2048), &COLUMNS).unwrap();
    let e = error(&"é".repeat(2049));
    assert!(e.what.contains("at most 4096 bytes"), "{e}");
    assert_eq!(e.at, 2048);

    Filter::parse(&"/a/ ".repeat(Filter::MAX_PATTERNS), &COLUMNS).unwrap();
    let e = error(&"/a/ ".repeat(Filter::MAX_PATTERNS + 1));
    assert!(e.what.contains("at most 16 regular expressions"), "{e}");
    assert_eq!(e.at, 4 * Filter::MAX_PATTERNS);
}
