//! The limit on open files, and how it is shared out.

use rustix::process::{Resource, getrlimit};

/// The part of the limit that is left for acting on processes: holding files of those that are sampled only saves
/// time, and acting on one that is not held is not safe.
const ACTING_SHARE: u64 = 4;
/// Descriptors beyond which no more are left for acting.
const MAX_ACTING: u64 = 2000;

/// Returns the number of descriptors that are left for acting on processes.
pub fn for_acting() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    let share = limit.map_or(MAX_ACTING, |limit| (limit / ACTING_SHARE).min(MAX_ACTING));
    usize::try_from(share).unwrap_or(usize::MAX)
}
