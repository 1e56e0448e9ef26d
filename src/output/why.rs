//! The report of what happened in a recording: a post-mortem in about twenty lines.
//!
//! ```text
//! 2026-11-24 15:28:33, shopbox: OOM kill
//!
//! The kernel killed seller (pid 181): /shop reached its limit of 100M. The victim
//! had 80.7M in RAM.
//! The victim itself had grown: to 77.4M within 19 s of its start at 15:28:12
//! (240M/min).
//! The machine itself was not short of memory: 287M of 463M were available.
//!
//!     PID   MEMORY  IN 10 MIN  LARGEST PROCESSES IN /shop
//!     181    77.4M     +77.4M  seller  (killed)
//!
//!                AVAILABLE  SWAP USED  STALLED  /shop OF 100M
//! at 15:28:31         287M       none       0%          97.5M
//! 1 min before        375M       none       0%          20.1M
//! ```

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::columns::DataValue;
use crate::group::{GroupBy, RowKey};
use crate::history::dangers::Limit;
use crate::history::kills::Kill;
use crate::model::exit::keep_highest;
use crate::model::kill::{KillCause, OomVictim};
use crate::model::taker::{KeptPath, MappingUse, Taker};
use crate::model::{Exit, Facts, Missing, Reading};
use crate::output::data::{DataTable, Document, Node, Object, described_object, names};
use crate::output::{OutputStyle, Report};
use crate::record::time_text;
use crate::schema::Schema;
use crate::text::{self, Align};
use crate::trend::Verdict;
use crate::units::{self, counted};
use crate::why::explanation::{Grower, Holder, MadeOf, Point, Rise, Role, Victim};
use crate::why::{Event, EventKind, Explanation};

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-why/1";
/// Maximum width of the text, of a name and of a command line, in columns.
const WIDTH: usize = 80;
const NAME: usize = 40;
const COMMAND: usize = 41;
/// Maximum width of a function, in columns.
const FUNCTION: usize = 60;
/// The time before the moment for which the machine is described.
const HOUR: Duration = Duration::from_secs(3600);
/// A recording that ends so soon after a danger does not show that it passed.
const SOON: Duration = Duration::from_secs(30);
/// Maximum number of other events, and of further victims, in the text.
const OTHERS: usize = 4;
const ALSO_KILLED: usize = 3;
/// Maximum number of processes that started and ended, in the text.
const BRIEF: usize = 3;
/// Shares from which on memory is short, and waiting is worth a word.
const SHORT: f64 = 0.1;
const WAITS: f64 = 0.01;
/// Share of the memory by which a moment was worse than the end.
const WORSE: f64 = 0.02;

#[derive(Clone, Debug)]
pub struct WhyReport<'a> {
    pub explanation: &'a Explanation,
    /// The time zone of the text.
    pub zone: TimeZone,
    pub style: OutputStyle,
}

