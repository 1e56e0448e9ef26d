//! Who leaks, as a table or as data.
//!
//! ```text
//! VERDICT       PACE  SURE   SINCE     ETA  FOOTP    PID  USER      WHO
//! leaking  11.4M/min   98%    3h12    5h02   2.1G  27213  alice     python3 train.py
//! growing    768K/h    71%      2d       -   310M         nginx     nginx (12 processes)
//! ```
//!
//! As JSON, schema `zmtop-leaks/1`, of which fields are only ever added:
//!
//! ```text
//! {"schema":"zmtop-leaks/1","time":"2026-11-20T23:51:00.123Z","host":"db1","by":null,"watched_s":600.0,
//!  "processes":412,"unreadable":0,"leaks":[
//!  {"pid":27213,"starttime":81234,"user":"alice","group":"python3","command":"python3 train.py","count":1,
//!   "verdict":"leaking","metric":"footprint","footprint":2254857830,"slope_bytes_per_s":199229.4,"confidence":0.98,
//!   "since":"2026-11-20T20:39:00.123Z","eta_s":18120.0,"ended":null,"times":0}]}
//! ```
//!
//! `metric` is what the verdict is on: the `footprint`, or what of it is `anonymous`. `pid`, `starttime`, `user` and `command` are null for a group. `since` is null where nothing grows, `eta_s`
//! where no wall is in the way, `ended` while it lives.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::csv::Sheet;
use super::grid::{Grid, Kind, Paper};
use super::json;
use crate::columns::DataValue;
use crate::columns::suspect::{COLUMNS, SuspectRow, suspect_cell};
use crate::group::{Coverage, GroupBy};
use crate::history::suspects::Suspect;
use crate::model::Snapshot;
use crate::record::time_text;
use crate::text::lossless;
use crate::units::{self, Units};

/// What is told, and of what.
#[derive(Clone, Debug)]
pub struct Leaks<'a> {
    /// The last of what was seen.
    pub snapshot: &'a Snapshot,
    /// Over how long.
    pub watched: Duration,
    /// The kind of group asked for.
    pub by: Option<GroupBy>,
    /// Those to tell of, in order.
    pub suspects: &'a [Suspect],
    /// How many more there are.
    pub more: usize,
}

/// How a table is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeaksOptions {
    /// How bytes are written.
    pub units: Units,
    /// The terminal's columns: no line is longer.
    pub width: Option<usize>,
    /// With escape sequences for bold and dim.
    pub color: bool,
}

#[derive(Serialize)]
struct Told<'a> {
    pid: Option<u32>,
    starttime: Option<u64>,
    user: Option<String>,
    group: Option<String>,
    command: Option<String>,
    count: usize,
    verdict: &'a str,
    metric: &'a str,
    footprint: u64,
    slope_bytes_per_s: f64,
    confidence: f64,
    since: Option<String>,
    eta_s: Option<f64>,
    ended: Option<String>,
    times: usize,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'a str,
    time: String,
    host: String,
    by: Option<&'a str>,
    watched_s: f64,
    processes: usize,
    unreadable: usize,
    leaks: Vec<Told<'a>>,
}

