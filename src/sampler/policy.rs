//! The policy: what to read next. Pure: clocks, counters and states go in, turns come out.

pub mod activity;
pub mod births;
pub mod plan;
pub mod rotation;