impl WhyReport<'_> {
    fn bytes(&self, bytes: u64) -> String {
        units::bytes(bytes, self.style.units)
    }

    fn format(&self, time: SystemTime, format: &str) -> String {
        let Ok(stamp) = Timestamp::try_from(time) else {
            return String::new();
        };
        stamp.to_zoned(self.zone.clone()).strftime(format).to_string()
    }

    /// Returns the time of the day, with the date if that is not the event's.
    fn time(&self, time: SystemTime) -> String {
        let is_same = self.format(time, "%F") == self.format(self.explanation.event.time, "%F");
        self.format(time, if is_same { "%T" } else { "%F %T" })
    }

    /// Returns the path of a cgroup, or the name of its container or pod.
    fn cgroup(&self, path: &[u8]) -> String {
        let e = self.explanation;
        let of_holders = e.holders.iter().map(|holder| &holder.facts);
        let of_victims = e
            .victims
            .iter()
            .filter_map(|victim| Some(&victim.kill.known.as_ref()?.facts));
        let name = of_holders.chain(of_victims).find_map(|facts| {
            let container = facts.container.as_deref()?;
            container.name_of_cgroup(facts.cgroup.as_deref().ok()?, path)
        });
        match name {
            Some(name) => format!("container {}", text::cut(&name, NAME)),
            None => text::truncate_start(&text::safe(path), NAME),
        }
    }

    fn title(&self) -> &'static str {
        let e = self.explanation;
        let is_by_daemon = e
            .victims
            .first()
            .is_some_and(|victim| victim.kill.event.daemon.is_some());
        match e.event.kind {
            EventKind::Kill if is_by_daemon => "killed because memory was short",
            EventKind::Kill => "OOM kill",
            EventKind::Reboot if e.event.is_short => "reboot while memory was short",
            EventKind::Reboot if e.event.is_sudden == Some(true) => "reboot without warning",
            EventKind::Reboot => "reboot",
            EventKind::End => "the recording ends while memory is short",
            EventKind::Stall => "stall: tasks waited for memory",
            EventKind::Danger => "memory was about to be full",
            EventKind::Chosen => "no event within ten minutes",
            EventKind::Nothing => "nothing happened",
        }
    }

    /// Returns the sentences on what happened.
    fn happened(&self) -> Vec<String> {
        let e = self.explanation;
        let mut sentences = Vec::new();
        match e.event.kind {
            EventKind::Kill | EventKind::Stall => {}
            EventKind::Reboot => {
                let last = self.time(e.event.time);
                sentences.push(match e.resumed.map(|time| self.time(time)) {
                    Some(next) => format!("The machine rebooted between the snapshots of {last} and {next}."),
                    None => format!("The machine rebooted after the snapshot of {last}."),
                });
                if e.event.is_sudden == Some(true) {
                    sentences.push(
                        "Before that, zmtop was not asked to end: the power failed, or the machine panicked or was \
                         reset (unless only zmtop was killed)."
                            .into(),
                    );
                }
                if !e.event.is_short {
                    sentences.push("Memory was not short then, so it does not explain the reboot.".into());
                }
            }
            EventKind::End => {
                let last = self.time(e.recorded[1]);
                sentences.push(format!(
                    "The recording ends at {last}{}.",
                    self.ahead()
                        .map_or_else(|| ", while memory was short".into(), |ahead| format!(", while {ahead}"),)
                ));
            }
            EventKind::Danger => {
                let ahead = capital(&self.ahead().unwrap_or_default());
                let rest = e.recorded[1].duration_since(e.event.time).unwrap_or_default();
                let then = if rest < SOON {
                    "The recording ends soon after."
                } else {
                    "The danger passed, and nothing was killed."
                };
                sentences.push(format!("{ahead}. {then}"));
            }
            EventKind::Chosen => sentences.push(format!(
                "Nothing happened within ten minutes of that time. This is the state at {}.",
                self.time(e.event.time)
            )),
            EventKind::Nothing => sentences.push(
                "No process was killed for lack of memory, no limit was about to be reached, and no task waited long \
                 for memory."
                    .into(),
            ),
        }
        sentences.extend(self.killed());
        sentences.extend(self.waited());
        sentences
    }

    /// Returns the clause on the limit ahead: `memory was full in 8 s at its pace (120M left)`.
    fn ahead(&self) -> Option<String> {
        let ahead = self.explanation.ahead.as_ref()?;
        let what = match &ahead.limit {
            Limit::Machine => "memory".into(),
            Limit::Cgroup(path) => self.cgroup(path),
            Limit::CgroupHigh(path) => format!("{} up to memory.high", self.cgroup(path)),
            Limit::AddressSpace(id) => format!("the address space of {}", id.pid),
        };
        let (left, time) = (self.bytes(ahead.left), seconds(ahead.time));
        Some(format!(
            "{what} had {left} left and would have been full in {time} at that rate"
        ))
    }

    fn killed(&self) -> Vec<String> {
        let e = self.explanation;
        let mut sentences = Vec::new();
        let Some(first) = e.victims.first() else {
            return sentences;
        };
        let kill = first.kill.text(NAME, self.style.units);
        let by = match &first.kill.event.daemon {
            Some(_) => kill.by.clone(),
            None => capital(&kill.by),
        };
        // The explanation names the growth.
        let unseen = first.kill.known.is_some() && first.kill.event.victim.is_err();
        let growth = if unseen { &*kill.growth } else { "" };
        let (victim, reason, limit) = (self.victim(&first.kill), &kill.reason, &kill.limit);
        let group = kill.group.strip_prefix(", killed").unwrap_or(&kill.group);
        sentences.push(if first.kill.known.is_none() && first.kill.event.victim.is_err() {
            format!("{by} killed {victim}{group}. Which process is unknown: {reason}.")
        } else {
            format!("{by} killed {victim}{group}: {reason}{limit}{growth}.")
        });
        if let Some(held) = first.kill.held().filter(|held| *held > 0) {
            let is_rss = first.kill.event.daemon.is_none() && first.kill.event.victim.is_ok();
            let held = self.bytes(held);
            let place = if is_rss { " in RAM" } else { "" };
            let tables = first.kill.event.victim.as_ref().ok();
            let tables = tables.and_then(OomVictim::many_page_tables);
            let tables = tables.map_or_else(String::new, |tables| {
                format!(" and {} of page tables", self.bytes(tables))
            });
            sentences.push(format!("The victim had {held}{place}{tables}."));
        }
        let also = e.victims.iter().skip(1);
        let names: Vec<_> = also.take(ALSO_KILLED).map(|victim| self.victim(&victim.kill)).collect();
        if !names.is_empty() {
            let more = e.victims.len() - 1 - names.len();
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            sentences.push(format!("Also killed: {}{more}.", names.join(", ")));
        }
        if e.is_before_recording() {
            sentences.push("That was before the recording began. It is known only from the kernel's log.".into());
            if e.others.is_empty() {
                sentences.push("Nothing has happened since.".into());
            }
        }
        if let (EventKind::Kill, Some(resumed)) = (e.event.kind, e.resumed) {
            let resumed = self.time(resumed);
            sentences.push(format!(
                "Within seconds, the machine rebooted; the next snapshot is of {resumed}."
            ));
        }
        sentences
    }

    fn waited(&self) -> Vec<String> {
        let e = self.explanation;
        let Some(waiting) = &e.waiting else { return Vec::new() };
        let place = waiting
            .cgroup
            .as_deref()
            .map_or_else(|| "the machine".into(), |path| self.cgroup(path));
        let (share, lasted) = (
            percent(waiting.share),
            seconds(waiting.lasted.max(Duration::from_secs(1))),
        );
        let mut sentences = vec![if waiting.is_throttled {
            format!(
                "The kernel slowed {place} down at its memory.high limit for {lasted}: some task waited {share} of the time."
            )
        } else if e.event.kind == EventKind::Kill {
            format!("Before that, {place} was stalled: all its tasks waited for memory {share} of the time.")
        } else {
            let place = capital(&place);
            format!(
                "{place} stalled for {lasted}: at the worst moment, all its tasks waited for memory {share} of the time."
            )
        }];
        if let Some((id, name, bytes)) = &waiting.waiter {
            let rate = self.bytes(*bytes as u64);
            let name = text::cut(name, NAME);
            sentences.push(if *bytes > 0.0 {
                format!(
                    "{name} (pid {}) waited most: it read {rate}/s of its memory back in.",
                    id.pid
                )
            } else {
                format!("{name} (pid {}) is the largest process that waited.", id.pid)
            });
        }
        if e.event.kind == EventKind::Stall {
            sentences.push("Nothing was killed.".into());
        }
        sentences
    }

    /// Returns the name of a victim: `seller --all (pid 181)`.
    fn victim(&self, kill: &Kill) -> String {
        match (&kill.known, &kill.event.victim) {
            (Some(known), _) => process(&known.facts, known.id.pid),
            (None, Ok(victim)) => format!("{} (pid {})", text::cut(&victim.comm, NAME), victim.pid),
            (None, Err(_)) => kill.text(NAME, self.style.units).victim,
        }
    }

    /// Returns how a grower grew: `from 4.0M to 97.0M in 24 s (233M/min), from 14:02:58 on`.
    fn rise(&self, grower: &Grower) -> String {
        let rise = &grower.rise;
        let [from, to] = [rise.from, rise.to].map(|bytes| self.bytes(bytes));
        let over = seconds(rise.over);
        // The kernel's log has only its end.
        let is_bound = rise.after == rise.over;
        let pace = rise.pace().filter(|_| rise.rest <= rise.over && !is_bound);
        let pace = pace.map_or_else(String::new, |pace| format!(" ({})", units::pace(pace)));
        let since = self
            .moment()
            .checked_sub((rise.over + rise.rest).saturating_sub(rise.after));
        let since = since.map_or_else(String::new, |time| self.time(time));
        let sentences = if rise.is_new {
            format!("to {to} within {over} of its start at {since}{pace}")
        } else if rise.is_cut {
            format!("from {from} to {to} in {over}{pace}, and was already growing when the recording began")
        } else if is_bound {
            format!("from {from} to {to} within {over}, from {since} on")
        } else {
            format!("from {from} to {to} in {over}{pace}, from {since} on")
        };
        // Only as long as it lived.
        let rest = rise.rest.saturating_sub(grower.ended.unwrap_or_default());
        sentences + &rested(rest, rise.over)
    }

    /// Returns the known facts about a grower, except its growth.
    fn remarks(&self, grower: &Grower) -> String {
        let mut sentences = Vec::new();
        if let Some(ended) = grower.ended {
            sentences.push(match seconds(ended).as_str() {
                "0 s" => ", and ended then".to_owned(),
                before => format!(", and ended {before} before"),
            });
        }
        if let Some(place) = &grower.place {
            let kind = match place.by {
                GroupBy::Cgroup => "cgroup",
                by => by.id(),
            };
            let is_known = self.explanation.cgroup.as_deref() == Some(&*place.name);
            if !is_known {
                let name = text::truncate_start(&text::safe(&place.name), NAME);
                sentences.push(format!(", in {kind} {name}"));
                let more = place.rise.filter(|rise| rise.bytes() > grower.rise.bytes() / 4 * 5);
                if let Some(rise) = more {
                    sentences.push(format!(", which grew by {} in all", self.bytes(rise.bytes())));
                }
            }
        }
        if let Some((name, bytes)) = &grower.cache {
            let name = text::cut(name, NAME);
            sentences.push(format!("; {} of it in the slab cache {name}", self.bytes(*bytes)));
        }
        if let Some(kind) = grower.made_of.filter(|kind| *kind != MadeOf::Anonymous) {
            sentences.push(format!("; nearly all of it is {}", kind.id()));
        }
        if grower.verdict == Verdict::Leaking {
            sentences.push("; its growth looked like a leak".to_owned());
        }
        sentences.concat()
    }

    /// Returns the memory of a victim that no snapshot has, and the sentence on it.
    fn unseen_victim(&self) -> Option<(Rise, String)> {
        let victims = self.explanation.victims.iter();
        let own = victims.take(1).find(|victim| victim.kill.known.is_none())?.rise?;
        let (bytes, over) = (self.bytes(own.bytes()), seconds(own.over));
        // Its pid in the log may be of another namespace, so that its past is unknown.
        let told = format!("No snapshot has the victim: all of its {bytes} may be new, taken within {over}.");
        Some((own, told))
    }

    /// Returns the sentences on what had grown.
    fn grew(&self) -> Vec<String> {
        let e = self.explanation;
        if e.is_before_recording() {
            return Vec::new();
        }
        // If memory was not short, what has stopped growing is of no interest.
        let is_calm = e.event.kind == EventKind::Nothing || (e.event.kind == EventKind::Reboot && !e.event.is_short);
        let is_over = |grower: &&Grower| is_calm && grower.rise.rest > grower.rise.over;
        let unseen = self.unseen_victim();
        let Some(first) = e.growers.first().filter(|grower| !is_over(grower)) else {
            let said = match e.event.kind {
                EventKind::Nothing => "Nothing grew much before the end.",
                _ if e.booted == self.moment() => "Nothing is recorded from before, so what grew is unknown.",
                _ => "Nothing that was recorded had grown much.",
            };
            let unseen = unseen.map(|(_, told)| told);
            return unseen.into_iter().chain([said.into()]).collect();
        };
        let (name, rise, remarks) = (name_of(first), self.rise(first), self.remarks(first));
        let unexplained = self.unexplained();
        let most = if unexplained.is_some() {
            "had grown most"
        } else {
            "had grown"
        };
        let what = format!("What {most} was {}: {rise}{remarks}.", memory_of(first));
        let victim = e.victims.first();
        let mut sentences = vec![match victim.map(|victim| victim.role) {
            Some(Role::Grower) => format!("The victim itself had grown: {rise}{remarks}."),
            Some(Role::Member) => {
                let which = if is_user(first) { "whose total memory" } else { "which" };
                format!("The victim belonged to {name}, {which} had grown as a whole: {rise}{remarks}.")
            }
            Some(Role::Bystander) => {
                let own = victim.and_then(|victim| victim.rise).map(|own| {
                    if own.bytes() == 0 {
                        ": it had not grown".to_owned()
                    } else if own.rest > own.over {
                        format!(": it had hardly grown for {}", seconds(own.rest))
                    } else {
                        format!(": it had grown by {} in {}", self.bytes(own.bytes()), seconds(own.over))
                    }
                });
                let own = own.unwrap_or_default();
                let is_by_kernel = victim.is_some_and(|victim| victim.kill.event.daemon.is_none());
                let why = if is_by_kernel {
                    " The kernel chooses by size and oom_score_adj, not by growth."
                } else {
                    ""
                };
                format!("The victim was a bystander{own}.{why} {what}")
            }
            Some(Role::Unknown) | None => match (unseen, victim.and_then(|victim| victim.rise)) {
                (Some((own, told)), _) if own.bytes() >= first.rise.bytes() => format!("{told} {what}"),
                (Some((_, told)), _) => format!("{what} {told}"),
                (None, Some(own)) if own.bytes() > 0 && matches!(first.key, RowKey::Part(_)) => {
                    let (bytes, over) = (self.bytes(own.bytes()), seconds(own.over));
                    let rested = rested(own.rest, own.over);
                    format!("{what} The victim itself had grown by {bytes} in {over}{rested}.")
                }
                _ => what,
            },
        }];
        let is_victim = |grower: &&Grower| {
            let known = e.victims.iter().filter_map(|victim| victim.kill.known.as_ref());
            known.into_iter().any(|known| grower.key.process() == Some(known.id))
        };
        for other in e.growers.iter().skip(1).filter(|grower| !is_victim(grower)) {
            let name = memory_of(other);
            let is_named = matches!(other.key, RowKey::Process(_) | RowKey::Group(_)) && !is_user(other);
            sentences.push(format!(
                "{} had grown, too: {}{}.",
                if is_named { name } else { capital(&name) },
                self.rise(other),
                self.remarks(other)
            ));
        }
        sentences.extend(unexplained);
        if e.unreadable > 0 {
            sentences.push(format!(
                "The memory of {} could not be read, so it may have grown as well.",
                counted(e.unreadable as u64, "process")
            ));
        }
        sentences
    }

    /// Returns the sentence on the growth below the limit, if the growth that is named explains little of it.
    fn unexplained(&self) -> Option<String> {
        let (grown, span, named) = self.explanation.unexplained()?;
        let [grown, named] = [grown, named].map(|bytes| self.bytes(bytes));
        let span = seconds(span);
        let what = match self.explanation.cgroup.as_deref() {
            None => format!("available memory and free swap together fell by {grown}"),
            Some(path) => format!("{} grew by {grown}", self.cgroup(path)),
        };
        Some(format!(
            "In {span}, {what}. The growth named above explains only {named} of this."
        ))
    }

    /// Returns the sentences on the processes that used up the memory, as they were read before.
    fn takers(&self) -> Vec<String> {
        let e = self.explanation;
        let known =
            |taker: &&Taker| taker.heap.is_ok() || taker.kept_by.is_some() || self.largest_mapping(taker).is_some();
        let sentences = e.takers.iter().filter(known).map(|taker| {
            let before = e.event.time.duration_since(taker.time).unwrap_or_default();
            let before = if before < Duration::from_secs(1) {
                String::new()
            } else {
                format!(", {} before", seconds(before))
            };
            let at = format!("At {}{before}", self.time(taker.time));
            let name = format!("{} (pid {})", text::cut(&taker.comm, NAME), taker.id.pid);
            // Memory that was never touched is in use inside the heap, but not in RAM.
            let memory = taker
                .memory
                .ok()
                .filter(|memory| taker.heap.is_ok_and(|heap| heap.in_use <= *memory));
            let of = memory.map_or_else(String::new, |memory| format!(" of its {}", self.bytes(memory)));
            let kept_by = taker.kept_by.as_ref().map(|path| self.kept_by(path));
            let largest = self.largest_mapping(taker);
            let lies_in = largest.as_ref();
            let lies_in = lies_in.map_or_else(String::new, |largest| format!("; most of it lies in {largest}"));
            match (&taker.heap, kept_by) {
                (Ok(heap), kept_by) => format!(
                    "{at}, {name} had {}{of} in use inside malloc, and {} free there{}{lies_in}.",
                    self.bytes(heap.in_use),
                    self.bytes(heap.kept),
                    kept_by.map_or_else(String::new, |kept_by| format!("; {kept_by}")),
                ),
                (Err(_), Some(kept_by)) => format!("{at}, the memory of {name} was {kept_by}{lies_in}."),
                (Err(_), None) => format!(
                    "{at}, most of the memory of {name} was in {}.",
                    largest.unwrap_or_default()
                ),
            }
        });
        sentences.collect()
    }

    /// Returns the mapping with most of the memory of a process: `[heap] (1.2G)`. `None` if it is not known, or is less than half.
    fn largest_mapping(&self, taker: &Taker) -> Option<String> {
        let largest = taker.mappings.as_ref().ok()?.first()?;
        let is_most = taker.memory.is_ok_and(|memory| largest.bytes >= memory / 2);
        is_most.then(|| format!("{} ({})", text::cut(&largest.name, NAME), self.bytes(largest.bytes)))
    }

    /// Returns the clause on the code: `kept by remember ← handle, 94 % of 120M in 2 min`.
    fn kept_by(&self, path: &KeptPath) -> String {
        let names = path.functions.iter();
        let names: Vec<_> = names.map(|name| text::cut(name.as_bytes(), FUNCTION)).collect();
        let arrow = if self.style.ascii { " <- " } else { " ← " };
        let runtime = path.runtime.as_ref();
        let runtime = runtime.map_or_else(String::new, |runtime| {
            format!(" of the {}", text::cut(runtime.as_bytes(), NAME))
        });
        format!(
            "kept by {}{runtime}, {} of {} in {}",
            names.join(arrow),
            percent(path.share()),
            self.bytes(path.total),
            seconds(path.span)
        )
    }

    /// Returns the time of the snapshot that the explanation is of.
    fn moment(&self) -> SystemTime {
        self.explanation
            .machine
            .first()
            .map_or(self.explanation.event.time, |point| point.time)
    }

    /// Returns the sentences on the memory of the machine, its swap, and tasks that waited.
    fn machine(&self) -> Vec<String> {
        let e = self.explanation;
        let Some(now) = e.machine.first().filter(|_| !e.is_before_recording()) else {
            return Vec::new();
        };
        let mut sentences = Vec::new();
        if let (Ok(available), Ok(total)) = (now.available, now.total) {
            let is_short = (available as f64) < total as f64 * SHORT;
            let (available, total) = (self.bytes(available), self.bytes(total));
            sentences.push(match (is_short, &e.cgroup) {
                (true, _) if now.available == Ok(0) => format!("The machine had none of its {total} available."),
                (true, _) => format!("The machine had only {available} of {total} available."),
                (false, Some(_)) => {
                    format!("The machine itself was not short of memory: {available} of {total} were available.")
                }
                (false, None) => format!("The machine had {available} of {total} available."),
            });
        }
        sentences.push(match (now.swap_used, now.swap_total) {
            (_, Ok(0)) => "It has no swap.".into(),
            (Ok(used), Ok(total)) if used > 0 => {
                let before = e.machine.get(1);
                let before = before.and_then(|point| Some((point.swap_used.ok()?, self.age(point))));
                let [now, total] = [used, total].map(|bytes| self.bytes(bytes));
                match before {
                    Some((before, age)) if before < used => {
                        format!(
                            "It used {now} of its {total} of swap; {age}, it was {}.",
                            self.bytes(before)
                        )
                    }
                    _ => format!("It used {now} of its {total} of swap."),
                }
            }
            (Ok(_), Ok(total)) => format!("Its swap of {} was empty.", self.bytes(total)),
            _ => String::new(),
        });
        match now.stalled {
            Ok(share) if share >= WAITS && e.waiting.is_none() => {
                sentences.push(format!(
                    "All tasks waited for memory {} of the time (PSI).",
                    percent(share)
                ));
            }
            _ => {}
        }
        sentences.retain(|one| !one.is_empty());
        sentences
    }

    /// Returns the line on the worst moment of a recording in which nothing happened.
    fn worst(&self) -> Vec<String> {
        let e = self.explanation;
        if e.event.kind != EventKind::Nothing {
            return Vec::new();
        }
        let mut sentences = Vec::new();
        let now = e.machine.first().and_then(|point| point.available.ok());
        if let Some((time, available, total)) = e.worst.available
            // Less than at the end, by what is worth a word.
            && now.is_none_or(|now| now.saturating_sub(available) as f64 >= total as f64 * WORSE)
        {
            let (available, total, time) = (self.bytes(available), self.bytes(total), self.time(time));
            sentences.push(format!(
                "Least memory was available at {time}: {available} of {total}. --at {time} explains it."
            ));
        }
        if let Some((time, share)) = e.worst.stalled.filter(|(_, share)| *share >= WAITS) {
            let time = self.time(time);
            sentences.push(format!(
                "Tasks waited most at {time}: all tasks waited {} of the time.",
                percent(share)
            ));
        }
        sentences
    }

    /// Returns how long before the moment a point was: `10 min before`.
    fn age(&self, point: &Point) -> String {
        let now = self.explanation.machine.first();
        let age = now.map_or(Duration::ZERO, |now| now.monotonic.saturating_sub(point.monotonic));
        // Snapshots are not taken at that very moment.
        let near = |round: &&u64| Duration::from_secs(**round).abs_diff(age) <= Duration::from_secs(**round / 10);
        match [60, 600, 3600].iter().find(near) {
            Some(3600) => "1 h before".into(),
            Some(round) => format!("{} min before", round / 60),
            None => format!("{} before", seconds(age)),
        }
    }

    /// Reports the processes that started and ended.
    fn brief(&self) -> Vec<String> {
        let e = self.explanation;
        let is_quiet = matches!(e.event.kind, EventKind::Nothing | EventKind::Chosen);
        if let Some(why) = e.unseen.filter(|_| is_quiet) {
            return vec![format!(
                "Processes that started and ended between two snapshots could not be recorded: {why}."
            )];
        }
        let mut exits: Vec<&Exit> = e.brief.iter().collect();
        keep_highest(&mut exits, BRIEF, |exit| (exit.uid, exit.own()));
        let sentences = exits.into_iter().map(|exit| {
            let parent = exit.parent.as_ref().map_or_else(String::new, |parent| {
                format!(", a child of {}", text::cut(parent, NAME))
            });
            let own = if exit.is_fork {
                format!(", {} more than that of its parent,", self.bytes(exit.own()))
            } else {
                String::new()
            };
            let end = match exit.signal {
                Some(signal) => format!("was ended by signal {signal}"),
                None => "ended".into(),
            };
            format!(
                "{} (pid {}, uid {}{parent}) reached an RSS of {}{own} and {end} at {}, {} after its start.",
                text::cut(&exit.comm, NAME),
                exit.pid,
                exit.uid,
                self.bytes(exit.peak),
                self.time(exit.time),
                units::span(exit.lifetime)
            )
        });
        let mut sentences: Vec<_> = sentences.collect();
        if let Some(first) = sentences.first_mut() {
            *first = format!("Between two snapshots, {first}");
            sentences.push("RSS includes shared pages. A page that the process maps twice counts twice.".into());
        }
        sentences
    }

    fn write_holders(&self, out: &mut dyn Write) -> io::Result<()> {
        let e = self.explanation;
        if e.holders.is_empty() {
            return Ok(());
        }
        let whose = match &e.cgroup {
            Some(path) => format!("LARGEST PROCESSES IN {}", self.cgroup(path)),
            None => format!("LARGEST OF {}", counted(e.processes as u64, "process")).to_uppercase(),
        };
        let grown = format!("IN {}", seconds(e.span).to_uppercase());
        let titles = ["PID".to_owned(), "MEMORY".to_owned(), grown];
        writeln!(out, "{}  {whose}", cells(&titles, &HOLDER))?;
        for holder in &e.holders {
            let grown = holder
                .grown
                .map_or_else(|| "-".into(), |grown| units::delta(grown, self.style.units));
            let bound = if holder.is_bound { "≤" } else { "" };
            let bytes = format!("{bound}{}", self.bytes(holder.bytes));
            let row = [holder.id.pid.to_string(), bytes, grown];
            let command = text::cut_command(&holder.facts.short_command(), COMMAND);
            let killed = if holder.is_victim { "  (killed)" } else { "" };
            writeln!(out, "{}  {command}{killed}", cells(&row, &HOLDER))?;
        }
        writeln!(out)
    }

    fn write_machine(&self, out: &mut dyn Write) -> io::Result<()> {
        let e = self.explanation;
        let path = e.cgroup.as_deref();
        let limit = e
            .machine
            .iter()
            .find_map(|point| point.limited(path?))
            .map(|(_, limit)| limit);
        let mut titles = vec![String::new(), "AVAILABLE".into(), "SWAP USED".into(), "STALLED".into()];
        if let (Some(path), Some(limit)) = (path, limit) {
            let path = text::truncate_start(&text::safe(path), 16);
            titles.push(format!("{path} OF {}", self.bytes(limit)));
        }
        let widths = titles.iter().enumerate();
        let widths: Vec<usize> = widths
            .map(|(at, title)| if at == 0 { 0 } else { text::width(title) + 2 })
            .collect();
        let row = |cells: &[String]| {
            let cells = cells.iter().zip(&widths);
            cells
                .map(|(cell, width)| text::fit(cell, *width, Align::Right))
                .collect::<String>()
        };
        writeln!(out, "{:13}{}", "", row(&titles))?;
        for (at, point) in e.machine.iter().enumerate() {
            let age = if at == 0 {
                self.format(point.time, "at %T")
            } else {
                self.age(point)
            };
            let known = |figure: Reading<u64>| figure.map_or_else(|_| "-".into(), |bytes| self.bytes(bytes));
            let swap = if point.swap_total == Ok(0) {
                "none".into()
            } else {
                known(point.swap_used)
            };
            let stalled = point.stalled.map_or_else(|_| "-".into(), percent);
            let mut figures = vec![String::new(), known(point.available), swap, stalled];
            if limit.is_some() {
                let used = point.limited(path.unwrap_or_default());
                figures.push(used.map_or_else(|| "-".into(), |(used, _)| self.bytes(used)));
            }
            writeln!(out, "{age:13}{}", row(&figures))?;
        }
        let is_short = e.booted + HOUR > self.moment();
        if is_short {
            let booted = self.time(e.booted);
            writeln!(
                out,
                "Nothing earlier is recorded: the snapshots of this boot begin at {booted}."
            )?;
        }
        Ok(())
    }

    /// Returns the name and the time of an event, and its number if there are several: `kill of seller at 15:28:33`.
    fn other(&self, event: &Event, times: usize) -> String {
        let name = match event.kind {
            EventKind::Kill if !event.who.is_empty() => format!("kill of {}", text::cut(&event.who, 16)),
            EventKind::Stall | EventKind::Danger if !event.who.is_empty() => {
                format!(
                    "{} in {}",
                    event.kind.id(),
                    text::truncate_start(&text::safe(&event.who), 20)
                )
            }
            EventKind::Reboot if event.is_sudden == Some(true) => "reboot without warning".into(),
            kind => kind.id().into(),
        };
        let time = self.time(event.time);
        match times {
            1 => format!("{name} at {time}"),
            times => format!("{name} ({times} times, last at {time})"),
        }
    }

    fn write_others(&self, out: &mut dyn Write) -> io::Result<()> {
        let e = self.explanation;
        if e.others.is_empty() {
            return Ok(());
        }
        // The newest first. A service that is killed again and again is listed once.
        let mut kinds: Vec<(&Event, usize)> = Vec::new();
        for event in e.others.iter().rev() {
            let same = |(known, _): &&mut (&Event, usize)| (known.kind, &known.who) == (event.kind, &event.who);
            match kinds.iter_mut().find(same) {
                Some((_, times)) => *times += 1,
                None => kinds.push((event, 1)),
            }
        }
        let shown: Vec<_> = kinds
            .iter()
            .take(OTHERS)
            .map(|(event, times)| self.other(event, *times))
            .collect();
        let more: usize = kinds.iter().skip(OTHERS).map(|(_, times)| times).sum::<usize>() + e.more;
        let more = if more > 0 {
            format!(", and {more} more")
        } else {
            String::new()
        };
        let time = e.others.last().map_or_else(String::new, |event| self.time(event.time));
        let time = if time.contains(' ') {
            format!("\"{time}\"")
        } else {
            time
        };
        let sentences = format!(
            "Other events: {}{more}. To explain one: zmtop why --at {time}",
            shown.join(", ")
        );
        writeln!(out)?;
        write_wrapped(out, &sentences)
    }
}

