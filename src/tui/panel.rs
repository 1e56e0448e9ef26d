//! The panel of the selected process: what it is, and which of its mappings grew.
//!
//! Its mappings are read elsewhere, again and again while it is open, and reported by the process's identity.
//! What was read first is kept for the processes looked at last, so that one who comes back sees the whole
//! growth.

use std::collections::VecDeque;
use std::time::Duration;

use super::app::App;
use super::event::{Effect, Inspect};
use super::leaks;
use super::scope::Scope;
use crate::history::mapping_diff::{Census, Grown, grew};
use crate::model::mapping::Mapping;
use crate::model::{Identity, Missing, ProcessSample, Reading, Snapshot};

/// For how many processes what was read is kept.
const KEPT: usize = 16;

/// The panel's state.
#[derive(Debug, Default)]
pub struct Panel {
    /// It is open.
    pub open: bool,
    /// Whose mappings are asked for.
    pub asked: Option<Inspect>,
    /// What was read, of the processes looked at last; the latest at the back.
    seen: VecDeque<Seen>,
}

/// What was read of one process.
#[derive(Debug)]
pub struct Seen {
    id: Identity,
    /// Its program: after another exec what was read is of no use.
    exec: u32,
    first: Option<Taken>,
    last: Option<Taken>,
    /// The mapping that grew most from the one to the other.
    most: Option<Grown>,
    /// When the last reading failed.
    failed: Option<Duration>,
    /// Growth counts from the mark, not from when it was first looked at.
    pub marked: bool,
    /// Why the last reading failed.
    pub fault: Option<Missing>,
}

/// One reading, and when it came in, on the snapshots' monotonic clock.
#[derive(Clone, Debug)]
struct Taken {
    census: Census,
    at: Duration,
}

impl Seen {
    /// Each mapping's growth from the first reading to the last; `None` while there is none.
    pub fn grown(&self) -> Option<Vec<Grown>> {
        Some(grew(&self.first.as_ref()?.census, &self.last.as_ref()?.census))
    }

    /// From when to when that is: how long, and how long ago the last reading was.
    pub fn span(&self, snapshot: &Snapshot) -> Option<(Duration, Duration)> {
        let (first, last) = (self.first.as_ref()?, self.last.as_ref()?);
        Some((
            last.at.saturating_sub(first.at),
            snapshot.monotonic.saturating_sub(last.at),
        ))
    }
}

impl Panel {
    /// What was read of that process.
    pub fn seen(&self, sample: &ProcessSample) -> Option<&Seen> {
        self.seen.iter().find(|s| s.id == sample.id && s.exec == sample.exec)
    }

    /// When the mappings of that process were read last, on the snapshots' clock; `None` where never.
    pub fn read_at(&self, id: Identity) -> Option<Duration> {
        let seen = self.seen.iter().find(|s| s.id == id)?;
        seen.last.as_ref().map(|last| last.at).or(seen.failed)
    }

    /// The mapping of that process that grew most, as far as it was read.
    pub fn grew_most(&self, id: Identity) -> Option<&Grown> {
        self.seen.iter().find(|s| s.id == id)?.most.as_ref()
    }

    /// Forgets all, and leaves it open or closed.
    pub fn forget(&mut self) {
        self.seen.clear();
    }
}

/// The selected process, while the panel is to show it.
pub(super) fn subject(app: &App) -> Option<Identity> {
    if !app.shows_panel() {
        return None;
    }
    app.table().selected.as_ref()?.process()
}

/// Opens the panel, or closes it.
pub(super) fn toggle(app: &mut App) {
    if matches!(app.scope, Scope::Mappings(_)) {
        return;
    }
    app.panel.open = !app.shows_panel();
    settle(app);
}

/// Closes it; whether it was open.
pub(super) fn close(app: &mut App) -> bool {
    let was = app.shows_panel();
    if was {
        app.panel.open = false;
        settle(app);
    }
    was
}

/// Keeps the selection in sight with the rows there are now.
fn settle(app: &mut App) {
    let rows = app.rows_shown();
    for table in app.tables_mut() {
        table.show(rows);
    }
}

/// Asks for the mappings of what is shown now, or now and then for those of a suspect; while sampling is stopped,
/// for none.
pub(super) fn ask(app: &mut App) -> Option<Effect> {
    let shown = subject(app).map(|id| Inspect { id, closely: true });
    let suspect = || leaks::watched(app).map(|id| Inspect { id, closely: false });
    let wanted = shown.or_else(suspect).filter(|_| !app.paused);
    (wanted != app.panel.asked).then(|| {
        app.panel.asked = wanted;
        Effect::Inspect(wanted)
    })
}

/// Takes in what was read of a process.
pub(super) fn take(app: &mut App, id: Identity, read: &Reading<Vec<Mapping>>) {
    let Some(snapshot) = &app.snapshot else { return };
    let at = snapshot.monotonic;
    let Some(sample) = snapshot.rows().iter().find(|s| s.id == id) else {
        return;
    };
    let exec = sample.exec;
    let seen = &mut app.panel.seen;
    let known = seen.iter().position(|s| s.id == id).and_then(|at| seen.remove(at));
    let mut one = known.filter(|s| s.exec == exec).unwrap_or(Seen {
        id,
        exec,
        first: None,
        last: None,
        most: None,
        failed: None,
        marked: false,
        fault: None,
    });
    match read {
        Ok(mappings) => {
            let census = Census::of(mappings);
            let taken = Taken { census, at };
            one.first.get_or_insert_with(|| taken.clone());
            one.last = Some(taken);
            one.fault = None;
            one.most = one.grown().and_then(|rows| {
                let most = rows.into_iter().max_by_key(|row| row.growth().unwrap_or(0))?;
                (most.growth().unwrap_or(0) > 0).then_some(most)
            });
        }
        Err(why) => {
            one.fault = Some(*why);
            one.failed = Some(at);
        }
    }
    if seen.len() == KEPT {
        seen.pop_front();
    }
    seen.push_back(one);
}

/// Counts growth of the process shown from its last reading on: a mark was set.
pub(super) fn mark(app: &mut App) {
    let Some(id) = subject(app) else { return };
    if let Some(seen) = app.panel.seen.iter_mut().find(|s| s.id == id)
        && seen.last.is_some()
    {
        seen.first.clone_from(&seen.last);
        seen.most = None;
        seen.marked = true;
    }
}
