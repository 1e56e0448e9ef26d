//! A row as bytes: its figures, series, and last judgement with its evidence.

use std::time::Duration;

use crate::history::evaluation::{GrowthLog, Latest};
use crate::history::kept::codec::{Reader, Writer};
use crate::history::kept::series;
use crate::history::process::LiveSet;
use crate::history::row::{MemorySample, RowHistory};
use crate::history::time_series::TimeSeries;
use crate::trend::{Judgement, Mark, Metric, Reasons, Standing, Verdict};

/// Maximum number of marks; a log has fewer.
const MAX_MARKS: u64 = 1000;

/// Returns the approximate minimum size of a row in bytes.
pub(super) fn least_bytes(row: &RowHistory) -> usize {
    series::least_bytes(&row.footprint) + series::least_bytes(&row.held)
}

pub(super) fn write(row: &RowHistory, out: &mut Writer) {
    out.option(row.known, |out, known| {
        known.figures().into_iter().for_each(|figure| out.number(figure));
        out.time(row.known_at.get());
    });
    series::write(&row.footprint, out);
    series::write(&row.held, out);
    out.number(u64::from(row.is_live_set) | u64::from(row.is_counted) << 1);
    out.number(row.evaluation.is_steady.into());
    out.option(row.evaluation.latest.as_ref(), |out, latest| {
        write_judgement(&latest.judgement, out);
        out.float(latest.log.work.into());
        out.number(latest.log.marks.len() as u64);
        for mark in &latest.log.marks {
            out.time(mark.at);
            out.number(mark.requested);
            out.float(mark.work.into());
        }
    });
}

/// Reads a row that was saved at `at`. No time in it may be later.
pub(super) fn read(input: &mut Reader<'_>, at: Duration) -> Option<RowHistory> {
    let until = u32::try_from(at.as_secs()).ok()?;
    let mut row = RowHistory::default();
    row.known = input.option(|input| {
        let mut figures = [0; MemorySample::COUNT];
        for figure in &mut figures {
            *figure = input.number()?.into();
        }
        row.known_at.set(past_time(input, at)?);
        Some(MemorySample::of_sums(figures))
    })?;
    row.footprint = series::read(input, until)?;
    row.held = series::read(input, until)?;
    let kind = input.number().filter(|kind| *kind < 4)?;
    (row.is_live_set, row.is_counted) = (kind & 1 != 0, kind & 2 != 0);
    row.evaluation.is_steady = input.flag()?;
    row.evaluation.latest = input.option(|input| {
        let judgement = read_judgement(input, at)?;
        let work = input.float()? as f32;
        let mut marks = Vec::new();
        for _ in 0..input.number().filter(|marks| *marks <= MAX_MARKS)? {
            let mark = Mark {
                at: past_time(input, at)?,
                requested: input.number()?,
                work: input.float()? as f32,
            };
            if marks.last().is_some_and(|last: &Mark| last.at > mark.at) {
                return None;
            }
            marks.push(mark);
        }
        // The work in between is unknown.
        let known_since = at + Duration::from_nanos(1);
        let log = GrowthLog {
            work,
            known_since,
            marks,
        };
        Some(Box::new(Latest {
            judgement,
            log,
            start: None,
            last_growth: None,
        }))
    })?;
    row.evaluation.changed = true;
    Some(row)
}

/// Reads a time that is not after the end of the bucket in which it was saved.
fn past_time(input: &mut Reader<'_>, at: Duration) -> Option<Duration> {
    let (longest, _) = TimeSeries::resolution(TimeSeries::RESOLUTIONS - 1);
    input.time().filter(|time| *time <= at + longest)
}

fn write_judgement(judgement: &Judgement, out: &mut Writer) {
    out.number(judgement.verdict as u64);
    out.number(judgement.metric as u64);
    out.float(judgement.slope);
    out.option(judgement.flat_since, Writer::time);
    out.float(judgement.confidence);
    out.option(judgement.since, Writer::time);
    out.number(judgement.floor);
    out.option(judgement.reasons, write_reasons);
    out.time(judgement.standing.at);
    out.float(judgement.standing.score);
    out.float(judgement.standing.base);
}

fn read_judgement(input: &mut Reader<'_>, at: Duration) -> Option<Judgement> {
    Some(Judgement {
        verdict: *Verdict::ALL.get(input.small()? as usize)?,
        metric: *Metric::ALL.get(input.small()? as usize)?,
        slope: input.float()?,
        flat_since: input.option(|input| past_time(input, at))?,
        confidence: input.float()?,
        since: input.option(|input| past_time(input, at))?,
        // The next judgement finds it.
        gap_until: None,
        unwatched: None,
        floor: input.number()?,
        reasons: input.option(read_reasons)?,
        standing: Standing {
            at: past_time(input, at)?,
            score: input.float().filter(|score| (0.0..=1.0).contains(score))?,
            base: input.float()?,
        },
    })
}

fn write_reasons(out: &mut Writer, reasons: Reasons) {
    match reasons {
        Reasons::Window {
            seconds,
            parts,
            grew,
            gave_back,
            load,
        } => {
            out.number(0);
            out.float(seconds);
            out.bytes.extend([parts, grew]);
            out.float(gave_back);
            out.option(load, Writer::float);
        }
        Reasons::Days { days, hours, risen } => {
            out.number(1);
            out.bytes.extend([days, hours, risen]);
        }
        Reasons::Fill {
            seconds,
            growth,
            requested,
        } => {
            out.number(2);
            out.float(seconds);
            out.number(growth);
            out.number(requested);
        }
    }
}

fn read_reasons(input: &mut Reader<'_>) -> Option<Reasons> {
    let kind = input.number()?;
    let byte = |input: &mut Reader<'_>| input.rest.split_off_first().copied();
    Some(match kind {
        0 => Reasons::Window {
            seconds: input.float()?,
            parts: byte(input)?,
            grew: byte(input)?,
            gave_back: input.float()?,
            load: input.option(Reader::float)?,
        },
        1 => Reasons::Days {
            days: byte(input)?,
            hours: byte(input)?,
            risen: byte(input)?,
        },
        2 => Reasons::Fill {
            seconds: input.float()?,
            growth: input.number()?,
            requested: input.number()?,
        },
        _ => return None,
    })
}

pub(super) fn write_live_set(out: &mut Writer, live: &LiveSet) {
    out.option(live.collections, Writer::number);
    out.time(live.began);
    out.number(live.lowest);
    out.number(live.highest);
    out.option(live.alive, Writer::number);
    out.number(live.capacity);
}

pub(super) fn read_live_set(input: &mut Reader<'_>, at: Duration) -> Option<LiveSet> {
    let mut live = LiveSet {
        collections: input.option(Reader::number)?,
        began: past_time(input, at)?,
        ..LiveSet::default()
    };
    live.lowest = input.number()?;
    live.highest = input.number().filter(|highest| *highest >= live.lowest)?;
    live.alive = input.option(Reader::number)?;
    live.capacity = input.number()?;
    Some(live)
}
