//! The rows of a snapshot: two buffers in turn, so that only rows of processes that were touched are made anew.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use super::Table;
use super::process::Process;
use crate::model::{Facts, Identity, Missing, ProcessSample, RowChanges, Snapshot, Stat};
use crate::sampler::job::{JobKey, RunningReads};

/// The part of the rows for which room is made when more come: that many are there twice.
const SPARE: usize = 16;

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
    /// Notes that the row of a process may change. To be called by all that changes what [`Process::row`] tells,
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
        self.touch_awaited();
        let (mut rows, stale, last) = self.take_buffer();
        let Some(last) = last.filter(|last| !last.rows().is_empty()) else {
            let pids = self.pids();
            self.buffers.touched.clear();
            // No larger than needed: it is kept.
            rows = Vec::with_capacity(pids.len());
            rows.extend(pids.iter().filter_map(|pid| self.row(*pid, &first, running, deadline)));
            self.buffers.touched_before = pids;
            return (rows, None);
        };
        let last = last.rows();
        let mut touched = std::mem::take(&mut self.buffers.touched);
        touched.sort_unstable();
        touched.dedup();
        let find = |rows: &[ProcessSample], pid: u32| rows.binary_search_by_key(&pid, |row| row.id.pid).ok();
        let mut changes = RowChanges::default();
        let mut edit = Edit::default();
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
            edit.put(&mut rows, *pid, row);
        }
        for pid in stale.into_iter().filter(|pid| touched.binary_search(pid).is_err()) {
            edit.put(&mut rows, pid, find(last, pid).map(|at| last[at].clone()));
        }
        edit.finish(&mut rows);
        // What was listed by pid is told by place.
        changes.rows.retain_mut(|row| {
            let place = find(&rows, *row);
            *row = place.unwrap_or_default() as u32;
            place.is_some()
        });
        self.buffers.touched_before = touched;
        (rows, Some(changes))
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

    /// Touches the processes of which a glance has not come in time: their rows say so until it has.
    fn touch_awaited(&mut self) {
        for pid in self.glances.asked.drain(..) {
            if let Some(entry) = self.entries.get_mut(&pid).filter(|entry| entry.is_glancing) {
                entry.touch(pid, &mut self.buffers.touched);
            }
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
        // It was to be asked what it did, and has not answered: its bound is of the time before.
        entry.is_late = entry.is_glancing;
        row.stale |= entry.is_late && row.walk.is_ok();
        if let Some(mm) = process.shared_mm.filter(|_| !row.stat.is_zombie()) {
            row.shares_mm = first.get(&mm).copied().filter(|id| *id != row.id);
        }
        if process.waits() {
            entry.touch(pid, &mut self.buffers.touched);
        }
        Some(row)
    }
}

/// Changes of rows that are in order of pid: each is put in its place at once, as many would take as much room as all rows.
#[derive(Default)]
struct Edit {
    gone: Vec<u32>,
    new: Vec<ProcessSample>,
}

impl Edit {
    /// Puts a row in the place of the one of that pid, or takes that one away.
    fn put(&mut self, rows: &mut [ProcessSample], pid: u32, row: Option<ProcessSample>) {
        match (rows.binary_search_by_key(&pid, |row| row.id.pid), row) {
            (Ok(at), Some(row)) => rows[at] = row,
            (Ok(_), None) => self.gone.push(pid),
            (Err(_), Some(row)) => self.new.push(row),
            (Err(_), None) => {}
        }
    }

    /// Takes away what is gone, and adds what is new; what comes before them stays where it is.
    fn finish(mut self, rows: &mut Vec<ProcessSample>) {
        self.gone.sort_unstable();
        if let Some(first) = self.gone.first() {
            let from = rows.partition_point(|row| row.id.pid < *first);
            let mut to = from;
            for at in from..rows.len() {
                if self.gone.binary_search(&rows[at].id.pid).is_err() {
                    rows.swap(to, at);
                    to += 1;
                }
            }
            rows.truncate(to);
            if rows.capacity() > 4 * rows.len() + 1024 {
                rows.shrink_to_fit();
            }
        }
        self.new.sort_unstable_by_key(|row| row.id.pid);
        let mut from = rows.len();
        rows.reserve_exact(if rows.capacity() - from < self.new.len() {
            self.new.len() + from / SPARE
        } else {
            0
        });
        rows.extend_from_slice(&self.new);
        let mut to = rows.len();
        for row in self.new.into_iter().rev() {
            while from > 0 && rows[from - 1].id.pid > row.id.pid {
                (from, to) = (from - 1, to - 1);
                rows.swap(from, to);
            }
            to -= 1;
            rows[to] = row;
        }
    }
}

/// Returns the row of a pid that is listed and cannot be glanced at: nothing is known of it but why.
fn unseen(pid: u32, why: Missing) -> ProcessSample {
    let id = Identity { pid, starttime: 0 };
    let mut row = ProcessSample::unread(id, Arc::new(Facts::unread(b"?", why)), why);
    row.stat = Stat {
        state: Stat::UNKNOWN_STATE,
        ..Stat::default()
    };
    row
}

impl Process {
    /// Returns the part of it that a glance may change and that its row depends on.
    pub(super) fn glance_state(&self) -> impl PartialEq + use<> {
        (
            self.stat,
            self.oom_score,
            self.walk(),
            self.data(),
            self.counted(),
            Arc::as_ptr(&self.facts.facts) as usize,
        )
    }

    /// Returns what it asked for, as far as that was read.
    fn data(&self) -> Option<NonZero<u64>> {
        self.estimates.counters().resident.and_then(|kinds| kinds.data)
    }

    /// Returns its row. A read that is late makes what it would have told say so; a walk is allowed twice what
    /// the last one took, so that a huge process is not called stuck each time it is walked.
    pub(super) fn row(&mut self, fault: Option<Missing>, running: &RunningReads, deadline: Duration) -> ProcessSample {
        let is_late = |key| running.is_late(key, deadline);
        self.facts.time_out(running.now(), || {
            (
                is_late(JobKey::Facts(self.serial)),
                is_late(JobKey::Cmdline(self.serial)),
            )
        });
        let walk_late = || self.is_walking && running.is_late(JobKey::Walk(self.serial), deadline.max(self.took * 2));
        let walk = match fault.or_else(|| self.stat.lacks_memory()) {
            Some(why) => Err(why),
            None if walk_late() => Err(Missing::TimedOut),
            None => self.shown(),
        };
        ProcessSample {
            id: self.id,
            exec: self.exec,
            stat: self.stat,
            facts: Arc::clone(&self.facts.facts),
            walk,
            data: self.data().map(NonZero::get).ok_or(Missing::Pending),
            stale: walk.is_ok_and(|walk| walk.is_uncertain()),
            oom_score: self.oom_score,
            shares_mm: None,
            counted: self.counted(),
            held: self
                .held
                .as_ref()
                .map(|held| held.shown(self.serial, running, deadline)),
        }
    }
}
