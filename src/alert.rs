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
//!
//! An alert that fires for the third time within half an hour is flapping: it is said so once, stays firing, and is
//! told again when it has been steady for [`CALM`]. A [`Queue`] keeps what slow receivers are still to be told.

mod evaluation;
mod event;
mod flapping;
mod queue;
mod rule;
mod state;

pub use evaluation::Alerts;
pub use event::{AlertEvent, Details, Figure, ResolveReason, Target, Transition};
pub use flapping::CALM;
pub use queue::Queue;
pub use rule::{Rule, TargetKind};
