//! The policy: decides which data to read next. Pure: the input is clocks, counters and states; the output is turns.

pub mod activity;
pub mod births;
pub mod heaps;
pub mod plan;
pub mod rotation;
