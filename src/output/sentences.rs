//! A table as sentences, for screen readers: the first rows, and afterwards only noticeable changes.
//!
//! ```text
//! 21:02:08. PSS of 144 processes: 4.1 gibibytes. 1 process could not be read: permission denied.
//! python3 mapscan0.py: 1.3 gibibytes, process 881.
//! postgres: 138 mebibytes, process 1014.
//! 21:03:08. PSS of 145 processes grew by 307 mebibytes to 4.4 gibibytes.
//! postgres grew by 82 mebibytes to 220 mebibytes, process 1014.
//! sort started: 12 mebibytes, process 1190.
//! 21:04:08. The kernel killed worker, process 4711: memory was full. It had 1.2 gibibytes.
//! ```
//!
//! A change is relative to the figure that was reported last, or to the first snapshot, so slow growth is reported too. It is noticeable
//! if it is at least `MIN_CHANGE` and `MIN_SHARE` of that figure.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::iter::once;
use std::time::{Duration, SystemTime};

use super::table::count_label;
use crate::columns::{Column, Row, Value};
use crate::group::{GroupBy, GroupNames, RowKey};
use crate::history::kills;
use crate::model::Missing;
use crate::model::kill::OomKill;
use crate::order;
use crate::query::{Query, Rows};
use crate::text;
use crate::units::{self, Units, counted};

/// Number of rows to report at a time, unless an option sets it.
pub const DEFAULT_TOP: u32 = 5;
/// The smallest change that is reported, in bytes.
const MIN_CHANGE: u64 = 1 << 20;
/// The smallest change that is reported, as a share of the figure that was reported last.
const MIN_SHARE: f64 = 0.05;
/// Maximum width of a name.
const NAME_WIDTH: usize = 40;

/// Reports one snapshot after another.
#[derive(Debug, Default)]
pub struct Sentences {
    /// The time of the first snapshot, on the monotonic clock.
    begun: Option<Duration>,
    /// The rows that match, and those that did when their figure was last known.
    rows: HashMap<RowKey, Known>,
    /// All rows of the previous snapshot.
    present: HashSet<RowKey>,
    /// The sum that changes are relative to; `None` if it was unknown.
    sum: Option<Figure>,
    /// The number of unreadable processes in the previous snapshot, by reason.
    hidden: Vec<(Missing, usize)>,
    /// The kills of the previous snapshot: their records and times.
    kills: Vec<(Option<u64>, SystemTime)>,
}

#[derive(Clone, Debug)]
struct Known {
    name: Name,
    /// The figure that changes are relative to.
    reported: Figure,
    /// The figure in the previous snapshot.
    latest: Figure,
}

#[derive(Clone, Copy, Debug)]
struct Figure {
    bytes: u64,
    /// The text before it: nothing, `at least ` or `at most `.
    bound: &'static str,
}

/// The name of a row, and what identifies it besides: `process 1014`, `12 processes`.
#[derive(Clone, Debug)]
struct Name {
    name: String,
    which: String,
}

/// A change to report.
struct Change {
    size: u64,
    key: RowKey,
    sentence: String,
    /// The new entry of the row; `None` if it ended or no longer matches.
    after: Option<Known>,
}

impl Sentences {
    /// Writes the report on a snapshot. It begins with `time`, and is empty if there is nothing to report. All of it is safe to print.
    pub fn write(&mut self, out: &mut dyn Write, rows: &Rows<'_>, query: &Query<'_>, time: &str) -> io::Result<()> {
        let column = query.sort.get();
        let top = query.top.unwrap_or(DEFAULT_TOP as usize);
        let mut sentences = Vec::new();
        if let Some(begun) = self.begun {
            sentences.extend(self.new_kills(rows, begun));
            sentences.extend(self.changed_sum(rows, column));
            sentences.extend(self.changed_rows(rows, column, top));
        } else {
            self.begin(rows, column);
            self.present = rows.candidates().map(|(key, ..)| key).collect();
            sentences.push(first_sum(rows, column));
            sentences.extend(rows.shown().take(top).map(|shown| {
                let Name { name, which } = Name::of(rows, &shown.row);
                format!("{name}: {}, {which}.", words(column, &shown.row))
            }));
        }
        self.hidden.clone_from(&rows.hidden);
        self.kills = rows.source.snapshot.oom_kills.iter().map(id_of_kill).collect();
        if let Some((first, others)) = sentences.split_first() {
            writeln!(out, "{time}. {first}")?;
            others.iter().try_for_each(|sentence| writeln!(out, "{sentence}"))?;
        }
        Ok(())
    }

