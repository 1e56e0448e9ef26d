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

use crate::alert::Kind;
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
    app.data.alerts.log().len().max(1)
}

/// Draws the list.
pub(super) fn draw(app: &App, place: Place, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let width = usize::from(area.width);
    if area.is_empty() {
        return;
    }
    if app.data.alerts.log().len() == 0 {
        let why = if app.data.alerts.rules().is_empty() {
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
    for (at, notice) in app.data.alerts.log().enumerate() {
        let current = told.insert((notice.rule, &notice.target)) && app.data.alerts.fires(notice.rule, &notice.target);
        let Some(y) = at.checked_sub(place.offset).filter(|y| *y < usize::from(area.height)) else {
            continue;
        };
        let what = match notice.kind {
            Kind::Fired => "fired",
            Kind::Cleared(why) => why.id(),
        };
        let line = format!(
            " {} {:>5} ago  {what:<8} {}  {}",
            if current { '!' } else { ' ' },
            units::span(now.saturating_sub(notice.at)),
            fit(&text::safe_prefix(notice.name.as_bytes(), 16), 16, Align::Left),
            notice.summary(),
        );
        let style = match (at == place.cursor, current) {
            (true, _) => theme.selected,
            (false, true) => theme.alert,
            (false, false) => theme.popup,
        };
        buf.set_stringn(area.x, area.y + y as u16, fit(&line, width, Align::Left), width, style);
    }
}
