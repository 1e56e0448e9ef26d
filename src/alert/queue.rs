//! The queue of events that a slow receiver has not received yet.
//!
//! An alert is a rule and a target. The receiver gets the states of each alert in order and one at a time. While it is
//! slow, only the newest state waits; if an alert fired and cleared in between, both events wait. A skipped state is
//! never the last one.

use std::collections::{BTreeSet, HashMap};

use crate::alert::event::{AlertEvent, Target, Transition};

/// The waiting events, by rule and target.
///
/// Memory is bounded by the number of firing targets, 10 000 at most. In addition to these, only two kinds of event can
/// wait: clears whose fire was delivered, which are delivered first, and at most [`Queue::MAX_OVER`] alerts that are
/// over.
#[derive(Debug, Default)]
pub struct Queue {
    rules: Vec<RuleQueue>,
    /// The alerts that ended before the receiver got their fire, oldest first.
    over: BTreeSet<(u64, usize, Target)>,
    /// Number of events and turns so far; orders both.
    count: u64,
    dropped: u64,
}

#[derive(Debug, Default)]
struct RuleQueue {
    slots: HashMap<Target, Slot>,
    /// The targets that can be delivered: clears before fires, then in order.
    ready: BTreeSet<(bool, u64, Target)>,
    /// The value of `count` at its last turn.
    last_turn: u64,
}

/// The state of one alert that the receiver has last seen, and the waiting events.
#[derive(Debug, Default)]
struct Slot {
    /// The receiver got its fire, or is getting it now.
    notified: bool,
    /// An event is being delivered.
    busy: bool,
    fired: Option<AlertEvent>,
    cleared: Option<AlertEvent>,
    /// It fired and cleared before the receiver got the fire.
    over: bool,
    /// The value of `count` when it began to wait.
    since: u64,
}

impl Slot {
    const fn waits(&self) -> bool {
        self.fired.is_some() || self.cleared.is_some()
    }
}

impl Queue {
    /// Maximum number of waiting alerts that are already over. They are news, not state: if there are more, the oldest
    /// are dropped. At four programs a second, this many take a receiver four minutes.
    pub const MAX_OVER: usize = 1000;

    /// Adds an event. The receivers of the rule get a clear only if `notify_clear` is set.
    pub fn push(&mut self, event: AlertEvent, notify_clear: bool) {
        let (rule, target) = (event.rule, event.target.clone());
        if self.rules.len() <= rule {
            self.rules.resize_with(rule + 1, RuleQueue::default);
        }
        self.count += 1;
        let now = self.count;
        self.change(rule, &target, |slot| {
            let waited = slot.waits();
            match event.transition {
                Transition::Fired => {
                    slot.over = false;
                    slot.cleared = None;
                    slot.fired = Some(event);
                }
                // The receiver got the fire, so the clear is all it needs.
                Transition::Resolved(_) if slot.notified => {
                    slot.fired = None;
                    slot.cleared = notify_clear.then_some(event);
                    slot.notified = notify_clear;
                }
                Transition::Resolved(_) if slot.fired.is_some() => {
                    slot.over = true;
                    slot.cleared = notify_clear.then_some(event);
                }
                // The fire was dropped.
                Transition::Resolved(_) => {}
            }
            if !waited {
                slot.since = now;
            }
        });
        if self.over.len() > Self::MAX_OVER
            && let Some((_, rule, target)) = self.over.first().cloned()
        {
            self.dropped += 1;
            self.change(rule, &target, |slot| {
                (slot.fired, slot.cleared, slot.over) = (None, None, false);
            });
        }
    }

    /// Returns the next event to deliver. Rules take turns, so that a rule with many targets does not delay the others.
    /// No other event for the same target is returned until [`finish`](Self::finish).
    pub fn start(&mut self) -> Option<AlertEvent> {
        let rules = self.rules.iter().enumerate();
        let waiting = rules.filter(|(_, rule)| !rule.ready.is_empty());
        let (rule, _) = waiting.min_by_key(|(_, rule)| rule.last_turn)?;
        self.count += 1;
        self.rules[rule].last_turn = self.count;
        let (_, _, target) = self.rules[rule].ready.first().cloned()?;
        let mut next = None;
        self.change(rule, &target, |slot| {
            // An alert that is over without a clear has no further event.
            slot.notified = slot.fired.is_some() && (!slot.over || slot.cleared.is_some());
            (slot.busy, slot.over) = (true, false);
            next = slot.fired.take().or_else(|| slot.cleared.take());
        });
        next
    }

    /// Marks an event as delivered, successfully or not.
    pub fn finish(&mut self, event: &AlertEvent) {
        self.change(event.rule, &event.target, |slot| slot.busy = false);
    }

    /// Returns true if an event can be delivered now.
    pub fn is_ready(&self) -> bool {
        self.rules.iter().any(|rule| !rule.ready.is_empty())
    }

    /// Returns the number of alerts that have an undelivered event.
    pub fn waiting(&self) -> usize {
        let slots = self.rules.iter().flat_map(|rule| rule.slots.values());
        slots.filter(|slot| slot.waits()).count()
    }

    /// Returns the number of dropped alerts: they were over, and too many waited.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Changes the slot of an alert and updates the indexes.
    fn change(&mut self, rule: usize, target: &Target, change: impl FnOnce(&mut Slot)) {
        let Some(queue) = self.rules.get_mut(rule) else { return };
        let mut slot = queue.slots.remove(target).unwrap_or_default();
        queue.ready.remove(&(slot.fired.is_some(), slot.since, target.clone()));
        self.over.remove(&(slot.since, rule, target.clone()));
        change(&mut slot);
        if slot.waits() && !slot.busy {
            queue.ready.insert((slot.fired.is_some(), slot.since, target.clone()));
        }
        if slot.over {
            self.over.insert((slot.since, rule, target.clone()));
        }
        if slot.waits() || slot.busy || slot.notified {
            queue.slots.insert(target.clone(), slot);
        }
    }
}
