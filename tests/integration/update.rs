//! `update` as tables of events: what keys, clicks and snapshots do to the state.

mod input;
mod list;
mod mouse;
mod order;
mod selection;
