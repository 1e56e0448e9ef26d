//! Call paths of memory: the page faults of real programs, which count themselves what each of their functions keeps.

mod debug_files;
mod hostile;
mod paths;
mod programs;
mod ranges;
mod records;
mod unwind_info;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zmtop::call_tree::{Counts, Kind, Source, Stacks};
use zmtop::proc::page_faults::Options;
use zmtop::stacks::Measurement;

use crate::support::{Owned, cannot};

/// A program that leaks in `remember`, keeps a buffer that the kernel fills in `receive`, and uses memory that it gives back in
/// `scratch`. It begins when it reads a line, and prints the bytes that each kept.
const SERVER: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned long remembered, received;
static void *last;
__attribute__((noinline)) void remember(void) {
    char *p = malloc(60000);
    memset(p, 1, 60000);
    *(void **)p = last;
    last = p;
    remembered += 60000;
}
__attribute__((noinline)) void receive(int fd) {
    char *p = malloc(120000);
    if (read(fd, p, 120000) != 120000) exit(1);
    *(void **)p = last;
    last = p;
    received += 120000;
}
__attribute__((noinline)) void scratch(void) {
    char *p = mmap(0, 80000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 2, 80000);
    munmap(p, 80000);
}
__attribute__((noinline)) void handle(int fd) {
    remember();
    remember();
    receive(fd);
    scratch();
    __asm__ volatile("" ::: "memory");
}
int main(void) {
    int fd = open("/dev/zero", O_RDONLY);
    getchar();
    for (int i = 0; i < 30; i++) { handle(fd); usleep(40000); }
    printf("%lu %lu\n", remembered, received);
    fflush(stdout);
    getchar();
    getchar();
}
"#;

/// A program under test. It is killed at the end.
struct Program {
    child: Owned,
    /// Another one's than of `child` if that only starts it.
    pid: u32,
    lines: BufReader<std::process::ChildStdout>,
    _dir: tempfile::TempDir,
}

impl Program {
    fn compiled(compiler: &str, source: &str, extension: &str, flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = compile(dir.path(), compiler, source, extension, flags);
        Self::run(&program, dir)
    }

    fn run(program: &Path, dir: tempfile::TempDir) -> Self {
        Self::start(&mut Command::new(program), dir)
    }

    fn start(command: &mut Command, dir: tempfile::TempDir) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self {
            pid: child.id(),
            child: Owned(child),
            lines,
            _dir: dir,
        }
    }

    fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it begin, and samples until it prints a line. Returns the numbers of the line.
    fn measure(&mut self) -> (Vec<u64>, Stacks, Counts) {
        let measurement = self.begin();
        self.go();
        self.finish(measurement)
    }

    /// Begins to sample it.
    fn begin(&self) -> Measurement {
        Measurement::start(Path::new("/proc"), &[self.pid()], Options::watched(16 << 10)).unwrap()
    }

    /// Lets it go on, which waits for a line.
    fn go(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Samples until it prints a line. Returns the numbers of the line.
    fn finish(&mut self, mut measurement: Measurement) -> (Vec<u64>, Stacks, Counts) {
        let line = poll_until_line(&mut measurement, &mut self.lines);
        measurement.check();
        let numbers = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        (
            numbers,
            measurement.stacks(Duration::from_secs(60)),
            measurement.counts(),
        )
    }
}

fn poll_until_line(measurement: &mut Measurement, lines: &mut (impl BufRead + Send)) -> String {
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            line
        });
        let start = Instant::now();
        while !reader.is_finished() && start.elapsed() < Duration::from_secs(60) {
            measurement.poll();
            std::thread::sleep(Duration::from_millis(2));
        }
        reader.join().unwrap()
    })
}

pub(crate) fn compile(dir: &Path, compiler: &str, source: &str, extension: &str, flags: &[&str]) -> PathBuf {
    let (file, program) = (dir.join(format!("program.{extension}")), dir.join("program"));
    std::fs::write(&file, source).unwrap();
    let status = Command::new(compiler)
        .args(flags)
        .arg("-o")
        .arg(&program)
        .arg(&file)
        .status()
        .unwrap();
    assert!(status.success(), "{compiler} {flags:?}");
    program
}

