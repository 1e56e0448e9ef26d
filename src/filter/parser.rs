//! Parses the text of a filter into a tree of conditions.

use regex::{Regex, RegexBuilder};

use crate::filter::expr::{Comparison, Condition, Expr, TextCondition, UserCondition, fold};
use crate::filter::{Filter, FilterError, Schema, TextField};
use crate::text::{self, Align, nearest};
use crate::trend::Verdict;
use crate::units::{self, Unit};

/// Parses a filter; `None` for an empty one. Also returns the sizes that are written without a unit.
pub(super) fn parse(text: &str, schema: &dyn Schema) -> Result<(Option<Expr>, Vec<String>), FilterError> {
    let tokens = &tokens(text)?[..];
    if tokens.is_empty() {
        return Ok(<_>::default());
    }
    refuse_words_for_signs(tokens)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        patterns: 0,
        bare_sizes: Vec::new(),
        schema,
    };
    let expr = parser.any_of(0)?;
    match parser.peek() {
        None => Ok((Some(expr), parser.bare_sizes)),
        // Only a parenthesis ends a list of terms early.
        Some(token) => Err(FilterError::new(token.at(), "this ) closes nothing")),
    }
}

/// Refuses the words `or`, `and`, `not` and `pid` if they are meant as operators.
fn refuse_words_for_signs(tokens: &[Token]) -> Result<(), FilterError> {
    let plain = |token: &Token| match token {
        Token::Bare(literal) if literal.style == Style::Plain => Some(literal.text.to_ascii_lowercase()),
        _ => None,
    };
    let begins_term =
        |token: Option<&Token>| token.is_some_and(|token| !matches!(token, Token::Close(_) | Token::Or(_)));
    let ends_term = |token: Option<&Token>| {
        token.is_some_and(|token| !matches!(token, Token::Open(_) | Token::Or(_) | Token::Not(_)))
    };
    for (at, token) in tokens.iter().enumerate() {
        let Some(word) = plain(token) else { continue };
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let after = tokens.get(at + 1);
        let is_between = ends_term(before) && begins_term(after);
        let what = match &*word {
            "or" if is_between => "write | for \"either\"; for the word or, put it in quotes",
            "and" if is_between => "write a space for \"both\"; for the word and, put it in quotes",
            "&&" | "&" if is_between => "write a space for \"both\"; for the characters, put them in quotes",
            "not" if begins_term(after) => "write ! for \"not\"; for the word not, put it in quotes",
            "pid" => match after.and_then(plain) {
                Some(number) if number.parse::<u32>().is_ok() => {
                    let what = format!("write pid:{number} for the process; for these words, put them in quotes");
                    return Err(FilterError::new(token.at(), what));
                }
                _ => continue,
            },
            _ => continue,
        };
        return Err(FilterError::new(token.at(), what));
    }
    Ok(())
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    patterns: usize,
    bare_sizes: Vec<String>,
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

    /// Parses terms side by side, after the `|` at `after`.
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
        let mut last = 0;
        while let Some(Token::Not(at)) = self.peek() {
            self.at += 1;
            negate = !negate;
            last = *at;
        }
        let token = self.peek();
        self.at += 1;
        let expr = match token {
            Some(Token::Open(at)) => self.group(*at, depth + 1)?,
            Some(Token::Bare(literal)) => Expr::Condition(self.bare(literal)?),
            Some(Token::Keyed(key, value)) => Expr::Condition(self.keyed(key, value)?),
            Some(Token::Figure(column, comparison, bound)) => {
                Expr::Condition(self.figure(column, *comparison, bound)?)
            }
            None | Some(Token::Close(_) | Token::Or(_) | Token::Not(_)) => {
                return Err(FilterError::new(last, "a term is missing after !"));
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
        let id = self.schema.id(&normalized(&key.text));
        let Some((name, kind, expects)) = find_key(&key.text).or_else(|| find_key(id?)) else {
            // `verdict:leaking` reads better than `verdict=leaking`, and means the same.
            return match self.schema.figure(&normalized(&key.text)) {
                Some((_, Unit::Verdict)) => self.figure(key, Comparison::Equal, value),
                _ => Err(unknown_key(&key.text, &value.text, key.at, self.schema)),
            };
        };
        if value.text.is_empty() {
            let what = format!("{name}: needs {expects}, without a space");
            return Err(FilterError::new(value.at, what));
        }
        match *kind {
            KeyKind::Pid => pids(value),
            KeyKind::State => states(value),
            KeyKind::Text(TextField::User) if value.style != Style::Pattern => Ok(Condition::User(self.users(value))),
            KeyKind::Text(field) => Ok(Condition::Text(field, self.text(value)?)),
        }
    }

    fn figure(&mut self, column: &Literal, comparison: Comparison, bound: &Literal) -> Result<Condition, FilterError> {
        let name = normalized(&column.text);
        let Some((column, unit)) = self.schema.figure(&name) else {
            return Err(unknown_column(&column.text, &bound.text, column.at, self.schema));
        };
        let example = example_of(unit);
        if bound.text.is_empty() {
            let what = format!("a figure is missing after {name}: write {example}");
            return Err(FilterError::new(bound.at, what));
        }
        let text = &bound.text;
        let Some(bound) = parse_bound(text, unit) else {
            let what = format!("{name} needs {example}, not {}", shown(text));
            return Err(FilterError::new(bound.at, what));
        };
        // A plain 4096 may well be meant.
        let is_bare = text.chars().all(|c| c.is_ascii_digit()) && (1.0..1024.0).contains(&bound);
        if is_bare && matches!(unit, Unit::Bytes | Unit::Delta) {
            self.bare_sizes.push(text.clone());
        }
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
            typed: names.iter().map(|name| (*name).to_owned()).collect(),
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
            let what = format!("a filter may have at most {} regular expressions", Filter::MAX_PATTERNS);
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

/// The state letters of `fs/proc/array.c`, old kernels included.
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
    // The limits keep a hostile pattern from using more than a mebibyte of memory or a deep stack.
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
    if let regex::Error::CompiledTooBig(_) = error {
        return "this regular expression is too large".into();
    }
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    format!("bad regular expression: {}", last.trim_start_matches("error: "))
}

/// Returns true if a pattern contains an upper-case letter outside of escapes such as `\S` or `\p{Lu}`.
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

/// The way a literal was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Quoted,
    Pattern,
}

/// A literal text without its quotes, and the position of its first character.
#[derive(Clone, Debug)]
struct Literal {
    text: String,
    at: usize,
    style: Style,
}

/// A token. An operator has its position in characters.
#[derive(Clone, Debug)]
enum Token {
    Open(usize),
    Close(usize),
    Or(usize),
    Not(usize),
    Bare(Literal),
    /// `key:value`
    Keyed(Literal, Literal),
    /// `column>figure`
    Figure(Literal, Comparison, Literal),
}

impl Token {
    const fn at(&self) -> usize {
        match self {
            Self::Open(at) | Self::Close(at) | Self::Or(at) | Self::Not(at) => *at,
            Self::Bare(literal) | Self::Keyed(literal, _) | Self::Figure(literal, ..) => literal.at,
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    let mut lexer = Lexer {
        chars: text.chars().collect(),
        at: 0,
    };
    let mut out = Vec::new();
    while let Some(token) = lexer.next()? {
        out.push(token);
    }
    Ok(out)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let here = self.peek() == Some(c);
        self.at += usize::from(here);
        here
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Result<Option<Token>, FilterError> {
        self.skip_spaces();
        let at = self.at;
        let Some(c) = self.peek() else { return Ok(None) };
        let single = match c {
            '(' => Some(Token::Open(at)),
            ')' => Some(Token::Close(at)),
            '|' => Some(Token::Or(at)),
            '!' => Some(Token::Not(at)),
            '>' | '<' | '=' => {
                let what = format!("a column is missing before {c}: write pss>100M");
                return Err(FilterError::new(at, what));
            }
            _ => None,
        };
        if let Some(token) = single {
            self.at += 1;
            return Ok(Some(token));
        }
        if let Some(key) = self.key() {
            if self.take(':') {
                let value_at = self.at;
                let value = match self.literal() {
                    // Report the first error: `http://x` has an unknown key, not a bad pattern.
                    Err(_) if find_key(&key.text).is_none() => {
                        self.at = value_at;
                        self.plain()
                    }
                    other => other?,
                };
                return Ok(Some(Token::Keyed(key, value)));
            }
            let key = self.with_heading_end(key);
            // No term begins with a comparison, so spaces around one are unambiguous.
            self.skip_spaces();
            if let Some(comparison) = self.comparison() {
                self.skip_spaces();
                let figure = self.plain();
                return Ok(Some(Token::Figure(key, comparison, figure)));
            }
            self.at = at;
        }
        Ok(Some(Token::Bare(self.literal()?)))
    }

    /// Adds the end of a heading to a key before a comparison: `CPU%>5`, `MAJ/s>10`, `ΔPSS/10s>1M`.
    fn with_heading_end(&mut self, mut key: Literal) -> Literal {
        let at = self.at;
        let Some(sign @ ('%' | '/')) = self.peek() else {
            return key;
        };
        self.at += 1;
        let time = self.plain_while(|c| sign == '/' && c.is_ascii_alphanumeric()).text;
        if matches!(self.peek(), Some('<' | '>' | '=' | '!')) {
            key.text = format!("{}{sign}{time}", key.text);
        } else {
            self.at = at;
        }
        key
    }

    /// Reads a key, if there is one here: a letter or a sign of a heading, then letters, digits, `_` or `-`.
    fn key(&mut self) -> Option<Literal> {
        let is_start = self.peek()?.is_alphabetic() || matches!(self.peek(), Some('≤' | '±'));
        is_start.then(|| self.plain_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '≤' | '±')))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let next = self.chars.get(self.at + 1).copied();
        let (comparison, len) = match (self.peek()?, next) {
            ('>', Some('=')) => (Comparison::AtLeast, 2),
            ('>', _) => (Comparison::Greater, 1),
            ('<', Some('=')) => (Comparison::AtMost, 2),
            ('<', _) => (Comparison::Less, 1),
            ('!', Some('=')) => (Comparison::Unequal, 2),
            ('=', Some('=')) => (Comparison::Equal, 2),
            ('=', _) => (Comparison::Equal, 1),
            _ => return None,
        };
        self.at += len;
        Some(comparison)
    }

    fn literal(&mut self) -> Result<Literal, FilterError> {
        match self.peek() {
            Some('/') => self.pattern(),
            _ => self.word(),
        }
    }

    /// Reads up to a space, a parenthesis or a `|`, with quotes as in a shell: `'…'` is literal, in `"…"` a backslash escapes
    /// a quote or a backslash, and adjacent pieces are one word. May be empty unless quoted.
    fn word(&mut self) -> Result<Literal, FilterError> {
        let at = self.at;
        let mut word = self.plain();
        while let Some('"' | '\'') = self.peek() {
            word.style = Style::Quoted;
            word.text += &self.quoted()?;
            word.text += &self.plain().text;
        }
        if word.style == Style::Quoted && word.text.is_empty() {
            return Err(FilterError::new(at, "there is nothing between the quotes"));
        }
        Ok(word)
    }

    /// Reads up to a space, a parenthesis, a `|` or a quote; may be empty.
    fn plain(&mut self) -> Literal {
        self.plain_while(|c| !c.is_whitespace() && !matches!(c, '(' | ')' | '|' | '"' | '\''))
    }

    fn plain_while(&mut self, is_part: impl Fn(char) -> bool) -> Literal {
        let at = self.at;
        while self.peek().is_some_and(&is_part) {
            self.at += 1;
        }
        Literal {
            text: self.chars[at..self.at].iter().collect(),
            at,
            style: Style::Plain,
        }
    }

    /// Reads `"…"`, with the escapes `\"` and `\\`, or `'…'`, without escapes.
    fn quoted(&mut self) -> Result<String, FilterError> {
        let is_literal = self.peek() == Some('\'');
        let unclosed = if is_literal {
            "this quote is not closed: put a word with a ' in it in double quotes"
        } else {
            "this quote is not closed"
        };
        let literal = self.delimited(Style::Quoted, unclosed, |next| match next {
            '"' | '\\' if !is_literal => Some(""),
            _ => None,
        })?;
        Ok(literal.text)
    }

    /// Reads `/…/`, in which `\/` is a slash and other escapes belong to the pattern. A space, a `)` or a `|` must follow: for
    /// an unquoted path, the error says to quote it.
    fn pattern(&mut self) -> Result<Literal, FilterError> {
        let unclosed = "this regular expression is not closed: end it with /, or put a path in quotes";
        let literal = self.delimited(Style::Pattern, unclosed, |next| match next {
            '/' => Some(""),
            _ => Some("\\"),
        })?;
        if self
            .peek()
            .is_some_and(|c| !c.is_whitespace() && !matches!(c, ')' | '|'))
        {
            let what = "the regular expression ends at this /: write \\/ for a slash in it, or put a path in quotes";
            return Err(FilterError::new(self.at - 1, what));
        }
        if literal.text.is_empty() {
            return Err(FilterError::new(literal.at, "there is nothing between the slashes"));
        }
        Ok(literal)
    }

    /// Reads from a delimiter to the next one. After a backslash, the next character is added to the text, preceded by what
    /// `escape` returns for it. If that is `None`, the backslash is an ordinary character.
    fn delimited(
        &mut self,
        style: Style,
        unclosed: &str,
        escape: impl Fn(char) -> Option<&'static str>,
    ) -> Result<Literal, FilterError> {
        let (at, end) = (self.at, self.chars[self.at]);
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            let next = self.peek();
            let escaped = next.and_then(|next| Some((escape(next)?, next)));
            match (c, escaped) {
                _ if c == end => return Ok(Literal { text, at, style }),
                ('\\', Some((before, next))) => {
                    text.push_str(before);
                    text.push(next);
                    self.at += 1;
                }
                _ => text.push(c),
            }
        }
        Err(FilterError::new(at, unclosed))
    }
}

