//! The line about the limit that is reached soonest, while there is one.
//!
//! ```text
//!  ▲ DANGER  memory is full in 12 min at this pace: 1.1G left, falling by 90M/min  27213 python3 +80M/min  mostly [heap] +136M
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::group::RowKey;
use crate::history::dangers::{Danger, Limit};
use crate::tui::app::App;
use crate::tui::labels;
use crate::tui::popup::leaks::mapping_growth;
use crate::tui::widgets::StatusLine;
use crate::{text, units};

/// Draws the line.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let dangers = app.engine.history.dangers();
    let Some(danger) = dangers.first().filter(|_| !area.is_empty()) else {
        return;
    };
    let width = if area.width < 100 { 16 } else { 36 };
    let mut line = StatusLine::default();
    line.text(95, " ▲ DANGER ", theme.danger);
    line.text(90, format!(" {}", sentence(danger, width)), theme.text);
    let forecast = &danger.forecast;
    let left = units::bytes(forecast.left, app.screen.units);
    line.text(
        40,
        format!(": {left} left, falling by {}", units::pace(forecast.pace)),
        theme.dim,
    );
    if let Some(snapshot) = &app.engine.snapshot {
        let long = units::span(snapshot.monotonic.saturating_sub(forecast.since));
        line.text(30, format!(" for at least {long}"), theme.dim);
    }
    match &danger.taker {
        None => line.text(60, "  by no single process", theme.text),
        Some((key, pace)) => {
            let name = name(app, key, width);
            line.text(80, format!("  {name} +{}", units::pace(*pace)), theme.warning);
            if let Some(fastest) = key.process().and_then(|id| app.data.growth.fastest(id)) {
                let text = format!("  mostly {}", mapping_growth(app, fastest, 30));
                line.text(50, text, theme.text);
            }
        }
    }
    if dangers.len() > 1 {
        line.text(70, format!("  {} more", dangers.len() - 1), theme.dim);
    }
    line.draw(area, buf);
}

/// Says which limit is reached when: `memory is full in 12 min at this pace`.
fn sentence(danger: &Danger, width: usize) -> String {
    let time = units::about(danger.forecast.time());
    match &danger.limit {
        Limit::Machine => format!("memory is full in {time} at this pace"),
        Limit::AddressSpace(id) => format!("address space of {} is full in {time} at this pace (RLIMIT_AS)", id.pid),
        Limit::Cgroup(path) => {
            let path = text::safe(path);
            format!(
                "cgroup {} is full in {time} at this pace",
                text::truncate_start(&path, width)
            )
        }
    }
}

/// Returns the name of who takes the memory, cut to a width.
fn name(app: &App, key: &RowKey, width: usize) -> String {
    match key {
        RowKey::Part(key) => key.label.into(),
        RowKey::Group(key) => format!("{} (all its processes)", labels::group_name(key, width)),
        RowKey::Process(id) => {
            let sample = app.engine.snapshot.as_ref().and_then(|snapshot| snapshot.row(*id));
            labels::process(*id, sample.map(|row| &*row.facts), width)
        }
    }
}