/// Returns the kept and the taken bytes whose innermost function outside allocators is `function`.
fn of_function(stacks: &Stacks, function: &str) -> (u64, u64) {
    let (mut kept, mut taken) = (0, 0);
    for stack in &stacks.stacks {
        let first = stacks.without_allocator(stack).first();
        if first.is_some_and(|id| stacks.frames[*id as usize].function.contains(function)) {
            kept += stack.weight.kept;
            taken += stack.weight.taken;
        }
    }
    (kept, taken)
}

/// Checks a figure of the samples against the program's own count. Pages that hold the end of one block and the beginning of the
/// next belong to whichever touched them first.
#[track_caller]
fn assert_near(found: u64, counted: u64, what: &str) {
    assert_nearly(found, counted, 0, what);
}

/// Checks a figure of the samples of which `unsampled` bytes may be another function's, or missing.
#[track_caller]
fn assert_nearly(found: u64, counted: u64, unsampled: u64, what: &str) {
    let error = found.abs_diff(counted);
    assert!(
        error <= counted / 10 + unsampled,
        "{what}: {found} found, {counted} counted, {unsampled} unsampled"
    );
}

/// Checks that both functions of [`SERVER`] keep what they count.
#[track_caller]
fn check_kept(program: &mut Program, what: &str) -> (Stacks, Counts) {
    let (counted, stacks, counts) = program.measure();
    let names: Vec<_> = stacks.frames.iter().map(|frame| &*frame.function).collect();
    // It has so few faults that each is sampled, and the figures are exact. But the kernel counts faults for which a ring is not there
    // yet, or has no room: the samples stand for them, whichever function had them.
    let unsampled = (counts.faults - counts.samples) * rustix::param::page_size() as u64;
    for (function, counted) in ["remember", "receive"].into_iter().zip(&counted) {
        let found = of_function(&stacks, function).0;
        assert_nearly(found, *counted, unsampled, &format!("{function} of {what}: {names:?}"));
    }
    let total: u64 = counted.iter().sum();
    assert!(stacks.total().kept + unsampled >= total / 10 * 9);
    (stacks, counts)
}

#[track_caller]
fn check_server(flags: &[&str]) {
    let mut program = Program::compiled("cc", SERVER, "c", flags);
    let (stacks, counts) = check_kept(&mut program, &format!("{flags:?}"));
    // What was given back was taken, and is not kept.
    let (kept, taken) = of_function(&stacks, "scratch");
    assert_eq!((kept, taken > 30 * 70_000), (0, true), "{flags:?}: {taken}");
    assert!(counts.sees_kernel && counts.without_stack == 0);
    // The tree of callees begins in main, and that of callers leads to it.
    let callees = stacks.tree(zmtop::call_tree::Order::Callees);
    let first = &callees.nodes[callees.nodes[0].children[0] as usize];
    assert_eq!(&*stacks.frames[first.frame as usize].function, "main", "{flags:?}");
}

#[test]
fn the_functions_that_keep_memory_are_named() {
    check_server(&["-O2", "-g"]);
}

#[test]
fn without_frame_pointers_and_debug_info() {
    check_server(&["-O2", "-fomit-frame-pointer"]);
}

#[test]
fn a_fixed_address_and_frame_pointers() {
    check_server(&["-O1", "-no-pie", "-fno-omit-frame-pointer"]);
}

#[test]
fn a_static_program() {
    check_server(&["-O2", "-static"]);
}

#[test]
fn lines_and_inlined_calls_are_named() {
    let source = SERVER.replace(
        "__attribute__((noinline)) void remember",
        "static inline __attribute__((always_inline)) void remember",
    );
    let mut program = Program::compiled("cc", &source, "c", &["-O2", "-g"]);
    let (counted, stacks, _) = program.measure();
    assert_near(of_function(&stacks, "remember").0, counted[0], "an inlined function");
    let frame = stacks
        .frames
        .iter()
        .find(|frame| &*frame.function == "remember")
        .unwrap();
    assert!(frame.inlined && frame.kind == Kind::Program);
    let Source { file, line } = frame.source.clone().unwrap();
    assert!(
        file.ends_with("program.c") && (11..=13).contains(&line),
        "{file}:{line}"
    );
}

