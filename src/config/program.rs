//! Finds the programs of alerts, and rejects those that anyone but this user and root can change.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Stat};
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
    /// Others can change it. The text describes what and how, safe to print.
    #[error("{0}")]
    Distrusted(String),
}

/// Returns the absolute path of the program of a command. A plain name is searched in `path`.
///
/// The program, the interpreter that its first line names, and each argument that is the absolute path of a file, such
/// as a script for a shell, are checked as the config is: only this user and root can change the file, the directories
/// above it and the symbolic links on its path. Nobody else can replace one between this check and the program's start.
///
/// # Errors
/// The program does not exist, or others can change it.
pub fn find(command: &[String], path: Option<&OsStr>) -> Result<PathBuf, Unfit> {
    let words: Vec<&OsStr> = command.iter().map(OsStr::new).collect();
    find_nested(&words, path.unwrap_or(OsStr::new(USUAL_PATH)), 0)
}

/// The maximum number of programs that run one another: the interpreter of a script, the program that `env` runs. The
/// kernel allows 5 nested interpreters.
const MAX_NESTED: usize = 10;

fn find_nested(command: &[&OsStr], path: &OsStr, depth: usize) -> Result<PathBuf, Unfit> {
    let Some((name, arguments)) = command.split_first() else {
        return Err(io::Error::from(Errno::NOENT).into());
    };
    let found = if name.as_bytes().contains(&b'/') {
        std::path::absolute(name)?
    } else {
        search(name, path)?
    };
    let place = trust::follow(&found, Purpose::Judge)?;
    let Some(stat) = place.stat else {
        return Err(io::Error::from(Errno::NOENT).into());
    };
    if let Some(doubt) = place.doubt {
        return Err(Unfit::Distrusted(doubt));
    }
    if !is_regular(&stat) {
        return Err(io::Error::other("is no regular file").into());
    }
    rustix::fs::accessat(CWD, &found, Access::EXEC_OK, AtFlags::empty()).map_err(io::Error::from)?;
    if depth < MAX_NESTED {
        if let Some(line) = interpreter_line(&found) {
            find_nested(&words(&line), path, depth + 1)?;
        }
        if found.file_name() == Some(OsStr::new("env")) {
            let is_program = |word: &&OsStr| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'=');
            let at = arguments.iter().position(is_program).unwrap_or(arguments.len());
            // An option's value is no program, so ignore what is not found.
            if let Err(doubt @ Unfit::Distrusted(_)) = find_nested(&arguments[at..], path, depth + 1) {
                return Err(doubt);
            }
        }
    }
    for argument in arguments {
        // A shell's `-c` is followed by a command, which may be a file and its arguments.
        let command = words(argument.as_bytes()).into_iter().next();
        for file in [Some(*argument), command].into_iter().flatten() {
            if let Some(doubt) = doubt_of_file(Path::new(file)) {
                return Err(Unfit::Distrusted(doubt));
            }
        }
    }
    Ok(found)
}

/// Returns the reason not to trust a regular file with this absolute path. `None` for anything else.
fn doubt_of_file(path: &Path) -> Option<String> {
    let place = trust::follow(path.is_absolute().then_some(path)?, Purpose::Judge).ok()?;
    place.stat.filter(is_regular).and(place.doubt)
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Returns the text after `#!` in the first line of a script, as far as the kernel reads it.
fn interpreter_line(script: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(script).ok()?.take(256).read_to_end(&mut head).ok()?;
    let line = head.split(|byte| *byte == b'\n').next()?;
    Some(line.strip_prefix(b"#!")?.to_vec())
}

fn words(line: &[u8]) -> Vec<&OsStr> {
    let words = line.split(u8::is_ascii_whitespace);
    words.filter(|word| !word.is_empty()).map(OsStr::from_bytes).collect()
}

fn search(name: &OsStr, path: &OsStr) -> io::Result<PathBuf> {
    let is_program =
        |path: &Path| path.is_file() && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::empty()).is_ok();
    // As in execvp(3), an empty entry means the current directory.
    std::env::split_paths(path)
        .filter_map(|directory| std::path::absolute(directory.join(name)).ok())
        .find(|path| is_program(path))
        .ok_or_else(|| Errno::NOENT.into())
}
