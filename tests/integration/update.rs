//! `update` as tables of events: what keys, clicks and snapshots do to the state.

mod act;
mod ahead;
pub(crate) mod call_paths;
mod chart;
mod equal;
mod find;
mod groups;
mod hands;
mod input;
mod kept;
mod leaks;
mod list;
mod mappings;
mod marks;
mod mouse;
mod order;
mod pages;
mod panel;
mod panels;
mod pids;
mod reload;
mod said;
mod selection;
mod subtree;
mod turns;
mod views;
mod words;
