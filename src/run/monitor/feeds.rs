//! The tasks that pass on to the screen what is typed, and to the engine what is seen.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::background::{AnswerPicker, Picked};
use super::{End, Input, tell, terminal_gone};
use crate::engine::Engine;
use crate::history::HistoryConfig;
use crate::model::Snapshot;
use crate::run::fleet::{self, Link};
use crate::run::terminal;
use crate::sampler::{self, Handle, Options, Wanted};
use crate::tui::Event;

/// Time for which the first frame waits for the terminal to tell its background, so that it does not change colours at
/// once: a terminal at hand answers within milliseconds. A later answer is heeded, too.
const BACKGROUND_WAIT: Duration = Duration::from_millis(100);

/// The source of a fleet's snapshots, which begins once there is an engine; nothing for this machine, whose sampler runs by
/// itself.
pub(super) struct Feed(Option<(Link, Publish, watch::Receiver<Wanted>)>);

type Publish = watch::Sender<Option<Arc<Snapshot>>>;

/// Starts the sampler, or makes what stands in for it.
pub(super) fn start(fleet: Option<Link>, options: Options, runtime: &Runtime) -> (Handle, Feed) {
    let Some(link) = fleet else {
        return (sampler::spawn(options, runtime.handle()), Feed(None));
    };
    let (publish, snapshots) = watch::channel(None);
    let (wanted, changes) = watch::channel(Wanted::every(options.interval));
    (Handle { snapshots, wanted }, Feed(Some((link, publish, changes))))
}

impl Feed {
    /// Begins to ask for the fleet.
    pub(super) fn begin(self, runtime: &Runtime, engine: &Engine, history: HistoryConfig, send: &SyncSender<Input>) {
        let Some((link, publish, wanted)) = self.0 else { return };
        let ends = fleet::Ends {
            publish,
            wanted,
            state: engine.shared(),
            history,
        };
        let send = send.clone();
        runtime.spawn(fleet::run(link, ends, move |status| {
            tell(&send, Event::Fleet(status));
        }));
    }
}

/// Passes on what is typed, on a thread of its own: a task would wait for the tick of the sampler that has its worker.
pub(super) fn events(send: &SyncSender<Input>) -> io::Result<()> {
    use crossterm::event::poll;
    // The reader of keys cannot be set up on a terminal that is gone. This sets it up.
    poll(Duration::ZERO).map_err(|error| {
        if terminal::is_hung_up(Duration::ZERO) {
            rustix::io::Errno::IO.into()
        } else {
            error
        }
    })?;
    let send = send.clone();
    let keys = std::thread::Builder::new().name("zmtop-keys".into());
    keys.stack_size(256 << 10).spawn(move || {
        pass_on_events(&send);
        let _ = send.try_send(Input::End(End::Hangup));
    })?;
    Ok(())
}

/// Passes on what is typed until the terminal is gone.
fn pass_on_events(send: &SyncSender<Input>) {
    use crossterm::event::{Event as Raw, read};
    let mut failures = 0;
    let begun = Instant::now();
    let mut answers = AnswerPicker::default();
    loop {
        let event = match read() {
            Ok(Raw::Key(key)) => {
                failures = 0;
                for input in inputs(answers.take(key)) {
                    let _ = send.try_send(input);
                }
                continue;
            }
            Ok(Raw::Mouse(mouse)) => Event::Mouse(mouse, begun.elapsed()),
            Ok(Raw::Paste(text)) => Event::Paste(text),
            Ok(Raw::Resize(width, height)) => Event::Resize(width, height),
            Ok(Raw::FocusGained | Raw::FocusLost) => continue,
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
        let _ = send.try_send(Input::Event(event));
    }
}

/// Returns what was typed, or told by the terminal, as inputs.
fn inputs(picked: Picked) -> Vec<Input> {
    match picked {
        Picked::Keys(keys) => keys.into_iter().map(|key| Input::Event(Event::Key(key))).collect(),
        Picked::IsLight(is_light) => vec![Input::Background(is_light)],
    }
}

/// Waits for the terminal to tell its background, if it was asked; returns all that came until then.
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