/// Widths of the columns of processes.
const HOLDER: [usize; 3] = [7, 9, 11];

fn cells(texts: &[String], widths: &[usize]) -> String {
    let cells = texts.iter().zip(widths);
    cells
        .map(|(cell, width)| text::fit(cell, *width, Align::Right))
        .collect()
}

/// Returns the command line and the pid of a process.
fn process(facts: &Facts, pid: u32) -> String {
    format!("{} (pid {pid})", text::cut_command(&facts.short_command(), NAME))
}

/// Returns the name of what grew: `seller --all (pid 181)`, `worker (12 processes)`.
fn name_of(grower: &Grower) -> String {
    match (&grower.key, &grower.facts) {
        (RowKey::Process(id), Some(facts)) => process(facts, id.pid),
        (RowKey::Group(_), _) => {
            let kind = if is_user(grower) { "user " } else { "" };
            format!(
                "{kind}{} ({})",
                text::cut(&grower.name, NAME),
                counted(grower.count as u64, "process")
            )
        }
        // A column has the same label.
        _ => match grower.name.strip_prefix(b"kernel: ") {
            Some(part) => format!("the kernel's {}", text::cut(part, NAME)),
            None => text::cut(&grower.name, NAME),
        },
    }
}

/// Returns a clause on the rest after growth, if it was longer than the growth: `, then hardly grew for 18 min`.
fn rested(rest: Duration, over: Duration) -> String {
    if rest > over {
        format!(", then hardly grew for {}", seconds(rest))
    } else {
        String::new()
    }
}

