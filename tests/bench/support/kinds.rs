//! Processes that share much, that fault all the time, or that feel what is done to them.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::load::Load;

/// Tells a child what to be.
const KIND: &str = "ZMTOP_BENCH_KIND";
const PAGE: usize = 4096;

/// Turns a bench that was started as one of these into one; to be called before anything else.
pub(crate) fn be_one_if_told() {
    let Ok(kind) = std::env::var(KIND) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let words: Vec<&str> = kind.split(' ').collect();
    match words[..] {
        ["shared", mb, path] => share(mb.parse::<usize>().unwrap() << 20, path),
        ["faulting"] => fault(),
        ["probe", mb] => be_probe(mb.parse::<usize>().unwrap() << 20),
        _ => panic!("no such load: {kind}"),
    }
}

/// So many processes that share one mapping of so many megabytes and have touched all of it.
pub(crate) fn shared(processes: usize, mb: usize) -> (Load, OwnedFd) {
    let memory = rustix::fs::memfd_create("zmtop-bench", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&memory, (mb as u64) << 20).unwrap();
    let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
    (Load::start_as(processes, KIND, &format!("shared {mb} {path}")), memory)
}

/// So many processes that give back and touch again a few pages, some ten times a second.
pub(crate) fn faulting(processes: usize) -> Load {
    Load::start_as(processes, KIND, "faulting")
}

fn ready() {
    std::io::stdout().write_all(b"r").unwrap();
    std::io::stdout().flush().unwrap();
}

fn share(size: usize, path: &str) -> ! {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let rw = ProtFlags::READ | ProtFlags::WRITE;
    #[expect(unsafe_code, reason = "a mapping can be had no other way")]
    // SAFETY: the kernel chooses a free place, and only what is mapped there is written to.
    unsafe {
        let at = mmap(std::ptr::null_mut(), size, rw, MapFlags::SHARED, &file, 0).unwrap();
        touch(at.cast(), size);
    }
    ready();
    loop {
        std::thread::park();
    }
}

fn area(size: usize) -> *mut u8 {
    #[expect(unsafe_code, reason = "memory that is given back can be had no other way")]
    // SAFETY: the kernel chooses a free place, and only what is mapped there is written to.
    unsafe {
        let rw = ProtFlags::READ | ProtFlags::WRITE;
        let at = mmap_anonymous(std::ptr::null_mut(), size, rw, MapFlags::PRIVATE).unwrap();
        let _ = madvise(at, size, Advice::LinuxNoHugepage);
        touch(at.cast(), size);
        at.cast()
    }
}

/// Writes to every page.
#[expect(unsafe_code, reason = "see those that call it")]
unsafe fn touch(at: *mut u8, size: usize) {
    for page in (0..size).step_by(PAGE) {
        // SAFETY: the caller mapped `size` writable bytes at `at`.
        unsafe { at.add(page).write_volatile(1) };
    }
}

fn fault() -> ! {
    let size = 64 * PAGE;
    let at = area(size);
    ready();
    let mut jitter = u64::from(std::process::id());
    loop {
        jitter = jitter.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_millis(50 + (jitter >> 33) % 100));
        let some = 4 * PAGE;
        #[expect(unsafe_code, reason = "as in `area`")]
        // SAFETY: a part of its own mapping, in which nothing is kept.
        unsafe {
            madvise(at.cast(), some, Advice::LinuxDontNeed).unwrap();
            touch(at, some);
        }
    }
}

/// A process of so many megabytes in small pages, which times how long mapping a page takes it.
pub(crate) struct Probe {
    process: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Probe {
    pub(crate) fn start(mb: usize) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .env_clear()
            .env(KIND, format!("probe {mb}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut answers = BufReader::new(process.stdout.take().unwrap());
        answers.read_line(&mut String::new()).unwrap();
        Self { process, answers }
    }

    /// Microseconds for an `mmap` and a `munmap`, over so many seconds: p50, p99, p99.9, the most.
    pub(crate) fn time(&mut self, seconds: u64) -> [f64; 4] {
        writeln!(self.process.stdin.as_mut().unwrap(), "{seconds}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let numbers: Vec<f64> = line.split_whitespace().map(|w| w.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn be_probe(size: usize) -> ! {
    area(size);
    let answer = |text: &str| {
        std::io::stdout().write_all(format!("{text}\n").as_bytes()).unwrap();
        std::io::stdout().flush().unwrap();
    };
    answer("ready");
    for order in std::io::stdin().lines() {
        let end = Instant::now() + Duration::from_secs(order.unwrap().parse().unwrap());
        let mut times = Vec::with_capacity(1 << 20);
        while Instant::now() < end {
            // Spread over the time, so that the part that is slow is the part of the time in which it is.
            std::thread::sleep(Duration::from_micros(100));
            let start = Instant::now();
            #[expect(unsafe_code, reason = "this is what is measured")]
            // SAFETY: a page of its own that nobody looks at.
            unsafe {
                let at = mmap_anonymous(std::ptr::null_mut(), PAGE, ProtFlags::READ, MapFlags::PRIVATE).unwrap();
                munmap(at, PAGE).unwrap();
            }
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
        answer(&format!(
            "{:.3} {:.3} {:.3} {:.3}",
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0)
        ));
    }
    std::process::exit(0)
}
