//! The rows of a snapshot: two buffers in turn, so that only rows of processes that were touched are made anew.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::Table;
use crate::model::{Facts, Identity, Missing, ProcessSample, RowChanges, Snapshot, Stat};
use crate::sampler::job::{JobKey, RunningReads};

/// The rows published last, and the processes of which they may differ by now.
#[derive(Default)]
pub(super) struct RowBuffers {
    /// The processes of which a row may differ from the last one published: each once.
    pub(super) touched: Vec<u32>,
    /// The processes whose rows the last snapshot made anew: the one before it lacks these.
    pub(super) touched_before: Vec<u32>,
    /// The last snapshot, and the one before, whose rows are taken back once nobody else holds it.
    last: Option<Arc<Snapshot>>,
    before: Option<Arc<Snapshot>>,
    /// The processes that share an address space.
    pub(super) sharing: BTreeSet<u32>,
    /// The processes whose address space the kernel hides.
    pub(super) hidden: BTreeSet<u32>,
}

impl Table {
    /// Notes that the row of a process may change. To be called by all that changes what [`Process::row`](super::Process::row) tells,
    /// or starts a read whose delay it tells; once too often does no harm.
    pub(super) fn touch(&mut self, pid: u32) {
        if let Some(entry) = self.entries.get_mut(&pid) {
            entry.touch(pid, &mut self.buffers.touched);
        }
    }

    /// Returns a row for every process, in order of pid, and what differs from the last snapshot where that is known.
    /// A read that has been under way for longer than `deadline` makes its figures say so.
    pub(in crate::sampler) fn rows(
        &mut self,
        running: &RunningReads,
        deadline: Duration,
    ) -> (Vec<ProcessSample>, Option<RowChanges>) {
        for uid in self.users.time_out(|uid| running.is_late(JobKey::User(uid), deadline)) {
            self.set_user(uid, &Err(Missing::TimedOut));
        }
        let first = self.first_of_shared();
        let (mut rows, stale, last) = self.take_buffer();
        let last = last.as_deref().map_or(&[][..], Snapshot::rows);
        let is_known = !last.is_empty();
        let mut touched = std::mem::take(&mut self.buffers.touched);
        if !is_known {
            touched = self.pids();
        }
        touched.sort_unstable();
        touched.dedup();
        let find = |rows: &[ProcessSample], pid: u32| rows.binary_search_by_key(&pid, |row| row.id.pid).ok();
        let mut updates: Vec<(u32, Option<ProcessSample>)> = Vec::with_capacity(touched.len());
        let mut changes = RowChanges::default();
        for pid in &touched {
            let row = self.row(*pid, &first, running, deadline);
            let before = find(last, *pid).map(|at| &last[at]);
            match (&row, before) {
                (Some(now), Some(before)) if now.is_same(before) => {}
                (None, None) => {}
                (now, before) => {
                    let is_other = before.filter(|before| now.as_ref().is_none_or(|now| now.id != before.id));
                    changes.removed.extend(is_other.map(|row| row.id));
                    changes.rows.extend(now.as_ref().map(|_| *pid));
                }
            }
            updates.push((*pid, row));
        }
        let stale = stale.into_iter().filter(|pid| touched.binary_search(pid).is_err());
        updates.extend(stale.map(|pid| (pid, find(last, pid).map(|at| last[at].clone()))));
        apply(&mut rows, updates);
        // What was listed by pid is told by place.
        changes.rows.retain_mut(|row| {
            let place = find(&rows, *row);
            *row = place.unwrap_or_default() as u32;
            place.is_some()
        });
        self.buffers.touched_before = touched;
        (rows, is_known.then_some(changes))
    }

    /// Takes in the snapshot that was made of the rows, or that there are none.
    pub(in crate::sampler) fn set_published(&mut self, snapshot: Option<&Arc<Snapshot>>) {
        if snapshot.is_none() {
            self.buffers.before = None;
            self.buffers.last = None;
        }
        self.buffers.before = std::mem::replace(&mut self.buffers.last, snapshot.cloned());
    }

