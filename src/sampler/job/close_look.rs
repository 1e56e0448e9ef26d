//! Reads the counters of a Java virtual machine, or the address space limit of a process.

use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::ReaderContext;
use crate::model::snapshot::JvmHeap;
use crate::model::{Identity, Missing, Reading};
use crate::proc::{files, hsperfdata, pid};

/// Maximum number of bytes of `maps` that are searched: some 50,000 areas.
const MAX_MAPS: usize = 8 << 20;

pub(in crate::sampler) struct CloseLook {
    pub(in crate::sampler) id: Identity,
    pub(in crate::sampler) reads: CloseRead,
}

/// What to read of a process.
pub(in crate::sampler) enum CloseRead {
    /// The counters of a Java virtual machine, mapped under this name. If it is `None`, the name is searched for.
    Jvm(Option<Arc<[u8]>>),
    AddressSpaceLimit,
}

pub(in crate::sampler) enum CloseResult {
    Jvm {
        mapping: Option<Arc<[u8]>>,
        heap: Reading<JvmHeap>,
    },
    AddressSpaceLimit(Reading<Option<u64>>),
}

/// Performs the read. Fails if the process was replaced by another one.
pub(super) fn look(look: CloseLook, context: &ReaderContext, buf: &mut [u8]) -> (Identity, CloseResult) {
    let (id, proc) = (look.id, context.roots.proc.as_path());
    let result = match look.reads {
        CloseRead::Jvm(known) => {
            let mapping = known.or_else(|| find(proc, id.pid));
            let heap = mapping.as_deref().ok_or(Missing::Unsupported);
            let heap = heap.and_then(|mapping| hsperfdata::read(proc, id.pid, mapping));
            CloseResult::Jvm {
                heap: heap.and_then(|heap| {
                    is_same(proc, id, context.page, buf)
                        .then_some(heap)
                        .ok_or(Missing::Gone)
                }),
                mapping,
            }
        }
        CloseRead::AddressSpaceLimit => {
            let limits = files::slurp(&path(proc, id.pid, "limits"), buf).map_err(files::reason);
            let limit = limits.and_then(pid::address_space_limit);
            let is_same = is_same(proc, id, context.page, buf);
            CloseResult::AddressSpaceLimit(limit.and_then(|limit| is_same.then_some(limit).ok_or(Missing::Gone)))
        }
    };
    (id, result)
}

fn path(proc: &Path, pid: u32, name: &str) -> Vec<u8> {
    let path = proc.join(pid.to_string()).join(name);
    path.into_os_string().into_encoded_bytes()
}

/// Returns true if the process with that pid still has that identity.
fn is_same(proc: &Path, id: Identity, page: u64, buf: &mut [u8]) -> bool {
    let read = files::slurp(&path(proc, id.pid, "stat"), buf);
    read.is_ok_and(|bytes| pid::stat(bytes, page).is_ok_and(|glance| glance.starttime == id.starttime))
}

/// Returns the name under which a process maps the counters of a Java virtual machine.
fn find(proc: &Path, pid: u32) -> Option<Arc<[u8]>> {
    let read = || -> Result<Vec<u8>, Errno> {
        let fd = files::open(&path(proc, pid, "maps"))?;
        let mut all = vec![0; 64 << 10];
        let mut len = 0;
        loop {
            len += files::read_all(&fd, &mut all[len..])?;
            if len < all.len() || len >= MAX_MAPS {
                break;
            }
            all.resize(2 * len, 0);
        }
        all.truncate(len);
        Ok(all)
    };
    let maps = read().ok()?;
    hsperfdata::find(&maps).map(Arc::from)
}
