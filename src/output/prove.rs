//! The report of the memory that a process does not touch.
//!
//! ```text
//! 27213 python3, checked after 60s
//!  COLD    RSS  SHARE   SIZE  KIND  MAPPING
//!  412M   430M   95.8   512M  heap  [heap]
//!  1.2M   6.1M   19.7   8.3M  file  /usr/bin/python3.13
//!  414M   440M   94.1               41 mappings
//! 96 % of [heap] was not touched for 60s: 412M of 430M.
//! ```

use std::io::{self, Write};

use crate::columns::{Cell, Value};
use crate::history::mappings::{Coldness, MappingColdness, Resident};
use crate::model::{Identity, Reading};
use crate::output::data::{DataTable, Document, Node, Object, described_object, names};
use crate::output::text_table::{TextTable, value_cell, word};
use crate::output::{OutputStyle, Report};
use crate::schema::{Field, Schema};
use crate::text::{Align, safe};
use crate::units;

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-prove/1";

#[derive(Clone, Debug)]
pub struct ProveReport<'a> {
    pub id: Identity,
    /// The process's short name, raw.
    pub comm: &'a [u8],
    pub coldness: &'a Coldness,
    /// Maximum number of mappings. The totals include all.
    pub top: Option<usize>,
    pub style: OutputStyle,
}

impl ProveReport<'_> {
    /// Returns the resident mappings to list, the coldest first.
    fn mappings(&self) -> impl Iterator<Item = &MappingColdness> {
        let resident = |m: &&MappingColdness| m.resident.map_or(true, |r| r.rss > 0);
        let all = self.coldness.mappings.iter().filter(resident);
        all.take(self.top.unwrap_or(usize::MAX))
    }

    pub fn conclusion(&self) -> String {
        let since = units::span(self.coldness.since);
        let Some((mapping, resident)) = self.coldness.coldest() else {
            return format!("It has no memory of its own that could have been touched for {since}.");
        };
        let bytes = |n| units::bytes(n, self.style.units);
        let name = safe(&mapping.name);
        format!(
            "{:.0} % of {name} was not touched for {since}: {} of {}.",
            // Never 100 % while some of it was.
            (resident.cold_share() * 100.0).floor(),
            bytes(resident.cold()),
            bytes(resident.rss)
        )
    }

    /// Returns the cells of a row, without its names.
    fn cells(&self, resident: Reading<Resident>) -> impl Iterator<Item = Cell> {
        let of = |get: fn(Resident) -> Value<'static>| resident.map_or_else(Value::Missing, get);
        let values = [
            of(|r| Value::Bytes(r.cold())),
            of(|r| Value::Bytes(r.hot)),
            of(|r| Value::Bytes(r.rss)),
            of(|r| Value::Share(r.cold_share())),
        ];
        let units = self.style.units;
        values
            .into_iter()
            .map(move |value| value_cell(&value, units, usize::MAX))
    }
}

/// Returns a mapping as data.
fn object(mapping: &MappingColdness) -> Object<'_> {
    named(mapping).extend(figures(mapping.resident))
}

described_object! {
    fn figures, figure_fields(resident: Reading<Resident>) -> Object<'static> {
        /// Resident pages that were not touched.
        "cold": bytes().unread() => resident.map(Resident::cold),
        /// Resident pages that were touched.
        "hot": bytes().unread() => resident.map(|r| r.hot),
        /// Resident pages.
        "rss": bytes().unread() => resident.map(|r| r.rss),
        /// cold / rss.
        "share": share().unread() => resident.map(Resident::cold_share),
    }

    fn named, named_fields<'m>(mapping: &'m MappingColdness) -> Object<'m> {
        /// The name.
        "mapping": foreign() => Node::bytes(&mapping.name),
        /// The kind: heap, stack, anon, file and so on.
        "kind": text() => mapping.kind.id(),
        /// Its size in the address space.
        "size": bytes().unread() => mapping.size,
    }

    fn object_of, fields<'s>(report: &'s ProveReport<'_>) -> Object<'s> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// The process.
        "pid": id() => report.id.pid,
        /// When it started, in ticks since boot.
        "starttime": id() => report.id.starttime,
        /// Its short name.
        "comm": foreign() => Node::bytes(report.comm),
        /// The observed time.
        "untouched_s": seconds() => report.coldness.since.as_secs_f64(),
        /// The resident mappings, coldest first.
        "mappings": list(object({
            let mut fields = [named_fields(), figure_fields()].concat();
            fields.push(Field::new("unread", "Why values are null.", unread()));
            fields
        })) => report.mappings().map(|one| object(one).with_unread()).collect::<Vec<_>>(),
        /// Sums over all mappings.
        "totals": object(figure_fields()) => figures(report.coldness.total),
        /// The conclusion, in words.
        "conclusion": text() => report.conclusion(),
    }
}

pub fn schema() -> Schema {
    Schema {
        name: SCHEMA,
        help: "Memory that a process does not touch. Written by `zmtop leaks --prove`.",
        fields: fields(),
    }
}

impl Report for ProveReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let since = units::span(self.coldness.since);
        writeln!(out, "{} {}, checked after {since}", self.id.pid, safe(self.comm))?;
        let titles = ["COLD", "HOT", "RSS", "COLD%"].map(|title| (title, Align::Right));
        let names = ["KIND", "MAPPING"].map(|title| (title, Align::Left));
        let mut table = TextTable::titled(titles.into_iter().chain(names));
        for mapping in self.mappings() {
            let names = [mapping.kind.id().to_owned(), safe(&mapping.name).into_owned()];
            let cells: Vec<Cell> = self.cells(mapping.resident).chain(names.map(word)).collect();
            table.push(&cells);
        }
        let all = self.coldness.mappings.len();
        let names = [String::new(), format!("{all} mappings")];
        let totals: Vec<Cell> = self.cells(self.coldness.total).chain(names.map(word)).collect();
        table.push_totals(&totals, "");
        table.write(out, &self.style)?;
        writeln!(out, "{}", self.conclusion())
    }

    fn document(&self) -> Document<'_> {
        Document::Object(object_of(self))
    }

    fn table(&self) -> DataTable<'_> {
        DataTable {
            names: Some(names([named_fields(), figure_fields()].concat())),
            rows: Box::new(self.mappings().map(|mapping| object(mapping).into_row())),
        }
    }
}
