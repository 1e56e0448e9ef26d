//! `zmtop ps` itself, over made trees.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::Owned;
use crate::support::pty::{PATIENCE, Pty, ZMTOP};
use crate::support::tree::ProcTree;

pub(super) fn tree() -> ProcTree {
    let tree = ProcTree::new();
    tree.process(1).comm("init").pss_kb(1000).write();
    tree.process(7).ppid(1).comm("cat").pss_kb(3000).write();
    tree
}

pub(super) fn ps(tree: &ProcTree, line: &str) -> Command {
    let mut command = Command::new(ZMTOP);
    command
        .arg("ps")
        .args(line.split_whitespace())
        .arg("--proc-root")
        .arg(tree.root())
        .env_clear()
        .env("HOME", tree.path("home"))
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .stdin(Stdio::null());
    command
}

/// The exit code, and what was said on stdout and on stderr.
pub(super) fn said(tree: &ProcTree, line: &str) -> (Option<i32>, String, String) {
    let done = ps(tree, line).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

/// The child, ended however the test ends.
struct Running(Owned);

impl Running {
    fn start(tree: &ProcTree, line: &str) -> (Self, BufReader<impl Read + use<>>) {
        let mut child = ps(tree, line).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        (Self(Owned(child)), out)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Stops it, and waits until it is.
    fn stop(&self) {
        self.signal(Signal::STOP);
        let stat = format!("/proc/{}/stat", self.0.id());
        let start = Instant::now();
        while !std::fs::read_to_string(&stat).unwrap().contains(") T ") {
            assert!(start.elapsed() < PATIENCE, "it is not stopped");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn code(&mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end");
    }
}

#[test]
fn one_number_and_nothing_else() {
    let tree = tree();
    assert_eq!(
        said(&tree, "--total-only"),
        (Some(0), "4096000\n".into(), String::new())
    );
    assert_eq!(said(&tree, "--total-only --units k cat").1, "3000K\n");
    assert_eq!(said(&tree, "--total-only --sort swap").1, "0\n");
    assert_eq!(said(&tree, "--total-only nothing-like-it").1, "0\n");
    let (code, out, _) = said(&tree, "--sentences");
    let (_, sentences) = out.split_once(". ").unwrap();
    let expected =
        "PSS of 2 processes: 3.9 mebibytes.\ncat: 2.9 mebibytes, process 7.\ninit: 1000 kibibytes, process 1.\n";
    assert_eq!((code, sentences), (Some(0), expected));
    let (code, out, err) = said(&tree, "--total-only --sort user");
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert_eq!(
        err,
        "zmtop: --sort: --total-only needs a column of sizes that can be summed, which user is not\n"
    );
}

#[test]
fn a_size_without_a_unit_gets_a_note() {
    let tree = tree();
    let note = "zmtop: 30 is in bytes: write 30M for MiB\n";
    assert_eq!(
        said(&tree, "--total-only pss>30"),
        (Some(0), "4096000\n".into(), note.into())
    );
    assert_eq!(said(&tree, "--total-only pss>30K").2, "");
}

#[test]
fn the_table_shows_what_it_is_sorted_and_filtered_by() {
    let tree = tree();
    let heading = |line: &str| {
        let (code, out, err) = said(&tree, line);
        assert!(matches!(code, Some(0 | 5)), "{line}: {err}");
        let line = out.lines().find(|line| line.contains("SWAP") || line.contains("NAME"));
        line.unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let growth = "PID USER SWAP USS PSS RSS GROWTH COMMAND";
    assert_eq!(heading("growth>1M/min --every 100ms --count 1"), growth);
    assert_eq!(heading("--sort growth --every 100ms --count 1"), growth);
    assert_eq!(
        heading("--tree --sort oom_score threads>0 pss>0"),
        "PID USER SWAP USS PSS ΣPSS OOM THR COMMAND"
    );
    assert_eq!(
        heading("--by user footprint>0 oom_score<3000"),
        "N SWAP USS PSS RSS FOOTP USER"
    );
    // Columns that were chosen stay as they are, and so do those that scripts read.
    assert_eq!(heading("--columns pid,comm --sort oom_score threads>0"), "PID NAME");
    let (_, csv, _) = said(&tree, "--format csv --sort oom_score threads>0");
    assert_eq!(csv.lines().next(), said(&tree, "--format csv").1.lines().next());
}

/// Said of a filter that no process of [`tree`] matches.
const NOTHING: &str = "zmtop: 0 of 2 processes match (with --check, the exit code is 1 if one does)\n";

#[test]
fn a_filter_that_matches_nothing_may_be_meant_otherwise() {
    let tree = tree();
    let nothing = NOTHING.trim_end();
    for (filter, meant) in [
        ("leaking", "; a verdict is written verdict:leaking"),
        ("nothing leak", "; a verdict is written verdict:leaking"),
        ("Grow", "; a verdict is written verdict:growing"),
        ("le", ""),
        ("leakage", ""),
        ("cmd:nothing slee$", "; a regular expression is written /slee$/"),
        (
            "age>1h",
            "; age is the time since a process was read; elapsed>1h is about the time since its start",
        ),
        ("nothing", ""),
        ("agent", ""),
    ] {
        let (code, _, err) = said(&tree, filter);
        assert_eq!((code, err), (Some(0), format!("{nothing}{meant}\n")), "{filter}");
    }
}

#[test]
fn users_and_processes_that_do_not_exist_are_named() {
    let tree = tree();
    for every in ["", " --every 100ms --count 1"] {
        let said = |line: &str| said(&tree, &format!("{line}{every}"));
        let (code, out, err) = said("-u root,nobdy");
        assert_eq!(
            (code, out.as_str(), err.as_str()),
            (Some(2), "", "zmtop: -u: no user nobdy\n")
        );
        let (code, out, err) = said("user:Nobdy");
        assert_eq!(
            (code, err.as_str()),
            (Some(0), format!("zmtop: no user Nobdy\n{NOTHING}").as_str())
        );
        assert!(out.contains("0 processes"), "{out}");
        let (code, out, err) = said("-p 99999999");
        assert_eq!(
            (code, out.as_str(), err.as_str()),
            (Some(3), "", "zmtop: no process 99999999\n")
        );
        // The others are listed.
        let (code, out, err) = said("-p 7,8,9");
        assert_eq!((code, err.as_str()), (Some(0), "zmtop: no process 8, 9\n"));
        assert!(out.contains("1 process\n"), "{out}");
        // A uid needs no name, and an existing process may fail to pass the rest of the filter.
        assert_eq!(said("-u 4242").2, NOTHING);
        assert_eq!((said("-p 7 init").0, said("-p 7 init").2), (Some(0), NOTHING.into()));
    }
}

#[test]
fn a_user_without_processes_is_no_error() {
    // Every Linux system has this user, and few have a process of it.
    let ps = |name: &str| Command::new(ZMTOP).args(["ps", "-u", name]).output().unwrap();
    let said = |done: &std::process::Output| String::from_utf8_lossy(&done.stderr).into_owned();
    let done = ps("nobody");
    assert!(done.status.success(), "{}", said(&done));
    let done = ps("zmtop-no-such-user");
    assert_eq!(done.status.code(), Some(2));
    assert_eq!(said(&done), "zmtop: -u: no user zmtop-no-such-user\n");
}

#[test]
fn without_titles_and_totals_and_as_shares_of_the_ram() {
    let tree = tree();
    let (code, out, _) = said(&tree, "-H --no-totals --percent --columns pid,pss,comm");
    assert_eq!((code, out.as_str()), (Some(0), "7 0.01% cat\n1 0.00% init\n"));
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let tree = tree();
    for (line, expected) in [
        (
            "--columns pid,dpss",
            "--columns: dpss needs more than one snapshot: add --every TIME or --from FILE",
        ),
        ("--every 10ms", "--every: `10ms` is out of range: 100ms to 1h"),
        ("--every soon", "--every: expected a duration"),
        ("-p 7,abc", "-p <N,M>': a pid is a whole number"),
        ("--bars --sort user", "--bars: user is not a figure"),
        ("--count 3", "--every"),
        ("--all", "--every"),
        ("--every 1 --count 0", "1.."),
        ("--percent --units k", "cannot be used with"),
    ] {
        let (code, out, err) = said(&tree, line);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{line}");
        assert!(err.contains(expected), "{line}: {err}");
    }
}

#[test]
fn first_the_whole_table_then_what_changed() {
    let tree = tree();
    let line = "--every 300ms --count 3 --columns pid,pss,dpss,comm";
    let (mut child, mut out) = Running::start(&tree, line);
    let mut lines = Vec::new();
    let mut next = || {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        lines.push(line.clone());
        line
    };
    while !next().contains("2 processes") {}
    // Stopped, so that the next table sees all of the changes, however slow this test is.
    child.stop();
    tree.process(7).ppid(1).comm("cat").pss_kb(9000).write();
    tree.remove(1);
    tree.process(9).comm("new").pss_kb(500).write();
    child.signal(Signal::CONT);
    while !next().is_empty() {}
    assert_eq!(child.code(), Some(0));
    let text = lines.concat();
    let count = |what: &str| text.matches(what).count();
    assert_eq!(
        (count("ΔPSS/s"), count("   PSS"), text.matches("+00:00\n").count()),
        (2, 1, 3),
        "{text}"
    );
    let marked = |mark: char, name: &str| text.lines().any(|l| l.starts_with(mark) && l.ends_with(name));
    assert!(
        marked('-', " init") && marked('+', " new") && marked(' ', " cat"),
        "{text}"
    );
    assert!(text.contains(" ended of "), "{text}");
    // ΔPSS is all of the 5.9M if the table comes about in time, and is scaled to the interval if it comes late.
    let line = text.lines().find(|l| l.contains(" +") && l.ends_with(" cat")).unwrap();
    let size = |field: &str| {
        let (number, unit) = field.split_at(field.len() - 1);
        number.parse::<f64>().unwrap() * if unit == "M" { 1024.0 } else { 1.0 }
    };
    let sizes: Vec<f64> = line.split_whitespace().skip(1).take(2).map(size).collect();
    let [rate, change] = sizes[..] else { panic!("{text}") };
    // A table that comes early has the whole change in a shorter time, at a higher rate.
    let expected = (rate * 0.3).min(6000.0);
    assert!((expected - change).abs() <= 0.15 * change + 60.0, "{text}");
    assert!(change > 0.0 && change <= 5.95 * 1024.0, "{text}");
}

#[test]
fn a_signal_ends_it_after_a_whole_line() {
    let tree = tree();
    let (mut child, mut out) = Running::start(&tree, "--every 100ms");
    let mut text = String::new();
    for _ in 0..8 {
        out.read_line(&mut text).unwrap();
    }
    kill_process(Pid::from_child(&child.0), Signal::INT).unwrap();
    out.read_to_string(&mut text).unwrap();
    assert_eq!(child.code(), Some(0));
    assert!(text.ends_with(" processes\n"), "{text}");
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let tree = tree();
    let (mut child, mut out) = Running::start(&tree, "--every 100ms");
    out.read_line(&mut String::new()).unwrap();
    drop(out);
    assert_eq!(child.code(), Some(0));
}

#[test]
fn a_reader_that_takes_nothing_does_not_hold_up_a_signal() {
    let tree = tree();
    for pid in 100..400 {
        tree.process(pid).comm("many").pss_kb(10).write();
    }
    let (mut child, _out) = Running::start(&tree, "--every 100ms --all");
    std::thread::sleep(Duration::from_secs(2));
    kill_process(Pid::from_child(&child.0), Signal::INT).unwrap();
    assert_eq!(child.code(), Some(0));
}

#[test]
fn a_terminal_is_fitted_and_coloured_unless_told_otherwise() {
    let tree = tree();
    let long = "x".repeat(300);
    tree.process(8)
        .comm("long")
        .cmdline(format!("long\0{long}\0"))
        .pss_kb(9000)
        .write();
    let root = tree.root();
    let shown = |env: &[(&str, &str)], more: &[&str]| {
        let args = [&["ps", "--proc-root", root.to_str().unwrap()], more].concat();
        let mut pty = Pty::run((60, 24), ZMTOP, &args, env);
        pty.wait_for("3 processes");
        assert_eq!(pty.exit_code(), 0);
        String::from_utf8_lossy(&pty.raw()).into_owned()
    };
    let colored = shown(&[], &[]);
    assert!(colored.contains("\x1b[1m") && colored.contains('…'), "{colored:?}");
    for plain in [shown(&[("NO_COLOR", "1")], &[]), shown(&[], &["--no-color"])] {
        assert!(!plain.contains('\x1b'), "{plain:?}");
        assert!(plain.lines().all(|l| l.trim_end().chars().count() <= 60), "{plain:?}");
    }
}

#[test]
fn what_was_typed_is_not_found_in_ones_own_command_line() {
    // It ends with its input.
    let mut child = Command::new("cat")
        .args(["-", "77312"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let find = |filter: &str| {
        // As in a shell: its own command line has the words, too.
        let line = format!("'{ZMTOP}' ps --no-header --no-totals --columns pid {filter} ; true");
        let done = Command::new("sh").args(["-c", &line]).output().unwrap();
        String::from_utf8(done.stdout)
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(find("77312"), [child.id().to_string()]);
    assert_eq!(find("\"cmd:'cat - 77312'\""), [child.id().to_string()]);
    assert!(find("no-such-word-77313").is_empty());
    // What is true of it but for its arguments still holds: its name, and its user.
    assert!(!find("name:zmtop").is_empty());
    assert!(find("77312 name:zmtop").is_empty());
    drop(child.stdin.take());
    child.wait().unwrap();
}
