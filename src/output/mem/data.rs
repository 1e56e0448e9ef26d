//! The account as a document.

use std::iter;

use crate::account::{Part, arithmetic, overview};
use crate::model::system::{HugePool, Ksm, MemoryMount, Pressure, Scope, Sockets, SwapArea, SystemSample, SysvShm};
use crate::output::data::{Node, Object, described_object};
use crate::output::mem::MemReport;
use crate::record;
use crate::schema::{self, Field, Schema};

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-mem/1";

/// Returns the account as an object.
pub(super) fn object<'a>(mem: &'a MemReport<'_>) -> Object<'a> {
    plain(mem).with_unread()
}

/// Returns what the document consists of.
pub(in crate::output) fn schema() -> Schema {
    let mut fields = fields();
    fields.push(Field::new(
        "unread",
        "The reasons of what is null, by path.",
        schema::unread(),
    ));
    Schema {
        name: SCHEMA,
        help: "The account of the machine's memory. Written by `zmtop mem`.",
        fields,
    }
}

described_object! {
    fn plain, fields<'a>(mem: &'a MemReport<'_>) -> Object<'a> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// When the snapshot was taken.
        "time": time() => record::time_text(mem.snapshot.time),
        /// The name of the host.
        "host": foreign() => Node::bytes(&mem.snapshot.host),
        /// The RAM.
        "ram": object([line_fields(), formula_fields()].concat()) => {
            line(&overview::ram(&mem.snapshot.system)).extend(formula(&mem.snapshot.system))
        },
        /// The swap.
        "swap": object(line_fields()) => line(&overview::swap(&mem.snapshot.system)),
        /// The cgroup whose limit takes the place of the machine's memory, and the host's memory.
        "scope": object(scope_fields()).null("the figures are those of the machine") => {
            mem.snapshot.system.scope.as_deref().map(scope)
        },
        /// Memory that is kept compressed: zswap and zram devices.
        "compressed": list(object(compressed_fields())) => {
            let all = overview::compressed(&mem.snapshot.system, &mem.snapshot.accounting);
            all.into_iter().map(compressed).collect::<Vec<_>>()
        },
        /// Swap areas.
        "swaps": list(object(area_fields())).unread() => {
            let areas = mem.snapshot.system.swaps.as_ref().map_err(|why| *why);
            areas.map(|areas| areas.iter().map(area).collect::<Vec<_>>())
        },
        /// The RAM in parts.
        "account": object(account_fields()) => account(mem),
        /// The processes together.
        "processes": object(processes_fields()) => processes(mem),
        /// The swap in parts.
        "swap_account": object(swap_account_fields()) => swap_account(mem),
        /// Shared memory and tmpfs, by mount.
        "shared": object(shared_fields()) => shared(mem),
        /// What was reclaimed since boot.
        "reclaim": object(reclaim_fields()) => reclaim(&mem.snapshot.system),
        /// The time that tasks waited for memory.
        "pressure": object(pressure_fields()).unread() => mem.snapshot.accounting.pressure.map(pressure),
        /// Pages that wait to be written to disk.
        "dirty": bytes().unread() => mem.snapshot.system.dirty,
        /// Pages that are being written.
        "writeback": bytes().unread() => mem.snapshot.system.writeback,
        /// What processes were promised (`Committed_AS`).
        "committed": bytes().unread() => mem.snapshot.system.committed,
        /// How much may be promised where that is limited (`CommitLimit`).
        "commit_limit": bytes().unread() => mem.snapshot.system.commit_limit,
        /// Locked pages (`Mlocked`).
        "locked": bytes().unread() => mem.snapshot.system.mlocked,
        /// Transparent huge pages.
        "huge_pages": object(huge_pages_fields()) => huge_pages(mem),
        /// Kernel same-page merging.
        "ksm": object(ksm_fields()).unread() => mem.snapshot.accounting.ksm.map(ksm),
        /// The pools of huge pages, by the size of the page.
        "huge_pools": list(object(huge_pool_fields())).unread() => {
            let pools = mem.snapshot.accounting.huge.as_deref().map_err(|why| *why);
            pools.map(|pools| pools.iter().map(huge_pool).collect::<Vec<_>>())
        },
        /// Memory of sockets.
        "sockets": object(sockets_fields()).unread() => mem.snapshot.accounting.sockets.map(sockets),
        /// Memory handed back to the hypervisor.
        "balloon": bytes().unread() => mem.snapshot.system.ballooned(),
        /// The cgroup with the lowest limit among zmtop's own and those above it.
        "cgroup": object(cgroup_fields()) => cgroup(&mem.snapshot.system),
    }
}

