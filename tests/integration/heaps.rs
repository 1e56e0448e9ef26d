//! What glibc holds for a process: heaps made in memory, hostile ones among them, and real programs that count themselves.

mod jemalloc;
mod live;
mod made;
mod mallocng;
mod mimalloc;
mod tcmalloc;
mod words;

use std::collections::BTreeMap;

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
}

fn region(start: u64, len: u64, kind: RegionKind) -> Region {
    let end = start + len;
    Region { start, end, kind }
}
