//! `/proc/meminfo` and `/proc/vmstat`.

use procfs::prelude::FromBufRead;

use super::Portion;
use crate::model::system::Detail;
use crate::model::{Missing, Reading};
use crate::proc::parse::{kib, number, words};

/// The lines used, in the order in which kernels write them.
const NAMES: [&[u8]; 46] = [
    b"MemTotal",
    b"MemFree",
    b"MemAvailable",
    b"Buffers",
    b"Cached",
    b"SwapCached",
    b"Active(anon)",
    b"Inactive(anon)",
    b"Active(file)",
    b"Inactive(file)",
    b"Unevictable",
    b"Mlocked",
    b"SwapTotal",
    b"SwapFree",
    b"Zswap",
    b"Zswapped",
    b"Dirty",
    b"Writeback",
    b"AnonPages",
    b"Mapped",
    b"Shmem",
    b"KReclaimable",
    b"Slab",
    b"SReclaimable",
    b"SUnreclaim",
    b"KernelStack",
    b"PageTables",
    b"SecPageTables",
    b"Bounce",
    b"WritebackTmp",
    b"CommitLimit",
    b"Committed_AS",
    b"VmallocUsed",
    b"VmallocChunk",
    b"Percpu",
    b"HardwareCorrupted",
    b"AnonHugePages",
    b"ShmemHugePages",
    b"FileHugePages",
    b"Balloon",
    b"GPUActive",
    b"GPUReclaim",
    b"HugePages_Total",
    b"HugePages_Free",
    b"Hugepagesize",
    b"Hugetlb",
];

/// The values of [`NAMES`].
struct Lines([Reading<u64>; NAMES.len()]);

impl Lines {
    /// Reads them in one pass. A line that does not read as it should costs its own figure only; where one is
    /// there twice, the first counts.
    fn read(bytes: &[u8]) -> Self {
        let mut values = [Err(Missing::Unsupported); NAMES.len()];
        let mut next = 0;
        for line in bytes.split(|b| *b == b'\n') {
            let Some(colon) = line.iter().position(|b| *b == b':') else {
                continue;
            };
            // The order hardly ever changes: the one looked for is the next, or a little further on.
            let found = (next..NAMES.len())
                .chain(0..next)
                .find(|at| NAMES[*at] == &line[..colon]);
            let Some(at) = found else { continue };
            next = (at + 1) % NAMES.len();
            if values[at] == Err(Missing::Unsupported) {
                let value = &line[colon + 1..];
                let pages = line.starts_with(b"HugePages_");
                let value = if pages { number(value.trim_ascii()) } else { kib(value) };
                values[at] = value.ok_or(Missing::Malformed);
            }
        }
        Self(values)
    }

    fn get(&self, name: &str) -> Reading<u64> {
        NAMES
            .iter()
            .position(|n| *n == name.as_bytes())
            .map_or(Err(Missing::Unsupported), |at| self.0[at])
    }

    /// The sum of these lines; unknown where one is.
    fn sum(&self, names: &[&str]) -> Reading<u64> {
        let add = |sum: u64, name: &&str| Ok(sum.saturating_add(self.get(name)?));
        names.iter().try_fold(0, add)
    }

    fn huge(&self, count: &str) -> Reading<u64> {
        Ok(self.get(count)?.saturating_mul(self.get("Hugepagesize")?))
    }

    /// See [`Detail::vmalloc`].
    fn vmalloc(&self) -> Reading<u64> {
        match (self.get("VmallocUsed")?, self.get("VmallocChunk").unwrap_or(0)) {
            (used, 0) if used > 0 => Ok(used),
            _ => Err(Missing::Unsupported),
        }
    }

    fn detail(&self) -> Detail {
        let get = |name| self.get(name);
        let lru = [
            "Active(anon)",
            "Inactive(anon)",
            "Active(file)",
            "Inactive(file)",
            "Unevictable",
        ];
        Detail {
            lru: self.sum(&lru),
            mlocked: get("Mlocked"),
            dirty: get("Dirty"),
            writeback: get("Writeback"),
            kreclaimable: get("KReclaimable"),
            sunreclaim: get("SUnreclaim"),
            kernel_stack: get("KernelStack"),
            page_tables: get("PageTables"),
            sec_page_tables: get("SecPageTables"),
            bounce: get("Bounce"),
            writeback_tmp: get("WritebackTmp"),
            vmalloc: self.vmalloc(),
            percpu: get("Percpu"),
            corrupted: get("HardwareCorrupted"),
            gpu: self.sum(&["GPUActive", "GPUReclaim"]),
            balloon: get("Balloon"),
            commit_limit: get("CommitLimit"),
            committed: get("Committed_AS"),
            anon_huge: get("AnonHugePages"),
            shmem_huge: get("ShmemHugePages"),
            file_huge: get("FileHugePages"),
            hugetlb: get("Hugetlb"),
            huge_pool: self.huge("HugePages_Total"),
            huge_free: self.huge("HugePages_Free"),
        }
    }
}

/// The figures of `meminfo`.
pub(super) fn meminfo(bytes: Reading<&[u8]>) -> Portion {
    let lines = match bytes {
        Ok(bytes) => Lines::read(bytes),
        Err(why) => Lines([Err(why); NAMES.len()]),
    };
    Box::new(move |machine| {
        let s = &mut machine.sample;
        let get = |name| lines.get(name);
        s.mem_total = get("MemTotal");
        s.mem_free = get("MemFree");
        s.mem_available = get("MemAvailable");
        s.buffers = get("Buffers");
        s.cached = get("Cached");
        s.shmem = get("Shmem");
        s.anon_pages = get("AnonPages");
        s.mapped = get("Mapped");
        s.slab = get("Slab");
        s.sreclaimable = get("SReclaimable");
        s.swap_total = get("SwapTotal");
        s.swap_free = get("SwapFree");
        s.swap_cached = get("SwapCached");
        s.zswap = get("Zswap");
        s.zswapped = get("Zswapped");
        s.detail = lines.detail();
    })
}

/// Pages swapped in and out since boot, as bytes, and major faults since boot.
pub(super) fn vmstat(bytes: Reading<&[u8]>) -> Portion {
    let page = rustix::param::page_size() as u64;
    let counters: [Reading<u64>; 3] = match bytes {
        Ok(bytes) => {
            let all = procfs::VmStat::from_buf_read(bytes).ok();
            [("pswpin", page), ("pswpout", page), ("pgmajfault", 1)].map(|(name, scale)| {
                // What the crate refuses whole is read a line at a time.
                let value = match &all {
                    Some(all) => all.0.get(name).map(|n| u64::try_from(*n).ok()),
                    None => bytes.split(|b| *b == b'\n').find_map(|line| {
                        let mut words = words(line);
                        (words.next()? == name.as_bytes()).then(|| words.next().and_then(number))
                    }),
                };
                value
                    .ok_or(Missing::Unsupported)?
                    .and_then(|n| n.checked_mul(scale))
                    .ok_or(Missing::Malformed)
            })
        }
        Err(why) => [Err(why); 3],
    };
    Box::new(move |machine| {
        let s = &mut machine.sample;
        [s.pswpin, s.pswpout, s.pgmajfault] = counters;
    })
}
