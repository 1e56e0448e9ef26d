//! Waiting that ends at once, with all that was made cleaned up, when the bench is told to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};

static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Makes SIGINT and SIGTERM end the next [`pause`], no longer the process.
pub(crate) fn listen() {
    std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut interrupt = signal(SignalKind::interrupt()).unwrap();
            let mut terminate = signal(SignalKind::terminate()).unwrap();
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        IS_TOLD.store(true, Ordering::Relaxed);
    });
}

/// Sleeps. Panics when told to end, so that what drops cleans up.
pub(crate) fn pause(time: Duration) {
    let end = Instant::now() + time;
    loop {
        assert!(!IS_TOLD.load(Ordering::Relaxed), "told to end");
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(200)));
    }
}
