//! The history that is kept from one start to the next, whatever lies in its place.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use zmtop::history::History;
use zmtop::sampler::{Options, Scanner};
use zmtop::source::Source;

use super::fill_output;
use crate::support::pty::{ESC, Pty, ZMTOP, is_stuck_in_write, signal};
use crate::support::{Owned, block_on};

const MAGIC: &[u8] = b"\x5a\x2a\x4d\x18\x60\0\0\0zmtophis";

/// A home of its own for several runs; where the history is kept in it.
pub(super) fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".local/state/zmtop");
    fs::create_dir_all(folder.join("started")).unwrap();
    let folder = folder.join("blackbox");
    fs::create_dir(&folder).unwrap();
    (home, folder.join("history"))
}

/// Runs zmtop in it until the table is there.
pub(super) fn started(home: &Path, args: &[&str]) -> Pty {
    let pty = Pty::run((120, 30), ZMTOP, args, &[("HOME", home.to_str().unwrap())]);
    pty.wait_for_table();
    pty
}

/// Quits; what is on the terminal then.
#[track_caller]
fn quit(mut pty: Pty) -> String {
    pty.send("q");
    assert_eq!(pty.exit_code(), 0, "{}", pty.text());
    pty.wait_for_end();
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
    assert_eq!(names_beside(&file), ["history"]);
    for kind in [Signal::TERM, Signal::HUP] {
        fs::remove_file(&file).unwrap();
        let mut pty = started(home.path(), &[]);
        signal(pty.pid(), kind);
        pty.exit_code();
        assert!(fs::read(&file).unwrap().starts_with(MAGIC), "{kind:?}");
    }
    // Two at once. The first records.
    let two = [(); 2].map(|()| started(home.path(), &[]));
    let before = recorded(&file);
    two[1].wait("more snapshots", |_| recorded(&file) > before + 3);
    assert_eq!(two.each_ref().map(records), [true, false]);
    for one in two {
        quit(one);
    }
    assert!(fs::read(&file).unwrap().starts_with(MAGIC));
    assert!(!quit(started(home.path(), &[])).contains("history"));
}

/// A leak that the screen shows is in the file within seconds, for commands that look once: the file is written every minute
/// anyway, and this one is replaced before.
/// Returns a history of the last five minutes, in which this process has grown steadily to what it holds. A machine that has just
/// started has no such past.
pub(super) fn history_of_growth(pid: u32) -> Option<Vec<u8>> {
    let now = block_on(Scanner::new(&Options::new(None)).full());
    let known = Duration::from_secs(300);
    let began = now.monotonic.checked_sub(known)?;
    let mut last = (*now).clone();
    last.processes.as_mut().unwrap().retain(|row| row.id.pid == pid);
    let walk = last.rows()[0].walk.unwrap();
    let mut history = History::new(Duration::from_secs(10));
    for second in (0..=known.as_secs()).step_by(2) {
        last.monotonic = began + Duration::from_secs(second);
        let mut grown = walk;
        let missing = known.as_secs() - second;
        grown.memory.pss_anon = Ok(walk.memory.pss_anon.unwrap_or(0) / 400 * (400 - missing));
        grown.memory.pss = walk.memory.pss - walk.memory.pss_anon.unwrap_or(0) + grown.memory.pss_anon.unwrap_or(0);
        last.processes.as_mut().unwrap()[0].walk = Ok(grown);
        history.push(&last);
    }
    history.judge_all();
    let verdict = history.get(last.rows()[0].id).unwrap().trend().verdict;
    assert!(verdict.is_growth(), "{verdict:?}");
    let name = |kind: &str| fs::read_link(format!("/proc/self/ns/{kind}")).unwrap_or_default();
    let namespaces = format!("{} {}", name("pid").display(), name("time").display());
    Some(zmtop::record::pack_history(&history.keep(&last, &namespaces).unwrap()).unwrap())
}

#[test]
fn a_new_verdict_is_written_before_the_minute_is_over() {
    let Some(kept) = history_of_growth(std::process::id()) else {
        return;
    };
    let (home, file) = home();
    fs::write(&file, &kept).unwrap();
    let config = home.path().join("config.toml");
    fs::write(&config, "[callers]\narmed = 0\n").unwrap();
    let start = Instant::now();
    let pty = started(home.path(), &["--config", config.to_str().unwrap()]);
    while fs::read(&file).unwrap() == kept {
        assert!(start.elapsed() < Duration::from_secs(50), "{}", pty.text());
        std::thread::sleep(Duration::from_millis(50));
    }
    quit(pty);
}

