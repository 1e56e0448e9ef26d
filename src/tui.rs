//! The monitor's screen: `update` takes events to a new state and effects, `view` draws the state.
//!
//! Both are pure: `update(&mut App, Event) -> Vec<Effect>` does no I/O, `view(&App, &mut Frame)` changes
//! nothing. The wiring feeds events in, performs the effects, and draws when something changed.

pub mod act;
pub mod app;
pub mod chart;
pub mod event;
pub mod growth;
mod labels;
pub mod layout;
mod mappings;
mod marks;
mod navigation;
mod panel;
pub mod popup;
pub mod prompt;
pub mod rows;
pub mod scope;
mod search;
pub mod table;
pub mod update;
pub mod view;
pub mod widgets;

pub use app::App;
pub use event::{Effect, Event};
pub use update::update;
pub use view::view;
