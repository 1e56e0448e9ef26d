//! Measures the encodings of a recording, and how fast a large one opens.
//!
//! `cargo bench --bench recording -- FILE [GIB]` reads the snapshots of FILE, as `zmtop ps --every TIME --all --format ndjson`
//! writes them or of a recording. It prints the bytes a day and the time of a snapshot for each level and window of the
//! compressor and each length of a group. Then it makes a recording of GIB gibibytes (1) of them in the temporary folder, opens it
//! and reads it from random moments.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zmtop::model::Snapshot;
use zmtop::record::{ChangeWriter, GroupWriter, HEADER, Header};
use zmtop::source::{Recording, Source};
use zstd::stream::write::Encoder;

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let file = args.next().unwrap_or_else(|| panic!("name a FILE of snapshots"));
    let gib: f64 = args.next().map_or(1.0, |arg| arg.parse().unwrap());
    let all: Vec<Arc<Snapshot>> = Source::open(Path::new(&file)).unwrap().map(Result::unwrap).collect();
    let interval = all[1].monotonic.checked_sub(all[0].monotonic).unwrap().as_secs_f64();
    println!(
        "{} snapshots of {} processes, {interval:.1} s apart",
        all.len(),
        all[0].rows().len()
    );
    encodings(&all, interval);
    large(&all, gib);
}

/// Prints the table of encodings.
fn encodings(all: &[Arc<Snapshot>], interval: f64) {
    let mut changes = ChangeWriter::default();
    let begun = Instant::now();
    let lines: Vec<Vec<u8>> = all
        .iter()
        .map(|snapshot| {
            let mut line = changes.line(snapshot);
            line.push(b'\n');
            line
        })
        .collect();
    let each = begun.elapsed().as_secs_f64() / all.len() as f64;
    println!("a line: {:.2} ms", each * 1e3);
    let whole: Vec<Vec<u8>> = all
        .iter()
        .map(|snapshot| {
            let mut changes = ChangeWriter::default();
            changes.line(snapshot)
        })
        .collect();
    let daily = 86_400.0 / interval;
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let plain = whole.iter().map(Vec::len).sum::<usize>() as f64 / all.len() as f64;
    println!("whole snapshots, plain:       {:8.1} MiB a day", mib(plain * daily));
    println!("level  window  group   MiB a day   ms a snapshot");
    for level in [1, 3, 6, 9, 12] {
        for window in [18, 20, 22] {
            let (first, rest, time) = compressed(&lines, level, window);
            for group in [30.0, 120.0, 480.0] {
                let bytes = (first + (group - 1.0) * rest) / group;
                println!(
                    "{level:5}  {window:6}  {group:5}  {:10.1}   {:13.2}",
                    mib(bytes * daily),
                    time * 1e3
                );
            }
        }
    }
}

/// Returns the compressed bytes of the first line and of each other one, and the time of a line.
fn compressed(lines: &[Vec<u8>], level: i32, window: u32) -> (f64, f64, f64) {
    let mut encoder = Encoder::new(Vec::new(), level).unwrap();
    encoder.window_log(window).unwrap();
    encoder.include_checksum(true).unwrap();
    let begun = Instant::now();
    let mut first = 0;
    for (at, line) in lines.iter().enumerate() {
        encoder.write_all(line).unwrap();
        encoder.flush().unwrap();
        if at == 0 {
            first = encoder.get_ref().len();
        }
    }
    let time = begun.elapsed().as_secs_f64() / lines.len() as f64;
    let all = encoder.get_ref().len();
    let rest = (all - first) as f64 / (lines.len() - 1) as f64;
    (first as f64, rest, time)
}

/// Makes a large recording, opens it and reads it from random moments.
fn large(all: &[Arc<Snapshot>], gib: f64) {
    let mut writer = GroupWriter::default();
    let mut group = Vec::new();
    let mut pushed = 0;
    while pushed < 120 {
        for snapshot in all.iter().take(120 - pushed) {
            group.extend(writer.push(snapshot, &[]).unwrap());
            pushed += 1;
        }
    }
    let end = writer.end().unwrap().unwrap();
    group.extend(&end.bytes);
    let mut header = Header::parse(&end.header).unwrap_or_else(|_| panic!("a header"));
    let length = header
        .to
        .duration_since(header.from)
        .unwrap_or_default()
        .max(Duration::from_secs(600));
    let groups = (gib * f64::from(1 << 30) / group.len() as f64) as u32;
    let path = std::env::temp_dir().join("zmtop-bench-recording.zmrec");
    let mut file = File::create(&path).unwrap();
    let begun = header.from;
    for n in 0..groups {
        header.from = begun + length * n;
        header.to = header.from + length / 2;
        group[..HEADER].copy_from_slice(&header.to_bytes());
        file.write_all(&group).unwrap();
    }
    drop(file);
    let before = rss();
    let started = Instant::now();
    let recording = Recording::open(&path).unwrap();
    let opened = started.elapsed();
    let first = Instant::now();
    recording.read_from(begun).next().unwrap().unwrap();
    println!(
        "{groups} groups of {} bytes: opened in {:.0} ms, the first snapshot {:.0} ms later, {:.1} MiB more",
        group.len(),
        opened.as_secs_f64() * 1e3,
        first.elapsed().as_secs_f64() * 1e3,
        (rss() - before) / 1024.0
    );
    let mut worst = Duration::ZERO;
    for n in 0..40 {
        let at = begun + length * (n * 7919 % groups);
        let started = Instant::now();
        // The last snapshot of a group is the furthest from its beginning.
        let read = recording.read_from(at).take(120).flatten().count();
        assert_eq!(read, 120);
        worst = worst.max(started.elapsed());
    }
    println!(
        "a jump to the end of a group: at most {:.0} ms",
        worst.as_secs_f64() * 1e3
    );
    std::fs::remove_file(path).unwrap();
}

/// Returns the resident memory of this process in KiB.
fn rss() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
