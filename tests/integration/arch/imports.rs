//! Which top-level modules a source names.

/// The top-level modules named by `crate::…` and `super::…` paths (in `use` trees, also nested ones, and in
/// code), without comments and literals. `modules` is where the source stands, from the root.
pub(super) fn imports(source: &str, modules: &[String]) -> Vec<String> {
    let tokens = tokens(&strip(source));
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let starts = at == 0 || tokens[at - 1] != "::";
        let depth = match tokens[at].as_str() {
            "crate" | "zmtop" if starts => Some(modules.len()),
            "super" | "self" if starts => {
                // `super` in `a/b.rs` is `a`; inside an inline module it would be `a/b`, so no deeper.
                let climbs = tokens[at..].iter().step_by(2).take_while(|t| *t == "super").count();
                at += 2 * climbs.saturating_sub(1);
                Some(climbs)
            }
            _ => None,
        };
        at += 1;
        if let Some(depth) = depth
            && depth >= modules.len()
            && tokens.get(at).is_some_and(|t| t == "::")
        {
            first_segments(&tokens[at + 1..], &mut found);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The first segment of a path, or of each branch of `{…}`.
fn first_segments(tokens: &[String], found: &mut Vec<String>) {
    match tokens.first().map(String::as_str) {
        Some("{") => {
            let mut depth = 0;
            let mut fresh = true;
            for token in tokens {
                match token.as_str() {
                    "{" => depth += 1,
                    "}" => {
                        depth -= 1;
                        if depth == 0 {
                            break;
                        }
                    }
                    "," if depth == 1 => fresh = true,
                    name => {
                        if fresh && depth == 1 {
                            keep(name, found);
                        }
                        fresh = false;
                    }
                }
            }
        }
        Some(name) => keep(name, found),
        None => {}
    }
}

fn keep(name: &str, found: &mut Vec<String>) {
    if name == "*" || name != "self" && name.starts_with(|c: char| c.is_alphabetic()) {
        found.push(name.trim_start_matches("r#").to_owned());
    }
}

/// Words, `::`, and single signs.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() || c == '_' {
            let mut word = String::from(c);
            while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                word.push(c);
            }
            tokens.push(word);
        } else if c == ':' && chars.next_if_eq(&':').is_some() {
            tokens.push("::".into());
        } else if !c.is_whitespace() {
            tokens.push(c.into());
        }
    }
    tokens
}

/// The source without comments, strings and character literals.
fn strip(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block(rest)
        } else if c == '"' {
            string(rest)
        } else if let Some(len) = raw_string(rest, &out) {
            len
        } else if c == '\'' {
            character(rest)
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        out.push(' ');
        rest = &rest[skip..];
    }
    out
}

/// The length of a block comment; they nest.
fn block(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// The length of `r"…"`, `r#"…"#`, `br"…"`, if one begins here and not within a word.
fn raw_string(text: &str, before: &str) -> Option<usize> {
    if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let body = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let inner = body[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let close = inner.find(&end).map_or(inner.len(), |at| at + end.len());
    Some(text.len() - inner.len() + close)
}

/// The length of a character literal; a lifetime's tick is one character.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1)
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}
