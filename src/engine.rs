//! The engine: turns snapshots into history, verdicts and alerts.
//!
//! [`State`] is pure: each pushed snapshot updates the history, lists the suspects and evaluates the alert rules.
//! [`Engine`] does this on its own thread, so that a slow terminal neither leaves a gap in the history nor delays an
//! alert. The screen borrows the state to handle an event or to render a frame, never while it writes to the terminal.
//! The engine takes no snapshots, draws nothing and runs no programs: it calls its starter back with every snapshot and
//! its alerts. It pushes a fleet's rows in slices, so that a key never waits for all of them, and prepares the list that
//! the screen will show.

mod incidents;
mod last_words;
mod quota;
mod sampled;
mod takers;

use std::collections::HashSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime;
use tokio::sync::{Notify, watch};

use crate::alert::{AlertEvent, Alerts, Target};
use crate::group::{Change, RowKey};
use crate::history::suspects::{Suspect, SuspectQuery, stopped, suspects};
use crate::history::{History, RowHistory};
use crate::model::{Identity, Snapshot};
use crate::query::{Kept, ListPlan, ReadyList, RowSource};
use crate::trend::Verdict;

pub use incidents::Incidents;
pub use last_words::LastWords;
pub use sampled::Sampled;
pub use takers::{Suspicion, Takers};

/// A limit that is reached within this many seconds needs attention: one day.
const SOON: f64 = 86_400.0;
/// The time for which the suspect that needs attention first stays so, while no other is much faster, sooner or worse.
const FIRST_KEPT: Duration = Duration::from_secs(60);
/// Factor by which another one must be faster, or sooner at its limit.
const MUCH: f64 = 2.0;

/// The last snapshot, and everything derived from the snapshots so far.
#[derive(Debug)]
pub struct State {
    pub snapshot: Option<Arc<Snapshot>>,
    pub history: History,
    pub alerts: Alerts,
    /// Growing and leaking processes, groups and parts of the RAM, worst first.
    pub suspects: Vec<Suspect>,
    /// Rows whose growth has stopped.
    pub stopped: Vec<Suspect>,
    /// The suspect that needs attention first, and since when it is.
    first: Option<(RowKey, Duration)>,
    /// The number of pushed snapshots.
    pub pushed: u64,
    /// A history that replaces the current one before the next snapshot.
    pub past: Option<Box<History>>,
    /// Histories of earlier times, which are prepended with the next snapshot.
    pub earlier: Vec<Box<History>>,
    /// The plan of the fleet's list on the screen. A list is prepared from each snapshot before the screen gets it.
    pub plan: Option<ListPlan>,
    /// The list prepared from the last snapshot.
    pub ready: Option<ReadyList>,
}

impl Default for State {
    fn default() -> Self {
        Self::new(History::new(Duration::ZERO), Alerts::default())
    }
}

impl State {
    pub const fn new(history: History, alerts: Alerts) -> Self {
        Self {
            snapshot: None,
            history,
            alerts,
            suspects: Vec::new(),
            stopped: Vec::new(),
            first: None,
            pushed: 0,
            past: None,
            earlier: Vec::new(),
            plan: None,
            ready: None,
        }
    }

    /// Pushes a snapshot. Returns the alerts that fired or were resolved.
    pub fn push(&mut self, snapshot: Arc<Snapshot>) -> Vec<AlertEvent> {
        self.history.push(&snapshot);
        self.derive(snapshot)
    }

    /// Derives everything except the history, which already has the snapshot.
    fn derive(&mut self, snapshot: Arc<Snapshot>) -> Vec<AlertEvent> {
        self.suspects = suspects(&self.history, &snapshot, SuspectQuery::GROWING);
        self.stopped = stopped(&self.history, &snapshot, None, &self.suspects);
        let now = snapshot.monotonic;
        let is_over = |(_, since): &mut (RowKey, Duration)| now.saturating_sub(*since) >= FIRST_KEPT;
        drop(self.first.take_if(is_over));
        let first = self.first_suspect().map(|suspect| suspect.key.clone());
        if self.first.as_ref().map(|(key, _)| key) != first.as_ref() {
            self.first = first.map(|key| (key, now));
        }
        let events = self.alerts.evaluate(&snapshot, &self.history);
        self.snapshot = Some(snapshot);
        self.pushed += 1;
        events
    }

