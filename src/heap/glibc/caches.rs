//! The chunks that each thread keeps for itself (`tcache_perthread_struct` of `malloc/malloc.c`).
//!
//! The C library links its threads: the two lists `_dl_stack_used` and `_dl_stack_user` of `nptl` begin in the data of the
//! library or of its loader, and pass through the descriptor of each thread, which begins with its own address. The pointer to
//! the cache stands at the same distance before each descriptor, and points to a chunk of one of three sizes.

use std::collections::{HashMap, HashSet};

use super::{Arena, Chunks, FLAGS, HEADER, HEAP_ALIGNMENT, Memory, PIECE, Reader, RegionKind, word};

/// Maximum number of threads whose caches are read.
const MAX_THREADS: usize = 16 << 10;
/// Number of bytes before a descriptor that are searched for the pointer. They hold the thread-local variables.
const MAX_VARIABLES: u64 = 64 << 10;
/// Number of threads that are used to find the offset of the pointer.
const WITNESSES: usize = 16;
/// Bytes between the beginning of a descriptor and its place in the list.
const MAX_LINK: u64 = 0x800;
/// Maximum number of bytes of a library's data to search.
const MAX_DATA: u64 = 1 << 20;
/// Maximum number of chunks of one size in a cache, and of all caches: these take 36 MiB here.
const MAX_LENGTH: u64 = 1 << 16;
const MAX_CACHED: usize = 7 << 19;

/// Size of a cache's chunk, number of its lists, and bytes of each list's counter: 2.26, 2.30 and 2.42.
const SIZES: [(u64, u64, u64); 3] = [(0x250, 64, 1), (0x290, 64, 2), (0x300, 76, 2)];
/// Number of lists for chunks of one size each. Later lists are for ranges of sizes.
const EXACT: u64 = 64;
/// The bit of a chunk that is not of the first arena.
const OTHER_ARENA: u64 = 4;