#[test]
fn a_stripped_program_has_addresses_in_place_of_names() {
    let mut program = Program::compiled("cc", SERVER, "c", &["-O2", "-s"]);
    let (counted, stacks, _) = program.measure();
    assert_near(stacks.total().kept, counted.iter().sum(), "all of a stripped program");
    let own = stacks
        .frames
        .iter()
        .filter(|frame| &*frame.module == "program" && frame.kind == Kind::Unknown);
    assert!(own.clone().all(|frame| frame.function.starts_with("0x")));
    assert!(own.count() > 2);
}

#[test]
fn of_freed_memory_only_what_stays_is_kept() {
    let source = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned long kept;
__attribute__((noinline)) void *fill(void) {
    void *p = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, 65536);
    return p;
}
int main(void) {
    getchar();
    for (int i = 0; i < 90; i++) {
        void *p = fill();
        usleep(8000);
        if (i % 3) munmap(p, 65536); else kept += 65536;
    }
    printf("%lu\n", kept);
    fflush(stdout);
    getchar();
    getchar();
}
"#;
    let mut program = Program::compiled("cc", source, "c", &["-O2"]);
    let (counted, stacks, _) = program.measure();
    let (kept, taken) = of_function(&stacks, "fill");
    assert_near(kept, counted[0], "kept");
    assert_near(taken, counted[0] * 3, "taken");
}

#[test]
fn threads_and_children_are_followed() {
    let source = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t barrier;
__attribute__((noinline)) void touch(size_t size) {
    void *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(p, 1, size);
}
__attribute__((noinline)) void in_old_thread(void) { touch(16384); __asm__ volatile(""); }
__attribute__((noinline)) void in_new_thread(void) { touch(16384); __asm__ volatile(""); }
__attribute__((noinline)) void in_child(void) { touch(1 << 20); __asm__ volatile(""); }
static void *old(void *unused) { pthread_barrier_wait(&barrier); in_old_thread(); pthread_barrier_wait(&barrier); return 0; }
static void *new(void *unused) { in_new_thread(); return 0; }
int main(void) {
    pthread_t threads[200];
    pthread_barrier_init(&barrier, 0, 101);
    for (int i = 0; i < 100; i++) pthread_create(&threads[i], 0, old, 0);
    printf("0\n");
    fflush(stdout);
    getchar();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (int i = 100; i < 200; i++) { pthread_create(&threads[i], 0, new, 0); pthread_join(threads[i], 0); usleep(3000); }
    int done[2];
    if (pipe(done)) return 1;
    if (fork() == 0) { in_child(); close(done[1]); pause(); }
    close(done[1]);
    char c;
    (void)!read(done[0], &c, 1);
    printf("%d\n", 100 * 16384);
    fflush(stdout);
    getchar();
    getchar();
    kill(0, 0);
}
"#;
    let source = format!("#include <signal.h>\n#include <sys/prctl.h>\n{source}").replace(
        "if (fork() == 0) { in_child()",
        "if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); in_child()",
    );
    let mut program = Program::compiled("cc", &source, "c", &["-O2", "-pthread"]);
    let mut ready = String::new();
    program.lines.read_line(&mut ready).unwrap();
    let (counted, stacks, counts) = program.measure();
    assert_eq!((counts.threads, counts.threads_left_out), (101, 0));
    for (caller, expected) in [
        ("in_old_thread", counted[0]),
        ("in_new_thread", counted[0]),
        ("in_child", 1 << 20),
    ] {
        let through = |frames: &[u32]| frames.iter().any(|id| &*stacks.frames[*id as usize].function == caller);
        let kept = stacks
            .stacks
            .iter()
            .filter(|stack| through(&stack.frames))
            .map(|stack| stack.weight.kept)
            .sum();
        assert_near(kept, expected, caller);
    }
}

