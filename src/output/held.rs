//! The report of what processes hold through their descriptors.
//!
//! ```text
//! SHARE WHOLE   BY  FDS  KIND    NAME
//! 12.0M 12.0M    1    1  memfd   /memfd:cache
//!  1.0M  2.0M    2    1  memfd   /dev/shm/ring
//!  128K  128K    1    1  bpf     hash map 25
//! 13.1M                3          3 objects
//! ```

use std::io::{self, Write};

use super::Report;
use super::data::{DataTable, Document, Node, Object};
use super::report_layout::{ReportLayout, counted};
use super::text_table::{TextTable, value_cell, word};
use crate::columns::held::{HeldObjects, HeldRow};
use crate::columns::{Cell, Column, DataValue, Label};
use crate::model::{Held, HeldKind, Missing, ProcessSample, Reading};
use crate::text::safe;

/// All that some processes hold, and what is wanted of that.
#[derive(Debug)]
pub struct HeldReport<'a> {
    /// The processes, in the order asked for.
    pub processes: Vec<HeldByProcess<'a>>,
    /// The columns, the order and the look.
    pub layout: ReportLayout<HeldObjects>,
}

/// A process and what it holds.
#[derive(Clone, Debug)]
pub struct HeldByProcess<'a> {
    pid: u32,
    sample: Option<&'a ProcessSample>,
    held: Reading<&'a Held>,
    rows: Vec<HeldRow<'a>>,
}

impl<'a> HeldByProcess<'a> {
    /// Takes what the process of that pid holds; where there is none, `sample` is the reason.
    pub fn new(pid: u32, sample: Reading<&'a ProcessSample>) -> Self {
        let held = sample.and_then(ProcessSample::held);
        Self {
            pid,
            sample: sample.ok(),
            held,
            rows: held.map_or_else(
                |_| Vec::new(),
                |held| held.objects.iter().map(HeldRow::Object).collect(),
            ),
        }
    }

    /// Returns why it is not known what it holds.
    pub fn fault(&self) -> Option<String> {
        let pid = self.pid;
        Some(match self.held.err()? {
            Missing::Gone => format!("{pid}: no such process"),
            Missing::KernelThread => format!("{pid} is a kernel thread, which has no descriptors"),
            Missing::Zombie => format!("{pid} is a zombie, which has closed its descriptors"),
            Missing::Denied => {
                format!("{pid}: permission denied; run as root or as its user, or grant CAP_SYS_PTRACE")
            }
            other => format!("{pid}: {other}"),
        })
    }
}

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-held/1";

impl HeldReport<'_> {
    /// Returns the objects of a process in order, no more than are wanted.
    fn sorted<'p, 'a>(&self, process: &'p HeldByProcess<'a>) -> Vec<&'p HeldRow<'a>> {
        let keys: Vec<_> = process.rows.iter().map(|row| self.layout.sort.order_key(row)).collect();
        let shown = self.layout.shown(&keys);
        shown.into_iter().map(|at| &process.rows[at]).collect()
    }

    fn write_table(&self, out: &mut dyn Write, process: &HeldByProcess<'_>, held: &Held) -> io::Result<()> {
        let columns = &self.layout.columns;
        let mut table = TextTable::titled(columns.iter().map(|c| (c.title, c.align())));
        let cells = |row: &HeldRow<'_>| -> Vec<Cell> {
            let cell = |c: &&Column<HeldObjects>| value_cell(&(c.value)(row), self.layout.style.units, usize::MAX);
            columns.iter().map(cell).collect()
        };
        let rows = self.sorted(process);
        for row in &rows {
            table.push(&cells(row));
        }
        let all = held.objects.len() as u64 + held.unlisted;
        let mut label = counted(all, "object");
        if (rows.len() as u64) < all {
            label = format!("{label}, {} shown", rows.len());
        }
        let totals = cells(&HeldRow::Total(&held.figures)).into_iter().zip(columns);
        let totals = totals.map(|(cell, column)| match column.label {
            Label::Group => word(label.clone()),
            _ => cell,
        });
        table.push_totals(&totals.collect::<Vec<_>>(), "");
        table.write(out, &self.layout.style)
    }

    fn object<'s>(&'s self, process: &'s HeldByProcess<'_>) -> Object<'s> {
        let row = |row: &'s HeldRow<'s>| {
            let put = |object: Object<'s>, c: &&Column<HeldObjects>| object.put(c.id, (c.value)(row));
            self.layout.columns.iter().fold(Object::default(), put).with_unread()
        };
        let totals = process.held.ok().map(|held| {
            let put = |all: Object<'s>, kind: HeldKind| all.put(kind.id(), held.figures.of(kind));
            let all = Object::default().put("held", held.figures.total());
            let all = HeldKind::ALL.into_iter().fold(all, put).put("vram", held.figures.vram);
            all.put("partial", held.figures.is_partial(None))
        });
        Object::default()
            .put("pid", process.pid)
            .put("starttime", process.sample.map(|sample| sample.id.starttime))
            .put("comm", process.sample.map(|sample| Node::bytes(&sample.facts.comm)))
            .put("objects", self.sorted(process).into_iter().map(row).collect::<Vec<_>>())
            .put("unlisted", process.held.map_or(0, |held| held.unlisted))
            .put("totals", totals)
            .put("unread", process.held.err().map(|why| why.to_string()))
    }

    fn values<'r>(&self, pid: u32, row: &'r HeldRow<'r>) -> Vec<DataValue<'r>> {
        let values = self.layout.columns.iter().map(|c| (c.value)(row).into_data());
        [DataValue::Integer(pid.into())].into_iter().chain(values).collect()
    }
}

impl Report for HeldReport<'_> {
    /// Writes a table for each process that could be read; under its pid and name where several were asked for.
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut is_first = true;
        for process in &self.processes {
            let (Ok(held), Some(sample)) = (process.held, process.sample) else {
                continue;
            };
            if !std::mem::replace(&mut is_first, false) {
                writeln!(out)?;
            }
            if self.processes.len() > 1 {
                writeln!(out, "{} {}", process.pid, safe(&sample.facts.comm))?;
            }
            self.write_table(out, process, held)?;
        }
        Ok(())
    }

    fn document(&self) -> Document<'_> {
        let processes: Vec<_> = self.processes.iter().map(|process| self.object(process)).collect();
        Document::Object(Object::default().put("schema", SCHEMA).put("processes", processes))
    }

    /// Returns a document for each process.
    fn lines(&self) -> Vec<Document<'_>> {
        let line = |p| Document::Object(Object::default().put("schema", SCHEMA).put("process", self.object(p)));
        self.processes.iter().map(line).collect()
    }

    /// Returns a row for each object, the pid first. Of a process that could not be read there is none.
    fn table(&self) -> DataTable<'_> {
        let rows = self.processes.iter().flat_map(move |process| {
            let values = move |row| self.values(process.pid, row);
            self.sorted(process).into_iter().map(values)
        });
        DataTable {
            names: Some(
                ["pid"]
                    .into_iter()
                    .chain(self.layout.columns.iter().map(|c| c.id))
                    .collect(),
            ),
            rows: Box::new(rows),
        }
    }
}