/// A key before a colon: its name, its kind, and the value that must follow, for error texts.
type Key = (&'static str, KeyKind, &'static str);

/// The text or number that a key's value is compared with.
#[derive(Clone, Copy)]
enum KeyKind {
    Text(TextField),
    Pid,
    State,
}

const fn text(name: &'static str, field: TextField, expects: &'static str) -> Key {
    (name, KeyKind::Text(field), expects)
}

static KEYS: [Key; 23] = [
    text("user", TextField::User, "a name"),
    text("owner", TextField::Owner, "a name"),
    text("cmd", TextField::CommandLine, "a word"),
    text("command", TextField::CommandLine, "a word"),
    text("cmdline", TextField::CommandLine, "a word"),
    text("name", TextField::Comm, "a word"),
    text("comm", TextField::Comm, "a word"),
    ("pid", KeyKind::Pid, "a number"),
    text("unit", TextField::Unit, "a name"),
    text("container", TextField::Container, "a name or an id"),
    text("container_id", TextField::ContainerId, "an id"),
    text("pod", TextField::Pod, "a name"),
    text("namespace", TextField::Namespace, "a name"),
    text("image", TextField::Image, "a name"),
    text("cgroup", TextField::Cgroup, "a path"),
    text("group", TextField::Group, "a name"),
    text("family", TextField::Family, "a name"),
    text("host", TextField::Host, "a name"),
    text("exe", TextField::Exe, "a path"),
    text("maps", TextField::Mapped, "the name of a file or of shared memory"),
    text("replaced", TextField::Replaced, "updated or deleted"),
    text("unread", TextField::Unread, "a reason"),
    ("state", KeyKind::State, "a letter"),
];

