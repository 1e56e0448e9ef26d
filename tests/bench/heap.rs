//! Times the read of a heap of glibc with many free chunks.
//!
//! `cargo bench --bench heap -- [MB [ROUNDS]]` starts programs that allocate 1024 MB unless told otherwise, and free every second
//! block: in random order, in order, sorted by size, and small blocks in a fifth of the memory. For each, it prints the free chunks,
//! and the processor time of a read.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use zmtop::heaps::look;
use zmtop::proc::clock;

/// `argv`: megabytes, smallest block, range of sizes, in random order or not, sorted or not.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static unsigned long long state = 88172645463325252ULL;
static unsigned next(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state >> 16; }
int main(int argc, char **argv) {
    size_t most = (size_t)atoi(argv[1]) << 20, least = atoi(argv[2]), range = atoi(argv[3]);
    size_t count = 0, total = 0, freed = 0;
    char **blocks = malloc((most / least + 1) * sizeof *blocks);
    while (total < most) {
        size_t size = least + next() % range;
        blocks[count] = malloc(size);
        memset(blocks[count++], 1, size);
        total += size;
    }
    for (size_t at = 0; at < count; at += 2) blocks[freed++] = blocks[at];
    for (size_t at = freed; atoi(argv[4]) && at > 1; at--) {
        size_t other = next() % at;
        char *block = blocks[at - 1];
        blocks[at - 1] = blocks[other];
        blocks[other] = block;
    }
    for (size_t at = 0; at < freed; at++) free(blocks[at]);
    // Each of these sorts some of the free chunks into their bins.
    for (int at = 0; atoi(argv[5]) && at < 1000; at++) free(malloc(12 << 20));
    puts("done");
    fflush(stdout);
    pause();
}
"#;

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let mut next = |default| numbers.next().unwrap_or(default);
    let (megabytes, rounds) = (next(1024_usize), next(9));
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("heap");
    let mut compiler = Command::new("cc");
    let compiler = compiler.args(["-O1", "-x", "c", "-", "-o"]).arg(&program);
    let mut compiler = compiler.stdin(Stdio::piped()).spawn().unwrap();
    compiler.stdin.take().unwrap().write_all(PROGRAM.as_bytes()).unwrap();
    assert!(compiler.wait().unwrap().success());
    for (what, megabytes, args) in [
        ("random order", megabytes, ["600", "5600", "1", "0"]),
        ("in order", megabytes, ["600", "5600", "0", "0"]),
        ("sorted", megabytes, ["600", "5600", "1", "1"]),
        ("small, sorted", megabytes / 5, ["40", "400", "1", "1"]),
    ] {
        let mut program = Command::new(&program);
        let program = program.arg(megabytes.to_string()).args(args);
        let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut String::new())
            .unwrap();
        let mut took = Vec::new();
        let mut count = 0;
        for _ in 0..rounds {
            let begun = clock::thread_time();
            let state = look(Path::new("/proc"), child.id(), Duration::from_secs(60)).unwrap();
            took.push(clock::thread_time().saturating_sub(begun).as_secs_f64() * 1e3);
            let sum = state.heap.unwrap().total();
            count = sum.unsorted.count + sum.small.count + sum.large.count;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        took.sort_by(f64::total_cmp);
        println!(
            "{what:<14} {megabytes:>5} MB {count:>7} free chunks: median {:.1}, best {:.1} ms of processor time",
            took[took.len() / 2],
            took[0]
        );
    }
}
