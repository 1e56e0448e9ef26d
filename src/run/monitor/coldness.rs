//! Looks, again and again, at what processes touched since their referenced bits were cleared, at a bounded rate.

use std::cell::OnceCell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::{Duration, Instant};

use super::Input;
use super::inspect::read;
use crate::history::coldness::{Coldness, Look};
use crate::sampler::Options;
use crate::tui::Event;

/// Multiple of a read's time for which the process is not read again: half a hundredth of a core for each.
const REST: u32 = 200;

/// A thread that looks at processes in turn.
pub(super) struct Looker {
    options: Options,
    /// The time from the clearing to the first look, and between two looks.
    interval: Duration,
    /// The way to the thread, which is started when there is something to look at.
    requests: OnceCell<Sender<(Vec<Look>, Instant)>>,
}

impl Looker {
    /// Creates one that looks at nothing yet.
    pub(super) const fn new(options: Options, interval: Duration) -> Self {
        Self {
            options,
            interval,
            requests: OnceCell::new(),
        }
    }

    /// Looks at these processes from now on. What is new among them was cleared before now, so no time is claimed that
    /// was not waited.
    pub(super) fn turn_to(&self, looks: Vec<Look>, send: &SyncSender<Input>) {
        let requests = self.requests.get_or_init(|| {
            let (requests, inbox) = channel();
            let (options, interval, to) = (self.options.clone(), self.interval, send.clone());
            let work = move || work(&options, interval, &inbox, &to);
            let started = std::thread::Builder::new().name("zmtop-coldness".into()).spawn(work);
            if let Err(error) = started {
                let text = format!("cannot look at what is touched: {error}");
                let _ = send.try_send(Input::Event(Event::Failed(text)));
            }
            requests
        });
        let _ = requests.send((looks, Instant::now()));
    }
}

/// A process that is looked at.
struct Watched {
    look: Look,
    cleared: Instant,
    next: Instant,
}

fn work(options: &Options, interval: Duration, inbox: &Receiver<(Vec<Look>, Instant)>, send: &SyncSender<Input>) {
    let mut watched: Vec<Watched> = Vec::new();
    loop {
        let next = watched.iter().map(|watched| watched.next).min();
        let request = match next {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(next) => inbox.recv_timeout(next.saturating_duration_since(Instant::now())),
        };
        match request {
            Ok((looks, now)) => {
                let known = std::mem::take(&mut watched);
                let mut known: Vec<Option<Watched>> = known.into_iter().map(Some).collect();
                watched.extend(looks.into_iter().map(|look| {
                    let old = known
                        .iter_mut()
                        .find(|old| old.as_ref().is_some_and(|old| old.look == look));
                    old.and_then(Option::take).unwrap_or(Watched {
                        look,
                        cleared: now,
                        next: now + interval,
                    })
                }));
            }
            Err(RecvTimeoutError::Timeout) => {
                let Some(due) = watched.iter_mut().min_by_key(|watched| watched.next) else {
                    continue;
                };
                let began = Instant::now();
                // What is not noted by now was not touched until now.
                let since = began.saturating_duration_since(due.cleared);
                let found = read(options, due.look.id).map(|mappings| Coldness::new(&mappings, since));
                let took = began.elapsed();
                due.next = began + took + interval.max(took.saturating_mul(REST));
                // Waits for a screen that is stuck; ends with it.
                if send.send(Input::Event(Event::Looked(due.look, found))).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
