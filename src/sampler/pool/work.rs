//! The work that a pool does, and how it is queued.

use std::hash::Hash;
use std::time::Duration;

use super::Worker;

/// A read, as the pool sees it.
pub(in crate::sampler) trait Work: Sized + Send + 'static {
    /// Data that all reads of a pool share.
    type Context: Send + Sync + 'static;
    /// Names what is read; the caller never submits two reads of one key at once.
    type Key: Copy + Eq + Hash + Send + 'static;
    /// The result of a read.
    type Output: Send + 'static;

    /// Returns what is read.
    fn key(&self) -> Self::Key;

    /// Returns the queue it waits in, and about how long it takes, which tells how many threads are worth waking.
    fn profile(&self) -> (Priority, Duration);

    /// Returns true if [`Pool::arrival`] is to return as soon as this is done, though more is being read.
    fn is_announced(&self) -> bool {
        false
    }

    /// Performs the read, and tells the `worker` where it goes on.
    fn run(self, context: &Self::Context, buf: &mut [u8], worker: &Worker<'_, Self>) -> Self::Output;
}

/// The queue a job waits in, by what its read may do to the others. The first goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sampler) enum Priority {
    /// Without these there is no result. One thread is always left for them.
    Urgent,
    /// Reads that are known to return.
    Known,
    /// Reads that were never tried: they may never return.
    New,
    /// Reads that take longest or may wait on anyone: command lines, the name service.
    Background,
}

impl Priority {
    pub(super) const COUNT: usize = Self::Background as usize + 1;
}

/// The jobs that are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sampler) enum Scope {
    /// Only [`Priority::Urgent`].
    Urgent,
    /// All.
    All,
}

impl Scope {
    /// Returns true if a read of that priority is waited for.
    pub(super) fn covers(self, priority: Priority) -> bool {
        self == Self::All || priority == Priority::Urgent
    }
}
