//! Cgroups made for a load, and removed after it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::kinds;
use super::load::Load;

/// The beginning of the names of cgroups made here, before the pid of the bench.
const PREFIX: &str = "zmtop-bench-";
/// The hierarchies of cgroup v1 that count memory and processor time.
const V1: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpuacct"];
const V2: &str = "/sys/fs/cgroup";

/// Processes in cgroups of their own. Processes and cgroups are gone when this is dropped.
pub(crate) struct Cgroups {
    processes: Vec<Load>,
    directories: Vec<PathBuf>,
}

impl Cgroups {
    /// Starts so many processes, as many in each of `groups` cgroups. `busy` of the first cgroup never rest. `None` where
    /// no cgroups can be made.
    pub(crate) fn start(processes: usize, groups: usize, busy: usize) -> Option<Self> {
        let is_hierarchy = |root: &&str| Path::new(root).join("cgroup.procs").exists();
        let mut roots: Vec<&str> = V1.into_iter().filter(is_hierarchy).collect();
        if roots.is_empty() {
            roots.extend([V2].iter().filter(|root| is_hierarchy(root)));
        }
        for root in &roots {
            remove_left_over(root);
        }
        let mut cgroups = Self {
            processes: Vec::new(),
            directories: Vec::new(),
        };
        let name = |group| format!("{PREFIX}{}-{group}", std::process::id());
        for group in 0..groups {
            for root in &roots {
                let directory = Path::new(root).join(name(group));
                fs::create_dir(&directory).ok()?;
                cgroups.directories.push(directory);
            }
        }
        if roots.is_empty() {
            return None;
        }
        let each = processes / groups;
        for group in 0..groups {
            let busy = if group == 0 { busy } else { 0 };
            let mut parts = vec![Load::start(each - busy, 10, 5)];
            if busy > 0 {
                parts.push(kinds::faulting(busy));
            }
            for pid in parts.iter().flat_map(Load::pids) {
                for root in &roots {
                    fs::write(Path::new(root).join(name(group)).join("cgroup.procs"), pid.to_string()).ok()?;
                }
            }
            cgroups.processes.extend(parts);
        }
        Some(cgroups)
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        self.processes.clear();
        let began = Instant::now();
        // One that a process has just left is still busy for a moment.
        while self
            .directories
            .iter()
            .any(|directory| fs::remove_dir(directory).is_err() && directory.exists())
            && began.elapsed() < Duration::from_secs(10)
        {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Removes the cgroups of benches that were killed.
fn remove_left_over(root: &str) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
