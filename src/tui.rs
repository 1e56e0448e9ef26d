//! The monitor's screen: `update` takes events to a new state and effects, `view` draws the state.
//!
//! Both are pure: `update(&mut App, Event) -> Vec<Effect>` does no I/O, `view(&App, &mut Frame)` changes nothing. Only
//! `run` uses this room: it feeds events in, performs the effects, and draws when something changed.
//!
//! ```text
//! update                 view              events in, frames out; neither uses the other
//!    popup  prompt  act                    what takes the keys: each with its state, keys and drawing
//!    page                                  what the screen shows in place of the processes
//!    panel  navigation  rows               what changes or finds rows
//!    hints  labels  chart::draw            parts of the drawing
//!    app                                   the state
//!    layout  chart  growth  widgets  event   no file here knows the state
//! ```
//!
//! **A popup** is a file in `popup/` whose type implements [`popup::Popup`] (a list in a frame) or [`app::Modal`] (all
//! else), its `mod` line in `popup.rs`, and the arm of its key in `update/table.rs`: `Action::Help =>
//! app.open_popup(popup::help::Help)`. **A key** is its `Action`, its lines in `config/keymap.toml`, and that arm.
//! **A page** is a file in `page/` and its line in `page.rs`. **A panel** of another kind of row is a file in `panel/` and an arm of the `draw` in `panel.rs`.

pub mod act;
pub mod app;
pub mod chart;
pub mod event;
mod fleet;
pub mod growth;
pub mod hints;
mod labels;
pub mod layout;
mod navigation;
pub mod page;
mod panel;
pub mod popup;
pub mod prompt;
pub mod rows;
pub mod update;
pub mod view;
pub mod widgets;

pub use app::App;
pub use event::{Effect, Event};
pub use navigation::Opening;
pub use update::update;
pub use view::view;
