//! Programs of other languages and C libraries, with their symbols elsewhere, deleted, and in a container.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use zmtop::call_tree::Stack;

use super::{Program, SERVER, assert_near, check_kept, compile, of_function, poll_until_line};
use crate::support::pty::ZMTOP;
use crate::support::{Owned, cannot};

/// Returns true if a program is installed; says so if not.
fn has(program: &str) -> bool {
    let found = Command::new("which").arg(program).output();
    let is_there = found.is_ok_and(|found| found.status.success());
    if !is_there {
        cannot(&format!("{program} is not installed"));
    }
    is_there
}

pub(super) fn run(program: &str, args: &[&str]) {
    let status = Command::new(program).args(args).status().unwrap();
    assert!(status.success(), "{program} {args:?}");
}

#[test]
fn jemalloc() {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
    ];
    let mut paths = folders.iter().map(|folder| format!("{folder}/libjemalloc.so.2"));
    let Some(library) = paths.find(|path| Path::new(path).exists()) else {
        return cannot("libjemalloc2 is not installed");
    };
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "cc", SERVER, "c", &["-O2"]);
    // Else it shifts each block by a random part of a page, and most blocks take one page more.
    let options = [
        ("LD_PRELOAD", library.as_str()),
        ("MALLOC_CONF", "cache_oblivious:false"),
    ];
    let mut program = Program::start(Command::new(&path).envs(options), dir);
    check_kept(&mut program, "jemalloc");
}

#[test]
fn pages_that_are_freed_and_touched_again_are_kept_once() {
    // Faster than it can be sampled, so that most faults are not.
    let source = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#define SIZE (8UL << 20)
__attribute__((noinline)) void refill(char *p) { memset(p, 1, SIZE); __asm__ volatile("" ::: "memory"); }
int main(void) {
    char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, SIZE, MADV_NOHUGEPAGE);
    getchar();
    for (time_t end = time(0) + 2; time(0) < end;) { refill(p); madvise(p, SIZE, MADV_DONTNEED); }
    refill(p);
    printf("%lu\n", SIZE);
    fflush(stdout);
    getchar();
}"#;
    let mut program = Program::compiled("cc", source, "c", &["-O1"]);
    let (size, stacks, counts) = program.measure();
    assert!(counts.faults > 20 * size[0] / 4096, "{counts:?}");
    let kept = of_function(&stacks, "refill").0;
    // The process has some other pages.
    assert!(kept > 0 && kept < size[0] + size[0] / 2, "{kept} {counts:?}");
}

