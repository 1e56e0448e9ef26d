//! The columns of leak suspects: processes, including ended ones, programs, and parts of the RAM.

use std::borrow::Cow;
use std::time::Duration;

use super::{AppliesTo, Cell, CellStyle, Column, Label, Priority, TableKind, Unit, Value, cell};
use crate::group::RowKey;
use crate::history::suspects::{Suspect, Users};
use crate::model::Identity;
use crate::text::{self, Align, fit, safe_prefix};
use crate::trend::Verdict;
use crate::units::{self, Units};

#[derive(Clone, Copy, Debug)]
pub enum Suspects {}

#[derive(Clone, Copy, Debug)]
pub struct SuspectRow<'a> {
    pub suspect: &'a Suspect,
    /// The snapshot's time, on the monotonic clock.
    pub now: Duration,
    /// When its growth stopped, as text: `14:02`, `4m ago`.
    pub stopped_at: Option<&'a str>,
}

impl TableKind for Suspects {
    type Row<'a> = SuspectRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;
}

type Entry = Column<Suspects>;

/// The time in seconds from which a limit counts as never reached: ten years.
const NEVER: f64 = 3_650.0 * 86_400.0;

/// Maximum width of a host's name, in columns.
const MAX_HOST: usize = 40;

/// Minimum width of a program's name beside how many of its processes have lost their parent.
const MIN_NAME: usize = 16;

/// Written if a suspect lacks the value.
const DASH: Value<'static> = Value::Text(Cow::Borrowed(b"-"));

pub static COLUMNS: &[Entry] = &[
    Entry::figure("verdict", "VERDICT", Unit::Verdict, 9, |r| {
        Value::Verdict(r.suspect.judgement.verdict)
    })
    .help("The verdict.")
    .priority(Priority::Highest),
    Entry::figure("slope", "PACE", Unit::Growth, 9, |r| {
        let judgement = r.suspect.judgement;
        match judgement.flat_since {
            _ if r.suspect.stopped.is_some() => DASH,
            None if r.suspect.is_population() => Value::Text(units::count_pace(judgement.slope).into_bytes().into()),
            _ => Value::Pace(judgement),
        }
    })
    .help("The slope of the footprint; if the number of processes grows, its rate.")
    .priority(Priority::Highest),
    Entry::figure("confidence", "SURE", Unit::Share, 4, |r| match r.suspect.judgement {
        leak if leak.verdict == Verdict::Leaking => Value::Confidence(leak),
        _ => DASH,
    })
    .help("The confidence that this is a leak. Growth is measured and has no confidence.")
    .priority(Priority::Low),
    Entry::figure("since", "FOR", Unit::Seconds, 6, |r| {
        let since = match r.suspect.stopped {
            Some(last) => Some(last.until.saturating_sub(last.since)),
            None => r.suspect.judgement.watched(r.suspect.ended.unwrap_or(r.now)),
        };
        since.map_or(DASH, |since| Value::Seconds(since.as_secs_f64()))
    })
    .help(
        "How long it has been growing, at least. Growth before zmtop started is unknown. Time in which the machine was \
         suspended or zmtop did not run does not count.",
    )
    .priority(Priority::High),
    Entry::figure("eta", "FULL IN", Unit::Seconds, 7, |r| match r.suspect.eta {
        None => DASH,
        Some(eta) if (0.0..NEVER).contains(&eta) => Value::Forecast(eta),
        Some(_) => Value::text(Ok(b"never")),
    })
    .help("How long until a limit is reached.")
    .priority(Priority::High),
    Entry::bytes("footprint", "FOOTP", |r| Value::Bytes(r.suspect.footprint))
        .help("The footprint, PSS + SwapPss; for memory held through descriptors, its size."),
    Entry::figure("pid", "PID", Unit::Count, 7, |r| {
        let is_here = |_: &Identity| r.suspect.facts.as_ref().is_none_or(|facts| facts.host.is_none());
        r.suspect
            .key
            .process()
            .filter(is_here)
            .map_or(Value::Blank, |id| Value::Id(id.pid.into()))
    })
    .help("The process id.")
    .applies_to(AppliesTo::Processes)
    .priority(Priority::High),
    Entry::text("user", "USER", 8, |r| match (&r.suspect.facts, &r.suspect.users) {
        (Some(facts), _) => facts.user.as_deref().map_or(DASH, |user| Value::text(Ok(user))),
        (None, Users { count: 0, .. }) => Value::Blank,
        (None, Users { count: 1, name, .. }) => name.as_deref().map_or(DASH, |user| Value::text(Ok(user))),
        (None, Users { count, .. }) => Value::Text(format!("{count} users").into_bytes().into()),
    })
    .help("The effective user. Several users may run programs of one name.")
    .applies_to(AppliesTo::Processes)
    .priority(Priority::Low),
    Entry::text("name", "WHO", 16, |r| match (&r.suspect.key, &r.suspect.facts) {
        (RowKey::Part(key), _) => Value::Text(key.name()),
        (RowKey::Group(key), _) => Value::text(Ok(key.label())),
        (RowKey::Process(_), Some(facts)) => Value::Text(facts.short_command()),
        (RowKey::Process(_), None) => Value::Blank,
    })
    .help("The command line, the group's name, or the part of the RAM.")
    .grows()
    .label(Label::Process)
    .priority(Priority::Highest),
];

