//! The list of alert events, newest first.
//!
//! ```text
//! ┌ Alerts ──────────────────────────────────────────────────────────────────┐
//! │ !   12s ago  fired    big           27213 python3 train.py: pss 4.2G     │
//! │    4m05 ago  over     swapping      system: swap_in +12.0M/s             │
//! └──────────────────────────────────────────────────────────────────────────┘
//! ```

use std::collections::HashSet;

use ratatui::style::Style;

use super::{Text, TextLine};
use crate::alert::{Alerts, Transition};
use crate::text::{self, Align, fit};
use crate::tui::app::App;
use crate::units;

pub struct AlertList;

impl Text for AlertList {
    const TITLE: &'static str = " Alerts ";
    const WIDTH: u16 = 120;

    fn lines(app: &App, _width: usize) -> Vec<TextLine> {
        let theme = &app.config.theme;
        let (alerts, history) = (&app.engine.alerts, &app.engine.history);
        let line = |text: String, style: Style| [(String::new(), style), (text, style)];
        let warnings = app.config.warnings.iter();
        let mut lines: Vec<_> = warnings.map(|what| line(format!(" {what}"), theme.alert)).collect();
        if alerts.skipped() > 0 {
            let most = Alerts::MAX_TRACKED;
            let text = format!(" some alerts are missing: the conditions held for more than {most} at once");
            lines.push(line(text, theme.alert));
        }
        if alerts.events().is_empty() {
            let text = if alerts.rules().len() == 0 {
                " no alerts: there are no rules. `zmtop config default` shows how to write some"
            } else {
                " no alerts so far"
            };
            lines.push(line(text.into(), theme.dim));
        }
        // Only the newest event about a target tells its present state.
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
            line(text, if is_firing { theme.alert } else { theme.popup })
        }));
        lines
    }
}
