//! The account as a document.

use super::MemReport;
use crate::account::{Part, overview};
use crate::model::system::SwapArea;
use crate::output::data::{Node, Object};
use crate::record;

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-mem/1";

pub(super) fn object<'a>(mem: &'a MemReport<'_>) -> Object<'a> {
    let (s, inputs) = (&mem.snapshot.system, mem.inputs);
    Object::default()
        .put("schema", SCHEMA)
        .put("time", record::time_text(mem.snapshot.time))
        .put("host", Node::bytes(&mem.snapshot.host))
        .put("ram", overview_line(&overview::ram(s)))
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
                .put("swap_cache", mem.swap.cache)
                .put("rest", mem.swap.rest)
                .put("on_zram", overview::swapped_to_zram(s))
                .put("in_zswap", s.zswapped)
                .put("on_disk", overview::swapped_to_disk(s))
                .put("swapped_in", s.pswpin)
                .put("swapped_out", s.pswpout),
        )
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
        .put("balloon", s.balloon)
        .put(
            "cgroup",
            Object::default()
                .put("current", s.limit.current)
                .put("limit", s.limit.limit)
                .put("swap", s.limit.swap)
                .put("swap_limit", s.limit.swap_limit),
        )
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
    let all = overview::compressed(&mem.snapshot.system, mem.inputs).into_iter();
    let one = |c: overview::CompressedPool| {
        Object::default()
            .put("name", c.name.to_string())
            .put("stored", c.stored)
            .put("in_ram", c.in_ram)
            .put("ratio", c.ratio())
            .put("on_disk", c.on_disk)
            .put("size", c.size)
    };
    all.map(one).collect()
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
    let named = |parts: &mut dyn Iterator<Item = &Part>| {
        parts.fold(Object::default(), |object, part| object.put(part.id, part.bytes))
    };
    Object::default()
        .put("total", a.total)
        .put("parts", named(&mut a.parts.iter()))
        .put("rest", a.rest)
        .put("within", named(&mut a.parts.iter().flat_map(|p| &p.within)))
        .put("reserved", a.reserved)
}

fn processes<'a>(mem: &MemReport<'_>) -> Object<'a> {
    let u = &mem.processes;
    let s = &mem.snapshot.system;
    Object::default()
        .put("readable", u.readable)
        .put("of", u.total)
        .put("partial", u.partial())
        .put("pss", u.pss)
        .put("uss", u.uss)
        .put("anon_and_mapped", overview::sum(s.anon_pages, s.mapped))
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
    mem.inputs.pressure.map(both).into()
}
