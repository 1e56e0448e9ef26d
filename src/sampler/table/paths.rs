//! The paths of cgroups, each kept once: thousands of processes are in some dozen.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::Reading;
use crate::sampler::job::CgroupMembership;

/// The paths that somebody holds, and at most as many again that nobody does any more.
#[derive(Default)]
pub(super) struct SharedPaths {
    all: HashSet<Arc<[u8]>>,
    /// The number from which those that nobody holds are dropped.
    limit: usize,
}

impl SharedPaths {
    /// The least number to look through for such as nobody holds.
    const LEAST: usize = 64;

    /// Returns the same cgroup with its path as it is kept.
    pub(super) fn keep(&mut self, found: Reading<CgroupMembership>) -> Reading<CgroupMembership> {
        let mut found = found?;
        if let Some(known) = self.all.get(&found.path) {
            found.path = Arc::clone(known);
            return Ok(found);
        }
        if self.all.len() >= self.limit {
            self.all.retain(|path| Arc::strong_count(path) > 1);
            self.limit = self.all.len() * 2 + Self::LEAST;
        }
        self.all.insert(Arc::clone(&found.path));
        Ok(found)
    }
}
