//! Feeds of the screen: typed input and notices of snapshots; and the tasks that pass snapshots to the engine.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::decoder::{Decoder, Typed};
use super::{End, Input, tell, terminal_gone};
use crate::alert::AlertEvent;
use crate::config::AlertSettings;
use crate::engine::{Engine, SharedState};
use crate::history::HistoryConfig;
use crate::model::{FleetStatus, Snapshot};
use crate::run::alert::Notifier;
use crate::run::terminal;
use crate::sampler::{self, Handle, Options, Wanted};
use crate::tui::Event;

/// Maximum wait of the first frame for the terminal to report its background, so that the colours do not change right
/// after. A local terminal answers within milliseconds. A later answer is still applied.
const BACKGROUND_WAIT: Duration = Duration::from_millis(100);

/// The ends of the channels between the monitor and the task that publishes a fleet's snapshots.
#[cfg_attr(not(feature = "network"), expect(dead_code, reason = "only the fleet uses it"))]
pub(in crate::run) struct Ends {
    pub(in crate::run) publish: Publish,
    pub(in crate::run) wanted: watch::Receiver<Wanted>,
    pub(in crate::run) state: SharedState,
    pub(in crate::run) history: HistoryConfig,
    /// Shows how the queries go.
    pub(in crate::run) tell: Box<dyn Fn(FleetStatus) + Send>,
}

type Publish = watch::Sender<Option<Arc<Snapshot>>>;

/// Starts the task. The monitor itself knows no network.
pub(in crate::run) type StartFleet = Box<dyn FnOnce(&Runtime, Ends)>;

/// The source of a fleet's snapshots, which starts once there is an engine. `None` for this machine, whose sampler runs
/// on its own.
pub(super) struct Feed(Option<(StartFleet, Publish, watch::Receiver<Wanted>)>);

/// Starts the sampler of this machine, or creates a stand-in for a fleet or for a recording, which publishes nothing.
pub(super) fn start(fleet: Option<StartFleet>, is_replay: bool, options: Options, runtime: &Runtime) -> (Handle, Feed) {
    if fleet.is_none() && !is_replay {
        return (sampler::spawn(options, runtime.handle()), Feed(None));
    }
    let (publish, snapshots) = watch::channel(None);
    let (wanted, changes) = watch::channel(Wanted::every(options.interval));
    let feed = Feed(fleet.map(|start| (start, publish, changes)));
    (Handle { snapshots, wanted }, feed)
}

impl Feed {
    pub(super) fn begin(self, runtime: &Runtime, engine: &Engine, history: HistoryConfig, send: &SyncSender<Input>) {
        let Some((start, publish, wanted)) = self.0 else { return };
        let send = send.clone();
        let ends = Ends {
            publish,
            wanted,
            state: engine.shared(),
            history,
            tell: Box::new(move |status| tell(&send, Event::Fleet(status))),
        };
        start(runtime, ends);
    }
}

/// Passes on typed input from its own thread, since a task would have to wait while a tick of the sampler occupies the
/// only worker. `is_awaiting` is true if the background was queried.
pub(super) fn events(send: &SyncSender<Input>, is_awaiting: bool) -> io::Result<()> {
    let send = send.clone();
    let keys = std::thread::Builder::new().name("zmtop-keys".into());
    keys.stack_size(256 << 10).spawn(move || {
        pass_on_events(&send, Decoder::new(is_awaiting));
        let _ = send.try_send(Input::End(End::Hangup));
    })?;
    Ok(())
}

fn pass_on_events(send: &SyncSender<Input>, mut decoder: Decoder) {
    let begun = Instant::now();
    let mut failures = 0;
    let mut buffer = [0; 4096];
    loop {
        let wait = decoder.deadline().map(|at| at.saturating_sub(begun.elapsed()));
        let typed = match terminal::read(&mut buffer, wait) {
            Ok(Some(read)) => decoder.feed(&buffer[..read], begun.elapsed()),
            Ok(None) => decoder.expire(begun.elapsed()),
            Err(error) => {
                tracing::warn!(%error, "reading the terminal failed");
                failures += 1;
                if failures > 100 || terminal_gone(&error) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        failures = 0;
        for typed in typed {
            let input = match typed {
                Typed::Key(key) => Input::Event(Event::Key(key)),
                Typed::Mouse(mouse) => Input::Event(Event::Mouse(mouse, begun.elapsed())),
                Typed::Paste(text) => Input::Event(Event::Paste(text)),
                Typed::IsLight(is_light) => Input::Background(is_light),
            };
            let _ = send.try_send(input);
        }
    }
}

/// If the background was queried, waits for the answer. Returns all inputs that arrived until then.
pub(super) fn until_background(inputs: &Receiver<Input>, is_asked: bool) -> Vec<Input> {
    let mut early = Vec::new();
    if !is_asked {
        return early;
    }
    let until = Instant::now() + BACKGROUND_WAIT;
    while let Ok(input) = inputs.recv_timeout(until.saturating_duration_since(Instant::now())) {
        let is_answer = matches!(input, Input::Background(_));
        early.push(input);
        if is_answer {
            break;
        }
    }
    early
}

/// Notices from the engine's thread to the screen. They do not accumulate if the screen is stuck.
#[derive(Debug, Default)]
pub(super) struct Notices {
    /// True while the notice of a new snapshot is queued among the inputs.
    pub(super) pending: AtomicBool,
    pub(super) bell: AtomicBool,
}

impl Notices {
    /// Wakes the screen. Queues at most one notice, as the screen reads the latest snapshot anyway.
    pub(super) fn wake(&self, send: &SyncSender<Input>) {
        if !self.pending.swap(true, Ordering::SeqCst) && send.try_send(Input::Snapshot).is_err() {
            self.pending.store(false, Ordering::SeqCst);
        }
    }
}

/// The notifier of alerts. It is one for the rules in force and for earlier ones, so that the events of an alert keep their order.
#[derive(Clone)]
pub(super) struct SharedNotifier {
    notifier: Arc<Notifier>,
    is_readonly: bool,
}

impl SharedNotifier {
    pub(super) fn new(is_readonly: bool, send: SyncSender<Input>) -> Self {
        let on_error = move |what| tell(&send, Event::Failed(what));
        Self {
            notifier: Arc::new(Notifier::new(Vec::new(), on_error)),
            is_readonly,
        }
    }

    /// Adds the settings of rules, by number.
    pub(super) fn add(&self, settings: impl IntoIterator<Item = (usize, AlertSettings)>) {
        self.notifier.add(settings.into_iter().map(|(number, mut rule)| {
            if self.is_readonly {
                // The other actions of a rule change nothing.
                rule.run.clear();
            }
            (number, rule)
        }));
    }
}

/// Returns the engine's callback for each snapshot. It notifies of alerts and wakes the screen.
pub(super) fn on_snapshot(
    shared: SharedNotifier,
    send: SyncSender<Input>,
    notices: Arc<Notices>,
) -> impl FnMut(&Arc<Snapshot>, &[AlertEvent]) + Send + 'static {
    move |snapshot, events| {
        for event in events {
            if shared.notifier.notify(event, &snapshot.host) {
                notices.bell.store(true, Ordering::SeqCst);
            }
        }
        notices.wake(&send);
    }
}
