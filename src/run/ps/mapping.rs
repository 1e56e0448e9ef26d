//! `zmtop ps --by mapping`: what processes map, over all of them.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::plan::Plan;
use crate::columns::Row;
use crate::model::{Missing, Snapshot};
use crate::query::{MappingCount, RowSource, Rows, Selection, address_spaces};
use crate::sampler::mappings::{self, Shared};

/// Time between two lines of progress: as often as an eye follows.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Reads the whole `smaps` of every process that the filter's words choose, and sums it up by mapping.
pub(super) fn rows<'a>(plan: &Plan, snapshot: &'a Snapshot) -> Rows<'a> {
    let query = plan.query();
    let source = RowSource::new(snapshot, None);
    let ids = address_spaces(&source, &query);
    let mut progress = Progress::new();
    let found = mappings::scan(&plan.sampling, &ids, |done, all| progress.update(done, all));
    progress.clear();
    let unreadable: Vec<Missing> = found.missing.iter().map(|(_, why)| *why).collect();
    let count = MappingCount {
        read: found.read,
        unreadable: unreadable.len(),
    };
    let groups = found.shared.into_iter().map(Shared::into_group).collect();
    // Words were asked of the processes; figures judge the mappings.
    let no_members = || std::iter::empty::<Row<'_>>();
    let passes = |row: &Row<'_>| query.filter.matches_group(row, no_members());
    let selection = Selection::of_mappings(&source, groups, count, passes);
    Rows::of_selection(source, selection, unreadable, &query)
}

/// A line of progress on stderr, where that is a terminal.
struct Progress {
    interactive: bool,
    last: Instant,
    /// There is a line to clear.
    shown: bool,
}

impl Progress {
    fn new() -> Self {
        Self {
            interactive: io::stderr().is_terminal(),
            last: Instant::now(),
            shown: false,
        }
    }

    fn update(&mut self, done: usize, all: usize) -> ControlFlow<()> {
        if self.interactive && done < all && self.last.elapsed() >= PROGRESS_INTERVAL {
            self.last = Instant::now();
            self.shown = true;
            let _ = write!(io::stderr(), "\rreading mappings: {done} of {all} processes\x1b[K");
        }
        ControlFlow::Continue(())
    }

    fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
