//! The list of alert events, newest first. Enter goes to the row of one.
//!
//! ```text
//! ┌ Alerts ──────────────────────────────────────────────────────────────────┐
//! │ !   12s ago  fired    big           27213 python3 train.py: pss 4.2G     │
//! │    4m05 ago  cleared  big           812 node: pss 7.4M, was 4.2G          │
//! │──────────────────────────────────────────────────────────────────────────│
//! │ big: on = "process", when = "pss>4G", hold = "10s"                       │
//! └──────────────────────────────────────────────────────────────────────────┘
//! ```

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::Popup;
use crate::alert::{AlertEvent, Alerts, Target, Transition};
use crate::config::Action;
use crate::text::{self, Align, fit};
use crate::tui::app::{App, Response};
use crate::tui::navigation::show_row;
use crate::tui::page;
use crate::tui::widgets::{ListState, draw_list};
use crate::units;

/// The time, rule and target of an event, by which the cursor follows it.
type EventKey = (Duration, usize, Target);

/// The listed events.
pub struct AlertList(Vec<EventKey>);

impl AlertList {
    pub fn new(app: &App) -> Self {
        let key = |event: &AlertEvent| (event.monotonic, event.rule, event.target.clone());
        Self(app.engine.alerts.events().iter().map(key).collect())
    }
}

/// Returns the lines above the events: warnings, and why there is none.
fn remarks(app: &App) -> Vec<(String, Style)> {
    let theme = &app.config.theme;
    let alerts = &app.engine.alerts;
    let warnings = app.config.warnings.iter();
    let mut lines: Vec<_> = warnings.map(|what| (format!(" {what}"), theme.alert)).collect();
    if alerts.skipped() > 0 {
        let most = Alerts::MAX_TRACKED;
        let text = format!(" some alerts are missing: more than {most} conditions were true at once");
        lines.push((text, theme.alert));
    }
    if alerts.events().is_empty() {
        let text = if alerts.rules().len() == 0 {
            " no alerts: there are no rules. `zmtop config default` shows how to write some"
        } else {
            " no alerts so far"
        };
        lines.push((text.into(), theme.dim));
    }
    lines
}

/// Maximum columns of the rules' names. A longer one has more if there is room.
const NAME_WIDTH: usize = 16;

/// Returns every line with its style, with room for `width` columns.
fn lines(app: &App, width: usize) -> Vec<(String, Style)> {
    let theme = &app.config.theme;
    let (alerts, history) = (&app.engine.alerts, &app.engine.history);
    let mut lines = remarks(app);
    let names = alerts.events().iter().map(|event| text::safe(event.name.as_bytes()));
    let name_width = names.map(|name| text::width(&name)).max().unwrap_or(0).min(NAME_WIDTH);
    // Only the newest event about a target has its current state.
    let mut seen = HashSet::new();
    lines.extend(alerts.events().iter().map(|event| {
        let is_newest = seen.insert((event.rule, &event.target));
        let is_firing = is_newest && alerts.rule_is_firing(event.rule, &event.target);
        let what = match event.transition {
            Transition::Fired if event.flapping => "flapping",
            Transition::Fired => "fired",
            Transition::Resolved(reason) => reason.id(),
        };
        let mark = if is_firing { '!' } else { ' ' };
        let ago = units::span(history.elapsed_since(event.monotonic));
        let begin = format!(" {mark} {ago:>5} ago  {what:<8} ");
        let name = text::safe(event.name.as_bytes());
        let summary = event.summary();
        let room = width.saturating_sub(text::width(&begin) + 2);
        let for_name = room.saturating_sub(text::width(&summary)).min(text::width(&name));
        let name = fit(&name, for_name.max(name_width), Align::Left);
        let summary = event.summary_within(room.saturating_sub(text::width(&name)));
        let text = format!("{begin}{name}  {summary}");
        (text, if is_firing { theme.alert } else { theme.popup })
    }));
    lines
}

/// Returns the event of a line.
fn event_at(app: &App, at: usize) -> Option<&AlertEvent> {
    app.engine.alerts.events().get(at.checked_sub(remarks(app).len())?)
}

impl Popup for AlertList {
    const TITLE: &'static str = " Alerts ";
    const WIDTH: u16 = 76;
    const IS_MENU: bool = false;

    /// Returns the number of events, and how many of them still fire: ` Alerts: 12, 3 firing `.
    fn title(&self, app: &App) -> Cow<'static, str> {
        let alerts = &app.engine.alerts;
        match (alerts.events().len(), alerts.firing()) {
            (0, _) => Self::TITLE.into(),
            (events, 0) => format!(" Alerts: {events} ").into(),
            (events, firing) => format!(" Alerts: {events}, {firing} firing ").into(),
        }
    }

    /// Returns the width that the longest line needs.
    fn width(&self, app: &App) -> u16 {
        let lines = lines(app, usize::MAX);
        let longest = lines.iter().map(|(text, _)| text::width(text) + 3).max();
        u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX).max(Self::WIDTH)
    }

    fn texts(&self, app: &App) -> Vec<String> {
        let lines = lines(app, usize::MAX).into_iter();
        lines.map(|(text, _)| text).collect()
    }

    /// Returns the rule of an event as the config has it.
    fn note(&self, app: &App, at: usize) -> Option<Cow<'static, str>> {
        let event = event_at(app, at)?;
        let rule = app.engine.alerts.rules().find(|rule| rule.number == event.rule)?;
        let hold = match rule.hold {
            Duration::ZERO => String::new(),
            hold => format!(", hold = \"{}\"", units::span_exact(hold)),
        };
        let [name, when] = [&rule.name, &rule.when].map(|text| text::safe(text.as_bytes()).into_owned());
        let on = rule.target_kind.id();
        Some(format!("{name}: on = \"{on}\", when = \"{when}\"{hold}").into())
    }

    fn on_snapshot(&mut self, app: &App, at: usize) -> usize {
        let above = remarks(app).len();
        let before = std::mem::replace(self, Self::new(app));
        let selected = at.checked_sub(above).and_then(|at| before.0.get(at));
        let found = self.0.iter().position(|key| Some(key) == selected);
        found.map_or(at, |found| found + above)
    }

    /// Goes to the row of the event; to the memory page if it is the system.
    fn accept(&mut self, app: &mut App, at: usize) -> Response {
        match event_at(app, at).map(|event| event.target.clone()) {
            Some(Target::Row(key)) => show_row(app, &key),
            Some(Target::System) => {
                page::open(app, Action::MemoryPage);
            }
            None => return Response::stay(),
        }
        Response::close()
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let lines = lines(app, usize::from(area.width));
        draw_list(buf, area, list, lines.len(), app.config.theme.selected, |at| {
            lines[at].clone()
        });
    }
}
