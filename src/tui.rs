//! The monitor's screen: `update` takes events to a new state and effects, `view` draws the state.
//!
//! Both are pure: `update(&mut App, Event) -> Vec<Effect>` does no I/O, `view(&App, &mut Frame)` changes nothing. Only
//! `run` uses this room: it feeds events in, performs the effects, and draws when something changed.
//!
//! ```text
//! update                 view                 events in, frames out; neither uses the other
//!    popup  prompt  act                       what takes the keys: each its state, keys and drawing
//!    page                                     what else the screen shows than processes: each its state, keys and drawing
//!    panel  navigation  mappings  marks  search  rows      what changes or finds rows
//!    hints                                    the keys that the last line names
//!    app                                      the state, in parts
//!    layout  table  scope  chart  growth  widgets  event   no file here knows the state
//! ```
//!
//! **A popup** is a file in `popup/` whose type implements [`popup::Popup`] (a list in a frame) or [`app::Modal`] (all
//! else), its `mod` line in `popup.rs`, and the arm of its key in `update/table.rs`: `Action::Help =>
//! app.open_popup(popup::help::Help::default())`. **A key** is its `Action`, its lines in `config/keymap.toml`, and that arm.
//! **A page** is a file in `page/` and its line in `page.rs`. **A panel** of another kind of row is a file in `panel/` and an arm of the `draw` in `panel.rs`.

pub mod act;
pub mod app;
mod ascii;
pub mod chart;
pub mod event;
mod fleet;
pub mod growth;
pub mod hints;
mod labels;
pub mod layout;
mod mappings;
mod marks;
mod navigation;
mod opening;
pub mod page;
mod panel;
pub mod popup;
pub mod prompt;
mod refresh;
pub mod rows;
pub mod scope;
mod search;
pub mod table;
mod time_axis;
pub mod update;
pub mod value_axis;
pub mod view;
pub mod widgets;

pub use app::App;
pub use event::{Effect, Event};
pub use fleet::FleetStatus;
pub use opening::Opening;
pub use update::update;
pub use view::view;
