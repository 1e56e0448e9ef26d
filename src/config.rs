//! Settings, keymap and themes: the shipped defaults, and the user's files over them.

pub mod action;
pub mod keymap;
pub mod settings;
pub mod theme;

pub use action::Action;
pub use keymap::{Context, Keymap};
pub use settings::Settings;
pub use theme::Theme;

/// All that the monitor is configured with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The settings.
    pub settings: Settings,
    /// What the keys do.
    pub keymap: Keymap,
    /// The colours, fitted to the terminal.
    pub theme: Theme,
}