fn find_key(typed: &str) -> Option<&'static Key> {
    let name = normalized(typed);
    KEYS.iter().find(|(known, ..)| *known == name)
}

/// Converts a typed name to the form of ids: lower case, `-` as `_`.
fn normalized(typed: &str) -> String {
    typed.to_lowercase().replace('-', "_")
}

/// Returns typed text short and safe to print.
fn shown(typed: &str) -> String {
    const WIDTH: usize = 24;
    let text = text::safe_prefix(typed.as_bytes(), WIDTH);
    text::fit(&text, WIDTH, Align::Left).trim_end().to_owned()
}

/// Reports `key:value` with an unknown key, at character `at`.
fn unknown_key(key: &str, value: &str, at: usize, schema: &dyn Schema) -> FilterError {
    let name = normalized(key);
    let what = if schema.figure(&name).is_some() {
        match value.starts_with(|c: char| c.is_ascii_digit()) {
            true if name.ends_with("pid") => format!("write {name}={}", shown(value)),
            true => format!("{name} is a figure: write {name}>{}", shown(value)),
            false if name == "trend" => {
                "trend is a pace, such as trend>1M/min; the verdict is written verdict:leaking".into()
            }
            false => format!("{name} is a figure: write {name}> and a number"),
        }
    } else {
        // A verdict is written `verdict:leaking`, too.
        unknown(key, KEYS.iter().map(|(name, ..)| *name).chain(schema.figures()))
    };
    FilterError::new(at, what)
}

