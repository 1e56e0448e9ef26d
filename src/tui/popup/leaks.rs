//! The list of processes and groups that grow or leak, worst first.
//!
//! ```text
//! ┌ Leaks and growth ────────────────────────────────────────────────────────────────────────────────────┐
//! │ VERDICT         PACE  SURE   SINCE     ETA  FOOTP      PID  USER      WHO                              │
//! │ leaking    11.4M/min   98%   32m00    5h02   1.3G    27213  alice     python3 train.py  mostly [heap] +136M │
//! │────────────────────────────────────────────────────────────────────────────────────────────────────────│
//! │ 98% sure that it grows, grew in 15 of 16 parts of 32m00, gave nothing back                                │
//! └──────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```

use std::borrow::Cow;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::account::PartKind;
use crate::columns::suspect::{COLUMNS, SuspectRow, suspect_cell};
use crate::columns::{AppliesTo, CellStyle, Column, Priority, Unit};
use crate::group::RowKey;
use crate::history::mappings::MappingGrowth;
use crate::history::suspects::{Cause, Suspect};
use crate::model::Snapshot;
use crate::model::page_cache::CachedFile;
use crate::trend::{MIN_LEAK_OBSERVED, Metric, Verdict};
use crate::tui::app::{App, Response};
use crate::tui::event::{CacheScope, Effect};
use crate::tui::labels::{self, clock};
use crate::tui::navigation::show_row;
use crate::tui::popup::{Popup, cache};
use crate::tui::widgets::{ColumnLayout, ListState, TableGrid, draw_line, line, select_row};
use crate::{text, units};

/// Minimum columns for the name of a suspect if its fastest mapping is shown beside it.
const MIN_NAME_WIDTH: usize = 14;

/// The keys of the listed suspects, by which the cursor follows one that changes places, and whether it is suspected for what it
/// holds through descriptors, or for the number of its processes: one row may be listed for each.
pub struct LeakList(Vec<(RowKey, bool, bool)>);

impl LeakList {
    pub fn new(app: &App) -> Self {
        let key = |suspect: &Suspect| (suspect.key.clone(), suspect.is_held(), suspect.is_population());
        Self(app.engine.listed().map(key).collect())
    }
}

impl Popup for LeakList {
    const TITLE: &'static str = " Leaks and growth ";
    const WIDTH: u16 = 160;
    const IS_MENU: bool = false;
    const HEADING_LINES: u16 = 1;

    fn texts(&self, app: &App) -> Vec<String> {
        let suspects = app.engine.listed();
        let name = |suspect: &Suspect| match (&suspect.key, &suspect.facts) {
            (RowKey::Part(key), _) => text::safe(&key.name()).into_owned(),
            (RowKey::Group(key), _) => text::safe(key.label()).into_owned(),
            (RowKey::Process(_), facts) => facts
                .as_ref()
                .map_or_else(String::new, |facts| text::safe(&facts.short_command()).into_owned()),
        };
        suspects.map(name).collect()
    }