    fn begin(&mut self, rows: &Rows<'_>, column: &Column) {
        self.begun = Some(rows.source.snapshot.monotonic);
        self.sum = sum(rows, column);
        let matching = rows.candidates().filter(|(.., passes)| *passes);
        let known = matching.filter_map(|(key, row, _)| Some((key, Known::new(rows, &row, figure(column, &row)?))));
        self.rows = known.collect();
    }

    fn new_kills(&self, rows: &Rows<'_>, begun: Duration) -> Vec<String> {
        let kills = rows.source.snapshot.oom_kills.iter();
        // The log also has kills from before the first snapshot.
        let is_old = |kill: &OomKill| kill.monotonic().is_some_and(|at| at < begun);
        let new = kills.filter(|kill| !is_old(kill) && !self.kills.contains(&id_of_kill(kill)));
        new.map(|kill| {
            let text = kills::text_of(kill, NAME_WIDTH, Units::Auto);
            let by = match text.by.strip_prefix("the ") {
                Some(rest) => format!("The {rest}"),
                None => text.by,
            };
            match &kill.victim {
                Ok(victim) => format!(
                    "{by} killed {}, process {}: {}. It had {}{}.",
                    text::cut(&victim.comm, NAME_WIDTH),
                    victim.pid,
                    text.reason,
                    units::in_words(victim.rss),
                    victim.many_page_tables().map_or_else(String::new, |bytes| format!(
                        " and {} of page tables",
                        units::in_words(bytes)
                    )),
                ),
                Err(_) => format!("{by} killed a process: {}.", text.reason),
            }
        })
        .collect()
    }

    fn changed_sum(&mut self, rows: &Rows<'_>, column: &Column) -> Option<String> {
        let now = sum(rows, column);
        let then = std::mem::replace(&mut self.sum, now);
        match (then, now) {
            (None, Some(_)) => Some(first_sum(rows, column)),
            // If a process became readable or unreadable, the sums cannot be compared.
            (Some(then), Some(now)) if self.hidden == rows.hidden => {
                let change = then.change(now);
                if change.is_none() {
                    self.sum = Some(then);
                }
                change.map(|change| format!("{} {change}.", sum_name(rows, column)))
            }
            _ => None,
        }
    }

    /// Returns sentences for the largest noticeable changes, and one for the number of the others.
    fn changed_rows(&mut self, rows: &Rows<'_>, column: &Column, top: usize) -> Vec<String> {
        let mut changes = self.changes(rows, column);
        order::sort_by(&mut changes, |a, b| b.size.cmp(&a.size).then_with(|| a.key.cmp(&b.key)));
        let others = changes.len().saturating_sub(top);
        let mut sentences = Vec::new();
        for change in changes.into_iter().take(top) {
            sentences.push(change.sentence);
            if let Some(known) = change.after {
                self.rows.insert(change.key, known);
            }
        }
        if others > 0 {
            sentences.push(format!("{}.", counted(others as u64, "smaller change")));
        }
        sentences
    }

    /// Returns the noticeable changes, and notes the figures of all rows. Rows below [`MIN_CHANGE`] are not reported when they start or end.
    fn changes(&mut self, rows: &Rows<'_>, column: &Column) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut present = HashSet::new();
        for (key, row, passes) in rows.candidates() {
            present.insert(key.clone());
            let Some(now) = figure(column, &row) else { continue };
            if !passes {
                if let Some(known) = self.rows.remove(&key).filter(|_| now.bytes >= MIN_CHANGE) {
                    let Name { name, which } = &known.name;
                    changes.push(Change {
                        size: now.bytes,
                        key,
                        sentence: format!("{name} no longer matches: {}, {which}.", now.words()),
                        after: None,
                    });
                }
                continue;
            }
            let new = Known::new(rows, &row, now);
            let Name { name, which } = &new.name;
            let Some(known) = self.rows.get_mut(&key) else {
                let verb = match (self.present.contains(&key), row.group.is_some()) {
                    (true, _) => "",
                    (false, true) => " appeared",
                    (false, false) => " started",
                };
                if now.bytes >= MIN_CHANGE {
                    let sentence = format!("{name}{verb}: {}, {which}.", now.words());
                    let after = Some(new);
                    changes.push(Change {
                        size: now.bytes,
                        key,
                        sentence,
                        after,
                    });
                } else {
                    self.rows.insert(key, new);
                }
                continue;
            };
            known.latest = now;
            if known.reported.bound != now.bound {
                known.reported = now;
            }
            if let Some(change) = known.reported.change(now) {
                changes.push(Change {
                    size: known.reported.bytes.abs_diff(now.bytes),
                    key,
                    sentence: format!("{name} {change}, {which}."),
                    after: Some(new),
                });
            }
        }
        // Those whose figure is unknown for the moment stay.
        self.rows.retain(|key, known| {
            let has_ended = !present.contains(key);
            if has_ended && known.latest.bytes >= MIN_CHANGE {
                let Name { name, which } = &known.name;
                changes.push(Change {
                    size: known.latest.bytes,
                    key: key.clone(),
                    sentence: format!("{name}, {which}, ended. It had {}.", known.latest.words()),
                    after: None,
                });
            }
            !has_ended
        });
        self.present = present;
        changes
    }
}

