//! Reads the kernel's own memory: the slab caches, the system sums to compare them with, and the allocation sites.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::Options;
use super::reading::pool::{Job, Pool, Priority};
use crate::model::kernel::{AllocSites, SlabCaches};
use crate::model::{Missing, Reading, SystemSample};
use crate::proc::files::{self, Roots};
use crate::proc::kernel as proc_kernel;
use crate::proc::system::{Machine, SystemFile};

/// Maximum size of `slabinfo`, in bytes: some 16,000 caches. A truncated line counts as malformed.
const MAX_SLABINFO: usize = 2 << 20;

/// Maximum size of `allocinfo`, in bytes: some 80,000 source lines.
const MAX_ALLOCINFO: usize = 8 << 20;

/// The slab caches, and the system figures to compare their sum with.
#[derive(Clone, Debug)]
pub struct SlabReading {
    /// The caches. Only root can read them.
    pub caches: Reading<SlabCaches>,
    /// The system figures, read from `meminfo` alone.
    pub system: SystemSample,
}

/// Reads the slab caches. Of those that are not in `kinds` yet, also reads whether they are reclaimable.
pub(super) fn read_slabinfo(roots: &Roots, kinds: &mut SlabKinds) -> Reading<SlabCaches> {
    let path = roots.proc.join("slabinfo");
    let mut buf = vec![0; MAX_SLABINFO];
    let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf).map_err(files::optional_reason)?;
    let mut found = proc_kernel::slabinfo(bytes, rustix::param::page_size() as u64)?;
    for cache in &mut found.caches {
        let known = kinds.get(&cache.name).copied();
        cache.reclaimable = known.unwrap_or_else(|| is_reclaimable(roots, &cache.name));
    }
    kinds.clear();
    let caches = found.caches.iter();
    kinds.extend(caches.map(|cache| (cache.name.clone(), cache.reclaimable)));
    Ok(found)
}

/// The known slab caches, and whether each is reclaimable, which never changes.
pub(super) type SlabKinds = HashMap<Box<[u8]>, Option<bool>>;

/// Returns true if the kernel can reclaim the objects of that cache, according to sysfs; `None` if unknown.
fn is_reclaimable(roots: &Roots, name: &[u8]) -> Option<bool> {
    // A kernel module chooses the name, which must not lead out of the directory.
    if name.contains(&b'/') || name.starts_with(b".") {
        return None;
    }
    let directory = roots.sys.as_ref()?.join("kernel/slab").join(OsStr::from_bytes(name));
    let mut buf = [0; 8];
    let path = directory.join("reclaim_account");
    match files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf)
        .ok()?
        .first()?
    {
        b'0' => Some(false),
        b'1' => Some(true),
        _ => None,
    }
}

pub(super) fn read_allocinfo(roots: &Roots) -> Reading<AllocSites> {
    let path = roots.proc.join("allocinfo");
    let mut buf = vec![0; MAX_ALLOCINFO];
    let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf).map_err(files::optional_reason)?;
    let mut found = proc_kernel::allocinfo(bytes)?;
    let switch = roots.proc.join("sys/vm/mem_profiling");
    let state = files::slurp(switch.as_os_str().as_encoded_bytes(), &mut buf);
    found.running = state.map_or(true, |state| !state.starts_with(b"0"));
    Ok(found)
}

/// Starts a read on its own thread, so that it does not block other reads. The returned function waits for the result, at most
/// for the deadline.
fn start<T: Send + 'static>(
    options: &Options,
    read: impl Fn(&Roots, &mut [u8]) -> T + Send + Sync + 'static,
) -> impl FnOnce() -> Reading<T> {
    let (roots, deadline) = (options.roots(), options.deadline);
    let pool = Pool::new(options, 1, move |(), reader| Ok(read(&roots, reader.buf)));
    pool.submit([Job::new((), Priority::Urgent, Duration::from_millis(5), ())]);
    move || {
        let mut found = Err(Missing::TimedOut);
        // The closure never breaks.
        let _ = pool.collect(
            deadline,
            |(), why| Err(why),
            |read| {
                found = read;
                ControlFlow::Continue(())
            },
        );
        found
    }
}

/// Reads the allocation sites. Blocks for no longer than the deadline.
pub fn sites(options: &Options) -> Reading<AllocSites> {
    start(options, |roots, _| read_allocinfo(roots))()?
}

/// Reads the slab caches. Blocks for no longer than the deadline. A read that has not returned by then yields
/// [`Missing::TimedOut`], and its thread is left behind.
pub fn slab(options: &Options) -> SlabReading {
    let caches = start(options, |roots, _| read_slabinfo(roots, &mut SlabKinds::default()));
    let system = meminfo(options);
    SlabReading {
        caches: caches().and_then(|read| read),
        system,
    }
}

/// Reads `meminfo` alone. Blocks for no longer than the deadline.
pub(super) fn meminfo(options: &Options) -> SystemSample {
    let meminfo = start(options, |roots, buf| SystemFile::Meminfo.read(roots, buf));
    let mut machine = Machine::default();
    meminfo().unwrap_or_else(|why| SystemFile::Meminfo.parse(Err(why)))(&mut machine);
    machine.sample
}
