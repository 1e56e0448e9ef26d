//! Which part of the list of processes is read.

use std::time::Duration;

use zmtop::sampler::policy::births::{Births, Listing, Signs, list_holds, may_be_reused};

const SECOND: Duration = Duration::from_secs(1);
const BASE: u64 = 258;

/// Goes through ticks, each a second with the pid given out last, the tasks, and what is to be listed then.
fn goes(base: Option<u64>, ticks: &[(u32, u64, u64, Listing)]) {
    let mut births = Births::default();
    for (second, last_pid, tasks, expected) in ticks {
        let (now, signs) = (
            SECOND * *second,
            Some(Signs {
                last_pid: *last_pid,
                tasks: *tasks,
            }),
        );
        let listing = births.listing(now, 1000, signs);
        assert_eq!(listing, *expected, "{second}");
        births.listed(now, signs, (listing == Listing::All).then_some(base));
    }
}

fn born(from: u32, to: u32) -> Listing {
    Listing::Born(from..=to, BASE)
}

#[test]
fn who_was_born_is_listed_and_nobody_else() {
    goes(
        Some(BASE),
        &[
            (1, 500, 90, Listing::All),
            (2, 500, 90, Listing::All),
            (3, 500, 90, Listing::Nothing),
            // Three came; they are listed once more, as one of them may not have been there yet.
            (4, 503, 93, born(501, 503)),
            (5, 503, 93, born(501, 503)),
            (6, 503, 93, Listing::Nothing),
            (7, 504, 94, born(504, 504)),
            (8, 510, 94, born(504, 510)),
            (9, 511, 94, born(505, 511)),
            // Ends are no matter of the list.
            (10, 511, 80, born(511, 511)),
            (11, 511, 70, Listing::Nothing),
            // A task with no pid that came in turn; but for that the list is read every 8 s at most.
            (12, 511, 71, Listing::All),
            (13, 511, 72, Listing::Nothing),
            (20, 511, 73, Listing::All),
            // Pids have come to their end.
            (21, 32_700, 74, born(512, 32_700)),
            (22, 310, 75, Listing::All),
            (23, 311, 76, Listing::All),
            (24, 311, 76, born(311, 311)),
            // 30 s are over.
            (53, 311, 76, Listing::All),
        ],
    );
}

#[test]
fn without_positions_or_signs_everything_is_listed() {
    goes(
        None,
        &[
            (1, 500, 90, Listing::All),
            (2, 500, 90, Listing::All),
            (3, 500, 90, Listing::Nothing),
            (4, 501, 91, Listing::All),
            (5, 501, 91, Listing::All),
            (6, 501, 91, Listing::Nothing),
        ],
    );
    let signs = Some(Signs {
        last_pid: 500,
        tasks: 90,
    });
    let mut births = Births::default();
    for second in 0..4 {
        births.listed(SECOND * second, signs, Some(Some(BASE)));
    }
    assert_eq!(births.listing(SECOND * 4, 1000, signs), Listing::Nothing);
    assert_eq!(births.listing(SECOND * 4, 1000, None), Listing::All);
    births.failed();
    assert_eq!(births.listing(SECOND * 4, 1000, signs), Listing::All);
}

#[test]
fn a_pid_is_in_doubt_once_those_given_out_have_passed_it() {
    let cases = [
        // The last pid before and after, and those that may be another's.
        ((100, 100), &[][..]),
        ((100, 103), &[101, 102, 103]),
        // Begun anew.
        ((32_766, 302), &[32_767, 1, 99, 100, 101, 102, 103, 104, 300, 301, 302]),
    ];
    for ((before, after), doubtful) in cases {
        for pid in [1, 99, 100, 101, 102, 103, 104, 300, 301, 302, 303, 32_766, 32_767] {
            assert_eq!(
                may_be_reused(pid, before, after),
                doubtful.contains(&pid),
                "{pid} {before} {after}"
            );
        }
    }
}

#[test]
fn a_list_holds_the_longer_the_longer_it_is() {
    for (count, seconds) in [(0, 30), (2400, 30), (8000, 100), (9600, 120), (1_000_000, 120)] {
        assert_eq!(list_holds(count), SECOND * seconds, "{count}");
    }
}
