//! The report of suspects, with their rate and confidence.
//!
//! ```text
//! VERDICT       PACE  SURE   SINCE     ETA  FOOTP    PID  USER      WHO
//! leaking  11.4M/min   98%    3h12    5h02   2.1G  27213  alice     python3 train.py
//!   grew throughout the 2h50 judged, gave nothing back; mostly [heap] +2.0G
//! growing  13.0K/min   71%      2d       -   310M         nginx     nginx (12 processes)
//!   11 of its 12 processes grow
//! ```
//!
//! OOM kills of the last ten minutes and limits that are reached soon are reported first, as lines of text; kills at the limit of a
//! cgroup last. `zmtop schema zmtop-leaks/1` describes the document.
//! `metric` is the figure that the verdict is about: the `held` part of the footprint (anonymous, shared and swapped
//! memory), pages of a `file`, which are never a leak, the `live-set` that collections leave of a Java heap and the memory
//! outside the heap, the `heap` that grows although its live set does not, the `rss` (anonymous RSS and `VmSwap`) of a
//! process whose PSS is not readable, memory held through `descriptors`, which is in no PSS, or the `footprint` if the
//! kernel does not split it. It is `processes` if the number of processes of a program or a family grows.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use crate::columns::suspect::{COLUMNS, SuspectRow, Suspects, suspect_cell};
use crate::columns::{Cell, Column, DataValue};
use crate::group::{Coverage, GroupBy, RowKey};
use crate::history::History;
use crate::history::Shortfall;
use crate::history::dangers::{Danger, Limit};
use crate::history::kills::Kill;
use crate::history::mappings::MappingGrowth;
use crate::history::stalls::{Stall, StallKind};
use crate::history::suspects::{Cause, Suspect};
use crate::model::Snapshot;
use crate::model::kill::{KillCause, OomLimit, OomVictim};
use crate::model::page_cache::CachedFile;
use crate::output::data::{DataTable, Document, Node, Object, described_object, names};
use crate::output::text_table::TextTable;
use crate::output::{OutputStyle, Report};
use crate::record::time_text;
use crate::schema::Schema;
use crate::trend::Verdict;
use crate::{text, units};

#[derive(Clone, Debug)]
pub struct LeaksReport<'a> {
    pub snapshot: &'a Snapshot,
    pub history: &'a History,
    /// Time from the first snapshot to the last.
    pub watched: Duration,
    /// The age of the history that the monitor saved, if the verdicts are from it.
    pub past_age: Option<Duration>,
    pub by: Option<GroupBy>,
    /// Number of processes that the words of the filter select, if there is a filter.
    pub matched: Option<u64>,
    pub suspects: &'a [Suspect],
    /// Rows whose growth has stopped.
    pub stopped: &'a [Suspect],
    pub dangers: &'a [Danger],
    pub stalls: &'a [Stall],
    /// The OOM kills of the last ten minutes, the newest first.
    pub kills: Vec<&'a Kill>,
    /// The mapping of each that grew most, as far as that was read.
    pub grown: &'a HashMap<RowKey, MappingGrowth>,
    /// The largest file of each file system in memory, as far as it was read.
    pub files: &'a HashMap<RowKey, CachedFile>,
    /// Number of suspects beyond those.
    pub more: usize,
    /// Rows that the history did not keep, which cannot be judged.
    pub shortfall: Shortfall,
    pub style: OutputStyle,
}

