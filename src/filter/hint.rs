//! What to say about a filter that was not understood.

use crate::filter::lexer::Text;
use crate::filter::{Catalog, FilterError, parser};
use crate::text;

/// A key as it is looked up: lower case, `-` as `_`.
pub(super) fn normal(key: &str) -> String {
    key.to_lowercase().replace('-', "_")
}

/// Typed text, short and safe to print.
pub(super) fn show(typed: &str) -> String {
    text::fit(&text::safe_prefix(typed.as_bytes(), 24), 24, text::Align::Left)
        .trim_end()
        .to_owned()
}

/// `key:value` with a key that is none.
pub(super) fn unknown_key(key: &Text, value: &Text, catalog: &dyn Catalog) -> FilterError {
    let name = normal(&key.body);
    let what = if catalog.column(&name).is_some() {
        format!("{name} is a figure: write {name}>{}", show(&value.body))
    } else {
        unknown(&key.body, parser::keys().collect())
    };
    FilterError::new(key.at, what)
}

/// `column>figure` with a column that is none.
pub(super) fn unknown_column(key: &Text, value: &Text, catalog: &dyn Catalog) -> FilterError {
    let name = normal(&key.body);
    let what = if parser::is_key(&key.body) {
        format!("{name} is a word: write {name}:{}", show(&value.body))
    } else {
        unknown(&key.body, catalog.names())
    };
    FilterError::new(key.at, what)
}

fn unknown(typed: &str, known: Vec<&str>) -> String {
    let name = normal(typed);
    let nearest = known
        .into_iter()
        .map(|other| (distance(&name, other), other))
        .min()
        .filter(|(d, other)| *d <= 2 && *d < other.len());
    match nearest {
        Some((_, other)) => format!("unknown key {}: did you mean {other}?", show(typed)),
        None => format!(
            "unknown key {}: to look for the word itself, put it in quotes",
            show(typed)
        ),
    }
}

/// How many letters have to be changed, added, dropped or swapped with their neighbour. Long words are
/// far from everything.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 2 {
        return usize::MAX;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The regex crate's complaint in one short line.
pub(super) fn regex(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "this regular expression is too large".into(),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!("bad regular expression: {}", last.trim_start_matches("error: "))
        }
    }
}
