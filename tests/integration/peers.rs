//! Beside the tools that people know: the same figures of the same processes.
//!
//! Each test runs where its peer is installed, and says so where it is not; in continuous integration (`CI` is
//! set) a peer that is missing is a failure.

mod htop;
mod programs;
mod still;
mod swapped;

use std::io::Write;
use std::process::Command;

use crate::kernel::child::{self, Child};
use crate::support::pty::ZMTOP;

const KB: u64 = 1024;

/// Returns the output of a program; `None` without such a program.
fn said(program: &str, args: &[&str]) -> Option<String> {
    let done = Command::new(program).args(args).env("LC_ALL", "C.UTF-8").output();
    let done = match done {
        Ok(done) => done,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "{program} is not installed");
            let _ = writeln!(std::io::stdout(), "skipped: {program} is not installed");
            return None;
        }
        Err(error) => panic!("{program}: {error}"),
    };
    assert!(
        done.status.success(),
        "{program} {args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    Some(String::from_utf8(done.stdout).unwrap())
}

/// Rows of `zmtop ps` as numbers.
fn zmtop(args: &[&str]) -> Vec<Vec<String>> {
    let home = tempfile::tempdir().unwrap();
    let done = Command::new(ZMTOP)
        .arg("ps")
        .args(args)
        .args(["--format", "csv"])
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    csv::Reader::from_reader(&done.stdout[..])
        .records()
        .map(|record| record.unwrap().iter().map(str::to_owned).collect())
        .collect()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("a number: {text}"))
}

/// Two children that share a file, and the filter that chooses them.
struct Pair {
    children: [Child; 2],
    _dir: tempfile::TempDir,
    file: String,
}

impl Pair {
    fn start(name: &str) -> Self {
        Self::start_with(name, "ZMTOP_TEST_PLAIN")
    }

    /// The same with `flag` set in their environment.
    fn start_with(name: &str, flag: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("shared-with-peers");
        Self {
            children: [(), ()].map(|()| Child::start_with(name, &file, flag)),
            file: file.to_str().unwrap().to_owned(),
            _dir: dir,
        }
    }

    fn pids(&self) -> [u32; 2] {
        [self.children[0].pid(), self.children[1].pid()]
    }

    fn list(&self) -> String {
        self.pids().map(|pid| pid.to_string()).join(",")
    }

    fn filter(&self) -> String {
        format!("pid:{}", self.list())
    }

    fn agree(&self, args: &[&str], peer: impl Fn() -> Option<String>, check: impl Fn(&[Vec<String>], &str) -> Agreed) {
        agree(&self.filter(), args, peer, check);
    }
}

/// Looks with zmtop and with the peer until they agree: pages of this very program come and go with the tests
/// beside, so that not every look does.
fn agree(
    filter: &str,
    args: &[&str],
    peer: impl Fn() -> Option<String>,
    check: impl Fn(&[Vec<String>], &str) -> Agreed,
) {
    let args: Vec<&str> = std::iter::once(filter).chain(args.iter().copied()).collect();
    let mut last = None;
    for _ in 0..40 {
        let ours = zmtop(&args);
        let Some(theirs) = peer() else { return };
        match check(&ours, &theirs) {
            Ok(()) => return,
            Err(why) => last = Some((why, ours, theirs)),
        }
    }
    panic!("they never agree: {last:#?}");
}

/// Nothing, or what they do not agree on.
type Agreed = Result<(), String>;

fn hold(holds: bool, what: &str) -> Agreed {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// The figures of a row: swap, USS, PSS, RSS.
fn figures(ours: &[String], theirs: &[&str]) -> Agreed {
    let same = |at: usize| number(&ours[at]) == number(theirs[at]) * KB;
    hold(same(0), "swap")?;
    hold(same(1), "USS")?;
    hold(near(number(&ours[2]), number(theirs[2])), "PSS")?;
    hold(same(3), "RSS")
}

/// The line whose first word is `first`.
fn line<'a>(text: &'a str, first: &str) -> Result<Vec<&'a str>, String> {
    text.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| words.first() == Some(&first))
        .ok_or_else(|| format!("no line {first}"))
}

/// A pattern for `name` that does not match itself on the peer's own command line.
fn pattern(name: &str) -> String {
    format!("[{}]{}", &name[..1], &name[1..])
}

/// PSS of a rollup exceeds the sum of the mappings, each cut to KiB, by less than a KiB for each.
const MAPPINGS: u64 = 150;

fn near(ours: u64, theirs_kib: u64) -> bool {
    let theirs = theirs_kib * KB;
    ours >= theirs && ours - theirs < MAPPINGS * KB
}

#[test]
fn smem_sees_the_same_of_each_process() {
    const NAME: &str = "peers::smem_sees_the_same_of_each_process";
    child::be(NAME);
    let pair = Pair::start(NAME);
    let smem = || said("smem", &["-H", "-c", "pid swap uss pss rss", "-P", &pattern(NAME)]);
    pair.agree(&["--columns", "pid,swap,uss,pss,rss"], smem, |ours, theirs| {
        hold(ours.len() == 2, "two rows")?;
        ours.iter()
            .try_for_each(|row| figures(&row[1..], &line(theirs, &row[0])?[1..]))
    });
}

#[test]
fn smemstat_sees_the_same_of_each_process() {
    const NAME: &str = "peers::smemstat_sees_the_same_of_each_process";
    child::be(NAME);
    let pair = Pair::start(NAME);
    let list = pair.list();
    let smemstat = || said("smemstat", &["-k", "-p", &list]);
    pair.agree(&["--columns", "pid,swap,uss,pss,rss,user"], smemstat, |ours, theirs| {
        hold(ours.len() == 2, "two rows")?;
        ours.iter().try_for_each(|row| {
            let peer = line(theirs, &row[0])?;
            hold(row[5] == peer[5], "the user")?;
            figures(&row[1..], &peer[1..])
        })
    });
}

