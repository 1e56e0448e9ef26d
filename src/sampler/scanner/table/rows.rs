//! The rows of a snapshot: two buffers in turn, so that only the rows of touched processes are rebuilt.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::sync::Arc;

use super::{Process, Table};
use crate::model::{Facts, Identity, Missing, ProcessSample, RowChanges, Snapshot, Stat};
use crate::sampler::scanner::job::{JobKey, RunningReads};

/// Fraction of the rows for which room is reserved when rows are added. Both buffers have this room.
const SPARE: usize = 16;

/// The last published rows, and the processes whose rows may have changed since.
#[derive(Default)]
pub(super) struct RowBuffers {
    /// The processes whose rows may differ from the last published ones, without duplicates.
    pub(super) touched: Vec<u32>,
    /// The processes whose rows the last snapshot rebuilt. The buffer before it does not have these changes.
    pub(super) touched_before: Vec<u32>,
    /// The last snapshot, and the one before, whose rows are reused once it has no other owner.
    last: Option<Arc<Snapshot>>,
    before: Option<Arc<Snapshot>>,
    pub(super) sharing: BTreeSet<u32>,
    pub(super) hidden: BTreeSet<u32>,
}

impl Table {
    /// Records that the row of a process may change. Must be called by all code that changes the data of [`Process::row`], or
    /// that starts a read whose delay the row shows. Extra calls do no harm.
    pub(super) fn touch(&mut self, pid: u32) {
        if let Some(entry) = self.entries.get_mut(&pid) {
            entry.touch(pid, &mut self.buffers.touched);
        }
    }

    /// Returns a row for every process, in ascending order of pid, and the differences from the last snapshot if they
    /// are known. The figures of a late read are reported as timed out.
    pub(crate) fn rows(&mut self, running: &RunningReads) -> (Vec<ProcessSample>, Option<RowChanges>) {
        for uid in self.users.time_out(|uid| running.is_late(JobKey::User(uid))) {
            self.set_user(uid, &Err(Missing::TimedOut));
        }
        let late = self
            .containers
            .time_out(|owner| running.is_late(JobKey::Containers(owner)));
        self.set_containers(&late);
        let first = self.first_of_shared();
        self.touch_awaited();
        let (mut rows, stale, last) = self.take_buffer();
        let Some(last) = last.filter(|last| !last.rows().is_empty()) else {
            let pids = self.pids();
            self.buffers.touched.clear();
            // No larger than needed, because the buffer is kept.
            rows = Vec::with_capacity(pids.len());
            rows.extend(pids.iter().filter_map(|pid| self.row(*pid, &first, running)));
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
            let row = self.row(*pid, &first, running);
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
        // Convert pids to row indices.
        changes.rows.retain_mut(|row| {
            let place = find(&rows, *row);
            *row = place.unwrap_or_default() as u32;
            place.is_some()
        });
        self.buffers.touched_before = touched;
        (rows, Some(changes))
    }

    /// Stores the snapshot made of the rows, or that there is none.
    pub(crate) fn set_published(&mut self, snapshot: Option<&Arc<Snapshot>>) {
        if snapshot.is_none() {
            self.buffers.before = None;
            self.buffers.last = None;
        }
        self.buffers.before = std::mem::replace(&mut self.buffers.last, snapshot.cloned());
    }

    /// Returns the last snapshot.
    pub(crate) fn published(&self) -> Option<&Snapshot> {
        self.buffers.last.as_deref()
    }

    /// Returns the rows to update, the processes touched since they were built, and the last snapshot.
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

    /// Touches the processes whose glance has not returned in time. Their rows show that until it has.
    fn touch_awaited(&mut self) {
        for pid in self.glances.asked.drain(..) {
            if let Some(entry) = self.entries.get_mut(&pid).filter(|entry| entry.is_glancing) {
                entry.touch(pid, &mut self.buffers.touched);
            }
        }
    }

    /// Returns the first process of each shared address space. Touches all processes that share one, because their
    /// rows depend on each other.
    fn first_of_shared(&mut self) -> HashMap<u64, Identity> {
        let mut first: HashMap<u64, (Identity, bool)> = HashMap::new();
        let mut sharing = std::mem::take(&mut self.buffers.sharing);
        // In ascending order of pid. The others are shown as sharing with the first process of an address space whose memory is known.
        sharing.retain(|pid| {
            let Some(entry) = self.entries.get_mut(pid) else {
                return false;
            };
            entry.touch(*pid, &mut self.buffers.touched);
            let process = entry.process.as_deref();
            let Some((process, mm)) = process.and_then(|p| Some((p, p.shared_mm?))) else {
                return false;
            };
            // A zombie has released its address space.
            if !process.stat.is_zombie() {
                let is_known = process.own_error.is_ok();
                let known = first.entry(mm).or_insert((process.id, is_known));
                if is_known && !known.1 {
                    *known = (process.id, true);
                }
            }
            true
        });
        self.buffers.sharing = sharing;
        first.into_iter().map(|(mm, (id, _))| (mm, id)).collect()
    }

    /// Returns the row of one process; `None` if it is no longer listed. If something of it is outstanding, touches
    /// it again for the next snapshot.
    fn row(&mut self, pid: u32, first: &HashMap<u64, Identity>, running: &RunningReads) -> Option<ProcessSample> {
        let entry = self.entries.get_mut(&pid)?;
        entry.is_touched = false;
        let Some(process) = &mut entry.process else {
            let is_late = running.is_late(JobKey::Glances(entry.serial));
            let pending = if is_late { Missing::TimedOut } else { Missing::Pending };
            let row = unseen(pid, entry.fault.unwrap_or(pending));
            entry.touch(pid, &mut self.buffers.touched);
            return Some(row);
        };
        let mut row = process.row(entry.fault, running);
        // A glance was requested and has not returned, so the bound on its error is outdated.
        entry.is_late = entry.is_glancing;
        row.stale |= entry.is_late && row.walk.is_ok();
        if let Some(mm) = process.shared_mm.filter(|_| !row.stat.is_zombie()) {
            row.shares_mm = first.get(&mm).copied().filter(|id| *id != row.id);
        }
        let is_reading_held = process.held.as_ref().is_some_and(|held| held.is_reading);
        if process.is_walking || process.facts.waits() || is_reading_held {
            entry.touch(pid, &mut self.buffers.touched);
        }
        Some(row)
    }
}

/// Changes of rows that are sorted by pid. Replacements are applied at once, because a list of them could be as large
/// as all rows.
#[derive(Default)]
struct Edit {
    gone: Vec<u32>,
    new: Vec<ProcessSample>,
}

impl Edit {
    fn put(&mut self, rows: &mut [ProcessSample], pid: u32, row: Option<ProcessSample>) {
        match (rows.binary_search_by_key(&pid, |row| row.id.pid), row) {
            (Ok(at), Some(row)) => rows[at] = row,
            (Ok(_), None) => self.gone.push(pid),
            (Err(_), Some(row)) => self.new.push(row),
            (Err(_), None) => {}
        }
    }

