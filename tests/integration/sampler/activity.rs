//! When processes are asked and glanced at, over minutes of a made machine.

use std::collections::HashMap;
use std::time::Duration;

use zmtop::model::Stat;
use zmtop::sampler::policy::activity::{Pace, Round, Unexplained, is_news};

const SECOND: Duration = Duration::from_secs(1);

/// The longest intervals and the most questions and glances on a made machine.
struct Seen {
    /// The longest time between two questions to one, and between two glances.
    asked: Duration,
    glanced: Duration,
    /// The most questions in a tick, and the most glances.
    most_asked: usize,
    most_glanced: usize,
}

/// Runs a machine of `count` idle processes for `seconds`, in ticks that are `step` apart, give or take.
fn idle(count: u32, step: Duration, seconds: u64, is_pressed: bool) -> Seen {
    let mut round = Round::default();
    let begin = SECOND * 12_345;
    (0..count).for_each(|pid| round.add(pid, pid.into(), Some(SECOND), begin));
    let mut last = vec![[begin; 2]; count as usize];
    let mut seen = Seen {
        asked: Duration::ZERO,
        glanced: Duration::ZERO,
        most_asked: 0,
        most_glanced: 0,
    };
    let pace = Pace {
        has_taken: is_pressed,
        link_interval: SECOND * 90,
        ..Pace::default()
    };
    for tick in 0.. {
        // No tick comes at its moment.
        let now = begin + step * tick + step / 20 * ((tick * 7) % 5);
        if now > begin + SECOND * seconds as u32 {
            break;
        }
        let (mut asked, mut glanced) = (Vec::new(), Vec::new());
        round.advance(
            now,
            &pace,
            |pid| {
                asked.push(pid);
                Some(SECOND)
            },
            |due| {
                assert!(!due.has_run);
                glanced.extend(due.glances.then_some(due.pid));
                true
            },
        );
        seen.most_asked = seen.most_asked.max(asked.len());
        seen.most_glanced = seen.most_glanced.max(glanced.len());
        for (pids, which) in [(asked, 0), (glanced, 1)] {
            for pid in pids {
                last[pid as usize][which] = now;
            }
        }
        for [asked, glanced] in &last {
            seen.asked = seen.asked.max(now.saturating_sub(*asked));
            seen.glanced = seen.glanced.max(now.saturating_sub(*glanced));
        }
    }
    seen
}

#[test]
fn idle_processes_are_met_within_the_bounds() {
    // Processes, the interval, whether the machine takes pages back; the bounds on questions and glances in seconds, to
    // which a tick and a part come; the most questions a second, and glances.
    let cases = [
        (100, 1000, false, 2, 30 + 2, 50, 10),
        (1000, 1000, false, 2, 120 + 2, 500, 20),
        (1000, 100, false, 2, 120 + 2, 500, 20),
        (1000, 1000, true, 2, 15 + 2, 500, 80),
        (5000, 1000, false, 4, 480 + 4, 1250, 40),
        (10_000, 1000, false, 8, 480 + 8, 1250, 40),
        (10_000, 1000, true, 8, 60 + 8, 1250, 250),
        (40_000, 1000, false, 8, 480 + 8, 5000, 200),
        // All in every tick.
        (1000, 20_000, false, 20, 120 + 20, 50, 20),
    ];
    for (count, step, is_pressed, asked, glanced, most_asked, most_glanced) in cases {
        let what = format!("{count} processes, {step} ms, {is_pressed}");
        let step = Duration::from_millis(step);
        let seen = idle(count, step, 600, is_pressed);
        let slack = step + step / 4;
        assert!(seen.asked <= SECOND * asked + slack, "{what}: {:?}", seen.asked);
        assert!(seen.glanced <= SECOND * glanced + slack, "{what}: {:?}", seen.glanced);
        let at_most = |rate: i32| f64::from(rate) * 1.5 * step.as_secs_f64().max(0.5) + 5.0;
        assert!(
            seen.most_asked as f64 <= at_most(most_asked),
            "{what}: {}",
            seen.most_asked
        );
        assert!(
            seen.most_glanced as f64 <= at_most(most_glanced),
            "{what}: {}",
            seen.most_glanced
        );
    }
}

