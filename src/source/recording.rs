//! A recording that is read from any moment: an NDJSON file.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Source, SourceError};
use crate::history::kills::text_of;
use crate::units::Units;

/// Maximum time of a group.
const GROUP: Duration = Duration::from_secs(300);

/// A recording that is read from any moment: an NDJSON file.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    groups: Vec<Group>,
    marks: Vec<Mark>,
    size: u64,
}

/// Some minutes of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub from: SystemTime,
    pub to: SystemTime,
    pub snapshots: u32,
    /// RAM in bytes, 0 if unknown.
    pub total: u64,
    /// The lowest `MemAvailable`.
    pub available: u64,
}

/// An event of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: SystemTime,
    pub kind: MarkKind,
    /// Safe to print.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    Kill,
    Danger,
    Stall,
    Leak,
    Boot,
    Alert,
}

impl Recording {
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let mut own = Self {
            path: path.into(),
            groups: Vec::new(),
            marks: Vec::new(),
            size: 0,
        };
        own.scan()?;
        Ok(own)
    }

    fn scan(&mut self) -> Result<(), SourceError> {
        self.size = std::fs::metadata(&self.path).map_or(0, |meta| meta.len());
        self.groups.clear();
        self.marks.clear();
        let mut boot = None;
        for found in Source::open(&self.path)? {
            let snapshot = match found {
                Ok(snapshot) => snapshot,
                Err(error) if error.ends() && self.groups.is_empty() => return Err(error),
                Err(_) => continue,
            };
            let at = snapshot.time;
            if boot.is_some() && boot != Some(snapshot.boot_id.clone()) {
                self.marks.push(Mark { at, kind: MarkKind::Boot, text: "the machine was started".into() });
            }
            boot = Some(snapshot.boot_id.clone());
            for event in snapshot.oom_kills.iter() {
                let text = text_of(event, 30, Units::Auto).victim;
                let mark = Mark { at, kind: MarkKind::Kill, text };
                if self.marks.last().is_none_or(|last| last.text != mark.text) {
                    self.marks.push(mark);
                }
            }
            let total = snapshot.system.mem_total.unwrap_or(0);
            let available = snapshot.system.available().unwrap_or(0);
            match self.groups.last_mut() {
                Some(group) if at >= group.from && at < group.from + GROUP => {
                    group.to = group.to.max(at);
                    group.snapshots += 1;
                    group.available = group.available.min(available);
                }
                _ => self.groups.push(Group { from: at, to: at, snapshots: 1, total, available }),
            }
        }
        Ok(())
    }

    /// Reads what was written since; returns true if that is something.
    pub fn refresh(&mut self) -> Result<bool, SourceError> {
        let grown = std::fs::metadata(&self.path).is_ok_and(|meta| meta.len() > self.size);
        if grown {
            self.scan()?;
        }
        Ok(grown)
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Begins at the first snapshot of the group that holds `at`.
    pub fn read_from(&self, _at: SystemTime) -> Result<Source, SourceError> {
        Source::open(&self.path)
    }
}
