//! Compares the facts on the live monitor's screen with `/proc`, while processes change them.
//!
//! `cargo bench --bench facts -- [minutes=30] [workers=24]` starts processes that, every few seconds, change their title in
//! place, their user without exec, or the cgroup they are in, with others as they are; and the monitor as it is shipped
//! on two terminals of 200×50: processes by pid, and groups by cgroup. Each second every row in sight is compared with
//! `/proc`: USER and COMMAND of each process, and the number of processes of each cgroup. A row that shows what `/proc` has not said
//! for longer than it may is reported, and counts as wrong. Needs root, perl and a cgroup file system.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/screen.rs"]
mod screen;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "../integration/support/terminal.rs"]
mod terminal;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use screen::Screen;

/// The longest that a row in sight may show what is no longer so, and a group: as promised, and a second between a frame
/// and the look at `/proc`.
const PROCESS_LAG: Duration = Duration::from_secs(4);
const GROUP_LAG: Duration = Duration::from_secs(11);

/// A program that does what its standard input says: `title TEXT`, `user UID`. Perl writes a title over its arguments.
const WORKER: &str = r#"
$0 = "worker starting " . ("." x 40); $| = 1; my @held;
while (my $line = <STDIN>) {
    my ($what, $value) = $line =~ /^(\w+) (.*)$/ or next;
    if ($what eq "title") { $0 = $value }
    if ($what eq "user") { $< = $value; $> = $value; }
    if ($what eq "fork") { my $pid = fork(); if ($pid == 0) { $0 = "forked from $value"; sleep(1 + $$ % 5); $0 = "renamed $value"; sleep(12); exit(0) } else { $SIG{CHLD} = "IGNORE" } }
}
"#;

/// A number that looks random, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// The processes that change. All are ended, and their cgroups removed, when this is dropped.
struct Workers {
    processes: Vec<Child>,
    cgroups: Vec<PathBuf>,
    random: Random,
    changes: usize,
}

impl Workers {
    fn start(count: usize) -> Self {
        let root = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
            .into_iter()
            .find(|root| Path::new(root).join("cgroup.procs").exists())
            .expect("a cgroup file system is mounted");
        let pid = std::process::id();
        let cgroups: Vec<PathBuf> = (0..4)
            .map(|n| Path::new(root).join(format!("zmtop-bench-{pid}-{n}")))
            .collect();
        for cgroup in &cgroups {
            fs::create_dir(cgroup).expect("root can make a cgroup");
        }
        let start = |_| {
            let mut command = Command::new("perl");
            command.args(["-e", WORKER]).stdin(Stdio::piped());
            command.spawn().expect("perl is installed")
        };
        Self {
            processes: (0..count).map(start).collect(),
            cgroups,
            random: Random(0x9E37_79B9_7F4A_7C15),
            changes: 0,
        }
    }

    /// Has one process change something.
    fn change(&mut self) {
        self.changes += 1;
        let (at, changes) = (self.random.below(self.processes.len()), self.changes);
        let worker = &mut self.processes[at];
        // A user that is not root any more cannot become another: most stay root.
        match self.random.0 % 8 {
            0..=2 => writeln!(worker.stdin.as_mut().unwrap(), "title worker {at}: job {changes}").unwrap(),
            3 if at.is_multiple_of(3) => {
                writeln!(worker.stdin.as_mut().unwrap(), "user {}", [1, 2, 33][at % 3]).unwrap();
            }
            4 => writeln!(worker.stdin.as_mut().unwrap(), "fork {changes}").unwrap(),
            _ => {
                let cgroup = self.random.below(self.cgroups.len());
                fs::write(self.cgroups[cgroup].join("cgroup.procs"), worker.id().to_string()).unwrap();
            }
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.processes {
            let _ = worker.kill();
            let _ = worker.wait();
        }
        // Children that were forked live for some seconds more.
        std::thread::sleep(Duration::from_secs(20));
        for cgroup in &self.cgroups {
            let _ = fs::remove_dir(cgroup);
        }
    }
}

/// The facts of each process in `/proc`.
#[derive(Default)]
struct Truths(HashMap<u32, Truth>);

/// The present facts of a process, the time of their first reading, and past facts, each with the time of its end.
struct Truth {
    facts: Facts,
    since: Instant,
    past: Vec<(Facts, Instant)>,
}

impl Truths {
    /// Takes in what is so now.
    fn observe(&mut self, pid: u32, facts: Facts, now: Instant) {
        let known = self.0.entry(pid).or_insert_with(|| Truth {
            facts: facts.clone(),
            since: now,
            past: Vec::new(),
        });
        if known.facts != facts {
            let old = std::mem::replace(&mut known.facts, facts);
            known.past.push((old, now));
            known.past.retain(|(_, until)| now.duration_since(*until) < PROCESS_LAG);
        }
    }

