//! The report of the kernel's slab caches.
//!
//! ```text
//!  SIZE   USED  WASTE   USE%   ACTIVE     OBJS  OBJSZ   SLABS  CACHE
//!  319M   306M  12.9M   99.6   284643   285867   1.1K   20423  ext4_inode_cache
//! 92.6M  91.2M   1.4M  100.0   497994   497994   192B   23714  dentry
//!  1.0G   997M  70.3M   91.0  3680943  4044953         144512  235 caches, 2 shown
//! Slab 1.0G by meminfo: 700M reclaimable, 374M not
//! ```

use std::io::{self, Write};

use super::Report;
use super::data::{DataTable, Document, Object};
use super::report_layout::{ReportLayout, totals_label};
use super::text_table::{TextTable, value_cell, word};
use crate::columns::slab::{Slab, SlabRow, sums};
use crate::columns::{Cell, Column, Label};
use crate::filter::Filter;
use crate::model::slab::SlabCaches;
use crate::model::{Reading, SystemSample};

/// The slab caches that are wanted.
#[derive(Debug)]
pub struct SlabReport<'a> {
    caches: Reading<&'a SlabCaches>,
    system: &'a SystemSample,
    layout: ReportLayout<Slab>,
    /// The caches shown, in order.
    rows: Vec<SlabRow<'a>>,
    /// The number of caches that pass the filter, and their sums.
    passing: usize,
    total: SlabRow<'a>,
}

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-slab/1";

impl<'a> SlabReport<'a> {
    /// Chooses and sorts the caches. Where they could not be read, only the sums of `meminfo` are told.
    pub fn new(
        caches: Reading<&'a SlabCaches>,
        system: &'a SystemSample,
        filter: &Filter,
        layout: ReportLayout<Slab>,
    ) -> Self {
        let all = caches.map_or(&[][..], |found| &found.caches).iter().map(SlabRow::new);
        let passing: Vec<_> = all.filter(|row| filter.matches(row)).collect();
        let keys: Vec<_> = passing.iter().map(|row| layout.sort.order_key(row)).collect();
        let rows = layout.shown(&keys).into_iter().map(|at| passing[at]).collect();
        Self {
            caches,
            system,
            layout,
            rows,
            passing: passing.len(),
            total: SlabRow::total(&passing),
        }
    }

    fn cells(&self, row: &SlabRow<'_>) -> Vec<Cell> {
        let units = self.layout.style.units;
        let cell = |column: &&Column<Slab>| value_cell(&(column.value)(row), units, usize::MAX);
        self.layout.columns.iter().map(cell).collect()
    }

    fn label(&self) -> String {
        let malformed = self.caches.map_or(0, |found| found.malformed);
        totals_label("cache", self.passing, self.rows.len(), malformed)
    }
}

fn object<'r>(columns: &[&'static Column<Slab>], row: &'r SlabRow<'r>) -> Object<'r> {
    let put = |object: Object<'r>, c: &&Column<Slab>| object.put(c.id, (c.value)(row));
    columns.iter().fold(Object::default(), put)
}

impl Report for SlabReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = &self.layout.columns;
        if self.caches.is_ok() {
            let mut table = TextTable::titled(columns.iter().map(|c| (c.title, c.align())));
            self.rows.iter().for_each(|row| table.push(&self.cells(row)));
            let cells = columns
                .iter()
                .zip(self.cells(&self.total))
                .map(|(column, cell)| match column.label {
                    Label::Group => word(self.label()),
                    _ => cell,
                });
            table.push_totals(&cells.collect::<Vec<_>>(), "");
            table.write(out, &self.layout.style)?;
        }
        sums(self.system, self.layout.style.units).map_or(Ok(()), |sums| writeln!(out, "{sums}"))
    }

    fn document(&self) -> Document<'_> {
        let columns = &self.layout.columns;
        let caches: Vec<_> = self.rows.iter().map(|row| object(columns, row)).collect();
        let summed: Vec<_> = columns.iter().copied().filter(|c| c.additive).collect();
        let totals = self.caches.is_ok().then(|| object(&summed, &self.total));
        let system = self.system;
        Document::Object(
            Object::default()
                .put("schema", SCHEMA)
                .put("slab", system.slab)
                .put("sreclaimable", system.sreclaimable)
                .put("sunreclaim", system.sunreclaim)
                .put("caches", caches)
                .put("totals", totals)
                .put("malformed", self.caches.map_or(0, |found| found.malformed as u64))
                .put("unread", self.caches.err().map(|why| why.to_string())),
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
