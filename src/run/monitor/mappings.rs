//! Reads mappings beside the screen, since that may take seconds, and one process may be stuck for ever.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::Input;
use super::inspect::Inspector;
use crate::model::Identity;
use crate::sampler::Options;
use crate::sampler::mappings::scan;
use crate::tui::Event;
use crate::tui::event::Inspect;

/// Time between reports of progress: more are not seen.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The readers of mappings.
pub(super) struct Mappings {
    options: Options,
    /// The number of the scan that is wanted; 0 for none.
    current: Arc<AtomicU64>,
    inspector: Inspector,
}

impl Mappings {
    /// Creates readers that read nothing yet.
    pub(super) fn new(options: Options) -> Self {
        Self {
            inspector: Inspector::new(options.clone()),
            options,
            current: Arc::default(),
        }
    }

    /// Starts a scan, cancels the one before it, and sends what comes of it.
    pub(super) fn read(&self, number: u64, processes: Vec<Identity>, send: &SyncSender<Input>) {
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
                        let _ = to.try_send(Input::Event(Event::ScanProgress(number, done)));
                    }
                    ControlFlow::Continue(())
                });
                if current.load(Ordering::SeqCst) == number {
                    // Waits for a screen that is stuck; ends with it.
                    let _ = to.send(Input::Event(Event::ScanDone(number, Arc::new(found))));
                }
            });
        if let Err(error) = started {
            let _ = send.try_send(Input::Event(Event::ScanFailed(
                number,
                format!("mappings not read: {error}"),
            )));
        }
    }

    /// Reads the mappings of this process from now on, or of none.
    pub(super) fn inspect(&self, process: Option<Inspect>, send: &SyncSender<Input>) {
        self.inspector.turn_to(process, send);
    }

    /// Cancels the scan: what was read is not sent.
    pub(super) fn cancel(&self) {
        self.current.store(0, Ordering::SeqCst);
    }
}
