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

use super::{Popup, READ};
use crate::alert::{AlertEvent, Alerts, Transition};
use crate::text::{self, Align, fit};
use crate::tui::app::{App, Hint};
use crate::tui::widgets::{ListState, draw_list};
use crate::units;

/// The open list.
#[derive(Debug, Default)]
pub struct AlertList {
    list: ListState,
}

impl Popup for AlertList {
    const TITLE: &'static str = " Alerts ";
    const WIDTH: u16 = 120;
    const HINTS: &'static [Hint] = READ;

    fn list(&mut self) -> &mut ListState {
        &mut self.list
    }

    fn len(&self, app: &App) -> usize {
        notes(app).len() + app.engine.alerts.events().len()
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        let alerts = &app.engine.alerts;
        let notes = notes(app);
        // The newest event about a target says how it is with that one now.
        let mut seen = HashSet::new();
        let events: Vec<(&AlertEvent, bool)> = alerts
            .events()
            .iter()
            .map(|e| {
                let newest = seen.insert((e.rule, &e.target));
                (e, newest && alerts.rule_is_firing(e.rule, &e.target))
            })
            .collect();
        let now = app.engine.snapshot.as_ref().map(|s| s.monotonic).unwrap_or_default();
        let len = notes.len() + events.len();
        let selected = if events.is_empty() { theme.popup } else { theme.selected };
        draw_list(buf, area, self.list, len, selected, |at| {
            if let Some(note) = notes.get(at) {
                let says_none = events.is_empty() && at + 1 == notes.len();
                return (note.clone(), if says_none { theme.dim } else { theme.alert });
            }
            let (event, firing) = events[at - notes.len()];
            let what = match event.transition {
                Transition::Fired if event.flapping => "flapping",
                Transition::Fired => "fired",
                Transition::Resolved(reason) => reason.id(),
            };
            let text = format!(
                " {} {:>5} ago  {what:<8} {}  {}",
                if firing { '!' } else { ' ' },
                units::span(now.saturating_sub(event.monotonic)),
                fit(&text::safe_prefix(event.name.as_bytes(), 16), 16, Align::Left),
                event.summary(),
            );
            (text, if firing { theme.alert } else { theme.popup })
        });
    }
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
