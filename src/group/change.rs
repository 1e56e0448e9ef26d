//! Changes and rates of a process, or of a sum of processes.

/// Recent changes: bytes over the change window, and rates since the previous snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// PSS now less PSS at the window's start; `None` while only one value is known.
    pub pss: Option<i64>,
    /// Swap likewise.
    pub swap: Option<i64>,
    /// Slope of the footprint over five minutes, bytes a second.
    pub growth: Option<f64>,
    /// Minor faults a second.
    pub minflt: Option<f64>,
    /// Major faults a second.
    pub majflt: Option<f64>,
    /// Processor time, 1.0 being one core.
    pub cpu: Option<f64>,
}

impl Change {
    /// Returns the rates, which have nothing to do with memory.
    #[must_use]
    pub const fn without_memory(self) -> Self {
        Self {
            pss: None,
            swap: None,
            growth: None,
            ..self
        }
    }

    /// Adds another process's changes; unknown in one counts as no change in the sum.
    pub fn add(&mut self, other: &Self) {
        let rate = |a, b| sum(a, b, |a: f64, b: f64| a + b);
        self.pss = sum(self.pss, other.pss, i64::saturating_add);
        self.swap = sum(self.swap, other.swap, i64::saturating_add);
        self.growth = rate(self.growth, other.growth);
        self.minflt = rate(self.minflt, other.minflt);
        self.majflt = rate(self.majflt, other.majflt);
        self.cpu = rate(self.cpu, other.cpu);
    }
}

/// Adds what is known; `None` where nothing is.
pub(super) fn sum<T>(a: Option<T>, b: Option<T>, add: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(add(a, b)),
        (one, other) => one.or(other),
    }
}
