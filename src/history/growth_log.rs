//! The load of a row while it grows, and what it asks for: processor time and address space, which are read anyway.
//!
//! Memory that grows while no more work is done than before is no daily load; memory that was asked for before is filled.
//! Kept only of what grows, as marks which lie the further apart the older they are.

use std::time::Duration;

use crate::trend::Mark;

/// Marks kept at most: over a week the distance of two is a quarter of their age.
const MARKS: usize = 48;

/// The load of a row, and what it asked for, since it was first said to grow.
#[derive(Clone, Debug, Default)]
pub struct GrowthLog {
    /// Seconds of processor time.
    pub(super) work: f32,
    /// Since when all of the work is known.
    pub(super) known_since: Duration,
    /// Oldest first.
    pub(super) marks: Vec<Mark>,
}

impl GrowthLog {
    /// Adds the processor time of a tick, in seconds.
    pub(super) const fn add_work(&mut self, seconds: f32) {
        self.work += seconds;
    }

    /// Notes how much it is by now, and how much was asked for.
    pub fn mark(&mut self, now: Duration, asked: u64) {
        if self.marks.len() == MARKS {
            self.thin_out(now);
        }
        self.marks.push(Mark {
            at: now,
            asked,
            work: self.work,
        });
    }

    /// Drops the mark, but for the first and the last, without which the gap is smallest beside its age.
    fn thin_out(&mut self, now: Duration) {
        let age = |at: usize| now.saturating_sub(self.marks[at].at).as_secs_f64();
        let gap = |at: &usize| age(at - 1) / age(at + 1).max(1.0);
        let least = (1..MARKS - 1).min_by(|a, b| gap(a).total_cmp(&gap(b)));
        if let Some(at) = least {
            self.marks.remove(at);
        }
    }

    /// Forgets all if it has not grown for as long as it did.
    pub fn rest(&mut self, now: Duration) {
        let ends = self.marks.first().zip(self.marks.last());
        if ends.is_some_and(|(first, last)| now.saturating_sub(last.at) > last.at.saturating_sub(first.at)) {
            *self = Self::default();
        }
    }

    /// Returns true if it grew.
    pub(super) const fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns the marks, oldest first.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Returns by how much more work was done in the second half of that time than in the first, as a share of that; `None`
    /// where too little of it is known. A second of processor time is too little to matter.
    pub(super) fn rise(&self) -> Option<f64> {
        let known = &self.marks[self.marks.partition_point(|mark| mark.at < self.known_since)..];
        let (first, last) = known.first().zip(known.last())?;
        let middle = known.iter().find(|mark| mark.at >= (first.at + last.at) / 2)?;
        if middle.at == first.at || middle.at == last.at {
            return None;
        }
        let rate = |work: f32, time: Duration| f64::from(work) / time.as_secs_f64();
        let (half, rest) = (middle.at.saturating_sub(first.at), last.at.saturating_sub(middle.at));
        let (early, late) = (
            rate(middle.work - first.work, half),
            rate(last.work - middle.work, rest),
        );
        Some((late - early) / (early + rate(1.0, rest)))
    }

    /// Returns its memory on the heap, in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.marks.capacity() * size_of::<Mark>()
    }
}
