//! The messages of `zmtop serve` and `zmtop record` while they run. A separate thread writes them to stderr: if nobody reads
//! stderr, such as a full pipe or a terminal that was stopped with Ctrl-S, a write blocks.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::Mutex;

/// Maximum number of messages that wait. Further ones are dropped.
const QUEUE: usize = 64;
/// Maximum time that the end waits for stderr.
const END: Duration = Duration::from_secs(2);

/// The queue of the thread, while there is one.
static MESSAGES: Mutex<Option<SyncSender<String>>> = Mutex::new(None);

/// While it exists, [`complain`](super::complain) never blocks. Dropping it waits for the messages, at most two seconds.
pub(super) struct Messages(Receiver<()>);

impl Messages {
    /// Starts the thread. Fails if it cannot be started.
    pub(super) fn start() -> io::Result<Self> {
        let (queue, messages) = sync_channel::<String>(QUEUE);
        let (end, done) = sync_channel(0);
        std::thread::Builder::new().name("zmtop-stderr".into()).spawn(move || {
            for message in messages {
                let _ = io::stderr().write_all(message.as_bytes());
            }
            drop::<SyncSender<()>>(end);
        })?;
        *MESSAGES.lock() = Some(queue);
        Ok(Self(done))
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        drop(MESSAGES.lock().take());
        // It returns early if the thread ends.
        let _ = self.0.recv_timeout(END);
    }
}

/// Writes a message, or leaves that to the thread.
pub(super) fn write(message: String) {
    let queue = MESSAGES.lock().clone();
    if let Some(queue) = queue {
        let _ = queue.try_send(message);
    } else {
        let _ = io::stderr().write_all(message.as_bytes());
    }
}