/// Reports `column>figure` with an unknown column, at character `at`.
fn unknown_column(column: &str, value: &str, at: usize, schema: &dyn Schema) -> FilterError {
    let name = normalized(column);
    let what = if find_key(column).is_some() {
        format!("{name} is a word: write {name}:{}", shown(value))
    } else {
        unknown(column, schema.figures())
    };
    FilterError::new(at, what)
}

fn unknown<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let key = shown(typed);
    let name = normalized(typed);
    // The names that ps and htop have for the time since the start.
    let is_runtime = ["etime", "etimes", "lstart", "start", "started", "uptime"].contains(&&*name);
    let meant = if is_runtime {
        Some("elapsed")
    } else {
        nearest(&name, known)
    };
    match meant {
        Some(other) => format!("unknown key {key}: did you mean {other}?"),
        None => format!("unknown key {key}: to look for the word itself, put it in quotes"),
    }
}

/// Returns the intended meaning of a filter that matches nothing, as far as it can be guessed; safe to print.
pub fn meant(filter: &str) -> Option<String> {
    let of_word = |word: &str| {
        let age = word
            .strip_prefix("age")
            .filter(|rest| rest.starts_with(['<', '>', '=', '!']));
        if let Some(rest) = age {
            let rest = shown(rest);
            return Some(format!(
                "age is the time since a process was read; elapsed{rest} is about the time since its start"
            ));
        }
        if let Some(verdict) = Verdict::named(word) {
            return Some(format!("a verdict is written verdict:{}", verdict.id()));
        }
        let is_anchored = word.len() > 1 && (word.ends_with('$') || word.starts_with('^'));
        is_anchored.then(|| format!("a regular expression is written /{}/", shown(word)))
    };
    filter.split_whitespace().find_map(of_word)
}

