//! What is derived from a run of snapshots.

mod levels;
mod line;
mod processes;
mod verdicts;
mod wall;
mod window;