#[test]
fn memory_of_a_child_that_ended_is_not_kept_and_hides_none_of_another_with_its_pid() {
    let source = r#"
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define SIZE (2UL << 20)
static void next(void) { char c; if (read(0, &c, 1) != 1) _exit(1); }
static void say(unsigned long number) { printf("%lu\n", number); fflush(stdout); }
__attribute__((noinline)) void job(void) {
    volatile char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned long i = 0; i < SIZE; i += 4096) p[i] = 1;
}
static void child(void) { job(); say(SIZE); next(); _exit(0); }
int main(void) {
    next();
    pid_t first = fork();
    if (first == 0) child();
    waitpid(first, 0, 0);
    say(0);
    next();
    struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&first, .set_tid_size = 1 };
    long second;
    // Another process may have the pid for a while.
    while ((second = syscall(SYS_clone3, &args, sizeof args)) < 0 && errno == EEXIST) usleep(1000);
    if (second == 0) child();
    if (second < 0) say(0);
    next();
}
"#;
    for is_checked in [true, false] {
        let mut program = Program::compiled("cc", source, "c", &["-O1"]);
        let mut measurement = program.begin();
        let mut next = |measurement: &mut Measurement| -> u64 {
            program.go();
            poll_until_line(measurement, &mut program.lines).trim().parse().unwrap()
        };
        let job = |measurement: &mut Measurement| {
            measurement.check();
            let found = of_function(&measurement.stacks(Duration::from_secs(60)), "job");
            assert!(measurement.counts().kept_by_forked >= found.0);
            found
        };
        let size = next(&mut measurement);
        assert_near(job(&mut measurement).0, size, "kept by the first child");
        next(&mut measurement);
        if is_checked {
            let (kept, taken) = job(&mut measurement);
            assert_eq!(kept, 0);
            assert_near(taken, size, "taken by the first child");
        }
        if next(&mut measurement) == 0 {
            return cannot("the pid of a new process cannot be chosen");
        }
        assert_near(job(&mut measurement).0, size, "kept by the second child");
    }
}

#[test]
fn a_library_that_is_loaded_meanwhile_and_another_program() {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libplugin.so");
    let plugin = "#include <stdlib.h>\n#include <string.h>\nvoid plugin_keeps(void) { for (int i = 0; i < 50; i++) { char *p = malloc(60000); memset(p, 1, 60000); } }";
    let built = compile(
        dir.path(),
        "cc",
        plugin,
        "c",
        &["-O1", "-shared", "-fPIC", "-fno-builtin-malloc"],
    );
    std::fs::rename(built, &library).unwrap();
    let host = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {
    if (argc == 1) { getchar(); execl("/proc/self/exe", "again", "1", (char *)0); return 1; }
    void (*keeps)(void) = (void (*)(void))dlsym(dlopen("LIBRARY", RTLD_NOW), "plugin_keeps");
    keeps();
    unlink("LIBRARY");
    printf("%d\n", 50 * 60000);
    fflush(stdout);
    getchar();
    getchar();
}
"#
    .replace("LIBRARY", library.to_str().unwrap());
    let host = compile(dir.path(), "cc", &host, "c", &["-O1", "-ldl"]);
    let mut program = Program::run(&host, dir);
    let (counted, stacks, _) = program.measure();
    assert_near(
        of_function(&stacks, "plugin_keeps").0,
        counted[0],
        "a plugin of a program that made an exec",
    );
    let frame = stacks
        .frames
        .iter()
        .find(|frame| &*frame.function == "plugin_keeps")
        .unwrap();
    assert_eq!((&*frame.module, frame.kind), ("libplugin.so", Kind::Library));
}

#[test]
fn rust_and_its_inlined_allocator() {
    let source = r#"
use std::io::Read;
#[inline(never)]
fn remember(all: &mut Vec<Vec<u8>>) { all.push(vec![1; 60000]); }
fn main() {
    let (mut all, mut byte) = (Vec::new(), [0; 1]);
    std::io::stdin().read_exact(&mut byte).unwrap();
    for _ in 0..50 { remember(&mut all); }
    println!("{}", all.len() * 60000);
    std::io::stdin().read_exact(&mut byte).ok();
    std::hint::black_box(all);
}
"#;
    let mut program = Program::compiled("rustc", source, "rs", &["-Copt-level=2", "-g"]);
    let (counted, stacks, _) = program.measure();
    let names: Vec<_> = stacks.frames.iter().map(|frame| &*frame.function).collect();
    assert_near(
        of_function(&stacks, "remember").0,
        counted[0],
        &format!("a vector of Rust: {names:?}"),
    );
}

