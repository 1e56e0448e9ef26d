//! Reads heaps and mappings of the processes that use up the memory while a limit is near, for the recording.
//!
//! Each read of a process runs on its own thread, at the lowest priority, for a bounded time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use crate::engine::{State, Suspicion, Takers};
use crate::heaps;
use crate::model::taker::{MappingUse, Taker};
use crate::model::{Identity, Missing, Reading};
use crate::sampler::{Options, mappings};

/// Processor time after which a read gives up.
const LIMIT: Duration = Duration::from_secs(1);
/// The memory of a process above which its mappings are not read: the kernel walks 1 GB in 20 ms.
const MAX_WALKED: u64 = 16 << 30;
/// Time for which snapshots contain the result of a read.
const KEPT: Duration = Duration::from_secs(60);
/// Maximum number of reads at once. A read may block for ever.
const MOST: usize = 4;
/// The lowest priority.
const NICE: i32 = 19;

#[derive(Default)]
pub(super) struct Looks {
    takers: Takers,
    found: Arc<Mutex<Vec<(Instant, Taker)>>>,
    running: Arc<AtomicUsize>,
}

impl Looks {
    /// Starts to read the processes that are suspects since the last snapshot.
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
                mappings: memory.and_then(|memory| largest(id, memory)),
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

    /// Returns the results of the last minute, for the next snapshot.
    pub(super) fn found(&self) -> Arc<[Taker]> {
        let mut found = self.found.lock();
        found.retain(|(at, _)| at.elapsed() < KEPT);
        found.iter().take(Taker::MOST).map(|(_, taker)| taker.clone()).collect()
    }
}

/// Returns the largest mappings of a process that has so much memory.
fn largest(id: Identity, memory: u64) -> Reading<Vec<MappingUse>> {
    if memory > MAX_WALKED {
        return Err(Missing::NotAsked);
    }
    let found = mappings::merged(&Options::new(None), &[id.pid])
        .pop()
        .ok_or(Missing::Pending)??;
    if found.starttime != id.starttime {
        return Err(Missing::Gone);
    }
    let mut all: Vec<MappingUse> = Vec::new();
    for mapping in found.what {
        let memory = mapping.memory?;
        all.push(MappingUse {
            name: (*mapping.name.bytes).into(),
            bytes: memory.pss.saturating_add(memory.swap_pss.unwrap_or(0)),
        });
    }
    all.sort_by_key(|mapping| std::cmp::Reverse(mapping.bytes));
    all.truncate(Taker::MAPPINGS);
    all.retain(|mapping| mapping.bytes > 0);
    Ok(all)
}