    /// Returns the reasons of the verdict, or why the growth is no leak so far, and how much of it is untouched.
    fn note(&self, app: &App, at: usize) -> Option<Cow<'static, str>> {
        let suspect = app.engine.listed().nth(at)?;
        let snapshot = app.engine.snapshot.as_ref()?;
        let judgement = &suspect.judgement;
        let number = suspect
            .is_population()
            .then(|| "the number of its processes grows".to_owned());
        let texts = number.into_iter().chain(judgement.texts());
        let mut parts: Vec<String> = suspect.cause.iter().map(Cause::text).chain(texts).collect();
        if let Some(last) = suspect.stopped {
            let by = units::bytes(last.bytes(), app.screen.units);
            parts.push(format!(
                "it grew by {by} and kept it: the end of a cache fill or a warm-up, or a pause in a leak"
            ));
        } else if judgement.reasons.is_none() {
            let why = match judgement.metric {
                _ if app.fleet.is_some() => {
                    "each host judged this from all of its data: run zmtop there for the reasons"
                }
                Metric::File => "pages of files grow, which the kernel can reclaim: not a leak",
                Metric::Lazy => "lazily freed memory grows, which the kernel can reclaim: not a leak",
                Metric::Heap => {
                    "the heap grows, but so far nothing shows that live objects grow; a collection may free it"
                }
                Metric::Processes if suspect.orphans > 0 => "a build or a pool may still explain it",
                Metric::Processes => "their parents still exist and may use them",
                Metric::Free => {
                    "the program freed it, and malloc keeps it: not a leak. malloc_trim(0) would return it; zmtop heap PID \
                     shows details"
                }
                Metric::LiveSet
                | Metric::InUse
                | Metric::Held
                | Metric::Footprint
                | Metric::Rss
                | Metric::Descriptors => "it grows; a cache fill, a warm-up or a load may still explain it",
            };
            parts.push(why.into());
        }
        if let Some(kind) = suspect.key.part().and_then(|key| PartKind::find(key.id)) {
            parts.push(kind.reason.into());
        }
        if suspect.alike > 0 {
            parts.push(format!("{} of its {} processes grow", suspect.alike, suspect.count));
        }
        if suspect.key.part().is_some_and(|key| key.mount.is_some()) {
            parts.push(growing_file(app, suspect));
        }
        if let Some(growth) = fastest_mapping(app, suspect) {
            parts.push(format!("mostly {}", mapping_growth(app, growth, 40)));
        }
        parts.extend(untouched(app, snapshot, suspect));
        let kept_by = suspect.kept_by.iter().map(|found| found.text(app.screen.units, false));
        // The column has no room on a narrow screen.
        let surety = (judgement.verdict == Verdict::Leaking).then(|| labels::surety(judgement));
        parts.splice(0..0, surety.into_iter().chain(kept_by));
        Some(parts.join(", ").into())
    }

    fn on_snapshot(&mut self, app: &App, at: usize) -> usize {
        let before = std::mem::replace(self, Self::new(app));
        let selected = before.0.get(at);
        let found = self.0.iter().position(|key| Some(key) == selected);
        found.unwrap_or(at)
    }

    /// Goes to the suspect: to a process with its panel, to a program among programs, to the files of a file system in memory, to
    /// another part of the RAM on its page.
    fn accept(&mut self, app: &mut App, at: usize) -> Response {
        let Some(suspect) = app.engine.listed().nth(at) else {
            app.screen.say(nothing(app));
            return Response::stay();
        };
        if suspect.ended.is_some() {
            app.screen.say("that process has ended");
            return Response::close();
        }
        if let Some(path) = suspect.key.part().and_then(|key| key.mount.clone()) {
            let effects = cache::open(app, CacheScope::Mount(path));
            return Response {
                effects,
                ..Response::close()
            };
        }
        show_row(app, &suspect.key.clone());
        Response::close()
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        if area.is_empty() {
            return;
        }
        let Some(snapshot) = app
            .engine
            .snapshot
            .as_ref()
            .filter(|_| app.engine.listed().next().is_some())
        else {
            let words = text::wrap(&nothing(app), usize::from(area.width).saturating_sub(2));
            for (words, y) in words.iter().zip(0..area.height) {
                draw_line(buf, line(area, y), &format!(" {words}"), theme.dim);
            }
            return;
        };
        let width = usize::from(area.width);
        // A row of a fleet is no process.
        let applies = |c: &Column<_>| app.fleet.is_none() || c.applies_to != AppliesTo::Processes;
        let columns = COLUMNS.iter().filter(|c| width >= min_width(c.priority) && applies(c));
        let columns: Vec<_> = columns.collect();
        let layout = columns.iter().map(|column| ColumnLayout {
            grows: column.grows,
            ..ColumnLayout::fixed(column.width.max(column.title.len() as u16), column.align())
        });
        let grid = TableGrid::new(&layout.collect::<Vec<_>>(), area, 2);
        grid.draw_row(buf, 0, |at| (columns[at].title.to_owned(), theme.dim));
        let name_width = usize::from(grid.cell(0, columns.len() - 1).width);
        let suspects = app.engine.listed().enumerate().skip(list.offset);
        for (y, (index, suspect)) in (1..area.height).zip(suspects) {
            let fastest = fastest_mapping(app, suspect)
                .map(|growth| format!("  mostly {}", mapping_growth(app, growth, 30)))
                .or_else(|| grower_of(app, suspect).map(|file| format!("  {}", file.short_text())))
                .filter(|text| text::width(text) + MIN_NAME_WIDTH <= name_width)
                .unwrap_or_default();
            let stopped_at = stopped_at(app, snapshot, suspect);
            let row = SuspectRow {
                suspect,
                now: snapshot.monotonic,
                stopped_at: stopped_at.as_deref(),
            };
            let left = name_width - text::width(&fastest);
            let mut verdicts = Vec::new();
            grid.draw_row(buf, y, |at| {
                let column = columns[at];
                let mut text = suspect_cell(column, &row, app.screen.units, left).text;
                if column.grows {
                    text += &fastest;
                }
                let by_verdict = matches!(column.unit, Unit::Verdict | Unit::Growth);
                let (meaning, style) = match (suspect.ended.is_some(), suspect.judgement.verdict, by_verdict) {
                    (true, ..) | (_, Verdict::Steady | Verdict::Shrinking, _) => (CellStyle::Zero, theme.dim),
                    (false, Verdict::Leaking, true) => (CellStyle::Leak, theme.leak),
                    (false, _, true) => (CellStyle::Up, theme.up),
                    (false, ..) => (CellStyle::Plain, theme.popup),
                };
                verdicts.push((grid.cell(y, at), meaning));
                (text, style)
            });
            if index == list.cursor {
                select_row(buf, line(area, y), theme, &verdicts);
            }
        }
    }
}

