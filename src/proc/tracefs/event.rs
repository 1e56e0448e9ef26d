//! The events of the kernel's allocator: memory taken at a call site, and given back.

use super::format::{Field, Format, FormatError};

/// The events by their names below `events/kmem`, and which are memory taken. Kernels before 6.1 have those with a node
/// apart.
pub const EVENTS: [(&str, bool); 6] = [
    ("kfree", false),
    ("kmem_cache_free", false),
    ("kmalloc", true),
    ("kmalloc_node", true),
    ("kmem_cache_alloc", true),
    ("kmem_cache_alloc_node", true),
];

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Memory was taken.
    Alloc {
        /// The address of the instruction behind the call.
        site: u64,
        /// The address of the memory; 0 if there was none left.
        pointer: u64,
        /// Bytes asked for.
        requested: u64,
        /// Bytes taken.
        allocated: u64,
        /// The thread that asked for it, by its number in the first PID namespace; `None` in an interrupt, which is not of
        /// the thread that it came upon.
        by: Option<u32>,
    },
    /// The memory at this address was given back.
    Free {
        /// The address; 0 where there was none to give back.
        pointer: u64,
    },
}

/// The fields of one kind of events.
#[derive(Clone, Copy, Debug)]
enum Fields {
    Alloc {
        site: Field,
        pointer: Field,
        requested: Field,
        allocated: Field,
        /// `common_pid` and `common_flags`.
        context: Option<(Field, Field)>,
    },
    Free {
        pointer: Field,
    },
}

/// The flags of an event in an interrupt, `TRACE_FLAG_HARDIRQ` and `TRACE_FLAG_SOFTIRQ` of `include/linux/trace_events.h`.
const INTERRUPT: u64 = 0x08 | 0x10;

/// Reads events by the formats of the running kernel.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// Each kind's number, where a record names it, and its fields.
    kinds: Vec<(u16, Field, Fields)>,
}

impl Decoder {
    /// Takes in the `format` file of a kind of events; memory is `taken` by it, or else given back.
    pub fn add(&mut self, taken: bool, file: &[u8]) -> Result<(), FormatError> {
        let format = Format::parse(file);
        let kind = format.number("common_type")?;
        let fields = if taken {
            Fields::Alloc {
                site: format.number("call_site")?,
                pointer: format.number("ptr")?,
                requested: format.number("bytes_req")?,
                allocated: format.number("bytes_alloc")?,
                context: format.number("common_pid").ok().zip(format.number("common_flags").ok()),
            }
        } else {
            Fields::Free {
                pointer: format.number("ptr")?,
            }
        };
        self.kinds.push((format.id()?, kind, fields));
        Ok(())
    }

    /// Returns the event that a record holds; `None` for one of another kind, or too short.
    pub fn decode(&self, payload: &[u8]) -> Option<Event> {
        let is_of = |(id, kind, _): &&(u16, Field, Fields)| kind.get(payload) == Some(u64::from(*id));
        let (_, _, fields) = self.kinds.iter().find(is_of)?;
        Some(match fields {
            Fields::Alloc {
                site,
                pointer,
                requested,
                allocated,
                context,
            } => Event::Alloc {
                site: site.get(payload)?,
                pointer: pointer.get(payload)?,
                requested: requested.get(payload)?,
                allocated: allocated.get(payload)?,
                by: context.and_then(|(thread, flags)| {
                    let is_interrupt = flags.get(payload)? & INTERRUPT != 0;
                    thread.get(payload).filter(|_| !is_interrupt)?.try_into().ok()
                }),
            },
            Fields::Free { pointer } => Event::Free {
                pointer: pointer.get(payload)?,
            },
        })
    }
}
