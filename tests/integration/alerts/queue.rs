//! The queue of a slow receiver.

use std::collections::HashMap;

use zmtop::alert::{AlertEvent, Queue, Target, Transition};

use super::{Evaluator, process_with, rule};

/// Events about processes, made by rules that fire above 100M.
struct Source {
    evaluator: Evaluator,
    count: u32,
}

impl Source {
    fn new(rules: usize, count: u32) -> Self {
        let rules = (0..rules).map(|_| rule("process", "pss>100M", 0, 0));
        Self {
            evaluator: Evaluator::new(rules),
            count,
        }
    }

    fn advance(&mut self, above: impl Fn(u32) -> bool) -> Vec<AlertEvent> {
        let rows = (0..self.count).map(|n| process_with(n + 2, if above(n) { 200 } else { 50 }));
        self.evaluator.advance(1.0, rows.collect())
    }
}

/// Returns both events about one process.
fn fire_and_clear() -> (AlertEvent, AlertEvent) {
    let mut source = Source::new(1, 1);
    let mut event = |is_firing| source.advance(|_| is_firing).remove(0);
    (event(true), event(false))
}

/// Returns the event in short: `F` or `C`.
fn letter(event: &AlertEvent) -> char {
    match event.transition {
        Transition::Fired => 'F',
        Transition::Resolved(_) => 'C',
    }
}

#[test]
fn the_receiver_is_reported_in_order_and_ends_in_the_true_state() {
    // Each step: F and C happen, `s` starts the next report, `e` ends it. The second text holds the reported events.
    for (tell_clear, steps, expected) in [
        (true, "FseCse", "FC"),
        // No report starts before the one under way ends.
        (true, "FsCsesse", "FC"),
        // Cleared before its turn: both events are reported, in order.
        (true, "FCsese", "FC"),
        // Again and again before its turn: the newest state.
        (true, "FCFCFCsese", "FC"),
        (true, "FCFse", "F"),
        (true, "FCFseCse", "FC"),
        // Reported as firing, and then on and off: the newest state.
        (true, "FsCFese", "FF"),
        (true, "FsCFCese", "FC"),
        (true, "FseCFCFCse", "FC"),
        (true, "FseCFCFse", "FF"),
        (true, "FseCseFCsese", "FCFC"),
        // Rules without `run_on_clear`: each fire, the newest if it waits.
        (false, "FseCse", "F"),
        (false, "FCse", "F"),
        (false, "FCFCse", "F"),
        (false, "FseCFse", "FF"),
        (false, "FseCFCse", "FF"),
        (false, "FCseFCse", "FF"),
        (false, "FCsFCese", "FF"),
    ] {
        let mut queue = Queue::default();
        let (fire, clear) = fire_and_clear();
        let mut told = String::new();
        let mut current: Option<AlertEvent> = None;
        for step in steps.chars() {
            match step {
                's' => {
                    if let Some(next) = queue.start() {
                        assert!(current.is_none(), "{steps}: two at once");
                        told.push(letter(&next));
                        current = Some(next);
                    }
                }
                'e' => {
                    if let Some(event) = current.take() {
                        queue.finish(&event);
                    }
                }
                step => {
                    let event = if step == 'F' { &fire } else { &clear };
                    queue.push(event.clone(), tell_clear);
                }
            }
        }
        assert_eq!(told, expected, "tell_clear {tell_clear}: {steps}");
        assert_eq!((queue.waiting(), queue.is_ready()), (0, false), "{steps}");
    }
}

#[test]
fn a_rule_with_many_targets_keeps_no_other_waiting() {
    let mut source = Source::new(2, 50);
    let (many, few): (Vec<_>, Vec<_>) = source.advance(|_| true).into_iter().partition(|event| event.rule == 0);
    let mut queue = Queue::default();
    for event in many.into_iter().chain(few.into_iter().take(1)) {
        queue.push(event, true);
    }
    let first: Vec<_> = (0..3).map(|_| queue.start().unwrap().rule).collect();
    assert_eq!(first, [0, 1, 0]);
}

/// Checks the reports on 10 000 targets that flap, for a receiver that takes four a second.
#[test]
fn ten_thousand_flapping_targets_take_bounded_memory_and_end_in_the_true_state() {
    const TARGETS: u32 = 10_000;
    let (fire, clear) = fire_and_clear();
    let about = |event: &AlertEvent, n: u32| AlertEvent {
        target: Target::Row(zmtop::group::RowKey::Process(process_with(n, 0).id)),
        ..event.clone()
    };
    for tell_clear in [true, false] {
        let mut queue = Queue::default();
        let mut told = HashMap::new();
        let mut most = 0;
        let mut state = vec![false; TARGETS as usize];
        for second in 0..60_u32 {
            for n in 0..TARGETS {
                // Each changes now and then, on its own.
                if (n.wrapping_mul(2_654_435_761) ^ second.wrapping_mul(40_503)) % 7 < 3 {
                    let is_firing = &mut state[n as usize];
                    *is_firing = !*is_firing;
                    queue.push(about(if *is_firing { &fire } else { &clear }, n), tell_clear);
                }
            }
            for _ in 0..4 {
                let event = queue.start().unwrap();
                told.insert(event.target.clone(), letter(&event));
                queue.finish(&event);
            }
            most = most.max(queue.waiting());
        }
        assert!(queue.dropped() > 0);
        assert!(most <= TARGETS as usize + Queue::MAX_OVER, "{most}");
        while let Some(event) = queue.start() {
            told.insert(event.target.clone(), letter(&event));
            queue.finish(&event);
        }
        for (n, is_firing) in (0..TARGETS).zip(state) {
            let last = told.get(&about(&fire, n).target);
            if tell_clear {
                assert_eq!(last == Some(&'F'), is_firing, "{n}");
            } else if is_firing {
                assert_eq!(last, Some(&'F'), "{n}");
            }
        }
    }
}
