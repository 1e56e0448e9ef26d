//! One process of a made tree.

use super::tree::{ProcTree, replace};

/// One process of the tree. What is not said is plausible; sizes are in KiB.
#[derive(Clone, Debug)]
pub(crate) struct Process<'a> {
    tree: &'a ProcTree,
    pid: u32,
    comm: Vec<u8>,
    cmdline: Vec<u8>,
    cgroup: Vec<u8>,
    state: char,
    ppid: u32,
    flags: u64,
    uid: u32,
    threads: u64,
    starttime: u64,
    faults: (u64, u64),
    image: u64,
    argv: u64,
    space: u64,
    space_end: u64,
    pss: u64,
    rss: Option<u64>,
    private: Option<u64>,
    swap: u64,
    oom_score: u32,
}

impl<'a> Process<'a> {
    pub(super) fn new(tree: &'a ProcTree, pid: u32) -> Self {
        Self {
            tree,
            pid,
            comm: b"worker".into(),
            cmdline: b"/usr/bin/worker\0--serve\0".into(),
            cgroup: b"0::/system.slice/worker.service\n".into(),
            state: 'S',
            ppid: 1,
            flags: 0x0040_0100,
            uid: 0,
            threads: 1,
            starttime: 1000 + u64::from(pid),
            faults: (200, 3),
            image: 0x5555_0000_0000,
            argv: 0x7fff_0000_1000,
            space: 10_000_000,
            space_end: 0x7fff_0000_2000,
            pss: 2000,
            rss: None,
            private: None,
            swap: 0,
            oom_score: 667,
        }
    }

    pub(crate) fn comm(mut self, comm: impl AsRef<[u8]>) -> Self {
        self.comm = comm.as_ref().into();
        self
    }

    /// The arguments, each followed by a NUL.
    pub(crate) fn cmdline(mut self, cmdline: impl AsRef<[u8]>) -> Self {
        self.cmdline = cmdline.as_ref().into();
        self
    }

    /// The whole of the file `cgroup`.
    pub(crate) fn cgroup(mut self, cgroup: impl AsRef<[u8]>) -> Self {
        self.cgroup = cgroup.as_ref().into();
        self
    }

    pub(crate) fn state(mut self, state: char) -> Self {
        self.state = state;
        self
    }

    pub(crate) fn ppid(mut self, ppid: u32) -> Self {
        self.ppid = ppid;
        self
    }

    pub(crate) fn uid(mut self, uid: u32) -> Self {
        self.uid = uid;
        self
    }

    pub(crate) fn threads(mut self, threads: u64) -> Self {
        self.threads = threads;
        self
    }

    pub(crate) fn starttime(mut self, ticks: u64) -> Self {
        self.starttime = ticks;
        self
    }

    /// Minor and major.
    pub(crate) fn faults(mut self, minor: u64, major: u64) -> Self {
        self.faults = (minor, major);
        self
    }

    /// The address of the program; another value is another exec, and 0 is the value without the right to read it.
    pub(crate) fn image(mut self, image: u64) -> Self {
        self.image = image;
        self
    }

    /// The address of the arguments.
    pub(crate) fn argv(mut self, argv: u64) -> Self {
        self.argv = argv;
        self
    }

    /// The size of the address space, in bytes.
    pub(crate) fn space(mut self, bytes: u64) -> Self {
        self.space = bytes;
        self
    }

    /// The end of the address space; another value is another exec too.
    pub(crate) fn space_end(mut self, end: u64) -> Self {
        self.space_end = end;
        self
    }

    /// PSS; unless said otherwise RSS is half as much again, and half of PSS is private.
    pub(crate) fn pss_kb(mut self, kb: u64) -> Self {
        self.pss = kb;
        self
    }

    pub(crate) fn rss_kb(mut self, kb: u64) -> Self {
        self.rss = Some(kb);
        self
    }

    pub(crate) fn uss_kb(mut self, kb: u64) -> Self {
        self.private = Some(kb);
        self
    }

    pub(crate) fn swap_kb(mut self, kb: u64) -> Self {
        self.swap = kb;
        self
    }

    pub(crate) fn oom_score(mut self, score: u32) -> Self {
        self.oom_score = score;
        self
    }

