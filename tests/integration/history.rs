//! Histories: changes, rates, series and verdicts from a run of snapshots.

mod coldness;
mod dangers;
mod flat;
mod headroom;
mod java;
mod kept;
mod load;
mod many;
mod processes;
mod rests;
mod time_series;
mod verdicts;
mod view;
mod window;
