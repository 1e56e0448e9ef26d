//! Laws that hold for every filter.

use std::borrow::Cow;

use proptest::prelude::*;
use zmtop::columns::COLUMNS;
use zmtop::filter::{Filter, Filterable, TextField, quoted};

/// A subject of which everything is known: its words, and one figure for every column.
struct Known(String, f64);

impl Filterable for Known {
    fn text(&self, _: TextField) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(self.0.as_bytes()))
    }

    fn pid(&self) -> Option<u32> {
        Some(self.1 as u32)
    }

    fn number(&self, _: usize) -> Option<f64> {
        Some(self.1)
    }
}

/// Filters that are understood.
fn filters() -> impl Strategy<Value = String> {
    let term = prop_oneof![
        "[a-d]{1,2}",
        "\"[a-d ]{1,3}\"",
        "/[a-d]\\+?[a-d]\\|?/",
        "(user|cmd|name|unit):[a-d]{1,2}",
        "pid:[0-9]{1,2}",
        "(pss|swap|uss)(>|>=|<|<=|=|!=)-?[0-9]{1,2}[kM]?",
        "growth>[0-9]K/min",
    ];
    term.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| format!("!{a}")),
            inner.clone().prop_map(|a| format!("({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} {b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("({a} | {b})")),
        ]
    })
}

fn parse(text: &str) -> Filter {
    Filter::parse(text, &COLUMNS).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Pieces that the language is made of, put together at random.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just("|".to_owned()),
        Just("!".to_owned()),
        Just("\"".to_owned()),
        Just("/".to_owned()),
        Just("\\".to_owned()),
        Just(" ".to_owned()),
        Just("user:".to_owned()),
        Just("pss>".to_owned()),
        Just("1M".to_owned()),
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|v| v.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsing_is_total(text in prop_oneof![any::<String>(), soup()]) {
        match Filter::parse(&text, &COLUMNS) {
            Ok(filter) => {
                filter.matches(&Known("abc".into(), 1.0));
            }
            Err(e) => {
                prop_assert!(e.at <= text.chars().count(), "{e}");
                prop_assert!(!e.what.is_empty());
                prop_assert!(!e.what.chars().any(char::is_control), "{e}");
            }
        }
    }

    #[test]
    fn not_turns_an_answer_round_where_all_is_known(text in filters(), word in "[a-d ]{0,6}", figure in -99.0..99.0_f64) {
        let subject = Known(word, figure);
        let yes = parse(&text).matches(&subject);
        prop_assert_eq!(parse(&format!("!({text})")).matches(&subject), !yes);
        prop_assert_eq!(parse(&format!("!!({text})")).matches(&subject), yes);
    }

    #[test]
    fn and_or_are_those_of_their_parts(a in filters(), b in filters(), word in "[a-d ]{0,6}", figure in -99.0..99.0_f64) {
        let subject = Known(word, figure);
        let (x, y) = (parse(&a).matches(&subject), parse(&b).matches(&subject));
        prop_assert_eq!(parse(&format!("{a} {b}")).matches(&subject), x && y);
        prop_assert_eq!(parse(&format!("{a}|{b}")).matches(&subject), x || y);
    }

    #[test]
    fn a_quoted_text_means_itself(text in "\\PC{1,12}", around in "\\PC{0,4}") {
        let subject = Known(format!("{around}{text}{around}"), 0.0);
        let (part, whole) = (format!("cmd:{}", quoted(&text)), format!("user:{}", quoted(&text)));
        prop_assert!(parse(&quoted(&text)).matches(&subject));
        prop_assert!(parse(&part).matches(&subject));
        prop_assert!(parse(&whole).matches(&Known(text, 0.0)));
    }
}