    /// See [`Snapshot::is_partial`].
    pub fn is_partial(&self) -> bool {
        self.snapshot.as_ref().is_some_and(|snapshot| snapshot.is_partial())
    }

    /// Returns the change of a process since the previous snapshot.
    pub fn change(&self, id: Identity) -> Option<Change> {
        self.history.get(id).map(RowHistory::change).copied()
    }

    /// Returns the suspects that have not ended, worst first: leaking ones, then growing ones.
    pub fn living_suspects(&self) -> impl Iterator<Item = &Suspect> {
        self.suspects.iter().filter(|suspect| suspect.ended.is_none())
    }

    /// Returns the suspect that needs attention first: the worst, unless another one, such as a hoard, reaches a limit sooner and
    /// within a day. Of many that grow alike, the same one for some time.
    pub fn first_suspect(&self) -> Option<&Suspect> {
        let worst = self.living_suspects().next()?;
        let eta = |suspect: &Suspect| suspect.eta.filter(|eta| (0.0..SOON).contains(eta));
        let grows = |suspect: &&Suspect| suspect.judgement.verdict >= Verdict::Hoarding;
        let soonest = self.living_suspects().filter(grows);
        let soonest = soonest.filter_map(|suspect| Some((eta(suspect)?, suspect)));
        let soonest = soonest.min_by(|a, b| a.0.total_cmp(&b.0));
        let is_sooner = |found: &(f64, &Suspect)| eta(worst).is_none_or(|eta| found.0 < eta);
        let first = soonest.filter(is_sooner).map_or(worst, |(_, suspect)| suspect);
        let key = self.first.as_ref().map(|(key, _)| key);
        let is_alike = |kept: &&Suspect| {
            let is_much_sooner = eta(first).is_some_and(|soon| eta(kept).is_none_or(|eta| eta > MUCH * soon));
            kept.judgement.verdict == first.judgement.verdict && first.pace() <= MUCH * kept.pace() && !is_much_sooner
        };
        let kept = self.living_suspects().find(|suspect| Some(&suspect.key) == key);
        Some(kept.filter(is_alike).unwrap_or(first))
    }

    /// Returns the suspects, then the rows whose growth has stopped.
    pub fn listed(&self) -> impl Iterator<Item = &Suspect> {
        self.suspects.iter().chain(&self.stopped)
    }

    pub fn leaks(&self) -> impl Iterator<Item = &Suspect> {
        self.living_suspects()
            .filter(|s| s.judgement.verdict == Verdict::Leaking)
    }

    /// Returns the verdicts of the suspects that have not ended, and of each process that grows: also of those that a suspect
    /// reports together.
    pub fn growth_verdicts(&self) -> HashSet<(RowKey, Verdict)> {
        let suspects = self.living_suspects().map(|s| (s.key.clone(), s.judgement.verdict));
        let processes = self.history.growing();
        suspects
            .chain(processes.map(|(id, row)| (RowKey::Process(id), row.trend().verdict)))
            .collect()
    }

    /// Returns true if an alert is firing for this row.
    pub fn has_alert(&self, key: &RowKey) -> bool {
        // Usually none fires; then the key is not cloned.
        self.alerts.firing() > 0 && self.alerts.is_firing(&Target::Row(key.clone()))
    }
}

/// Rows of a fleet that are processed at a time, in 1 to 2 ms.
const SLICE: usize = 500;
/// Pause after each slice, in which other threads may lock the state. Because the engine pauses, the scheduler seldom
/// preempts it while it holds the lock.
const BREATH: Duration = Duration::from_micros(500);

/// The state shared by threads. A panic of one thread does not poison it.
pub type SharedState = Arc<Mutex<State>>;

