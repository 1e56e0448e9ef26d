//! The planner's policy: the walks it chooses, as tables.

use std::time::Duration;

use zmtop::sampler::policy::plan::{Candidate, Planner, Policy, Purpose, is_much_lazy};

const SECOND: Duration = Duration::from_secs(1);

/// A process walked `age` seconds ago at a cost of so many microseconds, of which nothing says that it changed.
fn idle(age: f64, micros: u64) -> Candidate {
    Candidate {
        walkable: true,
        age: Some(Duration::from_secs_f64(age)),
        cost: Duration::from_micros(micros),
        tolerance: 1 << 20,
        externally_mutable: 2 << 20,
        ..Candidate::default()
    }
}

/// One whose figure may be wrong by 100 MiB, ten times what it is.
fn changed(age: f64, micros: u64) -> Candidate {
    wrong(100 << 20, idle(age, micros))
}

fn wrong(bound: u64, of: Candidate) -> Candidate {
    Candidate { bound, ..of }
}

fn seen(of: Candidate) -> Candidate {
    Candidate { focus: true, ..of }
}

fn new() -> Candidate {
    Candidate {
        walkable: true,
        ..Candidate::default()
    }
}

/// Returns what a planner that has run for a minute chooses in its next second.
fn choice(policy: Policy, candidates: &[Candidate]) -> Vec<(usize, Purpose)> {
    let mut planner = Planner::new(policy);
    for second in 0..60 {
        planner.choose(SECOND * second, &[]);
    }
    let chosen = planner.choose(SECOND * 60, candidates);
    chosen.into_iter().map(|c| (c.index, c.purpose)).collect()
}

#[test]
fn what_is_much_lazily_freed_memory_depends_on_the_size_at_rest() {
    // In MiB.
    for (lazy, rss, expected) in [
        (7, 0, false),
        (8, 0, true),
        (8, 100, true),
        (8, 2000, false),
        (130, 2000, true),
    ] {
        assert_eq!(is_much_lazy(lazy << 20, rss << 20), expected, "{lazy} of {rss}");
    }
}

