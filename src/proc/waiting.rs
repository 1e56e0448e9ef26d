//! The mappings of a process whose pages may never come: those of file systems that a program (FUSE) or another machine serves. A read of
//! such a page waits for that program, and not even SIGKILL ends the wait.

use std::collections::HashSet;

use super::maps::Area;
use super::namespace::{Device, Mounts};

/// The mappings whose pages may never come.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The devices of local file systems, once they are needed.
    local: Option<HashSet<Device>>,
    /// In order of address.
    ranges: Vec<(u64, u64)>,
}

impl Waiting {
    /// Forgets the mappings, before `maps` is read again.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Adds the next mapping of `maps`. Its name does not count, because the process chooses it. `mounts` reads the mounts of the
    /// process, and the device of memfds, which is mounted nowhere.
    pub fn add(&mut self, area: &Area<'_>, mounts: impl FnOnce() -> (Mounts, Option<Device>)) {
        if area.inode == 0 || area.device.0 != 0 {
            return;
        }
        let local = self.local.get_or_insert_with(|| {
            let (mounts, shmem) = mounts();
            let mut local = mounts.local_devices();
            local.extend(shmem);
            local
        });
        if !local.contains(&area.device) {
            self.ranges.push(area.range);
        }
    }

    /// Returns true if a part of the addresses is in such a mapping.
    pub fn holds(&self, address: u64, len: u64) -> bool {
        let end = address.saturating_add(len);
        let next = self.ranges.partition_point(|(_, end)| *end <= address);
        self.ranges.get(next).is_some_and(|(start, _)| *start < end)
    }
}
