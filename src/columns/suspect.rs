//! The columns of suspects: a table of their own, as they are processes, programs, and those that ended.

use std::time::Duration;

use super::cell::{Cell, Tone, trend_tone};
use crate::group::RowKey;
use crate::history::suspects::Suspect;
use crate::text::{Align, safe_prefix};
use crate::units::{self, Units};

/// One column.
#[derive(Clone, Copy, Debug)]
pub struct SuspectColumn {
    /// The heading.
    pub title: &'static str,
    /// Padding.
    pub align: Align,
    /// Terminal columns; of the last one the least.
    pub width: usize,
    cell: fn(&Suspect, &Scale) -> String,
}

/// How a suspect is written.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The snapshot's time, on the monotonic clock.
    pub now: Duration,
    /// How bytes are written.
    pub units: Units,
    /// Terminal columns for who it is; more is cut.
    pub room: usize,
}

const fn column(
    title: &'static str,
    align: Align,
    width: usize,
    cell: fn(&Suspect, &Scale) -> String,
) -> SuspectColumn {
    SuspectColumn {
        title,
        align,
        width,
        cell,
    }
}

/// From left to right.
pub const COLUMNS: &[SuspectColumn] = &[
    column("VERDICT", Align::Left, 9, |s, _| s.judgement.verdict.id().into()),
    column("PACE", Align::Right, 9, |s, _| signed_pace(s)),
    column("SURE", Align::Right, 4, |s, _| format!("{:.0}%", s.judgement.percent())),
    column("SINCE", Align::Right, 6, |s, scale| {
        s.judgement
            .since
            .map_or_else(|| "-".into(), |since| units::span(scale.now.saturating_sub(since)))
    }),
    column("ETA", Align::Right, 6, |s, _| s.eta.map_or_else(|| "-".into(), span)),
    column("FOOTP", Align::Right, 5, |s, scale| {
        units::bytes(s.footprint, scale.units)
    }),
    column("PID", Align::Right, 7, |s, _| {
        s.key.process().map_or_else(String::new, |id| id.pid.to_string())
    }),
    column("USER", Align::Left, 8, |s, _| match &s.facts {
        Some(facts) => facts
            .user
            .as_deref()
            .map_or_else(|_| "-".into(), |user| safe_prefix(user, 8).into_owned()),
        None => String::new(),
    }),
    column("WHO", Align::Left, 16, who),
];

impl SuspectColumn {
    /// What stands in it, safe to print.
    pub fn cell(&self, suspect: &Suspect, scale: &Scale) -> Cell {
        let loud = matches!(self.title, "VERDICT" | "PACE");
        Cell {
            text: (self.cell)(suspect, scale),
            tone: if suspect.ended.is_some() {
                Tone::Zero
            } else if loud {
                trend_tone(suspect.judgement.verdict)
            } else {
                Tone::Plain
            },
        }
    }
}

fn signed_pace(suspect: &Suspect) -> String {
    match suspect.judgement.slope {
        0.0 => "0".into(),
        slope if slope < 0.0 => format!("-{}", units::pace(slope)),
        slope => units::pace(slope),
    }
}

/// A time to come, in seconds; what is further away than ten years is never.
fn span(seconds: f64) -> String {
    match Duration::try_from_secs_f64(seconds) {
        Ok(span) if span < Duration::from_secs(3_650 * 86_400) => units::span(span),
        _ => "never".into(),
    }
}

/// Who it is, what became of it, in so many columns as there are.
fn who(suspect: &Suspect, scale: &Scale) -> String {
    let after = match (&suspect.key, suspect.ended) {
        (RowKey::Group(_), _) if suspect.count == 1 => " (1 process)".into(),
        (RowKey::Group(_), _) => format!(" ({} processes)", suspect.count),
        (RowKey::Process(_), None) => String::new(),
        (RowKey::Process(_), Some(at)) => {
            let ago = units::span(scale.now.saturating_sub(at));
            match suspect.times {
                0 | 1 => format!(" (ended {ago} ago)"),
                times => format!(" ({times} times, ended {ago} ago)"),
            }
        }
    };
    let room = scale.room.saturating_sub(after.len());
    let name = match (&suspect.key, &suspect.facts) {
        (RowKey::Group(key), _) => safe_prefix(key.label(), room).into_owned(),
        (RowKey::Process(_), Some(facts)) => safe_prefix(&facts.short_command(), room).into_owned(),
        (RowKey::Process(_), None) => String::new(),
    };
    let wide = crate::text::width(&name).min(room);
    crate::text::fit(&name, wide, Align::Left) + &after
}
