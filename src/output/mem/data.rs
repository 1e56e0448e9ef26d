//! The account as a document.

use std::iter;

use crate::account::{Part, overview, sum};
use crate::model::system::{
    HugePool, Ksm, MemoryMount, Pressure, Scope, ScopeEvents, ScopeLevel, Sockets, SwapArea, SystemSample, SysvShm,
};
use crate::output::data::{Node, Object, described_object};
use crate::output::mem::MemReport;
use crate::record;
use crate::schema::{self, Field, Schema};

const SCHEMA: &str = "zmtop-mem/1";

pub fn schema() -> Schema {
    let mut fields = fields();
    fields.push(Field::new("unread", "Why values are null, by path.", schema::unread()));
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
        "scope": object(scope_fields()).null("the figures are for the machine") => {
            mem.snapshot.system.scope.as_deref().map(scope)
        },
        /// Compressed memory: zswap and zram devices.
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
        /// Memory reclaimed since boot.
        "reclaim": object(reclaim_fields()) => reclaim(&mem.snapshot.system),
        /// The share of time that tasks waited for memory.
        "pressure": object(pressure_fields()).unread() => mem.snapshot.accounting.pressure.map(pressure),
        /// Pages waiting to be written to disk.
        "dirty": bytes().unread() => mem.snapshot.system.dirty,
        /// Pages being written.
        "writeback": bytes().unread() => mem.snapshot.system.writeback,
        /// Memory promised to processes (`Committed_AS`).
        "committed": bytes().unread() => mem.snapshot.system.committed,
        /// Limit on promised memory, if it is enforced (`CommitLimit`).
        "commit_limit": bytes().unread() => mem.snapshot.system.commit_limit,
        /// Locked pages (`Mlocked`).
        "locked": bytes().unread() => mem.snapshot.system.mlocked,
        /// Transparent huge pages.
        "huge_pages": object(huge_pages_fields()) => huge_pages(mem),
        /// Kernel same-page merging.
        "ksm": object(ksm_fields()).unread() => mem.snapshot.accounting.ksm.map(ksm),
        /// The pools of huge pages, by page size.
        "huge_pools": list(object(huge_pool_fields())).unread() => {
            let pools = mem.snapshot.accounting.huge.as_deref().map_err(|why| *why);
            pools.map(|pools| pools.iter().map(huge_pool).collect::<Vec<_>>())
        },
        /// Memory of sockets.
        "sockets": object(sockets_fields()).unread() => mem.snapshot.accounting.sockets.map(sockets),
        /// Memory returned to the hypervisor.
        "balloon": bytes().unread() => mem.snapshot.system.ballooned(),
        /// The cgroup with the lowest limit: zmtop's own, or one of its parents.
        "cgroup": object(cgroup_fields()) => cgroup(&mem.snapshot.system),
    }

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
        /// Memory that can still be allocated, with swap, before a limit or the end of the host's memory.
        "left": bytes().unread() => scope.left,
        /// `MemTotal` of the host.
        "host_total": bytes().unread() => scope.host_total,
        /// Memory available on the host.
        "host_available": bytes().unread() => scope.host_available,
        /// The limits of the cgroup and of its parents that have one, innermost first. Empty in a recording.
        "levels": list(object(level_fields())) => scope.levels.iter().map(level).collect::<Vec<_>>(),
        /// Counts of events since the cgroup was created (`memory.events`).
        "events": object(events_fields()) => events(scope.events),
    }

    fn level, level_fields<'a>(level: &'a ScopeLevel) -> Object<'a> {
        /// The path of the cgroup; `/..` for one above the cgroup namespace.
        "path": foreign() => Node::bytes(&level.path),
        /// Memory charged to it and its children.
        "current": bytes().unread() => level.current,
        /// The swapped-out part.
        "swap": bytes().unread() => level.swap,
        /// Its own `memory.max`.
        "limit": bytes().null("no limit, or unknown; then `unread` has the reason") => level.limit,
        /// Its own `memory.high`.
        "high": bytes().null("no limit, or unknown; then `unread` has the reason") => level.high,
        /// Its own `memory.swap.max`.
        "swap_limit": bytes().null("no limit, or unknown; then `unread` has the reason") => level.swap_limit,
    }

    fn events, events_fields(events: ScopeEvents) -> Object<'static> {
        /// It was reclaimed although it was below its protection.
        "low": count().unread() => events.low,
        /// Its tasks were throttled above `memory.high`.
        "high": count().unread() => events.high,
        /// It was about to exceed `memory.max`. `memory.failcnt` in v1.
        "max": count().unread() => events.max,
        /// It was at its limit, and nothing could be reclaimed.
        "oom": count().unread() => events.oom,
        /// Killed processes. In v1 without descendants.
        "oom_kill": count().unread() => events.oom_kill,
        /// Cgroups killed as a whole.
        "oom_group_kill": count().unread() => events.oom_group_kill,
    }

    fn line, line_fields(line: &overview::OverviewRow) -> Object<'static> {
        /// The size.
        "total": bytes().unread() => line.total,
        /// The used part. For RAM: all that is not available.
        "used": bytes().unread() => line.used,
        /// The empty part.
        "free": bytes().unread() => line.free,
        /// Shared memory and tmpfs in it.
        "shared": bytes().unread() => line.shared,
        /// For RAM: Buffers + Cached + SReclaimable. For swap: `SwapCached`.
        "cache": bytes().unread() => line.cache,
        /// For RAM: memory that programs can still use without swapping. For swap: free swap.
        "available": bytes().unread() => line.available,
    }

    fn formula, formula_fields(s: &SystemSample) -> Object<'static> {
        /// The formula of `available` on this machine.
        "available_formula": text() => overview::available_formula(s),
    }

    fn compressed, compressed_fields(pool: overview::CompressedPool) -> Object<'static> {
        /// `zswap`, or the name of a zram device.
        "name": foreign() => pool.name.to_string(),
        /// The size of its pages, uncompressed.
        "stored": bytes().unread() => pool.stored,
        /// The RAM that it uses.
        "in_ram": bytes().unread() => pool.in_ram,
        /// stored / `in_ram`.
        "ratio": number().null("nothing is stored, or unknown; then `unread` has the reason") => pool.ratio(),
        /// Pages of one repeated word, which use no RAM.
        "same_filled": bytes().unread() => pool.same_filled,
        /// The maximum RAM that it may use.
        "limit": bytes().null("no limit, or unknown; then `unread` has the reason") => pool.limit,
        /// Pages written back to a disk. For zswap: everything swapped out to a disk.
        "on_disk": bytes().unread() => pool.on_disk,
        /// The size of the device.
        "size": bytes().unread() => pool.size,
    }

    fn swap_account, swap_account_fields(mem: &MemReport<'_>) -> Object<'static> {
        /// `SwapTotal − SwapFree`.
        "used": bytes().unread() => mem.swap.used,
        /// Sum of `swap_pss` of the processes that could be read.
        "processes": bytes().unread() => mem.swap.processes,
        /// Sum of `VmSwap` of the other processes, which counts shared memory once for each.
        "unreadable": bytes().unread() => mem.swap.unreadable,
        /// Swapped-out System V segments.
        "sysv": bytes().unread() => mem.swap.sysv,
        /// Lower bound on swapped-out tmpfs files.
        "tmpfs": bytes().unread() => mem.swap.tmpfs,
        /// Slots whose pages are also in RAM.
        "swap_cache": bytes().unread() => mem.swap.cache,
        /// The rest. Negative if the parts, which are read one after another, exceed the whole.
        "rest": delta().unread() => mem.swap.rest,
        /// Upper bound on the part of the rest that processes map.
        "rest_mapped": bytes().unread() => mem.swap.mapped,
        /// The part on zram devices.
        "on_zram": bytes().unread() => overview::swapped_to_zram(&mem.snapshot.system),
        /// The part in zswap.
        "in_zswap": bytes().unread() => mem.snapshot.system.zswapped,
        /// The part on disks.
        "on_disk": bytes().unread() => overview::swapped_to_disk(&mem.snapshot.system),
        /// Read from swap since boot.
        "swapped_in": bytes().unread() => mem.snapshot.system.pswpin,
        /// Written to swap since boot.
        "swapped_out": bytes().unread() => mem.snapshot.system.pswpout,
        /// Written back from zswap to swap since boot.
        "zswap_written": bytes().unread() => mem.snapshot.system.zswap_written,
    }

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

    fn ksm, ksm_fields(ksm: Ksm) -> Object<'static> {
        /// True if it runs.
        "on": switch() => ksm.on,
        /// The pages that remain after merging.
        "shared": bytes() => ksm.shared,
        /// The RAM that merging saves.
        "saved": bytes() => ksm.saved,
    }

    fn huge_pool, huge_pool_fields(pool: &HugePool) -> Object<'static> {
        /// The size of a page.
        "page": bytes() => pool.page,
        /// The pool.
        "total": bytes() => pool.total,
        /// The unused part.
        "free": bytes() => pool.free,
    }

    fn sockets, sockets_fields(sockets: Sockets) -> Object<'static> {
        /// Buffers of TCP, of all network namespaces.
        "tcp": bytes() => sockets.tcp,
        /// Buffers of UDP, of all network namespaces.
        "udp": bytes() => sockets.udp,
        /// Packet fragments to reassemble, of zmtop's network namespace.
        "fragments": bytes() => sockets.fragments,
    }

    fn cgroup, cgroup_fields(s: &SystemSample) -> Object<'static> {
        /// Memory charged to it and its descendants.
        "current": bytes().unread() => s.limit.current,
        /// The lowest limit of the cgroup and its parents.
        "limit": bytes().null("no limit, or unknown; then `unread` has the reason") => s.limit.limit,
        /// The swapped-out part.
        "swap": bytes().unread() => s.limit.swap,
        /// The lowest swap limit of the cgroup and its parents.
        "swap_limit": bytes().null("no limit, or unknown; then `unread` has the reason") => s.limit.swap_limit,
    }

    fn shared, shared_fields<'a>(mem: &'a MemReport<'_>) -> Object<'a> {
        /// `Shmem`: the part in RAM.
        "total": bytes().unread() => mem.shmem.total,
        /// In-memory file systems, largest first. Their figures include swapped-out pages.
        "mounts": list(object(mount_fields())).unread() => {
            let mounts = mem.shmem.mounts.as_ref().map_err(|why| *why);
            mounts.map(|mounts| mounts.iter().map(|one| mount(one)).collect::<Vec<_>>())
        },
        /// Segments of System V.
        "sysv": object(sysv_fields()).unread() => mem.shmem.sysv.map(sysv),
        /// The remainder in RAM: memfd, shared anonymous memory, buffers of graphics drivers.
        "elsewhere": bytes().unread() => mem.shmem.elsewhere,
    }

    fn mount, mount_fields<'a>(mount: &'a MemoryMount) -> Object<'a> {
        /// The mount point.
        "path": foreign() => Node::bytes(&mount.path),
        /// The type of the file system.
        "kind": text() => &*mount.kind,
        /// The size of its files, in RAM or in swap.
        "used": bytes().unread() => mount.used,
        /// The size limit.
        "size": bytes().unread() => mount.size,
    }

    fn sysv, sysv_fields(sysv: SysvShm) -> Object<'static> {
        /// The number of segments.
        "segments": count() => sysv.segments,
        /// The part in RAM.
        "resident": bytes() => sysv.resident,
        /// The swapped-out part.
        "swapped": bytes() => sysv.swapped,
    }

    fn reclaim, reclaim_fields(s: &SystemSample) -> Object<'static> {
        /// Memory scanned by kswapd.
        "scan_kswapd": bytes().unread() => s.scan_kswapd,
        /// Memory reclaimed by kswapd.
        "steal_kswapd": bytes().unread() => s.steal_kswapd,
        /// Memory scanned by tasks that had to wait for memory (direct reclaim).
        "scan_direct": bytes().unread() => s.scan_direct,
        /// Memory reclaimed by those tasks.
        "steal_direct": bytes().unread() => s.steal_direct,
        /// Memory swapped in soon after it was reclaimed.
        "refault_anon": bytes().unread() => s.refault_anon,
        /// Files read again soon after they were reclaimed.
        "refault_file": bytes().unread() => s.refault_file,
        /// Processes killed for lack of memory.
        "oom_kills": count().unread() => s.oom_kill,
    }

    fn area, area_fields<'a>(area: &'a SwapArea) -> Object<'a> {
        /// The path of the file or the device.
        "path": foreign() => Node::bytes(&area.path),
        /// `file` or `partition`.
        "kind": text() => &*area.kind,
        /// The size.
        "size": bytes() => area.size,
        /// The used part.
        "used": bytes() => area.used,
        /// The kernel fills the area of the highest priority first.
        "priority": id().unread() => area.priority,
    }
}

