//! Snapshots of many hosts, of what `zmtop serve` exports and a Prometheus keeps.
//!
//! ```text
//! queries   what is asked, and where each figure of an answer goes
//! answer    the answers of the HTTP API, within bounds
//! fleet     rows and hosts, from one round of answers to the next; makes snapshots
//! row       one of those rows
//! sums      the figures of all hosts together
//! past      snapshots of the time before, from ranges
//! ```
//!
//! Pure: whoever asks is in `run/fleet.rs`. Only `/api/v1/query` and `/api/v1/query_range` of the HTTP API are used, and
//! plain `PromQL`, so that whatever speaks these will do. The clock is that of the answers: this machine's may differ.

mod answer;
mod fleet;
mod past;
mod queries;
mod row;
mod sums;

pub use answer::{Answer, AnswerError, Labels, Series};
pub use fleet::{FleetSource, KEPT};
pub use past::Past;
pub use queries::{Field, HostLabel, Matchers, Question, is_large, more_questions, questions, range_questions};
