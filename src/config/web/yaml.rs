//! Reads YAML into a tree, without anchors, aliases and tags, which could make much of little.

use saphyr_parser::{Event, Parser, ScanError, Span, StrInput};

use crate::config::fault::shown;

/// Maximum depth of lists and mappings in each other.
const MAX_DEPTH: usize = 16;

/// A value, and where it begins.
#[derive(Debug)]
pub(super) struct Node {
    /// The place in the text, in characters.
    pub(super) at: usize,
    /// The value.
    pub(super) value: Value,
}

/// A value. What a scalar means, its reader says.
#[derive(Debug)]
pub(super) enum Value {
    Scalar(String),
    List(Vec<Node>),
    /// The keys with their places, in the order of the text.
    Map(Vec<(String, usize, Node)>),
}

/// The place of what is not read, in characters, and why.
pub(super) type NotRead = (usize, String);

/// Reads the one document of a text; `None` if it is empty.
pub(super) fn read(text: &str) -> Result<Option<Node>, NotRead> {
    let mut events = Events(Parser::new_from_str(text));
    let mut document = None;
    loop {
        match events.next()? {
            (Event::StreamEnd, _) => return Ok(document),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
            (_, span) if document.is_some() => return Err(at(span, "a second document; one is read")),
            (event, span) => document = Some(events.node(event, span, 0)?),
        }
    }
}

fn at(span: Span, what: &str) -> NotRead {
    (span.start.index(), what.into())
}

/// Events of the parser, one after another.
struct Events<'t>(Parser<'t, StrInput<'t>>);

impl<'t> Events<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), NotRead> {
        let failed = |error: &ScanError| (error.marker().index(), format!("not YAML: {}", shown(error.info())));
        match self.0.next_event() {
            Some(found) => found.map_err(|error| failed(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// Reads the value that begins with an event.
    fn node(&mut self, begin: Event<'t>, span: Span, depth: usize) -> Result<Node, NotRead> {
        if depth == MAX_DEPTH {
            return Err(at(span, "too many lists and mappings in each other"));
        }
        let value = match begin {
            Event::Scalar(text, _, 0, None) => Value::Scalar(text.into_owned()),
            Event::SequenceStart(0, None) => Value::List(self.list(depth)?),
            Event::MappingStart(0, None) => Value::Map(self.map(depth)?),
            _ => return Err(at(span, "anchors, aliases and tags are not read")),
        };
        Ok(Node {
            at: span.start.index(),
            value,
        })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, NotRead> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(list),
                (event, span) => list.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(String, usize, Node)>, NotRead> {
        let mut map = Vec::new();
        loop {
            let (key, span) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(map),
                (Event::Scalar(key, ..), span) => (key.into_owned(), span),
                (_, span) => return Err(at(span, "a key that is no text")),
            };
            let (event, value) = self.next()?;
            map.push((key, span.start.index(), self.node(event, value, depth + 1)?));
        }
    }
}