described_object! {
    fn scope, scope_fields(scope: &Scope) -> Object<'_> {
        /// `container`, or `cgroup` for one that was named by `--cgroup`.
        "kind": text() => scope.kind.id(),
        /// The path of the cgroup.
        "path": foreign() => Node::bytes(&scope.path),
        /// The lowest limit of the cgroup and its parents.
        "limit": bytes().null("there is no limit, or it is unknown; then `unread` has the reason") => scope.limit,
        /// The lowest `memory.high` of the cgroup and its parents.
        "high": bytes().null("there is no limit, or it is unknown; then `unread` has the reason") => scope.high,
        /// Memory charged to the cgroup and its children.
        "current": bytes().unread() => scope.current,
        /// The part of it that cannot be reclaimed at once.
        "used": bytes().unread() => scope.used,
        /// Memory that can still be charged without reclaim.
        "free": bytes().unread() => scope.free,
        /// Memory that can still be taken, with swap, before a limit or the end of the host's memory.
        "left": bytes().unread() => scope.left,
        /// `MemTotal` of the host.
        "host_total": bytes().unread() => scope.host_total,
        /// Memory available on the host.
        "host_available": bytes().unread() => scope.host_available,
    }
}

described_object! {
    fn line, line_fields(line: &overview::OverviewRow) -> Object<'static> {
        /// The size.
        "total": bytes().unread() => line.total,
        /// What is used: of RAM without what is available.
        "used": bytes().unread() => line.used,
        /// What is empty.
        "free": bytes().unread() => line.free,
        /// Shared memory and tmpfs in it.
        "shared": bytes().unread() => line.shared,
        /// Of RAM Buffers + Cached + SReclaimable, of swap `SwapCached`.
        "cache": bytes().unread() => line.cache,
        /// Of RAM what programs could still have without swapping, of swap what is free.
        "available": bytes().unread() => line.available,
    }
}

described_object! {
    fn formula, formula_fields(s: &SystemSample) -> Object<'static> {
        /// How `available` is made on this machine.
        "available_formula": text() => overview::available_formula(s),
    }
}

described_object! {
    fn compressed, compressed_fields(pool: overview::CompressedPool) -> Object<'static> {
        /// `zswap`, or the name of a zram device.
        "name": foreign() => pool.name.to_string(),
        /// The size of its pages, uncompressed.
        "stored": bytes().unread() => pool.stored,
        /// The RAM that it takes.
        "in_ram": bytes().unread() => pool.in_ram,
        /// stored / `in_ram`.
        "ratio": number().null("nothing is stored, or unknown; then `unread` has the reason") => pool.ratio(),
        /// Pages of one repeated word, which take no RAM.
        "same_filled": bytes().unread() => pool.same_filled,
        /// The most RAM that it may take.
        "limit": bytes().null("no limit, or unknown; then `unread` has the reason") => pool.limit,
        /// Pages written back to a disk; for zswap all that is swapped out to one.
        "on_disk": bytes().unread() => pool.on_disk,
        /// The size of the device.
        "size": bytes().unread() => pool.size,
    }
}

described_object! {
    fn swap_account, swap_account_fields(mem: &MemReport<'_>) -> Object<'static> {
        /// `SwapTotal − SwapFree`.
        "used": bytes().unread() => mem.swap.used,
        /// Sum of `swap_pss` of the processes that could be read.
        "processes": bytes().unread() => mem.swap.processes,
        /// Sum of `VmSwap` of the others, which counts what they share for each.
        "unreadable": bytes().unread() => mem.swap.unreadable,
        /// Segments of System V that are swapped out.
        "sysv": bytes().unread() => mem.swap.sysv,
        /// Files of tmpfs that are swapped out, at the least.
        "tmpfs": bytes().unread() => mem.swap.tmpfs,
        /// Slots whose pages are in RAM, too.
        "swap_cache": bytes().unread() => mem.swap.cache,
        /// The rest; negative where the parts, read one after another, exceed the whole.
        "rest": delta().unread() => mem.swap.rest,
        /// The part of the rest that processes map, at the most.
        "rest_mapped": bytes().unread() => mem.swap.mapped,
        /// What of it is on zram devices.
        "on_zram": bytes().unread() => overview::swapped_to_zram(&mem.snapshot.system),
        /// What of it is in zswap.
        "in_zswap": bytes().unread() => mem.snapshot.system.zswapped,
        /// What of it is on disks.
        "on_disk": bytes().unread() => overview::swapped_to_disk(&mem.snapshot.system),
        /// Read from swap since boot.
        "swapped_in": bytes().unread() => mem.snapshot.system.pswpin,
        /// Written to swap since boot.
        "swapped_out": bytes().unread() => mem.snapshot.system.pswpout,
        /// Written back from zswap to swap since boot.
        "zswap_written": bytes().unread() => mem.snapshot.system.zswap_written,
    }
}

described_object! {
    fn huge_pages, huge_pages_fields<'a>(mem: &'a MemReport<'_>) -> Object<'a> {
        /// always, madvise or never.
        "mode": text().unread() => mem.snapshot.accounting.thp.as_deref().map_err(|why| *why),
        /// Anonymous memory in them.
        "anon": bytes().unread() => mem.snapshot.system.anon_huge,
        /// Shared memory in them.
        "shmem": bytes().unread() => mem.snapshot.system.shmem_huge,
        /// Files in them.
        "files": bytes().unread() => mem.snapshot.system.file_huge,
    }
}

described_object! {
    fn ksm, ksm_fields(ksm: Ksm) -> Object<'static> {
        /// It runs.
        "on": switch() => ksm.on,
        /// The pages that others were merged into.
        "shared": bytes() => ksm.shared,
        /// The RAM that merging saves.
        "saved": bytes() => ksm.saved,
    }
}

