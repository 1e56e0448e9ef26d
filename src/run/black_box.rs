//! The black box: the recording that the monitor and the exporter keep in the state folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::process::geteuid;

use crate::alert::AlertEvent;
use crate::config::settings::RecordSettings;
use crate::config::{Env, state};
use crate::engine::{Incidents, SharedState};
use crate::model::Snapshot;
use crate::recorder::{FaultNews, Folder, Options, Place, Recorder};
use crate::source::SUFFIX;
use crate::text;

/// Passes the snapshots of an engine to a recorder, with their incidents.
pub(super) struct RecordFeed {
    recorder: Arc<Recorder>,
    incidents: Incidents,
    state: Arc<OnceLock<SharedState>>,
    faults: FaultNews,
}

impl RecordFeed {
    pub(super) fn new(recorder: Arc<Recorder>) -> Self {
        Self {
            recorder,
            incidents: Incidents::default(),
            state: Arc::default(),
            faults: FaultNews::default(),
        }
    }

    /// Returns the place of the engine's state, which must be set once there is an engine.
    pub(super) fn state(&self) -> Arc<OnceLock<SharedState>> {
        Arc::clone(&self.state)
    }

    /// Records the snapshot that the engine has just pushed. Never blocks.
    pub(super) fn push(&mut self, snapshot: &Arc<Snapshot>, alerts: &[AlertEvent]) {
        // The very first one may come before the state is set.
        let state = self.state.get();
        let incidents = state.map_or_else(Vec::new, |state| self.incidents.of(&state.lock(), alerts));
        self.recorder.record(snapshot, incidents);
    }

    /// Returns a message if recording has begun to fail, or to work again, since the last call.
    pub(super) fn news(&mut self) -> Option<String> {
        let news = self.faults.of(&self.recorder.status())?;
        Some(format!("black box: {news}"))
    }
}

/// The folder of `zmtop-record.service`.
const SERVICE: &str = "/var/lib/zmtop";

/// Returns the folder of the black box to read: the own one, or for root the one of `zmtop-record.service` if the own one has no
/// recording.
///
/// # Errors
/// There is none.
pub(super) fn find(env: &Env) -> Result<PathBuf, String> {
    let has_recording = |path: &Path| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name());
        names.any(|name| name.as_encoded_bytes().ends_with(SUFFIX.as_bytes()))
    };
    let own = state::blackbox_path(env)?;
    let service = geteuid().is_root().then(|| PathBuf::from(SERVICE));
    let found = [Some(own.clone()), service]
        .into_iter()
        .flatten()
        .find(|path| has_recording(path));
    found.ok_or_else(|| {
        let shown = text::safe(own.as_os_str().as_encoded_bytes());
        format!("there is no black box yet, at {shown}; name a FILE of snapshots")
    })
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
