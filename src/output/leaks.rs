//! The report of suspects: what grows, how fast, and how sure it is.
//!
//! ```text
//! VERDICT       PACE  SURE   SINCE     ETA  FOOTP    PID  USER      WHO
//! leaking  11.4M/min   98%    3h12    5h02   2.1G  27213  alice     python3 train.py
//!   grew all through 2h50, gave nothing back; mostly [heap] +2.0G
//! growing    768K/h    71%      2d       -   310M         nginx     nginx (12 processes)
//!   11 of its 12 processes grow
//! ```
//!
//! As JSON, schema `zmtop-leaks/1`, of which fields are only ever added:
//!
//! ```text
//! {"schema":"zmtop-leaks/1","time":"2026-11-20T23:51:00.123Z","host":"db1","by":null,"watched_s":600.0,
//!  "processes":412,"unreadable":0,"without_history":0,"leaks":[
//!  {"pid":27213,"starttime":81234,"user":"alice","group":"python3 train.py","command":"python3 train.py","count":1,
//!   "verdict":"leaking","metric":"held","footprint":2254857830,"slope_bytes_per_s":199229.4,"confidence":0.98,
//!   "since":"2026-11-20T20:39:00.123Z","eta_s":18120.0,"ended":null,"times":0,"flat_since":null,
//!   "alike":0,"mapping":"[heap]","mapping_growth":2147483648,"part":null,"cause":null,"reasons":["grew all through 2h50","gave nothing back"]}]}
//! ```
//!
//! A limit that is reached soon is told first, as a line of text; as JSON in `dangers`:
//!
//! ```text
//! {"limit":"machine","cgroup":null,"left":17179869184,"pace_bytes_per_s":1572864.0,"full_in_s":720.0,"pid":27213,
//!  "starttime":81234,"group":"python3 train.py","taker_bytes_per_s":1398101.3}
//! ```
//!
//! `limit` is `machine`, `cgroup`, or `address-space` (`RLIMIT_AS`) of the process `pid`.
//! `pid` and `starttime` are null where a program as a whole takes the memory, `group` too where no single one does.
//!
//! `metric` is what the verdict is on: what of the footprint is `held` (anonymous, shared and swapped memory), pages of a
//! `file`, which are never a leak, what collections left of the heap of a Java virtual machine and what it holds beyond
//! that (`live-set`), such a `heap` that grows though its live set does not, the `rss` (its anonymous part and `VmSwap`) of a process whose memory may
//! not be read, what it holds through its `descriptors` and is in no PSS (`footprint` is the size of that then), or the
//! `footprint`, where the kernel does not tell the kinds of it. `pid`, `starttime`,
//! `user` and `command` are null for a group. `since` is null where nothing grows, `eta_s` where no limit is in the way,
//! `ended` while it lives, `flat_since` while it goes on: what is flat has a slope of 0. `reasons` says in words why it is
//! called a leak, or why growth that has lasted is not called one yet, and is empty for the rest; in CSV they are one text. `alike` is the number of processes of a program
//! that grow and are told of by its line alone. `mapping` is the one that grew most since the growth was seen first, by
//! `mapping_growth` bytes; both are null where mappings were not read: of a recording, and of what ended. `part` is the id of
//! a part of the RAM in `zmtop mem`, such as `slab_unreclaimable`, and null for the rest. `cause` says what grows where the
//! row does not: `held: memfd` of what is held through descriptors, `slab kmalloc-64` of
//! unreclaimable slab.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use crate::columns::suspect::{COLUMNS, SuspectRow, suspect_cell};
use crate::columns::{Cell, DataValue};
use crate::group::{Coverage, GroupBy, RowKey};
use crate::history::Shortfall;
use crate::history::dangers::{Danger, Limit};
use crate::history::mappings::MappingGrowth;
use crate::history::suspects::{Cause, Suspect};
use crate::history::system::Suspends;
use crate::model::Snapshot;
use crate::output::data::{DataTable, Document, Node, Object, described_object};
use crate::output::text_table::TextTable;
use crate::output::{OutputStyle, Report};
use crate::record::time_text;
use crate::schema::{Field, Schema};
use crate::{text, units};