    /// Returns the rows to change, the processes that were touched since these were made, and the last snapshot.
    fn take_buffer(&mut self) -> (Vec<ProcessSample>, Vec<u32>, Option<Arc<Snapshot>>) {
        let buffers = &mut self.buffers;
        let (before, last) = (buffers.before.take(), buffers.last.clone());
        let touched_before = std::mem::take(&mut buffers.touched_before);
        let free = before.and_then(|before| Arc::try_unwrap(before).ok()?.processes.ok());
        match (free, &last) {
            (Some(rows), _) if !rows.is_empty() => (rows, touched_before, last),
            (_, Some(snapshot)) => (snapshot.rows().to_vec(), Vec::new(), last),
            (_, None) => (Vec::new(), Vec::new(), None),
        }
    }

    /// Returns the first process of each address space that several share; touches them all, as their rows depend on
    /// each other.
    fn first_of_shared(&mut self) -> HashMap<u64, Identity> {
        let mut first = HashMap::new();
        let mut sharing = std::mem::take(&mut self.buffers.sharing);
        // In order of pid: the first of an address space is the one the others are said to share with.
        sharing.retain(|pid| {
            let Some(entry) = self.entries.get_mut(pid) else {
                return false;
            };
            entry.touch(*pid, &mut self.buffers.touched);
            let process = entry.process.as_deref();
            let Some((process, mm)) = process.and_then(|p| Some((p, p.shared_mm?))) else {
                return false;
            };
            // A zombie has given its own back.
            if !process.stat.is_zombie() {
                first.entry(mm).or_insert(process.id);
            }
            true
        });
        self.buffers.sharing = sharing;
        first
    }

    /// Returns the row of one process; `None` where it is listed no more. Touches it again for the next snapshot
    /// where something of it is still to come.
    fn row(
        &mut self,
        pid: u32,
        first: &HashMap<u64, Identity>,
        running: &RunningReads,
        deadline: Duration,
    ) -> Option<ProcessSample> {
        let entry = self.entries.get_mut(&pid)?;
        entry.is_touched = false;
        let Some(process) = &mut entry.process else {
            let is_late = running.is_late(JobKey::Glances(entry.serial), deadline);
            let pending = if is_late { Missing::TimedOut } else { Missing::Pending };
            let row = unseen(pid, entry.fault.unwrap_or(pending));
            entry.touch(pid, &mut self.buffers.touched);
            return Some(row);
        };
        let mut row = process.row(entry.fault, running, deadline);
        if let Some(mm) = process.shared_mm.filter(|_| !row.stat.is_zombie()) {
            row.shares_mm = first.get(&mm).copied().filter(|id| *id != row.id);
        }
        if process.waits() {
            entry.touch(pid, &mut self.buffers.touched);
        }
        Some(row)
    }
}

/// Puts rows in the place of those of the same pids, or takes these away; in order of pid.
fn apply(rows: &mut Vec<ProcessSample>, updates: Vec<(u32, Option<ProcessSample>)>) {
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    for (pid, row) in updates {
        match (rows.binary_search_by_key(&pid, |row| row.id.pid), row) {
            (Ok(at), Some(row)) => rows[at] = row,
            (Ok(_), None) => gone.push(pid),
            (Err(_), Some(row)) => new.push(row),
            (Err(_), None) => {}
        }
    }
    if !gone.is_empty() {
        gone.sort_unstable();
        rows.retain(|row| gone.binary_search(&row.id.pid).is_err());
    }
    if !new.is_empty() {
        rows.append(&mut new);
        // Mostly it is: new pids are the highest.
        rows.sort_by_key(|row| row.id.pid);
    }
}

/// Returns the row of a pid that is listed and cannot be glanced at: nothing is known of it but why.
fn unseen(pid: u32, why: Missing) -> ProcessSample {
    let id = Identity { pid, starttime: 0 };
    let mut row = ProcessSample::unread(id, Arc::new(Facts::unread(b"?", why)), why);
    row.stat = Stat {
        state: b'?',
        ..Stat::default()
    };
    row
}
