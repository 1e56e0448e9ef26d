//! Columns and rows as the filter language sees them.

use std::borrow::Cow;

use super::{AppliesTo, COLUMNS, ColumnId, Needs, Row, Unit};
use crate::filter::{Catalog, Filter, Subject, Word};
use crate::group::{Group, GroupBy, GroupNames};

/// The names and kinds of the columns.
#[derive(Clone, Copy, Debug)]
pub struct Catalogue;

impl Catalog for Catalogue {
    fn column(&self, name: &str) -> Option<(usize, Unit)> {
        let at = COLUMNS.iter().position(|c| c.id == name)?;
        Some((at, COLUMNS[at].unit)).filter(|(_, unit)| *unit != Unit::Text)
    }

    fn names(&self) -> Vec<&str> {
        let figures = COLUMNS.iter().filter(|c| c.unit != Unit::Text);
        figures.map(|c| c.id).collect()
    }
}

/// Returns the data that must be read to tell which processes pass.
pub fn needs_of_filter(filter: &Filter) -> Needs {
    filter
        .columns()
        .into_iter()
        .map(|at| ColumnId(at).get().needs)
        .collect()
}

/// A row as a filter sees it.
#[derive(Debug)]
pub struct RowSubject<'a>(pub Row<'a>);

impl Subject for RowSubject<'_> {
    fn word(&self, word: Word) -> Option<Cow<'_, [u8]>> {
        let Some(sample) = self.0.sample else {
            return self.0.group.and_then(|group| group_word(group, word));
        };
        let facts = &sample.facts;
        Some(match word {
            Word::Command => facts.command(),
            Word::Name => Cow::Borrowed(&facts.comm),
            Word::User => Cow::Borrowed(facts.user.as_ref().ok()?),
            Word::Unit => Cow::Borrowed(facts.unit.as_deref()?),
            Word::Container => Cow::Borrowed(facts.container.as_deref()?),
            Word::Cgroup => Cow::Borrowed(facts.cgroup.as_deref().ok()?),
            Word::Group => Cow::Borrowed(GroupNames::new(self.0.snapshot.rows()).name_of(sample, GroupBy::Command)?),
            Word::Exe => Cow::Borrowed(facts.exe.as_deref().ok()?),
            Word::Replaced => Cow::Borrowed(facts.replaced?.id().as_bytes()),
            Word::Unread => Cow::Borrowed(self.0.memory.err()?.reason().as_bytes()),
            Word::State => Cow::Owned(vec![sample.stat.state]),
        })
    }

    fn pid(&self) -> Option<u32> {
        self.0.sample.map(|s| s.id.pid)
    }

    fn number(&self, column: usize) -> Option<f64> {
        (ColumnId(column).get().value)(&self.0).number()
    }

    fn names(&self, column: usize) -> bool {
        ColumnId(column).get().applies_to == AppliesTo::Processes
    }
}

/// Returns the one text that a group has, its name, if it is asked for.
fn group_word(group: &Group, word: Word) -> Option<Cow<'_, [u8]>> {
    let named = match word {
        Word::Command | Word::Name => GroupBy::Command,
        Word::User => GroupBy::User,
        Word::Unit => GroupBy::Unit,
        Word::Container => GroupBy::Container,
        Word::Cgroup => GroupBy::Cgroup,
        Word::Group => group.key.by,
        Word::Exe | Word::Replaced | Word::Unread | Word::State => return None,
    };
    let name = group.key.name.as_deref().filter(|_| group.key.by == named)?;
    Some(Cow::Borrowed(name))
}