/// Writes a suspect's cell. `room` is the width of the column that grows.
pub fn suspect_cell(column: &Entry, row: &SuspectRow<'_>, units: Units, room: usize) -> Cell {
    let value = (column.value)(row);
    let mut cell = match (&value, column.grows) {
        (Value::Text(name), true) => name_and_state(name, row, room),
        _ => cell(&value, units, column.width.into()),
    };
    if row.suspect.ended.is_some() {
        cell.style = CellStyle::Zero;
    }
    cell
}

/// Writes the name, then the state of the process or the size of the group, and the cause. A long name is cut.
fn name_and_state(name: &[u8], row: &SuspectRow<'_>, room: usize) -> Cell {
    let suspect = row.suspect;
    let host = suspect.facts.as_ref().and_then(|facts| facts.host.as_deref());
    let ended = suspect.ended.map(|at| units::span(row.now.saturating_sub(at)));
    let mut after = match (&suspect.key, suspect.hosts, host, &ended) {
        (RowKey::Group(_), Some((hosts, all)), ..) => format!(" on {hosts} of {all} hosts"),
        (RowKey::Group(_), None, ..) => format!(" ({})", units::counted(suspect.count as u64, "process")),
        (RowKey::Process(_), _, Some(host), _) => format!(" on {}", safe_prefix(host, MAX_HOST)),
        (RowKey::Process(_), _, None, Some(ago)) if suspect.times > 1 => {
            format!(" ({} times, ended {ago} ago)", suspect.times)
        }
        (RowKey::Process(_), _, None, Some(ago)) => format!(" (ended {ago} ago)"),
        (RowKey::Process(_), _, None, None) | (RowKey::Part(_), ..) => String::new(),
    };
    if suspect.orphans > 0 {
        let count = units::counted(suspect.count as u64, "process");
        let long = format!(" ({count}, {} whose parent is gone)", suspect.orphans);
        // The program's name matters more than the words.
        after = if text::width(&long) + name.len().min(MIN_NAME) <= room {
            long
        } else {
            format!(" ({}, {} left)", suspect.count, suspect.orphans)
        };
    }
    let plain = after.clone();
    if let Some(cause) = &suspect.cause {
        after = format!("{after}  {}", cause.text());
    }
    if let Some(at) = row.stopped_at {
        after = format!("{after}  grew until {at}, now {}", suspect.judgement.verdict.id());
    }
    let has_room = |after: &str| text::width(after) + name.len().min(MIN_NAME) <= room;
    if !has_room(&after) {
        after = match (row.stopped_at, ended) {
            (Some(at), _) => format!("  until {at}"),
            (None, Some(ago)) if !has_room(&plain) => format!(" ({ago} ago)"),
            (None, _) => plain,
        };
    }
    let room = room.saturating_sub(text::width(&after));
    let name = safe_prefix(name, room);
    Cell {
        text: fit(&name, text::width(&name).min(room), Align::Left) + &after,
        style: CellStyle::Plain,
    }
}
