//! The line about the worst leak, or where there is none about what grows fastest.
//!
//! ```text
//!  ▲ leak  27213 python3 train.py  11.4M/min since 09:14: memory full in 5.0 h  99% sure that it grows   1 more leak: press L
//!  △ growing  812 redis-server  4.1M/min since 09:44: memory full in 9.1 h  [anon] +9M in 2m   2 more growing: press L
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

/// Columns from which on there is room for how long it lasts beside since when.
const WIDE: u16 = 140;
/// A limit that is reached later than that is not worth a word: one year.
const MAX_ETA: Duration = Duration::from_secs(365 * 86_400);

/// Draws the line.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = app.engine.snapshot.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    // The worst comes first.
    let Some(suspect) = app.engine.living_suspects().next() else {
        return;
    };
    let mut line = StatusLine::default();
    let verdict = suspect.judgement.verdict;
    let style = style(app, verdict);
    let (sign, told) = match verdict {
        Verdict::Leaking => (" ▲ leak", style),
        Verdict::Growing => (" △ growing", theme.text),
        _ => (" ~ warming up", theme.text),
    };
    line.text(95, sign, style);
    describe(app, snapshot, suspect, told, &mut line);
    if let Some(key) = app.config.keymap.keys(Context::Table, Action::Leaks).next() {
        let key = key.to_string();
        match others(app, suspect) {
            Some(more) if app.is_narrow() => line.labeled(72, &format!("   {more}: "), theme.text, key, theme.key),
            Some(more) => line.labeled(72, &format!("   {more}: press "), theme.text, key, theme.key),
            None => line.labeled(20, "   why: press ", theme.key_label, key, theme.key),
        }
    }
    line.draw(area, buf);
}

/// Returns the style of what has that verdict.
pub(super) const fn style(app: &App, verdict: Verdict) -> Style {
    let theme = &app.config.theme;
    match verdict {
        Verdict::Leaking => theme.leak,
        Verdict::Growing => theme.up,
        _ => theme.text,
    }
}

/// Says what leaks or grows besides, `1 more leak, 2 growing`, and with less room how many more do the same; what only warms up
/// is no news.
fn others(app: &App, first: &Suspect) -> Option<String> {
    let count = |verdict: Verdict| {
        let all = app.engine.living_suspects();
        let same = all.filter(|suspect| suspect.judgement.verdict == verdict).count();
        same - usize::from(first.judgement.verdict == verdict)
    };
    match (count(Verdict::Leaking), count(Verdict::Growing)) {
        (0, 0) => None,
        // As many as the first line counts.
        (n @ 1.., _) if app.is_narrow() => Some(format!("{n} more")),
        (0, n) if app.is_narrow() && first.judgement.verdict == Verdict::Growing => Some(format!("{n} more")),
        (0, n) if app.is_narrow() => Some(format!("{n} growing")),
        (0, n) => Some(format!("{n} more growing")),
        (leaks, growing) => {
            let s = if leaks == 1 { "" } else { "s" };
            let leaks = format!("{leaks} more leak{s}");
            Some(match growing {
                n if n > 0 && app.screen.size.0 >= WIDE => format!("{leaks}, {n} growing"),
                _ => leaks,
            })
        }
    }
}

/// Adds who it is, how fast it grows, since when, and what.
fn describe(app: &App, snapshot: &Snapshot, suspect: &Suspect, style: Style, line: &mut StatusLine) {
    let theme = &app.config.theme;
    let judgement = &suspect.judgement;
    line.text(90, format!("  {}", name(app, suspect)), theme.text);
    let span = |since| units::span(snapshot.monotonic.saturating_sub(since));
    if let Some(since) = judgement.flat_since {
        line.text(85, format!("  paused for {}", span(since)), style);
    } else {
        line.text(85, format!("  {}", units::pace(judgement.slope)), style);
        if let Some(since) = judgement.since {
            let ago = snapshot.monotonic.saturating_sub(since);
            let clock = labels::clock(app, snapshot, ago, false).filter(|_| app.screen.size.0 < WIDE);
            let is_short = clock.is_some();
            let text = clock.map_or_else(|| labels::since(app, snapshot, since), |time| format!(" since {time}"));
            line.text(78, text, theme.text);
            if is_short && labels::may_be_earlier(app, since) {
                line.text(69, " or earlier", theme.text);
            }
        }
    }
    let eta = suspect.eta.and_then(|eta| Duration::try_from_secs_f64(eta).ok());
    if let Some(eta) = eta.filter(|eta| *eta < MAX_ETA) {
        // What is far off is not what the eye should meet first, nor what stays where there is little room.
        let (priority, style) = if eta < labels::SOON {
            (80, theme.warning)
        } else {
            (76, theme.text)
        };
        let words = if app.is_narrow() { ": " } else { ": memory " };
        line.text(priority, format!("{words}full in {}", units::about(eta)), style);
    }
    if judgement.verdict == Verdict::Leaking {
        // The list has it, too, where there is little room.
        line.text(68, format!("  {}", labels::surety(judgement)), theme.text);
    }
    if judgement.metric == Metric::File {
        line.text(75, "  file pages, which the kernel takes back", theme.text);
    }
    if let Some(cause) = &suspect.cause {
        line.text(75, format!("  {}", cause.text()), theme.text);
    }
    if let Some(fastest) = fastest_mapping(app, suspect) {
        let mostly = if app.screen.size.0 < WIDE { "" } else { "mostly " };
        let text = format!("  {mostly}{}", mapping_growth(app, fastest, 30));
        line.text(71, text, theme.text);
    }
    if let Some(text) = untouched(app, snapshot, suspect) {
        line.text(60, format!("  {text}"), theme.text);
    }
}

/// Returns the name of a suspect with its pid or how many processes it has; on a narrow screen that of its program, which says
/// more in little room than the beginning of a path.
pub(super) fn name(app: &App, suspect: &Suspect) -> String {
    let is_narrow = app.is_narrow();
    let width = match app.screen.size.0 {
        WIDE.. => 40,
        _ if is_narrow => 20,
        _ => 26,
    };
    match &suspect.key {
        RowKey::Process(id) if suspect.facts.as_ref().is_some_and(|facts| facts.host.is_some()) => {
            labels::process(*id, suspect.facts.as_deref(), width)
        }
        RowKey::Process(id) if is_narrow && suspect.command.is_some() => {
            let program = suspect.command.as_deref().unwrap_or_default();
            format!(
                "{} {}",
                id.pid,
                text::truncate(&text::safe_prefix(program, width), width)
            )
        }
        RowKey::Part(key) => key.label.into(),
        RowKey::Group(key) => {
            let count = match suspect.hosts {
                Some((hosts, all)) => format!("on {hosts} of {all} hosts"),
                None => format!("({} processes)", suspect.count),
            };
            format!("{} {count}", labels::group_name(key, width))
        }
        RowKey::Process(id) => labels::process(*id, suspect.facts.as_deref(), width),
    }
}
