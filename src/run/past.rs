//! The history that the monitor keeps, for commands that run once but need more than one snapshot.

use std::fs;
use std::io;
use std::time::{Duration, SystemTime};

use super::snapshot::local_time;
use crate::cli::UsageError;
use crate::columns::{Column, ColumnId, Needs};
use crate::config::{Env, state};
use crate::history::History;
use crate::history::kept::{self, Kept};
use crate::model::Snapshot;
use crate::record;
use crate::text;
use crate::units::span;

/// Maximum time between the end of the past and now. The monitor writes it every minute, unless the machine is too busy or the disk full.
pub const MAX_GAP: Duration = Duration::from_secs(15 * 60);

/// A past that may be resumed.
#[derive(Debug)]
pub struct Past(Kept);

impl Past {
    pub const fn of(kept: Kept) -> Self {
        Self(kept)
    }

    /// Reads the past of this user's monitor. Changes no file.
    ///
    /// # Errors
    /// There is none, or it cannot be used. The text says why, safe to print.
    pub(super) fn read(env: &Env) -> Result<Self, String> {
        let file = state::history_path(env)?;
        let shown = text::safe(file.as_os_str().as_encoded_bytes()).into_owned();
        let of_file = |why: String| format!("{shown}: {}", text::safe(why.as_bytes()));
        let bytes = state::read(&file, kept::MAX_BYTES as u64).map_err(|error| of_file(error.to_string()))?;
        let bytes = bytes.filter(|bytes| !bytes.is_empty());
        let bytes =
            bytes.ok_or("no monitor of this user has saved a history yet; a running one saves it every minute")?;
        let namespaces = namespaces().map_err(|error| format!("/proc/self/ns/pid: {error}"))?;
        let kept = unpack(&bytes, &namespaces).map_err(of_file)?;
        kept.map(Self)
            .ok_or_else(|| "the history that the monitor saved is from other namespaces".into())
    }

    /// Leaves out the sums of groups, for a history of some of the processes.
    #[must_use]
    pub fn without_groups(mut self) -> Self {
        self.0.drop_groups();
        self
    }

    /// Returns the time between its end and a snapshot, in which zmtop did not watch.
    pub fn gap(&self, first: &Snapshot) -> Duration {
        self.0.age(first).unwrap_or_default()
    }

    /// Continues the past in a history that has no snapshot yet and that gets this one first. Returns the words for the past,
    /// with its end: `the history that the monitor saved until …`.
    ///
    /// # Errors
    /// The past is of another boot or ended too long ago, as a text.
    pub fn resume(self, history: &mut History, first: &Snapshot) -> Result<String, String> {
        let gap = self
            .0
            .age(first)
            .ok_or("the history that the monitor saved is from another boot")?;
        if gap > MAX_GAP {
            let (gap, most) = (span(gap), span(MAX_GAP));
            return Err(format!(
                "the history that the monitor saved ended {gap} ago, more than {most}"
            ));
        }
        let until = first.time.checked_sub(gap).unwrap_or(SystemTime::UNIX_EPOCH);
        history.resume(self.0);
        Ok(format!(
            "the history that the monitor saved until {}, {} ago",
            local_time(until),
            span(gap)
        ))
    }
}

/// Reads a file that has a kept history; `None` if it is of other namespaces.
///
/// # Errors
/// It is damaged, or of another version.
pub(super) fn unpack(bytes: &[u8], namespaces: &str) -> Result<Option<Kept>, String> {
    let lines = record::unpack_history(bytes, kept::MAX_BYTES).map_err(|error| error.to_string())?;
    Kept::read(&lines, namespaces).map_err(|error| error.to_string())
}

/// Refuses a column whose values begin with a key that is pressed in the monitor. `option` is the option that asked for it.
///
/// # Errors
/// The column is one of these.
pub(super) fn refuse_of_monitor(option: &'static str, column: ColumnId) -> Result<(), UsageError> {
    let Column { id, needs, .. } = column.get();
    if !needs.is_only_of_the_monitor() {
        return Ok(());
    }
    let way = if needs.contains(Needs::MARK) {
        "b sets a mark, from which changes are shown"
    } else {
        "r on a process; here, zmtop leaks --prove PROCESS does the same"
    };
    Err(UsageError::option(option, format!("only the monitor has {id}: {way}")))
}

/// Returns the namespaces that determine the meaning of pids and clocks. A kernel without time namespaces has an empty name for
/// it.
///
/// # Errors
/// The pid namespace is unknown.
pub(super) fn namespaces() -> io::Result<String> {
    let name = |kind: &str| fs::read_link(format!("/proc/self/ns/{kind}"));
    let time = name("time").unwrap_or_default();
    Ok(format!("{} {}", name("pid")?.display(), time.display()))
}
