//! Splits a filter into tokens.

use super::expr::Comparison;
use super::{FilterError, keys};

/// The way a literal was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Quoted,
    Pattern,
}

/// A literal text without its quotes, and the character it begins at.
#[derive(Clone, Debug)]
pub(super) struct Literal {
    pub(super) text: String,
    pub(super) at: usize,
    pub(super) style: Style,
}

/// A token; an operator has the character it stands at.
#[derive(Clone, Debug)]
pub(super) enum Token {
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
    /// Returns the character it begins at.
    pub(super) const fn at(&self) -> usize {
        match self {
            Self::Open(at) | Self::Close(at) | Self::Or(at) | Self::Not(at) => *at,
            Self::Bare(literal) | Self::Keyed(literal, _) | Self::Figure(literal, ..) => literal.at,
        }
    }
}

/// Splits a filter into tokens.
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
            if self.take(':') {
                let value_at = self.at;
                let value = match self.literal() {
                    // Report the first error: `http://x` has an unknown key, not a bad pattern.
                    Err(_) if keys::find(&key.text).is_none() => {
                        self.at = value_at;
                        self.plain()
                    }
                    other => other?,
                };
                return Ok(Some(Token::Keyed(key, value)));
            }
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

    /// Reads a key if what stands here looks like one: a letter, then letters, digits, `_` or `-`.
    fn key(&mut self) -> Option<Literal> {
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
        Some(self.plain_from(at))
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
            Some('"') => self.quoted(),
            Some('/') => self.pattern(),
            _ => Ok(self.plain()),
        }
    }

    /// Reads up to a space, a parenthesis, a `|` or a quote; may be empty.
    fn plain(&mut self) -> Literal {
        let at = self.at;
        while self
            .peek()
            .is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | ')' | '|' | '"'))
        {
            self.at += 1;
        }
        self.plain_from(at)
    }

    fn plain_from(&self, at: usize) -> Literal {
        Literal {
            text: self.chars[at..self.at].iter().collect(),
            at,
            style: Style::Plain,
        }
    }

    /// Reads `"…"`, where `\"` and `\\` stand for a quote and a backslash.
    fn quoted(&mut self) -> Result<Literal, FilterError> {
        let literal = self.delimited(Style::Quoted, "this quote is not closed", |next| match next {
            '"' | '\\' => Some(""),
            _ => None,
        })?;
        if literal.text.is_empty() {
            return Err(FilterError::new(literal.at, "there is nothing between the quotes"));
        }
        Ok(literal)
    }

    /// Reads `/…/`, where `\/` stands for a slash and other escapes are the pattern's own. A space, a `)` or a `|`
    /// must follow: an unquoted path is told to be quoted.
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

    /// Reads up to the character it stands at. A backslash takes the next character into the text, after what
    /// `escape` returns for it; if that is `None` it is an ordinary character.
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
