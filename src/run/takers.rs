//! Looks at the processes that take the memory while a limit is near, for the recording.
//!
//! Each look runs on a thread of its own, at the lowest priority, for a bounded time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use crate::engine::{State, Suspicion, Takers};
use crate::heaps;
use crate::model::taker::Taker;

/// Processor time after which a look gives up.
const LIMIT: Duration = Duration::from_millis(250);
/// Time for which snapshots have a look.
const KEPT: Duration = Duration::from_secs(60);
/// Maximum number of looks at once. A read may block for ever.
const MOST: usize = 2;
/// The lowest priority.
const NICE: i32 = 19;

#[derive(Default)]
pub(super) struct Looks {
    takers: Takers,
    found: Arc<Mutex<Vec<(Instant, Taker)>>>,
    running: Arc<AtomicUsize>,
}

impl Looks {
    /// Looks at what the last snapshot makes worth a look.
    pub(super) fn follow(&mut self, state: &State) {
        for suspicion in self.takers.of(state, std::process::id()) {
            self.begin(suspicion);
        }
    }

    fn begin(&self, Suspicion { id, comm, kept_by }: Suspicion) {
        if self.running.load(Ordering::Relaxed) >= MOST {
            return;
        }
        let (found, running) = (Arc::clone(&self.found), Arc::clone(&self.running));
        let look = move || {
            let _ = rustix::process::setpriority_process(None, NICE);
            let (memory, heap) = heaps::taken(Path::new("/proc"), id, LIMIT);
            let taker = Taker {
                id,
                comm,
                time: SystemTime::now(),
                memory,
                heap,
                kept_by,
            };
            found.lock().push((Instant::now(), taker));
            running.fetch_sub(1, Ordering::Relaxed);
        };
        self.running.fetch_add(1, Ordering::Relaxed);
        if std::thread::Builder::new()
            .name("zmtop-taker".into())
            .spawn(look)
            .is_err()
        {
            self.running.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns what was found within the last minute, for the next snapshot.
    pub(super) fn found(&self) -> Arc<[Taker]> {
        let mut found = self.found.lock();
        found.retain(|(at, _)| at.elapsed() < KEPT);
        found.iter().take(Taker::MOST).map(|(_, taker)| taker.clone()).collect()
    }
}