#[test]
fn a_program_that_is_gone_is_named_so() {
    let mut program = Program::compiled("cc", SERVER, "c", &["-O1"]);
    let pid = program.pid();
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    assert_eq!(
        Measurement::start(Path::new("/proc"), &[pid], Options::watched(16 << 10)).err(),
        Some(zmtop::model::Missing::Gone)
    );
}

#[test]
fn of_a_program_that_ended_the_last_state_is_reported() {
    let mut program = Program::compiled("cc", SERVER, "c", &["-O1"]);
    let mut measurement = Measurement::start(Path::new("/proc"), &[program.pid()], Options::watched(16 << 10)).unwrap();
    program.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    let line = poll_until_line(&mut measurement, &mut program.lines);
    measurement.check();
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    measurement.check();
    let counted: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let kept = of_function(&measurement.stacks(Duration::from_secs(60)), "remember").0;
    assert_near(kept, counted[0], "a program that ended");
}

#[test]
fn several_processes_are_summed() {
    let source = SERVER.replace("usleep(25000)", "usleep(60000)");
    let [mut one, mut other] = [0; 2].map(|_| Program::compiled("cc", &source, "c", &["-O1"]));
    let pids = [one.pid(), other.pid()];
    let mut measurement = Measurement::start(Path::new("/proc"), &pids, Options::watched(16 << 10)).unwrap();
    for program in [&mut one, &mut other] {
        program.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }
    poll_until_line(&mut measurement, &mut one.lines);
    let (counted, stacks, counts) = other.finish(measurement);
    assert_eq!(counts.threads, 2);
    assert_near(of_function(&stacks, "remember").0, counted[0] * 2, "two processes");
}

#[test]
fn of_many_pages_some_stand_for_all() {
    let source = SERVER
        .replace("i < 30", "i < 10")
        .replace("60000", "60000000")
        .replace("usleep(25000)", "usleep(100)");
    let mut program = Program::compiled("cc", &source, "c", &["-O1"]);
    let (counted, stacks, counts) = program.measure();
    // Each fault is sampled at first, and then one of seven or more.
    assert!(counts.faults > counts.samples);
    assert_near(of_function(&stacks, "remember").0, counted[0], "with a long period");
}

#[test]
fn the_command_measures_all_that_match_and_refuses_another_start() {
    let zmtop = |args: &[&str]| {
        let done = Command::new(crate::support::pty::ZMTOP)
            .arg("callers")
            .args(args)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let programs = [0; 2].map(|_| Program::compiled("cc", SERVER, "c", &["-O1"]));
    let pid = programs[0].pid().to_string();
    let (code, _, error) = zmtop(&[&pid, "--starttime", "1", "--for", "1s"]);
    assert_eq!(
        (code, error.as_str()),
        (Some(3), format!("zmtop: no process {pid}\n").as_str())
    );
    // Both have the folder of temporary files in their command line: that of one is part of it alone.
    let other = programs[1].pid().to_string();
    let (code, out, error) = zmtop(&[&pid, &other, &pid, "--for", "1s"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(out.starts_with("program (2 processes), "), "{out}");
}

#[test]
fn the_period_follows_the_rate_not_the_delay_of_a_read() {
    let options = Options::watched(16 << 10);
    let ms = Duration::from_millis;
    for (period, samples, elapsed, next) in [
        (0, 900, ms(100), None),
        (0, 1001, ms(100), Some(1)),
        (0, 900, ms(250), Some(0)),
        // 3,200 a second, as the first, but read after a second.
        (0, 3200, ms(1000), Some(0)),
        (0, 4001, ms(1000), Some(1)),
        (1, 39, ms(250), Some(0)),
        (1, 100, ms(1000), Some(0)),
        (1, 200, ms(1000), Some(1)),
        (4, u64::MAX, ms(250), Some(4)),
    ] {
        assert_eq!(
            options.next_period(period, samples, elapsed),
            next,
            "{samples} in {elapsed:?}"
        );
    }
    // For hours, 100 a second.
    let options = Options::armed(16 << 10);
    for (samples, next) in [(400, Some(0)), (401, Some(1))] {
        assert_eq!(
            options.next_period(0, samples, Duration::from_secs(4)),
            next,
            "{samples}"
        );
    }
}
