//! Takes the values of a mapping by their names; what is left over then is a fault.

use super::yaml::{Node, Value};
use crate::config::document::unknown;
use crate::config::fault::{Faults, shown};

/// A reader of the values of a file, with their faults.
pub(super) struct Reader<'f> {
    pub(super) faults: Faults<'f>,
    pub(super) text: &'f str,
}

/// The values of a mapping.
pub(super) struct Section<'n> {
    name: &'static str,
    left: Vec<&'n (String, usize, Node)>,
    known: Vec<&'static str>,
}

/// A value, and its name with that of its section.
pub(super) struct Found<'n> {
    pub(super) key: String,
    pub(super) node: &'n Node,
}

impl<'n> Section<'n> {
    /// Returns true if it has no values.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Takes the value of that name; `None` if it is absent or null.
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
    /// Adds a fault at a place in characters.
    pub(super) fn fault(&mut self, at: usize, key: &str, what: impl Into<String>) {
        let byte = self
            .text
            .char_indices()
            .nth(at)
            .map_or(self.text.len(), |(byte, _)| byte);
        self.faults.add(&(byte..byte), key, what);
    }

    /// Returns the entries of a mapping, no key twice; none where it is not one.
    pub(super) fn entries<'n>(&mut self, found: &Found<'n>) -> Vec<&'n (String, usize, Node)> {
        let Value::Map(map) = &found.node.value else {
            self.fault(found.node.at, &found.key, "expected a mapping, as `key: value`");
            return Vec::new();
        };
        let mut entries: Vec<&(String, usize, Node)> = Vec::new();
        for entry in map {
            if entries.iter().any(|(key, ..)| *key == entry.0) {
                self.fault(entry.1, &entry.0, "stands here twice");
            } else {
                entries.push(entry);
            }
        }
        entries
    }

    /// Begins to take the values of a mapping. The `name` of the section ends with a dot.
    pub(super) fn section<'n>(&mut self, name: &'static str, found: &Found<'n>) -> Section<'n> {
        Section {
            name,
            left: self.entries(found),
            known: Vec::new(),
        }
    }

    /// Ends a section: what nobody took is not known.
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

    /// Understands the text of a value; what fails says what was expected.
    pub(super) fn parsed<T>(
        &mut self,
        found: Option<Found<'_>>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let (at, key) = found.as_ref().map(|found| (found.node.at, found.key.clone()))?;
        let parsed = parse(&self.text(found)?);
        parsed.map_err(|what| self.fault(at, &key, what)).ok()
    }

    /// Understands each text of a list.
    pub(super) fn list<T>(&mut self, found: Option<Found<'_>>, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let Some(found) = found else { return Vec::new() };
        let Value::List(list) = &found.node.value else {
            self.fault(found.node.at, &found.key, "expected a list, as `- value`");
            return Vec::new();
        };
        let each = list.iter().filter_map(|node| {
            let found = Found {
                key: found.key.clone(),
                node,
            };
            self.parsed(Some(found), &parse)
        });
        each.collect()
    }
}

/// Understands a switch, as YAML 1.1 writes them.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err(format!("expected true or false, found `{}`", shown(text))),
    }
}
