//! Memory held through descriptors.

use super::Entry;
use crate::columns::{Needs, Row, Unit, Value};
use crate::group::GroupBy;
use crate::history::RowHistory;
use crate::model::{HeldFigures, HeldKind, Missing, ProcessSample};
use crate::trend::{Judgement, Verdict};

/// Reads a figure of what a process holds, or the sum of what several do, of that kind or of all; mappings hold nothing.
fn held<'a>(row: &Row<'a>, kind: Option<HeldKind>, get: fn(&HeldFigures) -> u64) -> Value<'a> {
    held_figures(row, |figures| {
        let bytes = get(figures);
        if figures.is_partial(kind) {
            Value::AtLeast(bytes)
        } else {
            Value::Bytes(bytes)
        }
    })
}

/// Reads a value of the figures of a process, or of their sum.
fn held_figures<'a>(row: &Row<'a>, get: impl FnOnce(&HeldFigures) -> Value<'a>) -> Value<'a> {
    if row.group.is_some_and(|group| group.key.by == GroupBy::Mapping) {
        return Value::Blank;
    }
    let figures = match (row.sample, row.totals) {
        (Some(sample), _) => sample.held().map(|held| held.figures),
        (None, Some(totals)) => totals.held,
        (None, None) => return Value::Blank,
    };
    figures.map_or_else(Value::Missing, |figures| get(&figures))
}

/// Needs of changes and judgements of what is held.
const OVER_TIME: Needs = Needs::HELD.and(Needs::HISTORY);

/// Reads a value of the past of what is held; `nothing` where nothing ever was. Without any past, blank; of more processes
/// than have one it is unknown.
fn over_time<'a>(row: &Row<'a>, nothing: Value<'a>, get: impl FnOnce(&'a RowHistory) -> Value<'a>) -> Value<'a> {
    match (row.sample.map(ProcessSample::held), row.held) {
        (Some(Err(why)), _) => Value::Missing(why),
        (_, Some(history)) => get(history),
        (Some(Ok(held)), None) if row.change.is_some() && held.figures.total() > 0 => Value::Missing(Missing::TooMany),
        (Some(Ok(_)), None) if row.change.is_some() => nothing,
        _ => Value::Blank,
    }
}

/// Reads a part of a judgement; pending while too little was seen.
fn known<'a>(history: &'a RowHistory, get: impl FnOnce(&'a Judgement) -> Value<'a>) -> Value<'a> {
    let judged = history.trend();
    if judged.verdict == Verdict::Unknown {
        return Value::Missing(Missing::Pending);
    }
    get(judged)
}

