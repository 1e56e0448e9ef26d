//! The load of a row while it grows: the processor time it took, which is read anyway.
//!
//! Memory that grows while no more work is done than before is no daily load. Kept only of what grows, as marks of the time
//! taken so far, which lie the further apart the longer it grows.

/// Marks kept at most; every other one is dropped where there are more.
const MARKS: usize = 32;

/// The processor time that a row took since it was first said to grow.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    /// Seconds of processor time.
    total: f32,
    /// Seconds on the monotonic clock, and the total then, oldest first.
    marks: Vec<(u32, f32)>,
}

impl Load {
    /// Adds the processor time of a tick, in seconds.
    pub(super) const fn add(&mut self, seconds: f32) {
        self.total += seconds;
    }

    /// Notes how much it is by now.
    pub(super) fn mark(&mut self, now: u32) {
        if self.marks.len() == MARKS {
            let mut place = 0;
            self.marks.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
        self.marks.push((now, self.total));
    }

    /// Returns by how much more work was done in the second half of that time than in the first, as a share of that; `None`
    /// where too little of it is known. A second of processor time is too little to matter.
    pub(super) fn rise(&self) -> Option<f64> {
        let ((from, first), (end, last)) = (*self.marks.first()?, *self.marks.last()?);
        let is_late = |(second, _): &&(u32, f32)| *second >= from.midpoint(end);
        let (middle, half) = *self.marks.iter().find(is_late)?;
        if middle == from || middle == end {
            return None;
        }
        let rate = |work: f32, seconds: u32| f64::from(work) / f64::from(seconds);
        let (early, late) = (rate(half - first, middle - from), rate(last - half, end - middle));
        Some((late - early) / (early + rate(1.0, end - middle)))
    }

    /// Returns its memory on the heap, in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.marks.capacity() * size_of::<(u32, f32)>()
    }
}
