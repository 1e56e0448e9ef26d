//! When zmtop returns freed memory to the kernel. The allocator keeps what many processes needed after they have ended.

use std::time::Duration;

/// The number of processes whose memory is worth returning.
const MANY: usize = 500;
/// Time after the fall. Histories are dropped meanwhile.
const AFTER: Duration = Duration::from_secs(60);

/// Watches the number of processes.
#[derive(Debug, Default)]
pub struct Trim {
    /// The largest number of processes since memory was last returned.
    most: usize,
    fell_at: Option<Duration>,
}

impl Trim {
    /// Returns true if most of the processes ended a minute ago.
    pub fn is_due(&mut self, processes: usize, now: Duration) -> bool {
        self.most = self.most.max(processes);
        if self.most < MANY || processes > self.most / 2 {
            self.fell_at = None;
            return false;
        }
        let fell_at = *self.fell_at.get_or_insert(now);
        let is_due = now.saturating_sub(fell_at) >= AFTER;
        if is_due {
            *self = Self::default();
        }
        is_due
    }
}
