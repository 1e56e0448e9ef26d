//! Any interactive program in a pseudo-terminal of 200×50, and what it costs.

use std::fs;
use std::io::Read;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::terminal::{Terminal, emulator};

/// A running program. Ended when dropped.
pub(crate) struct Pane {
    terminal: Terminal,
    shown: Arc<Mutex<vt100::Parser>>,
}

/// The columns that make htop walk every process.
const HTOPRC: &str = "htop_version=3.2.2\nconfig_reader_min_version=3\nhide_kernel_threads=1\n\
    hide_userland_threads=1\ndelay=10\n\
    screen:Main=PID USER M_RESIDENT M_PSS M_SWAP M_PSSWP PERCENT_CPU Command\n\
    .sort_key=M_RESIDENT\n.sort_direction=-1\n";

impl Pane {
    /// Starts `zmtop`, `htop` or `top`; `None` where there is no such program.
    pub(crate) fn start(name: &str) -> Option<Self> {
        let (program, args): (&str, &[&str]) = match name {
            "zmtop" => (env!("CARGO_BIN_EXE_zmtop"), &[]),
            "htop" => ("htop", &[]),
            _ => (name, &["-d", "1"]),
        };
        let terminal = Terminal::start((200, 50), program, args, |command, home| {
            command.env("XDG_CONFIG_HOME", home);
            command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
            command.env_remove("LANG");
            if name == "htop" {
                fs::create_dir(home.join("htop")).unwrap();
                fs::write(home.join("htop/htoprc"), HTOPRC).unwrap();
            }
        })?;
        let mut reader = terminal.master().try_clone_reader().unwrap();
        let shown = Arc::new(Mutex::new(emulator(200, 50)));
        let screen = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                screen.lock().unwrap().process(&buffer[..n]);
            }
        });
        Some(Self { terminal, shown })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.terminal.pid()
    }

    /// Returns what is on the screen.
    pub(crate) fn text(&self) -> String {
        self.shown.lock().unwrap().screen().contents()
    }

    /// The part of one core that it takes over that time, as a percentage.
    pub(crate) fn cpu(&self, over: Duration) -> f64 {
        let (start, before) = (Instant::now(), self.cpu_time());
        super::interrupt::pause(over);
        let (took, after) = (start.elapsed(), self.cpu_time());
        after.saturating_sub(before).as_secs_f64() / took.as_secs_f64() * 100.0
    }

    /// User and system time of all its threads: the scheduler's own figure where there is one, as that of
    /// `stat` is in hundredths of a second.
    fn cpu_time(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let ran = |task: std::io::Result<fs::DirEntry>| -> Option<u64> {
            let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok()
        };
        let precise: u64 = tasks.filter_map(ran).sum();
        if precise > 0 {
            return Duration::from_nanos(precise);
        }
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let fields = stat.rsplit(") ").next().unwrap().split(' ').skip(11).take(2);
        let ticks: u64 = fields.map(|f| f.parse::<u64>().unwrap()).sum();
        Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    }

    /// Its resident memory in bytes.
    pub(crate) fn rss(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        kb(&status, "VmRSS:")
    }

    /// Returns how many files it holds open.
    pub(crate) fn files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }
}

/// A field in kB of a file such as `status` or `meminfo`, in bytes; 0 where there is none.
pub(crate) fn kb(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let words = line.and_then(|rest| rest.split_whitespace().next());
    words.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Bytes in the kernel's caches that files held open under `/proc` take from; `None` where unreadable.
pub(crate) fn slabs() -> Option<Vec<(String, u64)>> {
    let text = fs::read_to_string("/proc/slabinfo").ok()?;
    let of = |line: &str| -> Option<(String, u64)> {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let kinds = [
            "kmalloc-4k",
            "kmalloc-cg-4k",
            "filp",
            "seq_file",
            "proc_inode_cache",
            "dentry",
        ];
        kinds.contains(&name).then_some(())?;
        let mut number = || words.next()?.parse::<u64>().ok();
        let (active, _, size) = (number()?, number()?, number()?);
        Some((name.to_owned(), active * size))
    };
    Some(text.lines().filter_map(of).collect())
}
