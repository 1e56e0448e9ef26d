//! Chooses the processes whose heaps are read while a limit is near.
//!
//! When a limit of the machine or of a cgroup is less than two minutes ahead, the heap of the process that grows is read, and once
//! more whenever that process has doubled, so that a recording shows what it was. Pure: the caller reads the heap.

use std::collections::BTreeMap;
use std::time::Duration;

use super::State;
use super::incidents::LULL;
use super::quota::has_room;
use crate::call_tree::{KeptBy, frame_text};
use crate::group::{GroupBy, RowKey};
use crate::history::dangers::{Danger, Limit};
use crate::model::taker::KeptPath;
use crate::model::{Identity, Snapshot};

/// A limit that is nearer is worth a look.
const NEAR: Duration = Duration::from_secs(120);
/// Maximum number of looks in [`PERIOD`], of which half are only for the machine's limit.
const MOST: usize = 4;
const PERIOD: Duration = Duration::from_secs(600);

/// A process to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    pub id: Identity,
    /// Its short name, raw.
    pub comm: Box<[u8]>,
    /// The code that keeps its memory, if that was measured.
    pub kept_by: Option<KeptPath>,
}

/// A limit that is near.
#[derive(Debug)]
struct Near {
    last: Duration,
    is_looked_at: bool,
}

#[derive(Debug)]
struct Look {
    id: Identity,
    at: Duration,
    /// The [owner](Limit::owner) of the limit.
    owner: Box<[u8]>,
    /// The footprint of the process, in bytes; `None` if unknown.
    held: Option<u64>,
}

/// Chooses the processes of each snapshot.
#[derive(Debug, Default)]
pub struct Takers {
    limits: BTreeMap<Limit, Near>,
    /// The last looks, the newest last.
    looks: Vec<Look>,
}

impl Takers {
    /// Returns the processes to read because of the snapshot that was pushed last. Never the process `own`.
    pub fn of(&mut self, state: &State, own: u32) -> Vec<Suspicion> {
        let Some(snapshot) = &state.snapshot else {
            return Vec::new();
        };
        let now = snapshot.monotonic;
        self.limits.retain(|_, near| now.saturating_sub(near.last) <= LULL);
        self.looks.retain(|look| now.saturating_sub(look.at) <= PERIOD);
        let mut chosen = Vec::new();
        for danger in state.history.shared_dangers().filter(|d| d.forecast.time() < NEAR) {
            let near = self.limits.entry(danger.limit.clone()).or_insert(Near {
                last: now,
                is_looked_at: false,
            });
            near.last = now;
            let owner = danger.limit.owner();
            if !has_room(self.looks.iter().map(|look| &*look.owner), &owner, MOST) {
                continue;
            }
            // It may not be known yet which process it is.
            let Some(id) = process(danger, state, snapshot).filter(|id| id.pid != own) else {
                continue;
            };
            let held = footprint(state, id);
            let last = self.looks.iter().rfind(|look| look.id == id);
            let has_doubled = last.is_some_and(|last| last.held.zip(held).is_some_and(|(then, now)| now / 2 >= then));
            // A danger that was away for less than a lull gets no further look, and a process that was looked at within it neither.
            let is_new = !std::mem::replace(&mut near.is_looked_at, true)
                && last.is_none_or(|last| now.saturating_sub(last.at) > LULL);
            if !(is_new || has_doubled) {
                continue;
            }
            self.looks.push(Look {
                id,
                at: now,
                owner,
                held,
            });
            chosen.extend(snapshot.row(id).map(|row| Suspicion {
                id,
                comm: row.facts.comm.clone(),
                kept_by: state.history.kept_by(id).map(|kept_by| path(kept_by)),
            }));
        }
        chosen
    }
}

/// Returns the process that uses up the memory. For a program, which can only use up the machine's memory, this is the one that
/// has most.
fn process(danger: &Danger, state: &State, snapshot: &Snapshot) -> Option<Identity> {
    let (key, _) = danger.taker.as_ref()?;
    match key {
        RowKey::Process(id) => Some(*id),
        RowKey::Part(_) => None,
        RowKey::Group(key) if key.by != GroupBy::Command => None,
        RowKey::Group(key) => {
            let rows = snapshot.rows().iter();
            let rows = rows.filter(|row| state.history.command(row.id) == key.name);
            rows.map(|row| row.id).max_by_key(|id| footprint(state, *id))
        }
    }
}

fn footprint(state: &State, id: Identity) -> Option<u64> {
    state.history.get(id)?.footprint().last()
}

fn path(kept_by: &KeptBy) -> KeptPath {
    KeptPath {
        functions: kept_by.frames.iter().map(|frame| frame_text(frame).into()).collect(),
        runtime: kept_by.runtime.map(|runtime| runtime.name().into()),
        bytes: kept_by.bytes,
        total: kept_by.total,
        span: kept_by.time,
    }
}
