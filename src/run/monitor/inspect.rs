//! Reads the mappings of one process again and again beside the screen, at a bounded rate.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::{Duration, Instant};

use super::Input;
use crate::model::mapping::Mapping;
use crate::model::{Identity, Missing, Reading};
use crate::sampler::Options;
use crate::sampler::mappings::merged;
use crate::tui::Event;
use crate::tui::event::Inspect;

/// The least time between two reads of a process that somebody looks at, and of one that nobody looks at.
const WATCHED_INTERVAL: Duration = Duration::from_secs(5);
const UNWATCHED_INTERVAL: Duration = Duration::from_secs(15);
/// Multiple of a read's time for which none follows: less than a twentieth of a core, and for a process that nobody
/// looks at half a hundredth.
const WATCHED_REST: u32 = 20;
const UNWATCHED_REST: u32 = 200;
/// Time that a selection stays before it is read, so that running through a list reads nothing.
const SETTLE: Duration = Duration::from_millis(150);

/// A thread that reads the mappings of one process again and again.
pub(super) struct Inspector {
    options: Options,
    /// The way to the thread, which is started when there is something to read.
    requests: OnceCell<Sender<Option<Inspect>>>,
}

impl Inspector {
    /// Creates an inspector that reads nothing yet.
    pub(super) const fn new(options: Options) -> Self {
        Self {
            options,
            requests: OnceCell::new(),
        }
    }

    /// Reads this process from now on, or none, and sends what comes of it.
    pub(super) fn turn_to(&self, process: Option<Inspect>, send: &SyncSender<Input>) {
        if process.is_none() && self.requests.get().is_none() {
            return;
        }
        let requests = self.requests.get_or_init(|| {
            let (requests, inbox) = channel();
            let (options, to) = (self.options.clone(), send.clone());
            let work = move || work(&options, &inbox, &to);
            let started = std::thread::Builder::new().name("zmtop-inspect".into()).spawn(work);
            if let Err(error) = started {
                let text = format!("mappings not read: {error}");
                let _ = send.try_send(Input::Event(Event::Failed(text)));
            }
            requests
        });
        let _ = requests.send(process);
    }
}

fn work(options: &Options, inbox: &Receiver<Option<Inspect>>, send: &SyncSender<Input>) {
    let mut target: Option<Inspect> = None;
    // The earliest time of the next read of a process that is looked at, and of one that is not.
    let mut watched_from = Instant::now();
    let mut unwatched_from = watched_from;
    let mut next = watched_from;
    loop {
        let request = match target {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) => inbox.recv_timeout(next.saturating_duration_since(Instant::now())),
        };
        match (request, target) {
            (Ok(wanted), _) => {
                target = wanted;
                let closely = wanted.is_none_or(|inspect| inspect.closely);
                next = watched_from.max(Instant::now() + SETTLE);
                if !closely {
                    next = next.max(unwatched_from);
                }
            }
            (Err(RecvTimeoutError::Timeout), Some(Inspect { id, closely })) => {
                let began = Instant::now();
                let read = read(options, id);
                let took = began.elapsed();
                let now = began + took;
                watched_from = now + took.saturating_mul(WATCHED_REST);
                unwatched_from = now + UNWATCHED_INTERVAL.max(took.saturating_mul(UNWATCHED_REST));
                next = if closely {
                    watched_from.max(now + WATCHED_INTERVAL)
                } else {
                    unwatched_from
                };
                // Waits for a screen that is stuck; ends with it.
                let event = Event::Inspected(id, Arc::new(read));
                if send.send(Input::Event(event)).is_err() {
                    return;
                }
            }
            (Err(RecvTimeoutError::Timeout), None) => {}
            (Err(RecvTimeoutError::Disconnected), _) => return,
        }
    }
}

/// Reads the mappings of that process; it is gone where another has its id.
pub(super) fn read(options: &Options, id: Identity) -> Reading<Vec<Mapping>> {
    let found = merged(options, &[id.pid]).pop().unwrap_or(Err(Missing::Gone))?;
    if found.starttime == id.starttime {
        Ok(found.what)
    } else {
        Err(Missing::Gone)
    }
}
