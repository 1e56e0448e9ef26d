//! `update` as tables of events: what keys, clicks and snapshots do to the state.

mod act;
mod ahead;
mod chart;
mod equal;
mod find;
mod groups;
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
mod selection;
mod subtree;
mod turns;
mod words;
