//! Unrelated programs that come and go beside the test.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Short programs, one after another. It ends when dropped.
pub(super) struct Churn {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Churn {
    /// Starts so many each second, as far as the machine can.
    pub(super) fn start(rate: u32) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let ask = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut next = Instant::now();
            while !ask.load(Ordering::Relaxed) {
                let mut program = Command::new("/bin/true");
                let _ = program.stdin(Stdio::null()).status();
                // No more at once where the machine could not keep up.
                next = (next + Duration::from_secs(1) / rate).max(Instant::now());
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