impl Known {
    fn new(rows: &Rows<'_>, row: &Row<'_>, figure: Figure) -> Self {
        Self {
            name: Name::of(rows, row),
            reported: figure,
            latest: figure,
        }
    }
}

impl Name {
    fn of(rows: &Rows<'_>, row: &Row<'_>) -> Self {
        let (name, which) = match (row.group, row.sample) {
            (Some(group), _) => (group.key.label().into(), counted(group.totals.count as u64, "process")),
            (None, Some(sample)) => {
                let names = GroupNames::new(rows.source.snapshot.rows());
                let program = names.name_of(sample, GroupBy::Command).unwrap_or_default();
                (program, format!("process {}", sample.id.pid))
            }
            (None, None) => Default::default(),
        };
        Self {
            name: text::cut(&name, NAME_WIDTH),
            which,
        }
    }
}

const fn id_of_kill(kill: &OomKill) -> (Option<u64>, SystemTime) {
    (kill.record, kill.time)
}

impl Figure {
    fn words(self) -> String {
        format!("{}{}", self.bound, units::in_words(self.bytes))
    }

    /// Returns a noticeable change in words: `grew by 82 mebibytes to 220 mebibytes`.
    fn change(self, now: Self) -> Option<String> {
        let size = self.bytes.abs_diff(now.bytes);
        if size < MIN_CHANGE || (size as f64) < self.bytes as f64 * MIN_SHARE {
            return None;
        }
        let verb = if now.bytes > self.bytes { "grew" } else { "shrank" };
        Some(format!("{verb} by {} to {}", units::in_words(size), now.words()))
    }
}

/// Returns the figure of a row; `None` if it is unknown.
fn figure(column: &Column, row: &Row<'_>) -> Option<Figure> {
    let (bytes, bound) = match (column.value)(row) {
        Value::Bytes(n) => (n, ""),
        Value::AtLeast(n) => (n, "at least "),
        Value::AtMost(n) | Value::Within(_, n) => (n, "at most "),
        _ => return None,
    };
    Some(Figure { bytes, bound })
}

/// Returns the sum. The sum of no rows is 0.
fn sum(rows: &Rows<'_>, column: &Column) -> Option<Figure> {
    let is_empty = rows.selection.count() == 0 && rows.hidden.is_empty();
    let nothing = Figure { bytes: 0, bound: "" };
    figure(column, &rows.total()).or_else(|| is_empty.then_some(nothing))
}

/// Returns `PSS of 144 processes`.
fn sum_name(rows: &Rows<'_>, column: &Column) -> String {
    let name = match column.id {
        id if id.len() <= 3 => id.to_uppercase(),
        id => {
            let (first, rest) = id.split_at(1);
            first.to_uppercase() + &rest.replace('_', " ")
        }
    };
    format!("{name} of {}", count_label(rows))
}

fn first_sum(rows: &Rows<'_>, column: &Column) -> String {
    let sum = sum(rows, column).map_or_else(|| "unknown".into(), Figure::words);
    let unread =
        |(why, count): &(Missing, usize)| format!("{} could not be read: {why}.", counted(*count as u64, "process"));
    let first = format!("{}: {sum}.", sum_name(rows, column));
    let sentences: Vec<String> = once(first).chain(rows.hidden.iter().map(unread)).collect();
    sentences.join(" ")
}

/// Returns the figure of a row in words, or why it is unknown.
fn words(column: &Column, row: &Row<'_>) -> String {
    match (figure(column, row), (column.value)(row)) {
        (Some(figure), _) => figure.words(),
        (None, Value::Missing(why)) => format!("unknown, {why}"),
        (None, _) => "unknown".into(),
    }
}
