//! Heaps of C allocators: heaps made in memory, hostile ones among them, and real programs that count their own memory.

mod apart;
mod jemalloc;
mod live;
mod made;
mod mallocng;
mod mimalloc;
mod tcmalloc;
mod words;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use zmtop::heap::{Placed, Region, RegionKind, State};
use zmtop::output::heap::HeapReport;
use zmtop::output::{Format, OutputStyle, write};

/// Writes a document of each kind.
pub(crate) fn documents() -> Vec<String> {
    let mut known = words::state(words::HOARD);
    let mut unknown = known.clone();
    unknown.memory = Ok(Placed::default());
    unknown.heap = Err(zmtop::heap::Unknown::Moving);
    known.others.push(zmtop::heap::kinds::Kind::Python);
    known.change = Some(zmtop::heap::Change {
        time: std::time::Duration::from_secs(30),
        in_use: 5 << 20,
        free: -1,
    });
    known.runtimes.push(crate::runtimes::words::java());
    let mut bare = known.clone();
    bare.memory = Err(zmtop::model::Missing::Gone);
    if let Ok(heap) = &mut bare.heap {
        (heap.mapped, heap.caches) = (None, None);
    }
    [known, unknown, bare].map(|state| text(state, Format::Json)).into()
}

fn text(state: State, format: Format) -> String {
    let style = OutputStyle::default();
    let mut out = Vec::new();
    write(&mut out, &HeapReport { state, top: 20, style }, format).unwrap();
    String::from_utf8(out).unwrap()
}

/// The words of a made process that are not 0, by address.
#[derive(Clone, Default)]
struct Words(BTreeMap<u64, u64>);

impl Words {
    /// Fills `into` with the bytes at an address. Returns true.
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        into.fill(0);
        let end = address.saturating_add(into.len() as u64);
        for (at, word) in self.0.range(address.saturating_sub(7)..end) {
            for (byte, at) in word.to_le_bytes().iter().zip(*at..) {
                if let Some(place) = at.checked_sub(address).and_then(|at| into.get_mut(at as usize)) {
                    *place = *byte;
                }
            }
        }
        true
    }

    /// Fills `into` with the entries of `pagemap` for the pages from `page` on: in `heap`, those are in RAM for which `is_there`
    /// returns true; elsewhere, those that have words.
    fn pages(&self, page: u64, into: &mut [u64], heap: Range<u64>, is_there: impl Fn(u64) -> bool) {
        for (entry, page) in into.iter_mut().zip(page..) {
            let start = page.saturating_mul(4096);
            let is_there = if heap.contains(&start) {
                is_there(start)
            } else {
                self.0.range(start..start.saturating_add(4096)).next().is_some()
            };
            *entry = u64::from(is_there) << 63;
        }
    }
}

/// Returns the path of the first of these libraries that is installed.
fn library(names: &[&str]) -> Option<String> {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
    ];
    let paths = |folder| names.iter().map(move |name| format!("{folder}/{name}"));
    folders.iter().flat_map(paths).find(|path| Path::new(path).exists())
}

/// The beginning of a C program: `allocate` allocates 96 MiB in all `threads`, by `kind` in blocks of up to 3,000, up to 126 or up to
/// 4,096 + `MOST` bytes, frees three of four, and waits for the other threads.
const ALLOCATE: &str = r"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int kind, threads;
static pthread_barrier_t all_there;
static void allocate(unsigned seed) {
    int count = 0;
    size_t total = 0, most = (96u << 20) / threads;
    char **kept = malloc(60000 * sizeof *kept);
    pthread_barrier_wait(&all_there);
    while (total < most && count < 60000) {
        seed = seed * 1103515245u + 12345u;
        size_t size = kind == 0 ? 16 + (seed >> 8) % 3000 : kind == 1 ? 16 + (seed >> 8) % 110 : 4096 + (seed >> 8) % MOST;
        kept[count] = malloc(size);
        memset(kept[count++], 1, size);
        total += size;
    }
    for (int i = 0; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        if ((seed >> 8) % 4) free(kept[i]);
    }
    pthread_barrier_wait(&all_there);
}
static void *work(void *seed) { allocate((unsigned)(size_t)seed); pause(); return 0; }
";

fn region(start: u64, len: u64, kind: RegionKind) -> Region {
    let end = start + len;
    Region { start, end, kind }
}
