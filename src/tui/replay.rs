//! A recording in place of this machine: the state of the player, and the actions that do not apply to the past.

use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::config::Action;
use crate::record::Incident;
use crate::source::Group;

/// The state of the player that feeds the screen.
#[derive(Clone, Debug, Default)]
pub struct ReplayStatus {
    /// The name of the recording, safe to print.
    pub name: String,
    /// The time of the snapshot on the screen; `None` before the first one.
    pub position: Option<SystemTime>,
    /// The factor by which recorded time passes faster.
    pub speed: u32,
    pub is_playing: bool,
    /// No later snapshot has been recorded so far.
    pub is_at_end: bool,
    /// It is read from a pipe, which has no way back.
    pub is_stream: bool,
    /// The live monitor continues in the background, and Esc returns to it.
    pub is_visit: bool,
    /// The recorded time since which verdicts are known; `None` if that is the beginning of the recording.
    pub known_since: Option<SystemTime>,
    pub timeline: Arc<Timeline>,
}

impl ReplayStatus {
    /// Returns the beginning of the recording, in words, if it is after the requested time.
    pub(super) fn begins_after(&self, asked: SystemTime, zone: &TimeZone) -> Option<String> {
        let (first, last) = self.timeline.span().filter(|(first, _)| asked < *first)?;
        let local = |time| Some(Timestamp::try_from(time).ok()?.to_zoned(zone.clone()));
        let (first, last) = (local(first)?, local(last)?);
        let format = if first.date() == last.date() {
            "%H:%M:%S"
        } else {
            "%Y-%m-%d %H:%M:%S"
        };
        Some(format!("{} begins at {}", self.name, first.strftime(format)))
    }
}

/// A whole recording at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// In the order of time.
    pub groups: Vec<Group>,
    /// In the order of time.
    pub incidents: Vec<Incident>,
}

impl Timeline {
    /// Returns the times of the first and the last snapshot; `None` if there is none.
    pub fn span(&self) -> Option<(SystemTime, SystemTime)> {
        // A damaged group without a whole line has no times.
        let mut known = self.groups.iter().filter(|group| group.snapshots > 0);
        let last = known.clone().map(|group| group.to).max()?;
        Some((known.next()?.from, last))
    }
}

/// A command to the player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayCommand {
    /// Plays or pauses.
    Pause,
    Faster,
    Slower,
    /// Shows the next snapshot, or the previous one.
    Step {
        forward: bool,
    },
    /// Goes to the next event, or to the previous one.
    Event {
        forward: bool,
    },
    /// Shows the last snapshot that is not later.
    Jump(SystemTime),
    /// Returns to the live monitor.
    Leave,
}

/// Returns why an action does not apply to a recording, if it does not.
pub(super) const fn refusal(action: Action) -> Option<&'static str> {
    match action {
        Action::Signal | Action::OomAdjust | Action::Nice | Action::NiceUp | Action::NiceDown | Action::HotCold => {
            Some("this is a recording: its processes cannot be changed")
        }
        Action::Environment | Action::OpenFiles | Action::Heap | Action::CallPaths | Action::Mappings => {
            Some(NOT_RECORDED)
        }
        Action::Interval | Action::SampleNow => Some("this is a recording: its interval cannot be changed"),
        _ => None,
    }
}

/// Returns true for an action that applies to recordings alone.
pub(super) const fn is_of_player(action: Action) -> bool {
    matches!(
        action,
        Action::StepForward
            | Action::StepBack
            | Action::NextEvent
            | Action::PreviousEvent
            | Action::Faster
            | Action::Slower
    )
}

/// The reason why a stream cannot go back to an earlier time.
pub(super) const NO_WAY_BACK: &str = "a pipe cannot go back: replay a file to go to any time";

/// The reason why something that is read on request is not shown.
pub(super) const NOT_RECORDED: &str = "this is a recording: it does not contain this";
