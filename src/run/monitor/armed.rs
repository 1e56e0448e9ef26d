//! Samples the page faults of growing processes, so that the code that keeps their memory is known before a leak verdict.
//!
//! Each is sampled by `zmtop callers --armed` in a process of its own, as [`measurer`](super::measurer) does for the screen. That
//! process bounds its own cost. The result goes to the history, which keeps it, and to the screen.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::Input;
use super::measurer::{Running, start};
use crate::call_tree::{KeptBy, Measured};
use crate::engine::{Sampled, SharedState};
use crate::model::Identity;
use crate::tui::Event;

/// Maximum time of one measurement, after which another one begins.
const LONGEST: &str = "24h";
/// A measurement that ended earlier is not repeated: it was not allowed, or failed.
const REPEATED: Duration = Duration::from_secs(3600);
/// The most processes that are remembered as not to be sampled, or as sampled.
const MAX_REFUSED: usize = 256;

/// The processes that are sampled.
pub(super) struct Armed {
    /// Maximum number at once, by the settings.
    most: Arc<AtomicU16>,
    running: Vec<Sampling>,
    /// Processes that could not be sampled. They are not tried again.
    refused: VecDeque<Identity>,
    /// Processes whose measurement ended. Others that grow are sampled before them.
    sampled: VecDeque<Identity>,
    send: SyncSender<Input>,
}

struct Sampling {
    id: Identity,
    since: Instant,
    is_over: Arc<AtomicBool>,
    _process: Running,
}

impl Armed {
    pub(super) const fn new(most: Arc<AtomicU16>, send: SyncSender<Input>) -> Self {
        Self {
            most,
            running: Vec::new(),
            refused: VecDeque::new(),
            sampled: VecDeque::new(),
            send,
        }
    }

    /// Starts and ends measurements by the suspects of the last snapshot.
    pub(super) fn follow(&mut self, shared: &SharedState) {
        let most = usize::from(self.most.load(Ordering::Relaxed));
        if most == 0 && self.running.is_empty() {
            return;
        }
        for over in self.running.extract_if(.., |one| one.is_over.load(Ordering::Acquire)) {
            if over.since.elapsed() < REPEATED {
                remember(&mut self.refused, over.id);
            }
        }
        let sampled = |one: &Sampling| Sampled {
            id: one.id,
            lasted: one.since.elapsed(),
        };
        let running: Vec<_> = self.running.iter().map(sampled).collect();
        let refused = |id| self.refused.contains(&id);
        let was_sampled = |id| self.sampled.contains(&id);
        let chosen = shared
            .lock()
            .to_sample(std::process::id(), most, &running, refused, was_sampled);
        for ended in self.running.extract_if(.., |one| !chosen.contains(&one.id)) {
            remember(&mut self.sampled, ended.id);
        }
        for id in chosen {
            if self.running.iter().all(|one| one.id != id) {
                self.start(id, shared);
            }
        }
    }

    fn start(&mut self, id: Identity, shared: &SharedState) {
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, shared, send) = (Arc::clone(&is_over), Arc::clone(shared), self.send.clone());
        let each = move |found: Result<Measured, _>| {
            let Ok(measured) = found else {
                over.store(true, Ordering::Release);
                return false;
            };
            match KeptBy::of(&measured) {
                Some(kept_by) => shared.lock().history.set_kept_by(id, Arc::new(kept_by)),
                None if measured.keeps_mostly_old() => shared.lock().history.forget_kept_by(id),
                None => {}
            }
            // Waits while the screen is stuck, and ends with it.
            send.send(Input::Event(Event::Armed(id, Arc::new(measured)))).is_ok()
        };
        match start(id, &["--armed", "--for", LONGEST], each) {
            Ok(process) => self.running.push(Sampling {
                id,
                since: Instant::now(),
                is_over,
                _process: process,
            }),
            Err(_) => remember(&mut self.refused, id),
        }
    }
}

/// Adds a process, the oldest of which is forgotten if there are too many.
fn remember(processes: &mut VecDeque<Identity>, id: Identity) {
    processes.truncate(MAX_REFUSED - 1);
    processes.push_front(id);
}
