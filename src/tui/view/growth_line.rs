//! The line about the worst leak, or where there is none about what grows fastest.
//!
//! ```text
//!  ▲ 2 leaks  27213 python3 train.py  11.4M/min for at least 32m  at this pace full in 5.0 h  98% sure  mostly [heap] +136M   L shows all
//!  △ 3 grow  812 redis-server  4.1M/min for at least 2m  mostly [anon] +9M   L shows all
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::config::{Action, Context};
use crate::group::RowKey;
use crate::history::suspects::Suspect;
use crate::model::Snapshot;
use crate::trend::{Metric, Verdict};
use crate::tui::app::App;
use crate::tui::labels;
use crate::tui::popup::leaks::{fastest_mapping, mapping_growth, untouched};
use crate::tui::widgets::StatusLine;
use crate::{text, units};

/// A limit that is reached later than that is not worth a word: one year.
const MAX_ETA: Duration = Duration::from_secs(365 * 86_400);

/// Draws the line.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = app.engine.snapshot.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    let leaks = app.engine.leaks().count();
    // What slows down grows, too.
    let growing = app.engine.living_suspects().count() - leaks;
    // The worst comes first.
    let Some(suspect) = app.engine.living_suspects().next() else {
        return;
    };
    let mut line = StatusLine::default();
    if suspect.judgement.verdict == Verdict::Leaking {
        let count = match leaks {
            1 => " ▲ leak".into(),
            n => format!(" ▲ {n} leaks"),
        };
        line.text(95, count, theme.leak);
        describe(app, snapshot, suspect, theme.leak, &mut line);
        if growing > 0 {
            line.text(30, format!("  △ {growing} more grow"), theme.text);
        }
    } else {
        let count = match growing {
            1 => " △ growing".into(),
            n => format!(" △ {n} grow"),
        };
        line.text(95, count, theme.up);
        describe(app, snapshot, suspect, theme.text, &mut line);
    }
    if let Some(key) = app.config.keymap.keys(Context::Table, Action::Leaks).next() {
        line.labeled(20, &format!("   {key}"), theme.key, " shows all", theme.key_label);
    }
    line.draw(area, buf);
}

/// Adds who it is, how fast it grows, since when, and what.
fn describe(app: &App, snapshot: &Snapshot, suspect: &Suspect, style: Style, line: &mut StatusLine) {
    let theme = &app.config.theme;
    let judgement = &suspect.judgement;
    line.text(90, format!("  {}", name(suspect, app.screen.size.0 < 100)), theme.text);
    let span = |since| units::span(snapshot.monotonic.saturating_sub(since));
    if let Some(since) = judgement.flat_since {
        line.text(85, format!("  paused for {}", span(since)), style);
    } else {
        line.text(85, format!("  {}", units::pace(judgement.slope)), style);
        if let Some(since) = judgement.since {
            line.text(70, format!(" for at least {}", span(since)), theme.text);
        }
    }
    let eta = suspect.eta.and_then(|eta| Duration::try_from_secs_f64(eta).ok());
    if let Some(eta) = eta.filter(|eta| *eta < MAX_ETA) {
        // What is far off is not what the eye should meet first, nor what stays where there is little room.
        let (priority, style) = if eta < labels::SOON {
            (80, theme.warning)
        } else {
            (65, theme.text)
        };
        line.text(priority, format!("  at this pace full in {}", units::about(eta)), style);
    }
    if judgement.verdict == Verdict::Leaking {
        line.text(40, format!("  {:.0}% sure", judgement.percent()), theme.dim);
    }
    if judgement.metric == Metric::File {
        line.text(75, "  file pages, which the kernel takes back", theme.text);
    }
    if let Some(cause) = &suspect.cause {
        line.text(75, format!("  {}", cause.text()), theme.text);
    }
    if let Some(fastest) = fastest_mapping(app, suspect) {
        let text = format!("  mostly {}", mapping_growth(app, fastest, 30));
        line.text(75, text, theme.text);
    }
    if let Some(text) = untouched(app, snapshot, suspect) {
        line.text(60, format!("  {text}"), theme.text);
    }
}

/// Returns the name of a suspect with its pid or how many processes it has; on a narrow screen that of its program, which says
/// more in little room than the beginning of a path.
fn name(suspect: &Suspect, is_narrow: bool) -> String {
    let width = if is_narrow { 20 } else { 36 };
    match &suspect.key {
        RowKey::Process(id) if is_narrow && suspect.command.is_some() => {
            let program = suspect.command.as_deref().unwrap_or_default();
            format!(
                "{} {}",
                id.pid,
                text::truncate(&text::safe_prefix(program, width), width)
            )
        }
        RowKey::Part(key) => key.label.into(),
        RowKey::Group(key) => format!("{} ({} processes)", labels::group_name(key, width), suspect.count),
        RowKey::Process(id) => labels::process(*id, suspect.facts.as_deref(), width),
    }
}
