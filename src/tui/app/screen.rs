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

/// The height of the graph of the machine's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphHeight {
    /// By the room there is.
    #[default]
    Auto,
    /// A few lines.
    Low,
    /// Many lines.
    High,
    /// There is none.
    Off,
}

impl GraphHeight {
    const ALL: [(Self, &str); 4] = [
        (Self::Auto, "auto"),
        (Self::Low, "low"),
        (Self::High, "high"),
        (Self::Off, "off"),
    ];
    /// From so many lines on there is room for a graph beside the table.
    const ROOMY: u16 = 40;

    /// Returns the height of that name.
    pub fn from_name(name: &str) -> Self {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map_or_else(Self::default, |(height, _)| *height)
    }

    /// Returns its name in the config.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns the next height.
    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()].0
    }

    /// Returns how many lines it takes of a screen so high, its axis with them.
    pub const fn lines(self, height: u16) -> u16 {
        match self {
            Self::Auto if height >= Self::ROOMY => (height / 8 + 1) & !1,
            Self::Low => 6,
            Self::High => 10,
            Self::Auto | Self::Off => 0,
        }
    }
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
    /// The machine has swap, or it is not known.
    pub has_swap: bool,
    /// A row of totals is shown.
    pub totals_row: bool,
    /// The height of the graph of the machine's memory.
    pub graph: GraphHeight,
    /// The panel of the selected row is open.
    pub panel_open: bool,
    /// Enter on a process chooses it, which ends the monitor.
    pub picking: bool,
    /// The message that is shown until the next key.
    pub message: Option<Message>,
    /// The message is that of the first start, which goes after some snapshots, too.
    pub greets: bool,
}

impl Screen {
    /// Starts from the settings.
    pub fn new(ui: &UiSettings, size: (u16, u16)) -> Self {
        Self {
            size,
            zone: TimeZone::UTC,
            units: ui.units,
            chart: Chart::over(&ui.span),
            has_swap: true,
            totals_row: ui.totals,
            graph: GraphHeight::from_name(&ui.graph),
            panel_open: false,
            picking: false,
            message: None,
            greets: false,
        }
    }

    /// Says how something went well, or why it was not done.
    pub fn say(&mut self, text: impl Into<String>) {
        let text = text.into();
        (self.message, self.greets) = (Some(Message { text, bad: false }), false);
    }

    /// Says how something failed.
    pub fn fail(&mut self, text: impl Into<String>) {
        let text = text.into();
        (self.message, self.greets) = (Some(Message { text, bad: true }), false);
    }
}
