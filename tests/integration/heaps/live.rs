//! Real programs, which print what `malloc_stats(3)` says, and what `malloc_trim(0)` gives back.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use zmtop::heap::{Arena, State};
use zmtop::heaps::{self, look};

use crate::code::compile;
use crate::support::Owned;
use crate::support::pty::{ZMTOP, have};

/// A program that allocates and frees in `argv[1]` threads, each of which has an arena. `argv[2]` is how: 0 mixed sizes, 1 small
/// ones, 2 large ones. It prints a line when done. For each line of input, it prints what `malloc_stats` says, trims, and prints
/// the memory that went back.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int kind, threads;
static pthread_barrier_t all_there;
static unsigned next(unsigned *seed) { *seed = *seed * 1103515245u + 12345u; return *seed >> 8; }
static void allocate(unsigned seed) {
    char **kept = malloc(60000 * sizeof *kept);
    size_t total = 0, count = 0, most = (48u << 20) / threads;
    pthread_barrier_wait(&all_there);
    while (total < most && count < 60000) {
        size_t size = kind == 0 ? 16 + next(&seed) % 3000 : kind == 1 ? 16 + next(&seed) % 110 : 4096 + next(&seed) % 60000;
        if (kind == 0 && count % 5000 == 0) size = 300000;
        kept[count] = malloc(size);
        memset(kept[count++], 1, size);
        total += size;
    }
    for (size_t i = 0; i < count; i++)
        if (next(&seed) % 4) free(kept[i]);
    pthread_barrier_wait(&all_there);
}
static void *work(void *seed) { allocate((unsigned)(size_t)seed); pause(); return 0; }
static long memory(void) {
    char line[256]; long sum = 0, value;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Rss: %ld", &value) == 1 || sscanf(line, "Swap: %ld", &value) == 1) sum += value;
    fclose(file);
    return sum * 1024;
}
int main(int argc, char **argv) {
    // Without buffers, which would be allocated while it is looked at.
    setvbuf(stdout, 0, _IONBF, 0);
    setvbuf(stdin, 0, _IONBF, 0);
    threads = atoi(argv[1]); kind = atoi(argv[2]);
    pthread_barrier_init(&all_there, 0, threads);
    pthread_t thread;
    for (int i = 1; i < threads; i++) pthread_create(&thread, 0, work, (void *)(size_t)i);
    allocate(99);
    memory();
    puts("done");
    while (getchar() != EOF) {
        dup2(1, 2);
        malloc_stats();
        long before = memory();
        malloc_trim(0);
        printf("trimmed = %ld\n", before - memory());
    }
}
"#;

struct Program {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Starts a program, and waits for its line.
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut program = Self { child, lines };
        assert_eq!(program.line(), "done");
        program
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn look(&self) -> State {
        look(Path::new("/proc"), self.child.id(), Duration::from_secs(60)).unwrap()
    }

    /// Lets it trim. Returns the bytes from the kernel and in use of each arena before, and what went back.
    fn trim(&mut self) -> (Vec<(u64, u64)>, u64) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let (mut arenas, mut of_arena) = (Vec::new(), false);
        loop {
            let line = self.line();
            let number = || line.split('=').nth(1).unwrap().trim().parse::<u64>().unwrap();
            match line.split(['=', ' ']).next().unwrap() {
                "Arena" => of_arena = true,
                // The sums of all.
                "Total" => of_arena = false,
                "system" if of_arena => arenas.push((number(), 0)),
                "in" if of_arena => arenas.last_mut().unwrap().1 = number(),
                "trimmed" => return (arenas, number()),
                _ => {}
            }
        }
    }
}

#[test]
fn a_real_heap_is_as_the_program_counts_it() {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(dir.path(), "cc", PROGRAM, "c", &["-O1", "-pthread"]);
    for (threads, kind) in [("1", "0"), ("8", "0"), ("1", "1"), ("8", "1"), ("8", "2")] {
        let mut program = Program::start(Command::new(&program).args([threads, kind]));
        let state = program.look();
        let heap = state.heap.as_ref().unwrap();
        let (arenas, trimmed) = program.trim();
        let found: Vec<_> = heap.arenas.iter().map(|arena| (arena.system, arena.in_use)).collect();
        let what = format!("{threads} threads, kind {kind}: {heap:?}");
        assert_eq!(found, arenas, "{what}");
        assert_eq!(arenas.len().to_string(), threads);
        let predicted = heap.total().trim.total();
        let error = predicted.abs_diff(trimmed);
        assert!(
            error <= trimmed / 33 + (256 << 10),
            "{predicted} predicted, {trimmed} trimmed, {what}"
        );
        assert!(!heap.is_partial && heap.caches.is_some_and(|count| count > 0), "{what}");
        let sum = heap.total();
        assert!(sum.cached.bytes > 0 && sum.cached.bytes < sum.in_use, "{what}");
        if kind == "0" {
            assert!(heap.mapped.is_some_and(|mapped| mapped.count > 0), "{what}");
        }
        // After the trim, nothing is left to give back, and what is free is not kept.
        let after = program.look();
        let after = after.heap.as_ref().unwrap().total();
        assert!(after.trim.total() <= trimmed / 33 + (256 << 10), "{after:?}");
        assert_eq!(after.in_use, sum.in_use);
    }
}

