//! The history that is kept from one start to the next, whatever lies in its place.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::support::pty::{Pty, ZMTOP, signal};

const MAGIC: &[u8] = b"zmtop history 3\n";

/// A home of its own for several runs; where the history is kept in it.
fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".local/state/zmtop");
    fs::create_dir_all(folder.join("started")).unwrap();
    (home, folder.join("history"))
}

/// Runs zmtop in it until the table is there.
fn started(home: &Path, args: &[&str]) -> Pty {
    let pty = Pty::run((120, 30), ZMTOP, args, &[("HOME", home.to_str().unwrap())]);
    pty.wait_for_table();
    pty
}

/// Quits; what is on the terminal then.
#[track_caller]
fn quit(mut pty: Pty) -> String {
    pty.send("q");
    assert_eq!(pty.exit_code(), 0, "{}", pty.text());
    pty.wait("the main screen", |screen| !screen.contains("COMMAND"));
    pty.text()
}

#[test]
fn a_start_goes_on_from_the_last_one() {
    let (home, file) = home();
    assert_eq!(quit(started(home.path(), &[])).trim(), "");
    let first = fs::read(&file).unwrap();
    assert!(first.starts_with(MAGIC));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    // Nothing is left beside it.
    let names = fs::read_dir(file.parent().unwrap()).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["history", "started"]);
    for kind in [Signal::TERM, Signal::HUP] {
        fs::remove_file(&file).unwrap();
        let mut pty = started(home.path(), &[]);
        signal(pty.pid(), kind);
        pty.exit_code();
        assert!(fs::read(&file).unwrap().starts_with(MAGIC), "{kind:?}");
    }
    // Two at once.
    let two = [(); 2].map(|()| started(home.path(), &[]));
    for one in two {
        quit(one);
    }
    assert!(fs::read(&file).unwrap().starts_with(MAGIC));
    assert!(!quit(started(home.path(), &[])).contains("history"));
}

#[test]
fn nothing_is_kept_where_that_is_not_wanted() {
    let (home, file) = home();
    let config = home.path().join("config.toml");
    fs::write(&config, "[history]\nkeep = false\n").unwrap();
    quit(started(home.path(), &["--config", config.to_str().unwrap()]));
    assert!(!file.exists());
    // Another tree is another machine.
    let tree = home.path().join("proc");
    symlink("/proc", &tree).unwrap();
    quit(started(home.path(), &["--proc-root", tree.to_str().unwrap()]));
    assert!(!file.exists());
}

#[test]
fn whatever_lies_there_is_harmless() {
    type Case = (&'static str, fn(&Path), &'static str, bool);
    // Not said again in the end, where that was the reason, too.
    let cases: [Case; 7] = [
        ("another file", |at| fs::write(at, "hello").unwrap(), "no history", true),
        ("half of one", |at| fs::write(at, MAGIC).unwrap(), "damaged", true),
        (
            "a later version",
            |at| fs::write(at, "zmtop history 99\n…").unwrap(),
            "another version",
            true,
        ),
        (
            "far too much",
            |at| fs::File::create(at).unwrap().set_len(100 << 30).unwrap(),
            "larger",
            true,
        ),
        ("a folder", |at| fs::create_dir(at).unwrap(), "a directory", false),
        (
            "a FIFO",
            |at| {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                rustix::fs::mkfifoat(rustix::fs::CWD, at, mode).unwrap();
            },
            "a FIFO",
            false,
        ),
        (
            "a link to a device",
            |at| symlink("/dev/zero", at).unwrap(),
            "a device",
            false,
        ),
    ];
    for (what, make, said, is_replaced) in cases {
        let (home, file) = home();
        make(&file);
        let pty = started(home.path(), &[]);
        pty.wait(what, |screen| {
            screen.contains("history not read back") && screen.contains(said)
        });
        let after = quit(pty);
        assert!(!after.contains("history"), "{what}: {after}");
        let is_ours = fs::metadata(&file).is_ok_and(|meta| meta.is_file())
            && fs::read(&file).is_ok_and(|bytes| bytes.starts_with(MAGIC));
        assert_eq!(is_ours, is_replaced, "{what}");
    }
}

#[test]
fn a_home_that_takes_nothing_is_said_once() {
    // No folder can be made there, not even by root.
    let pty = started(Path::new("/proc"), &[]);
    let said = quit(pty);
    assert_eq!(said.matches("history not kept").count(), 1, "{said}");
    // Where there is no home, none is made.
    let home = tempfile::tempdir().unwrap();
    let absent = home.path().join("absent");
    let said = quit(started(&absent, &[]));
    assert!(
        !said.contains("history") && !absent.join(".local/state/zmtop/history").exists(),
        "{said}"
    );
}
