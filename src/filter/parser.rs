//! Tokens into a tree of tests.

use regex::{Regex, RegexBuilder};

use crate::filter::eval::{Expr, Test, TextTest, UserTest, fold};
use crate::filter::lexer::{Style, Text, Token};
use crate::filter::{Catalog, Filter, FilterError, Word, figure, hint};

/// Builds the tree; `None` for a filter that asks nothing.
pub(super) fn parse(tokens: &[Token], catalog: &dyn Catalog) -> Result<Option<Expr>, FilterError> {
    if tokens.is_empty() {
        return Ok(None);
    }
    let mut parser = Parser {
        tokens,
        at: 0,
        patterns: 0,
        catalog,
    };
    let expr = parser.either(0)?;
    match parser.peek() {
        None => Ok(Some(expr)),
        // Only a parenthesis stops `either` early.
        Some(token) => Err(FilterError::new(place(token), "this ) closes nothing")),
    }
}

const fn place(token: &Token) -> usize {
    match token {
        Token::Open(at) | Token::Close(at) | Token::Or(at) | Token::Not(at) => *at,
        Token::Bare(text) | Token::Keyed(text, _) | Token::Figure(text, ..) => text.at,
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    patterns: usize,
    catalog: &'a dyn Catalog,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    /// Terms between `|`.
    fn either(&mut self, depth: usize) -> Result<Expr, FilterError> {
        let mut any = vec![self.all(depth, None)?];
        while let Some(Token::Or(at)) = self.peek() {
            self.at += 1;
            any.push(self.all(depth, Some(*at))?);
        }
        Ok(Expr::any(any))
    }

    /// Terms side by side; `after` is the `|` they follow.
    fn all(&mut self, depth: usize, after: Option<usize>) -> Result<Expr, FilterError> {
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
            (false, ..) => Ok(Expr::all(all)),
            (true, Some(at), _) => Err(FilterError::new(at, "a term is missing after |")),
            (true, None, Some(token)) => Err(FilterError::new(place(token), "this ) closes nothing")),
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
            Token::Bare(text) => Expr::Test(self.bare(text)?),
            Token::Keyed(key, value) => Expr::Test(self.keyed(key, value)?),
            Token::Figure(key, compare, value) => Expr::Test(figure::test(key, *compare, value, self.catalog)?),
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
        let inner = self.either(depth)?;
        if matches!(self.peek(), Some(Token::Close(_))) {
            self.at += 1;
            Ok(inner)
        } else {
            Err(FilterError::new(open, "this ( is not closed"))
        }
    }

    fn bare(&mut self, text: &Text) -> Result<Test, FilterError> {
        Ok(match self.text(text)? {
            TextTest::Part(part) => Test::Anywhere(part),
            TextTest::Pattern(pattern) => Test::Pattern(pattern),
        })
    }

    fn keyed(&mut self, key: &Text, value: &Text) -> Result<Test, FilterError> {
        let name = hint::normal(&key.body);
        let known = KEYS.iter().find(|(known, ..)| *known == name);
        let Some(&(_, kind, wants)) = known else {
            return figure::keyed(key, value, self.catalog)
                .unwrap_or_else(|| Err(hint::unknown_key(key, value, self.catalog)));
        };
        if value.body.is_empty() {
            return Err(FilterError::new(
                value.at,
                format!("{name}: needs {wants}, without a space"),
            ));
        }
        match kind {
            Kind::Pid => pids(value),
            Kind::State => states(value),
            Kind::Word(Word::User) if value.style != Style::Pattern => Ok(Test::User(self.users(value))),
            Kind::Word(word) => Ok(Test::Text(word, self.text(value)?)),
        }
    }

    /// A comma parts names, but not in quotes.
    fn users(&self, value: &Text) -> UserTest {
        let names = if value.style == Style::Quoted {
            vec![value.body.as_str()]
        } else {
            value.body.split(',').filter(|name| !name.is_empty()).collect()
        };
        UserTest {
            uids: names.iter().filter_map(|name| name.parse().ok()).collect(),
            names: names.into_iter().map(fold).collect(),
            uid_column: self.catalog.column("uid").map(|(column, _)| column),
        }
    }

    fn text(&mut self, text: &Text) -> Result<TextTest, FilterError> {
        if text.style != Style::Pattern {
            return Ok(TextTest::Part(fold(&text.body)));
        }
        self.patterns += 1;
        if self.patterns > Filter::MAX_PATTERNS {
            let what = format!("a filter holds at most {} regular expressions", Filter::MAX_PATTERNS);
            return Err(FilterError::new(text.at, what));
        }
        pattern(text).map(TextTest::Pattern)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Word(Word),
    Pid,
    State,
}

/// Every key, what it asks, and what must follow.
const KEYS: [(&str, Kind, &str); 15] = [
    ("user", Kind::Word(Word::User), "a name"),
    ("cmd", Kind::Word(Word::Command), "a word"),
    ("command", Kind::Word(Word::Command), "a word"),
    ("cmdline", Kind::Word(Word::Command), "a word"),
    ("name", Kind::Word(Word::Name), "a word"),
    ("comm", Kind::Word(Word::Name), "a word"),
    ("pid", Kind::Pid, "a number"),
    ("unit", Kind::Word(Word::Unit), "a name"),
    ("container", Kind::Word(Word::Container), "an id"),
    ("cgroup", Kind::Word(Word::Cgroup), "a path"),
    ("group", Kind::Word(Word::Group), "a name"),
    ("exe", Kind::Word(Word::Exe), "a path"),
    ("replaced", Kind::Word(Word::Replaced), "updated or deleted"),
    ("unread", Kind::Word(Word::Unread), "a reason"),
    ("state", Kind::State, "a letter"),
];

/// Whether it is the name of a key.
pub(super) fn is_key(typed: &str) -> bool {
    let name = hint::normal(typed);
    keys().any(|known| known == name)
}

/// The names of the keys.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|(name, ..)| *name)
}

fn pids(value: &Text) -> Result<Test, FilterError> {
    let mut at = value.at;
    let mut pids = Vec::new();
    for part in value.body.split(',') {
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
    Ok(Test::Pid(pids))
}

/// The letters of `fs/proc/array.c`, those of old kernels too.
const STATES: &str = "RSDTtZXxIPKW";

/// State letters in either case, but `t` (traced) and `T` (stopped) are two states.
fn states(value: &Text) -> Result<Test, FilterError> {
    let mut states = Vec::new();
    for (i, c) in value.body.chars().enumerate() {
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
    Ok(Test::State(states))
}

fn pattern(text: &Text) -> Result<Regex, FilterError> {
    RegexBuilder::new(&text.body)
        .case_insensitive(!has_upper(&text.body))
        .dot_matches_new_line(true)
        .size_limit(1 << 20)
        .dfa_size_limit(1 << 20)
        .nest_limit(64)
        .build()
        .map_err(|e| FilterError::new(text.at, hint::regex(&e)))
}

/// Whether a pattern holds an upper-case letter that is not part of an escape such as `\S` or `\p{Lu}`.
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
