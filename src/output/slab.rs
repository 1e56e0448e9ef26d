//! The report of the kernel's slab caches.
//!
//! ```text
//!  SIZE   USED  WASTE   OBJ%   ACTIVE     OBJS  OBJSZ   SLABS  CACHE
//!  319M   306M  12.9M   99.6   284643   285867   1.1K   20423  ext4_inode_cache
//! 92.6M  91.2M   1.4M  100.0   497994   497994   192B   23714  dentry
//!  1.0G   997M  70.3M   91.0  3680943  4044953         144512  235 caches, 2 shown
//! Slab 1.0G by meminfo: 700M reclaimable, 374M not
//! ```

use std::io::{self, Write};

use super::Report;
use super::data::{DataTable, Document, Object};
use super::report_layout::{ReportLayout, totals_label};
use crate::columns::slab::{Slab, SlabRow, sums};
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
        let rows = layout.shown(&passing).into_iter().map(|at| passing[at]).collect();
        Self {
            caches,
            system,
            layout,
            rows,
            passing: passing.len(),
            total: SlabRow::total(&passing),
        }
    }

    fn label(&self) -> String {
        let malformed = self.caches.map_or(0, |found| found.malformed);
        totals_label("cache", self.passing, self.rows.len(), Some((malformed, "malformed")))
    }
}

impl Report for SlabReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let layout = &self.layout;
        if self.caches.is_ok() {
            let mut table = layout.titled();
            self.rows.iter().for_each(|row| table.push(&layout.cells(row)));
            table.push_totals(&layout.labelled(layout.cells(&self.total), &self.label()), "");
            table.write(out, &layout.style)?;
        }
        sums(self.system, self.caches, layout.style.units).map_or(Ok(()), |sums| writeln!(out, "{sums}"))
    }

    fn document(&self) -> Document<'_> {
        let caches: Vec<_> = self.rows.iter().map(|row| self.layout.object(row)).collect();
        let totals = self.caches.is_ok().then(|| self.layout.sums(&self.total));
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
        self.layout.table(self.rows.iter())
    }
}
