//! The report of what processes hold through their descriptors.
//!
//! ```text
//! SHARE WHOLE   BY  FDS  KIND    NAME
//! 12.0M 12.0M    1    1  memfd   /memfd:cache
//!  1.0M  2.0M    2    1  memfd   /dev/shm/ring
//!  128K  128K    1    1  bpf     hash map 25
//! 13.1M                3          3 objects
//! ```

use super::by_process::{ProcessRows, ReportByProcess};
use super::data::Object;
use super::report_layout::{ReportLayout, totals_label};
use crate::columns::Cell;
use crate::columns::held::{HeldObjects, HeldRow};
use crate::model::{Held, HeldKind, Missing, ProcessSample, Reading};

/// All that some processes hold, and what is wanted of that.
pub type HeldReport<'a> = ReportByProcess<HeldByProcess<'a>>;

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

impl ProcessRows for HeldByProcess<'_> {
    type Kind = HeldObjects;
    const SCHEMA: &'static str = "zmtop-held/1";
    const ROWS: &'static str = "objects";

    fn pid(&self) -> u32 {
        self.pid
    }

    fn start(&self) -> Option<(u64, &[u8])> {
        self.sample.map(|sample| (sample.id.starttime, &*sample.facts.comm))
    }

    fn unread(&self) -> Option<Missing> {
        self.held.err()
    }

    fn rows(&self) -> &[HeldRow<'_>] {
        &self.rows
    }

    fn totals(&self, layout: &ReportLayout<HeldObjects>, shown: usize) -> Vec<Cell> {
        let all = self.held.map_or(0, |held| held.objects.len() + held.unlisted as usize);
        let figures = self.held.map(|held| held.figures).unwrap_or_default();
        layout.labelled(
            layout.cells(&HeldRow::Total(&figures)),
            &totals_label("object", all, shown, None),
        )
    }

    fn put_totals<'p>(&'p self, _: &ReportLayout<HeldObjects>, object: Object<'p>) -> Object<'p> {
        let totals = self.held.ok().map(|held| {
            let put = |all: Object<'p>, kind: HeldKind| all.put(kind.id(), held.figures.of(kind));
            let all = Object::default().put("held", held.figures.total());
            let all = HeldKind::ALL.into_iter().fold(all, put).put("vram", held.figures.vram);
            all.put("partial", held.figures.is_partial(None))
        });
        object
            .put("unlisted", self.held.map_or(0, |held| held.unlisted))
            .put("totals", totals)
    }
}
