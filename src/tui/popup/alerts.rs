//! The list of alert events, newest first.
//!
//! ```text
//! ┌ Alerts ──────────────────────────────────────────────────────────────────┐
//! │ !   12s ago  fired    big           27213 python3 train.py: pss 4.2G     │
//! │    4m05 ago  over     swapping      system: swap_in +12.0M/s             │
//! └──────────────────────────────────────────────────────────────────────────┘
//! ```

use std::collections::HashSet;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::Popup;
use crate::alert::{Alerts, Transition};
use crate::text::{self, Align, fit};
use crate::tui::app::App;
use crate::tui::widgets::{ListState, draw_line, line};
use crate::units;

#[derive(Debug, Default)]
pub struct AlertList {
    list: ListState,
}

impl Popup for AlertList {
    const TITLE: &'static str = " Alerts ";
    const WIDTH: u16 = 120;
    const IS_TEXT: bool = true;

    fn list(&self) -> ListState {
        self.list
    }

    fn list_mut(&mut self) -> &mut ListState {
        &mut self.list
    }

    fn texts(&self, app: &App) -> Vec<String> {
        lines(app).into_iter().map(|(text, _)| text).collect()
    }

    fn len(&self, app: &App) -> usize {
        notes(app).len() + app.engine.alerts.events().len()
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let width = usize::from(area.width);
        for ((text, style), y) in lines(app).into_iter().skip(self.list.cursor).zip(0..area.height) {
            draw_line(buf, line(area, y), &fit(&text, width, Align::Left), style);
        }
    }
}

/// Returns every line.
fn lines(app: &App) -> Vec<(String, Style)> {
    let theme = &app.config.theme;
    let alerts = &app.engine.alerts;
    let mut lines: Vec<_> = notes(app).into_iter().map(|note| (note, theme.alert)).collect();
    if let Some((_, style)) = lines.last_mut().filter(|_| alerts.events().is_empty()) {
        // That there are none is no fault.
        *style = theme.dim;
    }
    let history = &app.engine.history;
    // The newest event about a target says how it is with that one now.
    let mut seen = HashSet::new();
    lines.extend(alerts.events().iter().map(|event| {
        let is_newest = seen.insert((event.rule, &event.target));
        let is_firing = is_newest && alerts.rule_is_firing(event.rule, &event.target);
        let what = match event.transition {
            Transition::Fired if event.flapping => "flapping",
            Transition::Fired => "fired",
            Transition::Resolved(reason) => reason.id(),
        };
        let text = format!(
            " {} {:>5} ago  {what:<8} {}  {}",
            if is_firing { '!' } else { ' ' },
            units::span(history.elapsed_since(event.monotonic)),
            fit(&text::safe_prefix(event.name.as_bytes(), 16), 16, Align::Left),
            event.summary(),
        );
        (text, if is_firing { theme.alert } else { theme.popup })
    }));
    lines
}

/// Returns lines to show above the events: what the list lacks, and why.
fn notes(app: &App) -> Vec<String> {
    let alerts = &app.engine.alerts;
    let mut notes: Vec<String> = app.config.warnings.iter().map(|what| format!(" {what}")).collect();
    if alerts.skipped() > 0 {
        let most = Alerts::MAX_TRACKED;
        notes.push(format!(
            " some alerts are missing: the conditions held for more than {most} at once"
        ));
    }
    if alerts.events().is_empty() {
        notes.push(if alerts.rules().len() == 0 {
            " no alerts: there are no rules. `zmtop config default` shows how to write some".into()
        } else {
            " no alerts so far".into()
        });
    }
    notes
}