    /// Returns true if what is shown is so, or was not longer ago than it may, or is not known for longer than that.
    fn allow(&self, pid: u32, is_shown: impl Fn(&Facts) -> bool, now: Instant) -> bool {
        let Some(truth) = self.0.get(&pid) else { return true };
        let is_recent = |since: Instant| now.duration_since(since) < PROCESS_LAG;
        is_recent(truth.since)
            || is_shown(&truth.facts)
            || truth.past.iter().any(|(old, until)| is_recent(*until) && is_shown(old))
    }
}

/// The number of processes of a cgroup: those that run, and all, also those that have ended and were not waited for.
type Count = (usize, usize);

/// The counts of each cgroup, second by second.
#[derive(Default)]
struct Counts(HashMap<String, Vec<Count>>);

impl Counts {
    /// Returns true if the cgroup had so many at some moment of the last seconds, or is not known for so long.
    fn allow(&self, path: &str, shown: usize) -> bool {
        let seconds = usize::try_from(GROUP_LAG.as_secs()).unwrap();
        let Some(past) = self.0.get(path).filter(|past| past.len() >= seconds) else {
            return true;
        };
        let window = &past[past.len() - seconds..];
        let least = window.iter().map(|(least, _)| *least).min().unwrap_or(0);
        let most = window.iter().map(|(_, most)| *most).max().unwrap_or(0);
        (least..=most).contains(&shown)
    }

    /// Takes in the counts of one second; a cgroup that is not among them has none.
    fn observe(&mut self, counts: &BTreeMap<String, Count>) {
        for path in counts.keys() {
            self.0.entry(path.clone()).or_default();
        }
        for (path, past) in &mut self.0 {
            past.push(counts.get(path).copied().unwrap_or_default());
        }
    }
}

/// User and command line of a process.
#[derive(Clone, PartialEq)]
struct Facts {
    user: String,
    command: String,
}

/// Reads the facts of every process with a command line, and how many processes each cgroup has.
fn read(users: &BTreeMap<u32, String>) -> (Vec<(u32, Facts)>, BTreeMap<String, Count>) {
    let (mut facts, mut cgroups) = (Vec::new(), BTreeMap::new());
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let file = |name| fs::read(entry.path().join(name)).unwrap_or_default();
        let cmdline = file("cmdline");
        if let Ok(cgroup) = zmtop::proc::cgroup::parse(&file("cgroup"))
            && !file("status").windows(12).any(|line| line == b"\nKthread:\t1\n")
        {
            let path = String::from_utf8_lossy(cgroup.path).into_owned();
            let count = cgroups.entry(path).or_insert((0, 0));
            count.0 += usize::from(!cmdline.is_empty());
            count.1 += 1;
        }
        if cmdline.is_empty() {
            continue;
        }
        let words: Vec<_> = String::from_utf8_lossy(&cmdline)
            .split('\0')
            .map(str::to_owned)
            .collect();
        let command = words.join(" ").trim_end().to_owned();
        // The screen shows a program without its directory.
        let (program, rest) = command.split_once(' ').unwrap_or((&command, ""));
        let program = program.rsplit('/').next().unwrap_or_default();
        let command = format!("{program} {rest}").trim_end().to_owned();
        let status = String::from_utf8_lossy(&file("status")).into_owned();
        let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let Some(uid) = uid.and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok()) else {
            continue;
        };
        let user = users.get(&uid).cloned().unwrap_or_else(|| uid.to_string());
        facts.push((pid, Facts { user, command }));
    }
    (facts, cgroups)
}

