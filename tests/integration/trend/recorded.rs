//! The corpus as recordings of schema `zmtop/1`, gone through by `zmtop leaks`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use zmtop::model::Missing;
use zmtop::output::json;
use zmtop::record::Record;

use super::corpus::{Noise, Rng, SHAPES, Series};
use crate::support::long;
use crate::support::pty::ZMTOP;
use crate::support::rows::{process, snapshot, walk};

/// The uptime of the machine at the first value.
const UPTIME: f64 = 39.0 * 86_400.0;

/// Writes what these processes used as snapshots, one a line.
fn record(path: &Path, series: &[Series]) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let longest = series.iter().map(|s| s.values.len()).max().unwrap_or(0);
    for i in 0..longest {
        let mut processes = Vec::new();
        for (n, one) in series.iter().enumerate() {
            let Some(value) = one.values.get(i) else { continue };
            let mut sample = process(n as u32 + 2, 1, &format!("/usr/bin/program{n}"));
            sample.id.starttime = ((UPTIME - one.age as f64).max(0.0) * 100.0) as u64;
            sample.walk = value.map_or(Err(Missing::TimedOut), |v| Ok(walk(v.max(0.0) as u64, 0)));
            processes.push(sample);
        }
        let mut snap = snapshot(series[0].at(i), processes);
        snap.interval = Duration::from_secs(series[0].step);
        snap.system.uptime = Ok(UPTIME + (i as u64 * series[0].step) as f64);
        json::line(&mut out, &Record::new(&snap)).unwrap();
    }
    out.flush().unwrap();
}

/// Runs `zmtop leaks` on a recording; returns its output, and its exit code with `--check`.
fn leaks(path: &Path, args: &[&str]) -> (Value, Option<i32>) {
    let home = path.parent().unwrap();
    let output = Command::new(ZMTOP)
        .args(["leaks", "--check", "--format", "json", "--from"])
        .arg(path)
        .args(args)
        .env("HOME", home)
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code())
}

#[test]
fn recordings_of_the_corpus_are_distinguished() {
    // One process of each seed.
    let seeds = if long() { 2 } else { 1 };
    let noise = Noise::recorded();
    let dir = TempDir::new().unwrap();
    let mut table = String::from("recorded: called leaking at the end\n");
    let (mut found, mut all, mut alarms) = (0, 0, 0);
    for (number, shape) in SHAPES.iter().enumerate() {
        let made = |seed| (shape.make)(&mut Rng::new(number, seed), &noise);
        let mut series: Vec<Series> = (0..seeds).map(made).collect();
        // A day by the minute and more is long to write and to read, and nothing new on the way.
        match series.iter().map(|s| s.values.len()).max().unwrap_or(0) {
            0..=2000 => {}
            2001..=4000 => series.truncate(1),
            _ => continue,
        }
        let path = dir.path().join(format!("{}.ndjson", shape.name));
        record(&path, &series);
        let (told, exit) = leaks(&path, &[]);
        let leaks = told["leaks"].as_array().unwrap();
        let called = leaks.iter().filter(|leak| leak["verdict"] == "leaking").count() as u64;
        assert_eq!(exit, Some(i32::from(called > 0)), "{}", shape.name);
        for leak in leaks.iter().filter(|leak| leak["verdict"] == "leaking") {
            let grows = leak["slope_bytes_per_s"].as_f64().unwrap() > 0.0;
            assert_eq!(grows, leak["flat_since"].is_null(), "{leak}");
            assert!(leak["confidence"].as_f64().unwrap() >= 0.9, "{leak}");
            assert!(leak["since"].is_string() && leak["metric"] == "held", "{leak}");
            let pid = leak["pid"].as_u64().unwrap();
            assert_eq!(leak["group"], format!("program{}", pid - 2));
        }
        if shape.leaks {
            found += called;
            all += series.len() as u64;
        } else {
            alarms += called;
        }
        let _ = writeln!(table, "{:>18} {called} of {}", shape.name, series.len());
        std::fs::remove_file(&path).unwrap();
    }
    let _ = std::io::stdout().write_all(table.as_bytes());
    // One that grows by stairs, or teeth, may be on one of them at the end.
    assert!(alarms == 0 && found >= 4 * seeds && all - found <= 2, "{table}");
}
