//! TOML with its places, and the words that messages about it are made of.

use toml::de::{DeTable, DeValue};

use super::fault::{Faults, shown};

/// In a text beyond this length only the first syntax fault is named: each could be a byte.
const RECOVER_BYTES: usize = 64 << 10;

/// The document, as far as it could be understood; what is not TOML is added to `faults`.
pub(super) fn parse<'t>(text: &'t str, faults: &mut Faults<'_>) -> DeTable<'t> {
    match DeTable::parse(text) {
        Ok(table) => table.into_inner(),
        Err(first) if text.len() > RECOVER_BYTES => {
            faults.add_syntax(first.span(), first.message());
            DeTable::new()
        }
        Err(_) => {
            let (table, errors) = DeTable::parse_recoverable(text);
            for e in errors {
                faults.add_syntax(e.span(), e.message());
            }
            table.into_inner()
        }
    }
}

/// A value's type with its article, for "expected …, found …".
pub(super) fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(s) => format!("\"{}\"", shown(s)),
        DeValue::Integer(i) => shown(&i.to_string()),
        DeValue::Float(x) => shown(x.as_str()),
        DeValue::Boolean(b) => b.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "an array".into(),
        DeValue::Table(_) => "a table".into(),
    }
}

/// Says that a name is not one of the known ones: the nearest, then all of them.
pub fn unknown<'n>(kind: &str, name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = nearest(name, known.iter().copied()).map_or(".".into(), |n| format!("; did you mean `{n}`?"));
    format!("unknown {kind} `{}`{hint} Known: {}", shown(name), known.join(", "))
}

/// The known name that differs least from `name`, if it is near enough to be meant.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|k| (distance(&name, &k.to_lowercase()), k))
        .filter(|(d, k)| *d <= k.chars().count().max(3) / 3)
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (last[j - 1] + same).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before_at(&before, j - 2) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

fn before_at(before: &[usize], at: usize) -> usize {
    before.get(at).copied().unwrap_or(usize::MAX - 1)
}
