//! The alerts there are and were, newest first.
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

use crate::alert::Transition;
use crate::text::{self, Align, fit};
use crate::tui::app::App;
use crate::tui::popup::Place;
use crate::units;

/// What the first line says of those there are now.
pub(super) fn label(app: &App) -> Option<String> {
    match app.data.alerts.firing() {
        0 => None,
        1 => Some(" ! 1 alert ".into()),
        n => Some(format!(" ! {n} alerts ")),
    }
}

/// How many lines the list has.
pub(super) fn lines(app: &App) -> usize {
    app.data.alerts.events().len().max(1)
}

/// Draws the list.
pub(super) fn draw(app: &App, place: Place, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let width = usize::from(area.width);
    if area.is_empty() {
        return;
    }
    if app.data.alerts.events().len() == 0 {
        let why = if app.data.alerts.rules().len() == 0 {
            " no alerts: there are no rules. `zmtop config default` shows how to write some"
        } else {
            " no alerts so far"
        };
        buf.set_stringn(area.x, area.y, why, width, theme.dim);
        return;
    }
    let now = app
        .data
        .snapshot
        .as_ref()
        .map_or_else(Default::default, |s| s.monotonic);
    // The newest notice about one tells how it is with that one now.
    let mut told = HashSet::new();
    for (at, event) in app.data.alerts.events().iter().enumerate() {
        let current =
            told.insert((event.rule, &event.target)) && app.data.alerts.rule_is_firing(event.rule, &event.target);
        let Some(y) = at.checked_sub(place.offset).filter(|y| *y < usize::from(area.height)) else {
            continue;
        };
        let what = match event.transition {
            Transition::Fired => "fired",
            Transition::Resolved(reason) => reason.id(),
        };
        let line = format!(
            " {} {:>5} ago  {what:<8} {}  {}",
            if current { '!' } else { ' ' },
            units::span(now.saturating_sub(event.monotonic)),
            fit(&text::safe_prefix(event.name.as_bytes(), 16), 16, Align::Left),
            event.summary(),
        );
        let style = match (at == place.cursor, current) {
            (true, _) => theme.selected,
            (false, true) => theme.alert,
            (false, false) => theme.popup,
        };
        buf.set_stringn(area.x, area.y + y as u16, fit(&line, width, Align::Left), width, style);
    }
}