/// Returns the name of what grew: that of a grower, or `the memory of user alice (90 processes)`.
fn memory_of(grower: &Grower) -> String {
    let name = name_of(grower);
    if is_user(grower) {
        format!("the memory of {name}")
    } else {
        name
    }
}

fn is_user(grower: &Grower) -> bool {
    matches!(&grower.key, RowKey::Group(key) if key.by == GroupBy::User)
}

fn write_wrapped(out: &mut dyn Write, words: &str) -> io::Result<()> {
    text::wrap(words, WIDTH)
        .iter()
        .try_for_each(|line| writeln!(out, "{line}"))
}

/// Returns a text that begins with a capital letter.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    first + chars.as_str()
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Writes a duration in words: `24 s`, `3 min`, `2 h 10 min`.
fn seconds(time: Duration) -> String {
    units::about(time).replace(".0 ", " ")
}

fn rise_object(rise: Option<Rise>) -> Option<Object<'static>> {
    rise.as_ref().map(rise_of)
}

described_object! {
    fn rise_of, rise_fields(rise: &Rise) -> Object<'static> {
        /// PSS and swap before it grew; without pages of files if the rest is known.
        "from": bytes() => rise.from,
        /// PSS and swap at the moment, or of a victim at its end, by the kernel's log.
        "to": bytes() => rise.to,
        /// The time that it took.
        "over_s": seconds() => rise.over.as_secs_f64(),
        /// The time from its end to the moment.
        "rest_s": seconds() => rise.rest.as_secs_f64(),
        /// It grew already when the recording began.
        "before_recording": switch() => rise.is_cut,
        /// The process started with the growth.
        "new": switch() => rise.is_new,
        /// The mean pace.
        "bytes_per_s": pace().null("no time passed") => rise.pace(),
    }

    fn grower_of, grower_fields<'s>(grower: &'s Grower) -> Object<'s> {
        /// The pid of a process.
        "pid": id().null("a program, a user, or memory in no process") => grower.key.process().map(|id| id.pid),
        /// When that process started, in ticks since boot.
        "starttime": id().null("a program, a user, or memory in no process") => grower.key.process().map(|id| id.starttime),
        /// The name of the process, the program, the user, the part or the kind.
        "name": foreign() => Node::bytes(&grower.name),
        /// The command line of a process.
        "command": foreign().null("a program, a user, or memory in no process") => {
            grower.facts.as_ref().map(|facts| DataValue::Text(facts.command()))
        },
        /// The user, if that is what grew.
        "user": foreign().null("no user") => is_user(grower).then(|| Node::bytes(&grower.name)),
        /// Number of its processes: 1 for a process, 0 for memory in no process.
        "count": count() => grower.count,
        /// Its growth.
        "growth": object(rise_fields()) => rise_of(&grower.rise),
        /// The kind that nearly all of its memory is.
        "made_of": one_of(MadeOf::ALL.map(MadeOf::id)).null("of several kinds, or not known") => {
            grower.made_of.map(MadeOf::id)
        },
        /// Of the kernel's slab caches: the one that grew most.
        "slab_cache": foreign().null("no slab, or not known") => grower.cache.as_ref().map(|(name, _)| Node::bytes(name)),
        /// The growth of that cache.
        "slab_cache_growth": bytes().null("no slab, or not known") => grower.cache.as_ref().map(|(_, bytes)| *bytes),
        /// The verdict on its growth: leaking, growing, warming, steady or shrinking.
        "verdict": text() => grower.verdict.id(),
        /// The time from its end to the moment.
        "ended_s": seconds().null("it lived") => grower.ended.map(|ended| ended.as_secs_f64()),
        /// The container, unit or cgroup that it was in.
        "place_by": text().null("in none, or not a process") => grower.place.as_ref().map(|place| place.by.id()),
        /// The name of that.
        "place": foreign().null("in none, or not a process") => grower.place.as_ref().map(|place| Node::bytes(&place.name)),
        /// The growth of all processes in it, over about the same time.
        "place_growth": object(rise_fields()).null("in none, or not known") => {
            rise_object(grower.place.as_ref().and_then(|place| place.rise))
        },
    }

    fn victim_of, victim_fields<'s>(victim: &'s Victim) -> Object<'s> {
        /// When the kill was detected.
        "time": time() => time_text(victim.kill.event.time),
        /// Why: the machine's memory was full, the limit of a cgroup was reached, or a daemon found that memory was short.
        "cause": one_of(KillCause::ALL.map(KillCause::id)) => victim.kill.event.cause().id(),
        /// The daemon that killed it.
        "daemon": foreign().null("the kernel did") => {
            victim.kill.event.daemon.as_ref().map(|daemon| Node::bytes(daemon.name.as_bytes()))
        },
        /// The pid of the killed process.
        "pid": id().null("not known") => {
            let known = victim.kill.known.as_ref().map(|known| known.id.pid);
            known.or(victim.kill.event.victim.as_ref().ok().map(|victim| victim.pid))
        },
        /// Its short name.
        "comm": foreign().null("not known") => {
            let known = victim.kill.known.as_ref().map(|known| &known.facts.comm);
            known.or(victim.kill.event.victim.as_ref().ok().map(|victim| &victim.comm)).map(|comm| Node::bytes(comm))
        },
        /// Its command line.
        "command": foreign().null("it was not seen") => {
            victim.kill.known.as_ref().map(|known| DataValue::Text(known.facts.command()))
        },
        /// Its memory: RSS by the kernel's log, or PSS and swap in the snapshot before.
        "memory": bytes().null("not known") => victim.kill.held(),
        /// Its page tables by the kernel's log, which are not in that memory.
        "page_tables": bytes().null("not known") => {
            victim.kill.event.victim.as_ref().ok().and_then(|victim| victim.page_tables)
        },
        /// The path of the cgroup whose limit was reached.
        "limit_cgroup": foreign().null("the machine's memory was full, or it is not known") => {
            let victim = victim.kill.event.victim.as_ref().ok();
            victim.and_then(|victim| victim.limit.as_ref()).map(|limit| Node::bytes(&limit.cgroup))
        },
        /// The limit that was reached.
        "limit": bytes().null("the machine's memory was full, or it is not known") => {
            victim.kill.event.victim.as_ref().ok().and_then(|victim| victim.limit.as_ref()?.size)
        },
        /// Its role: it grew most, it is of the program that grew most, another grew, or that is not known. If shared memory grew that no
        /// process maps, the victim may hold it.
        "role": one_of(Role::ALL.map(Role::id)) => victim.role.id(),
        /// Its growth.
        "growth": object(rise_fields()).null("not known") => rise_object(victim.rise),
    }

    fn holder_of, holder_fields<'s>(holder: &'s Holder) -> Object<'s> {
        /// Its pid.
        "pid": id() => holder.id.pid,
        /// When it started, in ticks since boot.
        "starttime": id() => holder.id.starttime,
        /// Its command line.
        "command": foreign() => DataValue::Text(holder.facts.command()),
        /// The path of its cgroup.
        "cgroup": foreign().null("not known") => holder.facts.cgroup.as_deref().ok().map(Node::bytes),
        /// Its PSS and swap, or an upper bound.
        "memory": bytes() => holder.bytes,
        /// Its growth in `span_s` before.
        "growth": delta().null("the recording does not reach that far back, or its memory is not known") => holder.grown,
        /// It was killed.
        "killed": switch() => holder.is_victim,
        /// Its memory could not be read: `memory` is an upper bound, by its RSS.
        "upper_bound": switch() => holder.is_bound,
    }

    fn path_of, path_fields<'s>(path: &'s KeptPath) -> Object<'s> {
        /// The function and its callers, innermost first.
        "functions": list(foreign()) => {
            path.functions.iter().map(|function| Node::bytes(function.as_bytes())).collect::<Vec<_>>()
        },
        /// The runtime that allocated most of it.
        "runtime": foreign().null("none") => path.runtime.as_ref().map(|runtime| Node::bytes(runtime.as_bytes())),
        /// The memory that this path keeps.
        "bytes": bytes() => path.bytes,
        /// The memory that all paths keep.
        "total": bytes() => path.total,
        /// The time in which it was taken.
        "span_s": seconds() => path.span.as_secs_f64(),
    }

    fn mapping_of, mapping_fields<'s>(mapping: &'s MappingUse) -> Object<'s> {
        /// Its name, as in `smaps`.
        "name": foreign() => Node::bytes(&mapping.name),
        /// PSS and `SwapPss` of all its areas.
        "bytes": bytes() => mapping.bytes,
    }

    fn taker_of, taker_fields<'s>(taker: &'s Taker, before: Duration) -> Object<'s> {
        /// Its pid.
        "pid": id() => taker.id.pid,
        /// When it started, in ticks since boot.
        "starttime": id() => taker.id.starttime,
        /// Its short name.
        "comm": foreign() => Node::bytes(&taker.comm),
        /// When it was read.
        "time": time() => time_text(taker.time),
        /// The time from that to the event.
        "before_s": seconds() => before.as_secs_f64(),
        /// Its memory in RAM and in swap.
        "memory": bytes().null("not known") => taker.memory.ok(),
        /// The memory inside malloc that the program did not free.
        "in_use": bytes().null("see `heap_unread`") => taker.heap.ok().map(|heap| heap.in_use),
        /// The free memory inside malloc, resident or not.
        "free": bytes().null("see `heap_unread`") => taker.heap.ok().map(|heap| heap.free),
        /// The part of it in RAM or in swap.
        "kept": bytes().null("see `heap_unread`") => taker.heap.ok().map(|heap| heap.kept),
        /// Why its heap was not read.
        "heap_unread": text().null("it was read") => taker.heap.err().map(Missing::reason),
        /// Its largest mappings.
        "mappings": list(object(mapping_fields())).null("see `mappings_unread`") => {
            taker.mappings.as_ref().ok().map(|mappings| mappings.iter().map(mapping_of).collect::<Vec<_>>())
        },
        /// Why its mappings were not read.
        "mappings_unread": text().null("they were read") => taker.mappings.as_ref().err().map(|why| why.reason()),
        /// The code that keeps most of its memory.
        "kept_by": object(path_fields()).null("its page faults were not sampled before") => {
            taker.kept_by.as_ref().map(path_of)
        },
    }

    fn brief_of, brief_fields<'s>(exit: &'s Exit) -> Object<'s> {
        /// Its pid.
        "pid": id() => exit.pid,
        /// Its short name.
        "comm": foreign() => Node::bytes(&exit.comm),
        /// Its user.
        "uid": id() => exit.uid,
        /// The short name of its parent.
        "parent": foreign().null("not known") => exit.parent.as_deref().map(Node::bytes),
        /// When it ended.
        "time": time() => time_text(exit.time),
        /// Time from its start to its end.
        "lifetime_s": seconds() => exit.lifetime.as_secs_f64(),
        /// Its highest RSS, with shared pages.
        "peak": bytes() => exit.peak,
        /// For a fork, its peak less the RSS of its parent; else its peak.
        "own": bytes() => exit.own(),
        /// The signal that ended it.
        "signal": count().null("none") => exit.signal.map(u64::from),
    }

    fn point_of, point_fields(point: &Point, age: Duration, cgroup: Option<(u64, u64)>) -> Object<'static> {
        /// The time before the moment.
        "age_s": seconds() => age.as_secs_f64(),
        /// When the snapshot was taken.
        "time": time() => time_text(point.time),
        /// Available memory of the machine.
        "available": bytes().null("not known") => point.available.ok(),
        /// The RAM of the machine.
        "total": bytes().null("not known") => point.total.ok(),
        /// Swap in use.
        "swap_used": bytes().null("not known") => point.swap_used.ok(),
        /// All swap.
        "swap_total": bytes().null("not known") => point.swap_total.ok(),
        /// The part of the last ten seconds in which all tasks waited for memory (PSI).
        "stalled": share().null("not known") => point.stalled.ok(),
        /// The memory in use of the cgroup whose limit matters.
        "cgroup_used": bytes().null("it is of the machine, or not known") => cgroup.map(|(used, _)| used),
        /// Its limit.
        "cgroup_limit": bytes().null("it is of the machine, or not known") => cgroup.map(|(_, limit)| limit),
    }

    fn event_of, event_fields<'s>(event: &'s Event) -> Object<'s> {
        /// The kind of the event. Chosen: the chosen time, at which nothing happened.
        "kind": one_of(EventKind::ALL.map(EventKind::id)) => event.kind.id(),
        /// When it was; when it was worst, if it lasted.
        "time": time() => time_text(event.time),
        /// Memory was short. False for a reboot for another reason, and if nothing happened.
        "short": switch() => event.is_short,
        /// For a reboot: true if the recorder was not asked to end before, such as after a power cut, a panic, a reset, or a kill
        /// of the recorder alone.
        "sudden": switch().null("no reboot, or not known") => event.is_sudden,
        /// The name of the killed process, or the path of the cgroup.
        "who": foreign().null("the machine") => Some(Node::bytes(&event.who)).filter(|_| !event.who.is_empty()),
    }

    fn object_of, fields<'s>(report: &WhyReport<'s>) -> Object<'s> {
        /// The name of this schema.
        "schema": text() => SCHEMA,
        /// The name of the host.
        "host": foreign() => Node::bytes(&report.explanation.host),
        /// The first snapshot of the recording.
        "recorded_from": time() => time_text(report.explanation.recorded[0]),
        /// The last snapshot of the recording.
        "recorded_to": time() => time_text(report.explanation.recorded[1]),
        /// Number of snapshots.
        "snapshots": count() => report.explanation.snapshots,
        /// The event that is explained.
        "event": object(event_fields()) => event_of(&report.explanation.event),
        /// The cgroup whose limit matters, by its path.
        "cgroup": foreign().null("the machine") => report.explanation.cgroup.as_deref().map(Node::bytes),
        /// The killed processes, largest first.
        "victims": list(object(victim_fields())) => {
            report.explanation.victims.iter().map(victim_of).collect::<Vec<_>>()
        },
        /// The processes, programs, users and parts that grew most before the moment, most first.
        "growers": list(object(grower_fields())) => {
            report.explanation.growers.iter().map(grower_of).collect::<Vec<_>>()
        },
        /// The memory left below the limit that was about to be reached.
        "left": bytes().null("none was") => report.explanation.ahead.as_ref().map(|ahead| ahead.left),
        /// The time to that limit at the pace of that moment.
        "full_in_s": seconds().null("none was") => {
            report.explanation.ahead.as_ref().map(|ahead| ahead.time.as_secs_f64())
        },
        /// The part of the time in which tasks waited, at the worst moment of a stall.
        "stalled": share().null("they did not") => report.explanation.waiting.as_ref().map(|waiting| waiting.share),
        /// The length of the stall.
        "stalled_s": seconds().null("there was none") => {
            report.explanation.waiting.as_ref().map(|waiting| waiting.lasted.as_secs_f64())
        },
        /// The machine at the moment and before.
        "machine": list(object(point_fields())) => {
            let e = report.explanation;
            let now = e.machine.first().map_or(Duration::ZERO, |now| now.monotonic);
            let of_cgroup = |point: &Point| point.limited(e.cgroup.as_deref()?);
            let points = e.machine.iter();
            points.map(|point| point_of(point, now.saturating_sub(point.monotonic), of_cgroup(point))).collect::<Vec<_>>()
        },
        /// The largest processes at the moment, below the limit that matters.
        "processes": list(object(holder_fields())) => {
            report.explanation.holders.iter().map(holder_of).collect::<Vec<_>>()
        },
        /// The processes that used up the memory below a limit less than two minutes ahead, as they were read then, newest first.
        "takers": list(object(taker_fields())) => {
            let e = report.explanation;
            let before = |taker: &Taker| e.event.time.duration_since(taker.time).unwrap_or_default();
            e.takers.iter().map(|taker| taker_of(taker, before(taker))).collect::<Vec<_>>()
        },
        /// Processes that lived at most a minute, in the ten minutes before, or at any time if nothing happened, and that rose high: at
        /// most 20, the highest first.
        "brief": list(object(brief_fields())) => {
            report.explanation.brief.iter().map(brief_of).collect::<Vec<_>>()
        },
        /// Why such processes could not be seen.
        "brief_unread": text().null("they could, or there are some") => report.explanation.unseen.map(Missing::reason),
        /// The time in which their growth was measured.
        "span_s": seconds() => report.explanation.span.as_secs_f64(),
        /// Number of processes whose memory could not be read.
        "unreadable": count() => report.explanation.unreadable,
        /// The first snapshot after a reboot.
        "resumed": time().null("no reboot") => report.explanation.resumed.map(time_text),
        /// The other events, oldest first.
        "others": list(object(event_fields())) => {
            report.explanation.others.iter().map(event_of).collect::<Vec<_>>()
        },
        /// Number of events before those.
        "more": count() => report.explanation.more,
        /// When least memory was available.
        "least_available_at": time().null("not known") => {
            report.explanation.worst.available.map(|(time, ..)| time_text(time))
        },
        /// The available memory at that time.
        "least_available": bytes().null("not known") => report.explanation.worst.available.map(|(_, bytes, _)| bytes),
        /// When all tasks waited most.
        "most_stalled_at": time().null("not known") => {
            report.explanation.worst.stalled.map(|(time, _)| time_text(time))
        },
        /// The part of the time in which they waited then.
        "most_stalled": share().null("not known") => report.explanation.worst.stalled.map(|(_, share)| share),
    }
}

