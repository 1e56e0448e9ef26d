//! The memory profile of a Go program, read from outside: the code that allocated the objects in use since the program started.
//!
//! The runtime samples an allocation about every 512 KiB, and keeps a bucket per call path: `mprof.go` of the runtime, Go 1.16 to
//! 1.25. The buckets have no symbol in a stripped program, so they are recognized by their consistency. Function names come from
//! `.gopclntab` (`symtab.go`), which each program has. The program controls all of it, so it is checked and the work is bounded.

use std::collections::HashSet;
use std::ops::Range;

use super::Memory;
use super::cache::Cache;
use super::runtimes::Site;

/// Maximum number of buckets of a program.
const MAX_BUCKETS: usize = 1 << 18;
/// Maximum number of buckets of all chains that are followed: 18 MiB.
const MAX_KNOWN: usize = 1 << 20;
/// The deepest call path: `maxProfStackDepth`.
const MAX_DEPTH: u64 = 1024;
/// Maximum number of frames of a path that are named.
const MAX_NAMED: usize = 64;
/// Maximum number of bytes of the names of all paths. A program has a few thousand paths of some kilobytes.
const MAX_NAMES: usize = 64 << 20;
/// Maximum number of bytes of data to search.
const MAX_DATA: u64 = 64 << 20;
/// `MemProfileRate`, unless the program sets it.
const RATE: f64 = 524_288.0;
const ADDRESSES: Range<u64> = 0x1000..1 << 56;

/// The locations of a program's code and data in its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub text: Range<u64>,
    /// `.gopclntab`.
    pub functions: Range<u64>,
    /// Its variables.
    pub data: Vec<Range<u64>>,
}

/// The reason why there is no profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No bucket was found: the linker leaves the profiler out of a program that does not call `runtime.MemProfile`, as
    /// `net/http/pprof` does.
    NoProfile,
}

/// The bucket of a call path.
struct Bucket {
    next: u64,
    size: u64,
    stack: u64,
    depth: u64,
}

/// Returns the call paths with the objects in use that they allocated, largest first. Counts and bytes are estimates from samples.
pub fn sites(memory: &mut dyn Memory, program: &Program) -> Result<Vec<Site>, Refusal> {
    let mut memory = Cache::new(memory);
    let head = find(&mut memory, program).ok_or(Refusal::NoProfile)?;
    let names = Functions::read(&mut memory, program);
    let mut sites = Vec::new();
    let mut at = head;
    let mut seen = HashSet::new();
    let mut left = MAX_NAMES;
    while at != 0 && seen.len() < MAX_BUCKETS && seen.insert(at) && !memory.is_over() {
        let Some(bucket) = bucket(&mut memory, program, at) else {
            break;
        };
        if let Some(site) = site(&mut memory, &bucket, names.as_ref()) {
            let size = site.frames.iter().map(|name| name.len() + size_of::<String>()).sum();
            let Some(rest) = left.checked_sub(size) else { break };
            left = rest;
            sites.push(site);
        }
        at = bucket.next;
    }
    let mut merged: Vec<Site> = Vec::new();
    sites.sort_by(|a, b| a.frames.cmp(&b.frames));
    for site in sites {
        match merged.last_mut() {
            // Buckets differ in the size of their objects, too.
            Some(last) if last.frames == site.frames => {
                last.count = last.count.zip(site.count).map(|(a, b)| a.saturating_add(b));
                last.bytes = last.bytes.saturating_add(site.bytes);
            }
            _ => merged.push(site),
        }
    }
    merged.sort_by_key(|site| std::cmp::Reverse(site.bytes));
    Ok(merged)
}

/// Finds `runtime.mbuckets`: the variable from which the longest chain of buckets starts.
fn find(memory: &mut Cache<'_>, program: &Program) -> Option<u64> {
    let mut best = (0, None);
    let mut known = HashSet::new();
    let mut left = MAX_DATA;
    for range in &program.data {
        let end = range.end.min(range.start.saturating_add(left));
        left = left.saturating_sub(range.end.saturating_sub(range.start));
        for at in (range.start.checked_next_multiple_of(8).unwrap_or(end)..end).step_by(8) {
            let Some(word) = memory.word(at) else {
                // Data that cannot be read is skipped, but not for longer than there is time.
                if memory.was_over() {
                    return best.1;
                }
                continue;
            };
            let is_candidate = ADDRESSES.contains(&word) && word.is_multiple_of(8) && !program.text.contains(&word);
            if !is_candidate {
                continue;
            }
            // Each word that is no bucket is a read, too.
            if memory.is_over() || known.len() >= MAX_KNOWN {
                return best.1;
            }
            if bucket(memory, program, word).is_none() {
                continue;
            }
            let (mut length, mut bucket_at) = (0, word);
            while bucket_at != 0 && length < MAX_BUCKETS && known.insert(bucket_at) {
                let Some(bucket) = bucket(memory, program, bucket_at) else {
                    break;
                };
                length += 1;
                bucket_at = bucket.next;
            }
            if length > best.0 {
                best = (length, Some(word));
            }
        }
    }
    best.1
}

