//! `/proc/kallsyms`: the functions of the kernel and of its modules.

use super::parse::{LineBuffer, words};
use crate::model::kernel::Symbol;
use crate::model::{Missing, Reading};

/// The longest line: a name of up to 512 bytes, with an address and a module.
const MAX_LINE: usize = 1024;
/// Maximum offset into a function. An address farther from every symbol is in no function: it may be in a module that
/// was unloaded.
const MAX_OFFSET: u64 = 1 << 20;

/// Finds the functions that contain given addresses, while the file is read in pieces. The file has about 200,000
/// lines; only the matching ones are kept.
#[derive(Debug)]
pub struct Lookup {
    buffer: LineBuffer<MAX_LINE>,
    /// The addresses, ascending.
    addresses: Vec<u64>,
    /// For each address, the last symbol at or before it and after the previous address.
    nearest: Vec<Option<Symbol>>,
    /// True if some symbol has an address. To readers without permission, the kernel reports 0 for all.
    visible: bool,
}

impl Lookup {
    pub fn new(mut addresses: Vec<u64>) -> Self {
        addresses.sort_unstable();
        Self {
            buffer: LineBuffer::default(),
            nearest: vec![None; addresses.len()],
            addresses,
            visible: false,
        }
    }

    pub fn feed(&mut self, piece: &[u8]) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.feed(piece, |line| {
            self.add_line(line);
        });
        self.buffer = buffer;
    }

    /// Returns each address, ascending, with its function. Returns [`Missing::Denied`] if the kernel hides addresses. A
    /// last line without a newline is ignored, since it may be cut.
    pub fn finish(self) -> Reading<Vec<(u64, Option<Symbol>)>> {
        if !self.visible {
            return Err(Missing::Denied);
        }
        let mut nearest = self.nearest;
        // If several addresses are in one function, it was recorded only for the first.
        for at in 1..nearest.len() {
            if nearest[at].is_none() {
                let before = nearest[at - 1].clone();
                nearest[at] = before;
            }
        }
        let near = |address: u64, symbol: &Symbol| address - symbol.address < MAX_OFFSET;
        let pairs = self.addresses.into_iter().zip(nearest);
        Ok(pairs
            .map(|(address, symbol)| (address, symbol.filter(|symbol| near(address, symbol))))
            .collect())
    }

    /// Adds a line, `ffffffff81000000 T name`, which `[module]` may follow.
    fn add_line(&mut self, line: &[u8]) -> Option<()> {
        let mut words = words(line);
        let (digits, _kind, name) = (words.next()?, words.next()?, words.next()?);
        let address = u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        self.visible |= address > 0;
        let at = self.addresses.partition_point(|wanted| *wanted < address);
        let nearest = self.nearest.get_mut(at)?;
        // If a function has several names, use the first, as the kernel does.
        if nearest.as_ref().is_none_or(|other| other.address < address) {
            let module = words
                .next()
                .and_then(|word| word.strip_prefix(b"[")?.strip_suffix(b"]"));
            *nearest = Some(Symbol {
                name: name.into(),
                module: module.map(Into::into),
                address,
            });
        }
        Some(())
    }
}
