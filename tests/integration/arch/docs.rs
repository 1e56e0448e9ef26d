//! Doc comments begin as rustdoc's do: with a verb in the third person or with a noun.

/// Words that begin a subordinate clause, or leave open what is meant.
const OPENINGS: [&str; 9] = [
    "What", "How", "Whether", "Who", "Whoever", "Whose", "Those", "Of", "One",
];

/// Returns the first lines of the doc comments that begin with such a word.
pub(super) fn misworded(source: &str) -> Vec<&str> {
    let mut inside = "";
    let mut found = Vec::new();
    for line in source.lines().map(str::trim) {
        let sign = ["///", "//!"]
            .into_iter()
            .find(|sign| line.starts_with(sign))
            .unwrap_or("");
        let text = line[sign.len()..].trim();
        let word = text.split(|c: char| !c.is_alphanumeric()).next();
        if !sign.is_empty() && sign != inside && word.is_some_and(|word| OPENINGS.contains(&word)) {
            found.push(line);
        }
        inside = sign;
    }
    found
}