/// `36.9 MiB` in bytes, and half of its last digit.
fn mib(figure: &str, unit: &str) -> (f64, f64) {
    let unit = match unit {
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        other => panic!("{other}"),
    };
    (figure.parse::<f64>().unwrap() * unit, 0.05 * unit)
}

/// The words of `60.0 MiB + 23.5 MiB = 83.5 MiB  0.0 KiB  name (2)`, what `ps_mem` says of the program `name`.
fn words<'a>(theirs: &'a str, name: &str) -> Result<Vec<&'a str>, String> {
    let line = theirs.lines().find(|line| line.contains(name));
    let words: Vec<&str> = line.ok_or("the program's name")?.split_whitespace().collect();
    hold(words.len() > 10, "a whole line")?;
    Ok(words)
}

/// Returns true if a figure agrees with the number and the unit in `words` of `ps_mem`, within 0.5 %, the rounding of the
/// number's last digit, and `more` bytes.
fn close(ours: &str, words: &[&str], more: u64) -> bool {
    let (theirs, half) = mib(words[0], words[1]);
    (number(ours) as f64 - theirs).abs() <= theirs * 0.005 + half + more as f64
}

#[test]
fn ps_mem_sums_up_the_same_programs() {
    const NAME: &str = "peers::ps_mem_sums_up_the_same_programs";
    child::be(NAME);
    if !rustix::process::geteuid().is_root() {
        let _ = writeln!(std::io::stdout(), "skipped: ps_mem wants root");
        return;
    }
    let pair = Pair::start(NAME);
    let list = pair.list();
    let ps_mem = || said("ps_mem", &["-S", "-p", &list]);
    let columns = "count,uss,shared_pss,pss,swap_pss,group";
    pair.agree(&["--by", "command", "--columns", columns], ps_mem, |ours, theirs| {
        let [ours] = ours else {
            return Err("one program".into());
        };
        let words = words(theirs, &ours[5])?;
        hold(words[10] == ours[5], "the program's name")?;
        hold(words[11] == format!("({})", ours[0]), "how many")?;
        hold(close(&ours[1], &words, 0), "private")?;
        // It adds half a KiB for each mapping to what it calls shared, for what the kernel cut off.
        let cut = MAPPINGS * KB;
        hold(close(&ours[2], &words[3..], cut), "shared")?;
        hold(close(&ours[3], &words[6..], 0), "in all")?;
        hold(close(&ours[4], &words[8..], 0), "swap")
    });
}

#[test]
fn smem_sums_up_the_same_mappings_and_users() {
    const NAME: &str = "peers::smem_sums_up_the_same_mappings_and_users";
    child::be(NAME);
    let pair = Pair::start(NAME);
    let smem = || said("smem", &["-H", "-m", "-c", "map pids pss swap", "-M", &pair.file]);
    let columns = "group,count,pss,swap";
    pair.agree(&["--by", "mapping", "--columns", columns], smem, |ours, theirs| {
        let ours = ours.iter().find(|row| row[0] == pair.file).ok_or("the file")?;
        let peer: Vec<&str> = theirs.split_whitespace().collect();
        hold(ours[1] == peer[1] && ours[1] == "2", "how many processes")?;
        hold(number(&ours[2]) == number(peer[2]) * KB, "PSS")?;
        hold(number(&ours[3]) == number(peer[3]) * KB, "swap")
    });
    let name = pattern(NAME);
    let smem = || said("smem", &["-H", "-u", "-c", "user count swap uss pss rss", "-P", &name]);
    let columns = "user,count,swap,uss,pss,rss";
    pair.agree(&["--by", "user", "--columns", columns], smem, |ours, theirs| {
        let [ours] = ours else { return Err("one user".into()) };
        let peer: Vec<&str> = theirs.split_whitespace().collect();
        hold(ours[..2] == peer[..2], "the user and how many")?;
        figures(&ours[2..], &peer[2..])
    });
}

#[test]
fn free_sees_the_same_of_the_machine() {
    let home = tempfile::tempdir().unwrap();
    let figures = |free: &str, name: &str| -> Vec<u64> {
        let line = free.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().skip(1).map(number).collect()
    };
    let swap = |free: &str| figures(free, "Swap:")[0];
    // Other tests add swap and remove it.
    let (free, mem) = loop {
        let Some(free) = said("free", &["-b"]) else { return };
        let done = Command::new(ZMTOP)
            .args(["mem", "--format", "json"])
            .env("HOME", home.path())
            .output()
            .unwrap();
        let mem: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        if said("free", &["-b"]).is_some_and(|after| swap(&after) == swap(&free)) {
            break (free, mem);
        }
    };
    let ram = figures(&free, "Mem:");
    let of = |table: &str, name: &str| mem[table][name].as_u64().unwrap();
    assert_eq!(of("ram", "total"), ram[0]);
    assert_eq!(of("swap", "total"), swap(&free));
    // The machine goes on between the two.
    for (name, theirs) in [
        ("free", ram[2]),
        ("shared", ram[3]),
        ("cache", ram[4]),
        ("available", ram[5]),
    ] {
        let ours = of("ram", name);
        assert!(
            ours.abs_diff(theirs) < ram[0] / 20,
            "{name}: {ours} here, {theirs} in free"
        );
    }
}
