//! The screen's size, and how figures are shown on it.

use jiff::tz::TimeZone;

use crate::config::settings::UiSettings;
use crate::tui::chart::Chart;
use crate::units::Units;

/// A line that says how something went, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The text, safe to print.
    pub text: String,
    /// It reports a failure.
    pub bad: bool,
}

/// The screen's size, and the choices that apply to all of it.
#[derive(Debug)]
pub struct Screen {
    /// The terminal's columns and rows.
    pub size: (u16, u16),
    /// The time zone that moments are shown in.
    pub zone: TimeZone,
    /// The unit that bytes are written in.
    pub units: Units,
    /// The time that charts and sparklines span.
    pub chart: Chart,
    /// A row of totals is shown.
    pub totals_row: bool,
    /// The panel of the selected row is open.
    pub panel_open: bool,
    /// Enter on a process chooses it, which ends the monitor.
    pub picking: bool,
    /// The message that is shown until the next key.
    pub message: Option<Message>,
}

impl Screen {
    /// Starts from the settings.
    pub fn new(ui: &UiSettings, size: (u16, u16)) -> Self {
        Self {
            size,
            zone: TimeZone::UTC,
            units: ui.units,
            chart: Chart::over(&ui.span),
            totals_row: ui.totals,
            panel_open: false,
            picking: false,
            message: None,
        }
    }

    /// Says how something went well, or why it was not done.
    pub fn say(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.message = Some(Message { text, bad: false });
    }

    /// Says how something failed.
    pub fn fail(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.message = Some(Message { text, bad: true });
    }
}