#[test]
fn a_static_program_has_a_heap_too() {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(dir.path(), "cc", PROGRAM, "c", &["-O1", "-pthread", "-static"]);
    let mut program = Program::start(Command::new(&program).args(["3", "0"]));
    let state = program.look();
    let (arenas, _) = program.trim();
    let found = state
        .heap
        .as_ref()
        .unwrap()
        .arenas
        .iter()
        .map(|arena: &Arena| (arena.system, arena.in_use));
    assert_eq!(found.collect::<Vec<_>>(), arenas);
}

/// A static program without an arena, so that all its data is searched, with shared memory of which no page exists. For each line of
/// input, it prints the number of blocks of that.
const SPARSE: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
extern char __data_start, _end;
int main(void) {
    int fd = memfd_create("sparse", 0);
    struct stat found;
    char line[32];
    ftruncate(fd, 64 << 20);
    mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    // The list of a fresh arena points to itself.
    for (unsigned long *word = (void *)&__data_start; word < (unsigned long *)&_end - 1; word++)
        if (word[0] == (unsigned long)word - 16 && word[1] == word[0]) word[0] = word[1] = 0;
    do {
        fstat(fd, &found);
        write(1, line, snprintf(line, sizeof line, "%ld\n", (long)found.st_blocks));
    } while (read(0, line, sizeof line) > 0);
    return 0;
}
"#;

#[test]
fn a_read_allocates_no_page_of_shared_memory() {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(dir.path(), "cc", SPARSE, "c", &["-O1", "-static", "-w"]);
    let mut command = Command::new(&program);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut blocks = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line
    };
    assert_eq!(blocks(), "0\n");
    let state = look(Path::new("/proc"), child.id(), Duration::from_secs(60)).unwrap();
    assert!(state.heap.is_err(), "{:?}", state.heap);
    child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert_eq!(blocks(), "0\n");
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn processes_without_a_heap_say_why() {
    let mut child = Command::new("true").spawn().unwrap();
    let zombie = child.id();
    let path = format!("/proc/{zombie}/stat");
    while !std::fs::read_to_string(&path).unwrap().contains(") Z") {
        std::thread::sleep(Duration::from_millis(5));
    }
    let said = |line: &[&str]| {
        let done = Command::new(ZMTOP).arg("heap").args(line).output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let expected = format!("zmtop: {zombie} is a zombie, which has freed its memory\n");
    assert_eq!(said(&[&zombie.to_string()]), (Some(3), expected));
    child.wait().unwrap();
    let gone = u32::MAX / 2;
    assert_eq!(
        said(&[&gone.to_string()]),
        (Some(3), format!("zmtop: {gone}: no such process\n"))
    );
}

/// All memory that a process may write to, by address.
fn writable(pid: u32) -> Vec<(u64, Vec<u8>)> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let areas = maps.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let [start, end] = [start, end].map(|address| u64::from_str_radix(address, 16).unwrap());
        rest.starts_with("rw").then_some((start, end))
    });
    let read = areas.map(|(start, end)| {
        let mut bytes = vec![0; (end - start) as usize];
        memory.read_exact_at(&mut bytes, start).unwrap();
        (start, bytes)
    });
    read.collect()
}

#[test]
fn nothing_is_written_into_a_program() {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(dir.path(), "cc", PROGRAM, "c", &["-O1", "-pthread"]);
    let mut programs = vec![Program::start(Command::new(program).args(["4", "0"]))];
    if have("python3") {
        let script = "import signal; kept = [[n] for n in range(50000)]; print('done', flush=True); signal.pause()";
        programs.push(Program::start(Command::new("python3").args(["-c", script])));
    }
    for program in &programs {
        let pid = program.child.id();
        // It waits, and changes nothing itself.
        while !std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .unwrap()
            .contains(") S ")
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let before = writable(pid);
        for more in [&[][..], &["--for", "1s"]] {
            let done = Command::new(ZMTOP)
                .args(["heap", &pid.to_string(), "--format", "json"])
                .args(more)
                .output()
                .unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            let after = writable(pid);
            let ranges = |all: &[(u64, Vec<u8>)]| all.iter().map(|(at, bytes)| (*at, bytes.len())).collect::<Vec<_>>();
            assert_eq!(ranges(&before), ranges(&after));
            let changed: Vec<_> = before
                .iter()
                .zip(&after)
                .filter(|(a, b)| a != b)
                .map(|(a, _)| a.0)
                .collect();
            assert!(changed.is_empty(), "{changed:x?} {more:?}");
        }
    }
}

#[test]
fn a_program_runs_until_its_process_ends_or_executes_one() {
    let mut child = Command::new("sh")
        .args(["-c", "read go; exec sh -c 'echo again; read go'"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map(Owned)
        .unwrap();
    let program = |child: &Owned| heaps::Program::of(Path::new("/proc"), child.id()).unwrap();
    let first = program(&child);
    assert!(first.is_running());
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"\n").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let second = program(&child);
    assert_eq!((first.is_running(), second.is_running()), (false, true), "{line}");
    input.write_all(b"\n").unwrap();
    child.wait().unwrap();
    assert!(!second.is_running());
}