#[test]
fn an_empty_file_is_replaced_and_nothing_said() {
    let (home, file) = home();
    fs::write(&file, "").unwrap();
    let pty = started(home.path(), &[]);
    // Not the word alone: a process of another may have it in its command line.
    let text = pty.text();
    assert!(
        !["nothing is kept", "not kept", "not read"]
            .iter()
            .any(|what| text.contains(what)),
        "{text}"
    );
    assert_eq!(quit(pty).trim(), "");
    assert!(fs::read(&file).unwrap().starts_with(MAGIC));
}

#[test]
fn a_write_that_fails_is_said_whatever_was_there_before() {
    for before in [None, Some([MAGIC, b"garbage"].concat())] {
        let (home, file) = home();
        if let Some(bytes) = &before {
            fs::write(&file, bytes).unwrap();
        }
        let start = "exec prlimit --fsize=100 $ZMTOP";
        let pty = Pty::run(
            (120, 30),
            "sh",
            &["-c", start],
            &[("HOME", home.path().to_str().unwrap())],
        );
        pty.wait_for_table();
        if before.is_some() {
            pty.wait_for("history not loaded");
        }
        let after = quit(pty);
        assert_eq!(after.matches("history not kept").count(), 1, "{before:?}: {after}");
        assert_eq!(fs::read(&file).ok(), before);
    }
}

