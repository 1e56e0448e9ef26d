//! `zmtop replay` on a terminal.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use zmtop::config::Settings;
use zmtop::model::Snapshot;
use zmtop::recorder::{Folder, Options, Place, Writer};

use super::{made, ndjson};
use crate::support::kills::killed;
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
    pty.send("{");
    pty.wait_for("no earlier event is known");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

/// Snapshots in which nothing grows. At the 60th and at the 80th, importer was killed.
fn with_kills(count: u64) -> Vec<Snapshot> {
    let mut all = made(SystemTime::UNIX_EPOCH + BEGIN, count);
    let (mut kills, first) = (Vec::new(), all[0].clone());
    for (n, snapshot) in (0..).zip(&mut all) {
        snapshot.processes.clone_from(&first.processes);
        snapshot.system = first.system.clone();
        if n == 60 || n == 80 {
            let mut kill = killed(0, n, 9137 + n as u32, "importer", 138, Some("/shop"));
            kill.time = snapshot.time;
            kill.monotonic_ms = Ok(snapshot.monotonic.as_millis() as u64);
            kills.push(kill);
        }
        snapshot.oom_kills = kills.clone().into();
    }
    all
}

#[test]
fn the_next_event_is_found_where_nobody_has_noted_it() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("recording");
    fs::write(&path, ndjson(&with_kills(120))).unwrap();
    let made = Made { _dir: dir, path };
    let mut pty = play(&made, &["--at", "03:00"]);
    pty.wait_for("03:00:00  paused");
    for (keys, time, said) in [
        ("}", "03:05:00  paused", "9197 importer by the kernel"),
        ("}", "03:06:40  paused", "9217 importer by the kernel"),
        ("}", "03:09:55  at the end", "no later event up to the end"),
        // They are known now.
        ("{", "03:06:40  paused", "9217 importer"),
        ("{", "03:05:00  paused", "9197 importer"),
        ("{", "03:05:00  paused", "no earlier event is known"),
        ("@start\r", "03:00:00  paused", ""),
        ("}", "03:05:00  paused", "9197 importer"),
    ] {
        pty.send(keys);
        pty.wait_for(time);
        pty.wait_for(said);
    }
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    // A pipe goes forward to it, too.
    let script = format!("(cat '{}'; sleep 60) | $ZMTOP replay -", made.path.to_str().unwrap());
    let mut pty = Pty::run((120, 30), "sh", &["-c", &script], &[("TZ", "UTC")]);
    pty.wait_for("REPLAY   11-24 03:00:0");
    pty.send("}");
    pty.wait_for("03:05:00  paused");
    pty.wait_for("9197 importer by the kernel");
    pty.send("{");
    pty.wait_for("a pipe cannot go back");
    pty.send("q");
    pty.wait("the end", |text| !text.contains("REPLAY"));
}

/// Twenty snapshots, before the last ten of which the clock was set back by an hour.
fn set_back() -> Vec<Snapshot> {
    let mut all = made(SystemTime::UNIX_EPOCH + BEGIN, 20);
    all.iter_mut()
        .skip(10)
        .for_each(|snapshot| snapshot.time -= Duration::from_secs(3600));
    all
}

#[test]
fn a_recording_whose_clock_was_set_back_is_played_in_order_and_each_time_is_found() {
    let dir = TempDir::new().unwrap();
    let lines = dir.path().join("lines");
    fs::write(&lines, ndjson(&set_back())).unwrap();
    // One file, and a folder in which the name of the second file is the earlier time.
    let (file, folder) = (dir.path().join("a.zmrec"), dir.path().join("folder"));
    let plain = |place| Writer::new(Options::plain(place)).unwrap();
    let retention = Settings::default().record.retention();
    for mut writer in [
        plain(Place::File(file.clone())),
        plain(Place::Folder(Folder::open(&folder).unwrap(), retention)),
    ] {
        for snapshot in set_back() {
            writer.record(&Arc::new(snapshot), &[]);
            assert_eq!(writer.status().fault, None);
        }
        writer.close();
    }
    for path in [lines, file, folder] {
        let mut pty = Pty::run(
            (120, 30),
            env!("CARGO_BIN_EXE_zmtop"),
            &["replay", path.to_str().unwrap(), "--at", "03:00"],
            &[("TZ", "UTC")],
        );
        pty.wait_for("03:00:00  paused");
        for (keys, time) in [
            ("@02:01\r", "02:01:00"),
            ("@03:00:45\r", "03:00:45"),
            // Over the moment at which the clock was set, both ways.
            ("]", "02:00:50"),
            ("]", "02:00:55"),
            ("[[", "03:00:45"),
            ("@02:00:50\r", "02:00:50"),
            ("[", "03:00:45"),
            ("[", "03:00:40"),
            ("@end\r", "03:00:45"),
            ("@start\r", "03:00:00"),
        ] {
            pty.send(keys);
            pty.wait_for(&format!("{time}  paused"));
        }
        pty.send("[");
        pty.wait_for("this is the first snapshot");
        // It is played in its own order.
        pty.send("rrrrrrrrrrrr;");
        pty.wait_for("02:01:35  at the end");
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
}

#[test]
fn a_file_that_is_written_is_followed() {
    let made = recording(40);
    let whole = fs::read(&made.path).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let (now, later) = lines.split_at(20);
    fs::write(&made.path, now.concat()).unwrap();
    let mut pty = play(&made, &["--speed", "1000"]);
    pty.wait_for("03:01:35  at the end, waiting for more");
    let mut file = File::options().append(true).open(&made.path).unwrap();
    file.write_all(&later.concat()).unwrap();
    pty.wait_for("03:03:15  at the end, waiting for more");
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
    pty.wait_for("a pipe cannot go back");
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

#[test]
fn alerts_are_listed_and_run_no_program() {
    let made = recording(30);
    let dir = TempDir::new().unwrap();
    let (ran, config) = (dir.path().join("ran"), dir.path().join("config.toml"));
    let alert = format!(
        "[[alert]]\nname = 'big'\nwhen = 'pss>1100M'\nhold = 0\nrun = ['/usr/bin/touch', '{}']\n",
        ran.display()
    );
    fs::write(&config, alert).unwrap();
    let mut pty = play(&made, &["--speed", "1000", "--config", config.to_str().unwrap()]);
    pty.wait_for("at the end");
    pty.send("!");
    pty.wait("the list", |text| {
        text.contains("Alerts") && text.lines().any(|line| line.contains("fired") && line.contains("big"))
    });
    pty.send("\x1b");
    pty.wait("the list is closed", |text| !text.contains("Alerts"));
    pty.send("q");
    // It ends after whatever it started.
    assert_eq!(pty.exit_code(), 0);
    assert!(!ran.exists());
}
