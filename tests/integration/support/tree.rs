//! A made proc tree: processes and system files of any content, under a directory of their own.
//!
//! ```ignore
//! let tree = ProcTree::new();
//! tree.process(7).comm("cat").pss_kb(300).write();
//! let snapshot = block_on(Scanner::new(&tree.options()).full());
//! ```

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::pty::ZMTOP;
pub(crate) use super::tree_process::Process;
use tempfile::TempDir;
use zmtop::sampler::{Options, Policy};

/// The tree; removed when dropped. `proc`, `sys` and `etc` lie side by side in it.
#[derive(Debug)]
pub(crate) struct ProcTree {
    dir: TempDir,
}

impl ProcTree {
    /// Runs zmtop on it with these words, separated by blanks; returns the exit code, and what was said on stdout and on
    /// stderr.
    pub(crate) fn zmtop(&self, line: &str) -> (Option<i32>, String, String) {
        let done = Command::new(ZMTOP)
            .args(line.split_whitespace())
            .arg("--proc-root")
            .arg(self.root())
            .env_clear()
            .env("HOME", self.path("home"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }

    /// A tree with the system's files and no process.
    pub(crate) fn new() -> Self {
        let tree = Self::empty();
        tree.system("meminfo", MEMINFO);
        tree.system(
            "vmstat",
            "nr_free_pages 100\npswpin 10\npswpout 20\npgfault 4000\npgmajfault 30\n",
        );
        tree.system(
            "swaps",
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
             /dev/zram0                              partition\t1048576\t\t4096\t\t100\n\
             /swap\\040file                           file\t\t2097152\t\t1024\t\t-2\n",
        );
        tree.system(
            "pressure/memory",
            "some avg10=1.50 avg60=0.10 avg300=0.00 total=123\nfull avg10=0.25 avg60=0.00 avg300=0.00 total=45\n",
        );
        tree.system("uptime", "1036800.25 4000000.00\n");
        tree.system("loadavg", "0.50 0.25 0.10 1/412 27213\n");
        tree.system("sys/kernel/hostname", "db1\n");
        tree.system("sys/kernel/random/boot_id", "0f1e2d3c-0000-4000-8000-000000000000\n");
        tree.write("sys/block/zram0/mm_stat", "4096000 1024000 1228800 0 1228800 0 0 0 0\n");
        tree.write(
            "etc/passwd",
            "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n",
        );
        tree
    }

    /// A tree with nothing in it.
    pub(crate) fn empty() -> Self {
        let tree = Self { dir: super::scratch() };
        fs::create_dir_all(tree.root()).unwrap();
        fs::create_dir_all(tree.path("sys/block")).unwrap();
        tree
    }

    /// Returns the value for `--proc-root`.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("proc")
    }

    /// A path below the directory that holds `proc`, `sys` and `etc`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The sampler's options for this tree: two threads, and the deadline of the program: a loaded machine makes a read late.
    pub(crate) fn options(&self) -> Options {
        Options {
            threads: 2,
            interval: Duration::from_millis(500),
            deadline: Duration::from_secs(1),
            // Files are rewritten here without a sign in stat: everything is walked every time.
            policy: Policy::UNLIMITED,
            ..Options::new(Some(&self.root()))
        }
    }

    /// Writes a file of the system's, by its name below `proc`.
    pub(crate) fn system(&self, name: &str, content: impl AsRef<[u8]>) {
        self.write(&format!("proc/{name}"), content);
    }

    /// Puts a file in its place whole, as a reader may be about.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        replace(&self.path(name), content.as_ref());
    }

    /// A process to describe, and then to write.
    pub(crate) fn process(&self, pid: u32) -> Process<'_> {
        Process::new(self, pid)
    }

    /// Takes a process away.
    pub(crate) fn remove(&self, pid: u32) {
        fs::remove_dir_all(self.file(pid, "")).unwrap();
    }

    /// The path of a process's file.
    pub(crate) fn file(&self, pid: u32, name: &str) -> PathBuf {
        self.root().join(pid.to_string()).join(name)
    }

    /// Replaces a process's file by a FIFO: opening it waits until someone opens the other end.
    pub(crate) fn fifo(&self, pid: u32, name: &str) {
        let path = self.file(pid, name);
        let _ = fs::remove_file(&path);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    }

    /// Lets whoever waits for that FIFO go on with `content`. Returns false when nobody waits.
    pub(crate) fn feed(&self, pid: u32, name: &str, content: impl AsRef<[u8]>) -> bool {
        use rustix::fs::{Mode, OFlags, open};
        let Ok(fd) = open(
            self.file(pid, name),
            OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        ) else {
            return false;
        };
        rustix::io::write(&fd, content.as_ref()).is_ok()
    }
}

pub(super) fn replace(path: &Path, content: &[u8]) {
    let mut new = path.as_os_str().to_owned();
    new.push(OsStr::from_bytes(b".new"));
    // Most directories are there.
    if fs::write(&new, content).is_err() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&new, content).unwrap();
    }
    fs::rename(&new, path).unwrap();
}

const MEMINFO: &str = "\
MemTotal:       24649920 kB
MemFree:         1000000 kB
MemAvailable:   14000000 kB
Buffers:          100000 kB
Cached:          2000000 kB
SwapCached:         5000 kB
Active:          3000000 kB
Inactive:        2000000 kB
SwapTotal:       3145728 kB
SwapFree:        2097152 kB
Zswap:              1200 kB
Zswapped:           4800 kB
Dirty:               100 kB
Writeback:             0 kB
AnonPages:       6200000 kB
Mapped:           500000 kB
Shmem:            300000 kB
Slab:             500000 kB
SReclaimable:     200000 kB
SUnreclaim:       300000 kB
CommitLimit:    15470688 kB
Committed_AS:    9000000 kB
VmallocTotal:   34359738367 kB
VmallocUsed:       40000 kB
VmallocChunk:          0 kB
HugePages_Total:       0
Hugepagesize:       2048 kB
";
