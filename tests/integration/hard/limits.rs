//! Little of what the kernel gives.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal};
use zmtop::record::time_text;

use super::{quit, refreshes, skip};
use crate::support::pty::Pty;
use crate::support::recorded::Recorded;

#[test]
fn thirty_two_descriptors() {
    let script = "ulimit -n 32; exec $ZMTOP --interval 100ms";
    let mut pty = Pty::run((120, 40), "sh", &["-c", script], &[]);
    pty.wait_for_table();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", pty.pid())).unwrap();
    let limit = limits.lines().find(|l| l.starts_with("Max open files")).unwrap();
    assert!(limit.split_whitespace().filter(|w| *w == "32").count() == 2, "{limit}");
    refreshes(&mut pty, "3232.25");
    quit(&mut pty);
}

#[test]
fn thirty_two_megabytes() {
    const LIMIT: u64 = 32 << 20;
    let Some(group) = Group::new("monitor", LIMIT) else {
        return skip("there is no memory controller to make a group in");
    };
    let script = "echo $$ > $GROUP/cgroup.procs && exec $ZMTOP --interval 100ms";
    let path = group.dir.to_str().unwrap();
    let mut pty = Pty::run((120, 40), "sh", &["-c", script], &[("GROUP", path)]);
    pty.wait_for_table();
    // It reads the heaps of other users' programs, if there are any, in children of its own.
    let members = std::fs::read_to_string(group.dir.join("cgroup.procs")).unwrap();
    let is_of_zmtop = |pid: &str| {
        let parent = format!("PPid:\t{}\n", pty.pid());
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
        pid == pty.pid().to_string()
            || status.is_ok_and(|status| status.contains(&parent))
            || !Path::new("/proc").join(pid).exists()
    };
    assert!(
        members.contains(&pty.pid().to_string()) && members.lines().all(is_of_zmtop),
        "zmtop and nothing else is in the group"
    );
    std::thread::sleep(Duration::from_secs(3));
    refreshes(&mut pty, "3232.75");
    quit(&mut pty);
}

/// A program in a cgroup that takes `most` MiB, with a pause of so many seconds after each, and stays.
fn holder(group: &Group, most: u32, pause: &str, adjust: i32) -> Child {
    let program = "BEGIN { s = \"xxxxxxxx\"; while (length(s) < 1048576) s = s s; \
                   for (n = 0; n < most; n++) { a[n] = s n; if (pause) system(\"sleep \" pause) } \
                   for (;;) system(\"sleep 1\") }";
    let script =
        "echo $1 > /proc/self/oom_score_adj; echo $$ > $2/cgroup.procs; exec awk -v most=$3 -v pause=$4 \"$5\"";
    Command::new("sh")
        .args(["-c", script, "sh", &adjust.to_string(), group.dir.to_str().unwrap()])
        .args([&most.to_string(), pause, program])
        .spawn()
        .unwrap()
}

/// Records with these settings while `scene` runs in a cgroup of 30 MiB; returns what `zmtop why` says, in one line.
fn why<T>(
    name: &str,
    settings: &str,
    before: impl FnOnce(&Group) -> T,
    scene: impl FnOnce(&Group, T),
) -> Option<String> {
    let mut recording = Recorded::new();
    recording.configure(settings);
    let group = Group::new(name, 30 << 20)?;
    let begun = before(&group);
    recording.start(&["--every", "200ms"]);
    recording.wait_for(3);
    scene(&group, begun);
    let killed = time_text(SystemTime::now());
    recording.wait_for(5);
    for pid in std::fs::read_to_string(group.dir.join("cgroup.procs")).unwrap().lines() {
        let _ = rustix::process::kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL);
    }
    recording.end();
    let told = recording.why(&["--at", &killed]);
    Some(told.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn what_outgrows_its_cgroup_is_named_by_why() {
    // Its heap is read when the limit is near, unless the settings say otherwise. On a busy machine, a read may come too late: of three
    // processes, that of one is read.
    for (settings, tries, is_read) in [("", 3, true), ("[sampler]\nheaps = false\n", 1, false)] {
        let mut has_read = false;
        for _ in 0..tries {
            let mut pid = 0;
            let told = why(
                "grows",
                settings,
                |_| (),
                |group, ()| {
                    // Slow enough that the limit is near for many snapshots before the kill.
                    let mut grower = holder(group, 1000, "1", 0);
                    pid = grower.id();
                    assert_eq!(grower.wait().unwrap().signal(), Some(9));
                },
            );
            let Some(told) = told else {
                return skip("there is no memory controller to make a group in");
            };
            for part in [
                "OOM kill",
                &format!("(pid {pid})"),
                "The victim itself had grown: ",
                "zmtop-test-grows-",
            ] {
                assert!(told.contains(part), "{part}\n{told}");
            }
            has_read = told.contains(" in use inside malloc");
            if has_read {
                break;
            }
        }
        assert_eq!(has_read, is_read);
    }
}

#[test]
fn who_grew_is_named_by_why_where_a_bystander_is_killed() {
    let mut pids = [0; 2];
    let told = why(
        "bystander",
        "",
        |group| {
            let bystander = holder(group, 8, "0", 1000);
            let resident = || {
                let statm = std::fs::read_to_string(format!("/proc/{}/statm", bystander.id())).unwrap();
                statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
            };
            while resident() * rustix::param::page_size() < 8 << 20 {
                std::thread::sleep(Duration::from_millis(50));
            }
            // What started no more than two intervals before the recording counts as started in it. On a loaded machine, an
            // interval takes seconds.
            std::thread::sleep(Duration::from_secs(5));
            bystander
        },
        |group, mut bystander| {
            let mut grower = holder(group, 1000, "0.2", 0);
            pids = [bystander.id(), grower.id()];
            assert_eq!(bystander.wait().unwrap().signal(), Some(9));
            grower.kill().unwrap();
            grower.wait().unwrap();
        },
    );
    let Some(told) = told else {
        return skip("there is no memory controller to make a group in");
    };
    let [bystander, grower] = pids.map(|pid| format!("(pid {pid})"));
    let (before, after) = told
        .split_once("The victim was a bystander")
        .unwrap_or_else(|| panic!("{told}"));
    assert!(before.contains(&bystander), "{told}");
    assert!(after.contains(&grower), "{told}");
}

/// A cgroup with a limit on memory. Removed when dropped.
struct Group {
    dir: PathBuf,
}

impl Group {
    fn new(name: &str, limit: u64) -> Option<Self> {
        let controllers = std::fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").unwrap_or_default();
        let (parent, file) = if controllers.split_whitespace().any(|c| c == "memory") {
            ("/sys/fs/cgroup", "memory.max")
        } else {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        };
        if !Path::new(parent).join("cgroup.procs").exists() {
            return None;
        }
        let dir = Path::new(parent).join(format!("zmtop-test-{name}-{}", std::process::id()));
        std::fs::create_dir(&dir).ok()?;
        let group = Self { dir };
        std::fs::write(group.dir.join(file), limit.to_string()).ok()?;
        // What swaps outgrows no limit. Not every kernel has both.
        for file in ["memory.swap.max", "memory.swappiness"] {
            let _ = std::fs::write(group.dir.join(file), "0");
        }
        Some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Who was in it may still be on the way out.
        for _ in 0..100 {
            match std::fs::remove_dir(&self.dir) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                _ => return,
            }
        }
    }
}
