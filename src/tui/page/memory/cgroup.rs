//! A cgroup on page 2: the lines above the account of its memory, and the figures beside it.
//!
//! ```text
//!  web  /docker/3f4ab2c8e9d0  charged 88.0M of 120M                                        2 the machine
//!  2 processes  ·  the limit of /docker  ·  throttled above 110M  ·  max 12, oom_kill 1  ·  waiting 7.5 %
//!
//!  LIMITS: charged, max, high, swap            EVENTS SINCE IT WAS CREATED
//!  /docker/3f4ab2c8e9d0  88.0M   max  110M  10.0M       throttled above memory.high                          3
//!  /docker                160M  200M   max    max       killed processes                                     1
//! ```

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::beside::{self, Section};
use crate::config::{Action, Context};
use crate::group::{GroupBy, GroupKey};
use crate::history::inspected::InspectedHistory;
use crate::model::snapshot::InspectedCgroup;
use crate::model::system::{Scope, ScopeEvents, SystemSample};
use crate::model::{Missing, Reading, Snapshot};
use crate::tui::app::App;
use crate::tui::widgets::{StatusLine, line};
use crate::{text, units};

/// The lines above the account.
pub(super) const LINES: u16 = 2;
/// Maximum width of a path in the list of limits.
const PATH_WIDTH: usize = 24;
/// Maximum number of cgroups in the list of limits.
const MAX_LEVELS: usize = 8;

/// The cgroup on the page.
pub(super) struct Shown {
    pub(super) path: Arc<[u8]>,
    /// The unit or container that it is.
    group: Option<GroupKey>,
}

impl Shown {
    /// Returns the cgroup of the selected group. Shows a message if its processes are in several.
    pub(super) fn selected(app: &mut App) -> Option<Self> {
        if let Some((key, path)) = app.selected_cgroup() {
            return Some(Self {
                path: path.into(),
                group: Some(key.clone()).filter(|key| key.by != GroupBy::Cgroup),
            });
        }
        let by = app.query.scope.grouping();
        let is_named =
            |key: &GroupKey| key.name.is_some() && matches!(key.by, GroupBy::Unit | GroupBy::Container | GroupBy::Pod);
        let key = app
            .query
            .scope
            .opened_group()
            .or_else(|| Some(&app.selected_group()?.key));
        if let (Some(by), true) = (by, key.is_some_and(is_named)) {
            let by = by.id();
            app.screen.say(format!(
                "this {by} is in several cgroups: group by cgroup to see each; this page shows the machine"
            ));
        }
        None
    }

    pub(super) fn history<'a>(&self, app: &'a App) -> Option<&'a InspectedHistory> {
        app.engine.history.inspected(&self.path)
    }

    fn inspected<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a InspectedCgroup> {
        let inspected = snapshot.inspected.as_deref();
        inspected.filter(|inspected| inspected.path == self.path)
    }

    /// Returns its figures in the last snapshot.
    pub(super) fn system<'a>(&self, snapshot: &'a Snapshot) -> Reading<&'a SystemSample> {
        let inspected = self.inspected(snapshot).ok_or(Missing::Pending)?;
        inspected.system.as_ref().map_err(|why| *why)
    }

    fn scope<'a>(&self, snapshot: &'a Snapshot) -> Reading<&'a Scope> {
        self.system(snapshot)?.scope.as_deref().ok_or(Missing::OutOfView)
    }

    /// Returns the memory that it may still use.
    pub(super) fn room(&self, snapshot: &Snapshot) -> Option<u64> {
        self.scope(snapshot).ok()?.left.ok()
    }
}

/// Returns why a cgroup is not shown.
pub(super) const fn unread(why: Missing) -> &'static str {
    match why {
        Missing::Pending => "being read",
        Missing::OutOfView | Missing::Gone => "this cgroup was removed, or is not visible from here",
        Missing::Unsupported => "the memory controller is not enabled in this cgroup, so no memory is charged to it",
        why => why.reason(),
    }
}

/// Draws the name of the cgroup, its charged memory, the lowest limit and the cgroup that has it, and the events.
pub(super) fn draw_heading(app: &App, snapshot: &Snapshot, shown: &Shown, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut heading = StatusLine::default();
    let width = usize::from(area.width);
    if let Some(key) = &shown.group {
        let name = text::truncate(&text::safe(key.label()), width / 4);
        heading.text(90, format!(" {name}"), theme.heading_sorted);
    }
    let path_width = if shown.group.is_some() { width / 4 } else { width / 2 };
    let path = text::truncate_start(&text::safe(&shown.path), path_width);
    let style = if shown.group.is_some() {
        theme.heading
    } else {
        theme.heading_sorted
    };
    heading.text(80, format!(" {path}"), style);
    if let Some(key) = app.config.keymap.shown_key(Context::Table, Action::MemoryPage) {
        heading.text_right(40, format!("  {key} the machine "), theme.heading);
    }
    let mut facts = StatusLine::default();
    if let Ok(scope) = shown.scope(snapshot) {
        let bytes = |n| units::bytes(n, app.screen.units);
        let limit = match scope.limit {
            Ok(Some(limit)) => format!(" of {}", bytes(limit)),
            Ok(None) => ", no limit".into(),
            Err(why) => format!(", limit {}", why.reason()),
        };
        let charged = scope.current.map_or_else(|why| why.reason().into(), bytes);
        heading.text(85, format!("  charged {charged}{limit}"), theme.heading);
        draw_facts(app, snapshot, (shown, scope), &mut facts);
    }
    buf.set_style(line(area, 0), theme.heading);
    heading.draw(line(area, 0), buf);
    facts.draw(line(area, 1), buf);
}

