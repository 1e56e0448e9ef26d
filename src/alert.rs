//! Alerts: rules on processes, on groups and on the system, and when they fire.
//!
//! The monitor evaluates every snapshot once ([`Alerts::evaluate`]) and shows the events; `run` notifies of
//! them. This module is pure: the same snapshots give the same [`AlertEvent`]s, live or replayed, and it never
//! rings, logs or runs anything.
//!
//! ```text
//!                true for `hold`                    not true
//! inactive ───────────────────────► firing ──────────────────► resolved
//!            and not within `cooldown` of the last time it fired
//! ```

mod evaluation;
mod event;
mod rule;
mod state;

pub use evaluation::Alerts;
pub use event::{AlertEvent, Details, Figure, ResolveReason, Target, Transition};
pub use rule::{Rule, TargetKind};
