//! What is derived from a run of snapshots.

mod processes;
mod spark;
mod window;
