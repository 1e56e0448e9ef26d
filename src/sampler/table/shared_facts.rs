//! Facts that processes have in common: hundreds of workers differ in nothing that a row tells of them.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::Table;
use crate::model::Facts;

/// The facts taken in last. Those that come again are kept once.
pub(super) struct SharedFacts {
    recent: [Option<Arc<Facts>>; Self::SLOTS],
    hasher: RandomState,
}

impl Default for SharedFacts {
    fn default() -> Self {
        Self {
            recent: [const { None }; Self::SLOTS],
            hasher: RandomState::new(),
        }
    }
}

impl SharedFacts {
    /// More than there are kinds of workers started at the same time.
    const SLOTS: usize = 64;

    /// Takes the same facts in place of `facts`, where they came lately.
    pub(super) fn share(&mut self, facts: &mut Arc<Facts>) {
        let slot = self.hasher.hash_one(&**facts) as usize % Self::SLOTS;
        match &mut self.recent[slot] {
            Some(known) if *known == *facts => *facts = Arc::clone(known),
            other => *other = Some(Arc::clone(facts)),
        }
    }
}

impl Table {
    /// Keeps the facts of a process, which may have changed, once with those of others that are the same.
    pub(super) fn share_facts(&mut self, pid: u32) {
        let process = self.entries.get_mut(&pid).and_then(|e| e.process.as_deref_mut());
        if let Some(process) = process {
            self.shared_facts.share(&mut process.facts.facts);
        }
    }
}
