//! Reads the kernel's own memory: the slab caches, the system sums to compare them with, and the allocation sites.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::Options;
use super::pool::{Pool, Priority, Work, Worker};
use crate::model::kernel::{AllocSites, SlabCaches};
use crate::model::{Missing, Reading, SystemSample};
use crate::proc::files::{self, Roots};
use crate::proc::kernel as proc_kernel;
use crate::proc::system::{Machine, MachineUpdate, SystemFile};

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

/// A file to read. Each is a job of its own, so that a blocked read costs only its own figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum File {
    Slabinfo,
    Allocinfo,
    Meminfo,
}

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
        // A high estimate, so that each file gets its own thread.
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

/// Reads the slab caches. Of those that are not in `kinds` yet, also reads whether they are reclaimable.
pub(super) fn read_slabinfo(roots: &Roots, kinds: &mut SlabKinds) -> Reading<SlabCaches> {
    let path = roots.proc.join("slabinfo");
    let mut buf = vec![0; MAX_SLABINFO];
    let bytes = files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf).map_err(files::optional_reason)?;
    let mut found = proc_kernel::slabinfo(bytes, rustix::param::page_size() as u64)?;
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

/// The known slab caches, and whether each is reclaimable, which never changes.
#[derive(Debug, Default)]
pub(super) struct SlabKinds(HashMap<Box<[u8]>, Option<bool>>);

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

/// Returns the content of a file that could not be read.
fn missing(file: File, why: Missing) -> Content {
    match file {
        File::Slabinfo => Content::Slabinfo(Err(why)),
        File::Allocinfo => Content::Allocinfo(Err(why)),
        File::Meminfo => Content::Meminfo(SystemFile::Meminfo.parse(Err(why))),
    }
}

/// Reads the allocation sites. Blocks for no longer than the deadline.
pub fn sites(options: &Options) -> Reading<AllocSites> {
    let mut sites = Err(Missing::TimedOut);
    let pool = Pool::new(options, 1, options.roots());
    pool.submit([Job(File::Allocinfo)]);
    // The closure never breaks.
    let _ = pool.collect(options.deadline, missing, |content| {
        if let Content::Allocinfo(read) = content {
            sites = read;
        }
        ControlFlow::Continue(())
    });
    sites
}

/// Reads the slab caches. Blocks for no longer than the deadline. A read that has not returned by then yields
/// [`Missing::TimedOut`], and its thread is left behind.
pub fn slab(options: &Options) -> SlabReading {
    let mut machine = Machine::default();
    let mut caches = Err(Missing::TimedOut);
    let jobs = [File::Slabinfo, File::Meminfo];
    let pool = Pool::new(options, jobs.len(), options.roots());
    pool.submit(jobs.map(Job));
    // The closure never breaks.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum KernelFile {
    Slab,
    Sites,
}

pub(super) enum KernelJob {
    /// With the known kinds of caches.
    Slab(SlabKinds),
    Sites,
}

pub(super) enum KernelTable {
    Slab(Reading<SlabCaches>, SlabKinds),
    Sites(Reading<AllocSites>),
}

impl KernelJob {
    pub(super) const fn file(&self) -> KernelFile {
        match self {
            Self::Slab(_) => KernelFile::Slab,
            Self::Sites => KernelFile::Sites,
        }
    }

    pub(super) fn run(self, roots: &Roots) -> KernelTable {
        match self {
            Self::Slab(mut kinds) => {
                let found = read_slabinfo(roots, &mut kinds);
                KernelTable::Slab(found, kinds)
            }
            Self::Sites => KernelTable::Sites(read_allocinfo(roots)),
        }
    }
}
