//! Memory that cgroups are charged for and that is in no process: shared memory and tmpfs that nobody maps, and the kernel's memory.
//!
//! If it fills a cgroup, no process has grown. The cgroups with a limit are remembered for ten minutes, so that an OOM kill is
//! not put down to a process.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::account::SHMEM;
use crate::account::headroom::is_within;
use crate::group::PartKey;
use crate::model::CgroupFigures;
use crate::model::snapshot::Snapshot;

/// Time between two values that are remembered, and their number.
const STEP: Duration = Duration::from_secs(20);
const VALUES: usize = 31;
/// Maximum number of cgroups that are remembered, those with most of it.
const MAX_CGROUPS: usize = 256;
/// Minimum share of the limit to be remembered.
const MIN_SHARE: u64 = 1024;

/// The kinds of such memory.
pub static KINDS: [PartKey; 2] = [
    PartKey::whole(SHMEM, "shared memory and tmpfs"),
    PartKey::whole("kernel", "the kernel's memory"),
];

/// Returns the bytes of each of [`KINDS`].
fn bytes_of(figures: &CgroupFigures) -> [u64; 2] {
    [figures.shmem, figures.kernel].map(|bytes| bytes.unwrap_or(0))
}

/// The path of a cgroup, and the bytes of each of [`KINDS`].
type Charge = (Arc<[u8]>, [u64; 2]);

/// The values of one moment.
#[derive(Clone, Debug)]
struct Moment {
    at: Duration,
    /// In order of path.
    cgroups: Box<[Charge]>,
    /// There were more of them.
    is_cut: bool,
}

impl Moment {
    fn of(snapshot: &Snapshot) -> Self {
        let mut cgroups: Vec<Charge> = snapshot
            .cgroups
            .iter()
            .filter_map(|(path, figures)| {
                let (limit, _) = figures.ceiling()?;
                let bytes = bytes_of(figures);
                let is_large = bytes[0].max(bytes[1]) >= (limit / MIN_SHARE).max(1);
                is_large.then(|| (Arc::clone(path), bytes))
            })
            .collect();
        let is_cut = cgroups.len() > MAX_CGROUPS;
        if is_cut {
            cgroups.sort_unstable_by_key(|(_, bytes)| std::cmp::Reverse(bytes[0].max(bytes[1])));
            cgroups.truncate(MAX_CGROUPS);
            cgroups.sort_unstable();
        }
        Self {
            at: snapshot.monotonic,
            cgroups: cgroups.into(),
            is_cut,
        }
    }

    /// Returns the values of a cgroup, 0 if they were small; `None` if that is not known.
    fn get(&self, path: &[u8]) -> Option<[u64; 2]> {
        match self.cgroups.binary_search_by(|(known, _)| (**known).cmp(path)) {
            Ok(at) => Some(self.cgroups[at].1),
            Err(_) => (!self.is_cut).then_some([0; 2]),
        }
    }
}

/// The memory of limited cgroups that is in no process, over the last ten minutes.
#[derive(Clone, Debug, Default)]
pub struct Charged {
    /// The oldest first.
    moments: VecDeque<Moment>,
    /// The last snapshot's.
    last: Option<Moment>,
}

impl Charged {
    pub(super) fn push(&mut self, snapshot: &Snapshot) {
        let now = Moment::of(snapshot);
        let is_due = |last: &Moment| now.at.saturating_sub(last.at) >= STEP;
        if self.moments.back().is_none_or(is_due) {
            if self.moments.len() == VALUES {
                self.moments.pop_front();
            }
            self.moments.push_back(now.clone());
        }
        self.last = Some(now);
    }

    /// Returns the memory that it needs, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let of_each = |moment: &Moment| size_of::<Moment>() + size_of_val(&*moment.cgroups);
        self.moments.iter().chain(&self.last).map(of_each).sum()
    }

    /// Returns the values of one of [`KINDS`] from `at` back, with their times, in bytes, the newest first.
    pub fn values<'a>(
        &'a self,
        path: &'a [u8],
        kind: usize,
        at: Duration,
    ) -> impl Iterator<Item = (Duration, u64)> + Clone + 'a {
        let newest = self.last.iter().chain(self.moments.iter().rev());
        let values = newest.map_while(move |moment| Some((moment.at, moment.get(path)?[kind])));
        values.filter(move |(time, _)| *time <= at)
    }

    /// Returns the growth of each of [`KINDS`] within `span`, in bytes. What the cgroup had in the snapshot before counts, too: the memory of a
    /// process that was killed is gone.
    pub(super) fn growth(&self, snapshot: &Snapshot, path: &[u8], span: Duration) -> [u64; 2] {
        let now = snapshot.monotonic;
        let most = in_no_process(snapshot, path, self.last.as_ref().and_then(|last| last.get(path)));
        [0, 1].map(|kind| {
            let within = self
                .values(path, kind, now)
                .take_while(|(at, _)| now.saturating_sub(*at) <= span + STEP);
            let least = within.map(|(_, bytes)| bytes).min();
            least.map_or(0, |least| most[kind].1.saturating_sub(least).min(most[kind].0))
        })
    }
}

/// Returns how much of each of [`KINDS`] is in no process, at least, and all of it, in bytes: what the cgroup has now, or had `before` if that was more.
pub fn in_no_process(snapshot: &Snapshot, path: &[u8], before: Option<[u64; 2]>) -> [(u64, u64); 2] {
    let now = snapshot.cgroups.get(path).map_or([0; 2], bytes_of);
    let before = before.unwrap_or_default();
    let [shmem, kernel] = [0, 1].map(|kind| now[kind].max(before[kind]));
    let below = snapshot.rows().iter().filter(|row| {
        let own = row.facts.cgroup.as_deref();
        own.is_ok_and(|own| is_within(own, path)) && row.shares_mm.is_none()
    });
    // What a process maps is not known before it is read.
    let mapped = below.map(|row| row.memory().and_then(|memory| memory.pss_shmem).unwrap_or(row.stat.rss));
    let mapped = mapped.fold(0, u64::saturating_add);
    [(shmem.saturating_sub(mapped), shmem), (kernel, kernel)]
}
