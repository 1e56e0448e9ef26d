//! Takes in lists of processes.

use std::collections::btree_map;
use std::time::Duration;

use super::{Entry, Table};
use crate::proc::pids::PidList;

impl Table {
    /// Takes in a list of processes and forgets what it would tell of and does not. `reused` tells the pids that may have
    /// been given to another process since they were listed.
    pub(in crate::sampler) fn set_list(&mut self, list: &PidList, reused: impl Fn(u32) -> bool) {
        self.list += 1;
        for pid in &list.pids {
            match self.entries.entry(*pid) {
                btree_map::Entry::Occupied(_) if !reused(*pid) => continue,
                btree_map::Entry::Occupied(_) => {}
                btree_map::Entry::Vacant(slot) => {
                    self.serial += 1;
                    self.buffers.touched.push(*pid);
                    self.glances.set_threads(0, 1);
                    slot.insert(Entry::new(self.serial));
                }
            }
            self.glances.unseen.push(*pid);
        }
        if self.list == 1 {
            // Filled one by one in order of pid, its nodes stay half empty.
            self.entries = std::mem::take(&mut self.entries).into_iter().collect();
        }
        let known = self.entries.range(list.range.clone()).map(|(pid, _)| *pid);
        let gone: Vec<u32> = known.filter(|pid| list.pids.binary_search(pid).is_err()).collect();
        for pid in gone {
            self.forget(pid);
        }
    }

    /// Forgets a process that has ended.
    pub(super) fn forget(&mut self, pid: u32) {
        let Some(entry) = self.entries.remove(&pid) else { return };
        self.glances.set_faults(entry.faults, 0);
        self.glances.set_threads(entry.threads, 0);
        self.glances.ended.push(pid);
        self.buffers.touched.push(pid);
        if let Some(mut process) = entry.process {
            process.sharing.leave(&mut self.sharing);
        }
    }

    /// Returns the pids known, in order.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.entries.keys().copied().collect()
    }
}

impl Entry {
    /// Creates the entry of a pid that was listed, and is to be glanced at. It has one thread at least.
    const fn new(serial: u64) -> Self {
        Self {
            serial,
            is_glancing: false,
            is_late: false,
            fault: None,
            process: None,
            is_touched: true,
            clock: None,
            glanced_at: Duration::ZERO,
            faults: 0,
            threads: 1,
            ppid: 0,
        }
    }
}
