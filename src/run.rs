//! The wiring: what was typed becomes what is done.

pub mod terminal;
