//! Growth of a program on many hosts at once.

use std::time::Duration;

use zmtop::trend::{Judgement, Verdict, agree};

const NOW: Duration = Duration::from_secs(100_000);

/// Returns the moment so many seconds ago.
const fn ago(seconds: u64) -> Duration {
    Duration::from_secs(NOW.as_secs() - seconds)
}

/// So many hosts that say this, the growth having begun so many minutes ago; each a little later than the one before.
fn hosts(count: u64, verdict: Verdict, minutes: u64, apart: u64) -> Vec<Judgement> {
    let host = |n| Judgement {
        verdict,
        slope: 1000.0,
        since: Some(ago(minutes * 60) + Duration::from_secs(n * apart)),
        ..Judgement::NONE
    };
    (0..count).map(host).collect()
}

/// A name, the hosts of the program, what is said; the verdict, the hosts that agree, and if they began together.
type Case = (&'static str, usize, Vec<Judgement>, Option<(Verdict, usize, bool)>);

#[test]
fn what_is_called() {
    use Verdict::{Growing, Leaking, Shrinking, Warming};
    let deploy = ago(7200);
    let cases: [Case; 10] = [
        (
            "40 of 300 after a deploy",
            300,
            hosts(40, Leaking, 120, 1),
            Some((Leaking, 40, true)),
        ),
        (
            "40 of 300, one by one",
            300,
            hosts(40, Leaking, 1600, 2000),
            Some((Leaking, 40, false)),
        ),
        ("one noisy host of 300", 300, hosts(1, Leaking, 120, 1), None),
        ("false calls of 300", 300, hosts(8, Leaking, 120, 1), None),
        ("all warm up after a deploy", 300, hosts(300, Warming, 20, 1), None),
        ("all fall", 300, hosts(300, Shrinking, 20, 1), None),
        (
            "all three of three",
            3,
            hosts(3, Leaking, 120, 1),
            Some((Leaking, 3, true)),
        ),
        ("both of two", 2, hosts(2, Leaking, 120, 1), None),
        (
            "most grow, some leak so far",
            300,
            [hosts(90, Growing, 120, 1), hosts(5, Leaking, 120, 1)].concat(),
            Some((Growing, 95, true)),
        ),
        (
            "all of ten thousand",
            10_000,
            hosts(10_000, Leaking, 120, 0),
            Some((Leaking, 10_000, true)),
        ),
    ];
    for (name, all, said, wanted) in cases {
        let found = agree(said, all, NOW);
        let told = found.map(|(hosts, agreed)| (agreed.verdict, hosts, agreed.since.is_some()));
        assert_eq!(told, wanted, "{name}");
        if let Some((hosts, agreed)) = found {
            assert!((0.99..1.0).contains(&agreed.confidence), "{name}: {agreed:?}");
            assert!(
                (agreed.slope - 1000.0 * hosts as f64).abs() < 1e-3,
                "{name}: {agreed:?}"
            );
            let near = |since: Duration| since.abs_diff(deploy) < Duration::from_secs(120);
            assert!(agreed.since.is_none_or(near), "{name}: {agreed:?}");
        }
    }
}

#[test]
fn a_slope_against_the_others_does_not_count() {
    let mut said = hosts(3, Verdict::Leaking, 120, 1);
    said[0].slope = -1000.0;
    assert_eq!(agree(said, 3, NOW), None);
}
