//! Helpers of the fuzz targets: numbers from the input, files without a name, and the memory of a made process.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};
use zmtop::heap::{Memory, Region, RegionKind, Regions};

/// Returns a file with the bytes, at its beginning.
pub fn file(bytes: &[u8]) -> File {
    let mut file = File::from(memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("the kernel has memfd_create"));
    file.write_all(bytes).expect("it is in memory");
    file.rewind().expect("it can seek");
    file
}

/// Returns a path that opens the file while it is open.
pub fn path_of(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Takes numbers from the beginning of the input. After its end, they are 0.
pub struct Numbers<'a>(pub &'a [u8]);

impl Numbers<'_> {
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        let len = N.min(self.0.len());
        taken[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        taken
    }

    pub fn u8(&mut self) -> u8 {
        let [byte] = self.bytes();
        byte
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }
}

pub const PAGE: u64 = 4096;
/// The number of reads after which the time of a read is over.
const MOST_READS: u64 = 20_000;

/// A process made of a few regions, with the words that the input sets.
///
/// The input is a number of regions (1 to 8), and for each a byte of its kind, a byte of its place and its pages. Then follow
/// words: a region, an offset in words, a tag, and the value, which is 8 bytes, or a region and an offset for a pointer.
pub struct Process {
    regions: Vec<(Region, Vec<u8>)>,
    reads: u64,
}

/// Places of programs, heaps, libraries and arenas; arenas of glibc are aligned to 64 MiB, those of Go have a fixed address.
const PLACES: [u64; 8] = [
    0x40_0000,
    0x5555_5555_0000,
    0x5555_5600_0000,
    0x7f10_0400_0000,
    0x7f10_0800_0000,
    0x7f12_0000_0000,
    0x7f12_0020_0000,
    0x00c0_0000_0000,
];

impl Process {
    pub fn new(numbers: &mut Numbers<'_>) -> Self {
        const KINDS: [RegionKind; 4] = [
            RegionKind::Heap,
            RegionKind::Anonymous,
            RegionKind::Libc,
            RegionKind::File,
        ];
        let count = usize::from(numbers.u8() % 8) + 1;
        let mut regions = Vec::new();
        for at in 0..count {
            let [kind, page, pages] = numbers.bytes();
            let start = PLACES[at] + u64::from(page) * PAGE;
            let len = (u64::from(pages % 64) + 1) * PAGE;
            let region = Region {
                start,
                end: start + len,
                kind: KINDS[usize::from(kind % 4)],
            };
            regions.push((region, vec![0; len as usize]));
        }
        let mut made = Self { regions, reads: 0 };
        while numbers.0.len() >= 5 {
            let [region, tag] = numbers.bytes();
            let offset = numbers.u16();
            let value = match tag % 4 {
                0 => numbers.u64(),
                1 => numbers.u8().into(),
                2 => u64::MAX - u64::from(numbers.u8()),
                _ => {
                    let region = numbers.u8();
                    made.address(region, numbers.u16())
                }
            };
            made.put(region, offset, value);
        }
        made
    }

    /// Returns an address in one of the regions. The offset is in words.
    pub fn address(&self, region: u8, offset: u16) -> u64 {
        let (region, _) = &self.regions[usize::from(region) % self.regions.len()];
        region.start + u64::from(offset) * 8 % (region.end - region.start)
    }

    fn put(&mut self, region: u8, offset: u16, value: u64) {
        let count = self.regions.len();
        let (_, bytes) = &mut self.regions[usize::from(region) % count];
        let at = usize::from(offset) * 8 % bytes.len();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Returns the addresses of a region.
    pub fn range(&self, region: u8) -> std::ops::Range<u64> {
        let (region, _) = &self.regions[usize::from(region) % self.regions.len()];
        region.start..region.end
    }
}

impl Memory for Process {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.reads += 1;
        let found = self.regions.iter().find_map(|(region, bytes)| {
            let from = usize::try_from(address.checked_sub(region.start)?).ok()?;
            bytes.get(from..)?.get(..into.len())
        });
        found.map(|found| into.copy_from_slice(found)).is_some()
    }

    /// Every page with a word is in RAM, every third of the others in swap.
    fn pages(&mut self, page: u64, into: &mut [u64]) -> bool {
        self.reads += 1;
        for (entry, page) in into.iter_mut().zip(page..) {
            let mut words = [0; PAGE as usize];
            let is_set =
                page.checked_mul(PAGE).is_some_and(|at| self.read(at, &mut words)) && words != [0; PAGE as usize];
            *entry = match page % 3 {
                _ if is_set => 1 << 63,
                0 => 1 << 62,
                _ => 0,
            };
        }
        true
    }

    fn page_size(&self) -> u64 {
        PAGE
    }

    fn regions(&mut self) -> Option<Regions> {
        Some(Regions::new(self.regions.iter().map(|(region, _)| *region).collect()))
    }

    fn is_over(&mut self) -> bool {
        self.reads += 1;
        self.reads > MOST_READS
    }
}
