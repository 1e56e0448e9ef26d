//! The engine: turns snapshots into history, verdicts and alerts.
//!
//! [`State`] is pure: each snapshot that is pushed into it updates the history, lists the suspects and evaluates the
//! alert rules. [`Engine`] does this on a thread of its own, so that nothing which is slow or stuck, above all the
//! terminal, leaves a gap in the history or delays an alert. The screen borrows the state for as long as it takes to
//! handle an event or to render a frame, and never while it writes to the terminal. The engine takes no snapshots,
//! draws nothing and runs no programs: whoever starts it passes a callback that hears of every snapshot and its alerts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::watch;

use crate::alert::{AlertEvent, Alerts, Target};
use crate::group::{Change, RowKey};
use crate::history::suspects::{Suspect, SuspectQuery, suspects};
use crate::history::{History, RowHistory};
use crate::model::{Identity, Snapshot};
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
        }
    }

    /// Takes in a snapshot; returns the alerts that fired and those that were resolved.
    pub fn push(&mut self, snapshot: Arc<Snapshot>) -> Vec<AlertEvent> {
        self.history.push(&snapshot);
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

/// A running engine. When it is dropped, its thread ends, and what the callback holds is dropped.
#[derive(Debug)]
pub struct Engine {
    state: Arc<Mutex<State>>,
    /// `None` once it is told to stop.
    stop: Option<watch::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts an engine that takes in every snapshot of `snapshots` until their sender is gone. Calls `on_snapshot`
    /// after each, with the alerts that fired and were resolved; it must not block.
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
                    let events = lock(&shared).push(Arc::clone(&snapshot));
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
    pub fn shared(&self) -> Arc<Mutex<State>> {
        Arc::clone(&self.state)
    }

    /// Returns the state; the engine waits while it is held, so it must be held briefly.
    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
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

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
