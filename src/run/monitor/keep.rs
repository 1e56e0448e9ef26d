//! Keeps the history in the state folder, so that the next start shows the past at once.
//!
//! A thread of its own writes it every few minutes and in the end; the state is held only while it is made into bytes. A
//! disk that hangs stops nothing, and what cannot be kept is said once.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::Duration;

use super::{Input, tell};
use crate::config::{atomic, state};
use crate::engine::SharedState;
use crate::history::History;
use crate::history::kept::{self, Kept};
use crate::text;
use crate::tui::Event;

/// Time between two writes: all that a kill or a power failure loses.
const INTERVAL: Duration = Duration::from_secs(300);
/// Time that ending waits for the last write; with all that ends before, less than a second.
const DEADLINE: Duration = Duration::from_millis(500);

/// The place where the history is kept.
#[derive(Debug)]
pub(super) struct Keeper {
    file: PathBuf,
    namespaces: String,
    /// It was said that it cannot be kept, or what was kept not be read.
    is_told: bool,
}

/// The thread that writes. It ends once `stop` is dropped.
#[derive(Debug)]
pub(super) struct Running {
    stop: Sender<()>,
    /// The reason that the last write failed for, if that is new.
    failed: Receiver<String>,
}

impl Keeper {
    /// Goes on from what was kept. `None` where nothing can be kept, as it cannot be told what pids mean.
    pub(super) fn open(file: PathBuf, history: &mut History, send: &SyncSender<Input>) -> Option<Self> {
        let namespaces = namespaces()?;
        let read = state::read(&file, 2 * kept::MAX_BYTES as u64).and_then(|bytes| {
            let read = bytes.map(|bytes| Kept::read(&bytes, &namespaces));
            read.transpose().map(Option::flatten).map_err(io::Error::other)
        });
        let is_told = read.is_err();
        match read {
            Ok(Some(kept)) => history.resume(kept),
            Ok(None) => {}
            Err(error) => tell(send, Event::Failed(describe("history not read back", &file, &error))),
        }
        Some(Self {
            file,
            namespaces,
            is_told,
        })
    }

    /// Starts to keep the history of that state.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start(mut self, state: SharedState, send: SyncSender<Input>) -> io::Result<Running> {
        let (stop, stopped) = mpsc::channel::<()>();
        let (fail, failed) = mpsc::channel();
        std::thread::Builder::new().name("zmtop-keep".into()).spawn(move || {
            loop {
                let is_last = stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout);
                if let Err(error) = self.write(&state)
                    && !std::mem::replace(&mut self.is_told, true)
                {
                    let what = describe("history not kept", &self.file, &error);
                    tracing::warn!("{what}");
                    if is_last {
                        let _ = fail.send(what);
                    } else {
                        tell(&send, Event::Failed(what));
                    }
                }
                if is_last {
                    return;
                }
            }
        })?;
        Ok(Running { stop, failed })
    }

    fn write(&self, state: &SharedState) -> io::Result<()> {
        let state = state.lock();
        let snapshot = state.snapshot.as_ref();
        let kept = snapshot.and_then(|snapshot| state.history.keep(snapshot, &self.namespaces));
        drop(state);
        let Some(kept) = kept else { return Ok(()) };
        let bytes = kept::pack(&kept);
        atomic::replace(&self.file, |file| file.write_all(&bytes))
    }
}

impl Running {
    /// Has it written for the last time; returns what is to be said of that.
    pub(super) fn finish(self) -> Option<String> {
        drop(self.stop);
        self.failed.recv_timeout(DEADLINE).ok()
    }
}

/// Returns the namespaces that pids and clocks depend on; a kernel without time namespaces has none of these.
fn namespaces() -> Option<String> {
    let name = |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}"));
    let time = name("time").unwrap_or_default();
    Some(format!("{} {}", name("pid").ok()?.display(), time.display()))
}

fn describe(what: &str, file: &std::path::Path, error: &io::Error) -> String {
    let file = text::safe(file.as_os_str().as_encoded_bytes());
    let reason = error.to_string();
    format!("{what}: {file}: {}", text::safe(reason.as_bytes()))
}