    /// Removes and inserts rows. Rows before the first change stay in place.
    fn finish(mut self, rows: &mut Vec<ProcessSample>) {
        self.gone.sort_unstable();
        if let Some(first) = self.gone.first() {
            let from = rows.partition_point(|row| row.id.pid < *first);
            let is_gone = |row: &mut ProcessSample| self.gone.binary_search(&row.id.pid).is_ok();
            rows.extract_if(from.., is_gone).for_each(drop);
            if rows.capacity() > 4 * rows.len() + 1024 {
                rows.shrink_to_fit();
            }
        }
        self.new.sort_unstable_by_key(|row| row.id.pid);
        let mut from = rows.len();
        if rows.capacity() - from < self.new.len() {
            rows.reserve_exact(self.new.len() + from / SPARE);
        }
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

/// Returns the row of a listed pid that cannot be glanced at. It holds only the reason.
fn unseen(pid: u32, why: Missing) -> ProcessSample {
    let id = Identity { pid, starttime: 0 };
    let mut row = ProcessSample::unread(id, Arc::new(Facts::unread(b"?", why)), why);
    row.stat.state = Stat::UNKNOWN_STATE;
    row
}

impl Process {
    /// Returns the state that a glance may change and that the row depends on.
    pub(super) fn glance_state(&self) -> impl PartialEq + use<> {
        (
            self.stat,
            self.oom_score,
            (self.peak, self.page_tables),
            self.walk(),
            self.data(),
            self.counted(),
            Arc::as_ptr(&self.facts.facts) as usize,
        )
    }

    /// Returns the size of its private writable address space, touched or not, if that was read.
    fn data(&self) -> Option<NonZero<u64>> {
        self.estimates.counters.resident.and_then(|kinds| kinds.data)
    }

    /// Returns its row. The figures of a late read are reported as timed out. A walk may take twice as long as the
    /// last one, so that a huge process is not reported as stuck at each walk.
    fn row(&mut self, fault: Option<Missing>, running: &RunningReads) -> ProcessSample {
        let is_late = |key: fn(u64) -> JobKey| running.is_late(key(self.serial));
        self.facts
            .time_out(running.now, || (is_late(JobKey::Facts), is_late(JobKey::Cmdline)));
        let allowed = running.deadline.max(self.took * 2);
        let walk_late = || self.is_walking && running.is_silent(JobKey::Walk(self.serial), allowed);
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
            peak: self.peak,
            page_tables: self.page_tables,
            shares_mm: None,
            counted: self.counted(),
            held: self.held.as_ref().map(|held| held.shown(self.serial, running)),
        }
    }
}