#[test]
fn names_of_functions_are_escaped_in_each_line_of_ndjson() {
    // The one character that starts a sequence of a terminal: CSI of C1.
    let declared = "void remember(void) __asm__(\"remember\u{9b}31m\");\n__attribute__((noinline)) void remember(";
    let source = SERVER.replace("__attribute__((noinline)) void remember(", declared);
    let mut program = Program::compiled("cc", &source, "c", &["-O1"]);
    let mut zmtop = Command::new(ZMTOP)
        .args([
            "callers",
            &program.pid().to_string(),
            "--for",
            "24h",
            "--format",
            "ndjson",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map(Owned)
        .unwrap();
    let mut errors = BufReader::new(zmtop.stderr.take().unwrap());
    errors.read_line(&mut String::new()).unwrap();
    program.go();
    let mut lines = BufReader::new(zmtop.stdout.take().unwrap()).lines().map(Result::unwrap);
    let line = lines.find(|line| line.contains("remember")).unwrap();
    assert!(line.contains(r"remember\u009b31m"), "{line}");
}

#[test]
fn kept_memory_that_is_not_touched_again_is_cold() {
    // Each takes an area of its own; one of them is read again and again.
    let source = r#"
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#define SIZE (2UL << 20)
// Slower than the samples are taken.
#define FILL(p) for (unsigned long i = 0; i < SIZE; i += 4096) { p[i] = 1; if (i % (16 << 12) == 0) usleep(10000); }
static char *area(void) {
    char *p = mmap(0, SIZE + (2 << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(p + (1 << 20), SIZE, PROT_READ | PROT_WRITE);
    madvise(p + (1 << 20), SIZE, MADV_NOHUGEPAGE);
    return p + (1 << 20);
}
__attribute__((noinline)) void leak(volatile char *p) { FILL(p) }
__attribute__((noinline)) void cache(volatile char *p) { FILL(p) }
int main(void) {
    char *a = area(), *b = area();
    getchar();
    leak(a);
    cache(b);
    puts("0");
    fflush(stdout);
    getchar();
    // Clearing the bits does not flush the TLB, and a page that is in it gets no bit. This flushes all of it.
    mprotect(a, SIZE, PROT_READ);
    for (unsigned long i = 0, sum = 0; i < SIZE; i += 4096) sum += ((volatile char *)b)[i];
    puts("0");
    fflush(stdout);
    getchar();
}"#;
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "cc", source, "c", &["-O1"]);
    let mut program = Program::start(&mut Command::new(&path), dir);
    let mut measurement = program.begin();
    program.go();
    poll_until_line(&mut measurement, &mut program.lines);
    measurement.check();
    std::fs::write(format!("/proc/{}/clear_refs", program.pid()), "1").unwrap();
    program.go();
    poll_until_line(&mut measurement, &mut program.lines);
    measurement.check();
    let before = measurement.stacks(Duration::from_secs(60)).total();
    assert_eq!(before.cold, None);
    measurement.find_cold();
    let stacks = measurement.stacks(Duration::from_secs(60));
    let of = |name: &str| {
        let has = |stack: &&Stack| {
            stack
                .frames
                .iter()
                .any(|id| &*stacks.frames[*id as usize].function == name)
        };
        let weights = stacks.stacks.iter().filter(has).map(|stack| stack.weight);
        weights.fold((0, 0), |sum, weight| {
            (sum.0 + weight.kept, sum.1 + weight.cold.unwrap())
        })
    };
    assert_near(of("leak").0, 2 << 20, "kept by leak");
    assert_near(of("leak").1, 2 << 20, "cold of leak");
    assert_near(of("cache").0, 2 << 20, "kept by cache");
    assert!(of("cache").1 < 1 << 18, "{:?}", of("cache"));
}

#[test]
fn containers_and_inlined_functions_of_cpp() {
    let source = r#"
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <unistd.h>
struct Session { std::string body; std::vector<char> log; };
class Sessions {
    std::map<int, std::unique_ptr<Session>> all;
public:
    unsigned long bytes = 0;
    __attribute__((always_inline)) void remember(int id) {
        auto session = std::make_unique<Session>();
        session->body.assign(60000, 'x');
        session->log.resize(90000);
        bytes += 150000;
        all[id] = std::move(session);
    }
};
static Sessions sessions;
__attribute__((noinline)) void handle(int id) { sessions.remember(id); }
int main() {
    getchar();
    for (int id = 0; id < 60; id++) { handle(id); usleep(20000); }
    printf("%lu\n", sessions.bytes);
    fflush(stdout);
    getchar();
    getchar();
}
"#;
    for flags in [["-O2", "-g"], ["-O2", "-fomit-frame-pointer"]] {
        let mut program = Program::compiled("c++", source, "cc", &flags);
        let (counted, stacks, _) = program.measure();
        let names: Vec<_> = stacks.frames.iter().map(|frame| &*frame.function).collect();
        // Only debug info has the names of inlined functions.
        let function = if flags.contains(&"-g") {
            "Sessions::remember"
        } else {
            "handle"
        };
        let found = of_function(&stacks, function).0;
        assert_near(found, counted[0], &format!("{function} of {flags:?}: {names:?}"));
    }
}

// The runtime may get huge pages of 2 MiB for its heap: so much memory that a few more of them do not matter.
#[test]
fn go() {
    if !has("go") {
        return;
    }
    let source = r#"
package main
import ("bufio"; "fmt"; "os")
var all [][]byte
//go:noinline
func remember() {
    block := make([]byte, 60000)
    for i := range block { block[i] = 1 }
    all = append(all, block)
}
//go:noinline
func handle() { remember(); remember() }
func main() {
    in := bufio.NewReader(os.Stdin)
    in.ReadByte()
    for i := 0; i < 1000; i++ { handle() }
    fmt.Println(len(all) * 60000)
    in.ReadByte()
    in.ReadByte()
    fmt.Println(len(all))
}
"#;
    let dir = tempfile::tempdir().unwrap();
    let (file, path) = (dir.path().join("program.go"), dir.path().join("program"));
    std::fs::write(&file, source).unwrap();
    let built = Command::new("go")
        .args(["build", "-o"])
        .args([&path, &file])
        .env("GOCACHE", dir.path().join("cache"))
        .env("GO111MODULE", "off")
        .status()
        .unwrap();
    assert!(built.success());
    let mut program = Program::run(&path, dir);
    let (counted, stacks, _) = program.measure();
    let names: Vec<_> = stacks.frames.iter().map(|frame| &*frame.function).collect();
    let found = of_function(&stacks, "main.remember").0;
    assert_near(found, counted[0], &format!("a slice of Go: {names:?}"));
}

#[test]
fn a_static_program_of_musl() {
    if !has("musl-gcc") {
        return;
    }
    let mut program = Program::compiled("musl-gcc", SERVER, "c", &["-O2", "-static"]);
    check_kept(&mut program, "musl");
}

#[test]
fn a_deleted_program() {
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "cc", SERVER, "c", &["-O2"]);
    let mut program = Program::run(&path, dir);
    std::fs::remove_file(&path).unwrap();
    check_kept(&mut program, "a deleted program");
}

/// Compiles [`SERVER`] without its symbols, which are in `debug`. Returns its build id.
fn stripped(dir: &Path, flags: &[&str], debug: &Path) -> (PathBuf, String) {
    let path = compile(
        dir,
        "cc",
        SERVER,
        "c",
        &[&["-O2", "-g", "-Wl,--build-id"], flags].concat(),
    );
    let [program, symbols] = [&path, debug].map(|path| path.to_str().unwrap());
    std::fs::create_dir_all(debug.parent().unwrap()).unwrap();
    run("objcopy", &["--only-keep-debug", program, symbols]);
    run("strip", &[program]);
    let notes = Command::new("readelf").args(["-n", program]).output().unwrap();
    let notes = String::from_utf8(notes.stdout).unwrap();
    let id = notes
        .split("Build ID: ")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    (path, id.to_owned())
}

#[test]
fn a_stripped_program_names_its_separate_symbols() {
    for link in ["program.debug", ".debug/program.debug"] {
        let dir = tempfile::tempdir().unwrap();
        let debug = dir.path().join(link);
        let (path, _) = stripped(dir.path(), &[], &debug);
        let option = format!("--add-gnu-debuglink={}", debug.to_str().unwrap());
        run("objcopy", &[&option, path.to_str().unwrap()]);
        let mut program = Program::run(&path, dir);
        let stacks = check_kept(&mut program, link).0;
        let frame = stacks
            .frames
            .iter()
            .find(|frame| &*frame.function == "remember")
            .unwrap();
        assert!(frame.source.is_some());
    }
}

#[test]
fn symbols_of_another_program_are_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let debug = dir.path().join("program.debug");
    let (path, _) = stripped(dir.path(), &[], &debug);
    let option = format!("--add-gnu-debuglink={}", debug.to_str().unwrap());
    run("objcopy", &[&option, path.to_str().unwrap()]);
    let other = tempfile::tempdir().unwrap();
    stripped(other.path(), &["-DOTHER", "-O0"], &debug);
    let mut program = Program::run(&path, dir);
    let (_, stacks, _) = program.measure();
    assert!(stacks.frames.iter().all(|frame| &*frame.function != "remember"));
}

/// Checks that symbols are found by build id in the root of the program, on a file system that no other process sees, as in a
/// container.
#[test]
fn a_container_with_its_own_root_and_pids() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, debug) = (dir.path().to_owned(), dir.path().join("symbols"));
    let (_, id) = stripped(&folder, &["-static"], &debug);
    let (first, rest) = id.split_at(2);
    let script = format!(
        "set -e; cd {}; mkdir root; mount -t tmpfs none root; mkdir -p root/usr/lib/debug/.build-id/{first} root/app
        mv program root/app; mv symbols root/usr/lib/debug/.build-id/{first}/{rest}.debug; exec chroot root /app/program",
        folder.to_str().unwrap()
    );
    let setup = ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &script];
    let may = Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "true"])
        .status();
    if !may.is_ok_and(|status| status.success()) {
        return cannot("namespaces need root");
    }
    let mut program = Program::start(Command::new("unshare").args(setup), dir);
    // The child of unshare is the program once it has another root.
    let children = format!("/proc/{0}/task/{0}/children", program.child.id());
    let inside = || {
        let pid: u32 = std::fs::read_to_string(&children).ok()?.trim().parse().ok()?;
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        exe.ends_with("app/program").then_some(pid)
    };
    program.pid = loop {
        match inside() {
            Some(pid) => break pid,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
        assert_eq!(program.child.try_wait().unwrap(), None, "the program did not start");
    };
    check_kept(&mut program, "a container");
}

