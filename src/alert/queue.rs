//! The queue of events that a slow receiver is still to be told of.
//!
//! A receiver is told the state of each alert, which is a rule and its target, in order and one at a time. While it
//! is slow only the newest state waits, and of an alert that fired and cleared meanwhile both: what is passed over is
//! never the last state.

use std::collections::{BTreeSet, HashMap};

use crate::alert::event::{AlertEvent, Target, Transition};

/// The events that wait, by rule and target.
///
/// Its memory is bounded by what fires at once, 10 000 targets at most: beside those that fire, only clears of which
/// the receiver was told the fire can wait, since clears go first, and at most [`Queue::MAX_OVER`] alerts that are over.
#[derive(Debug, Default)]
pub struct Queue {
    rules: Vec<RuleQueue>,
    /// The alerts that are over before the receiver was told of them, oldest first.
    over: BTreeSet<(u64, usize, Target)>,
    /// Number of events and of turns so far: orders both.
    count: u64,
    dropped: u64,
}

#[derive(Debug, Default)]
struct RuleQueue {
    slots: HashMap<Target, Slot>,
    /// The targets whose turn may come: clears before fires, then in order.
    ready: BTreeSet<(bool, u64, Target)>,
    /// The count at its last turn.
    last_turn: u64,
}

/// The state of one alert as the receiver knows it, and what waits.
#[derive(Debug, Default)]
struct Slot {
    /// The receiver was told, or is being told, that it fires.
    told: bool,
    /// The receiver is being told.
    busy: bool,
    fired: Option<AlertEvent>,
    cleared: Option<AlertEvent>,
    /// It fired and cleared before the receiver was told.
    over: bool,
    /// The count when it began to wait.
    since: u64,
}

impl Slot {
    const fn waits(&self) -> bool {
        self.fired.is_some() || self.cleared.is_some()
    }
}

impl Queue {
    /// Maximum number of alerts that wait although they are over. They are news, not state: beyond this many the
    /// oldest are dropped. At four programs a second a receiver would be told of these for four minutes.
    pub const MAX_OVER: usize = 1000;

    /// Adds an event. Receivers of the rule are told when an alert clears only if `tell_clear`.
    pub fn push(&mut self, event: AlertEvent, tell_clear: bool) {
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
                // The receiver knows that it fires, and needs no more than the end of that.
                Transition::Resolved(_) if slot.told => {
                    slot.fired = None;
                    slot.cleared = tell_clear.then_some(event);
                    slot.told = tell_clear;
                }
                Transition::Resolved(_) if slot.fired.is_some() => {
                    slot.over = true;
                    slot.cleared = tell_clear.then_some(event);
                }
                // Its fire was dropped.
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

    /// Takes the event whose turn it is: the rules take turns, so that one with many targets keeps no other waiting.
    /// No other event about its target is taken until [`finish`](Self::finish).
    pub fn start(&mut self) -> Option<AlertEvent> {
        let rules = self.rules.iter().enumerate();
        let waiting = rules.filter(|(_, rule)| !rule.ready.is_empty());
        let (rule, _) = waiting.min_by_key(|(_, rule)| rule.last_turn)?;
        self.count += 1;
        self.rules[rule].last_turn = self.count;
        let (_, _, target) = self.rules[rule].ready.first().cloned()?;
        let mut next = None;
        self.change(rule, &target, |slot| {
            (slot.busy, slot.over) = (true, false);
            slot.told = slot.fired.is_some();
            next = slot.fired.take().or_else(|| slot.cleared.take());
        });
        next
    }

    /// Says that the receiver was told an event, or could not be.
    pub fn finish(&mut self, event: &AlertEvent) {
        self.change(event.rule, &event.target, |slot| slot.busy = false);
    }

    /// Returns true if an event can be taken.
    pub fn is_ready(&self) -> bool {
        self.rules.iter().any(|rule| !rule.ready.is_empty())
    }

    /// Returns the number of alerts of which the receiver is still to be told something.
    pub fn waiting(&self) -> usize {
        let slots = self.rules.iter().flat_map(|rule| rule.slots.values());
        slots.filter(|slot| slot.waits()).count()
    }

    /// Returns the number of alerts that the receiver is never told of: they were over, and too many waited.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Changes the slot of an alert, and keeps the indexes as it then is.
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
        if slot.waits() || slot.busy || slot.told {
            queue.slots.insert(target.clone(), slot);
        }
    }
}