/// The suspects found in what was watched.
#[derive(Clone, Debug)]
pub struct LeaksReport<'a> {
    /// The last snapshot.
    pub snapshot: &'a Snapshot,
    /// The suspends of the machine, for times of the day.
    pub suspends: &'a Suspends,
    /// Time from the first snapshot to the last.
    pub watched: Duration,
    /// The kind of group asked for.
    pub by: Option<GroupBy>,
    /// The suspects to list, in order.
    pub suspects: &'a [Suspect],
    /// The limits that are reached soon.
    pub dangers: &'a [Danger],
    /// The mapping of each that grew most, as far as that was read.
    pub grown: &'a HashMap<RowKey, MappingGrowth>,
    /// Number of suspects beyond those.
    pub more: usize,
    /// Rows that the history did not keep, of which nothing can be said.
    pub shortfall: Shortfall,
    /// Style of the text.
    pub style: OutputStyle,
}

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-leaks/1";

/// Columns of a mapping's name that are written.
const MAX_MAPPING: usize = 60;

impl LeaksReport<'_> {
    /// Returns the mapping of a suspect that grew most, where that was read.
    fn grown_in(&self, suspect: &Suspect) -> Option<&MappingGrowth> {
        self.grown.get(&suspect.key).filter(|_| !suspect.is_held())
    }

    /// Returns a moment of the monotonic clock as a time of the day.
    fn wall_clock(&self, at: Duration) -> String {
        let ago = self.suspends.elapsed(at, self.snapshot.monotonic);
        time_text(self.snapshot.time.checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH))
    }

    /// Writes of how many rows nothing can be said, for want of memory.
    fn write_shortfall(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.shortfall.rows_text() {
            Some(rows) => writeln!(out, "{rows} without history: history.max_memory is too small for them"),
            None => Ok(()),
        }
    }

    /// Writes a line for each limit that is reached soon.
    fn write_dangers(&self, out: &mut dyn Write) -> io::Result<()> {
        for danger in self.dangers {
            let forecast = &danger.forecast;
            let what = match &danger.limit {
                Limit::Machine => "memory".into(),
                Limit::Cgroup(path) => format!("cgroup {}", text::safe(path)),
                Limit::AddressSpace(id) => format!("the address space of {} (RLIMIT_AS)", id.pid),
            };
            let taker = match &danger.taker {
                None => "by no single process".into(),
                Some((key, pace)) => {
                    let name = text::safe_prefix(self.name_of(key), 120).into_owned();
                    let pid = key.process().map_or(String::new(), |id| format!("{} ", id.pid));
                    format!("{pid}{name} +{}", units::pace(*pace))
                }
            };
            writeln!(
                out,
                "DANGER: {what} is full in {} at this pace ({} left, falling by {}): {taker}",
                units::span(forecast.time()),
                units::bytes(forecast.left, self.style.units),
                units::pace(forecast.pace),
            )?;
        }
        Ok(())
    }

    /// Returns the raw name of a process or a program.
    fn name_of<'s>(&'s self, key: &'s RowKey) -> &'s [u8] {
        match key {
            RowKey::Part(key) => key.label.as_bytes(),
            RowKey::Group(key) => key.label(),
            RowKey::Process(id) => self.snapshot.row(*id).map_or(&[], |row| &row.facts.comm),
        }
    }

    /// Returns what is to be said of a suspect beside its figures: why it is called a leak, how many of its processes grow,
    /// and where.
    fn note(&self, suspect: &Suspect) -> String {
        let mut parts = Vec::new();
        let reasons = suspect.judgement.texts();
        if !reasons.is_empty() {
            parts.push(reasons.join(", "));
        }
        if suspect.alike > 0 {
            parts.push(format!("{} of its {} processes grow", suspect.alike, suspect.count));
        }
        if let Some(grown) = self.grown_in(suspect) {
            let by = grown.growth().unwrap_or_default();
            let name = text::safe_prefix(&grown.name, MAX_MAPPING);
            parts.push(format!("mostly {name} {}", units::delta(by, self.style.units)));
        }
        parts.join("; ")
    }
}