/// A program that writes code into memory and lets it touch the pages of a buffer. It prints where the code is, and begins when it
/// reads a line.
const GENERATED: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static const unsigned char touch[] =
#if defined(__x86_64__)
    {0xc6, 0x07, 0x01, 0xc3};
#else
    {0x21, 0x00, 0x80, 0x52, 0x01, 0x00, 0x00, 0x39, 0xc0, 0x03, 0x5f, 0xd6};
#endif
int main(void) {
    char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *memory = mmap(0, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, touch, sizeof touch);
    __builtin___clear_cache(code, code + sizeof touch);
    printf("%lx\n", (unsigned long)code);
    fflush(stdout);
    getchar();
    for (int at = 0; at < 8 << 20; at += 4096) ((void (*)(char *))code)(memory + at);
    printf("1\n");
    fflush(stdout);
    getchar();
    getchar();
}
"#;

/// A file that is removed when dropped.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_map_of_generated_code_is_read_only_from_the_user_of_the_process_or_root() {
    // Whose file it is; `None` for a link to one that would do.
    for (owner, is_read) in [(Some(None), true), (Some(Some(65534)), false), (None, false)] {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("map");
        let path = compile(dir.path(), "cc", GENERATED, "c", &["-O1", "-fno-omit-frame-pointer"]);
        let mut program = Program::run(&path, dir);
        let mut start = String::new();
        program.lines.read_line(&mut start).unwrap();
        // Where a runtime writes it.
        let map = Removed(format!("/tmp/perf-{}.map", program.pid()).into());
        let text = format!("{} 10 generated_code\n", start.trim());
        if let Some(owner) = owner {
            std::fs::write(&map.0, text).unwrap();
            if owner.is_some() && std::os::unix::fs::chown(&map.0, owner, None).is_err() {
                cannot("only root can give a file away");
                continue;
            }
        } else {
            std::fs::write(&elsewhere, text).unwrap();
            std::os::unix::fs::symlink(&elsewhere, &map.0).unwrap();
        }
        let (_, stacks, _) = program.measure();
        let names: Vec<_> = stacks.frames.iter().map(|frame| &*frame.function).collect();
        assert_eq!(names.contains(&"generated_code"), is_read, "{owner:?}: {names:?}");
    }
}
