//! Memory that the runtimes of a process hold: the answers of a Java machine and of .NET, objects of Python and profiles of Go
//! made in memory, hostile ones among them, and a real Python that leaks.

mod dotnet;
mod go;
mod java;
mod jfr;
#[cfg(feature = "network")]
mod node;
mod python;
pub(crate) mod words;

use std::collections::BTreeMap;

use zmtop::heap::{Memory, Region, RegionKind, Regions};

/// The memory of a process, made of a few anonymous regions.
#[derive(Clone, Default)]
struct Made {
    regions: BTreeMap<u64, Vec<u8>>,
    /// Questions whether the time is over, before it is.
    left: u64,
}

impl Made {
    fn new(regions: &[(u64, usize)]) -> Self {
        let regions = regions.iter().map(|(start, len)| (*start, vec![0; *len]));
        Self {
            regions: regions.collect(),
            left: 10_000,
        }
    }

    fn bytes(&mut self, address: u64, bytes: &[u8]) {
        let (start, region) = self.regions.range_mut(..=address).next_back().unwrap();
        region[(address - start) as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn words(&mut self, address: u64, words: &[u64]) {
        for (n, word) in words.iter().enumerate() {
            self.bytes(address + n as u64 * 8, &word.to_le_bytes());
        }
    }

    /// Returns copies in which a few words are others: pointers to other places, large numbers, flipped bits.
    fn mutations(&self, count: u64) -> impl Iterator<Item = Self> {
        (0..count).map(|seed| {
            let mut made = self.clone();
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut next = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            for _ in 0..=next() % 4 {
                let region = (next() % made.regions.len() as u64) as usize;
                let (start, region) = made.regions.iter_mut().nth(region).unwrap();
                let used: Vec<usize> = (0..region.len() / 8)
                    .filter(|n| region[n * 8..n * 8 + 8] != [0; 8])
                    .collect();
                let Some(at) = used.get((next() % used.len().max(1) as u64) as usize) else {
                    continue;
                };
                let old = u64::from_le_bytes(region[at * 8..at * 8 + 8].try_into().unwrap());
                let new = match next() % 6 {
                    0 => u64::MAX - next() % 64,
                    1 => 1 << 63,
                    2 => start + next() % region.len() as u64 / 8 * 8,
                    3 => next(),
                    4 => old ^ 1 << (next() % 64),
                    _ => old.wrapping_add(8),
                };
                region[at * 8..at * 8 + 8].copy_from_slice(&new.to_le_bytes());
            }
            made
        })
    }
}

impl Memory for Made {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        let Some((start, region)) = self.regions.range(..=address).next_back() else {
            return false;
        };
        let bytes = usize::try_from(address - start)
            .ok()
            .and_then(|from| region.get(from..));
        let bytes = bytes.and_then(|bytes| bytes.get(..into.len()));
        bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }

    fn pages(&mut self, _: u64, into: &mut [u64]) -> bool {
        into.fill(1 << 63);
        true
    }

    fn page_size(&self) -> u64 {
        4096
    }

    fn regions(&mut self) -> Option<Regions> {
        let region = |(start, bytes): (&u64, &Vec<u8>)| Region {
            start: *start,
            end: start + bytes.len() as u64,
            kind: RegionKind::Anonymous,
        };
        Some(Regions::new(self.regions.iter().map(region).collect()))
    }

    fn is_over(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }
}
