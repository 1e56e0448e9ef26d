//! The arenas of Python's own allocator for small objects: `Include/internal/pycore_obmalloc.h`.
//!
//! An arena consists of pools, and a pool consists of blocks of one size. The table of arenas has no symbol, but a pool's header
//! can be verified by its own fields.

use crate::heap::{Memory, RegionKind};

use super::Version;

/// Small objects: in use, and free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    /// Bytes of blocks in use.
    pub used: u64,
    /// Bytes of free blocks in pools with others in use.
    pub free: u64,
    /// Bytes of pools without a block in use.
    pub empty: u64,
    /// Bytes of all arenas with pools.
    pub arenas: u64,
}

const HEADER: u64 = 48;
const PRESENT: u64 = 1 << 63;
/// Number of pages whose entries are read at once.
const BATCH: usize = 4096;

/// Finds the pools in the anonymous memory of a process. Pages in swap are not read.
pub fn pools(memory: &mut dyn Memory, version: Version) -> Pools {
    // `POOL_SIZE` and `ARENA_SIZE`.
    let (pool_size, arena_size) = if version >= (3, 10) {
        (16 << 10, 1 << 20)
    } else {
        (4 << 10, 256 << 10)
    };
    let mut found = Pools::default();
    let mut arenas = std::collections::HashSet::new();
    let page_size = memory.page_size().max(1);
    let mut entries = vec![0; BATCH];
    let regions = memory.regions().unwrap_or_default();
    let mut mapped = 0_u64;
    for region in regions
        .all()
        .iter()
        .filter(|region| region.kind == RegionKind::Anonymous)
    {
        mapped = mapped.saturating_add(region.end - region.start);
        let mut start = region.start;
        while start < region.end && !memory.is_over() {
            let count = (region.end - start).div_ceil(page_size).min(BATCH as u64);
            let entries = &mut entries[..count as usize];
            if !memory.pages(start / page_size, entries) {
                break;
            }
            let end = region.end.min(start.saturating_add(count * page_size));
            let mut pool = start.checked_next_multiple_of(pool_size).unwrap_or(end);
            while pool < end {
                let mut header = [0; HEADER as usize];
                let entry = entries.get(((pool - start) / page_size) as usize);
                if entry.is_some_and(|entry| entry & PRESENT != 0)
                    && region.end - pool >= pool_size
                    && !memory.is_over()
                    && memory.read(pool, &mut header)
                    && let Some(arena) = found.add(&header, pool_size)
                {
                    arenas.insert(arena);
                }
                pool += pool_size;
            }
            start = end;
        }
    }
    // A pool may state any arena.
    let arenas = (arenas.len() as u64).saturating_mul(arena_size);
    found.arenas = arenas.min(mapped.next_multiple_of(arena_size));
    found
}

impl Pools {
    /// Adds a pool by its header. Returns the number of its arena; `None` if it is none.
    fn add(&mut self, header: &[u8; HEADER as usize], pool_size: u64) -> Option<u32> {
        let number = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let [count, arena, class, next, most] = [0, 32, 36, 40, 44].map(number);
        if class >= 32 || arena >= 1 << 24 || number(4) != 0 {
            return None;
        }
        let block = (u64::from(class) + 1) * 16;
        let capacity = (pool_size - HEADER) / block;
        let (next, most, count) = (u64::from(next), u64::from(most), u64::from(count));
        let is_pool = most == pool_size - block
            && next >= HEADER + block
            && (next - HEADER).is_multiple_of(block)
            && next <= pool_size
            && count <= capacity
            && count * block + HEADER <= next;
        if !is_pool {
            return None;
        }
        self.used += count * block;
        if count == 0 {
            self.empty += pool_size;
        } else {
            self.free += pool_size - HEADER - count * block;
        }
        Some(arena)
    }
}