described_object! {
    fn object, suspect_fields<'s>(report: &LeaksReport<'s>, suspect: &'s Suspect) -> Object<'s> {
        /// Its pid.
        "pid": id().null("a group, or a part of the RAM") => suspect.key.process().map(|id| id.pid),
        /// When it started, in ticks since boot.
        "starttime": id().null("a group, or a part of the RAM") => suspect.key.process().map(|id| id.starttime),
        /// The name of its user; of a program, of the one user of its processes.
        "user": foreign().null("another group, several users, or unknown") => {
            let of_process = suspect.facts.as_ref().and_then(|facts| facts.user.as_deref().ok());
            of_process.or(suspect.users.name.as_deref()).map(Node::bytes)
        },
        /// The program, or the name of the group.
        "group": foreign().null("unknown") => suspect.command.as_deref().map(Node::bytes),
        /// Its command line.
        "command": foreign().null("a group, or unknown") => {
            suspect.facts.as_ref().map(|facts| DataValue::Text(facts.command()))
        },
        /// Number of its processes.
        "count": count() => suspect.count,
        /// The verdict: leaking, growing, warming, steady or shrinking.
        "verdict": text() => suspect.judgement.verdict.id(),
        /// The figure that the verdict is about: held, file, lazily-freed, live-set, heap, rss, descriptors, footprint, processes or a part of the RAM.
        "metric": text() => suspect.judgement.metric.id(),
        /// Its current PSS and swap, or the figure that the verdict is about.
        "footprint": bytes() => suspect.footprint,
        /// Number of its processes whose parent is gone.
        "orphans": count().null("no growing number of processes") => {
            Some(suspect.orphans).filter(|_| suspect.is_population())
        },
        /// The slope of its lowest values; 0 if it is flat.
        "slope_bytes_per_s": pace().null("not known yet, or its number of processes grows") => {
            Some(suspect.judgement.slope).filter(|_| !suspect.is_population())
        },
        /// The number of processes that it gains.
        "slope_processes_per_s": pace().null("no growing number of processes") => {
            Some(suspect.judgement.slope).filter(|_| suspect.is_population())
        },
        /// The confidence that it leaks.
        "confidence": share().null("it is not reported as a leak: growth is measured") => {
            Some(suspect.judgement.confidence).filter(|_| suspect.judgement.verdict == Verdict::Leaking)
        },
        /// When its growth began.
        "since": time().null("nothing grows") => suspect.judgement.seen_since().map(|at| report.wall_clock(at)),
        /// It may have begun earlier, while zmtop did not run.
        "or_earlier": switch().null("nothing grows") => {
            suspect.judgement.seen_since().map(|at| report.history.may_be_earlier(at))
        },
        /// The part of that time in which zmtop did not run.
        "unwatched_s": seconds() => suspect.judgement.unwatched.map_or(0.0, |gaps| gaps.total.as_secs_f64()),
        /// The time until a limit is reached at this pace.
        "eta_s": seconds().null("no limit would be reached") => suspect.eta,
        /// When it ended.
        "ended": time().null("it has not ended") => suspect.ended.map(|at| report.wall_clock(at)),
        /// Number of its processes that ended while they grew.
        "times": count() => suspect.times,
        /// When its growth stopped.
        "flat_since": time().null("it has not stopped") => suspect.judgement.flat_since.map(|at| report.wall_clock(at)),
        /// The last time that the growth was seen that has stopped since.
        "grew_until": time().null("it grows, or did not grow") => suspect.stopped.map(|last| report.wall_clock(last.until)),
        /// The size of the growth that stopped.
        "grew_by": bytes().null("it grows, or did not grow") => suspect.stopped.map(|last| last.bytes()),
        /// Number of growing processes of the program that are not listed individually.
        "alike": count() => suspect.alike,
        /// The mapping that grew most since the growth was first seen.
        "mapping": foreign().null("mappings were not read") => {
            report.grown_in(suspect).map(|grown| Node::bytes(&grown.name))
        },
        /// The growth of that mapping.
        "mapping_growth": bytes().null("mappings were not read") => {
            report.grown_in(suspect).and_then(MappingGrowth::growth).map(i64::unsigned_abs)
        },
        /// The function that keeps most of the memory that the process allocated, and its callers, innermost first.
        "kept_by": list(foreign()).null("not measured") => suspect.kept_by.as_ref().map(|found| {
            let names = found.frames.iter().map(|frame| Node::bytes(frame.function.as_bytes()));
            names.collect::<Vec<_>>()
        }),
        /// The share of this call path in the memory that was allocated in that time and is still kept.
        "kept_by_share": share().null("not measured") => suspect.kept_by.as_ref().map(|found| found.share()),
        /// The time of that measurement.
        "kept_by_s": seconds().null("not measured") => suspect.kept_by.as_ref().map(|found| found.time.as_secs_f64()),
        /// The id of a part of the RAM, as in zmtop-mem/1.
        "part": text().null("a process or a group") => suspect.key.part().map(|key| key.id),
        /// The mount point, if it is one file system of that part.
        "mount": foreign().null("no file system in memory") => {
            suspect.key.part().and_then(|key| key.mount.as_deref()).map(Node::bytes)
        },
        /// The largest file of that file system.
        "file": foreign().null("no file system in memory, or not read") => {
            report.file_of(suspect).map(|file| Node::bytes(&file.path))
        },
        /// The memory of the file.
        "file_bytes": bytes().null("no file system in memory, or not read") => {
            report.file_of(suspect).and_then(|file| file.figures.ok()).map(|figures| figures.cached)
        },
        /// The process with the lowest pid that has that file open.
        "file_pid": id().null("none that could be read") => {
            report.file_of(suspect).and_then(|file| file.first.as_ref()).map(|(pid, _)| *pid)
        },
        /// The cause, if it is not the row as a whole: held: memfd, slab kmalloc-64, in transparent huge pages.
        "cause": foreign().null("the row itself, or unknown") => suspect.cause.as_ref().map(Cause::text),
        /// Why it is a leak, or why lasting growth is not called a leak yet, in words.
        "reasons": list(text()) => suspect.judgement.texts(),
    }
}

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-leaks/1";

