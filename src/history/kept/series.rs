//! A time series as bytes: each run as its difference from the previous one.

use std::collections::VecDeque;

use crate::history::kept::codec::{Reader, Writer};
use crate::history::time_series::{CurrentValue, Past, Run, TimeSeries};

/// Minimum size of a run in bytes.
const MIN_RUN: usize = 5;

/// Returns the approximate minimum size of a series in bytes.
pub(super) fn least_bytes(series: &TimeSeries) -> usize {
    let rings = series.past.as_ref().map(|past| past.rings.iter().map(VecDeque::len));
    rings.map_or(1, |lengths| lengths.sum::<usize>() * MIN_RUN)
}

pub(super) fn write(series: &TimeSeries, out: &mut Writer) {
    out.option(series.current.get(), |out, current| {
        out.number(current.from.into());
        out.number((current.to - current.from).into());
        out.number(current.kib.into());
        out.number(series.first.into());
        out.option(series.past.as_ref(), |out, past| {
            for ring in &past.rings {
                out.number(ring.len() as u64);
                let (mut next, mut before) = (0, 0);
                for run in ring {
                    out.number((run.first - next).into());
                    out.number(run.len.into());
                    out.difference(i64::from(run.min) - i64::from(before));
                    out.number((run.last - run.min).into());
                    out.number((run.max - run.last).into());
                    (next, before) = (run.first + run.len, run.last);
                }
            }
        });
    });
}

/// Reads a series, and adds a gap after its last value.
pub(super) fn read(input: &mut Reader<'_>, until: u32) -> Option<TimeSeries> {
    let mut series = TimeSeries {
        has_gap: true,
        ..TimeSeries::default()
    };
    let present = input.option(|input| {
        let from = input.small()?;
        let to = from.checked_add(input.small()?).filter(|to| *to <= until)?;
        let kib = input.small()?;
        series.first = input.small().filter(|first| *first <= from)?;
        series.past = input.option(|input| past(input, from))?;
        Some(CurrentValue { kib, from, to })
    })?;
    series.current.set(present);
    Some(series)
}

/// Reads the buckets of all resolutions. None may begin after the second `until`.
fn past(input: &mut Reader<'_>, until: u32) -> Option<Box<Past>> {
    let mut past = Box::<Past>::default();
    for (level, ring) in past.rings.iter_mut().enumerate() {
        let (step, span) = TimeSeries::resolution(level);
        let (step, most) = (step.as_secs() as u32, span.as_secs() / step.as_secs());
        let runs = input.number().filter(|runs| *runs <= most + 1)?;
        ring.reserve_exact((runs as usize).min(input.rest.len() / MIN_RUN));
        let (mut next, mut before) = (0_u32, 0);
        for _ in 0..runs {
            let first = next.checked_add(input.small()?)?;
            let len = input.small().filter(|len| *len > 0)?;
            next = first.checked_add(len).filter(|next| (next - 1) <= until / step)?;
            let min = i64::from(before).checked_add(input.difference()?)?.try_into().ok()?;
            let last = u32::checked_add(min, input.small()?)?;
            let max = last.checked_add(input.small()?)?;
            before = last;
            ring.push_back(Run {
                first,
                len,
                min,
                last,
                max,
            });
        }
    }
    past.count();
    Some(past)
}
