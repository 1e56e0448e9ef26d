//! The account of a cgroup that stands in for the machine.
//!
//! All parts except free memory and the memory of other cgroups below the same limit sum to `memory.current`, with a
//! rest: the kernel charges for each CPU in advance, and updates some figures later than others.

use crate::account::{Account, Part, PartKind, REST, less, rest, swap_cache};
use crate::model::Missing;
use crate::model::system::{Scope, SystemSample};

/// Makes a part. Its id must be in the registry: else this does not compile.
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

fn charged(s: &SystemSample, scope: &Scope) -> Vec<Part> {
    let files = less(s.cached, s.shmem);
    let mapped = s.mapped.and_then(|mapped| Ok(mapped.min(files?)));
    vec![
        part!("anon", s.anon_pages).with([part!("anon_huge", s.anon_huge)]),
        part!("swap_cache", swap_cache(s)),
        part!("files", files).with([
            part!("files_mapped", mapped),
            part!("files_unmapped", less(files, mapped)),
        ]),
        part!("shmem", s.shmem),
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
