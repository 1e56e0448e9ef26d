//! zmtop: a top-like terminal monitor for Linux memory.
//!
//! The house has floors; a file imports only from lower ones, and a test holds it so:
//!
//! ```text
//! F0  units, text         numbers and foreign bytes as fixed-width, safe text
//! F1  model               pure: snapshot, history, filter, sort, tree
//! F2  columns             the one table of columns
//! F3  proc                bytes of /proc and sysfs -> model
//! F4  sampler             glance, plan, walk, publish
//! F5  config              settings, keymap, themes
//! F6  tui, output         the faces; none imports another
//! F7  cli, run, main      the wiring
//! ```

pub mod account;
pub mod act;
pub mod alert;
pub mod cli;
pub mod columns;
pub mod config;
pub mod filter;
pub mod group;
pub mod history;
pub mod manual;
pub mod model;
pub mod output;
pub mod proc;
pub mod query;
pub mod record;
pub mod run;
pub mod sampler;
pub mod source;
pub mod text;
pub mod trend;
pub mod tui;
pub mod units;
