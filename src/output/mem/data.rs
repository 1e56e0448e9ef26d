//! The account as a document.

use std::iter;

use super::MemReport;
use crate::account::{Part, REST_HELP, arithmetic, overview};
use crate::model::system::accounting::{HugePool, MemoryMount, SysvShm};
use crate::model::system::{SwapArea, SystemSample};
use crate::output::data::{Node, Object};
use crate::record;

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-mem/1";

pub(super) fn object<'a>(mem: &'a MemReport<'_>) -> Object<'a> {
    let (s, inputs) = (&mem.snapshot.system, &*mem.snapshot.accounting);
    Object::default()
        .put("schema", SCHEMA)
        .put("time", record::time_text(mem.snapshot.time))
        .put("host", Node::bytes(&mem.snapshot.host))
        .put("ram", ram(s))
        .put("swap", overview_line(&overview::swap(s)))
        .put("compressed", compressed(mem))
        .put(
            "swaps",
            s.swaps
                .as_ref()
                .map(|a| a.iter().map(area).collect::<Vec<_>>())
                .map_err(|e| *e),
        )
        .put("account", account(mem))
        .put("processes", processes(mem))
        .put(
            "swap_account",
            Object::default()
                .put("used", mem.swap.used)
                .put("processes", mem.swap.processes)
                .put("unreadable", mem.swap.unreadable)
                .put("sysv", mem.swap.sysv)
                .put("tmpfs", mem.swap.tmpfs)
                .put("swap_cache", mem.swap.cache)
                .put("rest", mem.swap.rest)
                .put("rest_mapped", mem.swap.mapped)
                .put("on_zram", overview::swapped_to_zram(s))
                .put("in_zswap", s.zswapped)
                .put("on_disk", overview::swapped_to_disk(s))
                .put("swapped_in", s.pswpin)
                .put("swapped_out", s.pswpout)
                .put("zswap_written", s.zswap_written),
        )
        .put("shared", shared(mem))
        .put("reclaim", reclaim(s))
        .put("pressure", pressure(mem))
        .put("dirty", s.dirty)
        .put("writeback", s.writeback)
        .put("committed", s.committed)
        .put("commit_limit", s.commit_limit)
        .put("locked", s.mlocked)
        .put(
            "huge_pages",
            Object::default()
                .put("mode", inputs.thp.as_deref().map_err(|e| *e))
                .put("anon", s.anon_huge)
                .put("shmem", s.shmem_huge)
                .put("files", s.file_huge),
        )
        .put(
            "ksm",
            inputs.ksm.map(|k| {
                Object::default()
                    .put("on", k.on)
                    .put("shared", k.shared)
                    .put("saved", k.saved)
            }),
        )
        .put("huge_pools", inputs.huge.as_deref().map_err(|e| *e).map(huge_pools))
        .put(
            "sockets",
            inputs.sockets.map(|sockets| {
                Object::default()
                    .put("tcp", sockets.tcp)
                    .put("udp", sockets.udp)
                    .put("fragments", sockets.fragments)
            }),
        )
        .put("balloon", s.ballooned())
        .put(
            "cgroup",
            Object::default()
                .put("current", s.limit.current)
                .put("limit", s.limit.limit)
                .put("swap", s.limit.swap)
                .put("swap_limit", s.limit.swap_limit),
        )
}

/// Returns the line of RAM, with the formula of what is available on this machine.
fn ram(s: &SystemSample) -> Object<'static> {
    let line = overview_line(&overview::ram(s));
    line.put("available_formula", overview::available_formula(s))
}

fn overview_line(line: &overview::OverviewRow) -> Object<'static> {
    Object::default()
        .put("total", line.total)
        .put("used", line.used)
        .put("free", line.free)
        .put("shared", line.shared)
        .put("cache", line.cache)
        .put("available", line.available)
}

fn compressed(mem: &MemReport<'_>) -> Vec<Object<'static>> {
    let all = overview::compressed(&mem.snapshot.system, &mem.snapshot.accounting).into_iter();
    let one = |c: overview::CompressedPool| {
        Object::default()
            .put("name", c.name.to_string())
            .put("stored", c.stored)
            .put("in_ram", c.in_ram)
            .put("ratio", c.ratio())
            .put("same_filled", c.same_filled)
            .put("limit", c.limit)
            .put("on_disk", c.on_disk)
            .put("size", c.size)
    };
    all.map(one).collect()
}

fn huge_pools(pools: &[HugePool]) -> Vec<Object<'static>> {
    let pool = |pool: &HugePool| {
        Object::default()
            .put("page", pool.page)
            .put("total", pool.total)
            .put("free", pool.free)
    };
    pools.iter().map(pool).collect()
}

