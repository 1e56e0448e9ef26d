//! Changes and rates of one process or of a sum of processes.

/// What changed of late: bytes over the change window, and rates since the snapshot before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// PSS now less PSS at the window's beginning; `None` while only one value is known.
    pub pss: Option<i64>,
    /// Swap likewise.
    pub swap: Option<i64>,
    /// Slope of the footprint over five minutes, bytes a second.
    pub growth: Option<f64>,
    /// Minor faults a second.
    pub minflt: Option<f64>,
    /// Major faults a second.
    pub majflt: Option<f64>,
    /// Share of one core, 1.0 being all of it.
    pub cpu: Option<f64>,
}

impl Change {
    /// Adds another process's changes; what is unknown in one counts as no change in the sum.
    pub fn add(&mut self, other: &Self) {
        fn both<T: Copy>(a: Option<T>, b: Option<T>, add: fn(T, T) -> T) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(add(a, b)),
                (one, other) => one.or(other),
            }
        }
        let sum = |a, b| both(a, b, |a: f64, b: f64| a + b);
        self.pss = both(self.pss, other.pss, i64::saturating_add);
        self.swap = both(self.swap, other.swap, i64::saturating_add);
        self.growth = sum(self.growth, other.growth);
        self.minflt = sum(self.minflt, other.minflt);
        self.majflt = sum(self.majflt, other.majflt);
        self.cpu = sum(self.cpu, other.cpu);
    }
}
