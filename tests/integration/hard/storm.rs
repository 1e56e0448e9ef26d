//! Processes that start and end by the hundred beside it.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{quit, refreshes};
use crate::support::long;
use crate::support::pty::{PATIENCE, Pty};

#[test]
fn a_storm_of_processes() {
    let mut pty = Pty::zmtop((120, 40), &["--interval", "100ms"]);
    pty.wait_for_table();
    let started = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    let ended = Command::new("true").stdin(Stdio::null()).status().unwrap();
                    assert!(ended.success());
                    started.fetch_add(1, Ordering::Relaxed);
                    // 250 a second on each of two threads.
                    std::thread::sleep(Duration::from_millis(4).saturating_sub(began.elapsed()));
                }
            });
        }
        let _guard = Guard(&stop);
        // What is looked at meanwhile: order, tree, both tables, kernel threads; and back, each round.
        let lasts = Duration::from_secs(if long() { 5 } else { 2 });
        let start = Instant::now();
        let is_enough = || start.elapsed() >= lasts && started.load(Ordering::Relaxed) > 300;
        while !is_enough() {
            assert!(start.elapsed() < PATIENCE, "{started:?} processes are no storm");
            for keys in ["t", "G", "\x1b[F", "t", "I", "\x1b[H", "I", "v", "v", "K", "K"] {
                pty.send(keys);
                std::thread::sleep(Duration::from_millis(60));
            }
        }
    });
    // A panic would have ended it.
    refreshes(&mut pty, "5005.25");
    quit(&mut pty);
}

/// Ends the storm, even if what is done meanwhile panics.
struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
