//! Text into tokens.

use crate::filter::{FilterError, parser};

/// How a text was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Quoted,
    Pattern,
}

/// A text and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) body: String,
    pub(super) at: usize,
    pub(super) style: Style,
}

/// How a figure is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Greater,
    AtLeast,
    Less,
    AtMost,
    Equal,
    Unequal,
}

#[derive(Clone, Debug)]
pub(super) enum Token {
    Open(usize),
    Close(usize),
    Or(usize),
    Not(usize),
    Bare(Text),
    /// `key:value`
    Keyed(Text, Text),
    /// `column>figure`
    Figure(Text, Compare, Text),
}

/// Cuts a filter into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
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

    fn eat(&mut self, c: char) -> bool {
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
            _ => None,
        };
        if let Some(token) = single {
            self.at += 1;
            return Ok(Some(token));
        }
        if matches!(c, '>' | '<' | '=') {
            return Err(FilterError::new(
                at,
                format!("a column is missing before {c}: write pss>100M"),
            ));
        }
        if let Some(key) = self.key() {
            if self.eat(':') {
                let value_at = self.at;
                let value = match self.text() {
                    // The first fault is the one to tell: `http://x` has an unknown key, not a bad pattern.
                    Err(_) if !parser::is_key(&key.body) => {
                        self.at = value_at;
                        self.plain()
                    }
                    other => other?,
                };
                return Ok(Some(Token::Keyed(key, value)));
            }
            // Nothing else begins with a comparison, so that there may be spaces about it.
            self.skip_spaces();
            if let Some(compare) = self.compare() {
                self.skip_spaces();
                let figure = self.plain();
                return Ok(Some(Token::Figure(key, compare, figure)));
            }
            self.at = at;
        }
        Ok(Some(Token::Bare(self.text()?)))
    }

    /// A key, if what stands here looks like one: a letter, then letters, digits, `_` or `-`.
    fn key(&mut self) -> Option<Text> {
        let at = self.at;
        if !self.peek()?.is_alphabetic() {
            return None;
        }
        while self
            .peek()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        {
            self.at += 1;
        }
        Some(self.since(at, at, Style::Plain))
    }

    fn compare(&mut self) -> Option<Compare> {
        let next = self.chars.get(self.at + 1).copied();
        let (compare, len) = match (self.peek()?, next) {
            ('>', Some('=')) => (Compare::AtLeast, 2),
            ('>', _) => (Compare::Greater, 1),
            ('<', Some('=')) => (Compare::AtMost, 2),
            ('<', _) => (Compare::Less, 1),
            ('!', Some('=')) => (Compare::Unequal, 2),
            ('=', Some('=')) => (Compare::Equal, 2),
            ('=', _) => (Compare::Equal, 1),
            _ => return None,
        };
        self.at += len;
        Some(compare)
    }

    fn text(&mut self) -> Result<Text, FilterError> {
        match self.peek() {
            Some('"') => self.quoted(),
            Some('/') => self.pattern(),
            _ => Ok(self.plain()),
        }
    }

    /// Up to a space, a parenthesis, a `|` or a quote; may be empty.
    fn plain(&mut self) -> Text {
        let at = self.at;
        while self
            .peek()
            .is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | ')' | '|' | '"'))
        {
            self.at += 1;
        }
        self.since(at, at, Style::Plain)
    }

    fn since(&self, from: usize, at: usize, style: Style) -> Text {
        Text {
            body: self.chars[from..self.at].iter().collect(),
            at,
            style,
        }
    }

    /// `"…"`, where `\"` and `\\` stand for a quote and a backslash.
    fn quoted(&mut self) -> Result<Text, FilterError> {
        let at = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match (c, self.peek()) {
                ('"', _) if text.is_empty() => return Err(FilterError::new(at, "there is nothing between the quotes")),
                ('"', _) => {
                    return Ok(Text {
                        body: text,
                        at,
                        style: Style::Quoted,
                    });
                }
                ('\\', Some(next @ ('"' | '\\'))) => {
                    text.push(next);
                    self.at += 1;
                }
                _ => text.push(c),
            }
        }
        Err(FilterError::new(at, "this quote is not closed"))
    }

    /// `/…/`, where `\/` stands for a slash. What follows must be a space, a `)` or a `|`: a path has to
    /// be quoted, and is told so.
    fn pattern(&mut self) -> Result<Text, FilterError> {
        let at = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match (c, self.peek()) {
                ('/', next) if next.is_none_or(|c| c.is_whitespace() || matches!(c, ')' | '|')) => {
                    return if text.is_empty() {
                        Err(FilterError::new(at, "there is nothing between the slashes"))
                    } else {
                        Ok(Text {
                            body: text,
                            at,
                            style: Style::Pattern,
                        })
                    };
                }
                ('/', _) => {
                    return Err(FilterError::new(
                        self.at - 1,
                        "the regular expression ends at this /: write \\/ for a slash in it, or put a path in quotes",
                    ));
                }
                ('\\', Some('/')) => {
                    text.push('/');
                    self.at += 1;
                }
                ('\\', Some(next)) => {
                    text.push('\\');
                    text.push(next);
                    self.at += 1;
                }
                _ => text.push(c),
            }
        }
        Err(FilterError::new(
            at,
            "this regular expression is not closed: end it with /, or put a path in quotes",
        ))
    }
}
