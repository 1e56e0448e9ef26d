//! The wiring: what was typed becomes what is done.

pub mod configure;
pub mod monitor;
pub mod terminal;
