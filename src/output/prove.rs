//! The report of what a process does not touch of its memory.
//!
//! ```text
//! 27213 python3, looked at after 60s
//!  COLD    RSS  SHARE   SIZE  KIND  MAPPING
//!  412M   430M   95.8   512M  heap  [heap]
//!  1.2M   6.1M   19.7   8.3M  file  /usr/bin/python3.13
//!  414M   440M   94.1               41 mappings
//! 96 % of [heap] was not touched for 60s: 412M of 430M.
//! ```
//!
//! As JSON, schema `zmtop-prove/1`, of which fields are only ever added:
//!
//! ```text
//! {"schema":"zmtop-prove/1","pid":27213,"starttime":81234,"comm":"python3","untouched_s":60.0,"mappings":[
//!  {"mapping":"[heap]","kind":"heap","size":536870912,"rss":450887680,"hot":18874368,"cold":432013312,"share":0.958,
//!   "unread":null}],
//!  "totals":{"rss":461373440,"hot":27262976,"cold":434110464,"share":0.941},"conclusion":"96 % of …"}
//! ```

use std::io::{self, Write};

use crate::columns::{Cell, DataValue, Value};
use crate::history::mappings::{Coldness, MappingColdness, Resident};
use crate::model::{Identity, Reading};
use crate::output::data::{DataTable, Document, Node, Object, described_object};
use crate::output::text_table::{TextTable, value_cell, word};
use crate::output::{OutputStyle, Report};
use crate::schema::{self, Field, Schema, Shape};
use crate::text::{Align, safe};
use crate::units;

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-prove/1";

/// The hot and cold memory of a process, and how it is to be written.
#[derive(Clone, Debug)]
pub struct ProveReport<'a> {
    /// The process.
    pub id: Identity,
    /// Its short name, raw.
    pub comm: &'a [u8],
    /// Its hot and cold memory.
    pub coldness: &'a Coldness,
    /// Maximum number of mappings; the totals are of all.
    pub top: Option<usize>,
    /// Style of the text.
    pub style: OutputStyle,
}

/// A figure of what is resident: its name as data, its heading, its meaning and shape, and its value.
type Figure = (
    &'static str,
    &'static str,
    &'static str,
    fn() -> Shape,
    fn(Resident) -> Value<'static>,
);

/// The figures, as text in this order.
const FIGURES: [Figure; 4] = [
    (
        "cold",
        "COLD",
        "Resident pages that were not touched meanwhile.",
        schema::bytes,
        |r| Value::Bytes(r.cold()),
    ),
    ("hot", "HOT", "Resident pages that were touched.", schema::bytes, |r| {
        Value::Bytes(r.hot)
    }),
    ("rss", "RSS", "Resident pages.", schema::bytes, |r| Value::Bytes(r.rss)),
    ("share", "COLD%", "cold / rss.", schema::share, |r| {
        Value::Share(r.cold_share())
    }),
];

/// Returns a figure of what may be unknown.
fn value(resident: Reading<Resident>, get: fn(Resident) -> Value<'static>) -> Value<'static> {
    resident.map_or_else(Value::Missing, get)
}

impl ProveReport<'_> {
    /// Returns the mappings to list: what is resident, the coldest first.
    fn mappings(&self) -> impl Iterator<Item = &MappingColdness> {
        let resident = |m: &&MappingColdness| m.resident.map_or(true, |r| r.rss > 0);
        let all = self.coldness.mappings.iter().filter(resident);
        all.take(self.top.unwrap_or(usize::MAX))
    }

    /// Returns the sentence that says what it comes to.
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

    fn cells(&self, resident: Reading<Resident>) -> impl Iterator<Item = Cell> {
        let units = self.style.units;
        FIGURES
            .iter()
            .map(move |(.., get)| value_cell(&value(resident, *get), units, usize::MAX))
    }
}

/// Returns a mapping as data.
fn object(mapping: &MappingColdness) -> Object<'_> {
    figures(named(mapping), mapping.resident).with_unread()
}

described_object! {
    fn named, named_fields<'m>(mapping: &'m MappingColdness) -> Object<'m> {
        /// The name.
        "mapping": foreign() => Node::bytes(&mapping.name),
        /// What it is: heap, stack, anon, file and so on.
        "kind": text() => mapping.kind.id(),
        /// Its size in the address space.
        "size": bytes().unread() => mapping.size,
    }
}

described_object! {
    fn object_of, fields<'s>(report: &'s ProveReport<'_>) -> Object<'s> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// The process.
        "pid": id() => report.id.pid,
        /// When it started, in ticks since boot.
        "starttime": id() => report.id.starttime,
        /// Its short name.
        "comm": foreign() => Node::bytes(report.comm),
        /// How long was watched.
        "untouched_s": seconds() => report.coldness.since.as_secs_f64(),
        /// The mappings that are resident, the coldest first.
        "mappings": list(object({
            let mut fields = [named_fields(), figure_fields()].concat();
            fields.push(Field::new("unread", "The reasons of what is null here.", unread()));
            fields
        })) => report.mappings().map(object).collect::<Vec<_>>(),
        /// Sums over all mappings.
        "totals": object(figure_fields()) => figures(Object::default(), report.coldness.total),
        /// What it comes to, in words.
        "conclusion": text() => report.conclusion(),
    }
}

fn figure_fields() -> Vec<Field> {
    let fields = FIGURES
        .iter()
        .map(|(name, _, help, shape, _)| Field::new(*name, help, shape().unread()));
    fields.collect()
}

/// Returns what the document consists of.
pub fn schema() -> Schema {
    Schema {
        name: SCHEMA,
        help: "What a process does not touch of its memory. Written by `zmtop leaks --prove`.",
        fields: fields(),
    }
}

/// Adds the figures of what is resident.
fn figures(mut object: Object<'_>, resident: Reading<Resident>) -> Object<'_> {
    for (name, .., get) in FIGURES {
        object = object.put(name, value(resident, get));
    }
    object
}

impl Report for ProveReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let since = units::span(self.coldness.since);
        writeln!(out, "{} {}, looked at after {since}", self.id.pid, safe(self.comm))?;
        let titles = FIGURES.iter().map(|(_, title, ..)| (*title, Align::Right));
        let mut table = TextTable::titled(titles.chain([("KIND", Align::Left), ("MAPPING", Align::Left)]));
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
        let names = ["mapping", "kind", "size"].into_iter();
        let names = names.chain(FIGURES.iter().map(|(name, ..)| *name));
        let row = |m: &'_ MappingColdness| -> Vec<DataValue<'_>> {
            let figures = FIGURES.iter().map(|(.., get)| value(m.resident, *get).into_data());
            let name = DataValue::Text(m.name.to_vec().into());
            let kind = DataValue::Text(m.kind.id().as_bytes().into());
            let size = Value::bytes(m.size).into_data();
            [name, kind, size].into_iter().chain(figures).collect()
        };
        DataTable {
            names: Some(names.collect()),
            rows: Box::new(self.mappings().map(row)),
        }
    }
}