#[test]
fn a_home_that_is_removed_meanwhile_is_not_made_again() {
    let (home, _) = home();
    let pty = started(home.path(), &[]);
    fs::remove_dir_all(home.path()).unwrap();
    let after = quit(pty);
    assert!(
        after.contains("history not kept") && after.contains("HOME is "),
        "{after}"
    );
    assert!(!home.path().exists(), "it was made again");
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

/// Returns the inode, size and change time of a file, which show that it was not touched.
fn state(file: &Path) -> (u64, u64, i64, i64) {
    let meta = fs::symlink_metadata(file).unwrap();
    (meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec())
}

#[test]
fn whatever_lies_there_is_harmless() {
    type Case = (&'static str, fn(&Path), &'static str, bool);
    // Only a history is replaced. Nothing is said again in the end.
    let cases: [Case; 7] = [
        (
            "another file",
            |at| fs::write(at, "hello").unwrap(),
            "not a history",
            false,
        ),
        ("half of one", |at| fs::write(at, MAGIC).unwrap(), "damaged", true),
        (
            "another version",
            |at| {
                let lines = b"zmtop-history/1\n";
                fs::write(at, zmtop::record::pack_history(lines).unwrap()).unwrap();
            },
            "another version",
            true,
        ),
        (
            "far too much",
            |at| fs::File::create(at).unwrap().set_len(100 << 30).unwrap(),
            "larger",
            false,
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
            "is kept: /",
            false,
        ),
    ];
    for (what, make, said, is_replaced) in cases {
        let (home, file) = home();
        make(&file);
        let before = state(&file);
        let pty = started(home.path(), &[]);
        let word = if is_replaced {
            "history not loaded"
        } else {
            "nothing is kept"
        };
        pty.wait(what, |screen| screen.contains(said) && screen.contains(word));
        let after = quit(pty);
        assert!(after.matches("history").count() <= 1, "{what}: {after}");
        assert_eq!(state(&file) == before, !is_replaced, "{what}");
        let is_ours = fs::metadata(&file).is_ok_and(|meta| meta.is_file())
            && fs::read(&file).is_ok_and(|bytes| bytes.starts_with(MAGIC));
        assert_eq!(is_ours, is_replaced, "{what}");
    }
}

/// Holds the file that a file's new text is written to before it has its name, as another writer does: no write ends then.
fn busy(file: &Path) -> fs::File {
    let name = format!(".{}.new", file.file_name().unwrap().to_str().unwrap());
    let file = fs::File::create_new(file.with_file_name(name)).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    file
}

/// The names of what is in the folder of a file, but for the recordings of the black box and its lock.
fn names_beside(file: &Path) -> Vec<std::ffi::OsString> {
    let names = fs::read_dir(file.parent().unwrap()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name());
    let is_recording = |name: &std::ffi::OsString| name == ".lock" || name.to_string_lossy().ends_with(".zmrec");
    let mut names: Vec<_> = names.filter(|name| !is_recording(name)).collect();
    names.sort();
    names
}

#[test]
fn the_end_waits_for_a_slow_write_and_says_so() {
    let (home, file) = home();
    let mut pty = started(home.path(), &[]);
    let other = busy(&file);
    pty.send("q");
    pty.wait_for("writing the history");
    drop(other);
    assert_eq!(pty.exit_code(), 0);
    assert!(!pty.text().contains("not kept"), "{}", pty.text());
    assert!(fs::read(&file).unwrap().starts_with(MAGIC));
    assert_eq!(names_beside(&file), ["history"]);
}

#[test]
fn a_last_write_that_takes_too_long_is_said_and_an_interrupt_ends_the_wait() {
    let (home, file) = home();
    let mut pty = started(home.path(), &[]);
    let other = busy(&file);
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    pty.wait_for("history not kept");
    assert!(!file.exists());

    let mut pty = started(home.path(), &[]);
    pty.send("q");
    pty.wait_for("writing the history");
    pty.send("\x03");
    assert_eq!(pty.exit_code(), 130, "{}", pty.text());
    assert!(!pty.text().contains("history not kept"), "{}", pty.text());
    drop(other);
}

#[test]
fn what_a_killed_writer_left_is_gone_after_the_next_start() {
    let (home, file) = home();
    quit(started(home.path(), &[]));
    let old = fs::read(&file).unwrap();
    fs::write(file.with_file_name(".history.new"), &old[..old.len() / 2]).unwrap();
    quit(started(home.path(), &[]));
    assert_eq!(names_beside(&file), ["history"]);
}

#[test]
fn the_end_waits_for_what_w_saves() {
    let (home, _) = home();
    let config = home.path().join(".config/zmtop/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let other = busy(&config);
    let mut pty = started(home.path(), &[]);
    pty.send("S");
    pty.wait_for("▼SWAP");
    pty.send("W");
    pty.wait_for("saved: none");
    pty.send("\rq");
    pty.wait_for("writing the settings");
    drop(other);
    assert_eq!(pty.exit_code(), 0);
    assert!(fs::read_to_string(&config).unwrap().contains("sort = \"swap\""));
}

/// The snapshots in the folder of a history.
fn recorded(file: &Path) -> usize {
    Source::open(file.parent().unwrap()).map_or(0, |read| read.flatten().count())
}

/// Returns true if a monitor has a recording open.
fn records(pty: &Pty) -> bool {
    let files = fs::read_dir(format!("/proc/{}/fd", pty.pid())).unwrap();
    let mut names = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
    names.any(|name| name.extension().is_some_and(|kind| kind == "zmrec"))
}

#[test]
fn a_visit_to_the_past_stops_neither_the_recording_nor_an_alert() {
    let (home, file) = home();
    let (config, ran) = (home.path().join("config.toml"), home.path().join("ran"));
    let alert = format!(
        "[[alert]]\nname = 'x'\nwhen = 'cmd:4323.125'\nhold = 0\nrun = ['/usr/bin/touch', '{}']\n",
        ran.display()
    );
    fs::write(&config, alert).unwrap();
    let mut pty = started(home.path(), &["--config", config.to_str().unwrap()]);
    pty.wait("a recording", |_| recorded(&file) > 0);
    pty.send("@-1h\r");
    pty.wait_for(" BLACK BOX ");
    assert!(!ran.exists());
    let _sleeper = Owned::sleep("4323.125");
    let before = recorded(&file);
    pty.wait("more snapshots and the program", |_| {
        recorded(&file) > before + 3 && ran.exists()
    });
    pty.wait_for(" BLACK BOX ");
    pty.send(ESC);
    pty.wait("the present", |screen| !screen.contains(" BLACK BOX "));
    quit(pty);
}

#[test]
fn a_stalled_terminal_stops_no_recording() {
    let (home, file) = home();
    let mut pty = started(home.path(), &[]);
    {
        let _stalled = pty.stall();
        fill_output(&pty, pty.pid());
        let before = recorded(&file);
        pty.wait("more snapshots", |_| recorded(&file) > before + 3);
        assert!(is_stuck_in_write(pty.pid()), "the terminal was stuck all along");
    }
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
