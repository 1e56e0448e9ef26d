//! Alert rules on processes, groups and the system, and when they fire.
//!
//! The monitor evaluates every snapshot once ([`Alerts::evaluate`]) and shows the events. `run` sends the
//! notifications. This module is pure: the same snapshots give the same [`AlertEvent`]s, live or replayed. It never
//! rings, logs or runs anything.
//!
//! ```text
//!                true for `hold`                    not true
//! inactive ───────────────────────► firing ──────────────────► resolved
//!            and not within `cooldown` of the last time it fired
//! ```
//!
//! An alert that fires for the third time within half an hour is flapping. This is reported once. The alert then stays
//! firing, and is reported again when it has been steady for [`CALM`]. A [`Queue`] keeps the events that slow receivers
//! have not received yet.

mod evaluation;
mod event;
mod queue;

pub use evaluation::{Alerts, CALM};
pub use event::{AlertEvent, Details, Figure, ResolveReason, Rule, Target, TargetKind, Transition};
pub use queue::Queue;
