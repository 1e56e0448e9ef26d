//! Reads a YAML file: parses it into a tree, and takes values by name. Every value that is left over is a fault. Rejects
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
    name: &'static str,
    pub(super) left: Vec<&'n (String, usize, Node)>,
    known: Vec<&'static str>,
}

/// A value and its full name, which includes the section.
pub(super) struct Found<'n> {
    pub(super) key: String,
    pub(super) node: &'n Node,
}

impl<'n> Section<'n> {
    /// Takes the value with that name; `None` if it is absent or null.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Found<'n>> {
        self.known.push(name);
        let place = self.left.iter().position(|(key, ..)| key == name)?;
        let (_, _, node) = self.left.remove(place);
        (!is_null(node)).then(|| Found {
            key: format!("{}{name}", self.name),
            node,
        })
    }
}

fn is_null(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(text) if matches!(text.as_str(), "" | "~" | "null"))
}

impl Reader<'_> {
    /// Adds a fault. `at` is its offset in characters.
    pub(super) fn fault(&mut self, at: usize, key: &str, what: impl Into<String>) {
        let found = self.text.char_indices().nth(at);
        let byte = found.map_or(self.text.len(), |(byte, _)| byte);
        self.faults.add(&(byte..byte), key, what);
    }

    /// Returns the entries of a mapping without duplicate keys. Empty if the value is not a mapping.
    pub(super) fn entries<'n>(&mut self, found: &Found<'n>) -> Vec<&'n (String, usize, Node)> {
        let Value::Map(map) = &found.node.value else {
            self.fault(found.node.at, &found.key, "expected a mapping, as `key: value`");
            return Vec::new();
        };
        let mut entries: Vec<&(String, usize, Node)> = Vec::new();
        for entry in map {
            if entries.iter().any(|(key, ..)| *key == entry.0) {
                self.fault(entry.1, &entry.0, "is repeated");
            } else {
                entries.push(entry);
            }
        }
        entries
    }

    /// Starts taking the values of a mapping. The section's `name` ends with a dot.
    pub(super) fn section<'n>(&mut self, name: &'static str, found: &Found<'n>) -> Section<'n> {
        Section {
            name,
            left: self.entries(found),
            known: Vec::new(),
        }
    }

    /// Ends a section. Every value not taken is reported as unknown.
    pub(super) fn end(&mut self, section: Section<'_>) {
        for (key, at, _) in section.left {
            let what = unknown("key", key, section.known.iter().copied());
            self.fault(*at, &format!("{}{key}", section.name), what);
        }
    }

    /// Returns the text of a value.
    pub(super) fn text(&mut self, found: Option<Found<'_>>) -> Option<String> {
        let found = found?;
        if let Value::Scalar(text) = &found.node.value {
            return Some(text.clone());
        }
        self.fault(found.node.at, &found.key, "expected one value, found several");
        None
    }

    /// Parses the text of a value. The error of `parse` says what was expected.
    pub(super) fn parsed<T>(
        &mut self,
        found: Option<Found<'_>>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let (at, key) = found.as_ref().map(|found| (found.node.at, found.key.clone()))?;
        let parsed = parse(&self.text(found)?);
        parsed.map_err(|what| self.fault(at, &key, what)).ok()
    }

    /// Parses each text of a list.
    pub(super) fn list<T>(&mut self, found: Option<Found<'_>>, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let Some(found) = found else { return Vec::new() };
        let Value::List(list) = &found.node.value else {
            self.fault(found.node.at, &found.key, "expected a list, as `- value`");
            return Vec::new();
        };
        let each = list.iter().filter_map(|node| {
            let key = found.key.clone();
            self.parsed(Some(Found { key, node }), &parse)
        });
        each.collect()
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
    value: Value,
}

/// A value. Its reader interprets scalars.
enum Value {
    Scalar(String),
    List(Vec<Node>),
    /// The keys with their offsets, in the order of the text.
    Map(Vec<(String, usize, Node)>),
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
            (_, span) if document.is_some() => return Err(at(span, "a second document; one is read")),
            (event, span) => document = Some(events.node(event, span, 0)?),
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
        let at = span.start.index();
        Ok(Node { at, value })
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
