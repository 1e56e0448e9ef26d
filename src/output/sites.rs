//! The report of the kernel's allocation sites.
//!
//! ```text
//!  SIZE  CALLS  EACH  EXACT  MODULE  FUNCTION         SITE
//!  122M  31168  4096                 alloc_page_ext   mm/page_ext.c:270
//! 53.8M   4737 11901                 alloc_slab_page  mm/slub.c:2259
//!  1.2G 890123                                        4127 sites, 2 shown
//! ```

use std::io::{self, Write};

use super::Report;
use super::data::{DataTable, Document, Object};
use super::report_layout::{ReportLayout, totals_label};
use super::text_table::{TextColumn, TextTable, value_cell, word};
use crate::columns::sites::{SiteRow, Sites};
use crate::columns::{Cell, Column, Label};
use crate::filter::Filter;
use crate::model::allocinfo::AllocSites;

/// The allocation sites that are wanted.
#[derive(Debug)]
pub struct SitesReport<'a> {
    found: &'a AllocSites,
    layout: ReportLayout<Sites>,
    /// The sites shown, in order.
    rows: Vec<SiteRow<'a>>,
    /// The number of sites that pass the filter, and their sums.
    passing: usize,
    total: SiteRow<'a>,
}

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-sites/1";

impl<'a> SitesReport<'a> {
    /// Chooses and sorts the sites; those that have nothing allocated are many, and are left out.
    pub fn new(found: &'a AllocSites, filter: &Filter, layout: ReportLayout<Sites>) -> Self {
        let used = found
            .sites
            .iter()
            .map(SiteRow::new)
            .filter(|row| row.figures.calls > 0 || row.figures.size > 0);
        let passing: Vec<_> = used.filter(|row| filter.matches(row)).collect();
        let keys: Vec<_> = passing.iter().map(|row| layout.sort.order_key(row)).collect();
        let rows = layout.shown(&keys).into_iter().map(|at| passing[at]).collect();
        Self {
            found,
            layout,
            rows,
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

    fn label(&self) -> String {
        totals_label("site", self.passing, self.rows.len(), self.found.malformed)
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
