//! The mappings of a process in which a read by another process must not cause a page fault.
//!
//! For a page of a file system that a program (FUSE) or another machine serves, the read would wait for that program, and not even SIGKILL
//! ends the wait. For a hole of a file in memory (tmpfs, memfd, System V, hugetlbfs), the kernel would allocate a page and charge it to the
//! cgroup of the process. Of a large file on a disk, a search for data would read hundreds of megabytes.

use std::collections::HashSet;

use super::maps::Area;
use super::namespace::{Device, Mounts};

/// Maximum size of the data of a program or a library, in bytes. Larger mappings are other files.
const MAX_DATA: u64 = 32 << 20;

/// The mappings of which only pages in RAM may be read.
#[derive(Debug, Default)]
pub struct NoFault {
    /// The devices of file systems on local disks, once they are needed.
    disks: Option<HashSet<Device>>,
    /// In order of address.
    ranges: Vec<(u64, u64)>,
}

impl NoFault {
    /// Forgets the mappings, before `maps` is read again.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Adds the next mapping of `maps`, unless it is anonymous, or private and of a program or library on a local disk. Its name does
    /// not count, because the process chooses it. `mounts` reads the mounts of the process.
    pub fn add(&mut self, area: &Area<'_>, mounts: impl FnOnce() -> Mounts) {
        let is_shared = area.permissions[3] == b's';
        if area.inode == 0 && !is_shared {
            return;
        }
        let disks = &mut self.disks;
        let is_on_disk = || {
            // Only disks have a major number.
            area.device.0 != 0
                || disks
                    .get_or_insert_with(|| mounts().disk_devices())
                    .contains(&area.device)
        };
        let (start, end) = area.range;
        let is_large = area.permissions[1] == b'w' && end - start > MAX_DATA;
        if is_shared || is_large || !is_on_disk() {
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
