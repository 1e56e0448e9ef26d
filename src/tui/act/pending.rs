//! The actions that were sent and whose results are not known.

use std::collections::VecDeque;

use crate::act::RequestId;
use crate::model::Identity;

/// Maximum number of pending actions: a key that repeats must not fill the memory. Of those before, no results are
/// shown.
const MAX_PENDING: usize = 64;

/// An action whose result is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingAction {
    pub(super) request: RequestId,
    /// The name of its processes.
    pub(super) name: String,
    /// Its processes, in the order in which they were pinned.
    pub(super) processes: Vec<Identity>,
}

/// The pending actions, and the last request.
#[derive(Debug, Default)]
pub struct PendingActions {
    last_request: RequestId,
    actions: VecDeque<PendingAction>,
}

impl PendingActions {
    /// Returns a new request id.
    pub(super) const fn next_request(&mut self) -> RequestId {
        self.last_request += 1;
        self.last_request
    }

    /// Adds an action.
    pub(super) fn add(&mut self, action: PendingAction) {
        if self.actions.len() == MAX_PENDING {
            self.actions.pop_front();
        }
        self.actions.push_back(action);
    }

    /// Returns the first action of a request.
    pub(super) fn get(&self, request: RequestId) -> Option<&PendingAction> {
        self.actions.iter().find(|action| action.request == request)
    }

    /// Removes the actions of a request.
    pub(super) fn remove(&mut self, request: RequestId) {
        self.actions.retain(|action| action.request != request);
    }
}