/// Returns the name of a kind of limit, and the path of a cgroup.
fn limit(limit: &Limit) -> (&'static str, Option<&[u8]>) {
    match limit {
        Limit::Machine => ("machine", None),
        Limit::Cgroup(path) => ("cgroup", Some(path)),
        Limit::AddressSpace(_) => ("address-space", None),
    }
}

described_object! {
    fn danger, danger_fields<'s>(report: &'s LeaksReport<'_>, danger: &'s Danger) -> Object<'s> {
        /// What is reached: the machine, a cgroup, or the address space (`RLIMIT_AS`) of the process `pid`.
        "limit": one_of(["machine", "cgroup", "address-space"]) => limit(&danger.limit).0,
        /// The path of the cgroup.
        "cgroup": foreign().null("another limit") => limit(&danger.limit).1.map(Node::bytes),
        /// What is left of it.
        "left": bytes() => danger.forecast.left,
        /// How fast that falls.
        "pace_bytes_per_s": pace() => danger.forecast.pace,
        /// The time until it is reached at this pace.
        "full_in_s": seconds() => danger.forecast.seconds(),
        /// The process that takes the memory.
        "pid": id().null("a program as a whole, or no single one") => {
            danger.taker.as_ref().and_then(|(key, _)| key.process()).map(|id| u64::from(id.pid))
        },
        /// When that process started, in ticks since boot.
        "starttime": id().null("a program as a whole, or no single one") => {
            danger.taker.as_ref().and_then(|(key, _)| key.process()).map(|id| id.starttime)
        },
        /// The program that takes the memory, or the name of the process.
        "group": foreign().null("no single one") => {
            danger.taker.as_ref().map(|(key, _)| Node::bytes(report.name_of(key)))
        },
        /// How fast it takes it.
        "taker_bytes_per_s": pace().null("no single one") => danger.taker.as_ref().map(|(_, pace)| *pace),
    }
}

described_object! {
    fn object_of, fields<'s>(report: &'s LeaksReport<'_>) -> Object<'s> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// When the last snapshot was taken.
        "time": time() => time_text(report.snapshot.time),
        /// The name of the host.
        "host": foreign() => Node::bytes(&report.snapshot.host),
        /// What suspects are grouped by.
        "by": text().null("processes and programs") => report.by.map(GroupBy::id),
        /// How long was watched.
        "watched_s": seconds() => report.watched.as_secs_f64(),
        /// Processes whose memory could be read.
        "processes": count() => Coverage::of(report.snapshot).readable,
        /// Processes whose memory could not be read.
        "unreadable": count() => Coverage::of(report.snapshot).hidden,
        /// Processes and groups of which nothing can be said, for want of memory for their history.
        "without_history": count() => report.shortfall.processes + report.shortfall.groups,
        /// The suspects, in order.
        "leaks": list(object(suspect_fields())) => {
            report.suspects.iter().map(|one| suspect(report, one)).collect::<Vec<_>>()
        },
        /// The limits that are reached soon.
        "dangers": list(object(danger_fields())) => {
            report.dangers.iter().map(|one| danger(report, one)).collect::<Vec<_>>()
        },
    }
}

