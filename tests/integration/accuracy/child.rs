//! A process that changes its memory as it is told: this test binary run again.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Owned, PATIENCE};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, waitpid};

/// Set in the process that is to be the child.
const CHILD: &str = "ZMTOP_TEST_CHILD";
/// The beginning of an answer: the test harness writes to the same output.
const ANSWER: &str = "@";
const MB: usize = 1 << 20;
/// Steps in a second of growth.
const STEPS: usize = 20;

/// A child; ended when dropped.
pub(crate) struct Child {
    process: Owned,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Its own copy of the binary.
    _program: Option<tempfile::TempPath>,
}

/// The program as a child of the test `name`.
fn command(program: &Path, name: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", name, "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(CHILD, name);
    command
}

impl Child {
    /// Runs the test `name` of this binary as a child.
    pub(crate) fn start(name: &str) -> Self {
        Self::run(&std::env::current_exe().unwrap(), None, name)
    }

    /// Runs it from a copy of the binary: what other tests start and end does not change the part of its pages that it has.
    pub(crate) fn start_alone(name: &str) -> Self {
        let copy = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        let program = copy.to_path_buf();
        Self::run(&program, Some(copy), name)
    }

    fn run(program: &Path, copy: Option<tempfile::TempPath>, name: &str) -> Self {
        let mut process = loop {
            let started = command(program, name)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn();
            match started {
                // What another thread has just started has the copy open for writing until it runs its program.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                started => break started.unwrap(),
            }
        };
        let mut child = Self {
            orders: process.stdin.take().unwrap(),
            answers: BufReader::new(process.stdout.take().unwrap()),
            process: Owned(process),
            _program: copy,
        };
        child.answer();
        child
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Has it do something, and returns its answer when it is done.
    pub(crate) fn tell(&mut self, order: &str) -> String {
        writeln!(self.orders, "{order}").unwrap();
        self.answer()
    }

    /// Has it end, and waits for that.
    pub(crate) fn end(&mut self) {
        writeln!(self.orders, "exit").unwrap();
        self.process.wait().unwrap();
    }

    /// Has it end without waiting for it: it is a zombie until it is dropped.
    pub(crate) fn end_unreaped(&mut self) {
        writeln!(self.orders, "exit").unwrap();
        let stat = format!("/proc/{}/stat", self.pid());
        let began = Instant::now();
        while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
            assert!(began.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the child is gone");
            if let Some(answer) = line.trim_end().strip_prefix(ANSWER) {
                return answer.to_owned();
            }
        }
    }
}

#[expect(unsafe_code, reason = "no wrapper that is at hand offers it")]
// SAFETY: the signature is that of the C library. A child of the harness runs one test, and its other threads sleep: none of them
// holds a lock that the new process needs.
unsafe extern "C" {
    safe fn fork() -> c_int;
}

/// In a process that is to be a child of the test `name`: does not return.
pub(crate) fn be(name: &str) {
    if std::env::var(CHILD).as_deref() != Ok(name) {
        return;
    }
    // Nothing else of this binary may run here.
    assert!(std::env::args().any(|arg| arg == name));
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    say("ready");
    // The addresses and sizes of its areas.
    let mut areas = [(0, 0); 4];
    loop {
        let line = order();
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<usize>().unwrap();
        match words[0] {
            "fork" => obey_fork(),
            "exec" => panic!("no exec: {}", command(&std::env::current_exe().unwrap(), name).exec()),
            "exit" => std::process::exit(0),
            "leave" => end_first_thread(),
            "map" => areas[number(1)] = (map(number(2) * MB, None, true), number(2) * MB),
            "share" => areas[number(1)] = (map(number(2) * MB, Some(words[3]), true), number(2) * MB),
            "file" => areas[number(1)] = (map(number(2) * MB, Some(words[3]), false), number(2) * MB),
            "grow" => grow(areas[number(1)], number(2) * MB),
            "forks" => fork_on(number(1)),
            change => {
                let (area, size) = areas[number(1)];
                let (from, length) = (number(2) * MB, number(3) * MB);
                assert!(from + length <= size);
                apply(change, area, from, length);
            }
        }
        if words[0] != "fork" {
            say("ok");
        }
    }
}

/// Splits in two. The new one goes on from here and answers with its pid; the old one waits for its end.
fn obey_fork() {
    match fork() {
        0 => {
            set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
            say(&std::process::id().to_string());
        }
        kid => {
            assert!(kid > 0, "no fork");
            waitpid(Pid::from_raw(kid), WaitOptions::empty()).unwrap();
            say("ok");
        }
    }
}

extern "C" fn end_thread(_: i32) {
    #[expect(unsafe_code, reason = "no library ends the first thread alone")]
    // SAFETY: a system call that touches no memory and does not return.
    unsafe {
        libc::syscall(libc::SYS_exit, 0);
    }
}

/// Ends the first thread, which waits for this one.
fn end_first_thread() {
    let first = std::process::id();
    assert_ne!(rustix::thread::gettid().as_raw_pid(), first.cast_signed());
    #[expect(unsafe_code, reason = "see `end_thread`")]
    // SAFETY: the handler makes one system call.
    unsafe {
        libc::signal(libc::SIGUSR1, end_thread as *const () as libc::sighandler_t);
        libc::syscall(libc::SYS_tgkill, first, first, libc::SIGUSR1);
    }
}

/// Touches so many bytes more of an area each second, until its end.
fn grow((area, size): (usize, usize), rate: usize) {
    std::thread::spawn(move || {
        let step = rate / STEPS;
        for at in (0..size).step_by(step) {
            apply("touch", area, at, step.min(size - at));
            std::thread::sleep(Duration::from_secs(1) / STEPS as u32);
        }
    });
}

/// Forks so many each second, without end, each of which writes a little, lives a second, and ends.
fn fork_on(rate: usize) {
    say("ok");
    loop {
        std::thread::sleep(Duration::from_secs(1) / rate as u32);
        if fork() == 0 {
            set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
            std::thread::sleep(Duration::from_secs(1));
            std::process::exit(0);
        }
        while let Ok(Some(_)) = waitpid(None, WaitOptions::NOHANG) {}
    }
}

/// Maps anonymous memory, or a file: to write to it all at once, or to read of it later.
fn map(size: usize, file: Option<&str>, is_written: bool) -> usize {
    let rw = ProtFlags::READ | ProtFlags::WRITE;
    #[expect(unsafe_code, reason = "memory of known kinds can be had no other way")]
    // SAFETY: the kernel chooses a free place; nothing else knows of it, and only what is mapped is written.
    unsafe {
        if let Some(path) = file {
            let file = File::options().read(true).write(true).open(path).unwrap();
            let at = mmap(std::ptr::null_mut(), size, rw, MapFlags::SHARED, &file, 0).unwrap();
            if is_written {
                apply("touch", at as usize, 0, size);
            }
            at as usize
        } else {
            let at = mmap_anonymous(std::ptr::null_mut(), size, rw, MapFlags::PRIVATE).unwrap();
            // In small pages, so that as much is there as was touched; a kernel without huge ones refuses.
            let _ = madvise(at, size, Advice::LinuxNoHugepage);
            at as usize
        }
    }
}

/// Does something to a part of a mapped area.
fn apply(change: &str, area: usize, from: usize, length: usize) {
    #[expect(unsafe_code, reason = "as in `map`")]
    // SAFETY: the part lies in a mapping made for nothing else, which is looked at by nobody.
    unsafe {
        let at = (area + from) as *mut c_void;
        match change {
            "touch" => {
                for page in (0..length).step_by(4096) {
                    at.cast::<u8>().add(page).write_volatile((page >> 12) as u8 | 1);
                }
            }
            "read" => {
                for page in (0..length).step_by(4096) {
                    at.cast::<u8>().add(page).read_volatile();
                }
            }
            "unmap" => munmap(at, length).unwrap(),
            "merge" => madvise(at, length, Advice::LinuxMergeable).unwrap(),
            "free" => madvise(at, length, Advice::LinuxDontNeed).unwrap(),
            "pageout" => {
                let _ = madvise(at, length, Advice::LinuxPageOut);
            }
            other => panic!("no such order: {other}"),
        }
    }
}

fn say(answer: &str) {
    // In one write, on a line of its own whatever the harness has begun.
    let mut out = std::io::stdout();
    out.write_all(format!("\n{ANSWER}{answer}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// The next order. Read byte by byte, as a fork reads from the same pipe.
fn order() -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        if rustix::io::read(rustix::stdio::stdin(), &mut byte).unwrap() == 0 {
            std::process::exit(0);
        }
        if byte == *b"\n" {
            return String::from_utf8(line).unwrap();
        }
        line.extend(byte);
    }
}
