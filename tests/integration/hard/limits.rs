//! Little of what the kernel gives.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{quit, refreshes, skip};
use crate::support::pty::Pty;

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
    let Some(group) = Group::new(LIMIT) else {
        return skip("there is no memory controller to make a group in");
    };
    let script = "echo $$ > $GROUP/cgroup.procs && exec $ZMTOP --interval 100ms";
    let path = group.dir.to_str().unwrap();
    let mut pty = Pty::run((120, 40), "sh", &["-c", script], &[("GROUP", path)]);
    pty.wait_for_table();
    let members = std::fs::read_to_string(group.dir.join("cgroup.procs")).unwrap();
    assert_eq!(
        members.trim(),
        pty.pid().to_string(),
        "zmtop and nothing else is in the group"
    );
    std::thread::sleep(Duration::from_secs(3));
    refreshes(&mut pty, "3232.75");
    quit(&mut pty);
}

/// A cgroup with a limit on memory. Removed when dropped.
struct Group {
    dir: PathBuf,
}

impl Group {
    fn new(limit: u64) -> Option<Self> {
        let controllers = std::fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").unwrap_or_default();
        let (parent, file) = if controllers.split_whitespace().any(|c| c == "memory") {
            ("/sys/fs/cgroup", "memory.max")
        } else {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        };
        if !Path::new(parent).join("cgroup.procs").exists() {
            return None;
        }
        let dir = Path::new(parent).join(format!("zmtop-test-{}", std::process::id()));
        std::fs::create_dir(&dir).ok()?;
        let group = Self { dir };
        std::fs::write(group.dir.join(file), limit.to_string()).ok()?;
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