/// Returns shared memory and tmpfs by mount, the largest first.
fn shared<'a>(mem: &'a MemReport<'_>) -> Object<'a> {
    let shmem = &mem.shmem;
    let mount = |mount: &&'a MemoryMount| {
        Object::default()
            .put("path", Node::bytes(&mount.path))
            .put("kind", &*mount.kind)
            .put("used", mount.used)
            .put("size", mount.size)
    };
    let sysv = |sysv: SysvShm| {
        Object::default()
            .put("segments", sysv.segments)
            .put("resident", sysv.resident)
            .put("swapped", sysv.swapped)
    };
    let mounts = shmem.mounts.as_ref().map_err(|why| *why);
    Object::default()
        .put("total", shmem.total)
        .put(
            "mounts",
            mounts.map(|mounts| mounts.iter().map(mount).collect::<Vec<_>>()),
        )
        .put("sysv", shmem.sysv.map(sysv))
        .put("elsewhere", shmem.elsewhere)
}

/// Returns what was reclaimed since boot.
fn reclaim(s: &SystemSample) -> Object<'static> {
    Object::default()
        .put("scan_kswapd", s.scan_kswapd)
        .put("steal_kswapd", s.steal_kswapd)
        .put("scan_direct", s.scan_direct)
        .put("steal_direct", s.steal_direct)
        .put("refault_anon", s.refault_anon)
        .put("refault_file", s.refault_file)
        .put("oom_kills", s.oom_kill)
}

fn area(area: &SwapArea) -> Object<'_> {
    Object::default()
        .put("path", Node::bytes(&area.path))
        .put("kind", &*area.kind)
        .put("size", area.size)
        .put("used", area.used)
        .put("priority", area.priority)
}

fn account<'a>(mem: &MemReport<'_>) -> Object<'a> {
    let a = &mem.account;
    let all = || a.parts.iter().flat_map(|part| iter::once(part).chain(&part.within));
    let rest = [("rest", REST_HELP), ("unattributed", REST_HELP)];
    let formulas = all().map(|part| (part.id, part.help)).chain(rest);
    let partial = all().filter_map(|part| Some((part.id, part.bound?.words())));
    let named = |parts: &mut dyn Iterator<Item = &Part>| {
        parts.fold(Object::default(), |object, part| object.put(part.id, part.bytes))
    };
    Object::default()
        .put("total", a.total)
        .put("parts", named(&mut a.parts.iter()))
        // The name that alerts and pages have for it, and the first one that it had here.
        .put("unattributed", a.rest)
        .put("rest", a.rest)
        .put("within", named(&mut a.parts.iter().flat_map(|p| &p.within)))
        .put(
            "partial",
            partial.fold(Object::default(), |object, (id, words)| object.put(id, words)),
        )
        .put("reserved", a.reserved)
        .put(
            "formulas",
            formulas.fold(Object::default(), |object, (id, help)| object.put(id, help)),
        )
}

fn processes<'a>(mem: &MemReport<'_>) -> Object<'a> {
    let u = &mem.processes;
    let s = &mem.snapshot.system;
    Object::default()
        .put("readable", u.readable)
        .put("of", u.total)
        .put("partial", u.partial())
        .put("pss", u.pss)
        .put("pss_file", u.pss_file)
        .put("uss", u.uss)
        .put("anon_and_mapped", arithmetic::sum(s.anon_pages, s.mapped))
}

fn pressure<'a>(mem: &MemReport<'_>) -> Node<'a> {
    let averages = |values: [f32; 3]| {
        let values = ["avg10", "avg60", "avg300"].into_iter().zip(values);
        values.fold(Object::default(), |object, (name, x)| {
            // The kernel writes hundredths, which a float of half the size does not hold exactly.
            object.put(name, (f64::from(x) * 100.0).round() / 100.0)
        })
    };
    let both = |p: crate::model::system::accounting::Pressure| {
        Object::default()
            .put("some", averages(p.some))
            .put("full", averages(p.full))
    };
    mem.snapshot.accounting.pressure.map(both).into()
}
