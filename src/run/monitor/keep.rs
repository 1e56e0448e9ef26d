//! The writes that must finish before zmtop ends: settings saved with `W`, and the history.
//!
//! The history is kept in the folder of the black box, so that the next start shows the past at once.
//!
//! A separate thread writes it every minute, within seconds of a new verdict of growth, and at the end. So a command that runs
//! once, such as `zmtop leaks`, finds the leaks that the screen shows. The thread holds the state only while serializing it, so a
//! hanging disk blocks nothing. A failure is reported once.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::{Duration, Instant};

use super::{Input, tell};
use crate::config::{Env, atomic, state};
use crate::engine::SharedState;
use crate::history::History;
use crate::history::kept;
use crate::record;
use crate::run::past::{self, namespaces};
use crate::run::terminal;
use crate::text;
use crate::trend::Verdict;
use crate::tui::Event;

/// Interval between writes. At most this much history is lost by a kill or a power failure.
const INTERVAL: Duration = Duration::from_secs(60);
/// Minimum time between two writes if a leak was found or has ended.
const LEAK_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum time between two writes if other growth was found or has ended. Builds and the like grow all the time.
const GROWTH_INTERVAL: Duration = Duration::from_secs(20);

/// The place where the history is kept, and whether a failure was reported.
#[derive(Debug)]
pub(super) struct Keeper {
    file: PathBuf,
    env: Env,
    namespaces: String,
    /// True if a failure to write or read the history was already reported.
    is_reported: bool,
}

impl Keeper {
    /// Resumes the history from the file. Adds problems to `warnings`. `None` if no history can be kept, because the
    /// namespace of the pids is unknown.
    pub(super) fn open(file: PathBuf, env: &Env, history: &mut History, warnings: &mut Vec<String>) -> Option<Self> {
        let namespaces = namespaces()
            .map_err(|error| warnings.push(format!("nothing is kept: /proc/self/ns/pid: {error}")))
            .ok()?;
        let mut keeper = Self {
            file,
            env: env.clone(),
            namespaces,
            is_reported: false,
        };
        let file = text::safe(keeper.file.as_os_str().as_encoded_bytes());
        match keeper.read() {
            Err(error) => {
                let reason = error.to_string();
                let reason = text::safe(reason.as_bytes());
                warnings.push(format!("nothing is kept: {file}: {reason}; it is left alone"));
                keeper.is_reported = true;
            }
            Ok(bytes) => match bytes.map(|bytes| past::unpack(&bytes, &keeper.namespaces)).transpose() {
                Err(why) => warnings.push(format!("history not loaded: {file}: {why}")),
                Ok(kept) => kept.flatten().into_iter().for_each(|kept| history.resume(kept)),
            },
        }
        Some(keeper)
    }

    /// Reads the file; `None` if it does not exist or is empty. It may be damaged, or of another version.
    ///
    /// # Errors
    /// The file must not be overwritten: it cannot be read, is not trusted, or is not a history.
    fn read(&self) -> io::Result<Option<Vec<u8>>> {
        state::check(&self.file)?;
        // A write that a full disk cut off may leave an empty file.
        let bytes = state::read(&self.file, kept::MAX_BYTES as u64)?.filter(|bytes| !bytes.is_empty());
        if bytes.as_ref().is_some_and(|bytes| !record::is_history(bytes)) {
            return Err(io::Error::other("is not a history of zmtop"));
        }
        Ok(bytes)
    }

    /// Starts a thread that keeps the history of that state. Dropping the returned sender triggers the last write.
    pub(super) fn start(
        mut self,
        state: SharedState,
        send: SyncSender<Input>,
        last: Sender<String>,
    ) -> io::Result<Sender<()>> {
        let (stop, stopped) = mpsc::channel::<()>();
        std::thread::Builder::new().name("zmtop-keep".into()).spawn(move || {
            let (mut written, mut verdicts) = (Instant::now(), HashSet::new());
            loop {
                let is_last = stopped.recv_timeout(LEAK_INTERVAL) != Err(RecvTimeoutError::Timeout);
                let current = state.lock().growth_verdicts();
                let changed = current.symmetric_difference(&verdicts).map(|(_, verdict)| *verdict);
                let interval = match changed.max() {
                    None => INTERVAL,
                    Some(Verdict::Leaking) => LEAK_INTERVAL,
                    Some(_) => GROWTH_INTERVAL,
                };
                if !is_last && written.elapsed() < interval {
                    continue;
                }
                (written, verdicts) = (Instant::now(), current);
                if let Err(error) = self.write(&state)
                    && !std::mem::replace(&mut self.is_reported, true)
                {
                    let file = text::safe(self.file.as_os_str().as_encoded_bytes());
                    let reason = error.to_string();
                    let what = format!("history not kept: {file}: {}", text::safe(reason.as_bytes()));
                    tracing::warn!("{what}");
                    if is_last {
                        // Sending fails only if the receiver has stopped waiting.
                        let _ = last.send(what);
                    } else {
                        tell(&send, Event::Failed(what));
                    }
                }
                if is_last {
                    return;
                }
            }
        })?;
        Ok(stop)
    }

    fn write(&self, state: &SharedState) -> io::Result<()> {
        let state = state.lock();
        let snapshot = state.snapshot.as_ref();
        let kept = snapshot.and_then(|snapshot| state.history.keep(snapshot, &self.namespaces));
        drop(state);
        let Some(kept) = kept else { return Ok(()) };
        let bytes = record::pack_history(&kept)?;
        if let Some(why) = state::missing_home(&self.env, &self.file) {
            return Err(io::Error::other(why));
        }
        // Check again: meanwhile something else may have written its own file there.
        self.read()?;
        atomic::replace(&self.file, |file| file.write_all(&bytes))
    }
}

/// Maximum time to wait without a message.
const SILENCE: Duration = Duration::from_millis(500);
/// Maximum time to wait in total.
const DEADLINE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Awaited {
    name: &'static str,
    /// The message if it takes too long.
    lost: &'static str,
    /// Receives failures, safe to print. Each pending write has a sender, and drops it when finished.
    failures: Receiver<String>,
}

impl Awaited {
    pub(super) fn new(name: &'static str, lost: &'static str) -> (Sender<String>, Self) {
        let (send, failures) = mpsc::channel();
        (send, Self { name, lost, failures })
    }

    /// Waits for the writes and reports failures. Returns false if they have not finished by `until`.
    fn wait(&self, until: Instant) -> bool {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.failures.recv_timeout(left) {
                Ok(what) => terminal::complain(&what),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }
}

/// Waits until all writes have finished or the deadline is over. Reports the files that were not written.
pub(super) fn finish(all: impl IntoIterator<Item = Awaited>) {
    let begun = Instant::now();
    for awaited in all {
        if awaited.wait(begun + SILENCE) {
            continue;
        }
        terminal::complain(&format!("writing {}; Ctrl-C ends without it", awaited.name));
        if !awaited.wait(begun + DEADLINE) {
            let waited = crate::units::span_exact(DEADLINE);
            terminal::complain(&format!("{}: not written within {waited}", awaited.lost));
        }
    }
}