#[test]
fn one_that_ran_or_has_gone_is_reported_once() {
    let mut round = Round::default();
    let mut clocks: HashMap<u32, Option<Duration>> = (0..10).map(|pid| (pid, Some(SECOND))).collect();
    (0..10).for_each(|pid| round.add(pid, 7, Some(SECOND), SECOND));
    let pace = Pace {
        all: true,
        link_interval: SECOND * 3600,
        ..Pace::default()
    };
    let mut tick = |second: u32, clocks: &HashMap<u32, Option<Duration>>| {
        let mut ran: Vec<u32> = Vec::new();
        round.advance(
            SECOND * second,
            &pace,
            |pid| clocks[&pid],
            |due| {
                assert_eq!(due.serial, 7);
                ran.extend(due.has_run.then_some(due.pid));
                clocks[&due.pid].is_some()
            },
        );
        ran
    };
    assert!(tick(2, &clocks).is_empty());
    // A nanosecond is enough.
    clocks.insert(3, Some(SECOND + Duration::from_nanos(1)));
    clocks.insert(5, None);
    assert_eq!(tick(3, &clocks), [3, 5]);
    clocks.remove(&5);
    assert!(tick(4, &clocks).is_empty());
    // Another that got its pid ran less.
    clocks.insert(3, Some(Duration::from_nanos(1)));
    assert_eq!(tick(5, &clocks), [3]);
}

#[test]
fn faults_that_nobody_made_are_sought_for() {
    let mut unexplained = Unexplained::default();
    // The second, the faults that the machine has counted and those that glances show, and if all are asked then.
    let cases = [
        (0, 1_000_000, 400_000, false),
        // Explained; shown a moment before they were counted; a few, which are no matter even together.
        (1, 1_050_000, 450_000, false),
        (2, 1_050_000, 450_100, false),
        (3, 1_050_200, 450_100, false),
        (4, 1_050_256, 450_100, false),
        // A page too many, found at once.
        (5, 1_050_257, 450_000, true),
        (6, 1_060_257, 460_257, false),
        // Too soon after the last search, and so once that is over.
        (7, 1_061_000, 460_257, false),
        (12, 1_061_000, 460_257, false),
        (13, 1_061_000, 460_257, true),
        // Nobody explained them: they were made by what came and went.
        (14, 1_061_000, 460_257, false),
        (30, 1_061_000, 460_257, false),
        (31, 1_061_300, 460_257, true),
    ];
    for (second, counted, shown, expected) in cases {
        assert_eq!(unexplained.seeks(SECOND * second, counted, shown), expected, "{second}");
    }
    let mut unexplained = Unexplained::default();
    let pages = [500, 700, 756, 757, 900, 1013, 1014];
    let told: Vec<u64> = pages
        .into_iter()
        .filter(|pages| unexplained.has_taken(*pages))
        .collect();
    assert_eq!(told, [757, 1014]);
}

#[test]
fn ends_that_nobody_saw_are_sought_for() {
    let mut unexplained = Unexplained::default();
    // The second, the threads of all processes as last seen, the tasks of the machine, and if all are asked then.
    let cases = [
        // In a pid namespace there are tasks that are nobody's here.
        (0, 100, 450, false),
        // Births; ends that were seen.
        (1, 105, 455, false),
        (2, 103, 453, false),
        // One is gone for longer than a moment, and is found.
        (3, 103, 452, false),
        (4, 103, 452, true),
        (5, 102, 452, false),
        // Some end, or come, between the one look and the other.
        (6, 102, 449, false),
        (7, 102, 452, false),
        (8, 102, 455, false),
        (9, 102, 452, false),
        (10, 102, 451, false),
        (11, 102, 453, false),
        (12, 102, 452, false),
        // Two more are gone, and then another: once too soon, when it is not sought for.
        (13, 102, 450, false),
        (14, 102, 450, true),
        (15, 100, 450, false),
        (16, 100, 450, false),
        (16, 100, 449, false),
        (17, 100, 449, false),
        (18, 100, 449, true),
        // Nobody was found: it was no business of ours. Nor were three that came.
        (19, 100, 449, false),
        (22, 100, 452, false),
        (23, 100, 452, false),
        // One of these is as good as one of ours.
        (24, 100, 451, false),
        (25, 100, 451, true),
    ];
    for (second, threads, tasks, expected) in cases {
        assert_eq!(
            unexplained.seeks_ended(SECOND * second, threads, tasks),
            expected,
            "{second}"
        );
    }
}

#[test]
fn running_alone_is_no_news() {
    let before = Stat::default();
    let cases = [
        (
            Stat {
                cpu_ticks: 5,
                state: b'R',
                ..before
            },
            false,
        ),
        (Stat { minflt: 1, ..before }, true),
        (Stat { rss: 4096, ..before }, true),
        (Stat { vsize: 4096, ..before }, true),
        (Stat { threads: 2, ..before }, true),
        (Stat { ppid: 1, ..before }, true),
    ];
    for (after, expected) in cases {
        assert_eq!(is_news(&before, &after), expected, "{after:?}");
    }
}
