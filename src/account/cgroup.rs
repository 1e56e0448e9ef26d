//! The parts of the memory of a cgroup that stands in for the machine.
//!
//! All parts except free memory and the memory of other cgroups below the same limit sum to `memory.current`, with a
//! rest: the kernel charges for each CPU in advance, and updates some figures later than others.

use crate::account::arithmetic::{less, saturated};
use crate::account::part::Part;
use crate::account::{Account, parts};
use crate::model::Missing;
use crate::model::system::{Scope, SystemSample};

/// The source and formula of the unaccounted rest.
const REST: &str = "Memory charged that no counter shows: charged in advance for each processor, or changed while the figures \
     were read. Formula: memory.current − Σ of all parts that are in it.";

/// Divides a cgroup's memory into parts, up to its limit (hard or soft). Without a limit, divides the charged memory.
pub(super) fn account(s: &SystemSample, scope: &Scope) -> Account {
    let ceiling = scope.ceiling();
    // Kernels differ in the figures they have. `kernel` includes everything that has no figure of its own.
    let mut charged = charged(s, scope);
    charged.retain(|part| part.bytes != Err(Missing::Unsupported));
    let known: i128 = charged.iter().filter_map(|p| p.bytes.ok()).map(i128::from).sum();
    let rest = scope.current.map(|current| saturated(i128::from(current) - known));
    let mut parts = charged;
    if !matches!(ceiling, Ok(None)) {
        let limit = ceiling.map(Option::unwrap_or_default);
        parts.extend([
            Part::new(
                "limit_others",
                "taken by others below the same limit",
                less(less(limit, scope.current), scope.free),
                "What other cgroups take of the limit of one above this one. Formula: limit − free − memory.current.",
            ),
            Part::new(
                "free",
                "free below the limit",
                scope.free,
                "What may still be charged without anything being reclaimed. Formula: the least of memory.max − memory.current \
                 of this cgroup and those above it.",
            ),
        ]);
    }
    let (total, total_title) = match ceiling {
        Ok(None) => (scope.current, "charged to the cgroup"),
        Ok(Some(limit)) if scope.limit == Ok(Some(limit)) => (Ok(limit), "the limit"),
        other => (other.map(Option::unwrap_or_default), "the soft limit"),
    };
    Account {
        total,
        total_title,
        parts,
        rest,
        rest_help: REST,
        reserved: Err(Missing::Unsupported),
    }
}

/// Returns the memory charged to the cgroup.
fn charged(s: &SystemSample, scope: &Scope) -> Vec<Part> {
    [user(s), kernel(s, scope)].concat()
}

/// Returns the memory of processes and files.
fn user(s: &SystemSample) -> Vec<Part> {
    let files = less(s.cached, s.shmem);
    let mapped = s.mapped.and_then(|mapped| Ok(mapped.min(files?)));
    vec![
        Part::new(
            "anon",
            "anonymous memory of processes",
            s.anon_pages,
            "Heaps, stacks and private memory that processes map. Kernel: anon in memory.stat; rss in v1.",
        )
        .with([Part::new(
            "anon_huge",
            "in huge pages",
            s.anon_huge,
            "The part of it in transparent huge pages. Kernel: anon_thp in memory.stat; rss_huge in v1.",
        )]),
        Part::new(
            "swap_cache",
            "swap cache beside it",
            parts::swap_cache(s),
            "Pages read back from swap, or on their way there, that no process maps. Formula: active and inactive (anon and file) \
             + unevictable − anon − (file − swapcached) of memory.stat, at most swapcached.",
        ),
        Part::new(
            "files",
            "file cache",
            files,
            "Pages of files, given back when memory is needed once they are written. Formula: file − swapcached − shmem of \
             memory.stat; cache − swapcached − shmem in v1.",
        )
        .with([
            Part::new(
                "files_mapped",
                "mapped by processes",
                mapped,
                "The part that processes map; of shared memory, too. Formula: file_mapped of memory.stat, at most the file cache.",
            ),
            Part::new(
                "files_unmapped",
                "not mapped",
                less(files, mapped),
                "The rest of the file cache: files read or written. Formula: file cache − mapped by processes.",
            ),
        ]),
        Part::new(
            "shmem",
            "shared memory and tmpfs",
            s.shmem,
            "Files in tmpfs, memfd, System V and shared anonymous memory. Kernel: shmem in memory.stat.",
        ),
    ]
}

/// Returns the kernel's memory and reserved memory.
fn kernel(s: &SystemSample, scope: &Scope) -> Vec<Part> {
    vec![
        Part::new(
            "slab_reclaimable",
            "slab, reclaimable",
            s.sreclaimable,
            "The kernel's caches that it shrinks when memory is needed: dentries, inodes. Kernel: slab_reclaimable in memory.stat.",
        ),
        Part::new(
            "slab_unreclaimable",
            "slab, unreclaimable",
            s.sunreclaim,
            "The kernel's other objects. Kernel: slab_unreclaimable in memory.stat.",
        ),
        Part::new(
            "kernel_stacks",
            "kernel stacks",
            s.kernel_stack,
            "A stack for each thread. Kernel: kernel_stack in memory.stat.",
        ),
        Part::new(
            "page_tables",
            "page tables",
            s.page_tables,
            "Tables that map the memory of processes. Kernel: pagetables in memory.stat.",
        ),
        Part::new(
            "sec_page_tables",
            "page tables of guests and devices",
            s.sec_page_tables,
            "Page tables of virtual machines and of an IOMMU. Kernel: sec_pagetables in memory.stat.",
        ),
        Part::new(
            "percpu",
            "per-processor memory",
            s.percpu,
            "Memory that each processor has a copy of: counters, BPF maps. Kernel: percpu in memory.stat.",
        ),
        Part::new(
            "vmalloc",
            "vmalloc: modules, BPF, tables",
            less(s.vmalloc, s.kernel_stack),
            "Larger tables of the kernel, BPF programs and maps. Kernel: vmalloc in memory.stat.",
        ),
        Part::new(
            "zswap",
            "zswap, compressed",
            s.zswap,
            "RAM that holds compressed pages before they go to swap. Kernel: zswap in memory.stat.",
        ),
        Part::new(
            "kernel",
            "other kernel memory",
            scope.kernel,
            "Kernel memory without a figure of its own: pipes, memory charged in advance; in v1 all kernel memory. Formula: \
             kernel − the parts of it above, of memory.stat. Kernel: memory.kmem.usage_in_bytes in v1.",
        ),
        Part::new(
            "sockets",
            "buffers of sockets",
            scope.sockets,
            "Data that was received and not read, or sent and not acknowledged. Kernel: sock in memory.stat.",
        ),
        Part::new(
            "hugetlb",
            "huge page pools",
            scope.hugetlb,
            "Huge pages in use, where they are charged. Kernel: hugetlb in memory.stat.",
        ),
    ]
}
