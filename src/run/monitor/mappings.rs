//! Reads mappings without blocking the screen. Each kind of request has its own thread, because a read may take seconds or
//! never return.

use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::time::{Duration, Instant};

use super::{Input, tell};
use crate::history::mappings::{Coldness, Look};
use crate::model::mapping::Mapping;
use crate::model::{Identity, Missing, Reading};
use crate::sampler::Options;
use crate::sampler::mappings::{merged, scan};
use crate::tui::Event;
use crate::tui::event::Inspect;

/// Minimum time between progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Mappings {
    options: Options,
    /// The time from clearing referenced bits to the first check of a process, and between two checks.
    cold_interval: Duration,
    /// The number of the current scan; 0 for none.
    current: Arc<AtomicU64>,
    inspector: Worker<Option<Inspect>>,
    looker: Worker<(Vec<Look>, Instant)>,
}

impl Mappings {
    pub(super) fn new(options: Options, cold_interval: Duration) -> Self {
        Self {
            options,
            cold_interval,
            current: Arc::default(),
            inspector: Worker("zmtop-inspect", OnceCell::new()),
            looker: Worker("zmtop-coldness", OnceCell::new()),
        }
    }

    pub(super) const fn options(&self) -> &Options {
        &self.options
    }

    /// Starts a scan and sends its results. Cancels the previous scan.
    pub(super) fn scan(&self, number: u64, processes: Vec<Identity>, send: &SyncSender<Input>) {
        self.current.store(number, Ordering::SeqCst);
        let (options, current, to) = (self.options.clone(), self.current.clone(), send.clone());
        let started = std::thread::Builder::new()
            .name("zmtop-mappings".into())
            .spawn(move || {
                let mut reported = Instant::now();
                let found = scan(&options, &processes, |done, _| {
                    if current.load(Ordering::SeqCst) != number {
                        return ControlFlow::Break(());
                    }
                    if reported.elapsed() >= PROGRESS_INTERVAL {
                        reported = Instant::now();
                        tell(&to, Event::ScanProgress(number, done));
                    }
                    ControlFlow::Continue(())
                });
                if current.load(Ordering::SeqCst) == number {
                    // Waits while the screen is stuck. Ends with it.
                    let _ = to.send(Input::Event(Event::ScanDone(number, Arc::new(found))));
                }
            });
        if let Err(error) = started {
            tell(send, Event::ScanFailed(number, format!("mappings not read: {error}")));
        }
    }

    /// Reads the mappings of this process repeatedly, or of none. Sends each result.
    pub(super) fn inspect(&self, process: Option<Inspect>, send: &SyncSender<Input>) {
        let options = self.options.clone();
        self.inspector
            .request(process, send, move |inbox, to| inspect(&options, inbox, to));
    }

    /// Checks which memory of these processes is cold, in turn. The time of new ones counts from this call, which is after
    /// they were cleared, so that the reported time is never too long.
    pub(super) fn look(&self, looks: Vec<Look>, send: &SyncSender<Input>) {
        let (options, interval) = (self.options.clone(), self.cold_interval);
        self.looker.request((looks, Instant::now()), send, move |inbox, to| {
            look(&options, interval, inbox, to);
        });
    }

    /// Cancels the scan. Nothing read by it is sent.
    pub(super) fn cancel(&self) {
        self.current.store(0, Ordering::SeqCst);
    }
}

/// Minimum time between two reads of a process that is on display, and of one that is not.
const WATCHED_INTERVAL: Duration = Duration::from_secs(5);
const UNWATCHED_INTERVAL: Duration = Duration::from_secs(15);
/// Pause after a read, as a multiple of its duration: at most 5 % of a core, and 0.5 % for a process that is not on
/// display. Others may be read meanwhile.
const WATCHED_REST: u32 = 20;
const UNWATCHED_REST: u32 = 200;
/// A selection is read after it has stayed for this long, so that scrolling through a list reads nothing.
const SETTLE: Duration = Duration::from_millis(150);

/// A named thread that is started by its first request.
struct Worker<T>(&'static str, OnceCell<Sender<T>>);

impl<T: Send + 'static> Worker<T> {
    fn request(
        &self,
        request: T,
        send: &SyncSender<Input>,
        work: impl FnOnce(&Receiver<T>, &SyncSender<Input>) + Send + 'static,
    ) {
        let requests = self.1.get_or_init(|| {
            let (requests, inbox) = channel();
            let to = send.clone();
            let thread = std::thread::Builder::new().name(self.0.into());
            if let Err(error) = thread.spawn(move || work(&inbox, &to)) {
                tell(send, Event::Failed(format!("mappings not read: {error}")));
            }
            requests
        });
        let _ = requests.send(request);
    }
}

fn inspect(options: &Options, inbox: &Receiver<Option<Inspect>>, send: &SyncSender<Input>) {
    let mut target: Option<Inspect> = None;
    // The earliest time of the next read: of a process on display, of another, and of the last one while it is not on display.
    let mut watched_from = Instant::now();
    let mut unwatched_from = watched_from;
    let mut rests: Option<(Identity, Instant)> = None;
    let mut next = watched_from;
    loop {
        let request = match target {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(_) => inbox.recv_timeout(next.saturating_duration_since(Instant::now())),
        };
        match (request, target) {
            (Ok(wanted), _) => {
                target = wanted;
                next = watched_from.max(Instant::now() + SETTLE);
                if let Some(Inspect { id, closely: false }) = wanted {
                    let rested = rests.filter(|(last, _)| *last == id).map_or(next, |(_, until)| until);
                    next = next.max(unwatched_from).max(rested);
                }
            }
            (Err(RecvTimeoutError::Timeout), Some(Inspect { id, closely })) => {
                let began = Instant::now();
                let read = read(options, id);
                let took = began.elapsed();
                let now = began + took;
                watched_from = now + took.saturating_mul(WATCHED_REST);
                unwatched_from = now + UNWATCHED_INTERVAL;
                let rested = now + took.saturating_mul(UNWATCHED_REST);
                rests = Some((id, rested));
                next = if closely {
                    watched_from.max(now + WATCHED_INTERVAL)
                } else {
                    unwatched_from.max(rested)
                };
                // Waits while the screen is stuck. Ends with it.
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

/// Reads the mappings of that process. It counts as gone if its pid was reused.
fn read(options: &Options, id: Identity) -> Reading<Vec<Mapping>> {
    let found = merged(options, &[id.pid]).pop().unwrap_or(Err(Missing::Gone))?;
    (found.starttime == id.starttime)
        .then_some(found.what)
        .ok_or(Missing::Gone)
}

/// Pause before a process is read again, as a multiple of the read's duration: at most 0.5 % of a core each.
const LOOK_REST: u32 = 200;

struct Watched {
    look: Look,
    cleared: Instant,
    next: Instant,
}

fn look(options: &Options, interval: Duration, inbox: &Receiver<(Vec<Look>, Instant)>, send: &SyncSender<Input>) {
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
                // Pages without a referenced bit at this moment were not touched until now.
                let since = began.saturating_duration_since(due.cleared);
                let found = read(options, due.look.id).map(|mappings| Coldness::new(&mappings, since));
                let took = began.elapsed();
                due.next = began + took + interval.max(took.saturating_mul(LOOK_REST));
                // Waits while the screen is stuck. Ends with it.
                if send.send(Input::Event(Event::Looked(due.look, found))).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
