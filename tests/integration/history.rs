//! Histories: changes, rates, series and verdicts from a run of snapshots.

mod headroom;

mod processes;
mod time_series;
mod verdicts;
mod view;
mod window;
