//! Reads the kernel's own figures: its slab caches, the sums of the system beside them, and its allocation sites.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::Options;
use super::pool::{Pool, Priority, Work, Worker};
use crate::model::allocinfo::AllocSites;
use crate::model::slab::SlabCaches;
use crate::model::{Missing, Reading, SystemSample};
use crate::proc::files::{self, Roots};
use crate::proc::system::{Machine, MachineUpdate, SystemFile};
use crate::proc::{allocinfo, slabinfo};

/// Maximum size of `slabinfo`, in bytes: some 16,000 caches. A line that is cut off is counted as malformed.
const MAX_SLABINFO: usize = 2 << 20;

/// Maximum size of `allocinfo`, in bytes: some 80,000 lines of source.
const MAX_ALLOCINFO: usize = 8 << 20;

/// The slab caches, and the figures of the system that their sum is compared with.
#[derive(Clone, Debug)]
pub struct SlabReading {
    /// The caches; all but root may not read them.
    pub caches: Reading<SlabCaches>,
    /// The system, of which nothing but `meminfo` was read.
    pub system: SystemSample,
}

/// A file to read; each for itself, so that one that never returns costs its own figures only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum File {
    Slabinfo,
    Allocinfo,
    Meminfo,
}

/// The content of a file.
enum Content {
    Slabinfo(Reading<SlabCaches>),
    Allocinfo(Reading<AllocSites>),
    Meminfo(MachineUpdate),
}

struct Job(File);

impl Work for Job {
    type Context = Roots;
    type Key = File;
    type Output = Content;

    fn key(&self) -> File {
        self.0
    }

    fn profile(&self) -> (Priority, Duration) {
        // Enough to give each file a thread.
        (Priority::Urgent, Duration::from_millis(5))
    }

    fn run(self, roots: &Roots, buf: &mut [u8], _: &Worker<'_, Self>) -> Content {
        match self.0 {
            File::Slabinfo => Content::Slabinfo(read_slabinfo(roots, &mut SlabKinds::default())),
            File::Allocinfo => Content::Allocinfo(read_allocinfo(roots)),
            File::Meminfo => Content::Meminfo(SystemFile::Meminfo.read(roots, buf)),
        }
    }
}

/// Reads the slab caches; which of them are reclaimable is read of those that are not in `kinds` yet.
pub(super) fn read_slabinfo(roots: &Roots, kinds: &mut SlabKinds) -> Reading<SlabCaches> {
    let path = roots.proc.join("slabinfo");
    let mut buf = vec![0; MAX_SLABINFO];
    let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf).map_err(files::optional_reason)?;
    let mut found = slabinfo::parse(bytes, rustix::param::page_size() as u64)?;
    for cache in &mut found.caches {
        let known = kinds.0.get(&cache.name).copied();
        cache.reclaimable = known.unwrap_or_else(|| is_reclaimable(roots, &cache.name));
    }
    kinds.0.clear();
    let caches = found.caches.iter();
    kinds
        .0
        .extend(caches.map(|cache| (cache.name.clone(), cache.reclaimable)));
    Ok(found)
}

/// The slab caches that were read before, and which of them are reclaimable: that never changes.
#[derive(Debug, Default)]
pub(super) struct SlabKinds(HashMap<Box<[u8]>, Option<bool>>);

/// Returns true if the kernel takes the objects of that cache back when memory is needed, as sysfs tells.
fn is_reclaimable(roots: &Roots, name: &[u8]) -> Option<bool> {
    // A module chooses it, and it is not to lead elsewhere.
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

/// Reads the allocation sites.
pub(super) fn read_allocinfo(roots: &Roots) -> Reading<AllocSites> {
    let path = roots.proc.join("allocinfo");
    let mut buf = vec![0; MAX_ALLOCINFO];
    let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf).map_err(files::optional_reason)?;
    let mut found = allocinfo::parse(bytes)?;
    let switch = roots.proc.join("sys/vm/mem_profiling");
    let state = files::slurp(switch.as_os_str().as_encoded_bytes(), &mut buf);
    found.running = state.map_or(true, |state| !state.starts_with(b"0"));
    Ok(found)
}

/// Returns what a file's content is where it could not be read.
fn missing(file: File, why: Missing) -> Content {
    match file {
        File::Slabinfo => Content::Slabinfo(Err(why)),
        File::Allocinfo => Content::Allocinfo(Err(why)),
        File::Meminfo => Content::Meminfo(SystemFile::Meminfo.parse(Err(why))),
    }
}

/// Reads the allocation sites, and blocks the caller no longer than the deadline.
pub fn sites(options: &Options) -> Reading<AllocSites> {
    let mut sites = Err(Missing::TimedOut);
    let pool = Pool::new(options, 1, options.roots());
    pool.submit([Job(File::Allocinfo)]);
    // It is never broken off.
    let _ = pool.collect(options.deadline, missing, |content| {
        if let Content::Allocinfo(read) = content {
            sites = read;
        }
        ControlFlow::Continue(())
    });
    sites
}

/// Reads the slab caches, and blocks the caller no longer than the deadline: what has not come by then is
/// [`Missing::TimedOut`], and its thread is left behind.
pub fn slab(options: &Options) -> SlabReading {
    let mut machine = Machine::default();
    let mut caches = Err(Missing::TimedOut);
    let jobs = [File::Slabinfo, File::Meminfo];
    let pool = Pool::new(options, jobs.len(), options.roots());
    pool.submit(jobs.map(Job));
    // It is never broken off.
    let _ = pool.collect(options.deadline, missing, |content| {
        match content {
            Content::Slabinfo(read) => caches = read,
            Content::Meminfo(update) => update(&mut machine),
            Content::Allocinfo(_) => {}
        }
        ControlFlow::Continue(())
    });
    SlabReading {
        caches,
        system: machine.sample,
    }
}
