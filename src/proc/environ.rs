//! Parses `/proc/<pid>/environ`, and hides values that may be secret.

/// A variable of an environment, as the process was started with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: Box<[u8]>,
    /// The value, or as much of it as is no secret.
    pub value: Box<[u8]>,
}

/// The parts of a name that mark its value as a secret, in upper case.
const SECRET_NAMES: [&str; 15] = [
    "ACCESS_KEY",
    "API_KEY",
    "APIKEY",
    "AUTH",
    "BEARER",
    "COOKIE",
    "CREDENTIAL",
    "DSN",
    "HEADERS",
    "PASS",
    "PRIVATE",
    "PWD",
    "SECRET",
    "SIGNATURE",
    "TOKEN",
];
/// The text in place of a secret.
const HIDDEN: &[u8] = b"***";

/// Parses an environment, sorted by name. A part without `=` is a name without a value.
pub fn parse(bytes: &[u8]) -> Vec<Variable> {
    let parts = bytes.split(|b| *b == 0).filter(|part| !part.is_empty());
    let mut variables: Vec<Variable> = parts.map(variable).collect();
    variables.sort_by(|a, b| a.name.cmp(&b.name));
    variables
}

fn variable(part: &[u8]) -> Variable {
    let (name, value) = match part.iter().position(|b| *b == b'=') {
        Some(at) => (&part[..at], &part[at + 1..]),
        None => (part, &b""[..]),
    };
    let value = if is_secret(name) && !value.is_empty() {
        HIDDEN.into()
    } else {
        without_password(value)
    };
    Variable {
        name: name.into(),
        value,
    }
}

fn is_secret(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_ascii_uppercase();
    // Paths that lead to a secret are none.
    let is_path = matches!(&*name, "PWD" | "OLDPWD" | "XAUTHORITY")
        || ["_SOCK", "_FILE", "_PATH", "_DIR"]
            .iter()
            .any(|end| name.ends_with(end));
    !is_path && (SECRET_NAMES.iter().any(|part| name.contains(part)) || name.ends_with("KEY"))
}

/// Hides the text between `://` and `@` in an address.
fn without_password(value: &[u8]) -> Box<[u8]> {
    let find = |from: usize, text: &[u8]| {
        value[from..]
            .windows(text.len())
            .position(|part| part == text)
            .map(|at| from + at)
    };
    let mut shown = Vec::with_capacity(value.len());
    let mut from = 0;
    while let Some(scheme) = find(from, b"://") {
        let start = scheme + 3;
        let ends = |b: &u8| matches!(b, b'/' | b' ' | b'?' | b'#' | b',');
        let end = value[start..]
            .iter()
            .position(ends)
            .map_or(value.len(), |at| start + at);
        shown.extend(&value[from..start]);
        from = start;
        if let Some(at) = value[start..end].iter().rposition(|b| *b == b'@') {
            shown.extend(HIDDEN);
            from = start + at;
        }
    }
    shown.extend(&value[from..]);
    shown.into()
}
