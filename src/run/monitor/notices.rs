//! The notices that the engine's thread gives of each snapshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use super::Input;
use crate::alert::AlertEvent;
use crate::model::Snapshot;
use crate::run::alert::Notifier;
use crate::run::heap::GiveBack;

/// Notices that the engine's thread leaves for the screen, however long that is stuck.
#[derive(Debug, Default)]
pub(super) struct Notices {
    /// A notice of a new snapshot waits among the inputs.
    pub(super) pending: AtomicBool,
    /// The next frame comes with a bell.
    pub(super) bell: AtomicBool,
}

/// Returns what the engine's thread does after each snapshot: it notifies of alerts, and wakes the screen.
pub(super) fn on_snapshot(
    notifier: Notifier,
    send: SyncSender<Input>,
    notices: Arc<Notices>,
) -> impl FnMut(&Snapshot, &[AlertEvent]) + Send + 'static {
    let mut memory = GiveBack::default();
    move |snapshot, events| {
        memory.count(snapshot.rows().len(), snapshot.monotonic);
        for event in events {
            if notifier.notify(event, &snapshot.host) {
                notices.bell.store(true, Ordering::SeqCst);
            }
        }
        // The latest wins: at most one notice waits.
        if !notices.pending.swap(true, Ordering::SeqCst) && send.try_send(Input::Snapshot).is_err() {
            notices.pending.store(false, Ordering::SeqCst);
        }
    }
}
