//! Pages for users that are too long for the README. They hold no code.

#[doc = include_str!("manual/callers.md")]
pub mod callers {}

#[doc = include_str!("manual/cost.md")]
pub mod cost {}

#[doc = include_str!("manual/data.md")]
pub mod data {}

#[doc = include_str!("manual/fleet.md")]
pub mod fleet {}

#[doc = include_str!("manual/heap.md")]
pub mod heap {}

#[doc = include_str!("manual/kernels.md")]
pub mod kernels {}

#[doc = include_str!("manual/keys.md")]
pub mod keys {}

#[doc = include_str!("manual/limits.md")]
pub mod limits {}

#[doc = include_str!("manual/peers.md")]
pub mod peers {}

#[doc = include_str!("manual/prometheus.md")]
pub mod prometheus {}

#[doc = include_str!("manual/record.md")]
pub mod record {}

#[doc = include_str!("manual/replay.md")]
pub mod replay {}

#[doc = include_str!("manual/serve.md")]
pub mod serve {}
