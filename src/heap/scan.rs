//! Reads the data of another process and the location of its pages. Touches no page that is not in RAM.

use std::ops::Range;

use super::{Memory, Placed, RegionKind, Regions, Unknown};

/// The only size of a page with which heaps are read here.
pub(super) const PAGE: u64 = 4096;
/// The bits of `/proc/PID/pagemap`.
pub(super) const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// Maximum number of bytes of data to search.
const MAX_SEARCHED: u64 = 256 << 20;
/// Pages of which the locations are looked up at once.
const WINDOW: u64 = 4096;
/// Maximum number of reads of a heap that changes meanwhile.
const TRIES: u32 = 4;

/// Reads a heap: `find` finds its root in the data of the program, and `walk` follows it, again if the heap changes meanwhile.
///
/// # Errors
/// See [`Unknown`].
pub(super) fn read<'m, R: Copy, H>(
    memory: &'m mut dyn Memory,
    find: fn(&mut Scan<'m>) -> Result<R, Unknown>,
    walk: fn(&mut Scan<'m>, R) -> Result<H, Unknown>,
) -> Result<H, Unknown> {
    if memory.page_size() != PAGE {
        return Err(Unknown::NotFound);
    }
    let mut scan = Scan::new(memory)?;
    let root = find(&mut scan)?;
    let mut result = Err(Unknown::Moving);
    for _ in 0..TRIES {
        result = walk(&mut scan, root);
        if !matches!(result, Err(Unknown::Moving)) || scan.memory.is_over() {
            break;
        }
        scan.regions = scan.memory.regions().ok_or(Unknown::Moving)?;
    }
    result
}

pub(super) struct Scan<'m> {
    pub(super) memory: &'m mut dyn Memory,
    pub(super) regions: Regions,
    /// Room for a structure of the process.
    pub(super) buffer: Vec<u8>,
    /// The locations of the pages in `window`.
    locations: Vec<u64>,
    window: Range<u64>,
}

impl<'m> Scan<'m> {
    /// Reads the mappings.
    ///
    /// # Errors
    /// [`Unknown::Moving`] if they cannot be read.
    fn new(memory: &'m mut dyn Memory) -> Result<Self, Unknown> {
        let regions = memory.regions().ok_or(Unknown::Moving)?;
        Ok(Self {
            memory,
            regions,
            buffer: Vec::new(),
            locations: Vec::new(),
            window: 0..0,
        })
    }

    /// Drops the locations of pages.
    pub(super) fn forget(&mut self) {
        self.window = 0..0;
    }

    /// Calls `each` with each word of the data of the program and its libraries, and its address, until it returns a value.
    pub(super) fn search<T>(&mut self, mut each: impl FnMut(&mut Self, u64, u64) -> Option<T>) -> Result<T, Unknown> {
        let regions = self.regions.clone();
        let mut searched = 0;
        let mut bytes = vec![0; 64 * PAGE as usize];
        // The end of the last data: without a file, the rest of it follows.
        let mut data_end = 0;
        for region in regions.all() {
            let is_data = matches!(region.kind, RegionKind::File | RegionKind::Libc);
            let follows = region.kind == RegionKind::Anonymous && region.start == data_end;
            if !is_data && !follows {
                continue;
            }
            if is_data {
                data_end = region.end;
            }
            let mut start = region.start;
            while start < region.end {
                if self.memory.is_over() || searched >= MAX_SEARCHED {
                    return Err(Unknown::TooLarge);
                }
                let len = (region.end - start).min(bytes.len() as u64);
                searched += len;
                if self.resident(start, &mut bytes[..len as usize]).is_some() {
                    let (words, _) = bytes[..len as usize].as_chunks::<8>();
                    for (at, word) in words.iter().enumerate() {
                        if let Some(found) = each(self, start + at as u64 * 8, u64::from_le_bytes(*word)) {
                            return Ok(found);
                        }
                    }
                }
                start += len;
            }
        }
        Err(Unknown::NotFound)
    }

    /// Fills `into` with the resident pages of a range. Pages that were never touched are zero, and are not touched by this read
    /// either; pages in swap count as zero too.
    pub(super) fn resident(&mut self, start: u64, into: &mut [u8]) -> Option<()> {
        self.placed_at(PRESENT, start, into)
    }

    /// Fills `into` like [`Self::resident`], and with the pages in swap. These come back into RAM.
    pub(super) fn touched(&mut self, start: u64, into: &mut [u8]) -> Option<()> {
        self.placed_at(PRESENT | SWAPPED, start, into)
    }

    fn placed_at(&mut self, locations: u64, start: u64, into: &mut [u8]) -> Option<()> {
        into.fill(0);
        let first = start / PAGE;
        let count = into.len() / PAGE as usize;
        let mut entries = vec![0; count];
        self.memory.pages(first, &mut entries).then_some(())?;
        let mut at = 0;
        while at < count {
            let run = entries[at..]
                .iter()
                .take_while(|entry| **entry & locations != 0)
                .count();
            if run > 0 {
                // A page may come from a slow disk.
                if self.memory.is_over() {
                    return None;
                }
                let bytes = &mut into[at * PAGE as usize..(at + run) * PAGE as usize];
                self.memory.read(start + at as u64 * PAGE, bytes).then_some(())?;
            }
            at += run.max(1);
        }
        Some(())
    }

    /// Returns the location of a range of pages.
    pub(super) fn placed(&mut self, address: u64, size: u64) -> Option<Placed> {
        let mut placed = Placed::default();
        let (mut page, end) = (address / PAGE, (address + size) / PAGE);
        while page < end {
            if !self.window.contains(&page) {
                if self.memory.is_over() {
                    return None;
                }
                self.locations.resize(WINDOW as usize, 0);
                self.memory.pages(page, &mut self.locations).then_some(())?;
                self.window = page..page + WINDOW;
            }
            let to = end.min(self.window.end);
            let (from, until) = (page - self.window.start, to - self.window.start);
            for entry in &self.locations[from as usize..until as usize] {
                match entry {
                    entry if entry & PRESENT != 0 => placed.resident += PAGE,
                    entry if entry & SWAPPED != 0 => placed.swapped += PAGE,
                    _ => {}
                }
            }
            page = to;
        }
        Some(placed)
    }
}
