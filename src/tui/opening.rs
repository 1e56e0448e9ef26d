//! The beginning: what the first screen says.

use super::app::App;
use crate::config::{Action, Context};

/// The reason that the monitor is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// To look, as often before.
    Usual,
    /// To look, for the first time.
    First,
    /// To choose a process with Enter, which ends the monitor.
    Pick,
}

/// The keys to begin with, and what they do.
const KEYS: [(Action, &str); 3] = [
    (Action::Filter, "filters"),
    (Action::Open, "shows details"),
    (Action::Help, "helps"),
];

impl App {
    /// Opens the screen. The first time a line says, until the next key or for half a minute, what is on it.
    pub fn begin(&mut self, opening: Opening) {
        self.screen.picking = opening == Opening::Pick;
        if opening != Opening::First {
            return;
        }
        let what = self.query.scope.grouping().map_or("process", |by| by.id());
        let keys = KEYS.iter().filter_map(|(action, does)| {
            let key = self.config.keymap.shown_key(Context::Table, *action)?;
            Some(format!("{key} {does}"))
        });
        let keys: Vec<String> = keys.collect();
        self.screen
            .say(format!("Memory by {what}, largest first: {}", keys.join(", ")));
        self.screen.greets = true;
    }
}