/// Columns of a mapping's name that are written.
const MAX_MAPPING: usize = 60;
/// Blanks between the columns of the table.
const GAP: usize = 2;
/// Columns of the name of a process or a cgroup.
const NAME_WIDTH: usize = 120;

impl<'a> LeaksReport<'a> {
    /// Returns the mapping of a suspect that grew most, if mappings were read.
    fn file_of(&self, suspect: &Suspect) -> Option<&'a CachedFile> {
        self.files.get(&suspect.key)
    }

    fn grown_in(&self, suspect: &Suspect) -> Option<&'a MappingGrowth> {
        self.grown.get(&suspect.key).filter(|_| suspect.is_mapped())
    }

    /// Converts a time of the monotonic clock to a time of day.
    fn wall_clock(&self, at: Duration) -> String {
        let ago = self.history.suspends().elapsed(at, self.snapshot.monotonic);
        let time = self.snapshot.time.checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH);
        time_text(time)
    }

    /// Writes how many rows have no history because its memory is limited.
    fn write_shortfall(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.shortfall.rows_text() {
            Some(rows) => writeln!(out, "{rows} without history: history.max_memory is too small for them"),
            None => Ok(()),
        }
    }

    /// Writes a line for each kill for lack of the machine's memory, for each place whose tasks wait for memory, and for each limit
    /// that is reached soon. Kills at the limit of a cgroup, which frees nothing for others, come after the suspects.
    fn write_events(&self, out: &mut dyn Write) -> io::Result<()> {
        let (snapshot, units) = (self.snapshot, self.style.units);
        self.write_kills(false, out)?;
        for stall in self.stalls {
            let text = stall.text(snapshot, |id| snapshot.name_of_process(id), NAME_WIDTH, units);
            writeln!(out, "STALLED: {}", text.line())?;
        }
        for danger in self.dangers {
            writeln!(out, "DANGER: {}", danger.text(snapshot, units))?;
        }
        Ok(())
    }

    /// Returns the cells of a suspect in these columns. `room` is the width of its name.
    fn cells(&self, suspect: &Suspect, columns: &'static [Column<Suspects>], room: usize) -> Vec<Cell> {
        let ago = suspect.stopped.map(|last| {
            let ago = self.history.suspends().elapsed(last.until, self.snapshot.monotonic);
            format!("{} ago", units::span(ago))
        });
        let row = SuspectRow {
            suspect,
            now: self.snapshot.monotonic,
            stopped_at: ago.as_deref(),
        };
        let cell = |column| suspect_cell(column, &row, self.style.units, room);
        columns.iter().map(cell).collect()
    }

    /// Writes the table of suspects. The name, which comes last, has the room that the other columns leave.
    fn write_suspects(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = || self.suspects.iter().chain(self.stopped);
        let (others, name) = COLUMNS.split_at(COLUMNS.len() - 1);
        let rows: Vec<_> = all().map(|suspect| self.cells(suspect, others, 0)).collect();
        let width = |(at, column): (usize, &Column<_>)| {
            let widths = rows.iter().map(|cells| text::width(cells[at].text.trim()));
            widths.max().unwrap_or(0).max(column.title.len())
        };
        let taken: usize = others.iter().enumerate().map(|column| width(column) + GAP).sum();
        // A pipe gets long command lines, but not a page of one.
        let room = self.style.width.map_or(200, |width| width.saturating_sub(taken));
        let mut table = TextTable::titled(COLUMNS.iter().map(|c| (c.title, c.align())));
        for (suspect, mut cells) in all().zip(rows) {
            cells.extend(self.cells(suspect, name, room));
            table.push(&cells);
            let mut note = self.note(suspect);
            // A narrow row has no room for the cause beside the name.
            let cause = suspect.cause.as_ref().map(Cause::text);
            let is_shown = |cause: &String| cells.last().is_some_and(|name| name.text.contains(cause));
            if let Some(cause) = cause.filter(|cause| !is_shown(cause)) {
                note = if note.is_empty() {
                    cause
                } else {
                    format!("{cause}; {note}")
                };
            }
            if !note.is_empty() {
                table.push_note(note);
            }
        }
        table.write(out, &self.style)
    }

    /// Writes a line for each kill at the limit of a cgroup, or for each other one.
    fn write_kills(&self, is_of_cgroup: bool, out: &mut dyn Write) -> io::Result<()> {
        let is_wanted = |kill: &&&Kill| (kill.event.cause() == KillCause::Cgroup) == is_of_cgroup;
        for kill in self.kills.iter().filter(is_wanted) {
            let text = kill.text(NAME_WIDTH, self.style.units);
            let ago = units::span(self.history.suspends().elapsed(kill.at, self.snapshot.monotonic));
            writeln!(out, "KILLED: {}, {ago} ago: {}", text.who(), text.why())?;
        }
        Ok(())
    }

    /// Returns the raw name of a process or a program.
    fn name_of<'s>(&'s self, key: &'s RowKey) -> Cow<'s, [u8]> {
        match key {
            RowKey::Part(key) => key.name(),
            RowKey::Group(key) => key.label().into(),
            RowKey::Process(id) => self.snapshot.row(*id).map_or(&[][..], |row| &row.facts.comm).into(),
        }
    }

    /// Returns the note on a suspect: why it is called a leak, how many of its processes grow, and which mapping.
    fn note(&self, suspect: &Suspect) -> String {
        let mut parts = Vec::new();
        if let Some(last) = suspect.stopped {
            parts.push(format!(
                "it grew by {} and kept it",
                units::bytes(last.bytes(), self.style.units)
            ));
        }
        if suspect.is_population() {
            parts.push("the number of its processes grows".into());
        }
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
        if let Some(found) = &suspect.kept_by {
            parts.push(found.text(self.style.units, self.style.ascii));
        }
        if let Some(file) = self.file_of(suspect) {
            parts.push(format!("its largest file: {}", file.text(self.style.units)));
        }
        parts.join("; ")
    }
}