fn draw_facts(app: &App, snapshot: &Snapshot, (shown, scope): (&Shown, &Scope), facts: &mut StatusLine) {
    let theme = &app.config.theme;
    let bytes = |n| units::bytes(n, app.screen.units);
    if let Some(history) = shown.history(app) {
        let processes = &history.processes;
        let unread = processes.total - processes.readable;
        let unread = if unread > 0 {
            format!(" ({unread} not readable)")
        } else {
            String::new()
        };
        let count = units::counted(processes.total as u64, "process");
        facts.text(90, format!(" {count}{unread}"), theme.text);
    }
    let above = scope.levels.iter().find(|level| level.limit == scope.limit);
    if let Some(level) = above.filter(|level| scope.limit != Ok(None) && level.path != scope.path) {
        let path = text::truncate_start(&text::safe(&level.path), PATH_WIDTH);
        facts.text(70, format!("  ·  the limit of {path}"), theme.text);
    }
    if let Some(high) = scope.soft_limit() {
        facts.text(75, format!("  ·  throttled above {}", bytes(high)), theme.text);
    }
    let swap = scope.levels.first().map(|level| level.swap);
    if let Some(Ok(swap @ 1..)) = swap {
        facts.text(60, format!("  ·  in swap {}", bytes(swap)), theme.text);
    }
    let events = scope.events.named().into_iter();
    let events = events.filter_map(|(name, count)| Some(format!("{name} {}", count.ok().filter(|n| *n > 0)?)));
    let events = events.collect::<Vec<_>>().join(", ");
    if !events.is_empty() {
        let is_bad = [scope.events.oom, scope.events.oom_kill].contains(&Ok(0));
        let style = if is_bad { theme.text } else { theme.warning };
        facts.text(80, format!("  ·  {events}"), style);
    }
    if let Ok(pressure) = shown.system(snapshot).and_then(|system| system.psi) {
        let share = format!("  ·  waiting {:.1} %", pressure.some[0]);
        facts.text(
            65,
            share,
            if pressure.some[0] >= 1.0 {
                theme.warning
            } else {
                theme.text
            },
        );
    }
}

/// Returns the figures beside the account: the limits of it and of all above it, the events, and how long tasks waited.
pub(super) fn sections<'a>(app: &'a App, snapshot: &Snapshot, shown: &Shown) -> Vec<Section<'a>> {
    let Ok(scope) = shown.scope(snapshot) else {
        return Vec::new();
    };
    let inspected = shown.inspected(snapshot);
    let waits = inspected.map(|inspected| inspected.accounting.pressure);
    let pressure = waits.map(|pressure| beside::pressure(app, pressure));
    let sections = [Some(limits(app, scope)), Some(events(app, &scope.events)), pressure];
    sections.into_iter().flatten().collect()
}

fn limits<'a>(app: &'a App, scope: &Scope) -> Section<'a> {
    let mut section = Section::new(app, "LIMITS: charged, max, high, swap.max");
    let limit = |limit: Reading<Option<u64>>| match limit {
        Ok(Some(limit)) => units::bytes(limit, app.screen.units),
        Ok(None) => "max".into(),
        Err(Missing::OutOfView) => "hidden".into(),
        Err(_) => "-".into(),
    };
    for level in scope.levels.iter().take(MAX_LEVELS) {
        let current = level
            .current
            .map_or_else(|_| "-".into(), |n| units::bytes(n, app.screen.units));
        let [max, high, swap] = [level.limit, level.high, level.swap_limit].map(limit);
        let path = text::truncate_start(&text::safe(&level.path), PATH_WIDTH);
        section.push(path, format!(" {current:>5} {max:>6} {high:>6} {swap:>6}"));
    }
    let more = scope.levels.len().saturating_sub(MAX_LEVELS);
    if more > 0 {
        section.push(format!("and {more} more above"), String::new());
    }
    section
}

/// Returns the events with their meaning. Kernels differ in the events that they count.
fn events<'a>(app: &'a App, events: &ScopeEvents) -> Section<'a> {
    let mut section = Section::new(app, "EVENTS SINCE IT WAS CREATED");
    for (name, count) in events.named() {
        let what = match name {
            "low" => "low: reclaimed below its protection",
            "high" => "high: throttled above the soft limit",
            "max" => "max: the limit was reached",
            "oom" => "oom: nothing more to reclaim",
            "oom_kill" => "oom_kill: processes killed",
            _ => "oom_group_kill: killed as a whole",
        };
        match count {
            Ok(count) => section.push(what, count.to_string()),
            Err(Missing::Unsupported) => {}
            Err(why) => section.push(what, why.reason().into()),
        }
    }
    section
}
