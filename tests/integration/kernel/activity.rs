//! Activity of processes that have long been idle, seen at the default settings.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zmtop::model::Snapshot;
use zmtop::sampler::policy::activity::RECENT;
use zmtop::sampler::{Options, Scanner};

use super::child::Child;
use super::row;
use crate::support::pty::have;
use crate::support::{block_on, cannot, long};

/// Memory that is taken and given back.
const SIZE: u64 = 64 << 20;

/// Takes memory at the first line, gives it back at the second without a fault, and starts a process that outlives it.
const PROGRAM: &str = "
import mmap, subprocess, sys
orphan = subprocess.Popen(['sleep', '100'])
print(orphan.pid, flush=True)
sys.stdin.readline()
taken = mmap.mmap(-1, 64 << 20)
for at in range(0, 64 << 20, 4096): taken[at] = 1
sys.stdin.readline()
taken.close()
sys.stdin.readline()
";

#[test]
fn what_the_idle_do_is_seen_within_the_bounds() {
    const NAME: &str = "kernel::activity::what_the_idle_do_is_seen_within_the_bounds";
    const ALONE: &str = "ZMTOP_TEST_ALONE";
    if !have("python3") {
        return;
    }
    if long() && std::env::var_os(ALONE).is_none() {
        // Other tests of this program hold files of all processes.
        let mut alone = Command::new(std::env::current_exe().unwrap());
        alone
            .args(["--exact", NAME, "--nocapture", "--test-threads=1"])
            .env(ALONE, "1");
        let output = alone.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    if !long() {
        return cannot("half a minute of an idle process: set ZMTOP_TEST_LONG=1");
    }
    let mut python = Command::new("python3")
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut orphan = String::new();
    BufReader::new(python.stdout.take().unwrap())
        .read_line(&mut orphan)
        .unwrap();
    let orphan: u32 = orphan.trim().parse().unwrap();
    let mut stdin = python.stdin.take().unwrap();
    let python = Child::from(python);
    let pid = python.pid();

    let options = Options::new(None);
    let mut scanner = Scanner::new(&options);
    let mut next = Instant::now();
    let mut tick = || {
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next = Instant::now() + options.interval;
        block_on(scanner.tick())
    };
    let holds_files = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        let mut paths = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
        paths.any(|path| path.starts_with(format!("/proc/{pid}")))
    };
    let first = tick();
    assert!(holds_files());
    let rss = |snapshot: &Snapshot| row(snapshot, pid).stat.rss;
    let idle = rss(&first);
    let mut passes = |what: &str, bound: Duration, is_seen: &dyn Fn(&Snapshot) -> bool| {
        let began = Instant::now();
        while !is_seen(&tick()) {
            assert!(began.elapsed() < bound, "{what} is not seen within {bound:?}");
        }
    };
    let began = Instant::now();
    passes("rest", RECENT * 2, &|_| began.elapsed() > RECENT + options.interval * 2);
    assert!(!holds_files(), "of an idle process no file is held");
    // Rounds of up to 8 s, and two ticks.
    let bound = Duration::from_secs(10);
    writeln!(stdin).unwrap();
    passes("growth", bound, &|s| rss(s) >= idle + SIZE / 2);
    let began = Instant::now();
    passes("rest", RECENT * 2, &|_| began.elapsed() > RECENT + options.interval * 2);
    writeln!(stdin).unwrap();
    passes("shrinkage", bound, &|s| rss(s) < idle + SIZE / 2);
    // Its child does nothing, and has another parent.
    drop(python);
    passes("another parent", Duration::from_secs(4), &|s| {
        row(s, orphan).stat.ppid != pid
    });
    drop(stdin);
    let orphan = rustix::process::Pid::from_raw(orphan.cast_signed()).unwrap();
    rustix::process::kill_process(orphan, rustix::process::Signal::KILL).unwrap();
    // One that has long been idle, in nobody's focus.
    let pid = orphan.as_raw_nonzero().get().cast_unsigned();
    passes("an end", Duration::from_secs(6), &|s| {
        let row = s.rows().iter().find(|row| row.id.pid == pid);
        row.is_none_or(|row| row.stat.is_zombie())
    });
}
