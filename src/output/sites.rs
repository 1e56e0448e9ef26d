//! The report of the kernel's allocation sites.
//!
//! ```text
//!  SIZE  CALLS  EACH  EXACT  MODULE  FUNCTION         SITE
//!  122M  31168  4096                 alloc_page_ext   mm/page_ext.c:270
//! 53.8M   4737 11901                 alloc_slab_page  mm/slub.c:2259
//!  1.2G 890123                                        4127 sites, 2 shown
//! ```

use std::io::{self, Write};

use super::data::{DataTable, Document, Object};
use super::text_table::{TextColumn, TextTable, value_cell, word};
use super::{OutputStyle, Report};
use crate::columns::sites::{SiteRow, Sites};
use crate::columns::{Cell, Column, Label, order};
use crate::filter::Filter;
use crate::model::allocinfo::AllocSites;

/// The allocation sites that are wanted.
#[derive(Debug)]
pub struct SitesReport<'a> {
    found: &'a AllocSites,
    layout: SitesLayout,
    /// The sites shown, in order.
    rows: Vec<SiteRow<'a>>,
    /// The number of sites that pass the filter, and their sums.
    passing: usize,
    total: SiteRow<'a>,
}

/// The columns, the order and the look of the report.
#[derive(Clone, Debug)]
pub struct SitesLayout {
    /// The columns, from left to right.
    pub columns: Vec<&'static Column<Sites>>,
    /// The column sorted by.
    pub sort: &'static Column<Sites>,
    /// Greatest first.
    pub descending: bool,
    /// Maximum number of sites; the totals are of all that pass.
    pub top: Option<usize>,
    /// Style of the text.
    pub style: OutputStyle,
}

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-sites/1";

impl<'a> SitesReport<'a> {
    /// Chooses and sorts the sites; those that have nothing allocated are many, and are left out.
    pub fn new(found: &'a AllocSites, filter: &Filter, layout: SitesLayout) -> Self {
        let used = found
            .sites
            .iter()
            .map(SiteRow::new)
            .filter(|row| row.figures.calls > 0 || row.figures.size > 0);
        let passing: Vec<_> = used.filter(|row| filter.matches(row)).collect();
        let keys: Vec<_> = passing.iter().map(|row| layout.sort.order_key(row)).collect();
        let mut sorted = order(&keys, layout.descending);
        sorted.truncate(layout.top.unwrap_or(usize::MAX));
        Self {
            found,
            layout,
            rows: sorted.into_iter().map(|at| passing[at]).collect(),
            passing: passing.len(),
            total: SiteRow::total(&passing),
        }
    }

    fn cells(&self, row: &SiteRow<'_>) -> Vec<Cell> {
        let units = self.layout.style.units;
        let cell = |column: &&Column<Sites>| {
            if column.additive || row.site.is_some() {
                value_cell(&(column.value)(row), units, usize::MAX)
            } else {
                word("")
            }
        };
        self.layout.columns.iter().map(cell).collect()
    }

    /// Returns what the totals are the sums of: `187 sites, 20 shown`.
    fn label(&self) -> String {
        let plural = if self.passing == 1 { "" } else { "s" };
        let mut label = format!("{} site{plural}", self.passing);
        if self.rows.len() < self.passing {
            label = format!("{label}, {} shown", self.rows.len());
        }
        if self.found.malformed > 0 {
            label = format!("{label}, partial: {} malformed", self.found.malformed);
        }
        label
    }
}

fn object<'r>(columns: &[&'static Column<Sites>], row: &'r SiteRow<'r>) -> Object<'r> {
    let put = |object: Object<'r>, c: &&Column<Sites>| object.put(c.id, (c.value)(row));
    columns.iter().fold(Object::default(), put)
}

impl Report for SitesReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = &self.layout.columns;
        let text_columns = columns.iter().map(|column| TextColumn {
            grows: column.label == Label::Group,
            ..TextColumn::new(column.align())
        });
        let mut table = TextTable::new(text_columns, 2);
        table.push_heading(&columns.iter().map(|column| word(column.title)).collect::<Vec<_>>());
        self.rows.iter().for_each(|row| table.push(&self.cells(row)));
        table.push_totals(&self.cells(&self.total), self.label());
        table.write(out, &self.layout.style)
    }

    fn document(&self) -> Document<'_> {
        let columns = &self.layout.columns;
        let sites: Vec<_> = self.rows.iter().map(|row| object(columns, row)).collect();
        let summed: Vec<_> = columns.iter().copied().filter(|c| c.additive).collect();
        Document::Object(
            Object::default()
                .put("schema", SCHEMA)
                .put("running", self.found.running)
                .put("sites", sites)
                .put("totals", object(&summed, &self.total))
                .put("malformed", self.found.malformed),
        )
    }

    fn table(&self) -> DataTable<'_> {
        let columns = &self.layout.columns;
        let values = move |row| columns.iter().map(|c| (c.value)(row).into_data()).collect();
        DataTable {
            names: Some(columns.iter().map(|c| c.id).collect()),
            rows: Box::new(self.rows.iter().map(values)),
        }
    }
}