/// Returns parts as an object of their figures by id.
fn by_id<'p>(parts: impl Iterator<Item = &'p Part>) -> Object<'static> {
    parts.fold(Object::default(), |object, part| object.put(part.id, part.bytes))
}

fn all_parts<'m>(mem: &'m MemReport<'_>) -> impl Iterator<Item = &'m Part> {
    let parts = mem.account.parts.iter();
    parts.flat_map(|part| iter::once(part).chain(&part.within))
}

described_object! {
    fn account, account_fields(mem: &MemReport<'_>) -> Object<'static> {
        /// `MemTotal`: the sum of the parts and the rest.
        "total": bytes().unread() => mem.account.total,
        /// The parts, by id.
        "parts": map(bytes().unread()) => by_id(mem.account.parts.iter()),
        /// Memory that no kernel counter shows. Negative if some was counted twice.
        "unattributed": delta().unread() => mem.account.rest,
        /// Former name of `unattributed`.
        "rest": delta().unread() => mem.account.rest,
        /// Parts of those parts, by id.
        "within": map(bytes().unread()) => by_id(mem.account.parts.iter().flat_map(|part| &part.within)),
        /// The direction in which a part is inexact, in words, by id.
        "partial": map(text()) => {
            let partial = all_parts(mem).filter_map(|part| Some((part.id, part.bound?.words())));
            partial.fold(Object::default(), |object, (id, words)| object.put(id, words))
        },
        /// RAM beyond `MemTotal`, which the kernel reserves at boot.
        "reserved": bytes().unread() => mem.account.reserved,
        /// The formula of each part, by id.
        "formulas": map(text()) => {
            let help = mem.account.rest_help;
            let rest = [("rest", help), ("unattributed", help)];
            let formulas = all_parts(mem).map(|part| (part.id, part.help)).chain(rest);
            formulas.fold(Object::default(), |object, (id, help)| object.put(id, help))
        },
    }

    fn processes, processes_fields(mem: &MemReport<'_>) -> Object<'static> {
        /// Number of processes whose memory could be read.
        "readable": count() => mem.processes.readable,
        /// Number of all processes.
        "of": count() => mem.processes.total,
        /// True if some processes could not be read: the sums are too small.
        "partial": switch() => mem.processes.partial(),
        /// Sum of `pss`.
        "pss": bytes().unread() => mem.processes.memory.map(|m| m.pss),
        /// Sum of `pss_file`.
        "pss_file": bytes().unread() => mem.processes.memory.and_then(|m| m.pss_file),
        /// Sum of `uss`.
        "uss": bytes().unread() => mem.processes.memory.map(|m| m.uss()),
        /// `AnonPages` + Mapped, by the kernel's own counters.
        "anon_and_mapped": bytes().unread() => sum(mem.snapshot.system.anon_pages, mem.snapshot.system.mapped),
    }

    fn pressure, pressure_fields(pressure: Pressure) -> Object<'static> {
        /// The share of time in which some task waited.
        "some": object(averages_fields()) => averages(pressure.some),
        /// The share of time in which every task waited.
        "full": object(averages_fields()) => averages(pressure.full),
    }

    fn averages, averages_fields(values: [f32; 3]) -> Object<'static> {
        /// Over the last 10 seconds.
        "avg10": percent() => hundredths(values[0]),
        /// Over the last minute.
        "avg60": percent() => hundredths(values[1]),
        /// Over the last 5 minutes.
        "avg300": percent() => hundredths(values[2]),
    }
}

/// Rounds: the kernel writes hundredths, which a float of half the size does not hold exactly.
fn hundredths(x: f32) -> f64 {
    (f64::from(x) * 100.0).round() / 100.0
}
