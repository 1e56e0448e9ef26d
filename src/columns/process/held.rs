//! Memory held through descriptors.

use super::Entry;
use crate::columns::{Needs, Row, Value};
use crate::group::GroupBy;
use crate::model::{HeldFigures, HeldKind};

/// Reads a figure of what a process holds, or the sum of what several do; mappings hold nothing.
fn held<'a>(row: &Row<'a>, get: fn(&HeldFigures) -> u64) -> Value<'a> {
    if row.group.is_some_and(|group| group.key.by == GroupBy::Mapping) {
        return Value::Blank;
    }
    let figures = match (row.sample, row.totals) {
        (Some(sample), _) => sample.held().map(|held| held.figures),
        (None, Some(totals)) => totals.held,
        (None, None) => return Value::Blank,
    };
    Value::bytes(figures.map(|figures| get(&figures)))
}

pub(super) const COLUMNS: &[Entry] = &[
    Entry::bytes("held", "HELD", |r| held(r, HeldFigures::total))
        .help(
            "Memory held through file descriptors, which is in nobody's PSS. What several processes hold is divided among \
             them, so that sums count it once. Formula: GPU + DMABUF + BPF + MEMFD + URING.",
        )
        .metric("zmtop_held_bytes")
        .needs(Needs::HELD),
    Entry::bytes("gpu", "GPU", |r| held(r, |f| f.of(HeldKind::Gpu)))
        .help(
            "Buffers of graphics and compute devices in RAM, by the drivers' own count; a client that several processes hold \
             is divided among them, and a buffer that two clients share counts in both. Kernel: drm-resident-memory, -system, \
             -gtt and -cpu in fdinfo; drm-memory-* or drm-total-* where those are missing.",
        )
        .metric("zmtop_held_gpu_bytes")
        .needs(Needs::HELD),
    Entry::bytes("vram", "VRAM", |r| held(r, |f| f.vram))
        .help(
            "Buffers in the own memory of a graphics or compute device, which is no RAM and not in HELD. Kernel: the other \
             regions of drm-resident-* in fdinfo.",
        )
        .metric("zmtop_held_vram_bytes")
        .needs(Needs::HELD),
    Entry::bytes("dmabuf", "DMABUF", |r| held(r, |f| f.of(HeldKind::DmaBuf)))
        .help(
            "Dma-bufs, each divided by the processes that hold it. Those of a graphics driver whose client the process is \
             are in GPU. Kernel: size in fdinfo (Linux 5.3).",
        )
        .metric("zmtop_held_dmabuf_bytes")
        .needs(Needs::HELD),
    Entry::bytes("bpf", "BPF", |r| held(r, |f| f.of(HeldKind::Bpf)))
        .help("BPF maps and programs, each divided by the processes that hold it. Kernel: memlock in fdinfo.")
        .metric("zmtop_held_bpf_bytes")
        .needs(Needs::HELD),
    Entry::bytes("memfd", "MEMFD", |r| held(r, |f| f.of(HeldKind::Memfd)))
        .help(
            "Memfds and removed files on tmpfs, less what their holders map, each divided by those. Swapped-out pages \
             count too. Formula: (st_blocks × 512 − mapped) ÷ holders.",
        )
        .metric("zmtop_held_memfd_bytes")
        .needs(Needs::HELD),
    Entry::bytes("uring", "URING", |r| held(r, |f| f.of(HeldKind::Uring)))
        .help(
            "Buffers registered with io_uring, and so pinned, that the process has unmapped since; those it maps are in its \
             PSS. Formula: lengths of UserBufs in fdinfo − mapped.",
        )
        .metric("zmtop_held_uring_bytes")
        .needs(Needs::HELD),
];
