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
use super::text_table::word;
use crate::columns::Cell;
use crate::columns::sites::{SiteRow, Sites};
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
        let rows = layout.shown(&passing).into_iter().map(|at| passing[at]).collect();
        Self {
            found,
            layout,
            rows,
            passing: passing.len(),
            total: SiteRow::total(&passing),
        }
    }

    /// Returns the cells of a row; a sum has those alone that are sums.
    fn cells(&self, row: &SiteRow<'_>) -> Vec<Cell> {
        let mut cells = self.layout.cells(row);
        if row.line.is_none() {
            let other = cells
                .iter_mut()
                .zip(&self.layout.columns)
                .filter(|(_, column)| !column.additive);
            other.for_each(|(cell, _)| *cell = word(""));
        }
        cells
    }

    fn label(&self) -> String {
        totals_label(
            "site",
            self.passing,
            self.rows.len(),
            Some((self.found.malformed, "malformed")),
        )
    }
}

impl Report for SitesReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = self.layout.growing(0);
        self.rows.iter().for_each(|row| table.push(&self.cells(row)));
        table.push_totals(&self.cells(&self.total), self.label());
        table.write(out, &self.layout.style)
    }

    fn document(&self) -> Document<'_> {
        let sites: Vec<_> = self.rows.iter().map(|row| self.layout.object(row)).collect();
        Document::Object(
            Object::default()
                .put("schema", SCHEMA)
                .put("running", self.found.running)
                .put("sites", sites)
                .put("totals", self.layout.sums(&self.total))
                .put("malformed", self.found.malformed),
        )
    }

    fn table(&self) -> DataTable<'_> {
        self.layout.table(self.rows.iter())
    }
}
