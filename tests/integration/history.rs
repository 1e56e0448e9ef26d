//! What is derived from a run of snapshots.

mod levels;
mod processes;
mod spark;
mod window;
