//! Reads a YAML file: parses it into a tree, and removes values by name. Every value that is left over is a fault. Rejects
//! anchors, aliases and tags, because a short text could expand to a huge tree.

use saphyr_parser::{Event, Parser, ScanError, Span, StrInput};

use crate::config::fault::{Faults, shown};
use crate::config::unknown;

/// Reads values of a file and collects their faults.
pub(super) struct Reader<'f> {
    pub(super) faults: Faults<'f>,
    pub(super) text: &'f str,
}

/// The values of a mapping.
pub(super) struct Section<'n> {
    pub(super) left: Vec<&'n Entry>,
    known: Vec<&'static str>,
}

impl<'n> Section<'n> {
    /// Removes and returns the value with that name; `None` if it is absent or null.
    pub(super) fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        self.known.push(name);
        let place = self.left.iter().position(|(key, ..)| key == name)?;
        let (.., node) = self.left.remove(place);
        let is_null = matches!(&node.value, Value::Scalar(text) if matches!(text.as_str(), "" | "~" | "null"));
        (!is_null).then_some(node)
    }
}

impl Reader<'_> {
    /// Adds a fault. `at` is its offset in characters.
    pub(super) fn fault(&mut self, at: usize, key: &str, what: impl Into<String>) {
        let found = self.text.char_indices().nth(at);
        let byte = found.map_or(self.text.len(), |(byte, _)| byte);
        self.faults.add(&(byte..byte), key, what);
    }

    /// Returns the entries of a mapping without duplicate keys. Empty if the value is not a mapping.
    pub(super) fn entries<'n>(&mut self, node: &'n Node) -> Vec<&'n Entry> {
        let Value::Map(map) = &node.value else {
            self.fault(node.at, &node.key, "expected a mapping, as `key: value`");
            return Vec::new();
        };
        let mut entries: Vec<&Entry> = Vec::new();
        for entry in map {
            if entries.iter().any(|(key, ..)| *key == entry.0) {
                self.fault(entry.1, &entry.0, "is repeated");
            } else {
                entries.push(entry);
            }
        }
        entries
    }

    /// Starts taking the values of a mapping.
    pub(super) fn section<'n>(&mut self, node: &'n Node) -> Section<'n> {
        let (left, known) = (self.entries(node), Vec::new());
        Section { left, known }
    }

    /// Ends a section. Every value not taken is reported as unknown.
    pub(super) fn end(&mut self, section: Section<'_>) {
        for (key, at, node) in section.left {
            let what = unknown("key", key, section.known.iter().copied());
            self.fault(*at, &node.key, what);
        }
    }

    /// Parses the text of a value. The error of `parse` states what was expected.
    pub(super) fn parsed<T>(&mut self, node: Option<&Node>, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let node = node?;
        let parsed = match &node.value {
            Value::Scalar(text) => parse(text),
            _ => Err("expected one value, found several".into()),
        };
        parsed.map_err(|what| self.fault(node.at, &node.key, what)).ok()
    }

    /// Parses each text of a list.
    pub(super) fn list<T>(&mut self, node: Option<&Node>, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let Some(node) = node else { return Vec::new() };
        let Value::List(list) = &node.value else {
            self.fault(node.at, &node.key, "expected a list, as `- value`");
            return Vec::new();
        };
        list.iter().filter_map(|node| self.parsed(Some(node), &parse)).collect()
    }
}

/// Parses a boolean as written in YAML 1.1.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err(format!("expected true or false, found `{}`", shown(text))),
    }
}

/// Maximum nesting depth of lists and mappings.
const MAX_DEPTH: usize = 16;

/// A value and its place in the text.
pub(super) struct Node {
    /// The offset in the text, in characters.
    pub(super) at: usize,
    /// The keys that lead to it, joined by dots.
    pub(super) key: String,
    value: Value,
}

/// A key, its offset, and its value.
pub(super) type Entry = (String, usize, Node);

/// A value. Its reader interprets scalars.
enum Value {
    Scalar(String),
    List(Vec<Node>),
    /// In the order of the text.
    Map(Vec<Entry>),
}

/// The offset in characters of what could not be read, and the reason.
pub(super) type NotRead = (usize, String);

/// Parses a text with at most one document; `None` if it is empty.
pub(super) fn read_yaml(text: &str) -> Result<Option<Node>, NotRead> {
    let mut events = Events(Parser::new_from_str(text));
    let mut document = None;
    loop {
        match events.next()? {
            (Event::StreamEnd, _) => return Ok(document),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
            (_, span) if document.is_some() => return Err(at(span, "a second document; only one is allowed")),
            (event, span) => document = Some(events.node(event, span, String::new(), 0)?),
        }
    }
}

fn at(span: Span, what: &str) -> NotRead {
    (span.start.index(), what.into())
}

/// Reads the events of the parser one at a time.
struct Events<'t>(Parser<'t, StrInput<'t>>);

impl<'t> Events<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), NotRead> {
        let failed = |error: ScanError| (error.marker().index(), format!("not YAML: {}", shown(error.info())));
        let end = Ok((Event::StreamEnd, Span::default()));
        self.0.next_event().unwrap_or(end).map_err(failed)
    }

    /// Reads the value that starts with `begin`.
    fn node(&mut self, begin: Event<'t>, span: Span, key: String, depth: usize) -> Result<Node, NotRead> {
        if depth == MAX_DEPTH {
            return Err(at(span, "lists and mappings nest too deep"));
        }
        let value = match begin {
            Event::Scalar(text, _, 0, None) => Value::Scalar(text.into_owned()),
            Event::SequenceStart(0, None) => Value::List(self.list(&key, depth)?),
            Event::MappingStart(0, None) => Value::Map(self.map(&key, depth)?),
            _ => return Err(at(span, "anchors, aliases and tags are not supported")),
        };
        let at = span.start.index();
        Ok(Node { at, key, value })
    }

    fn list(&mut self, key: &str, depth: usize) -> Result<Vec<Node>, NotRead> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(list),
                (event, span) => list.push(self.node(event, span, key.to_owned(), depth + 1)?),
            }
        }
    }

    fn map(&mut self, parent: &str, depth: usize) -> Result<Vec<Entry>, NotRead> {
        let mut map = Vec::new();
        loop {
            let (key, span) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(map),
                (Event::Scalar(key, ..), span) => (key.into_owned(), span),
                (_, span) => return Err(at(span, "a key that is no text")),
            };
            let (event, value) = self.next()?;
            let path = format!("{parent}.{key}").trim_start_matches('.').to_owned();
            map.push((key, span.start.index(), self.node(event, value, path, depth + 1)?));
        }
    }
}
