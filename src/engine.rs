//! The engine: turns snapshots into history, verdicts and alerts.
//!
//! [`State`] is pure: each snapshot that is pushed into it updates the history, lists the suspects and evaluates the
//! alert rules. [`Engine`] does this on a thread of its own, so that nothing which is slow or stuck, above all the
//! terminal, leaves a gap in the history or delays an alert. The screen borrows the state for as long as it takes to
//! handle an event or to render a frame, and never while it writes to the terminal. The engine takes no snapshots,
//! draws nothing and runs no programs: whoever starts it passes a callback that hears of every snapshot and its alerts.
//! The many rows of a fleet are taken in some at a time, so that a key never waits for all of them, and the list that the
//! screen is going to show of them is made here, too.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime;
use tokio::sync::watch;

use crate::alert::{AlertEvent, Alerts, Target};
use crate::group::{Change, RowKey};
use crate::history::suspects::{Suspect, SuspectQuery, suspects};
use crate::history::{History, RowHistory};
use crate::model::{Identity, Snapshot};
use crate::query::{Kept, ListPlan, ReadyList, RowSource};
use crate::trend::Verdict;

/// The last snapshot, and what is derived from it and those before.
#[derive(Debug)]
pub struct State {
    /// The last snapshot.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The history of every row.
    pub history: History,
    /// The alert rules, and what fires.
    pub alerts: Alerts,
    /// The processes, groups and parts of the RAM that grow or leak, worst first.
    pub suspects: Vec<Suspect>,
    /// The number of snapshots taken in.
    pub pushed: u64,
    /// A history that takes the place of this one before the next snapshot.
    pub past: Option<Box<History>>,
    /// Histories of the time before this one's, which are put before it with the next snapshot.
    pub earlier: Vec<Box<History>>,
    /// The plain list of a fleet that the screen shows, which is made of each snapshot before the screen has that.
    pub plan: Option<ListPlan>,
    /// The list that was made of the last snapshot.
    pub ready: Option<ReadyList>,
}

impl Default for State {
    fn default() -> Self {
        Self::new(History::new(Duration::ZERO), Alerts::default())
    }
}

impl State {
    /// Creates the state before the first snapshot.
    pub const fn new(history: History, alerts: Alerts) -> Self {
        Self {
            snapshot: None,
            history,
            alerts,
            suspects: Vec::new(),
            pushed: 0,
            past: None,
            earlier: Vec::new(),
            plan: None,
            ready: None,
        }
    }

    /// Takes in a snapshot; returns the alerts that fired and those that were resolved.
    pub fn push(&mut self, snapshot: Arc<Snapshot>) -> Vec<AlertEvent> {
        self.history.push(&snapshot);
        self.derive(snapshot)
    }

    /// Derives all else from a snapshot that the history has.
    fn derive(&mut self, snapshot: Arc<Snapshot>) -> Vec<AlertEvent> {
        self.suspects = suspects(&self.history, &snapshot, SuspectQuery::GROWING);
        let events = self.alerts.evaluate(&snapshot, &self.history);
        self.snapshot = Some(snapshot);
        self.pushed += 1;
        events
    }

    /// Returns true if only PSS is known so far of the rows.
    pub fn is_partial(&self) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| snapshot.is_partial())
    }

    /// Returns the change of one process since the snapshot before.
    pub fn change(&self, id: Identity) -> Option<Change> {
        self.history.get(id).map(RowHistory::change).copied()
    }

    /// Returns the suspects that have not ended, worst first: what leaks, then what grows.
    pub fn living_suspects(&self) -> impl Iterator<Item = &Suspect> {
        self.suspects.iter().filter(|suspect| suspect.ended.is_none())
    }

    /// Returns the suspects that leak and have not ended, worst first.
    pub fn leaks(&self) -> impl Iterator<Item = &Suspect> {
        self.living_suspects()
            .filter(|s| s.judgement.verdict == Verdict::Leaking)
    }

    /// Returns true if an alert is firing for this row.
    pub fn has_alert(&self, key: &RowKey) -> bool {
        // Mostly none fires, and no key is cloned.
        self.alerts.firing() > 0 && self.alerts.is_firing(&Target::Row(key.clone()))
    }
}

/// Rows of a fleet that are taken in at a time: a millisecond or two.
const SLICE: usize = 500;
/// Time after that in which others have the state. A thread that rests is seldom halted by others, so that nobody waits for
/// one that holds the state and may not run.
const BREATH: Duration = Duration::from_micros(500);

