//! The account as data.

use super::Mem;
use crate::account::{Part, overview};
use crate::columns::DataValue;
use crate::model::system::SwapArea;
use crate::output::node::{Map, Node};
use crate::record;

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-mem/1";

pub(super) fn map<'a>(mem: &'a Mem<'a>) -> Map<'a> {
    let (s, inputs) = (&mem.snapshot.system, mem.inputs);
    Map::default()
        .put("schema", SCHEMA)
        .put("time", record::time_text(mem.snapshot.time))
        .put("host", Node::bytes(&mem.snapshot.host))
        .put("ram", line(&overview::ram(s)))
        .put("swap", line(&overview::swap(s)))
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
            Map::default()
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
            Map::default()
                .put("mode", inputs.thp.as_deref().map_err(|e| *e))
                .put("anon", s.anon_huge)
                .put("shmem", s.shmem_huge)
                .put("files", s.file_huge),
        )
        .put(
            "ksm",
            inputs.ksm.map(|k| {
                Map::default()
                    .put("on", k.on)
                    .put("shared", k.shared)
                    .put("saved", k.saved)
            }),
        )
        .put("balloon", s.balloon)
        .put(
            "cgroup",
            Map::default()
                .put("current", s.limit.current)
                .put("limit", s.limit.limit)
                .put("swap", s.limit.swap)
                .put("swap_limit", s.limit.swap_limit),
        )
}

fn line(l: &overview::OverviewRow) -> Map<'static> {
    Map::default()
        .put("total", l.total)
        .put("used", l.used)
        .put("free", l.free)
        .put("shared", l.shared)
        .put("cache", l.cache)
        .put("available", l.available)
}

fn compressed(mem: &Mem<'_>) -> Vec<Map<'static>> {
    let all = overview::compressed(&mem.snapshot.system, mem.inputs).into_iter();
    let one = |c: overview::CompressedPool| {
        Map::default()
            .put("name", c.name.to_string())
            .put("stored", c.stored)
            .put("in_ram", c.in_ram)
            .put("ratio", c.ratio())
            .put("on_disk", c.on_disk)
            .put("size", c.size)
    };
    all.map(one).collect()
}

fn area(area: &SwapArea) -> Map<'_> {
    Map::default()
        .put("path", Node::bytes(&area.path))
        .put("kind", &*area.kind)
        .put("size", area.size)
        .put("used", area.used)
        .put("priority", area.priority)
}

fn account<'a>(mem: &Mem<'_>) -> Map<'a> {
    let a = &mem.account;
    let named = |parts: &mut dyn Iterator<Item = &Part>| {
        let mut map = Map::default();
        for part in parts {
            map = map.put(part.id, part.bytes);
        }
        map
    };
    Map::default()
        .put("total", a.total)
        .put("parts", named(&mut a.parts.iter()))
        .put("rest", a.rest)
        .put("within", named(&mut a.parts.iter().flat_map(|p| &p.within)))
        .put("reserved", a.reserved)
}

fn processes<'a>(mem: &Mem<'_>) -> Map<'a> {
    let u = &mem.userland;
    let s = &mem.snapshot.system;
    Map::default()
        .put("readable", u.readable as u64)
        .put("of", u.of as u64)
        .put("partial", u.partial())
        .put("pss", u.pss)
        .put("uss", u.uss)
        .put("anon_and_mapped", overview::sum(s.anon_pages, s.mapped))
}

fn pressure<'a>(mem: &Mem<'_>) -> Node<'a> {
    let averages = |values: [f32; 3]| {
        let mut map = Map::default();
        for (name, x) in ["avg10", "avg60", "avg300"].into_iter().zip(values) {
            // As the kernel wrote it, in hundredths.
            let hundredths = (f64::from(x) * 100.0).round();
            map = map.put(name, Node::Known(DataValue::float(hundredths / 100.0)));
        }
        map
    };
    let both = |p: crate::model::system::accounting::Pressure| {
        Map::default()
            .put("some", averages(p.some))
            .put("full", averages(p.full))
    };
    mem.inputs.pressure.map(both).into()
}
