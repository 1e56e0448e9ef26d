//! The parts of the machine's RAM. Each page is in exactly one of them.

use crate::account::{Bound, Part, PartKind, ProcessTotals, less, sum_of};
use crate::model::Reading;
use crate::model::system::{AccountingInputs, SystemSample};

/// Makes a part. Its id must be in the registry: else this does not compile.
macro_rules! part {
    ($id:literal, $bytes:expr) => {{
        const KIND: &PartKind = PartKind::named($id);
        Part::new(KIND, KIND.help, $bytes)
    }};
}

pub(super) fn parts(s: &SystemSample, inputs: &AccountingInputs, processes: &ProcessTotals) -> Vec<Part> {
    let files = less(s.cached, s.shmem);
    // `Mapped` includes shared memory; only the processes show how much of that is mapped.
    let mapped = less(s.mapped, processes.pss_shmem).and_then(|m| Ok(m.min(files?)));
    let partial = |bound| processes.hidden.map(|_| bound);
    let pools = sum_of(&inputs.huge, |pool| pool.total);
    let unused_pools = sum_of(&inputs.huge, |pool| pool.free);
    vec![
        part!("anon", s.anon_pages).with([part!("anon_huge", s.anon_huge)]),
        part!("swap_cache", swap_cache(s)),
        part!("files", files).with([
            part!("files_mapped", mapped).bound(partial(Bound::AtMost)),
            part!("files_unmapped", less(files, mapped)).bound(partial(Bound::AtLeast)),
        ]),
        part!("shmem", s.shmem).with([part!("shmem_sysv", inputs.sysv.map(|sysv| sysv.resident))]),
        part!("buffers", s.buffers),
        part!("slab_reclaimable", s.sreclaimable),
        part!(
            "slab_unreclaimable",
            s.sunreclaim.or_else(|_| less(s.slab, s.sreclaimable))
        ),
        part!("kernel_reclaimable", less(s.kreclaimable, s.sreclaimable)),
        part!("kernel_stacks", s.kernel_stack),
        part!("page_tables", s.page_tables),
        part!("sec_page_tables", s.sec_page_tables),
        part!("percpu", s.percpu),
        part!("vmalloc", less(s.vmalloc, s.kernel_stack)),
        part!("gpu", s.gpu).with([part!("gpu_reclaim", s.gpu_reclaim)]),
        part!("arc", s.arc()).with([part!("arc_reclaimable", s.arc_reclaimable())]),
        part!("bounce", s.bounce),
        part!("writeback_tmp", s.writeback_tmp),
        part!("hugetlb", s.hugetlb.or(pools).or(s.huge_pool))
            .with([part!("hugetlb_free", unused_pools.or(s.huge_free))]),
        part!("zram", sum_of(&inputs.zram, |device| device.used)),
        part!("zswap", s.zswap),
        part!("corrupted", s.corrupted),
        part!("free", s.mem_free),
        part!("free_lists", inputs.zones.map(|z| z.free_lists)),
    ]
}

/// Returns the pages in the swap cache that no process maps, at most `SwapCached`. The reclaim lists hold each page
/// once: these are their pages that are neither mapped anonymous memory nor page cache.
pub(super) fn swap_cache(s: &SystemSample) -> Reading<u64> {
    let cached = s.swap_cached?;
    if cached == 0 {
        return Ok(0);
    }
    let others = s.anon_pages?.saturating_add(s.cached?).saturating_add(s.buffers?);
    Ok(s.lru?.saturating_sub(others).min(cached))
}