/// Returns an example of a bound in that unit, for error texts.
const fn example_of(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes | Unit::Delta => "a size such as 100M or 1.5G",
        Unit::Growth | Unit::Chart | Unit::Trend => "a size per time such as 10K/s or 1M/min",
        Unit::PerSecond | Unit::Count | Unit::Text => "a number such as 12 or 10k",
        Unit::Share => "a percentage such as 50 or 0.5%",
        Unit::Seconds => "a time such as 90, 5m or 2h",
        Unit::Verdict => "shrinking, steady, warming, hoarding, growing or leaking",
    }
}

/// Parses a bound with its sign, in the unit of the column's figures.
fn parse_bound(text: &str, unit: Unit) -> Option<f64> {
    let (sign, size) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match unit {
        Unit::Verdict => {
            return Verdict::named(text)?.rank();
        }
        Unit::Bytes | Unit::Delta => units::parse_size(size)?,
        // Zero is the same in every unit of time, so it needs none.
        Unit::Growth | Unit::Chart | Unit::Trend if units::parse_size(size) == Some(0.0) => 0.0,
        Unit::Growth | Unit::Chart | Unit::Trend => units::parse_rate(size)?,
        Unit::PerSecond | Unit::Count => parse_number(size)?,
        Unit::Share => parse_number(size.strip_suffix('%').unwrap_or(size))? / 100.0,
        Unit::Seconds => units::parse_span(size)?.as_secs_f64(),
        Unit::Text => return None,
    };
    Some(sign * value)
}

/// Parses a number with an optional suffix `k`, `M` or `G`, as columns write it.
fn parse_number(text: &str) -> Option<f64> {
    let (number, suffix) = text.split_at(units::number_len(text));
    let scale = match suffix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        _ => return None,
    };
    let value = number.parse::<f64>().ok()? * scale;
    value.is_finite().then_some(value)
}
