//! The monitor's screen: `update` takes events to a new state and effects, `view` draws the state.
//!
//! Both are pure: `update(&mut App, Event) -> Vec<Effect>` does no I/O, `view(&App, &mut Frame)` changes
//! nothing. The wiring feeds events in, performs the effects, and draws when something changed.

pub mod act;
pub mod alerts;
pub mod app;
pub mod chart;
pub mod event;
pub mod growth;
pub mod input;
pub mod layout;
pub mod leaks;
pub mod mappings;
pub mod panel;
pub mod popup;
pub mod rows;
pub mod scope;
pub mod table;
pub mod update;
pub mod view;

pub use app::App;
pub use event::{Effect, Event};
pub use update::update;
pub use view::view;
