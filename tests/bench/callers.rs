//! Cost of `zmtop kernel callers` while the kernel allocates.
//!
//! `cargo bench --bench callers -- [EVENTS_A_SECOND [SECONDS]]` has two threads open and close files at the rate that makes so
//! many events a second (100,000 by default), and traces them (5 seconds by default). It prints the events a second, the lost
//! events, the processor time of the whole program, which includes reading the names at the end, and its peak resident memory.
//! It needs root and a kernel with tracefs, which is mounted in a namespace of its own.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Mounts tracefs where it is not, and becomes zmtop.
const RUN: &str = "mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing; exec \"$@\"";

/// Opens and closes a file so many times a second.
fn load(rate: &AtomicU64) {
    let began = Instant::now();
    let (mut done, mut now) = (0.0, 0.0);
    loop {
        let step = began.elapsed().as_secs_f64() - now;
        now += step;
        done += rate.load(Ordering::Relaxed) as f64 * step;
        while done >= 1.0 {
            drop(File::open("/dev/null"));
            done -= 1.0;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse::<u64>().ok());
    let (goal, seconds) = (numbers.next().unwrap_or(100_000), numbers.next().unwrap_or(5));
    let rate = Arc::new(AtomicU64::new(10_000));
    for _ in 0..2 {
        let rate = rate.clone();
        std::thread::spawn(move || load(&rate));
    }
    // What one open takes is the kernel's choice.
    for _ in 0..2 {
        let found = trace(1);
        rate.store(
            (rate.load(Ordering::Relaxed) as f64 * goal as f64 / found.events) as u64,
            Ordering::Relaxed,
        );
    }
    let found = trace(seconds);
    println!("events a second   {:>9.0}   wanted {goal}", found.events);
    println!("lost              {:>9}   (goal 0)", found.lost);
    println!(
        "share of a core   {:>8.1}%   (goal ≤ 15)   by its own account {:.1}%",
        found.cpu * 100.0,
        found.own * 100.0
    );
    println!("resident          {:>8.1}M   (goal ≤ 32)", found.rss);
}

struct Found {
    events: f64,
    lost: Value,
    cpu: f64,
    own: f64,
    rss: f64,
}

#[expect(clippy::zombie_processes, reason = "wait4 below waits for it")]
fn trace(seconds: u64) -> Found {
    let mut child = Command::new("unshare")
        .args([
            "-m",
            "sh",
            "-c",
            RUN,
            "sh",
            env!("CARGO_BIN_EXE_zmtop"),
            "kernel",
            "callers",
        ])
        .args(["--format", "json", "--for", &format!("{seconds}s")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let mut status = 0;
    #[expect(unsafe_code, reason = "what a child took is told by wait4 alone")]
    // SAFETY: both places are valid for the call, and no other code waits for this child.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        assert_eq!(libc::wait4(pid, &raw mut status, 0, &raw mut usage), pid);
        usage
    };
    assert_eq!(status, 0, "it could not trace");
    let json: Value = serde_json::from_str(&out).unwrap();
    let number = |name: &str| json[name].as_f64().unwrap();
    let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Found {
        events: number("events") / number("time_s"),
        lost: json["lost"].clone(),
        cpu: (time(usage.ru_utime) + time(usage.ru_stime)) / number("time_s"),
        own: number("cpu_s") / number("time_s"),
        rss: usage.ru_maxrss as f64 / 1024.0,
    }
}
