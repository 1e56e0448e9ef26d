//! The figures of the system that a rule can ask for.

use std::borrow::Cow;

use crate::filter::{Catalog, Quantity, Subject, Word};
use crate::history::History;
use crate::model::Snapshot;

type Get = fn(&Snapshot, &History) -> Option<f64>;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct SystemFigure {
    /// Its name in a rule.
    pub id: &'static str,
    /// How a bound on it is written.
    pub quantity: Quantity,
    get: Get,
}

const fn figure(id: &'static str, quantity: Quantity, get: Get) -> SystemFigure {
    SystemFigure { id, quantity, get }
}

fn share(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let whole = whole.filter(|whole| *whole > 0.0)?;
    part.map(|part| part / whole)
}

fn bytes(reading: crate::model::Reading<u64>) -> Option<f64> {
    reading.ok().map(|n| n as f64)
}

/// RAM in use: `MemTotal − MemAvailable`.
fn used(s: &Snapshot) -> Option<f64> {
    Some(bytes(s.system.mem_total)? - bytes(s.system.mem_available)?)
}

/// All of them. `mem_percent` and `swap_percent` are what is in use of the whole; `psi_some` and `psi_full`
/// the shares of the last ten seconds in which some task, or every task, waited for memory.
pub static SYSTEM: &[SystemFigure] = &[
    figure("mem_total", Quantity::Bytes, |s, _| bytes(s.system.mem_total)),
    figure("mem_free", Quantity::Bytes, |s, _| bytes(s.system.mem_free)),
    figure("mem_available", Quantity::Bytes, |s, _| bytes(s.system.mem_available)),
    figure("mem_used", Quantity::Bytes, |s, _| used(s)),
    figure("mem_percent", Quantity::Percent, |s, _| {
        share(used(s), bytes(s.system.mem_total))
    }),
    figure("anon", Quantity::Bytes, |s, _| bytes(s.system.anon_pages)),
    figure("cached", Quantity::Bytes, |s, _| bytes(s.system.cached)),
    figure("shmem", Quantity::Bytes, |s, _| bytes(s.system.shmem)),
    figure("slab", Quantity::Bytes, |s, _| bytes(s.system.slab)),
    figure("swap_total", Quantity::Bytes, |s, _| bytes(s.system.swap_total)),
    figure("swap_free", Quantity::Bytes, |s, _| bytes(s.system.swap_free)),
    figure("swap_used", Quantity::Bytes, |s, _| bytes(s.system.swap_used())),
    figure("swap_percent", Quantity::Percent, |s, _| {
        share(bytes(s.system.swap_used()), bytes(s.system.swap_total))
    }),
    figure("swap_in", Quantity::Rate, |_, h| h.system().swap_in),
    figure("swap_out", Quantity::Rate, |_, h| h.system().swap_out),
    figure("majflt", Quantity::Number, |_, h| h.system().majfault),
    figure("psi_some", Quantity::Percent, |s, _| {
        s.system.psi.ok().map(|psi| f64::from(psi.some_avg10) / 100.0)
    }),
    figure("psi_full", Quantity::Percent, |s, _| {
        s.system.psi.ok().map(|psi| f64::from(psi.full_avg10) / 100.0)
    }),
    figure("processes", Quantity::Number, |s, _| {
        s.processes.as_ref().ok().map(|list| list.len() as f64)
    }),
];

/// Their names and kinds.
#[derive(Clone, Copy, Debug)]
pub struct SystemCatalogue;

impl Catalog for SystemCatalogue {
    fn column(&self, name: &str) -> Option<(usize, Quantity)> {
        let at = SYSTEM.iter().position(|f| f.id == name)?;
        Some((at, SYSTEM[at].quantity))
    }

    fn names(&self) -> Vec<&str> {
        SYSTEM.iter().map(|f| f.id).collect()
    }
}

/// The system as a filter sees it.
pub(super) struct Whole<'a>(pub(super) &'a Snapshot, pub(super) &'a History);

impl Subject for Whole<'_> {
    fn word(&self, _: Word) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn number(&self, column: usize) -> Option<f64> {
        (SYSTEM.get(column)?.get)(self.0, self.1)
    }
}
