//! Data that was read because the screen asked for it.

use std::sync::Arc;
use std::time::Duration;

use crate::group::Group;
use crate::history::Marks;
use crate::history::coldness::ColdnessTable;
use crate::model::Snapshot;
use crate::model::callers::Callers;
use crate::tui::event::Effect;
use crate::tui::growth::GrowthTracker;

/// Data that was read because the screen asked for it.
#[derive(Debug, Default)]
pub struct Data {
    /// The marks that changes are shown since.
    pub marks: Marks,
    /// The mappings of all processes, as read last.
    pub mappings: Option<MappingScan>,
    /// The mappings of single processes, as read again and again.
    pub growth: GrowthTracker,
    /// Hot and cold memory, of processes that the user asked for.
    pub coldness: ColdnessTable,
    /// The call sites of the kernel's allocator.
    pub callers: TracedCallers,
}

/// The call sites of the kernel's allocator, traced while the screen shows them.
#[derive(Debug, Default)]
pub struct TracedCallers {
    /// It is being traced.
    pub runs: bool,
    /// The number of the last trace: what another one reports is not taken in.
    pub number: u64,
    /// The call sites that it saw so far; or why there is none, and what would grant it. `None` before either is known.
    pub found: Option<Result<Arc<Callers>, String>>,
    /// Each call site is a row, and not each function.
    pub by_site: bool,
}

impl TracedCallers {
    /// Takes in what the trace of that number reports.
    pub fn take_in(&mut self, number: u64, report: Result<Arc<Callers>, String>) {
        if number == self.number && self.runs {
            self.found = Some(report);
        }
    }

    /// Sets if it is to be traced; returns what is to be done for it.
    pub fn set(&mut self, is_wanted: bool) -> Option<Effect> {
        if is_wanted == self.runs {
            return None;
        }
        self.runs = is_wanted;
        if is_wanted {
            self.number += 1;
            self.found = None;
        }
        Some(Effect::Trace(is_wanted.then_some(self.number)))
    }
}

/// The mappings of all processes, as read by one scan.
#[derive(Clone, Debug)]
pub struct MappingScan {
    /// The mappings, each with what all processes hold of it.
    pub groups: Vec<Group>,
    /// Number of processes read.
    pub read: usize,
    /// Number of processes that could not be read, whose memory the sums lack.
    pub missing: usize,
    /// When the scan began, on the snapshots' monotonic clock.
    pub at: Duration,
}

impl MappingScan {
    /// Returns how old it is.
    pub const fn age(&self, snapshot: &Snapshot) -> Duration {
        snapshot.monotonic.saturating_sub(self.at)
    }
}
