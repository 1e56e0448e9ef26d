//! Programs of several kinds, named and summed as `ps_mem` does: with their files deleted and replaced; a
//! shell, and what it forked that shares its memory.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Agreed, KB, agree, close, figures, hold, line, said, words};
use crate::support::Owned;
use crate::support::pty::have;

/// Shares what it wrote with the process that it forks; then each writes something of its own. Both end when their
/// input does. No Python, which `ps_mem` and smem run on: they would have a share in its pages, but only when they look.
const FORKS: &str = "
exec 3<&0
printf -v both '%*s' 16777216 ''
{ printf -v own '%*s' 4194304 ''; echo $BASHPID; read -r -u 3; } &
printf -v own '%*s' 4194304 ''
read -r -u 3
";

/// Programs that wait for the end of their input; ended when dropped.
struct Programs(Vec<Owned>);

impl Programs {
    /// Runs `file` and waits for the line that it writes when it is there; that line.
    fn start(&mut self, file: &Path, args: &[&str], wake: &str) -> String {
        let mut command = Command::new(file);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Owned(command.spawn().unwrap());
        child.stdin.as_mut().unwrap().write_all(wake.as_bytes()).unwrap();
        let out = child.stdout.take().unwrap();
        self.0.push(child);
        let mut said = String::new();
        BufReader::new(out).read_line(&mut said).unwrap();
        said.trim().to_owned()
    }

    fn pids(&self) -> Vec<String> {
        self.0.iter().map(|child| child.id().to_string()).collect()
    }
}

/// Returns the most that the kernel cuts off the figures of these processes' mappings after `ps_mem` has added the mean, in
/// bytes.
fn cut(pids: &[String]) -> u64 {
    let mappings = |pid| fs::read_to_string(format!("/proc/{pid}/maps")).map_or(0, |maps| maps.lines().count());
    pids.iter().map(mappings).sum::<usize>() as u64 * KB / 2
}

/// Every group is there with its name, its mark, how many there are and how much.
fn same(ours: &[Vec<String>], theirs: &str, cut: u64) -> Agreed {
    ours.iter().try_for_each(|row| {
        // It names the shell of a `-c` alone.
        let program = row[5].strip_suffix(" -c").unwrap_or(&row[5]);
        let words = words(theirs, program)?;
        let mark = if row[6].is_empty() {
            String::new()
        } else {
            format!(" [{}]", row[6])
        };
        let count = if row[0] == "1" {
            String::new()
        } else {
            format!(" ({})", row[0])
        };
        let name = format!("{program}{mark}{count}");
        hold(words[10..].join(" ") == name, &name)?;
        hold(close(&row[1], &words, 0), "private")?;
        hold(close(&row[2], &words[3..], cut), "shared")?;
        hold(close(&row[3], &words[6..], cut), "in all")?;
        hold(close(&row[4], &words[8..], 0), "swap")
    })
}

const COLUMNS: [&str; 4] = [
    "--by",
    "command",
    "--columns",
    "count,uss,shared_pss,pss,swap_pss,group,replaced",
];

#[test]
fn replaced_programs_are_marked_alike() {
    if !rustix::process::geteuid().is_root() {
        crate::support::cannot("ps_mem wants root");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut programs = Programs(Vec::new());
    let paths = ["zmpeer-kept", "zmpeer-gone", "zmpeer-gone", "zmpeer-new"].map(|name| dir.path().join(name));
    for path in &paths {
        if !path.exists() {
            crate::support::copy_program("/bin/cat", path);
        }
        assert_eq!(programs.start(path, &[], "here\n"), "here");
    }
    for path in &paths[2..] {
        fs::remove_file(path).unwrap();
    }
    crate::support::copy_program("/bin/cat", &paths[3]);
    let pids = programs.pids();
    let list = pids.join(",");
    let ps_mem = || said("ps_mem", &["-S", "-p", &list]);
    agree(&format!("pid:{list}"), &COLUMNS, ps_mem, |ours, theirs| {
        hold(ours.len() == 3, "three programs")?;
        let replaced = |name: &str| ours.iter().find(|row| row[5] == name).map(|row| row[6].as_str());
        hold(replaced("zmpeer-kept") == Some(""), "the one that is there")?;
        hold(replaced("zmpeer-gone") == Some("deleted"), "the deleted one")?;
        hold(replaced("zmpeer-new") == Some("updated"), "the updated one")?;
        same(ours, theirs, cut(&pids))
    });
}

#[test]
fn what_is_shared_after_a_fork_counts_once() {
    if !have("bash") {
        return;
    }
    let mut programs = Programs(Vec::new());
    let marker = "zmpeer-forks";
    let other = programs.start(Path::new("bash"), &["-c", FORKS, marker], "");
    let pids = [programs.pids(), vec![other]].concat();
    let list = pids.join(",");
    let filter = format!("pid:{list}");
    let columns = ["--columns", "pid,swap,uss,pss,rss"];
    let name = super::pattern(marker);
    let smem = || said("smem", &["-H", "-c", "pid swap uss pss rss", "-P", &name]);
    agree(&filter, &columns, smem, |ours, theirs| {
        hold(ours.len() == 2, "two rows")?;
        ours.iter().try_for_each(|row| {
            // A read under load may come too late.
            hold(row.iter().all(|cell| !cell.is_empty()), "a figure was not read")?;
            let (pss, rss) = (super::number(&row[3]), super::number(&row[4]));
            hold(rss > 20 << 20 && pss < rss - (7 << 20), "a part that is shared")?;
            figures(&row[1..], &line(theirs, &row[0])?[1..])
        })
    });
    if !rustix::process::geteuid().is_root() {
        crate::support::cannot("ps_mem wants root");
        return;
    }
    let ps_mem = || said("ps_mem", &["-S", "-p", &list]);
    agree(&filter, &COLUMNS, ps_mem, |ours, theirs| {
        let [one] = ours else {
            return Err("one program".into());
        };
        let pss = super::number(&one[3]);
        hold(one[0] == "2" && (24 << 20..40 << 20).contains(&pss), "its memory once")?;
        same(ours, theirs, cut(&pids))
    });
}
