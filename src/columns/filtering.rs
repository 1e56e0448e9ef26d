//! Columns and rows as the filter language sees them.

use std::borrow::Cow;

use super::system::{self, SystemRow};
use super::{AppliesTo, Column, ColumnId, Needs, Row, TableKind, Unit};
use crate::filter::{Filter, Filterable, Schema, TextField};
use crate::group::{Group, GroupBy, GroupNames};

/// The columns of a table that have figures.
impl<T: TableKind> Schema for &'static [Column<T>] {
    fn figure(&self, name: &str) -> Option<(usize, Unit)> {
        let at = self.iter().position(|column| column.id == name)?;
        Some((at, self[at].unit)).filter(|(_, unit)| *unit != Unit::Text)
    }

    fn figures(&self) -> Vec<&'static str> {
        let figures = self.iter().filter(|column| column.unit != Unit::Text);
        figures.map(|column| column.id).collect()
    }
}

/// Returns the data that must be read to tell which processes pass.
pub fn needs_of_filter(filter: &Filter) -> Needs {
    let columns = filter.columns().into_iter().map(|at| ColumnId(at).get().needs);
    columns
        .chain(filter.text_fields().into_iter().map(needs_of_text))
        .collect()
}

const fn needs_of_text(field: TextField) -> Needs {
    match field {
        TextField::CommandLine => Needs::COMMAND_LINE,
        TextField::Comm | TextField::Host | TextField::State => Needs::STAT,
        TextField::User => Needs::USER,
        TextField::Unit | TextField::Container | TextField::Cgroup => Needs::CGROUP_PATH,
        TextField::Group => Needs::PROGRAM_NAME,
        TextField::Family => Needs::FAMILY,
        TextField::Exe | TextField::Replaced => Needs::PROGRAM,
        TextField::Unread => Needs::MEMORY,
    }
}

impl Filterable for Row<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        let Some(sample) = self.sample else {
            return self.group.and_then(|group| name_of_group(group, field));
        };
        let facts = &sample.facts;
        Some(match field {
            TextField::CommandLine => facts.command(),
            TextField::Comm => Cow::Borrowed(&facts.comm),
            TextField::User => Cow::Borrowed(facts.user.as_ref().ok()?),
            TextField::Unit => Cow::Borrowed(facts.unit.as_deref()?),
            TextField::Container => Cow::Borrowed(facts.container.as_deref()?),
            TextField::Cgroup => Cow::Borrowed(facts.cgroup.as_deref().ok()?),
            TextField::Group => {
                let names = GroupNames::new(self.snapshot.rows());
                names.name_of(sample, GroupBy::Command)?
            }
            TextField::Family => {
                let names = GroupNames::new(self.snapshot.rows());
                names.name_of(sample, GroupBy::Family)?
            }
            TextField::Host => Cow::Borrowed(facts.host.as_deref()?),
            TextField::Exe => Cow::Borrowed(facts.exe.as_deref().ok()?),
            TextField::Replaced => Cow::Borrowed(facts.replaced?.id().as_bytes()),
            TextField::Unread => Cow::Borrowed(self.memory.err()?.reason().as_bytes()),
            TextField::State => Cow::Owned(vec![sample.stat.state]),
        })
    }

    fn pid(&self) -> Option<u32> {
        self.sample.map(|s| s.id.pid)
    }

    fn number(&self, column: usize) -> Option<f64> {
        (ColumnId(column).get().value)(self).number()
    }

    fn is_per_process(&self, column: usize) -> bool {
        ColumnId(column).get().applies_to == AppliesTo::Processes
    }
}

/// Returns the one text that a group has, its name, if the filter looks at that.
fn name_of_group(group: &Group, field: TextField) -> Option<Cow<'_, [u8]>> {
    let named_by = match field {
        TextField::CommandLine | TextField::Comm => GroupBy::Command,
        TextField::User => GroupBy::User,
        TextField::Unit => GroupBy::Unit,
        TextField::Container => GroupBy::Container,
        TextField::Cgroup => GroupBy::Cgroup,
        TextField::Family => GroupBy::Family,
        TextField::Host => GroupBy::Host,
        TextField::Group => group.key.by,
        TextField::Exe | TextField::Replaced | TextField::Unread | TextField::State => return None,
    };
    let name = group.key.name.as_deref().filter(|_| group.key.by == named_by)?;
    Some(Cow::Borrowed(name))
}

/// The system has figures alone.
impl Filterable for SystemRow<'_> {
    fn text(&self, _: TextField) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn number(&self, column: usize) -> Option<f64> {
        (system::COLUMNS.get(column)?.value)(self).number()
    }
}
