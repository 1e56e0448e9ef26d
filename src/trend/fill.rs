//! Fills: growth within memory that a program had asked for before.
//!
//! What leaks is never asked for twice: a program that leaks asks for ever more. One that fills a buffer pool, the memory of
//! a virtual machine, or pages that it has in common with its parent, asked for all of it long before, and stops when that
//! is used up.

use std::time::Duration;

use crate::trend::finding::Finding;
use crate::trend::parameters::{MIN_ASKED_SHARE, MIN_KNOWN_SHARE};
use crate::trend::verdict::Reasons;

/// The work of a row, and the memory that it asked for, at one moment of its growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// The time on the monotonic clock.
    pub at: Duration,
    /// The memory that it had asked for, touched or not, in bytes.
    pub asked: u64,
    /// The seconds of processor time that it had taken since the first mark.
    pub work: f32,
}

/// Returns what tells that a leak, as far as its series shows, is a fill; `None` where it asked for a good part of what it
/// took, or that is not known of most of the time. Marks are in order.
pub(super) fn fill(marks: &[Mark], leak: &Finding, end: Duration) -> Option<Reasons> {
    let begin = end.saturating_sub(Duration::from_secs_f64(leak.length));
    let inside = &marks[marks.partition_point(|mark| mark.at < begin)..];
    let seconds = inside.last()?.at.saturating_sub(inside.first()?.at).as_secs_f64();
    let growth = leak.slope * seconds;
    let asked = inside.iter().map(|mark| mark.asked);
    // What was given back counts too: it may be memory that is asked for and given back all the time.
    let asked = asked.clone().max()? - asked.min()?;
    let is_fill = seconds >= MIN_KNOWN_SHARE * leak.length && (asked as f64) < MIN_ASKED_SHARE * growth;
    is_fill.then_some(Reasons::Fill {
        seconds,
        growth: growth as u64,
        asked,
    })
}