    /// A kernel thread: no memory, no arguments.
    pub(crate) fn kernel_thread(mut self) -> Self {
        self.flags |= zmtop::model::Stat::PF_KTHREAD;
        self.image = 0;
        self.argv = 0;
        self.cmdline.clear();
        self
    }

    /// The file `stat`.
    pub(crate) fn stat(&self) -> Vec<u8> {
        let page = rustix::param::page_size() as u64 / 1024;
        let mut stat = format!("{} (", self.pid).into_bytes();
        stat.extend_from_slice(&self.comm);
        let (end, stack) = match self.image {
            0 => (1, 0),
            at => (at + 0x1000, at + 0x2aaa_0000),
        };
        stat.extend_from_slice(
            format!(
                ") {} {} {pid} {pid} 0 -1 {} {} 0 {} 0 120 30 0 0 20 0 {} 0 {} {} {} 18446744073709551615 \
                 {} {end} {stack} 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 1 2 3 {} {} 4 5 0\n",
                self.state,
                self.ppid,
                self.flags,
                self.faults.0,
                self.faults.1,
                self.threads,
                self.starttime,
                self.space,
                self.rss() / page,
                self.image.max(1),
                self.argv,
                if self.argv == 0 { 0 } else { self.argv + 24 },
                pid = self.pid,
            )
            .as_bytes(),
        );
        stat
    }

    fn rss(&self) -> u64 {
        self.rss.unwrap_or(self.pss + self.pss / 2)
    }

    /// The file `smaps_rollup`: empty for what has no memory.
    pub(crate) fn rollup(&self) -> String {
        if self.flags & zmtop::model::Stat::PF_KTHREAD != 0 || self.state == 'Z' {
            return String::new();
        }
        let header = format!(
            "555500000000-{:x} ---p 00000000 00:00 0 {:25}[rollup]\n",
            self.space_end, ""
        );
        header + &self.figures(true)
    }

    /// The same memory as a `smaps` of one mapping.
    pub(crate) fn smaps(&self) -> String {
        let header = "555500000000-555500002000 r-xp 00000000 08:01 1234                       /usr/bin/worker\n\
                      Size:                  8 kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n";
        header.to_owned() + &self.figures(false) + "THPeligible:           0\nVmFlags: rd ex mr mw me sd \n"
    }

    fn figures(&self, rollup: bool) -> String {
        let private = self.private.unwrap_or(self.pss / 2);
        let mut lines = vec![("Rss", self.rss()), ("Pss", self.pss), ("Pss_Dirty", private)];
        if rollup {
            lines.extend([
                ("Pss_Anon", private),
                ("Pss_File", self.pss - private),
                ("Pss_Shmem", 0),
            ]);
        }
        lines.extend([
            ("Shared_Clean", self.rss() - private),
            ("Shared_Dirty", 0),
            ("Private_Clean", 0),
            ("Private_Dirty", private),
            ("Referenced", self.rss()),
            ("Anonymous", private),
            ("Shared_Hugetlb", 0),
            ("Private_Hugetlb", 0),
            ("Swap", self.swap),
            ("SwapPss", self.swap),
            ("Locked", 0),
        ]);
        let line = |(name, kb): (&str, u64)| format!("{:<16}{kb:>8} kB\n", format!("{name}:"));
        lines.into_iter().map(line).collect()
    }

    /// Writes its files.
    pub(crate) fn write(&self) {
        self.write_at(&self.pid.to_string());
    }

    /// Writes its files to another directory below `proc`, such as that of a thread.
    pub(crate) fn write_at(&self, dir: &str) {
        let file = |name: &str, content: &[u8]| replace(&self.tree.root().join(dir).join(name), content);
        file("smaps_rollup", self.rollup().as_bytes());
        file("cmdline", &self.cmdline);
        file("cgroup", &self.cgroup);
        file("oom_score", format!("{}\n", self.oom_score).as_bytes());
        let mut status = b"Name:\t".to_vec();
        status.extend(self.comm.iter().flat_map(|b| match b {
            b'\n' => b"\\n".to_vec(),
            b'\\' => b"\\\\".to_vec(),
            b => vec![*b],
        }));
        status.extend_from_slice(format!("\nUmask:\t0022\nUid:\t{0}\t{0}\t{0}\t{0}\n", self.uid).as_bytes());
        file("status", &status);
        file("stat", &self.stat());
    }
}
