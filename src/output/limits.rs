//! The report of the memory that cgroups needed in a recording, and the limits to set.
//!
//! ```text
//! MEDIAN   P99   PEAK  LIMIT  NEAR  KILLS    FOR    MAX  SURE   KIND  NAME
//!  310M   412M   431M   512M  84.2      0     7d   496M  sure   unit  nginx.service
//!   MemoryHigh=464M MemoryMax=496M
//!   80M    96M   101M    max             0   2h10   152M  short  unit  cron.service
//!   MemoryHigh=127M MemoryMax=152M; less than a day is recorded: not yet certain
//! 2 cgroups
//! ```

use std::time::Duration;

use super::data::{Object, described_object};
use super::report_layout::ReportLayout;
use super::table_report::{TableReport, table_fields};
use crate::columns::limit::{COLUMNS, LimitRow, LimitRows};
use crate::limits::Finding;
use crate::schema::Schema;
use crate::text::safe;
use crate::units;

/// Fields are never removed or renamed, only added.
const SCHEMA: &str = "zmtop-limits/1";

/// The record that the findings are of.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    pub time: Duration,
    pub snapshots: u64,
    /// Number of cgroups that were not followed.
    pub left_out: u64,
}

/// Reports rows that pass the filter. With `has_lines`, each has its line to paste below it.
pub fn limits_report<'r>(
    recorded: &'r Recorded,
    rows: (&'r [LimitRow<'r>], &'r LimitRow<'r>),
    layout: ReportLayout<LimitRows>,
    has_lines: bool,
) -> TableReport<'r, LimitRows> {
    let parts = (before(recorded), "cgroups", after(recorded));
    let mut report = TableReport::new(layout, rows, ("cgroup", None), parts);
    if has_lines {
        report.note_of = |row| row.0.map(note);
        report.notes.push(format!(
            "a record of {} in {}",
            units::span(recorded.time),
            units::counted(recorded.snapshots, "snapshot")
        ));
    }
    if recorded.left_out > 0 {
        let left_out = units::counted(recorded.left_out, "cgroup");
        report.notes.push(format!("{left_out} left out: there are too many"));
    }
    report
}

fn note(found: &Finding) -> String {
    let doubt = found.doubt();
    let parts = found.line().into_iter().chain(doubt.map(Into::into));
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns lines to paste: each below a comment with its name and rule. A line that may be too low is a comment too.
pub fn paste(found: &Finding, units: units::Units) -> String {
    let name = safe(&found.name);
    let rule = found.rule(units);
    let line = found.line().unwrap_or_default();
    match found.doubt() {
        None => format!("# {} {name}: {rule}\n{line}\n", found.by.id()),
        Some(doubt) => {
            let line = if line.is_empty() { line } else { format!("# {line}\n") };
            format!("# {} {name}: {rule}; {doubt}\n{line}", found.by.id())
        }
    }
}

described_object! {
    fn before, before_fields<'f>(recorded: &'f Recorded) -> Object<'f> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// The recorded time, without gaps.
        "recorded_s": seconds() => recorded.time.as_secs_f64(),
        /// Number of snapshots.
        "snapshots": count() => recorded.snapshots,
    }

    fn after, after_fields<'f>(recorded: &'f Recorded) -> Object<'f> {
        /// Number of cgroups that were not followed, because there are too many.
        "left_out": count() => recorded.left_out,
    }
}

pub fn schema() -> Schema {
    let rows = (
        "cgroups",
        "Units, containers, pods and other cgroups, in the requested order.",
    );
    let sums = "Empty, because cgroups contain each other: a sum would count memory twice.";
    Schema {
        name: SCHEMA,
        help: "The memory that cgroups needed in a recording, and the limits to set. Written by `zmtop limits`.",
        fields: [
            before_fields(),
            table_fields(COLUMNS, rows, sums, |sums| sums),
            after_fields(),
        ]
        .concat(),
    }
}