fn bucket(memory: &mut Cache<'_>, program: &Program, at: u64) -> Option<Bucket> {
    /// `memProfile` of `bucketType`.
    const MEMORY: u64 = 1;
    const FIELDS: u64 = 48;
    let [_, next, kind, hash, size, depth] = memory.words(at)?;
    let is_link = next == 0 || (ADDRESSES.contains(&next) && next.is_multiple_of(8));
    if kind != MEMORY || hash == 0 || size >= 1 << 47 || !(1..=MAX_DEPTH).contains(&depth) || !is_link {
        return None;
    }
    let stack = at.checked_add(FIELDS)?;
    let outermost = memory.word(stack + (depth - 1) * 8)?;
    let innermost = memory.word(stack)?;
    let is_code = program.text.contains(&innermost) && program.text.contains(&outermost);
    is_code.then_some(Bucket {
        next,
        size,
        stack,
        depth,
    })
}

fn site(memory: &mut Cache<'_>, bucket: &Bucket, names: Option<&Functions>) -> Option<Site> {
    let record = bucket.stack.wrapping_add(bucket.depth * 8);
    // Four cycles of allocations, frees, and the bytes of both. The first one is published, the others are the cycles of the
    // collector under way: they count only if there was no collection yet, as for `runtime.MemProfile`.
    let cycle = |memory: &mut Cache<'_>, n: u64| memory.words::<4>(record.wrapping_add(n * 32));
    let mut sums = cycle(memory, 0)?;
    if sums == [0; 4] {
        for n in 1..4 {
            let more = cycle(memory, n)?;
            sums.iter_mut()
                .zip(more)
                .for_each(|(sum, more)| *sum = sum.saturating_add(more));
        }
    }
    let [allocated, freed, ..] = sums;
    let count = allocated
        .checked_sub(freed)
        .filter(|count| (1..1 << 40).contains(count))?;
    // Small objects are sampled rarely: `scaleHeapSample` of `runtime/pprof`.
    let scale = 1.0 / (1.0 - (-(bucket.size as f64) / RATE).exp());
    let count = (count as f64 * scale).round();
    let mut frames = Vec::new();
    for n in 0..bucket.depth.min(MAX_NAMED as u64) {
        let at = memory.word(bucket.stack + n * 8)?;
        // A return address is behind its call.
        let name = names.and_then(|names| names.name(memory, at.saturating_sub(1)));
        frames.push(name.unwrap_or_else(|| format!("{at:#x}")));
    }
    // The allocation itself is of no interest.
    let inner = frames.iter().take_while(|name| name.starts_with("runtime.")).count();
    if inner < frames.len() {
        frames.drain(..inner);
    }
    Some(Site {
        frames,
        count: Some(count as u64),
        bytes: (count * bucket.size as f64) as u64,
    })
}

/// The table of functions.
struct Functions {
    /// The start of the code, to which the table's numbers refer.
    text: u64,
    count: u64,
    names: u64,
    table: u64,
    end: u64,
}

impl Functions {
    fn read(memory: &mut Cache<'_>, program: &Program) -> Option<Self> {
        let at = program.functions.start;
        let magic = memory.word(at)? as u32;
        // `go118magic` and `go120magic`; `go116magic` has no start of the code, and addresses in its table.
        if !matches!(magic, 0xffff_fff0 | 0xffff_fff1) {
            return None;
        }
        let [count, _, text, names, _, _, _] = memory.words(at.checked_add(8)?)?;
        let table = memory.word(at + 64)?;
        let size = program.functions.end.saturating_sub(at);
        let is_sound = count < 1 << 24 && names < size && table < size && count.checked_mul(8)? < size;
        is_sound.then_some(Self {
            text: if program.text.contains(&text) {
                text
            } else {
                program.text.start
            },
            count,
            names: at.checked_add(names)?,
            table: at.checked_add(table)?,
            end: program.functions.end,
        })
    }

    /// Returns the name of the function at an address.
    fn name(&self, memory: &mut Cache<'_>, address: u64) -> Option<String> {
        let offset = u32::try_from(address.checked_sub(self.text)?).ok()?;
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if memory.word(self.table.checked_add(middle * 8)?)? as u32 <= offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let entry = memory.word(self.table.checked_add(low.checked_sub(1)? * 8)?)?;
        let function = self.table.checked_add(entry >> 32)?;
        let name = self.names.checked_add(memory.word(function)? >> 32)?;
        if name >= self.end {
            return None;
        }
        memory.text(name, 200)
    }
}
