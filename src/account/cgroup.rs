//! The accounts of a cgroup: one of a cgroup that stands in for the machine, and one that explains why a cgroup has more
//! memory than its processes.
//!
//! All parts except free memory and the memory of other cgroups below the same limit sum to `memory.current`, with a
//! rest: the kernel charges for each CPU in advance, and updates some figures later than others.

use crate::account::{Account, Bound, Part, PartKind, ProcessTotals, REST, less, rest, sum, swap_cache};
use crate::model::reading::{Missing, Reading};
use crate::model::system::{Scope, SystemSample};

/// Creates a part. Its id must be in the registry, or this does not compile.
macro_rules! part {
    ($id:literal, $bytes:expr) => {{
        const KIND: &PartKind = PartKind::named($id);
        Part::new(KIND, KIND.cgroup_help, $bytes)
    }};
}

/// Divides a cgroup's memory into parts, up to its limit (hard or soft). Without a limit, divides the charged memory.
pub(super) fn account(s: &SystemSample, scope: &Scope) -> Account {
    let ceiling = scope.ceiling();
    let mut parts = charged(s, scope);
    // Kernels differ in the figures they have. `kernel` includes everything that has no figure of its own.
    parts.retain(|part| part.bytes != Err(Missing::Unsupported));
    let rest = rest(scope.current, &parts);
    if !matches!(ceiling, Ok(None)) {
        let limit = ceiling.map(Option::unwrap_or_default);
        parts.push(part!("limit_others", less(less(limit, scope.current), scope.free)));
        parts.push(Part {
            title: "free below the limit",
            ..part!("free", scope.free)
        });
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
        rest_help: const { PartKind::named(REST).cgroup_help },
        reserved: Err(Missing::Unsupported),
    }
}

/// Divides the memory charged to a cgroup into the memory of its processes and the rest. Returns `None` for a machine.
pub fn explained(s: &SystemSample, processes: &ProcessTotals) -> Option<Account> {
    let scope = s.scope.as_deref()?;
    let mut parts = of_processes(s, processes);
    parts.push(part!("swap_cache", swap_cache(s)));
    parts.extend(of_kernel(s, scope));
    parts.retain(|part| part.bytes != Err(Missing::Unsupported));
    Some(Account {
        total: scope.current,
        total_title: "charged to the cgroup",
        rest: rest(scope.current, &parts),
        parts,
        rest_help: const { PartKind::named(REST).cgroup_help },
        reserved: Err(Missing::Unsupported),
    })
}

/// Returns the memory of user space, by whether a process of the cgroup maps it.
///
/// The kernel counts how much of the charged memory is mapped, but not by which processes. What the processes map beyond that is
/// charged to other cgroups; what they do not map of it, others do.
fn of_processes(s: &SystemSample, processes: &ProcessTotals) -> Vec<Part> {
    let (anon, shmem, mapped) = (s.anon_pages, s.shmem, s.mapped);
    let files = less(s.cached, shmem);
    let pss = match processes.memory {
        Err(Missing::Pending) if processes.total == 0 => Ok(0),
        memory => memory.map(|memory| memory.pss),
    };
    let pss_shmem = match processes.memory {
        Ok(memory) => memory.pss_shmem,
        Err(_) => pss,
    };
    // Before Linux 5.4, PSS has no kinds.
    let pss_anon = processes.memory.and_then(|memory| memory.pss_anon);
    let here = || match pss_anon {
        Ok(pss_anon) => Ok(pss_anon.min(anon?) + (pss? - pss_anon.min(pss?)).min(mapped?)),
        Err(_) => Ok(pss?.min(anon?.saturating_add(mapped?))),
    };
    let here = here();
    let mapped_shmem = || Ok(shmem?.min(pss_shmem.unwrap_or(0)).min(mapped?));
    let mapped_shmem: Reading<u64> = mapped_shmem();
    let mapped_files = less(mapped, mapped_shmem).and_then(|mapped| Ok(mapped.min(files?)));
    let mapped_shmem = less(mapped, mapped_files).and_then(|mapped| Ok(mapped.min(shmem?)));
    let partial = |bound| processes.hidden.map(|_| bound);
    vec![
        part!("processes", here).bound(partial(Bound::AtLeast)).with([
            part!("processes_pss", pss).bound(partial(Bound::AtLeast)),
            part!("processes_elsewhere", less(pss, here)).bound(partial(Bound::AtLeast)),
        ]),
        part!("mapped_elsewhere", less(sum(anon, mapped), here)).bound(partial(Bound::AtMost)),
        part!("files_cached", less(files, mapped_files)),
        part!("shmem_kept", less(shmem, mapped_shmem)),
    ]
}

fn charged(s: &SystemSample, scope: &Scope) -> Vec<Part> {
    let files = less(s.cached, s.shmem);
    let mapped = s.mapped.and_then(|mapped| Ok(mapped.min(files?)));
    let mut parts = vec![
        part!("anon", s.anon_pages).with([part!("anon_huge", s.anon_huge)]),
        part!("swap_cache", swap_cache(s)),
        part!("files", files).with([
            part!("files_mapped", mapped),
            part!("files_unmapped", less(files, mapped)),
        ]),
        part!("shmem", s.shmem),
    ];
    parts.extend(of_kernel(s, scope));
    parts
}

fn of_kernel(s: &SystemSample, scope: &Scope) -> Vec<Part> {
    vec![
        part!("slab_reclaimable", s.sreclaimable),
        part!("slab_unreclaimable", s.sunreclaim),
        part!("kernel_stacks", s.kernel_stack),
        part!("page_tables", s.page_tables),
        part!("sec_page_tables", s.sec_page_tables),
        part!("percpu", s.percpu),
        part!("vmalloc", less(s.vmalloc, s.kernel_stack)),
        part!("zswap", s.zswap),
        part!("kernel", scope.kernel),
        part!("sockets", scope.sockets),
        part!("hugetlb", scope.hugetlb),
    ]
}
