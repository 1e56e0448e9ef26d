//! The black box: the recording that the monitor and the exporter keep in the state folder. And what else snapshots are
//! written to.

use std::io;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::alert::AlertEvent;
use crate::config::settings::RecordSettings;
use crate::config::{Env, state};
use crate::engine::{Incidents, LastWords, SharedState};
use crate::model::Snapshot;
use crate::recorder::{Folder, KernelLog, Options, Place, Recorder};
use crate::text;

/// The recording that the user starts and stops in the monitor.
pub(super) type OwnRecording = Arc<Mutex<Option<Recorder>>>;

/// What the snapshots of an engine are written to.
#[derive(Default)]
pub(super) struct Outlets {
    /// The black box, or the file of `zmtop record`.
    pub(super) recorder: Option<Arc<Recorder>>,
    pub(super) own: OwnRecording,
    pub(super) kernel_log: Option<KernelLog>,
}

/// Writes the snapshots of an engine to its outlets, with their incidents.
pub(super) struct RecordFeed {
    outlets: Outlets,
    incidents: Incidents,
    last_words: LastWords,
    state: Arc<OnceLock<SharedState>>,
    /// The fault that was reported last.
    fault: Option<String>,
    is_log_reported: bool,
}

impl RecordFeed {
    pub(super) fn new(outlets: Outlets) -> Self {
        Self {
            outlets,
            incidents: Incidents::default(),
            last_words: LastWords::default(),
            state: Arc::default(),
            fault: None,
            is_log_reported: false,
        }
    }

    /// Returns the place of the engine's state, which must be set once there is an engine.
    pub(super) fn state(&self) -> Arc<OnceLock<SharedState>> {
        Arc::clone(&self.state)
    }

    /// Writes the snapshot that the engine has just pushed. Never blocks.
    pub(super) fn push(&mut self, snapshot: &Arc<Snapshot>, alerts: &[AlertEvent]) {
        let mut incidents = Vec::new();
        // The very first one may come before the state is set.
        if let Some(state) = self.state.get() {
            let state = state.lock();
            incidents = self.incidents.of(&state, alerts);
            if let Some(log) = &self.outlets.kernel_log {
                for line in self.last_words.of(&state, &incidents) {
                    log.write(line);
                }
            }
        }
        if let Some(own) = &*self.outlets.own.lock() {
            own.record(snapshot, incidents.clone());
        }
        if let Some(recorder) = &self.outlets.recorder {
            recorder.record(snapshot, incidents);
        }
    }

    /// Returns a message if the recorder has begun to fail, or to work again, since the last call; and once if the kernel's log
    /// fails.
    pub(super) fn news(&mut self) -> Option<String> {
        let fault = self.outlets.kernel_log.as_ref().and_then(KernelLog::take_fault);
        if let Some(fault) = fault.filter(|_| !std::mem::replace(&mut self.is_log_reported, true)) {
            return Some(format!("last words not written: {fault}"));
        }
        let status = self.outlets.recorder.as_ref()?.status();
        if status.fault == self.fault {
            return None;
        }
        self.fault = status.fault;
        Some(match &self.fault {
            Some(fault) => format!("black box: not recorded: {fault}"),
            None => format!("black box: recording again; {} snapshots were lost", status.lost),
        })
    }
}

/// Opens the kernel's log for last words; `None` if they are off.
///
/// # Errors
/// It cannot be written. The text says why, safe to print.
pub(super) fn kernel_log(settings: &RecordSettings) -> Result<Option<KernelLog>, String> {
    let log = settings.last_words.then(KernelLog::of_machine).transpose();
    log.map_err(|why| format!("no last words: {why}"))
}

/// Starts the black box; `None` if it is off, or if another zmtop of this user records.
///
/// # Errors
/// It cannot be written. The text says why, safe to print.
pub(super) fn start(settings: &RecordSettings, env: &Env) -> Result<Option<Recorder>, String> {
    if !settings.black_box {
        return Ok(None);
    }
    let path = state::blackbox_path(env)?;
    let shown = text::safe(path.as_os_str().as_encoded_bytes()).into_owned();
    let of_path = |error: io::Error| format!("{shown}: {}", text::safe(error.to_string().as_bytes()));
    let Some(folder) = Folder::open_if_free(&path).map_err(of_path)? else {
        return Ok(None);
    };
    let options = Options::new(Place::Folder(folder, settings.retention()), settings);
    Recorder::start(options).map(Some).map_err(of_path)
}
