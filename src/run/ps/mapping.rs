//! `zmtop ps --by mapping`: what processes map, over all of them.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::plan::Plan;
use crate::columns::{Row, RowSubject};
use crate::group::totals::one_of_each;
use crate::model::Snapshot;
use crate::output::rows::Rows;
use crate::sampler::mappings::{self, Shared};

/// How often the progress is told.
const TELL: Duration = Duration::from_millis(100);

/// Reads the whole `smaps` of every process that the filter's words choose, and sums it up by mapping.
pub(super) fn rows<'a>(plan: &Plan, snapshot: &'a Snapshot) -> Rows<'a> {
    let query = plan.query();
    let chosen = snapshot
        .rows()
        .iter()
        .filter(|s| !s.stat.is_kernel_thread())
        .filter(|s| query.filter.may_match(&RowSubject(Row::of(s, None, snapshot))));
    let ids = one_of_each(chosen);
    let mut progress = Progress::new();
    let found = mappings::scan(&plan.sampling, &ids, |done, all| progress.tell(done, all));
    progress.end();
    let hidden = found.missing.iter().map(|(_, why)| *why).collect();
    let read = found.read;
    let groups = found.shared.into_iter().map(Shared::into_group).collect();
    Rows::of_mappings(snapshot, groups, (read, hidden), &query)
}

/// A line on the terminal that says how far it is; none where nobody looks.
struct Progress {
    shown: bool,
    last: Instant,
    any: bool,
}

impl Progress {
    fn new() -> Self {
        Self {
            shown: io::stderr().is_terminal(),
            last: Instant::now(),
            any: false,
        }
    }

    fn tell(&mut self, done: usize, all: usize) -> ControlFlow<()> {
        if self.shown && done < all && self.last.elapsed() >= TELL {
            self.last = Instant::now();
            self.any = true;
            let _ = write!(io::stderr(), "\rreading mappings: {done} of {all} processes\x1b[K");
        }
        ControlFlow::Continue(())
    }

    fn end(&self) {
        if self.any {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
