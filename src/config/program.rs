//! Finds the programs of alerts, and rejects those that anyone but this user and root can change.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use super::trust::{self, Purpose};

/// The directories to search if `PATH` is not set.
const USUAL_PATH: &str = "/bin:/usr/bin";

/// The reason not to run a program.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// The program does not exist or cannot be reached.
    #[error(transparent)]
    Absent(#[from] io::Error),
    /// Others can change it. The text says what and how, safe to print.
    #[error("{0}")]
    Distrusted(String),
}

/// Returns the absolute path of a program. A plain name is searched in `path`.
///
/// The file, the directories above it and the symbolic links on its path are checked as for the config: only
/// this user and root can change them. Nobody else can replace the program between this check and its start.
///
/// # Errors
/// The program does not exist, or others can change it.
pub fn find(name: &str, path: Option<&OsStr>) -> Result<PathBuf, Unfit> {
    let found = if name.contains('/') {
        std::path::absolute(name)?
    } else {
        search(name, path.unwrap_or(OsStr::new(USUAL_PATH)))?
    };
    let place = trust::follow(&found, Purpose::Judge)?;
    if place.stat.is_none() {
        return Err(io::Error::from(Errno::NOENT).into());
    }
    place.doubt.map_or(Ok(found), |doubt| Err(Unfit::Distrusted(doubt)))
}

fn search(name: &str, path: &OsStr) -> io::Result<PathBuf> {
    let is_program =
        |path: &Path| path.is_file() && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::empty()).is_ok();
    // As in execvp(3), an empty entry means the current directory.
    std::env::split_paths(path)
        .filter_map(|directory| std::path::absolute(directory.join(name)).ok())
        .find(|path| is_program(path))
        .ok_or_else(|| Errno::NOENT.into())
}
