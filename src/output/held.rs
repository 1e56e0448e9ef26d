//! The report of memory that processes hold through their descriptors.
//!
//! ```text
//! SHARE WHOLE   BY  FDS  KIND    NAME
//! 12.0M 12.0M    1    1  memfd   /memfd:cache
//!  1.0M  2.0M    2    1  memfd   /dev/shm/ring
//!  128K  128K    1    1  bpf     hash map 25
//! 13.1M                3          3 objects
//! ```

use super::by_process::{self, OfProcess, ProcessRows, ReportByProcess};
use super::data::{Object, described_object};
use super::report_layout::{ReportLayout, totals_label};
use crate::columns::Cell;
use crate::columns::held::{COLUMNS, HeldObjects, HeldRow};
use crate::model::held::HeldFigures;
use crate::model::{Held, HeldKind, Missing, ProcessSample, Reading};
use crate::proc::files;
use crate::schema::{Field, Schema};

pub type HeldReport<'a> = ReportByProcess<HeldByProcess<'a>>;

#[derive(Clone, Debug)]
pub struct HeldByProcess<'a> {
    pid: u32,
    sample: Option<&'a ProcessSample>,
    held: Reading<&'a Held>,
    rows: Vec<HeldRow<'a>>,
}

impl<'a> HeldByProcess<'a> {
    /// `sample` is the process with that pid, or the reason why there is none.
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

    /// Returns why the objects are unknown, if they are.
    pub fn fault(&self) -> Option<String> {
        let pid = self.pid;
        Some(match self.held.err()? {
            Missing::Gone => format!("{pid}: no such process"),
            Missing::KernelThread => format!("{pid} is a kernel thread, which has no descriptors"),
            Missing::Zombie => format!("{pid} is a zombie, which has closed its descriptors"),
            Missing::Denied => format!("{pid}: {}", files::advice("CAP_SYS_PTRACE")),
            other => format!("{pid}: {other}"),
        })
    }
}

impl ProcessRows for HeldByProcess<'_> {
    type Kind = HeldObjects;
    const SCHEMA: &'static str = "zmtop-held/1";
    const ROWS: &'static str = "objects";

    fn process(&self) -> OfProcess<'_, HeldRow<'_>> {
        OfProcess {
            pid: self.pid,
            start: self.sample.map(|sample| (sample.id.starttime, &*sample.facts.comm)),
            unread: self.held.err(),
            rows: &self.rows,
        }
    }

    fn totals(&self, layout: &ReportLayout<HeldObjects>, shown: usize) -> (Vec<Cell>, String) {
        let all = self.held.map_or(0, |held| held.objects.len() + held.unlisted as usize);
        let figures = self.held.map(|held| held.figures).unwrap_or_default();
        let label = totals_label("object", all, shown, None);
        (layout.cells(&HeldRow::Total(&figures)), label)
    }

    fn put_totals<'p>(&'p self, _: &ReportLayout<HeldObjects>, object: Object<'p>) -> Object<'p> {
        object.extend(totals(self.held))
    }

    fn totals_fields() -> Vec<Field> {
        totals_fields()
    }
}

described_object! {
    fn totals, totals_fields(held: Reading<&Held>) -> Object<'static> {
        /// Number of further objects that are not listed.
        "unlisted": count() => held.map_or(0, |held| held.unlisted),
        /// Its share of all objects.
        "totals": object(sums_fields()).null("the rows could not be read") => held.ok().map(|held| sums(&held.figures)),
    }

    fn sums, sums_fields(figures: &HeldFigures) -> Object<'static> {
        /// The sum of all kinds, which is in no PSS.
        "held": bytes() => figures.total(),
        /// Buffers of the GPU in RAM.
        "gpu": bytes() => figures.of(HeldKind::Gpu),
        /// dma-bufs.
        "dmabuf": bytes() => figures.of(HeldKind::DmaBuf),
        /// BPF maps and programs.
        "bpf": bytes() => figures.of(HeldKind::Bpf),
        /// memfds and unlinked files of tmpfs.
        "memfd": bytes() => figures.of(HeldKind::Memfd),
        /// Rings of `io_uring`.
        "uring": bytes() => figures.of(HeldKind::Uring),
        /// Buffers in the memory of the graphics card, which no sum includes.
        "vram": bytes() => figures.vram,
        /// True if some could not be read: the sums are too small.
        "partial": switch() => figures.is_partial(None),
    }
}

pub fn schema() -> Schema {
    let help = "Memory that processes hold through their descriptors. Written by `zmtop held`.";
    by_process::schema::<HeldByProcess<'_>>(COLUMNS, help, "The objects, in the requested order.")
}
