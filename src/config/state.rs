//! The state folder: what zmtop keeps for its user from one start to the next.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::{Env, atomic, file, trust};

/// The file that says that zmtop was started before.
const STARTED: &str = "started";
/// The file that the history is kept in.
const HISTORY: &str = "history";

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

/// Returns the file that the history is kept in; `None` where there is no place for it. No home is made for it.
pub fn history_file(env: &Env) -> Option<PathBuf> {
    let file = env.state_folder()?.join(HISTORY);
    let home = Path::new(env.home.as_deref().unwrap_or_default());
    (home.is_dir() || !file.starts_with(home)).then_some(file)
}

/// Reads a file of the state folder that could be anything, of so many bytes at most; `None` if there is none. Never
/// blocks.
///
/// # Errors
/// It cannot be read, is too large or not a regular file; or it is root who reads it, and others can change it.
pub fn read(path: &Path, max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut file = match file::open(path) {
        Ok(file) => file,
        Err(error) if file::absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    if let Some(kind) = file::not_regular(kind) {
        return Err(io::Error::other(format!("is {kind}, not a regular file")));
    }
    if rustix::process::geteuid().is_root()
        && let Some(doubt) = trust::doubt(&file, path)
    {
        return Err(io::Error::other(doubt));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("is larger than the {max} bytes allowed")));
    }
    Ok(Some(bytes))
}
