//! The black box: the recording that the monitor and the exporter keep in the state folder. Also the other destinations of
//! snapshots.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rustix::process::geteuid;

use super::complain;
use super::takers::Looks;
use crate::alert::AlertEvent;
use crate::config::settings::RecordSettings;
use crate::config::{Env, state};
use crate::engine::{Incidents, LastWords, SharedState};
use crate::model::Snapshot;
use crate::recorder::{FaultNews, Folder, KernelLog, Options, Place, Recorder};
use crate::source::SUFFIX;
use crate::text;

/// The recording that the user starts and stops in the monitor.
pub(super) type OwnRecording = Arc<Mutex<Option<Recorder>>>;

/// The destinations of an engine's snapshots.
#[derive(Default)]
pub(super) struct Outlets {
    /// The black box, or the file of `zmtop record`.
    pub(super) recorder: Option<Arc<Recorder>>,
    pub(super) own: OwnRecording,
    pub(super) kernel_log: Option<KernelLog>,
    /// Reads details of the processes that use up the memory in a danger; `None` to skip this.
    pub(super) looks: Option<Looks>,
}

/// Writes the snapshots of an engine to its outlets, with their incidents.
pub(super) struct RecordFeed {
    outlets: Outlets,
    incidents: Incidents,
    last_words: LastWords,
    state: Arc<OnceLock<SharedState>>,
    faults: FaultNews,
    is_log_reported: bool,
}

impl RecordFeed {
    pub(super) fn new(outlets: Outlets) -> Self {
        Self {
            outlets,
            incidents: Incidents::default(),
            last_words: LastWords::default(),
            state: Arc::default(),
            faults: FaultNews::default(),
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
        let mut snapshot = Arc::clone(snapshot);
        // The very first one may come before the state is set.
        if let Some(state) = self.state.get() {
            let state = state.lock();
            incidents = self.incidents.of(&state, alerts);
            if let Some(log) = &self.outlets.kernel_log {
                for line in self.last_words.of(&state, &incidents) {
                    log.write(line);
                }
            }
            let is_recorded = self.outlets.recorder.is_some() || self.outlets.own.lock().is_some();
            if let Some(looks) = self.outlets.looks.as_mut().filter(|_| is_recorded) {
                looks.follow(&state);
                let found = looks.found();
                if !found.is_empty() {
                    Arc::make_mut(&mut snapshot).takers = found;
                }
            }
        }
        if let Some(own) = &*self.outlets.own.lock() {
            own.record(&snapshot, incidents.clone());
        }
        if let Some(recorder) = &self.outlets.recorder {
            recorder.record(&snapshot, incidents);
        }
    }

    /// Returns a message if the recorder has begun to fail, or to work again, since the last call; and once if the kernel's log
    /// fails.
    pub(super) fn news(&mut self) -> Option<String> {
        let fault = self.outlets.kernel_log.as_ref().and_then(KernelLog::take_fault);
        if let Some(fault) = fault.filter(|_| !std::mem::replace(&mut self.is_log_reported, true)) {
            return Some(format!("last words not written: {fault}"));
        }
        let news = self.faults.of(&self.outlets.recorder.as_ref()?.status())?;
        Some(format!("black box: {news}"))
    }
}

/// Opens the kernel's log for last words; `None` if they are off.
///
/// # Errors
/// The reason why it cannot be written, safe to print.
pub(super) fn kernel_log(settings: &RecordSettings) -> Result<Option<KernelLog>, String> {
    let log = settings.last_words.then(KernelLog::of_machine).transpose();
    log.map_err(|why| format!("no last words: {why}"))
}

/// Opens the kernel's log for last words, if they are on. Reports why it cannot be written.
pub(super) fn open_log(settings: &RecordSettings) -> Option<KernelLog> {
    kernel_log(settings).unwrap_or_else(|why| {
        complain(&why);
        None
    })
}

/// The folders of `zmtop-record.service` and of `zmtop-serve.service`.
const SERVICES: [&str; 2] = ["/var/lib/zmtop", "/var/lib/zmtop-serve/blackbox"];
/// Time before the newest snapshot of all in which a black box that is still recorded to has one.
const CURRENT: Duration = Duration::from_secs(600);

/// A folder with recordings.
struct Recorded {
    folder: PathBuf,
    /// The size of its files.
    bytes: u64,
    /// When it was last written.
    written: SystemTime,
}

/// Returns the folder of the black box to read: the own one, or for root also one of [`SERVICES`], whichever is recorded to; of several,
/// the largest. Root skips an own one that another user can change, and reports that.
///
/// # Errors
/// There is none.
pub(super) fn find(env: &Env) -> Result<PathBuf, String> {
    let own = state::blackbox_path(env)?;
    let shown = text::safe(own.as_os_str().as_encoded_bytes()).into_owned();
    let mut found: Vec<_> = recorded(own).into_iter().collect();
    if let Some(doubt) = found.first().and_then(|own| state::folder_doubt(&own.folder)) {
        complain(&format!("the black box at {shown} is not used: {doubt}"));
        found.clear();
    }
    let services = SERVICES.iter().filter(|_| geteuid().is_root());
    found.extend(services.filter_map(|path| recorded(path.into())));
    let newest = found.iter().map(|one| one.written).max();
    // Of several that are being written, the largest covers more: a monitor that is open now and then leaves gaps.
    found.retain(|one| newest.is_some_and(|newest| one.written + CURRENT >= newest));
    let found = found.into_iter().max_by_key(|one| one.bytes);
    found
        .map(|one| one.folder)
        .ok_or_else(|| format!("there is no black box at {shown} yet; name a FILE of snapshots"))
}

/// Returns a folder if it has recordings.
fn recorded(folder: PathBuf) -> Option<Recorded> {
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let recordings = entries.filter(|entry| entry.file_name().as_encoded_bytes().ends_with(SUFFIX.as_bytes()));
    let recordings = recordings.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    });
    let (sizes, times): (Vec<u64>, Vec<_>) = recordings.unzip();
    Some(Recorded {
        bytes: sizes.into_iter().sum(),
        // One file from a clock that was ahead must not hide the others.
        written: times.into_iter().max()?.min(SystemTime::now()),
        folder,
    })
}

/// Starts the black box; `None` if it is off, or if another zmtop of this user records.
///
/// # Errors
/// The reason why it cannot be written, safe to print.
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