/// Returns why the list is empty.
fn nothing(app: &App) -> String {
    let history = &app.engine.history;
    match history.observed() {
        seen if seen >= MIN_LEAK_OBSERVED => format!("nothing grows or leaks now; watched for {}", units::span(seen)),
        _ => "nothing grows or leaks so far; growth shows after 2 minutes, a leak after 16".into(),
    }
}

/// Reads from time to time which file grows in the file system in memory that is suspected first. Not while a dialog or a list
/// is open, whose own read that would replace.
pub(in crate::tui) fn request_files(app: &mut App) -> Option<Effect> {
    let now = app.engine.snapshot.as_ref()?.monotonic;
    let is_apart = app.fleet.is_some() || app.replay.is_some() || app.modal.is_some();
    let mut mounts = app
        .engine
        .living_suspects()
        .filter_map(|suspect| suspect.key.part()?.mount.clone());
    let mount = mounts.next().filter(|_| !is_apart)?;
    app.data.cache.follow_mount(&mount, now)
}

/// Returns the file that grows in a file system in memory, its size and the processes that have it open, or how to find it.
fn growing_file(app: &App, suspect: &Suspect) -> String {
    let Some(file) = grower_of(app, suspect) else {
        return "Enter lists its files, and the processes that have them open".into();
    };
    format!("mostly in {}", file.text(app.screen.units))
}

/// Returns the file that grows in a suspect that is a file system in memory, if it was read.
fn grower_of<'a>(app: &'a App, suspect: &Suspect) -> Option<&'a CachedFile> {
    app.data.cache.grower_in(suspect.key.part()?.mount.as_deref()?)
}

/// Returns the time of day at which its growth stopped.
fn stopped_at(app: &App, snapshot: &Snapshot, suspect: &Suspect) -> Option<String> {
    let ago = app.engine.history.elapsed_since(suspect.stopped?.until);
    clock(app, snapshot, ago, false)
}

/// Returns the minimum width of the popup for columns of a priority.
const fn min_width(priority: Priority) -> usize {
    match priority {
        Priority::Low => 100,
        Priority::Normal => 80,
        Priority::High => 60,
        Priority::Highest => 0,
    }
}

/// Returns the mapping of a suspect that grew most, and the duration of the growth, if it is known and explains the growth.
pub(in crate::tui) fn fastest_mapping<'a>(app: &'a App, suspect: &Suspect) -> Option<(&'a MappingGrowth, Duration)> {
    let id = suspect.key.process().filter(|_| !suspect.is_held())?;
    let fastest = app.data.growth.fastest(id, &app.engine.history);
    fastest.filter(|(growth, took)| growth.explains(suspect.judgement.slope, *took))
}

/// Returns how much of the coldest mapping is untouched, if that was measured: `412M of 430M in [heap] untouched for 10m`.
pub(in crate::tui) fn untouched(app: &App, snapshot: &Snapshot, suspect: &Suspect) -> Option<String> {
    let id = suspect.key.process().filter(|_| !suspect.is_held())?;
    let sample = snapshot.row(id)?;
    let coldness = app.data.coldness.get(sample).ok()?;
    let (mapping, resident) = coldness.coldest()?;
    let bytes = |n| units::bytes(n, app.screen.units);
    Some(format!(
        "{} of {} in {} untouched for {}",
        bytes(resident.cold()),
        bytes(resident.rss),
        text::safe_prefix(&mapping.name, 30),
        units::span(coldness.since)
    ))
}

/// Writes a mapping, its growth and the duration: `[heap] +136M in 12m`. A long name loses its beginning.
pub(in crate::tui) fn mapping_growth(app: &App, (growth, took): (&MappingGrowth, Duration), width: usize) -> String {
    let name = text::safe(&growth.name);
    let name = text::truncate_start(&name, width);
    let by = growth
        .growth()
        .map_or_else(|| "-".into(), |by| units::delta(by, app.screen.units));
    format!("{name} {by} in {}", units::span(took))
}
