//! Parses tokens into a tree of conditions.

use regex::{Regex, RegexBuilder};

use super::expr::{Comparison, Condition, Expr, TextCondition, UserCondition, fold};
use super::keys::{KeyKind, normalized, shown, unknown_column, unknown_key};
use super::tokens::{Literal, Style, Token};
use super::{Filter, FilterError, Schema, TextField, bounds, keys};
use crate::units::Unit;

/// Builds the tree; `None` for an empty filter.
pub(super) fn parse(tokens: &[Token], schema: &dyn Schema) -> Result<Option<Expr>, FilterError> {
    if tokens.is_empty() {
        return Ok(None);
    }
    let mut parser = Parser {
        tokens,
        at: 0,
        patterns: 0,
        schema,
    };
    let expr = parser.any_of(0)?;
    match parser.peek() {
        None => Ok(Some(expr)),
        // Only a parenthesis ends a list of terms early.
        Some(token) => Err(FilterError::new(token.at(), "this ) closes nothing")),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    patterns: usize,
    schema: &'a dyn Schema,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    /// Parses terms between `|`.
    fn any_of(&mut self, depth: usize) -> Result<Expr, FilterError> {
        let mut any = vec![self.all_of(depth, None)?];
        while let Some(Token::Or(at)) = self.peek() {
            self.at += 1;
            any.push(self.all_of(depth, Some(*at))?);
        }
        Ok(Expr::any_of(any))
    }

    /// Parses terms side by side; `after` is the `|` they follow.
    fn all_of(&mut self, depth: usize, after: Option<usize>) -> Result<Expr, FilterError> {
        let mut all = Vec::new();
        while let Some(token) = self.peek() {
            match token {
                Token::Or(at) if all.is_empty() && after.is_none() => {
                    return Err(FilterError::new(*at, "a term is missing before |"));
                }
                Token::Or(_) | Token::Close(_) => break,
                _ => all.push(self.negated(depth)?),
            }
        }
        match (all.is_empty(), after, self.peek()) {
            (false, ..) => Ok(Expr::all_of(all)),
            (true, Some(at), _) => Err(FilterError::new(at, "a term is missing after |")),
            (true, None, Some(token)) => Err(FilterError::new(token.at(), "this ) closes nothing")),
            (true, None, None) => Err(FilterError::new(0, "a term is missing")),
        }
    }

    fn negated(&mut self, depth: usize) -> Result<Expr, FilterError> {
        let mut negate = false;
        let mut last = None;
        while let Some(Token::Not(at)) = self.peek() {
            self.at += 1;
            negate = !negate;
            last = Some(*at);
        }
        let Some(token) = self.peek() else {
            return Err(FilterError::new(last.unwrap_or(0), "a term is missing after !"));
        };
        self.at += 1;
        let expr = match token {
            Token::Open(at) => self.group(*at, depth + 1)?,
            Token::Bare(literal) => Expr::Condition(self.bare(literal)?),
            Token::Keyed(key, value) => Expr::Condition(self.keyed(key, value)?),
            Token::Figure(column, comparison, bound) => Expr::Condition(self.figure(column, *comparison, bound)?),
            Token::Close(_) | Token::Or(_) | Token::Not(_) => {
                return Err(FilterError::new(last.unwrap_or(0), "a term is missing after !"));
            }
        };
        Ok(if negate { Expr::Not(Box::new(expr)) } else { expr })
    }

    fn group(&mut self, open: usize, depth: usize) -> Result<Expr, FilterError> {
        if depth > Filter::MAX_DEPTH {
            let what = format!("parentheses nest more than {} deep", Filter::MAX_DEPTH);
            return Err(FilterError::new(open, what));
        }
        match self.peek() {
            None => return Err(FilterError::new(open, "this ( is not closed")),
            Some(Token::Close(_)) => return Err(FilterError::new(open, "there is nothing between the parentheses")),
            Some(_) => {}
        }
        let inner = self.any_of(depth)?;
        if matches!(self.peek(), Some(Token::Close(_))) {
            self.at += 1;
            Ok(inner)
        } else {
            Err(FilterError::new(open, "this ( is not closed"))
        }
    }

    fn bare(&mut self, literal: &Literal) -> Result<Condition, FilterError> {
        Ok(match self.text(literal)? {
            TextCondition::Contains(part) => Condition::Anywhere(part),
            TextCondition::Pattern(pattern) => Condition::Pattern(pattern),
        })
    }

    fn keyed(&mut self, key: &Literal, value: &Literal) -> Result<Condition, FilterError> {
        let Some(known) = keys::find(&key.text) else {
            // `verdict:leaking` reads better than `verdict=leaking`, and means the same.
            return match self.schema.figure(&normalized(&key.text)) {
                Some((_, Unit::Verdict)) => self.figure(key, Comparison::Equal, value),
                _ => Err(unknown_key(&key.text, &value.text, key.at, self.schema)),
            };
        };
        if value.text.is_empty() {
            let what = format!("{}: needs {}, without a space", known.name, known.expects);
            return Err(FilterError::new(value.at, what));
        }
        match known.kind {
            KeyKind::Pid => pids(value),
            KeyKind::State => states(value),
            KeyKind::Text(TextField::User) if value.style != Style::Pattern => Ok(Condition::User(self.users(value))),
            KeyKind::Text(field) => Ok(Condition::Text(field, self.text(value)?)),
        }
    }

    fn figure(&self, column: &Literal, comparison: Comparison, bound: &Literal) -> Result<Condition, FilterError> {
        let name = normalized(&column.text);
        let Some((column, unit)) = self.schema.figure(&name) else {
            return Err(unknown_column(&column.text, &bound.text, column.at, self.schema));
        };
        let example = bounds::example(unit);
        if bound.text.is_empty() {
            let what = format!("a figure is missing after {name}: write {example}");
            return Err(FilterError::new(bound.at, what));
        }
        let Some(bound) = bounds::parse(&bound.text, unit) else {
            let what = format!("{name} wants {example}, not {}", shown(&bound.text));
            return Err(FilterError::new(bound.at, what));
        };
        Ok(Condition::Figure {
            column,
            comparison,
            bound,
        })
    }

    /// Parses names between commas; in quotes a comma is part of the name.
    fn users(&self, value: &Literal) -> UserCondition {
        let names = if value.style == Style::Quoted {
            vec![value.text.as_str()]
        } else {
            value.text.split(',').filter(|name| !name.is_empty()).collect()
        };
        UserCondition {
            uids: names.iter().filter_map(|name| name.parse().ok()).collect(),
            names: names.into_iter().map(fold).collect(),
            uid_column: self.schema.figure("uid").map(|(column, _)| column),
        }
    }

    fn text(&mut self, literal: &Literal) -> Result<TextCondition, FilterError> {
        if literal.style != Style::Pattern {
            return Ok(TextCondition::Contains(fold(&literal.text)));
        }
        self.patterns += 1;
        if self.patterns > Filter::MAX_PATTERNS {
            let what = format!("a filter holds at most {} regular expressions", Filter::MAX_PATTERNS);
            return Err(FilterError::new(literal.at, what));
        }
        pattern(literal).map(TextCondition::Pattern)
    }
}

fn pids(value: &Literal) -> Result<Condition, FilterError> {
    let mut at = value.at;
    let mut pids = Vec::new();
    for part in value.text.split(',') {
        if !part.is_empty() {
            pids.push(
                part.parse()
                    .map_err(|_| FilterError::new(at, "a pid is a whole number"))?,
            );
        }
        at += part.chars().count() + 1;
    }
    if pids.is_empty() {
        return Err(FilterError::new(value.at, "pid: needs a number"));
    }
    Ok(Condition::Pid(pids))
}

/// The state letters of `fs/proc/array.c`, those of old kernels included.
const STATES: &str = "RSDTtZXxIPKW";

/// Parses state letters in either case, but `t` (traced) and `T` (stopped) are two states.
fn states(value: &Literal) -> Result<Condition, FilterError> {
    let mut states = Vec::new();
    for (i, c) in value.text.chars().enumerate() {
        let upper = c.to_ascii_uppercase();
        match c {
            ',' => {}
            't' => states.push(b't'),
            _ if STATES.contains(upper) => states.extend([upper, c].iter().map(|c| *c as u8)),
            _ => return Err(FilterError::new(value.at + i, "a state is one of R S D T t Z I")),
        }
    }
    if states.is_empty() {
        return Err(FilterError::new(value.at, "state: needs a letter"));
    }
    Ok(Condition::State(states))
}

fn pattern(literal: &Literal) -> Result<Regex, FilterError> {
    // The limits keep a hostile pattern from taking more than a mebibyte of memory or a deep stack.
    RegexBuilder::new(&literal.text)
        .case_insensitive(!has_upper(&literal.text))
        .dot_matches_new_line(true)
        .size_limit(1 << 20)
        .dfa_size_limit(1 << 20)
        .nest_limit(64)
        .build()
        .map_err(|error| FilterError::new(literal.at, regex_error(&error)))
}

/// Returns the regex crate's message as one short line.
fn regex_error(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "this regular expression is too large".into(),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!("bad regular expression: {}", last.trim_start_matches("error: "))
        }
    }
}

/// Returns true if a pattern holds an upper-case letter that is not part of an escape such as `\S` or `\p{Lu}`.
fn has_upper(pattern: &str) -> bool {
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' {
            let escape = chars.next();
            if matches!(escape, Some('p' | 'P' | 'x' | 'u' | 'U')) && chars.peek() == Some(&'{') {
                chars.by_ref().find(|c| *c == '}');
            }
        } else if c.is_uppercase() {
            return true;
        }
    }
    false
}