fn victim(kill: &Kill) -> Option<&OomVictim> {
    kill.event.victim.as_ref().ok()
}

fn limit_of(kill: &Kill) -> Option<&OomLimit> {
    victim(kill)?.limit.as_ref()
}

/// Returns the name of the container or pod whose cgroup that is.
fn container<'s>(report: &'s LeaksReport<'_>, path: Option<&[u8]>) -> Option<DataValue<'s>> {
    report.snapshot.container_of_cgroup(path?).map(DataValue::Text)
}

/// Returns the name of a kind of limit, and the path of a cgroup.
fn limit(limit: &Limit) -> (&'static str, Option<&[u8]>) {
    match limit {
        Limit::Machine => ("machine", None),
        Limit::Cgroup(path) => ("cgroup", Some(path)),
        Limit::CgroupHigh(path) => ("cgroup-high", Some(path)),
        Limit::AddressSpace(_) => ("address-space", None),
    }
}

described_object! {
    fn danger, danger_fields<'s>(report: &'s LeaksReport<'_>, danger: &'s Danger) -> Object<'s> {
        /// The limit: of the machine, a cgroup, a cgroup's `memory.high`, or the address space (`RLIMIT_AS`) of
        /// process `pid`.
        "limit": one_of(["machine", "cgroup", "cgroup-high", "address-space"]) => limit(&danger.limit).0,
        /// The path of the cgroup.
        "cgroup": foreign().null("another limit") => limit(&danger.limit).1.map(Node::bytes),
        /// The name of the container or pod whose cgroup that is.
        "container": foreign().null("none, or not known") => container(report, limit(&danger.limit).1),
        /// The memory left.
        "left": bytes() => danger.forecast.left,
        /// Rate at which the memory left decreases.
        "pace_bytes_per_s": pace() => danger.forecast.pace,
        /// The time until it is reached at this pace.
        "full_in_s": seconds() => danger.forecast.seconds(),
        /// The process that uses up the memory.
        "pid": id().null("a program as a whole, or no single one") => {
            danger.taker.as_ref().and_then(|(key, _)| key.process()).map(|id| u64::from(id.pid))
        },
        /// When that process started, in ticks since boot.
        "starttime": id().null("a program as a whole, or no single one") => {
            danger.taker.as_ref().and_then(|(key, _)| key.process()).map(|id| id.starttime)
        },
        /// The file system in memory or the slab cache that grows most, if a part of the kernel's memory uses it up.
        "place": foreign().null("a process, a program, or unknown") => danger.place.as_deref().map(Node::bytes),
        /// The program, the process or the part of the kernel's memory that uses it up.
        "group": foreign().null("no single one") => {
            danger.taker.as_ref().map(|(key, _)| DataValue::Text(report.name_of(key)))
        },
        /// Rate at which it grows.
        "taker_bytes_per_s": pace().null("no single one") => danger.taker.as_ref().map(|(_, pace)| *pace),
    }

    fn stall, stall_fields<'s>(report: &'s LeaksReport<'_>, stall: &'s Stall) -> Object<'s> {
        /// The path of the cgroup whose tasks wait.
        "cgroup": foreign().null("the machine") => stall.cgroup.as_deref().map(Node::bytes),
        /// The name of the container or pod whose cgroup that is.
        "container": foreign().null("none, or not known") => container(report, stall.cgroup.as_deref()),
        /// The reason for the wait: tasks read back reclaimed pages (thrash), or `memory.high` throttles them.
        "kind": one_of(["thrash", "throttled"]) => match stall.kind {
            StallKind::Thrash => "thrash",
            StallKind::Throttled => "throttled",
        },
        /// The part of the last seconds in which all tasks waited; in which some task waited, if they are throttled.
        "share": share() => stall.share,
        /// The process that waits most.
        "pid": id().null("unknown") => stall.waiter.map(|(id, _)| id.pid),
        /// When that process started, in ticks since boot.
        "starttime": id().null("unknown") => stall.waiter.map(|(id, _)| id.starttime),
        /// The name of that process.
        "group": foreign().null("unknown") => {
            stall.waiter.map(|(id, _)| Node::bytes(report.snapshot.row(id).map_or(&[], |row| &row.facts.comm)))
        },
        /// The process that grows most meanwhile.
        "taker_pid": id().null("no single one") => stall.taker.map(|(id, _)| id.pid),
        /// Rate at which that process grows.
        "taker_bytes_per_s": pace().null("no single one") => stall.taker.map(|(_, pace)| pace),
        /// Rate at which the waiting process reads memory back.
        "read_back_bytes_per_s": pace().null("unknown") => stall.waiter.map(|(_, bytes)| bytes),
    }

    fn kill, kill_fields<'s>(report: &'s LeaksReport<'_>, kill: &'s Kill) -> Object<'s> {
        /// When it was detected.
        "time": time() => report.wall_clock(kill.at),
        /// Why: the machine's memory was full, the limit of a cgroup was reached, or a daemon found that memory was short.
        "cause": one_of(KillCause::ALL.map(KillCause::id)) => kill.event.cause().id(),
        /// The daemon that killed it.
        "daemon": text().null("the kernel did") => kill.event.daemon.as_ref().map(|daemon| text::safe(daemon.name.as_bytes()).into_owned()),
        /// Number of further processes that the daemon killed at the same time.
        "others": count().null("the kernel did") => kill.event.daemon.as_ref().map(|daemon| daemon.others),
        /// The pid of the killed process.
        "pid": id().null("not known") => {
            let known = kill.known.as_ref().map(|known| known.id.pid);
            victim(kill).map(|victim| victim.pid).or(known).map(u64::from)
        },
        /// When that process started, in ticks since boot.
        "starttime": id().null("it was not seen") => kill.known.as_ref().map(|known| known.id.starttime),
        /// Its short name.
        "comm": foreign().null("not known") => {
            let known = kill.known.as_ref().map(|known| &known.facts.comm);
            victim(kill).map(|victim| &victim.comm).or(known).map(|comm| Node::bytes(comm))
        },
        /// Its command line.
        "command": foreign().null("it was not seen") => {
            kill.known.as_ref().map(|known| DataValue::Text(known.facts.command()))
        },
        /// Its container.
        "container": foreign().null("in none, or it was not seen") => {
            kill.known.as_ref().and_then(|known| known.facts.container.as_deref()).map(|container| Node::bytes(container.name()))
        },
        /// Its RSS when it was killed. If a daemon killed it, in the snapshot before.
        "rss": bytes().null("not known") => victim(kill).map(|victim| victim.rss),
        /// Its page tables when it was killed, which are not in its RSS.
        "page_tables": bytes().null("not known") => victim(kill).and_then(|victim| victim.page_tables),
        /// Its PSS and swap in the snapshot before.
        "footprint": bytes().null("it was not seen") => kill.known.as_ref().map(|known| known.footprint),
        /// The limit of a cgroup was reached, not the machine's.
        "by_cgroup": switch().null("not known") => victim(kill).map(|victim| victim.by_cgroup),
        /// The path of its cgroup, or of the one above it that counted the kill.
        "cgroup": foreign().null("not known") => {
            victim(kill).and_then(|victim| victim.cgroup.as_deref()).or(kill.cgroup.as_deref()).map(Node::bytes)
        },
        /// The path of the cgroup whose limit was reached.
        "limit_cgroup": foreign().null("the machine's memory was full, or it is not known") => {
            limit_of(kill).map(|limit| Node::bytes(&limit.cgroup))
        },
        /// The limit that was reached.
        "limit": bytes().null("the machine's memory was full, or it is not known") => {
            limit_of(kill).and_then(|limit| limit.size)
        },
        /// The cgroup that was killed as a whole (`memory.oom.group`).
        "group": foreign().null("it was killed alone") => victim(kill).and_then(|victim| victim.group.as_deref()).map(Node::bytes),
        /// The kind of the grower, which had grown most below the limit, if that is not the victim: a process, all processes of a program
        /// or of a user, or memory in no process.
        "grower_kind": one_of(["process", "command", "user", "memory"]).null("the victim") => {
            kill.grower.as_ref().map(|grower| match &grower.key {
                RowKey::Process(_) => "process",
                RowKey::Group(key) => key.by.id(),
                RowKey::Part(_) => "memory",
            })
        },
        /// The process that had grown most.
        "grower_pid": id().null("the victim, several processes, or memory in no process") => {
            kill.grower.as_ref().and_then(|grower| grower.key.process()).map(|id| u64::from(id.pid))
        },
        /// The name of that process, program, user or kind of memory.
        "grower": foreign().null("the victim") => kill.grower.as_ref().map(|grower| Node::bytes(&grower.name)),
        /// Its growth.
        "grower_bytes": bytes().null("the victim") => kill.grower.as_ref().map(|grower| grower.bytes),
        /// The time that it took to grow.
        "grower_s": seconds().null("the victim") => kill.grower.as_ref().map(|grower| grower.over.as_secs_f64()),
    }

    fn object_of, fields<'s>(report: &'s LeaksReport<'_>) -> Object<'s> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// When the last snapshot was taken.
        "time": time() => time_text(report.snapshot.time),
        /// The name of the host.
        "host": foreign() => Node::bytes(&report.snapshot.host),
        /// The kind of group that suspects are.
        "by": text().null("processes and programs") => report.by.map(GroupBy::id),
        /// The observed time.
        "watched_s": seconds() => report.watched.as_secs_f64(),
        /// The age of the history that the monitor saved, by which the rows were judged at once.
        "past_age_s": seconds().null("watched, or read from a recording") => report.past_age.map(|age| age.as_secs_f64()),
        /// Number of processes whose memory could be read.
        "processes": count() => Coverage::of(report.snapshot).readable,
        /// Number of processes whose memory could not be read.
        "unreadable": count() => Coverage::of(report.snapshot).hidden,
        /// Number of processes that the words of the filter select. Nothing was judged if it is 0.
        "matched": count().null("no filter was given") => report.matched,
        /// Number of processes and groups without history, because the memory for histories is limited.
        "without_history": count() => report.shortfall.processes + report.shortfall.groups,
        /// The suspects, in order.
        "leaks": list(object(suspect_fields())) => {
            report.suspects.iter().map(|suspect| object(report, suspect)).collect::<Vec<_>>()
        },
        /// Rows whose growth has stopped. Each is listed for as long as its growth lasted, at least ten minutes and at most one
        /// hour.
        "stopped": list(object(suspect_fields())) => {
            report.stopped.iter().map(|suspect| object(report, suspect)).collect::<Vec<_>>()
        },
        /// The limits that will be reached soon.
        "dangers": list(object(danger_fields())) => {
            report.dangers.iter().map(|one| danger(report, one)).collect::<Vec<_>>()
        },
        /// The machine or the cgroups in which tasks wait for memory.
        "stalls": list(object(stall_fields())) => {
            report.stalls.iter().map(|one| stall(report, one)).collect::<Vec<_>>()
        },
        /// The OOM kills of the last ten minutes, the newest first.
        "kills": list(object(kill_fields())) => {
            report.kills.iter().map(|one| kill(report, one)).collect::<Vec<_>>()
        },
    }
}

pub fn schema() -> Schema {
    Schema {
        name: SCHEMA,
        help: "Growth, leaks, and the limits that will soon be reached. Written by `zmtop leaks`.",
        fields: fields(),
    }
}

impl Report for LeaksReport<'_> {
    /// Writes a table, or one line that nothing grows.
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_events(out)?;
        if self.suspects.is_empty() && self.stopped.is_empty() {
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
            self.write_kills(true, out)?;
            return self.write_shortfall(out);
        }
        self.write_suspects(out)?;
        if self.more > 0 {
            writeln!(out, "and {} more", self.more)?;
        }
        self.write_kills(true, out)?;
        self.write_shortfall(out)
    }

    fn document(&self) -> Document<'_> {
        Document::Object(object_of(self))
    }

    fn table(&self) -> DataTable<'_> {
        DataTable {
            names: Some(names(suspect_fields())),
            rows: Box::new(self.suspects.iter().map(|suspect| object(self, suspect).into_row())),
        }
    }
}