described_object! {
    fn suspect, suspect_fields<'s>(report: &'s LeaksReport<'_>, s: &'s Suspect) -> Object<'s> {
        /// Its pid.
        "pid": id().null("a group, or a part of the RAM") => s.key.process().map(|id| id.pid),
        /// When it started, in ticks since boot.
        "starttime": id().null("a group, or a part of the RAM") => s.key.process().map(|id| id.starttime),
        /// The name of its user.
        "user": foreign().null("a group, or unknown") => {
            s.facts.as_ref().and_then(|facts| facts.user.as_deref().ok()).map(Node::bytes)
        },
        /// The program, or the name of the group.
        "group": foreign().null("unknown") => s.command.as_deref().map(Node::bytes),
        /// Its command line.
        "command": foreign().null("a group, or unknown") => s.facts.as_ref().map(|facts| DataValue::Text(facts.command())),
        /// Its processes.
        "count": count() => s.count,
        /// The verdict: leaking, growing, warming, steady or shrinking.
        "verdict": text() => s.judgement.verdict.id(),
        /// What the verdict is on: held, file, live-set, heap, rss, descriptors, footprint or a part of the RAM.
        "metric": text() => s.judgement.metric.id(),
        /// What it costs now: PSS and swap, or the figure that is judged.
        "footprint": bytes() => s.footprint,
        /// How fast its lowest values move; 0 of what is flat.
        "slope_bytes_per_s": pace().null("not known yet") => s.judgement.slope,
        /// How sure the verdict is.
        "confidence": share().null("not known yet") => s.judgement.confidence,
        /// Since when it grows.
        "since": time().null("nothing grows") => s.judgement.since.map(|at| report.wall_clock(at)),
        /// The time until a limit is reached at this pace.
        "eta_s": seconds().null("no limit is in the way") => s.eta,
        /// When it ended.
        "ended": time().null("it lives") => s.ended.map(|at| report.wall_clock(at)),
        /// How many of its processes ended while they grew.
        "times": count() => s.times,
        /// Since when it grows no more.
        "flat_since": time().null("it goes on") => s.judgement.flat_since.map(|at| report.wall_clock(at)),
        /// The processes of a program that grow and are told of by its line alone.
        "alike": count() => s.alike,
        /// The mapping that grew most since the growth was first seen.
        "mapping": foreign().null("mappings were not read") => report.grown_in(s).map(|grown| Node::bytes(&grown.name)),
        /// By how much that mapping grew.
        "mapping_growth": bytes().null("mappings were not read") => {
            report.grown_in(s).and_then(MappingGrowth::growth).map(i64::unsigned_abs)
        },
        /// The id of a part of the RAM, as in zmtop-mem/1.
        "part": text().null("a process or a group") => s.key.part().map(|key| key.id),
        /// What grows where the row does not: held: memfd, slab kmalloc-64.
        "cause": foreign().null("the row itself, or unknown") => s.cause.as_ref().map(Cause::text),
        /// Why it is called a leak, or why growth that has lasted is not called one yet, in words.
        "reasons": list(text()) => s.judgement.texts(),
    }
}

/// Returns what the document consists of.
pub fn schema() -> Schema {
    Schema {
        name: SCHEMA,
        help: "What grows and what leaks, and the limits that are reached soon. Written by `zmtop leaks`.",
        fields: fields(),
    }
}

impl Report for LeaksReport<'_> {
    /// Writes a table, or one line that nothing grows.
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_dangers(out)?;
        if self.suspects.is_empty() {
            let coverage = Coverage::of(self.snapshot);
            let hidden = match coverage.hidden {
                0 => String::new(),
                hidden => format!(", {hidden} more could not be read"),
            };
            let (readable, watched) = (coverage.readable, units::span(self.watched));
            writeln!(
                out,
                "nothing to report: {readable} processes seen over {watched}{hidden}"
            )?;
            return self.write_shortfall(out);
        }
        // A pipe gets long command lines, but not a page of one.
        let room = self.style.width.unwrap_or(200);
        let mut table = TextTable::titled(COLUMNS.iter().map(|c| (c.title, c.align())));
        for suspect in self.suspects {
            let row = SuspectRow {
                suspect,
                now: self.snapshot.monotonic,
            };
            let cell = |column| suspect_cell(column, &row, self.style.units, room);
            let cells: Vec<Cell> = COLUMNS.iter().map(cell).collect();
            table.push(&cells);
            let note = self.note(suspect);
            if !note.is_empty() {
                table.push_note(note);
            }
        }
        table.write(out, &self.style)?;
        if self.more > 0 {
            writeln!(out, "and {} more", self.more)?;
        }
        self.write_shortfall(out)
    }

    fn document(&self) -> Document<'_> {
        Document::Object(object_of(self))
    }

    fn table(&self) -> DataTable<'_> {
        let name = |field: Field| match field.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(_) => "",
        };
        DataTable {
            names: Some(suspect_fields().into_iter().map(name).collect()),
            rows: Box::new(self.suspects.iter().map(|one| suspect(self, one).into_row())),
        }
    }
}
