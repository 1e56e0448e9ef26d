//! `/proc/kallsyms`: the functions of the kernel and of its modules.

use super::parse::{LineBuffer, words};
use crate::model::callers::Symbol;
use crate::model::{Missing, Reading};

/// The longest line: the kernel's names have up to 512 bytes, beside an address and a module.
const MAX_LINE: usize = 1024;
/// The largest offset into a function: an address farther from any symbol is in none, such as one of a module that has
/// been unloaded.
const MAX_OFFSET: u64 = 1 << 20;

/// Finds the functions in which some addresses are, while the file is read in pieces: it has some 200,000 lines, and only
/// those few that are wanted are kept.
#[derive(Debug)]
pub struct Lookup {
    lines: LineBuffer<MAX_LINE>,
    found: Found,
}

/// The nearest symbols so far.
#[derive(Debug)]
struct Found {
    /// The addresses, ascending.
    addresses: Vec<u64>,
    /// The last symbol between the address before and each of them.
    nearest: Vec<Option<Symbol>>,
    /// Some symbol has an address: to who may not see them the kernel says 0 for all.
    visible: bool,
}

impl Lookup {
    /// Looks for the functions of these addresses.
    pub fn new(mut addresses: Vec<u64>) -> Self {
        addresses.sort_unstable();
        Self {
            lines: LineBuffer::default(),
            found: Found {
                nearest: vec![None; addresses.len()],
                addresses,
                visible: false,
            },
        }
    }

    /// Takes in the next piece of the file.
    pub fn feed(&mut self, piece: &[u8]) {
        let found = &mut self.found;
        self.lines.feed(piece, |line| {
            found.line(line);
        });
    }

    /// Returns each address, ascending, with its function. [`Missing::Denied`] if the kernel hides where they are. A last
    /// line that no newline ends is not believed.
    pub fn finish(self) -> Reading<Vec<(u64, Option<Symbol>)>> {
        let Found {
            addresses,
            mut nearest,
            visible,
        } = self.found;
        if !visible {
            return Err(Missing::Denied);
        }
        // A function that several addresses are in was noted at the first.
        for at in 1..nearest.len() {
            if nearest[at].is_none() {
                let before = nearest[at - 1].clone();
                nearest[at] = before;
            }
        }
        let near = |address: u64, symbol: &Symbol| address - symbol.address < MAX_OFFSET;
        let pairs = addresses.into_iter().zip(nearest);
        Ok(pairs
            .map(|(address, symbol)| (address, symbol.filter(|symbol| near(address, symbol))))
            .collect())
    }
}

impl Found {
    /// Takes in a line, `ffffffff81000000 T name` and perhaps `[module]`.
    fn line(&mut self, line: &[u8]) -> Option<()> {
        let mut words = words(line);
        let (digits, _kind, name) = (words.next()?, words.next()?, words.next()?);
        let address = u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        self.visible |= address > 0;
        let at = self.addresses.partition_point(|wanted| *wanted < address);
        let nearest = self.nearest.get_mut(at)?;
        // Of several names for one function the first is taken, as the kernel does.
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
