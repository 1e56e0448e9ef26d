//! The jobs of the scanner. Each is a key, a priority and a closure. The closure runs on a reader thread and returns an
//! update, which the [`Scanner`] then applies to itself.
//!
//! To add a kind of read, make its [`job`] where its turn comes, with a new [`JobKey`].

use std::collections::HashMap;
use std::time::Duration;

use super::Scanner;
use crate::proc::accounting::AccountingFile;
use crate::proc::system::SystemFile;
use crate::sampler::reading::Context;
use crate::sampler::reading::pool::{self, Priority, Reader};
use crate::sampler::reading::walk::WalkRequest;

/// Identifies a read. A process is identified by its serial number in the table; a batch, by its first process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum JobKey {
    List,
    System(SystemFile),
    Scope,
    Inspected,
    Accounting(AccountingFile),
    MemoryMounts,
    MemoryMount(u64),
    Slab,
    AllocSites,
    OomKills,
    /// A process by the name of a daemon that kills, and its exec.
    Killer(u32, u32),
    Glances(u64),
    Walk(u64),
    Facts(u64),
    Members(u32),
    Cmdline(u64),
    Exe(u64),
    ExeLinks(u64),
    /// A comparison of address spaces, by its number.
    AddressSpaces(u32),
    User(u32),
    /// The names of a user's containers.
    Containers(u32),
    Mounts,
    Cgroups(u64),
    CloseLook(u32),
    Heap(u32),
    Mapped(u32),
    Held(u64),
    DescriptorCounts(u64),
}

pub(super) type Job = pool::Job<JobKey, Read>;
pub(super) type Pool = pool::Pool<JobKey, Read, Update>;

pub(super) type Update = Box<dyn FnOnce(&mut Scanner) + Send>;

pub(super) enum Read {
    /// A walk. It is not boxed, because there may be one for each process in each tick.
    Walk(WalkRequest),
    Other(BoxedRead),
}

type BoxedRead = Box<dyn FnOnce(&Context, &mut Reader<'_>) -> Update + Send>;

impl Read {
    pub(super) fn run(self, context: &Context, reader: &mut Reader<'_>) -> Update {
        match self {
            Self::Walk(request) => {
                let share = context.shares.begin(&request.process.target, &context.roots);
                let result = share.map(|_share| request.walk(context, reader.buf));
                Box::new(move |scanner| scanner.walked(&request, result.as_ref()))
            }
            Self::Other(read) => read(context, reader),
        }
    }
}

impl JobKey {
    const fn priority(self) -> Priority {
        match self {
            Self::Inspected
            | Self::Accounting(_)
            | Self::Slab
            | Self::AllocSites
            | Self::OomKills
            | Self::Mounts
            | Self::Cgroups(_)
            | Self::Facts(_)
            | Self::Members(_) => Priority::Kernel,
            _ => Priority::Background,
        }
    }
}

/// Creates a job in the background that applies what `read` returns with `apply`. The expected time in µs was measured
/// on a laptop.
pub(super) fn job<T: Send + 'static>(
    key: JobKey,
    micros: u64,
    read: impl FnOnce(&Context, &mut Reader<'_>) -> T + Send + 'static,
    apply: impl FnOnce(&mut Scanner, T) + Send + 'static,
) -> Job {
    let read = Read::Other(Box::new(move |context, reader| {
        let found = read(context, reader);
        Box::new(move |scanner| apply(scanner, found))
    }));
    Job::new(key, key.priority(), Duration::from_micros(micros), read)
}

/// The reads in progress at one moment.
pub(super) struct RunningReads {
    /// When each last made progress.
    pub(super) since: HashMap<JobKey, Duration>,
    pub(super) now: Duration,
    /// Time after which a silent read is late.
    pub(super) deadline: Duration,
}

impl RunningReads {
    pub(super) fn is_late(&self, key: JobKey) -> bool {
        self.is_silent(key, self.deadline)
    }

    /// Returns true if a read is in progress and has been silent for longer than `allowed`.
    pub(super) fn is_silent(&self, key: JobKey, allowed: Duration) -> bool {
        let since = self.since.get(&key);
        since.is_some_and(|since| self.now.saturating_sub(*since) > allowed)
    }

    pub(super) fn count_late(&self) -> usize {
        self.since.keys().filter(|key| self.is_late(**key)).count()
    }
}