described_object! {
    fn huge_pool, huge_pool_fields(pool: &HugePool) -> Object<'static> {
        /// The size of a page.
        "page": bytes() => pool.page,
        /// The pool.
        "total": bytes() => pool.total,
        /// What of it is unused.
        "free": bytes() => pool.free,
    }
}

described_object! {
    fn sockets, sockets_fields(sockets: Sockets) -> Object<'static> {
        /// Buffers of TCP, of all network namespaces.
        "tcp": bytes() => sockets.tcp,
        /// Buffers of UDP, of all network namespaces.
        "udp": bytes() => sockets.udp,
        /// Packets to be put together, of zmtop's network namespace.
        "fragments": bytes() => sockets.fragments,
    }
}

described_object! {
    fn cgroup, cgroup_fields(s: &SystemSample) -> Object<'static> {
        /// What is charged to it and all below it.
        "current": bytes().unread() => s.limit.current,
        /// The lowest limit among its own and those above it.
        "limit": bytes().null("no limit, or unknown; then `unread` has the reason") => s.limit.limit,
        /// What of it is swapped out.
        "swap": bytes().unread() => s.limit.swap,
        /// The lowest limit on swap among its own and those above it.
        "swap_limit": bytes().null("no limit, or unknown; then `unread` has the reason") => s.limit.swap_limit,
    }
}

described_object! {
    /// Returns shared memory and tmpfs by mount, the largest first.
    fn shared, shared_fields<'a>(mem: &'a MemReport<'_>) -> Object<'a> {
        /// `Shmem`: the part in RAM.
        "total": bytes().unread() => mem.shmem.total,
        /// File systems in memory, the largest first; what is swapped out is in their figures, too.
        "mounts": list(object(mount_fields())).unread() => {
            let mounts = mem.shmem.mounts.as_ref().map_err(|why| *why);
            mounts.map(|mounts| mounts.iter().map(|one| mount(one)).collect::<Vec<_>>())
        },
        /// Segments of System V.
        "sysv": object(sysv_fields()).unread() => mem.shmem.sysv.map(sysv),
        /// The remainder in RAM: memfd, shared anonymous memory, buffers of graphics drivers.
        "elsewhere": bytes().unread() => mem.shmem.elsewhere,
    }
}

described_object! {
    fn mount, mount_fields<'a>(mount: &'a MemoryMount) -> Object<'a> {
        /// Where it can be reached.
        "path": foreign() => Node::bytes(&mount.path),
        /// The type of the file system.
        "kind": text() => &*mount.kind,
        /// What its files have, in RAM or in swap.
        "used": bytes().unread() => mount.used,
        /// The limit of its size.
        "size": bytes().unread() => mount.size,
    }
}

described_object! {
    fn sysv, sysv_fields(sysv: SysvShm) -> Object<'static> {
        /// The number of segments.
        "segments": count() => sysv.segments,
        /// The part in RAM.
        "resident": bytes() => sysv.resident,
        /// The part that is swapped out.
        "swapped": bytes() => sysv.swapped,
    }
}

