//! `zmtop replay` on a terminal.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::{made, ndjson};
use crate::support::pty::Pty;

/// 2026-11-24 03:00:00 UTC.
const BEGIN: Duration = Duration::from_secs(1_795_489_200);

struct Made {
    _dir: TempDir,
    path: PathBuf,
}

/// A recording of so many snapshots, five seconds apart.
fn recording(count: u64) -> Made {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("recording");
    fs::write(&path, ndjson(&made(SystemTime::UNIX_EPOCH + BEGIN, count))).unwrap();
    Made { _dir: dir, path }
}

fn play(made: &Made, args: &[&str]) -> Pty {
    let path = made.path.to_str().unwrap();
    let args = [&["replay", path][..], args].concat();
    Pty::run((120, 30), env!("CARGO_BIN_EXE_zmtop"), &args, &[("TZ", "UTC")])
}

#[test]
fn a_recording_begins_at_a_time_and_is_stepped_through() {
    let made = recording(100);
    let mut pty = play(&made, &["--at", "03:04"]);
    pty.wait_for("11-24 03:04:00  paused");
    // It has grown by 30 MiB a snapshot from 1000 MiB on.
    pty.wait_for("2.4G");
    pty.send("]]");
    pty.wait_for("03:04:10");
    pty.send("[");
    pty.wait_for("03:04:05");
    pty.send("[[");
    pty.wait_for("03:03:55");
    pty.send("@end\r");
    pty.wait_for("03:08:15  at the end");
    // The verdict comes with the past before the jump.
    pty.wait("the verdict", |text| {
        text.contains('△') && !text.contains("verdicts since")
    });
    pty.send("]");
    pty.wait_for("this is the last snapshot so far");
    pty.send("@start\r");
    pty.wait_for("03:00:00  paused");
    pty.send("[");
    pty.wait_for("this is the first snapshot");
    pty.send("}");
    pty.wait_for("no later event is known so far");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_file_that_is_written_is_followed() {
    let made = recording(40);
    let whole = fs::read(&made.path).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let (now, later) = lines.split_at(20);
    fs::write(&made.path, now.concat()).unwrap();
    let mut pty = play(&made, &["--speed", "1000"]);
    pty.wait_for("03:01:35  at the end, waits for more");
    let mut file = File::options().append(true).open(&made.path).unwrap();
    file.write_all(&later.concat()).unwrap();
    pty.wait_for("03:03:15  at the end, waits for more");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_stream_is_played_while_the_keys_come_from_the_terminal() {
    let made = recording(30);
    let path = made.path.to_str().unwrap();
    let script = format!("(cat '{path}'; sleep 60) | $ZMTOP replay - --speed 1000");
    let mut pty = Pty::run((120, 30), "sh", &["-c", &script], &[("TZ", "UTC")]);
    pty.wait_for("REPLAY   11-24 03:02:25");
    pty.send("[");
    pty.wait_for("a pipe has no way back");
    pty.send("q");
    pty.wait("the end", |text| !text.contains("REPLAY"));
}

#[test]
fn what_cannot_be_played_is_said_before_the_screen() {
    let made = recording(3);
    for (args, expected) in [
        (vec!["/nonexistent"], "cannot be read"),
        (vec!["/dev/null"], "is a device"),
    ] {
        let args = [&["replay"][..], &args].concat();
        let mut pty = Pty::run((120, 30), env!("CARGO_BIN_EXE_zmtop"), &args, &[]);
        pty.wait_for(expected);
        assert_eq!(pty.exit_code(), 3);
    }
    for (args, expected) in [
        (["--interval", "2s"], "applies only to the present"),
        (["--at", "noon"], "is no time"),
        (["--speed", "0"], "1..=1000"),
    ] {
        let mut pty = play(&made, &args);
        pty.wait_for(expected);
        assert_eq!(pty.exit_code(), 2);
    }
}
