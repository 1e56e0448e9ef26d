//! The mappings that grew in what is called growing or leaking, while `zmtop leaks` watches.
//!
//! The mappings of a suspect are read when it is first seen to grow, and once more in the end; of a program those of all
//! its processes together, as they come and go.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use crate::group::{GroupKey, GroupNames, RowKey};
use crate::history::History;
use crate::history::mapping_diff::{MappingGrowth, MappingTotals, diff};
use crate::history::suspects::Suspect;
use crate::model::Snapshot;
use crate::sampler::Options;
use crate::sampler::mappings::merged;

/// Suspects whose mappings are read: more are on no report that somebody reads.
const MAX_SUSPECTS: usize = 32;
/// Processes of one program whose mappings are read.
const MAX_MEMBERS: usize = 32;
/// Multiple of a read's time for which none follows, so that all of them take a fiftieth of a core.
const REST: u32 = 50;

/// A first reading that came in.
type Reading = (RowKey, MappingTotals, Duration);

/// The mappings of suspects, as they were when their growth was seen.
pub(super) struct GrownMappings {
    options: Options,
    /// The first readings; `None` while they are read.
    first: HashMap<RowKey, Option<MappingTotals>>,
    readings: (Sender<Reading>, Receiver<Reading>),
    is_reading: bool,
    next: Instant,
}

impl GrownMappings {
    pub(super) fn new(options: Options) -> Self {
        Self {
            options,
            first: HashMap::new(),
            readings: channel(),
            is_reading: false,
            next: Instant::now(),
        }
    }

    /// Reads the mappings of one of these that have not been read, on a thread of its own.
    pub(super) fn follow(&mut self, suspects: &[Suspect], history: &History, snapshot: &Snapshot) {
        while let Ok((key, totals, took)) = self.readings.1.try_recv() {
            self.first.insert(key, Some(totals));
            self.is_reading = false;
            self.next = Instant::now() + took * REST;
        }
        let is_new = |s: &&Suspect| s.ended.is_none() && !s.is_held() && !self.first.contains_key(&s.key);
        let may_read = !self.is_reading && self.first.len() < MAX_SUSPECTS && Instant::now() >= self.next;
        let Some(suspect) = suspects.iter().find(is_new).filter(|_| may_read) else {
            return;
        };
        let (key, pids) = (suspect.key.clone(), members(&suspect.key, history, snapshot));
        let (options, send) = (self.options.clone(), self.readings.0.clone());
        let read = move || {
            let began = Instant::now();
            let totals = totals(&options, &pids);
            let _ = send.send((key, totals, began.elapsed()));
        };
        if std::thread::Builder::new()
            .name("zmtop-maps".into())
            .spawn(read)
            .is_ok()
        {
            self.is_reading = true;
            self.first.insert(suspect.key.clone(), None);
        }
    }

    /// Reads the mappings of these again; returns the one of each that grew most since the first reading.
    pub(super) fn finish(
        mut self,
        suspects: &[Suspect],
        history: &History,
        snapshot: &Snapshot,
    ) -> HashMap<RowKey, MappingGrowth> {
        let mut grown = HashMap::new();
        for suspect in suspects.iter().filter(|s| s.ended.is_none() && !s.is_held()) {
            let Some(Some(first)) = self.first.remove(&suspect.key) else {
                continue;
            };
            let now = totals(&self.options, &members(&suspect.key, history, snapshot));
            let fastest = diff(&first, &now).into_iter().next();
            if let Some(fastest) = fastest.filter(|row| row.growth().is_some_and(|growth| growth > 0)) {
                grown.insert(suspect.key.clone(), fastest);
            }
        }
        grown
    }
}

/// Returns the processes of a suspect that the history is of.
fn members(key: &RowKey, history: &History, snapshot: &Snapshot) -> Vec<u32> {
    match key {
        RowKey::Part(_) => Vec::new(),
        RowKey::Process(id) => vec![id.pid],
        RowKey::Group(GroupKey { by, name }) => {
            let names = GroupNames::new(snapshot.rows());
            let rows = snapshot.rows().iter().filter(|row| history.get(row.id).is_some());
            let own = rows.filter(|row| names.name_of(row, *by).as_deref() == name.as_deref());
            own.map(|row| row.id.pid).take(MAX_MEMBERS).collect()
        }
    }
}

/// Reads the mappings of processes, those of one name put together, as far as they can be read.
fn totals(options: &Options, pids: &[u32]) -> MappingTotals {
    let found = merged(options, pids).into_iter().flatten();
    let all: Vec<_> = found.flat_map(|found| found.what).collect();
    MappingTotals::of(&all)
}
