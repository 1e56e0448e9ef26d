//! Config files that are no config files.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::pty::{PATIENCE, ZMTOP};

/// The program's end with that config: in time, with exit code 2; what it said.
#[track_caller]
fn refused(config: &Path) -> String {
    let home = tempfile::tempdir().unwrap();
    let mut child = Command::new(ZMTOP)
        .env("HOME", home.path())
        .arg("--config")
        .arg(config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("still reading {}", config.display());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", config.display());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "one line a fault: {said}");
    assert!(said.contains(config.file_name().unwrap().to_str().unwrap()), "{said}");
    said
}

#[test]
fn a_fifo() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
    refused(&path);
}

#[test]
fn a_directory() {
    let dir = tempfile::tempdir().unwrap();
    refused(dir.path());
}

#[test]
fn a_hundred_megabytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge.toml");
    File::create(&path).unwrap().set_len(100 << 20).unwrap();
    refused(&path);
}

#[test]
fn not_utf8() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("latin1.toml");
    std::fs::write(&path, b"# caf\xe9\n").unwrap();
    let said = refused(&path);
    assert!(said.contains("UTF-8"), "{said}");
}