/// The state as threads share it. A panic of one does not keep it from the others.
pub type SharedState = Arc<Mutex<State>>;

/// A running engine. When it is dropped, its thread ends, and what the callback holds is dropped.
#[derive(Debug)]
pub struct Engine {
    state: SharedState,
    /// `None` once it is told to stop.
    stop: Option<watch::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts an engine that takes in every snapshot of `snapshots` until their sender is gone; that of a fleet in slices,
    /// between which whoever waits has the state. Calls `on_snapshot` after each, with the alerts that fired and were
    /// resolved; it must not block.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn spawn(
        state: State,
        mut snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
        runtime: runtime::Handle,
        mut on_snapshot: impl FnMut(&Snapshot, &[AlertEvent]) + Send + 'static,
    ) -> std::io::Result<Self> {
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let (stop, mut stopped) = watch::channel(());
        // Not a task: a push of many processes takes milliseconds, which the readers of keys must not wait for.
        let thread = std::thread::Builder::new().name("zmtop-engine".into()).spawn(move || {
            loop {
                let latest = snapshots.borrow_and_update().clone();
                if let Some(snapshot) = latest {
                    let events = take_in(&shared, &snapshot, || stopped.has_changed().is_ok());
                    on_snapshot(&snapshot, &events);
                }
                let is_next = runtime.block_on(async {
                    tokio::select! {
                        changed = snapshots.changed() => changed.is_ok(),
                        _ = stopped.changed() => false,
                    }
                });
                if !is_next {
                    return;
                }
            }
        })?;
        Ok(Self {
            state,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the state for another thread; the engine waits while it is held, so it must be held briefly.
    pub fn shared(&self) -> SharedState {
        Arc::clone(&self.state)
    }

    /// Returns the state; the engine waits while it is held, so it must be held briefly.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It never waits for anything but a snapshot. A panic of its own has been reported.
            let _ = thread.join();
        }
    }
}

/// Takes in a snapshot, that of a fleet in slices while it is wanted.
fn take_in(state: &Mutex<State>, snapshot: &Arc<Snapshot>, is_wanted: impl Fn() -> bool) -> Vec<AlertEvent> {
    let mut state = state.lock();
    if snapshot.fleet.is_none() {
        return state.push(Arc::clone(snapshot));
    }
    // Before the first there is nothing to be kept from.
    let rows = if state.snapshot.is_some() { SLICE } else { usize::MAX };
    let past = state.past.take();
    let mut former = None;
    if let Some(mut past) = past {
        // Nobody else has it.
        MutexGuard::unlocked(&mut state, || past.push(snapshot));
        former = Some(std::mem::replace(&mut state.history, *past));
    } else {
        for mut earlier in std::mem::take(&mut state.earlier) {
            while state.history.put_before(&mut earlier, rows) {
                breathe(&mut state);
                if !is_wanted() {
                    return Vec::new();
                }
            }
            MutexGuard::unlocked(&mut state, || drop(earlier));
        }
        let mut push = state.history.begin(snapshot);
        while state.history.advance(&mut push, rows) {
            breathe(&mut state);
            if !is_wanted() {
                return Vec::new();
            }
        }
        state.history.finish(push);
    }
    let ready = make_ready(&mut state, snapshot, rows);
    let list_before = std::mem::replace(&mut state.ready, ready);
    let last = state.snapshot.clone();
    let events = state.derive(Arc::clone(snapshot));
    // Large ones, which take a while to drop.
    drop(state);
    drop((former, last, list_before));
    events
}

/// Makes the list that the screen is going to show of a snapshot that the history has, in slices.
fn make_ready(state: &mut MutexGuard<'_, State>, snapshot: &Snapshot, rows: usize) -> Option<ReadyList> {
    let mut kept = Kept::new(state.plan.clone()?);
    kept.pushed = state.pushed + 1;
    while kept.extend(&RowSource::new(snapshot, Some(&state.history)), rows) {
        breathe(state);
    }
    Some(MutexGuard::unlocked(state, || ReadyList::new(kept, snapshot)))
}

/// Lets others have the state for a moment.
fn breathe(state: &mut MutexGuard<'_, State>) {
    MutexGuard::unlocked_fair(state, || std::thread::sleep(BREATH));
}
