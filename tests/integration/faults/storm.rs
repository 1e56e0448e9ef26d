//! Processes that start and end faster than they are read.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zmtop::history::History;
use zmtop::model::Missing;
use zmtop::sampler::{Options, Scanner};

use crate::support::pty::PATIENCE;
use crate::support::{block_on, long};

#[test]
fn a_storm_of_processes() {
    let lasts = Duration::from_secs(if long() { 3 } else { 1 });
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for word in ["alpha", "beta"] {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let child = Command::new("/bin/true").arg(word).stdin(Stdio::null()).status();
                    assert!(child.unwrap().success());
                }
            });
        }
        // Stops the storm even if the watching panics.
        let guard = Guard(&stop);
        block_on(watch(lasts));
        drop(guard);
    });
}

struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Every row must be of one process: who once had an identity keeps its parent and user, and the history
/// holds no more than is listed.
async fn watch(lasts: Duration) {
    let mut scanner = Scanner::new(&Options::new(None));
    let mut history = History::new(Duration::from_secs(10));
    let mut seen = HashMap::new();
    let mut gone = 0;
    let began = Instant::now();
    // On a busy machine few of them happen to be looked at: then for longer.
    let unseen = |seen: &HashMap<_, _>, gone| seen.is_empty() && gone == 0 && began.elapsed() < PATIENCE;
    while began.elapsed() < lasts || unseen(&seen, gone) {
        let snapshot = scanner.tick().await;
        history.push(&snapshot);
        assert_eq!(history.len(), snapshot.rows().len());
        let mut last = 0;
        for r in snapshot.rows() {
            assert!(r.id.pid > last, "each pid once, in order");
            last = r.id.pid;
            let memory = r.walk.map(|w| w.memory);
            gone += usize::from(memory == Err(Missing::Gone));
            assert!(
                !matches!(memory, Err(Missing::Malformed | Missing::Unsupported)),
                "{r:?}"
            );
            if let Ok(m) = memory {
                assert!(m.pss <= m.rss + m.rss / 1000 + 4096, "{r:?}");
            }
            if r.stat.is_kernel_thread() {
                continue;
            }
            // A child of this test says which word it was given once it has made its exec.
            if let Ok(line) = &r.facts.cmdline
                && line.starts_with(b"/bin/true\0")
            {
                let word = seen.entry(r.id).or_insert_with(|| line.clone());
                assert_eq!(word, line);
            }
        }
    }
    assert!(!seen.is_empty() || gone > 0, "the storm was not seen at all");
}
