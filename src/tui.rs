//! The monitor's screen: `update` turns events into a new state and effects, `view` draws the state.
//!
//! Both are pure: `update(&mut App, Event) -> Vec<Effect>` does no I/O, `view(&App, &mut Frame)` changes nothing. Only
//! `run` uses this module: it feeds events in, performs the effects, and draws when something changed.
//!
//! ```text
//! update                 view              events in, frames out; neither uses the other
//!    popup  prompt  act                    what receives the keys: each with its state, keys and drawing
//!    page                                  what replaces the tables of processes
//!    panel  navigation  rows               what changes or finds rows
//!    hints  labels  chart::draw            parts of the drawing
//!    app                                   the state
//!    layout  chart  growth  widgets  event   without access to the state
//! ```
//!
//! The [crate's page](crate#how-to-add) describes how to add a key, a popup, a panel or a page.

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
mod reload;
pub mod replay;
pub mod rows;
mod timeline;
pub mod update;
pub mod view;
pub mod widgets;
pub mod words;

pub use app::App;
pub use event::{CacheScope, Effect, Event};
pub use navigation::Opening;
pub use update::update;
pub use view::view;