pub fn schema() -> Schema {
    Schema {
        name: SCHEMA,
        help: "What happened to memory in a recording: what ran out, what had grown, and what was killed. Written by \
               `zmtop why`.",
        fields: fields(),
    }
}

impl Report for WhyReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let e = self.explanation;
        let host = text::cut(&e.host, NAME);
        let time = self.format(e.event.time, "%F %T");
        let time = if e.event.kind == EventKind::Nothing {
            self.format(e.recorded[0], "%F %T")
        } else {
            time
        };
        let to = match e.event.kind {
            EventKind::Nothing => format!(" to {}", self.time(e.recorded[1])),
            _ => String::new(),
        };
        writeln!(out, "{time}{to}, {host}: {}", self.title())?;
        writeln!(out)?;
        let paragraphs = [
            self.happened(),
            self.grew(),
            self.takers(),
            self.brief(),
            [self.machine(), self.worst()].concat(),
        ];
        for sentences in paragraphs.iter().filter(|sentences| !sentences.is_empty()) {
            write_wrapped(out, &sentences.join(" "))?;
        }
        if !e.is_before_recording() {
            writeln!(out)?;
            self.write_holders(out)?;
            self.write_machine(out)?;
        }
        self.write_others(out)
    }

    fn document(&self) -> Document<'_> {
        Document::Object(object_of(self))
    }

    fn table(&self) -> DataTable<'_> {
        DataTable {
            names: Some(names(holder_fields())),
            rows: Box::new(
                self.explanation
                    .holders
                    .iter()
                    .map(|holder| holder_of(holder).into_row()),
            ),
        }
    }
}
