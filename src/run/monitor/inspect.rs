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

/// The least time between two readings of a process that is looked at, and between two of those that are not.
const EVERY: Duration = Duration::from_secs(5);
const SELDOM: Duration = Duration::from_secs(15);
/// After a reading none for so many times as long as it took: less than the twentieth part of a core, and of a
/// process that nobody looks at half a hundredth.
const REST: u32 = 20;
const LONG_REST: u32 = 200;
/// How long a selection stays before it is read: who runs through a list reads nothing.
const SETTLE: Duration = Duration::from_millis(150);

/// Who reads.
pub(super) struct Inspector {
    options: Options,
    /// To the thread, which is started when there is something to read.
    orders: OnceCell<Sender<Option<Inspect>>>,
}

impl Inspector {
    /// Reads nothing yet.
    pub(super) const fn new(options: Options) -> Self {
        Self {
            options,
            orders: OnceCell::new(),
        }
    }

    /// Reads this process from now on, or none; what comes of it is sent.
    pub(super) fn turn_to(&self, process: Option<Inspect>, send: &SyncSender<Input>) {
        if process.is_none() && self.orders.get().is_none() {
            return;
        }
        let orders = self.orders.get_or_init(|| {
            let (orders, inbox) = channel();
            let (options, to) = (self.options.clone(), send.clone());
            let work = move || work(&options, &inbox, &to);
            let started = std::thread::Builder::new().name("zmtop-inspect".into()).spawn(work);
            if let Err(error) = started {
                let text = format!("mappings not read: {error}");
                let _ = send.try_send(Input::Event(Event::Failed(text)));
            }
            orders
        });
        let _ = orders.send(process);
    }
}

fn work(options: &Options, inbox: &Receiver<Option<Inspect>>, send: &SyncSender<Input>) {
    let mut target: Option<Inspect> = None;
    // When the next may be read: one that is looked at, and one that is not.
    let mut rested = Instant::now();
    let mut seldom = rested;
    let mut due = rested;
    loop {
        let order = match target {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) => inbox.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match (order, target) {
            (Ok(wanted), _) => {
                target = wanted;
                let closely = wanted.is_none_or(|inspect| inspect.closely);
                due = rested.max(Instant::now() + SETTLE);
                if !closely {
                    due = due.max(seldom);
                }
            }
            (Err(RecvTimeoutError::Timeout), Some(Inspect { id, closely })) => {
                let began = Instant::now();
                let read = read(options, id);
                let took = began.elapsed();
                let now = began + took;
                rested = now + took.saturating_mul(REST);
                seldom = (now + SELDOM).max(now + took.saturating_mul(LONG_REST));
                due = if closely { rested.max(now + EVERY) } else { seldom };
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

/// The mappings of that process; it is gone where another has its id.
fn read(options: &Options, id: Identity) -> Reading<Vec<Mapping>> {
    let found = merged(options, &[id.pid]).pop().unwrap_or(Err(Missing::Gone))?;
    if found.starttime == id.starttime {
        Ok(found.what)
    } else {
        Err(Missing::Gone)
    }
}