described_object! {
    /// Returns what was reclaimed since boot.
    fn reclaim, reclaim_fields(s: &SystemSample) -> Object<'static> {
        /// What kswapd looked at.
        "scan_kswapd": bytes().unread() => s.scan_kswapd,
        /// What kswapd reclaimed.
        "steal_kswapd": bytes().unread() => s.steal_kswapd,
        /// What tasks looked at that had to wait for memory.
        "scan_direct": bytes().unread() => s.scan_direct,
        /// What those tasks reclaimed.
        "steal_direct": bytes().unread() => s.steal_direct,
        /// Swapped in soon after it was reclaimed.
        "refault_anon": bytes().unread() => s.refault_anon,
        /// Files read again soon after they were reclaimed.
        "refault_file": bytes().unread() => s.refault_file,
        /// Processes killed for lack of memory.
        "oom_kills": count().unread() => s.oom_kill,
    }
}

described_object! {
    fn area, area_fields<'a>(area: &'a SwapArea) -> Object<'a> {
        /// The path of the file or the device.
        "path": foreign() => Node::bytes(&area.path),
        /// `file` or `partition`.
        "kind": text() => &*area.kind,
        /// The size.
        "size": bytes() => area.size,
        /// What of it is used.
        "used": bytes() => area.used,
        /// The kernel fills the area of the highest priority first.
        "priority": id().unread() => area.priority,
    }
}

/// Returns parts as an object of their figures by id.
fn by_id<'p>(parts: impl Iterator<Item = &'p Part>) -> Object<'static> {
    parts.fold(Object::default(), |object, part| object.put(part.id, part.bytes))
}

/// Returns all parts of the account and of its parts.
fn all_parts<'m>(mem: &'m MemReport<'_>) -> impl Iterator<Item = &'m Part> {
    let parts = mem.account.parts.iter();
    parts.flat_map(|part| iter::once(part).chain(&part.within))
}

described_object! {
    fn account, account_fields(mem: &MemReport<'_>) -> Object<'static> {
        /// `MemTotal`, which the parts and the rest sum to.
        "total": bytes().unread() => mem.account.total,
        /// The parts, by id.
        "parts": map(bytes().unread()) => by_id(mem.account.parts.iter()),
        /// What no counter of the kernel shows; negative where more was counted than there is.
        "unattributed": delta().unread() => mem.account.rest,
        /// The first name of `unattributed`, which is the same.
        "rest": delta().unread() => mem.account.rest,
        /// Parts of those parts, by id.
        "within": map(bytes().unread()) => by_id(mem.account.parts.iter().flat_map(|part| &part.within)),
        /// In which direction parts are not exact, in words, by id.
        "partial": map(text()) => {
            let partial = all_parts(mem).filter_map(|part| Some((part.id, part.bound?.words())));
            partial.fold(Object::default(), |object, (id, words)| object.put(id, words))
        },
        /// RAM beyond `MemTotal` that the kernel keeps from the start.
        "reserved": bytes().unread() => mem.account.reserved,
        /// How each part is made, by id.
        "formulas": map(text()) => {
            let help = mem.account.rest_help;
            let rest = [("rest", help), ("unattributed", help)];
            let formulas = all_parts(mem).map(|part| (part.id, part.help)).chain(rest);
            formulas.fold(Object::default(), |object, (id, help)| object.put(id, help))
        },
    }
}

described_object! {
    fn processes, processes_fields(mem: &MemReport<'_>) -> Object<'static> {
        /// Processes whose memory could be read.
        "readable": count() => mem.processes.readable,
        /// All processes.
        "of": count() => mem.processes.total,
        /// The sums are too small by those that could not be read.
        "partial": switch() => mem.processes.partial(),
        /// Sum of `pss`.
        "pss": bytes().unread() => mem.processes.pss,
        /// Sum of `pss_file`.
        "pss_file": bytes().unread() => mem.processes.pss_file,
        /// Sum of `uss`.
        "uss": bytes().unread() => mem.processes.uss,
        /// `AnonPages` + Mapped, by the kernel's own counters.
        "anon_and_mapped": bytes().unread() => arithmetic::sum(mem.snapshot.system.anon_pages, mem.snapshot.system.mapped),
    }
}

described_object! {
    fn pressure, pressure_fields(pressure: Pressure) -> Object<'static> {
        /// The time in which some task waited.
        "some": object(averages_fields()) => averages(pressure.some),
        /// The time in which every task waited.
        "full": object(averages_fields()) => averages(pressure.full),
    }
}

described_object! {
    fn averages, averages_fields(values: [f32; 3]) -> Object<'static> {
        /// Of the last ten seconds.
        "avg10": percent() => hundredths(values[0]),
        /// Of the last minute.
        "avg60": percent() => hundredths(values[1]),
        /// Of the last five minutes.
        "avg300": percent() => hundredths(values[2]),
    }
}

/// Rounds: the kernel writes hundredths, which a float of half the size does not hold exactly.
fn hundredths(x: f32) -> f64 {
    (f64::from(x) * 100.0).round() / 100.0
}