/// A running engine. Dropping it ends its thread and drops the callback.
#[derive(Debug)]
pub struct Engine {
    state: SharedState,
    waiting: Arc<Waiting>,
    stop: Option<watch::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts an engine that pushes every snapshot until the sender is gone. Calls `on_snapshot` after each, with the alerts
    /// that fired or were resolved; it must not block. Fails if the thread cannot be started.
    pub fn spawn(
        state: State,
        snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
        runtime: runtime::Handle,
        mut on_snapshot: impl FnMut(&Arc<Snapshot>, &[AlertEvent]) + Send + 'static,
    ) -> std::io::Result<Self> {
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let waiting = Arc::<Waiting>::default();
        let next = Arc::clone(&waiting);
        let (stop, mut stopped) = watch::channel(());
        // Not a task: a push of many processes takes milliseconds, and would delay the tasks that read keys.
        let thread = std::thread::Builder::new().name("zmtop-engine".into()).spawn(move || {
            let mut forwarding = runtime.spawn(Arc::clone(&next).fill(snapshots));
            loop {
                if let Some(snapshot) = next.take() {
                    let events = take_in(&shared, &snapshot, || stopped.has_changed().is_ok());
                    on_snapshot(&snapshot, &events);
                }
                let is_next = runtime.block_on(async {
                    tokio::select! {
                        biased;
                        _ = stopped.changed() => false,
                        () = next.filled.notified() => true,
                        _ = &mut forwarding => false,
                    }
                });
                if !is_next {
                    break;
                }
            }
            forwarding.abort();
            if !forwarding.is_finished() {
                let _ = runtime.block_on(forwarding);
            }
        })?;
        Ok(Self {
            state,
            waiting,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the state for another thread. While it is locked, the engine waits.
    pub fn shared(&self) -> SharedState {
        Arc::clone(&self.state)
    }

    /// Returns the monotonic time of the snapshot that the engine will push next, if it has come.
    pub fn next(&self) -> Option<Duration> {
        self.waiting.latest.lock().as_ref().map(|snapshot| snapshot.monotonic)
    }

    /// Locks the state. Meanwhile the engine waits.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// The snapshot that waits for the engine.
#[derive(Debug, Default)]
struct Waiting {
    latest: Mutex<Option<Arc<Snapshot>>>,
    filled: Notify,
}

impl Waiting {
    /// Passes on each snapshot. The newest one replaces one that still waits, and takes over the processes that ended before it:
    /// each of them is in one snapshot only.
    async fn fill(self: Arc<Self>, mut snapshots: watch::Receiver<Option<Arc<Snapshot>>>) {
        loop {
            let next = snapshots.borrow_and_update().clone();
            if let Some(next) = next {
                let mut latest = self.latest.lock();
                *latest = Some(match latest.take() {
                    Some(unseen) => next.after_unseen(&unseen.exits),
                    None => next,
                });
                drop(latest);
                self.filled.notify_one();
            }
            if snapshots.changed().await.is_err() {
                return;
            }
        }
    }

    fn take(&self) -> Option<Arc<Snapshot>> {
        self.latest.lock().take()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It waits for nothing but a snapshot. The panic hook has reported a panic.
            let _ = thread.join();
        }
    }
}

/// Pushes a snapshot: a fleet's in slices, until `is_wanted` returns false.
fn take_in(state: &Mutex<State>, snapshot: &Arc<Snapshot>, is_wanted: impl Fn() -> bool) -> Vec<AlertEvent> {
    let mut state = state.lock();
    if snapshot.fleet.is_none() {
        return state.push(Arc::clone(snapshot));
    }
    // Before the first snapshot, no thread needs the state.
    let rows = if state.snapshot.is_some() { SLICE } else { usize::MAX };
    let past = state.past.take();
    let mut former = None;
    if let Some(mut past) = past {
        // No other thread uses it.
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
    // They are large, so dropping them takes a while.
    drop(state);
    drop((former, last, list_before));
    events
}

/// Prepares the list that the screen will show, in slices. The history already has the snapshot.
fn make_ready(state: &mut MutexGuard<'_, State>, snapshot: &Snapshot, rows: usize) -> Option<ReadyList> {
    let mut kept = Kept::new(state.plan.clone()?);
    kept.pushed = state.pushed + 1;
    while kept.extend(&RowSource::new(snapshot, Some(&state.history)), rows) {
        breathe(state);
    }
    Some(MutexGuard::unlocked(state, || ReadyList::new(kept, snapshot)))
}

/// Unlocks the state for a moment.
fn breathe(state: &mut MutexGuard<'_, State>) {
    MutexGuard::unlocked_fair(state, || std::thread::sleep(BREATH));
}
