//! How far a rule has come with one that it judges.

use std::sync::Arc;
use std::time::Duration;

use crate::alert::notice::Evidence;

/// One that a rule's condition is, or lately was, true of.
#[derive(Debug)]
pub(super) struct State {
    /// The exec count of a process; 0 of anything else.
    pub(super) exec: u32,
    /// The judgement it was last touched in.
    pub(super) seen: u64,
    /// How long the condition was seen true at both ends of each step.
    pub(super) held: Duration,
    /// It was true, not unknown, when it was last judged.
    pub(super) sure: bool,
    /// Since when it fires, by the snapshots' clock, and what was known then.
    pub(super) firing: Option<(Duration, Arc<Evidence>)>,
    /// It does not fire again before.
    pub(super) quiet: Option<Duration>,
}

impl State {
    /// Nothing yet of one whose exec count is that.
    pub(super) const fn new(exec: u32) -> Self {
        Self {
            exec,
            seen: 0,
            held: Duration::ZERO,
            sure: false,
            firing: None,
            quiet: None,
        }
    }

    /// Takes in an answer, true or unknown. Unknown neither breaks a hold nor advances it: a step counts
    /// where the condition was true at its beginning and at its end.
    pub(super) fn touch(&mut self, tick: u64, sure: bool, step: Duration) {
        self.seen = tick;
        if sure && self.sure {
            self.held = self.held.saturating_add(step);
        }
        self.sure = sure;
    }

    /// Whether it is to fire now.
    pub(super) fn due(&self, now: Duration, hold: Duration) -> bool {
        self.sure && self.firing.is_none() && self.held >= hold && self.quiet.is_none_or(|until| now >= until)
    }

    /// Takes in that the condition is not true; whether there is still something to remember.
    pub(super) fn rest(&mut self, now: Duration) -> bool {
        self.held = Duration::ZERO;
        self.sure = false;
        self.quiet.is_some_and(|until| now < until)
    }
}