impl<M: Memory> Reader<'_, M> {
    /// Adds the chunks in the caches of threads to their arenas. Returns the number of caches, or `None` if none is found.
    pub(super) fn caches(&mut self, arenas: &[u64], sums: &mut [Arena]) -> Option<u64> {
        self.forget();
        let threads = self.threads();
        let before = self.place_of_cache(&threads)?;
        let index: HashMap<u64, usize> = arenas.iter().enumerate().map(|(at, arena)| (*arena, at)).collect();
        let mut found = 0;
        let mut seen = HashSet::new();
        for thread in threads {
            if self.memory.is_over() {
                break;
            }
            let cache = self
                .words::<1>(thread.wrapping_sub(before))
                .and_then(|[cache]| self.cache(cache));
            let Some((lists, _)) = cache else { continue };
            found += 1;
            for first in lists {
                for (chunk, size, flags) in self.cached(first, &mut seen) {
                    let arena = if flags & OTHER_ARENA == 0 {
                        Some(0)
                    } else {
                        let heap = self.words::<1>(chunk & !(HEAP_ALIGNMENT - 1));
                        heap.and_then(|[arena]| index.get(&arena).copied())
                    };
                    if let Some(sum) = arena.and_then(|at| sums.get_mut(at)) {
                        sum.cached += Chunks { count: 1, bytes: size };
                    }
                }
            }
        }
        Some(found)
    }

    /// Returns the descriptors of the threads.
    fn threads(&mut self) -> Vec<u64> {
        let regions = self.regions.clone();
        let mut threads = Vec::new();
        let mut bytes = Vec::new();
        let all = regions.all();
        let is_static = all.iter().all(|region| region.kind != RegionKind::Libc);
        let kind = if is_static { RegionKind::File } else { RegionKind::Libc };
        for (at, region) in all.iter().enumerate() {
            let before = at.checked_sub(1).map(|at| all[at]);
            let follows = region.kind == RegionKind::Anonymous
                && before.is_some_and(|before| before.end == region.start && before.kind == kind);
            if region.kind != kind && !follows {
                continue;
            }
            if self.memory.is_over() {
                break;
            }
            bytes.resize((region.end - region.start).min(MAX_DATA) as usize, 0);
            if !self.memory.read(region.start, &mut bytes) {
                continue;
            }
            for offset in (0..bytes.len() as u64 - 8).step_by(8) {
                if offset.is_multiple_of(PIECE) && self.memory.is_over() {
                    break;
                }
                let (next, head) = (word(&bytes, offset), region.start + offset);
                if next % 16 == 0 && next != head && self.words::<2>(next).is_some_and(|[_, back]| back == head) {
                    self.follow_threads(head, next, &mut threads);
                }
            }
        }
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// Adds the threads of a list, if it is one.
    fn follow_threads(&mut self, head: u64, first: u64, threads: &mut Vec<u64>) {
        let is_thread = |reader: &mut Self, start: u64| {
            !reader.memory.is_over()
                && reader
                    .words::<3>(start)
                    .is_some_and(|[tcb, _, own]| (tcb, own) == (start, start))
        };
        let starts = (0..MAX_LINK).step_by(16).map(|link| (link, first.saturating_sub(link)));
        let Some((link, _)) = starts
            .filter(|(_, start)| start.is_multiple_of(64))
            .find(|(_, start)| is_thread(self, *start))
        else {
            return;
        };
        let mut place = first;
        while place != head && threads.len() < MAX_THREADS {
            let start = place.wrapping_sub(link);
            let next = self.words::<1>(place);
            let Some([next]) = next.filter(|_| is_thread(self, start)) else {
                return;
            };
            threads.push(start);
            place = next;
        }
    }

    /// Returns the distance of the pointer to the cache from a thread's descriptor.
    fn place_of_cache(&mut self, threads: &[u64]) -> Option<u64> {
        // By the distance: threads with a cache there, and lists in them that are not empty.
        let mut votes: HashMap<u64, (usize, usize)> = HashMap::new();
        for thread in threads.iter().take(WITNESSES) {
            let room = self.regions.find(*thread).map_or(0, |region| thread - region.start);
            let len = MAX_VARIABLES.min(room) & !7;
            let mut bytes = vec![0; len as usize];
            if !self.memory.read(thread - len, &mut bytes) {
                continue;
            }
            for at in (0..len).step_by(8) {
                if let Some((_, filled)) = self.cache(word(&bytes, at)) {
                    let vote = votes.entry(len - at).or_default();
                    *vote = (vote.0 + 1, vote.1 + filled);
                }
            }
        }
        let best = votes.into_iter().max_by_key(|(before, votes)| (*votes, *before));
        best.map(|(before, _)| before)
    }

    /// Returns the first chunks of the lists of a cache, and the number of lists that are not empty; `None` if it cannot be one.
    fn cache(&mut self, address: u64) -> Option<(Vec<u64>, usize)> {
        if !address.is_multiple_of(16) || address < HEADER || !self.holds(address - HEADER, 0x250) {
            return None;
        }
        // Each word of a thread's variables may be such a pointer.
        if self.memory.is_over() {
            return None;
        }
        let [_, size] = self.words(address - HEADER)?;
        let (_, lists, number) = *SIZES.iter().find(|(of, _, _)| *of == size & !FLAGS)?;
        let mut bytes = vec![0; (lists * (8 + number)) as usize];
        if !self.memory.read(address, &mut bytes) {
            return None;
        }
        let mut filled = Vec::new();
        for at in 0..lists {
            let first = word(&bytes, lists * number + at * 8);
            if first == 0 {
                continue;
            }
            let size = self.cached_chunk(first)?.1;
            if at < EXACT && size != (at + 2) * 16 {
                return None;
            }
            filled.push(first);
        }
        let count = filled.len();
        Some((filled, count))
    }

    /// Returns the next pointer, the size and the flags of a chunk in a cache, by the address of its contents.
    fn cached_chunk(&mut self, contents: u64) -> Option<(u64, u64, u64)> {
        if !contents.is_multiple_of(16) || contents < HEADER {
            return None;
        }
        let [size, next] = self.words(contents - 8)?;
        let (size, flags) = (size & !FLAGS, size & FLAGS);
        let fits = size >= super::MIN_CHUNK && size.is_multiple_of(16) && self.holds(contents - HEADER, size);
        fits.then_some((next, size, flags))
    }

    /// Follows a list as far as it is consistent, up to a chunk that was seen. Returns the address, size and flags of each chunk.
    fn cached(&mut self, first: u64, seen: &mut HashSet<u64>) -> Vec<(u64, u64, u64)> {
        let mut all = Vec::new();
        let mut contents = first;
        // Running threads change their lists during the read, which may then find a circle.
        while contents != 0 && (all.len() as u64) < MAX_LENGTH && self.step() && seen.insert(contents) {
            if seen.len() >= MAX_CACHED {
                self.is_partial = true;
                break;
            }
            let Some((next, size, flags)) = self.cached_chunk(contents) else {
                break;
            };
            all.push((contents, size, flags));
            let Some(next) = self.unmasked(next, contents) else {
                break;
            };
            contents = next;
        }
        all
    }
}