fn users() -> BTreeMap<u32, String> {
    let text = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let user = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        Some((fields.nth(1)?.parse().ok()?, name))
    };
    text.lines().filter_map(user).collect()
}

fn main() {
    let (mut minutes, mut workers) = (30, 24);
    for arg in std::env::args().skip(1) {
        match arg.split_once('=') {
            Some(("minutes", n)) => minutes = n.parse().unwrap(),
            Some(("workers", n)) => workers = n.parse().unwrap(),
            _ => {}
        }
    }
    let users = users();
    let mut workers = Workers::start(workers);
    let filter = "cmd:worker | cmd:forked | cmd:renamed | cmd:postgres | cmd:nginx";
    let mut processes = Screen::start(&["--sort", "-pid", "--filter", filter]);
    let mut groups = Screen::start(&["--by", "cgroup"]);
    let (mut facts, mut cgroups) = (Truths::default(), Counts::default());
    let start = Instant::now();
    let (mut rows, mut wrong) = (0_usize, BTreeMap::new());
    let mut next = start;
    while start.elapsed() < Duration::from_secs(60 * minutes) {
        next += Duration::from_secs(1);
        workers.change();
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        let (read, counts) = read(&users);
        for (pid, known) in read {
            facts.observe(pid, known, now);
        }
        cgroups.observe(&counts);
        processes.catch_up();
        for line in processes.text().lines().filter_map(|line| process_row(line, &users)) {
            rows += 1;
            let (pid, user, command) = line;
            if !facts.allow(pid, |f| f.user.starts_with(&user), now) {
                *wrong.entry(format!("user of {pid}")).or_insert(0) += 1;
                println!("{:>5} s: {pid} is shown as {user}'s", start.elapsed().as_secs());
            }
            if !facts.allow(pid, |f| f.command.starts_with(&command), now) {
                *wrong.entry(format!("command of {pid}")).or_insert(0) += 1;
                println!("{:>5} s: {pid} is shown as {command:?}", start.elapsed().as_secs());
            }
        }
        groups.catch_up();
        for (count, path) in groups.text().lines().filter_map(group_row) {
            rows += 1;
            if !cgroups.allow(&path, count) {
                *wrong.entry(path.clone()).or_insert(0) += 1;
                println!(
                    "{:>5} s: {path} is shown with {count} processes",
                    start.elapsed().as_secs()
                );
            }
        }
    }
    let (changes, kinds) = (workers.changes, wrong.len());
    println!(
        "{changes} changes, {rows} rows compared, {} wrong, of {kinds} kinds",
        wrong.values().sum::<usize>()
    );
    if std::env::var_os("SHOW").is_some() {
        println!("{}\n{}", processes.text(), groups.text());
    }
}

/// Returns pid, user and command of a line of the table of processes.
fn process_row(line: &str, users: &BTreeMap<u32, String>) -> Option<(u32, String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().rposition(|word| users.values().any(|user| user == word))?;
    let pid = words.get(at.checked_sub(1)?)?.parse().ok()?;
    let from = line.find(&format!(" {} ", words[at])).unwrap_or(0) + words[at].len() + 2;
    let command = line.get(from..)?.trim().trim_end_matches('…').to_owned();
    Some((pid, words[at].to_owned(), command))
}

/// Returns the number of processes and the path of a line of the table of cgroups: only of those made here, since in
/// others processes come and go between two looks.
fn group_row(line: &str) -> Option<(usize, String)> {
    let mut words = line.split_whitespace().rev();
    let path = words.next().filter(|word| word.starts_with("/zmtop-bench-"))?;
    Some((words.next()?.parse().ok()?, path.to_owned()))
}