/// A name, the candidates, and what is chosen.
type Case = (&'static str, Vec<Candidate>, Vec<(usize, Purpose)>);

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn choices() {
    use Purpose::{Due, Idle, New};
    let ran = |age| Candidate {
        ran: true,
        ..idle(age, 50)
    };
    let lazy = |age| Candidate {
        lazy: true,
        ..idle(age, 50)
    };
    let own = |age| Candidate {
        externally_mutable: 1 << 20,
        ..idle(age, 50)
    };
    let faulted = |age| Candidate {
        faulted: true,
        ..own(age)
    };
    let proven = |age, micros| Candidate {
        proven: true,
        cost: Duration::from_micros(micros),
        ..faulted(age)
    };
    let large = |bound| Candidate {
        tolerance: 10 << 20,
        ..wrong(bound, idle(1.0, 50))
    };
    let table: &[Case] = &[
        ("nothing", vec![], vec![]),
        ("fresh and idle", vec![idle(1.0, 50)], vec![]),
        ("wrong by far", vec![changed(1.0, 50)], vec![(0, Due)]),
        (
            "the tolerance, in sight",
            vec![seen(wrong(1 << 20, idle(1.0, 50)))],
            vec![],
        ),
        (
            "above it, in sight",
            vec![seen(wrong((1 << 20) + 1, idle(1.0, 50)))],
            vec![(0, Due)],
        ),
        ("1 % of a large one, in sight", vec![seen(large(10 << 20))], vec![]),
        ("above it, in sight", vec![seen(large((10 << 20) + 1))], vec![(0, Due)]),
        (
            "four tolerances, out of sight",
            vec![wrong(4 << 20, idle(1.0, 50))],
            vec![],
        ),
        ("above them", vec![wrong((4 << 20) + 1, idle(1.0, 50))], vec![(0, Due)]),
        (
            "the tolerance, out of sight, old",
            vec![wrong(1 << 20, own(30.0))],
            vec![],
        ),
        ("above it", vec![wrong((1 << 20) + 1, own(30.0))], vec![(0, Due)]),
        ("idle for max_age", vec![idle(30.0, 50)], vec![(0, Idle)]),
        ("the same, and others can do but little", vec![own(30.0)], vec![]),
        ("very old likewise", vec![own(30.0 * 32.0)], vec![(0, Idle)]),
        ("ran of late", vec![ran(3.7)], vec![]),
        ("ran a while ago", vec![ran(5.0)], vec![(0, Due)]),
        ("lazily freed memory of late", vec![lazy(9.9)], vec![]),
        ("lazily freed memory for a while", vec![lazy(10.0)], vec![(0, Due)]),
        (
            "lazily freed memory of one that ran",
            vec![Candidate { ran: true, ..lazy(5.0) }],
            vec![(0, Due)],
        ),
        ("faulted, in sight", vec![seen(faulted(2.9))], vec![]),
        ("a while ago", vec![seen(faulted(3.0))], vec![(0, Due)]),
        ("the same, out of sight", vec![faulted(29.0)], vec![]),
        (
            "as many proved harmless, and a walk is cheap",
            vec![seen(proven(3.0, 700))],
            vec![(0, Due)],
        ),
        ("it is not", vec![seen(proven(7.9, 2000))], vec![]),
        ("a while ago", vec![seen(proven(8.0, 2000))], vec![(0, Due)]),
        ("never walked", vec![new()], vec![(0, New)]),
        (
            "never walked goes first",
            vec![changed(9.0, 50), new()],
            vec![(1, New), (0, Due)],
        ),
        (
            "never walked, the one in sight first",
            vec![new(), seen(new())],
            vec![(1, New), (0, New)],
        ),
        (
            "never walked, the cheaper first",
            vec![
                Candidate {
                    cost: Duration::from_millis(10),
                    ..new()
                },
                new(),
            ],
            vec![(1, New), (0, New)],
        ),
        (
            "never walked, the longer without figures first",
            vec![
                new(),
                Candidate {
                    waited: SECOND * 5,
                    ..new()
                },
            ],
            vec![(1, New), (0, New)],
        ),
        (
            "never walked and expensive goes last",
            vec![
                changed(9.0, 50),
                Candidate {
                    cost: SECOND * 4,
                    ..new()
                },
            ],
            vec![(0, Due), (1, New)],
        ),
        (
            "the older of two",
            vec![changed(1.0, 50), changed(2.0, 50)],
            vec![(1, Due), (0, Due)],
        ),
        (
            "the cheaper of two",
            vec![changed(1.0, 90), changed(1.0, 50)],
            vec![(1, Due), (0, Due)],
        ),
        (
            "the more wrong of two",
            vec![wrong(5 << 20, idle(1.5, 50)), wrong(10 << 20, idle(1.0, 50))],
            vec![(1, Due), (0, Due)],
        ),
        (
            "the one in sight",
            vec![changed(1.5, 50), seen(changed(1.0, 50))],
            vec![(1, Due), (0, Due)],
        ),
        (
            "being walked",
            vec![Candidate {
                outstanding: true,
                ..changed(9.0, 50)
            }],
            vec![],
        ),
        (
            "without memory",
            vec![Candidate {
                walkable: false,
                ..changed(9.0, 50)
            }],
            vec![],
        ),
        (
            "left alone for a while",
            vec![Candidate {
                rest: SECOND * 10,
                ..changed(9.0, 50)
            }],
            vec![],
        ),
        (
            "due before idle",
            vec![idle(40.0, 50), changed(1.0, 50)],
            vec![(1, Due), (0, Idle)],
        ),
    ];
    for (what, candidates, wanted) in table {
        assert_eq!(choice(Policy::default(), candidates), *wanted, "{what}");
    }
}

#[test]
fn without_a_budget_everything_is_walked() {
    let policy = Policy::UNLIMITED;
    let all = [
        idle(0.1, 50),
        changed(1.0, 900_000),
        new(),
        Candidate {
            walkable: false,
            ..new()
        },
    ];
    let chosen: Vec<_> = choice(policy, &all).into_iter().map(|(i, _)| i).collect();
    assert_eq!(chosen, [0, 1, 2]);
}

#[test]
fn the_first_look_is_whole_and_charged_to_nobody() {
    let mut planner = Planner::new(Policy::default());
    let crowd = vec![new(); 1000];
    let first = planner.choose(Duration::ZERO, &crowd);
    assert_eq!(first.len(), 1000);
    for c in first {
        planner.charge(c.purpose, Duration::ZERO, Duration::from_millis(10));
    }
    let next = planner.choose(SECOND, &[changed(1.0, 50)]);
    assert_eq!(next.len(), 1, "ten seconds of walking left no debt");
}

#[test]
fn what_is_left_out_for_want_of_budget_is_counted() {
    let mut planner = Planner::new(Policy::default());
    planner.choose(Duration::ZERO, &[]);
    let crowd = vec![changed(1.0, 1000); 1000];
    let chosen = planner.choose(SECOND, &crowd).len();
    assert!(
        (46..=51).contains(&chosen),
        "a second's 5 % is 50 ms, less the shares of idle ones: {chosen}"
    );
    assert_eq!(planner.waiting, 1000 - chosen);
}

#[test]
fn newcomers_cannot_spend_without_end() {
    let mut planner = Planner::new(Policy::default());
    planner.choose(Duration::ZERO, &[]);
    let mut walked = 0;
    for second in 1..=60_u32 {
        for c in planner.choose(SECOND * second, &vec![new(); 1000]) {
            planner.charge(c.purpose, Duration::ZERO, Duration::from_micros(500));
            walked += 1;
        }
    }
    // 1 000 a second at 0.5 ms would be half a core, and nothing foresees their cost: 10 µs is the least.
    let spent = f64::from(walked) * 0.0005 / 60.0;
    assert!(spent < 0.06, "{spent}");
    assert!(walked > 3000, "and they are not forgotten: {walked}");
}

#[test]
fn a_new_process_that_takes_memory_does_not_wait_behind_those_that_only_exist() {
    let mut planner = Planner::new(Policy::default());
    let candidate = |waited, grown| Candidate {
        waited: SECOND * waited,
        cost: Duration::from_millis(23),
        user: Some(1),
        grown,
        ..new()
    };
    let mut found = None;
    for second in 0..60 {
        let mut all: Vec<_> = (0..300).map(|n| candidate(n, 0)).collect();
        let grown = (300 * u64::from(second).saturating_sub(40)) << 20;
        all.push(candidate(1, grown));
        for choice in planner.choose(SECOND * second, &all) {
            found = found.or((second > 0 && choice.index == 300).then_some(second));
            planner.charge(choice.purpose, all[choice.index].cost, all[choice.index].cost);
        }
    }
    assert!(found.is_some_and(|second| (41..60).contains(&second)), "{found:?}");
}

#[test]
fn due_processes_of_a_user_whose_walks_are_put_off_do_not_delay_those_of_others() {
    let mut planner = Planner::new(Policy::default());
    let due = |user, age, micros| Candidate {
        user: Some(user),
        ..wrong(1 << 30, changed(age, micros))
    };
    let mut found = None;
    for second in 0..30 {
        let mut all = vec![due(1, 3600.0, 10_000); 100];
        all.push(due(2, 6.0, 500));
        for choice in planner.choose(SECOND * second, &all) {
            found = found.or((second > 0 && choice.index == 100).then_some(second));
            // It was not started.
            planner.charge(choice.purpose, all[choice.index].cost, Duration::ZERO);
        }
    }
    assert!(found.is_some_and(|second| second <= 3), "{found:?}");
}

#[test]
fn a_user_who_starts_many_processes_does_not_delay_those_of_others() {
    let mut planner = Planner::new(Policy::default());
    let candidate = |user, waited, millis| Candidate {
        waited: SECOND * waited,
        cost: Duration::from_millis(millis),
        user: Some(user),
        ..new()
    };
    let mut of_other = None;
    for second in 0..60 {
        let mut all: Vec<_> = (0..300).map(|n| candidate(1, 300 - n, 21)).collect();
        if second >= 50 {
            all.push(candidate(2, second - 50, 300));
        }
        for choice in planner.choose(SECOND * second, &all) {
            of_other = of_other.or((choice.index == 300).then_some(second));
            planner.charge(choice.purpose, all[choice.index].cost, all[choice.index].cost);
        }
    }
    assert!(of_other.is_some_and(|second| second <= 52), "{of_other:?}");
}
