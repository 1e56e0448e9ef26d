//! The planner's policy: the walks it chooses, as tables.

use std::time::Duration;

use zmtop::sampler::plan::{Candidate, Planner, Policy, Purpose};

const SECOND: Duration = Duration::from_secs(1);

/// A process walked `age` seconds ago at a cost of so many microseconds, of which nothing says that it changed.
fn idle(age: f64, micros: u64) -> Candidate {
    Candidate {
        walkable: true,
        age: Some(Duration::from_secs_f64(age)),
        cost: Duration::from_micros(micros),
        pss: 10 << 20,
        externally_mutable: 2 << 20,
        ..Candidate::default()
    }
}

fn changed(age: f64, micros: u64) -> Candidate {
    Candidate {
        bound: 1 << 20,
        ..idle(age, micros)
    }
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

/// A name, the candidates, and what is chosen.
type Case = (&'static str, Vec<Candidate>, Vec<(usize, Purpose)>);

#[test]
fn choices() {
    use Purpose::{Dirty, Idle, New};
    let ran = |age| Candidate {
        ran: true,
        ..idle(age, 50)
    };
    let own = |age, micros| Candidate {
        externally_mutable: 100 << 10,
        ..idle(age, micros)
    };
    let table: &[Case] = &[
        ("nothing", vec![], vec![]),
        ("fresh and idle", vec![idle(1.0, 50)], vec![]),
        ("changed", vec![changed(1.0, 50)], vec![(0, Dirty)]),
        (
            "changed a page",
            vec![Candidate {
                bound: 4096,
                ..idle(1.0, 50)
            }],
            vec![(0, Dirty)],
        ),
        ("old and idle", vec![idle(30.0, 50)], vec![(0, Idle)]),
        ("old, and nobody else's doings can matter", vec![own(30.0, 50)], vec![]),
        ("very old likewise", vec![own(30.0 * 32.0, 50)], vec![(0, Idle)]),
        (
            "changed, though nobody else's doings can matter",
            vec![Candidate {
                bound: 4096,
                ..own(1.0, 50)
            }],
            vec![(0, Dirty)],
        ),
        ("ran of late", vec![ran(1.0)], vec![]),
        ("ran a while ago", vec![ran(5.0)], vec![(0, Dirty)]),
        ("never walked", vec![new()], vec![(0, New)]),
        (
            "never walked goes first",
            vec![changed(9.0, 50), new()],
            vec![(1, New), (0, Dirty)],
        ),
        (
            "the older of two changed",
            vec![changed(1.0, 50), changed(2.0, 50)],
            vec![(1, Dirty), (0, Dirty)],
        ),
        (
            "the cheaper of two changed",
            vec![changed(1.0, 90), changed(1.0, 50)],
            vec![(1, Dirty), (0, Dirty)],
        ),
        (
            "the one looked at",
            vec![
                changed(1.5, 50),
                Candidate {
                    focus: true,
                    ..changed(1.0, 50)
                },
            ],
            vec![(1, Dirty), (0, Dirty)],
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
            "changed before idle",
            vec![idle(40.0, 50), changed(1.0, 50)],
            vec![(1, Dirty), (0, Idle)],
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
    assert!((50..=51).contains(&chosen), "a second's 5 % is 50 ms: {chosen}");
    assert_eq!(planner.waiting(), 1000 - chosen);
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
    // 1 000 a second at 0.5 ms would be half a core. What cannot be foreseen is one tick's worth of them.
    let spent = f64::from(walked) * 0.0005 / 60.0;
    assert!(spent < 0.07, "{spent}");
    assert!(walked > 3000, "and they are not forgotten: {walked}");
}
