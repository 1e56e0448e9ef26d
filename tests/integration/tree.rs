//! The forest of processes, sums, and the order of rows.

mod forest;
mod shared;
mod sums;
mod ties;
