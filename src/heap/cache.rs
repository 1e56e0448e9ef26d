//! Pages of another process's memory, kept while it is walked.

use super::{Memory, Regions};

const PAGE: u64 = 4096;
/// Maximum number of cached pages: 8 MiB.
const SLOTS: usize = 2048;
/// Number of pages read at once by sequential reads.
const AHEAD: usize = 8;

pub(super) struct Cache<'m> {
    memory: &'m mut dyn Memory,
    pages: Vec<u8>,
    /// The number of the page in each slot, plus 1.
    numbers: Vec<u64>,
    last: u64,
    ahead: Vec<u8>,
    /// The time limit of the read has passed.
    is_over: bool,
}

impl<'m> Cache<'m> {
    pub(super) fn new(memory: &'m mut dyn Memory) -> Self {
        Self {
            memory,
            pages: vec![0; SLOTS * PAGE as usize],
            numbers: vec![0; SLOTS],
            last: 0,
            ahead: vec![0; AHEAD * PAGE as usize],
            is_over: false,
        }
    }

    /// Returns true once the time limit of the read has passed.
    pub(super) fn is_over(&mut self) -> bool {
        self.is_over = self.is_over || self.memory.is_over();
        self.is_over
    }

    /// Returns true if the time limit had passed when a page was last read, or [`Self::is_over`] last called.
    pub(super) const fn was_over(&self) -> bool {
        self.is_over
    }

    /// Returns the mappings; none if they cannot be read.
    pub(super) fn regions(&mut self) -> Regions {
        self.memory.regions().unwrap_or_default()
    }

    /// Drops all pages, so that they are read again.
    pub(super) fn forget(&mut self) {
        self.numbers.fill(0);
    }

    fn page(&mut self, number: u64) -> Option<usize> {
        let slot = number as usize % SLOTS;
        if self.numbers[slot] != number + 1 {
            // A page may come from a slow disk, so each one asks: every loop that reads then ends in time.
            if self.is_over() {
                return None;
            }
            let address = number.checked_mul(PAGE)?;
            let follows = number == self.last + 1;
            self.last = number;
            if follows && self.memory.read(address, &mut self.ahead) {
                for (n, bytes) in self.ahead.chunks(PAGE as usize).enumerate() {
                    let slot = (number as usize + n) % SLOTS;
                    self.pages[slot * PAGE as usize..][..PAGE as usize].copy_from_slice(bytes);
                    self.numbers[slot] = number + n as u64 + 1;
                }
                self.last = number + AHEAD as u64 - 1;
            } else {
                self.numbers[slot] = 0;
                let into = &mut self.pages[slot * PAGE as usize..][..PAGE as usize];
                self.memory.read(address, into).then_some(())?;
                self.numbers[slot] = number + 1;
            }
        }
        Some(slot * PAGE as usize)
    }

    pub(super) fn bytes(&mut self, mut address: u64, into: &mut [u8]) -> Option<()> {
        let mut done = 0;
        while done < into.len() {
            let offset = (address % PAGE) as usize;
            let len = (PAGE as usize - offset).min(into.len() - done);
            let page = self.page(address / PAGE)?;
            into[done..done + len].copy_from_slice(&self.pages[page + offset..][..len]);
            done += len;
            address = address.checked_add(len as u64)?;
        }
        Some(())
    }

    pub(super) fn word(&mut self, address: u64) -> Option<u64> {
        let [word] = self.words(address)?;
        Some(word)
    }

    pub(super) fn words<const N: usize>(&mut self, address: u64) -> Option<[u64; N]> {
        let mut words = [0; N];
        let mut bytes = [0; 64];
        let bytes = &mut bytes[..N * 8];
        self.bytes(address, bytes)?;
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().ok()?);
        }
        Some(words)
    }

    /// Reads a text that ends with NUL, of at most `most` bytes.
    pub(super) fn text(&mut self, address: u64, most: u64) -> Option<String> {
        let mut bytes = Vec::new();
        for n in 0..most {
            let mut byte = [0];
            self.bytes(address.checked_add(n)?, &mut byte)?;
            if byte[0] == 0 {
                break;
            }
            bytes.push(byte[0]);
        }
        String::from_utf8(bytes).ok()
    }
}
