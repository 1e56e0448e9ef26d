//! What glibc holds for a process: heaps made in memory, hostile ones among them, and real programs that count themselves.

mod jemalloc;
mod live;
mod made;
mod mallocng;
mod words;

use zmtop::heap::{Placed, State};
use zmtop::output::heap::HeapReport;
use zmtop::output::{Format, OutputStyle, write};

/// Writes a document of each kind.
pub(crate) fn documents() -> Vec<String> {
    let mut known = words::state(words::HOARD);
    let mut unknown = known.clone();
    unknown.memory = Ok(Placed::default());
    unknown.heap = Err(zmtop::heap::Unknown::Moving);
    known.others.push(zmtop::heap::kinds::Kind::Python);
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
