//! A clock that runs faster.

use std::time::Duration;

use zmtop::model::{Identity, ProcessSample, Snapshot};

/// Stretches the time of snapshots: what happened since the first of them took so many times as long. Nothing else
/// of them is changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    speed: f64,
    /// The first snapshot's time on the monotonic clock, and since the machine started, in clock ticks.
    zero: (Duration, u64),
    first: std::time::SystemTime,
}

impl Stretch {
    /// From that snapshot on.
    pub(super) fn new(speed: f64, first: &Snapshot) -> Self {
        let uptime = first.system.uptime.unwrap();
        Self {
            speed,
            zero: (first.monotonic, (uptime * 100.0) as u64),
            first: first.time,
        }
    }

    /// The snapshot as it would be had all gone slower, with the rows for which `keep` says so.
    pub(super) fn of(&self, snapshot: &Snapshot, keep: impl Fn(&ProcessSample) -> bool) -> Snapshot {
        let rows = snapshot.rows().iter().filter(|row| keep(row)).map(|row| self.row(row));
        let begin = self.zero.1 as f64 / 100.0;
        let mut stretched = Snapshot {
            time: self.first + self.long(snapshot.time.duration_since(self.first).unwrap_or_default()),
            monotonic: self.at(snapshot.monotonic),
            interval: self.long(snapshot.interval),
            processes: Ok(rows.collect()),
            changes: None,
            ..snapshot.clone()
        };
        stretched.system.uptime = snapshot.system.uptime.map(|up| (up - begin).mul_add(self.speed, begin));
        stretched
    }

    fn row(&self, row: &ProcessSample) -> ProcessSample {
        let mut row = row.clone();
        row.id = self.id(row.id);
        row.shares_mm = row.shares_mm.map(|id| self.id(id));
        if let Ok(walk) = &mut row.walk {
            walk.at = self.at(walk.at);
        }
        row
    }

    /// Processes that started before the test did so no earlier.
    fn id(&self, id: Identity) -> Identity {
        let zero = self.zero.1;
        let starttime = match id.starttime.checked_sub(zero) {
            Some(after) => zero + (after as f64 * self.speed) as u64,
            None => id.starttime,
        };
        Identity { starttime, ..id }
    }

    fn at(&self, at: Duration) -> Duration {
        let zero = self.zero.0;
        zero + self.long(at.saturating_sub(zero))
    }

    fn long(&self, time: Duration) -> Duration {
        time.mul_f64(self.speed)
    }
}
