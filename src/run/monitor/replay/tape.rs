//! Joins recordings to one, in the order of time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::model::Snapshot;
use crate::record::Incident;
use crate::source::{Group, Recording, Source, SourceError, group_of};
use crate::tui::replay::Timeline;

/// Events of one kind within this time are the same one: the recorder may have noticed it earlier or later.
const SIMILAR: Duration = Duration::from_secs(60);
/// Maximum number of events that are found.
const MAX_FOUND: usize = 10_000;

pub(in crate::run) struct Tape {
    recordings: Vec<Recording>,
    /// The recording of each group of the time line, and the group's place in it.
    owners: Vec<(usize, usize)>,
    /// The events that were not recorded and that the player has found.
    found: Vec<Incident>,
    pub(super) timeline: Arc<Timeline>,
}

impl Tape {
    /// Opens recordings.
    ///
    /// # Errors
    /// A recording cannot be read, or has no snapshot.
    pub(in crate::run) fn open(paths: &[PathBuf]) -> Result<Self, SourceError> {
        let mut recordings = Vec::new();
        for path in paths {
            recordings.push(Recording::open(path)?);
        }
        recordings.sort_by_key(|recording| recording.groups().first().map(|group| group.from));
        let mut tape = Self {
            recordings,
            owners: Vec::new(),
            found: Vec::new(),
            timeline: Arc::default(),
        };
        tape.index();
        Ok(tape)
    }

    /// Returns the time of the last snapshot; `None` if there is none.
    pub(in crate::run) fn end(&self) -> Option<SystemTime> {
        self.timeline.span().map(|(_, last)| last)
    }

    fn index(&mut self) {
        self.owners.clear();
        let mut timeline = Timeline::default();
        for (at, recording) in self.recordings.iter().enumerate() {
            self.owners
                .extend((0..recording.groups().len()).map(|group| (at, group)));
            timeline.groups.extend_from_slice(recording.groups());
            timeline.incidents.extend_from_slice(recording.incidents());
        }
        timeline.incidents.extend_from_slice(&self.found);
        timeline.incidents.sort_by_key(Incident::at);
        self.timeline = Arc::new(timeline);
    }

    /// Adds events that the player has found, unless a similar one was recorded. Returns true if there is a new one.
    pub(super) fn add(&mut self, found: Vec<Incident>) -> bool {
        let known = &self.timeline.incidents;
        let is_new = |incident: &Incident| {
            let apart = |a: SystemTime, b: SystemTime| a.duration_since(b).or_else(|_| b.duration_since(a));
            let is_near = |other: &Incident| apart(other.at(), incident.at()).is_ok_and(|apart| apart < SIMILAR);
            !known.iter().any(|other| other.kind == incident.kind && is_near(other))
        };
        let before = self.found.len();
        self.found
            .extend(found.into_iter().filter(is_new).take(MAX_FOUND - before));
        let has_new = self.found.len() > before;
        if has_new {
            self.index();
        }
        has_new
    }

    /// Reads what was written since. Returns true if anything was.
    pub(super) fn refresh(&mut self) -> Result<bool, SourceError> {
        let mut has_more = false;
        for recording in &mut self.recordings {
            has_more |= recording.refresh()?;
        }
        if has_more {
            self.index();
        }
        Ok(has_more)
    }

    fn groups(&self) -> &[Group] {
        &self.timeline.groups
    }

    /// Returns true if all events of the recordings are known.
    pub(super) fn has_incidents(&self) -> bool {
        self.recordings.iter().all(Recording::has_incidents)
    }

    /// Returns the [group of](group_of) a time; else the first group.
    pub(super) fn group_at(&self, time: SystemTime, is_strict: bool) -> usize {
        group_of(self.groups(), time, is_strict).unwrap_or(0)
    }

    /// Returns the time before the first snapshot of a group, if the clock was set back there.
    pub(super) fn before_set_back(&self, group: usize) -> Option<SystemTime> {
        let [before, first] = self.groups().get(group.checked_sub(1)?..=group)? else {
            return None;
        };
        (before.to > first.from).then_some(before.to)
    }

    /// Returns the earliest group from which a reader meets at most `room` snapshots before it is past that group. Their times
    /// ascend.
    pub(super) fn back_from(&self, group: usize, room: usize) -> usize {
        let mut left = room;
        let mut first = group;
        for (at, group) in self.groups().iter().enumerate().take(group + 1).rev() {
            let Some(rest) = left.checked_sub(group.snapshots as usize) else {
                break;
            };
            (left, first) = (rest, at);
            if self.before_set_back(at).is_some() {
                break;
            }
        }
        first
    }

    /// Returns a reader from the beginning of a group.
    pub(super) fn read(&self, group: usize) -> Reader {
        let (next, from) = self.owners.get(group).copied().unwrap_or_default();
        Reader {
            source: None,
            next,
            from,
        }
    }
}

/// Reads the snapshots of a tape, from a given time on.
pub(super) struct Reader {
    source: Option<Source>,
    /// The recording that is read next.
    next: usize,
    /// Its group to begin with.
    from: usize,
}

impl Reader {
    /// Returns the next snapshot, or the next fault; `None` at the end of the tape.
    pub(super) fn next(&mut self, tape: &Tape) -> Option<Result<Arc<Snapshot>, SourceError>> {
        loop {
            if let Some(source) = &mut self.source {
                match source.next() {
                    Some(read) => return Some(read),
                    None => self.source = None,
                }
            }
            let recording = tape.recordings.get(self.next)?;
            self.next += 1;
            self.source = Some(recording.read_group(std::mem::take(&mut self.from)));
        }
    }
}
