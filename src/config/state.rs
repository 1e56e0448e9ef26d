//! The state folder: what zmtop keeps for its user from one start to the next.

use super::{Env, atomic};

/// The file that says that zmtop was started before.
const STARTED: &str = "started";

/// Returns true at the first start for this user, when nothing is in the state folder; from then on something is, where
/// the folder can be written to.
pub fn is_first_start(env: &Env) -> bool {
    let Some(folder) = env.state_folder() else { return true };
    let is_empty = std::fs::read_dir(&folder).map_or(true, |mut files| files.next().is_none());
    if is_empty {
        // Where that is not to be done, the next start is the first one, too.
        let _ = atomic::replace(&folder.join(STARTED), |_| Ok(()));
    }
    is_empty
}