pub(super) const COLUMNS: &[Entry] = &[
    Entry::bytes("held", "HELD", |r| held(r, None, HeldFigures::total))
        .help(
            "Memory held through file descriptors, which is in nobody's PSS. What several processes hold is divided among \
             them, so that sums count it once; ≥ where some of it could not be read. Formula: GPU + DMABUF + BPF + MEMFD + \
             URING.",
        )
        .metric("zmtop_held_bytes")
        .needs(Needs::HELD),
    Entry::figure("held_unread", "HUNREAD", Unit::Count, 7, |r| {
        held_figures(r, |figures| {
            let unread = HeldKind::ALL.into_iter().filter(|kind| figures.is_partial(Some(*kind)));
            Value::Count(unread.count() as u64)
        })
    })
    .help(
        "How many kinds of what is held could not be read in part: HELD is the least that it is then. Formula: the number of GPU, \
         DMABUF, BPF, MEMFD and URING that have a ≥.",
    )
    .additive(true)
    .needs(Needs::HELD),
    Entry::figure("held_change", "ΔHELD", Unit::Delta, 6, |r| {
        over_time(r, Value::Delta(0), |history| {
            history.change().pss.map_or(Value::Missing(Missing::Pending), Value::Delta)
        })
    })
    .timed()
    .help("Change of HELD over the time that ΔPSS is taken over (ui.delta). Formula: HELD now − HELD then.")
    .needs(OVER_TIME),
    Entry::figure("held_trend", "HTREND", Unit::Trend, 16, |r| {
        over_time(r, Value::Blank, |history| known(history, |judged| Value::Trend(*judged, history.change().pss)))
    })
    .help(
        "What HELD does, and how fast its lowest values move, judged as the footprint is. Blank where nothing was ever held. \
         Filter: held_trend>1M/min.",
    )
    .needs(OVER_TIME),
    Entry::figure("held_verdict", "HVERDICT", Unit::Verdict, 9, |r| {
        over_time(r, Value::Blank, |history| known(history, |judged| Value::Verdict(judged.verdict)))
    })
    .help("The word of that, as the footprint has one: leaking, growing, warming, steady or shrinking. Filter: \
         held_verdict:leaking.")
    .needs(OVER_TIME),
    Entry::figure("mark_held", "ΔMHELD", Unit::Delta, 6, |r| {
        let change = r.mark.and_then(|mark| match (r.group, r.sample) {
            (Some(group), _) => mark.held_by_group(group, r.snapshot),
            (None, Some(sample)) => mark.held(sample),
            (None, None) => None,
        });
        change.map_or(Value::Blank, |change| change.map_or_else(Value::Missing, Value::Delta))
    })
    .help(
        "Change of HELD since the mark that was set (b in the monitor). Blank where HELD was not read when it was. Formula: HELD \
         now − HELD at the mark.",
    )
    .needs(OVER_TIME.and(Needs::MARK)),
    Entry::bytes("gpu", "GPU", |r| held(r, Some(HeldKind::Gpu), |f| f.of(HeldKind::Gpu)))
        .help(
            "Buffers of graphics and compute devices in RAM, by the drivers' own count; a client that several processes hold \
             is divided among them, and a buffer that two clients share counts in both. Kernel: drm-resident-memory, -system, \
             -gtt and -cpu in fdinfo; drm-memory-* or drm-total-* where those are missing.",
        )
        .metric("zmtop_held_gpu_bytes")
        .needs(Needs::HELD),
    Entry::bytes("vram", "VRAM", |r| held(r, Some(HeldKind::Gpu), |f| f.vram))
        .help(
            "Buffers in the own memory of a graphics or compute device, which is no RAM and not in HELD. Kernel: the other \
             regions of drm-resident-* in fdinfo.",
        )
        .metric("zmtop_held_vram_bytes")
        .needs(Needs::HELD),
    Entry::bytes("dmabuf", "DMABUF", |r| held(r, Some(HeldKind::DmaBuf), |f| f.of(HeldKind::DmaBuf)))
        .help(
            "Dma-bufs, each divided by the processes that hold it. Those of a graphics driver whose client the process is \
             are in GPU. Kernel: size in fdinfo (Linux 5.3).",
        )
        .metric("zmtop_held_dmabuf_bytes")
        .needs(Needs::HELD),
    Entry::bytes("bpf", "BPF", |r| held(r, Some(HeldKind::Bpf), |f| f.of(HeldKind::Bpf)))
        .help("BPF maps and programs, each divided by the processes that hold it. Kernel: memlock in fdinfo.")
        .metric("zmtop_held_bpf_bytes")
        .needs(Needs::HELD),
    Entry::bytes("memfd", "MEMFD", |r| held(r, Some(HeldKind::Memfd), |f| f.of(HeldKind::Memfd)))
        .help(
            "Memfds and removed files on tmpfs, less what their holders map, each divided by those. Swapped-out pages \
             count too. Formula: (st_blocks × 512 − mapped) ÷ holders.",
        )
        .metric("zmtop_held_memfd_bytes")
        .needs(Needs::HELD),
    Entry::bytes("uring", "URING", |r| held(r, Some(HeldKind::Uring), |f| f.of(HeldKind::Uring)))
        .help(
            "Buffers registered with io_uring, and so pinned, that the process has unmapped since; those it maps are in its \
             PSS. Formula: lengths of UserBufs in fdinfo − mapped.",
        )
        .metric("zmtop_held_uring_bytes")
        .needs(Needs::HELD),
];
