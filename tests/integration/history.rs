//! Histories: changes, rates, series and verdicts from a run of snapshots.

mod coldness;
mod counted;
mod dangers;
mod flat;
mod headroom;
mod held;
mod java;
mod kept;
mod kills;
mod kinds;
mod load;
mod malloc;
mod many;
mod parts;
mod processes;
mod rests;
mod slab;
mod stalls;
mod suspends;
mod time_series;
mod verdicts;
mod view;
mod window;
