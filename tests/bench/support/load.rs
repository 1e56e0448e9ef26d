//! Processes that do nothing but have memory.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};

/// Tells a child what to be.
const LOAD: &str = "ZMTOP_BENCH_LOAD";
const PAGE: usize = 4096;

/// Such processes; ended with this value, and with this process.
pub(crate) struct Load(Vec<Child>);

impl Load {
    /// Turns a bench that was started as a load into one; to be called before anything else.
    pub(crate) fn be_one_if_told() {
        if let Ok(load) = std::env::var(LOAD) {
            let (areas, pages) = load.split_once(' ').unwrap();
            be_load(areas.parse().unwrap(), pages.parse().unwrap());
        }
    }

    /// Starts so many, each with that many anonymous areas of that many touched pages.
    pub(crate) fn start(processes: usize, areas: usize, pages: usize) -> Self {
        Self::start_as(processes, LOAD, &format!("{areas} {pages}"))
    }

    /// Starts so many of such, which have that many titles.
    pub(crate) fn start_in_groups(processes: usize, groups: usize, areas: usize, pages: usize) -> Self {
        let name = |process| Some(format!("[load-{}]", process % groups));
        Self::start_named(processes, LOAD, &format!("{areas} {pages}"), name)
    }

    /// Starts so many with that in their environment, and waits until each has written a byte.
    pub(crate) fn start_as(processes: usize, variable: &str, value: &str) -> Self {
        Self::start_named(processes, variable, value, |_| None)
    }

    fn start_named(processes: usize, variable: &str, value: &str, name: impl Fn(usize) -> Option<String>) -> Self {
        let (mut ready, writer) = std::io::pipe().unwrap();
        let program = std::env::current_exe().unwrap();
        let spawn = |process| {
            let mut command = Command::new(&program);
            if let Some(name) = name(process) {
                command.arg0(name);
            }
            command
                .env_clear()
                .env(variable, value)
                .stdin(Stdio::null())
                .stdout(writer.try_clone().unwrap())
                .spawn()
                .unwrap()
        };
        let load = Self((0..processes).map(spawn).collect());
        ready.read_exact(&mut vec![0; processes]).unwrap();
        load
    }

    /// Their pids.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.0.iter().map(Child::id).collect()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

fn be_load(areas: usize, pages: usize) -> ! {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    for _ in 0..areas {
        #[expect(unsafe_code, reason = "areas of its own that nothing else knows of")]
        // SAFETY: the kernel chooses a free place, and only the pages mapped there are written to.
        unsafe {
            let rw = ProtFlags::READ | ProtFlags::WRITE;
            let at = mmap_anonymous(std::ptr::null_mut(), (pages + 1) * PAGE, rw, MapFlags::PRIVATE).unwrap();
            // A page that nobody may touch keeps the kernel from joining it to the next.
            mprotect(at.add(pages * PAGE), PAGE, MprotectFlags::empty()).unwrap();
            for page in 0..pages {
                at.cast::<u8>().add(page * PAGE).write_volatile(1);
            }
        }
    }
    std::io::stdout().write_all(b"r").unwrap();
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::park();
    }
}