impl Leaks<'_> {
    /// Writes a table, or the one line that there is nothing to tell.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn table(&self, out: &mut dyn Write, options: LeaksOptions) -> io::Result<()> {
        if self.suspects.is_empty() {
            return writeln!(out, "{}", self.nothing());
        }
        let room = options.width.unwrap_or(200);
        let mut grid = Grid::new(COLUMNS.iter().map(|c| (c.title, c.align)));
        for suspect in self.suspects {
            let row = SuspectRow {
                suspect,
                now: self.snapshot.monotonic,
            };
            let cells = COLUMNS.iter().map(|c| suspect_cell(c, &row, options.units, room));
            grid.push(Kind::Row, cells.collect());
        }
        grid.write(
            out,
            Paper {
                width: options.width,
                color: options.color,
            },
        )?;
        match self.more {
            0 => Ok(()),
            more => writeln!(out, "and {more} more"),
        }
    }

    fn nothing(&self) -> String {
        let coverage = Coverage::of(self.snapshot);
        let hidden = match coverage.hidden {
            0 => String::new(),
            hidden => format!(", {hidden} more could not be read"),
        };
        format!(
            "nothing to tell of: {} processes seen over {}{hidden}",
            coverage.readable,
            units::span(self.watched)
        )
    }

    /// Writes one object, over many lines or on one.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn json(&self, out: &mut dyn Write, one_line: bool) -> io::Result<()> {
        let coverage = Coverage::of(self.snapshot);
        let document = Document {
            schema: "zmtop-leaks/1",
            time: time_text(self.snapshot.time),
            host: lossless(&self.snapshot.host).into_owned(),
            by: self.by.map(GroupBy::id),
            watched_s: self.watched.as_secs_f64(),
            processes: coverage.readable,
            unreadable: coverage.hidden,
            leaks: self.suspects.iter().map(|s| self.told(s)).collect(),
        };
        if one_line {
            json::line(out, &document)
        } else {
            json::document(out, &document)
        }
    }

    fn told<'a>(&self, suspect: &'a Suspect) -> Told<'a> {
        let process = suspect.key.process().zip(suspect.facts.as_ref());
        let text = |bytes: &[u8]| lossless(bytes).into_owned();
        Told {
            pid: process.map(|(id, _)| id.pid),
            starttime: process.map(|(id, _)| id.starttime),
            user: process.and_then(|(_, facts)| facts.user.as_deref().ok().map(text)),
            group: suspect.command.as_deref().map(text),
            command: process.map(|(_, facts)| text(&facts.command())),
            count: suspect.count,
            verdict: suspect.judgement.verdict.id(),
            metric: suspect.judgement.metric.id(),
            footprint: suspect.footprint,
            slope_bytes_per_s: suspect.judgement.slope,
            confidence: suspect.judgement.confidence,
            since: suspect.judgement.since.map(|at| self.clock(at)),
            eta_s: suspect.eta.filter(|eta| eta.is_finite()),
            ended: suspect.ended.map(|at| self.clock(at)),
            times: suspect.times,
        }
    }

    /// A moment of the monotonic clock on the wall.
    fn clock(&self, at: Duration) -> String {
        let ago = self.snapshot.monotonic.saturating_sub(at);
        time_text(self.snapshot.time.checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH))
    }

    /// Writes RFC 4180 CSV, with the fields of the JSON.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn csv(&self, out: impl Write) -> io::Result<()> {
        let mut sheet = Sheet::new(out);
        sheet.heading(NAMES)?;
        for suspect in self.suspects {
            let told = self.told(suspect);
            let facts = suspect.facts.as_ref();
            // Foreign bytes, which are made harmless as they are written.
            let raw = |bytes: Option<Cow<'_, [u8]>>| {
                bytes.map_or(DataValue::Null, |b| DataValue::Text(b.into_owned().into()))
            };
            let word = |text: Option<String>| text.map_or(DataValue::Null, |t| DataValue::Text(t.into_bytes().into()));
            let whole = |n: usize| DataValue::Integer(n as u64);
            sheet.row([
                told.pid.map_or(DataValue::Null, |n| DataValue::Integer(n.into())),
                told.starttime.map_or(DataValue::Null, DataValue::Integer),
                raw(facts.and_then(|facts| Some(Cow::Borrowed(facts.user.as_deref().ok()?)))),
                raw(suspect.command.as_deref().map(Cow::Borrowed)),
                raw(facts.map(|facts| facts.command())),
                whole(told.count),
                word(Some(told.verdict.into())),
                word(Some(told.metric.into())),
                DataValue::Integer(told.footprint),
                DataValue::float(told.slope_bytes_per_s),
                DataValue::float(told.confidence),
                word(told.since),
                told.eta_s.map_or(DataValue::Null, DataValue::float),
                word(told.ended),
                whole(told.times),
            ])?;
        }
        sheet.finish()
    }
}

/// The fields in order.
const NAMES: [&str; 15] = [
    "pid",
    "starttime",
    "user",
    "group",
    "command",
    "count",
    "verdict",
    "metric",
    "footprint",
    "slope_bytes_per_s",
    "confidence",
    "since",
    "eta_s",
    "ended",
    "times",
];
