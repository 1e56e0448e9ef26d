//! Single series, and what is said of them beside the verdict.

use std::time::Duration;

use zmtop::trend::{Judgement, MIN_LEAK_OBSERVED, Mark, Metric, Params, Point, Reasons, Verdict, judge};

const MB: u64 = 1_000_000;
const START: u64 = 100_000;

fn at(second: u64) -> Duration {
    Duration::from_secs(START + second)
}

/// Makes one point a second.
fn points(seconds: u64, value: impl Fn(u64) -> u64) -> Vec<Point> {
    (0..seconds).map(|s| Point::at(at(s), value(s))).collect()
}

/// Judges a series of an old program once.
fn of_old(points: &[Point]) -> Judgement {
    judge(
        points,
        &[],
        Some(Duration::from_secs(10)),
        &Params::default(),
        &Judgement::default(),
    )
}

/// Judges it every ten seconds, to its end, as a history does; returns the last judgement.
fn watched(points: &[Point]) -> Judgement {
    let (params, started_at) = (Params::default(), Some(Duration::from_secs(10)));
    let mut last = Judgement::default();
    let mut due = Duration::ZERO;
    for (i, point) in points.iter().enumerate() {
        if point.to >= due || i + 1 == points.len() {
            due = point.to + Duration::from_secs(10);
            last = judge(&points[..=i], &[], started_at, &params, &last);
        }
    }
    last
}

/// The same of a series by the second that had asked for so much by each.
fn watched_asking(points: &[Point], asked: impl Fn(u64) -> u64) -> Judgement {
    let mut last = Judgement::default();
    let mut marks = Vec::new();
    for end in (10..=points.len()).step_by(10) {
        let started_at = Some(Duration::from_secs(10));
        last = judge(&points[..end], &marks, started_at, &Params::default(), &last);
        if last.verdict.is_growth() {
            marks.push(Mark {
                at: at(end as u64 - 1),
                requested: asked(end as u64 - 1),
                work: 0.0,
            });
        }
    }
    last
}

#[test]
fn what_was_asked_for_before_is_filled() {
    let grows = |s: u64| 100 * MB + s * MB / 6;
    let series = points(1800, grows);
    for (what, asked, leaks) in [
        ("all of it", |_| 900 * MB, false),
        ("nearly all of it", |s| 900 * MB + s * MB / 30, false),
        ("as it grows", |s| 110 * MB + s * MB / 6, true),
        ("in steps of 64 MB", |s| 128 * MB + s / 400 * 64 * MB, true),
        ("most of it", |s| 300 * MB + s * MB / 7, true),
        // A buffer that comes late, while another is being filled.
        ("one step", |s| 300 * MB + u64::from(s > 500) * 100 * MB, false),
        // As threads come and go, with their stacks.
        ("and gives it back", |s| 900 * MB - s / 60 % 2 * 200 * MB, true),
    ] as [(&str, fn(u64) -> u64, bool); 7]
    {
        let judgement = watched_asking(&series, asked);
        assert_eq!(judgement.verdict == Verdict::Leaking, leaks, "{what}: {judgement:?}");
        // It grows all the same, and says why it is no leak.
        assert!(
            (judgement.slope * 6.0 / MB as f64 - 1.0).abs() < 0.05,
            "{what}: {judgement:?}"
        );
        if !leaks {
            assert_eq!(judgement.verdict, Verdict::Growing, "{what}");
            assert_eq!(
                judgement.texts()[0],
                "not a leak so far: it fills memory that it requested earlier",
                "{what}"
            );
        }
    }
    // Too little is known of what it asked for: it is judged by what it took.
    let judgement = watched(&series);
    assert_eq!(judgement.verdict, Verdict::Leaking);
    // It fills what it asked for, and then asks for more.
    let judgement = watched_asking(&points(5400, grows), |s| 500 * MB + s.saturating_sub(2400) * MB / 6);
    assert_eq!(judgement.verdict, Verdict::Leaking);
}

#[test]
fn nothing_is_said_of_what_was_hardly_seen() {
    assert_eq!(of_old(&[]), Judgement::default());
    assert_eq!(of_old(&points(1, |_| MB)).verdict, Verdict::Unknown);
    assert_eq!(of_old(&points(50, |_| 50 * MB)).verdict, Verdict::Unknown);
    assert_eq!(of_old(&points(50, |s| 50 * MB + s * MB)).verdict, Verdict::Unknown);
    assert_eq!(of_old(&points(100, |_| 50 * MB)).verdict, Verdict::Steady);
}

#[test]
fn a_line_is_a_leak_with_its_slope_and_beginning() {
    let leak = points(1800, |s| 200 * MB + s.saturating_sub(600) * MB / 6);
    // Two minutes after it began it grows: a fact. A leak it is called when it has lasted.
    assert_eq!(watched(&leak[..720]).verdict, Verdict::Growing);
    assert_eq!(watched(&leak[..1500]).verdict, Verdict::Growing);
    let judgement = watched(&leak);
    assert_eq!(judgement.verdict, Verdict::Leaking);
    let Some(Reasons::Window {
        seconds,
        parts,
        grew,
        gave_back,
        load: None,
    }) = judgement.reasons
    else {
        panic!("{judgement:?}");
    };
    assert!(
        seconds >= 900.0 && parts >= 11 && grew == parts && gave_back < 0.01,
        "{judgement:?}"
    );
    let pace = judgement.slope / (MB as f64 / 6.0);
    assert!((0.95..1.05).contains(&pace), "{pace}");
    assert!(judgement.confidence >= 0.9, "{}", judgement.confidence);
    let since = judgement.since.unwrap().as_secs_f64() - at(600).as_secs_f64();
    assert!(since.abs() < 60.0, "{since} s off");
    assert_eq!(judgement.floor, 200 * MB + 1199 * MB / 6);
}

#[test]
fn a_leak_is_called_no_sooner_than_documented_and_not_much_later() {
    let leak = points(1800, |s| 200 * MB + s * MB / 6);
    let mut last = Judgement::default();
    let mut called = None;
    for end in (10..=leak.len()).step_by(10) {
        last = judge(
            &leak[..end],
            &[],
            Some(Duration::from_secs(10)),
            &Params::default(),
            &last,
        );
        if last.verdict == Verdict::Leaking {
            called = called.or(Some(end as u64));
        }
    }
    let least = MIN_LEAK_OBSERVED.as_secs();
    assert!(
        called.is_some_and(|end| (least - 60..least + 240).contains(&end)),
        "{called:?}"
    );
}

#[test]
fn the_verdict_on_even_growth_hardly_changes_before_the_call() {
    // 2 MB a minute, requested a megabyte at a time, next to buffers of up to 600 KB that come and go.
    let buffers = |seed: u64, second: u64| (seed + second / 20).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let mut changes = Vec::new();
    let mut starts = Vec::new();
    for seed in 0..12 {
        let all = points(1500, |s| {
            60 * MB + s * MB / 30 / MB * MB + buffers(seed, s) * 600_000 / (1 << 24)
        });
        let mut verdicts = Vec::new();
        let mut last = Judgement::default();
        let mut later = 0;
        for end in (10..all.len()).step_by(10) {
            let started_at = Some(Duration::from_secs(10));
            let next = judge(&all[..end], &[], started_at, &Params::default(), &last);
            later += usize::from(last.since.zip(next.since).is_some_and(|(before, now)| now > before));
            last = next;
            verdicts.push(last.verdict);
        }
        starts.push(later);
        let from = verdicts.iter().position(|verdict| verdict.is_growth()).unwrap();
        let to = verdicts
            .iter()
            .position(|verdict| *verdict == Verdict::Leaking)
            .unwrap();
        let before = &verdicts[from..to];
        changes.push(before.windows(2).filter(|pair| pair[0] != pair[1]).count());
    }
    assert!(changes.iter().all(|changes| *changes <= 3), "{changes:?}");
    // How often the reported start became a later one.
    assert!(starts.iter().all(|later| *later <= 2), "{starts:?}");
}

#[test]
fn growth_does_not_begin_at_a_step_before_a_level_stretch() {
    // 60 MB a minute after `level` seconds at rest, which a step of 10 MB precedes; then judged every ten seconds.
    let begin = |level: u64, rest: u64| {
        let all = points(600, |s| {
            let grows = s.saturating_sub(120 + level);
            let before = s.saturating_sub(120).min(level);
            200 * MB + if s >= 120 { 10 * MB } else { 0 } + before * rest + grows * MB
        });
        let mut last = Judgement::default();
        let mut begins = Vec::new();
        for end in (10..all.len()).step_by(10) {
            last = judge(&all[..end], &[], None, &Params::default(), &last);
            begins.extend(
                last.since
                    .map(|since| since.as_secs().cast_signed() - at(120 + level).as_secs().cast_signed()),
            );
        }
        begins
    };
    for level in [60, 150, 240] {
        let begins = begin(level, 0);
        assert!(
            begins.last().is_some_and(|begin| begin.abs() < 20),
            "{level}: {begins:?}"
        );
    }
    // Growth that becomes twice as fast keeps its start.
    let begins = begin(150, MB / 2);
    assert!(begins.last().is_some_and(|begin| *begin < -130), "{begins:?}");
}

#[test]
fn reasons_in_words() {
    let window = Reasons::Window {
        seconds: 960.0,
        parts: 11,
        grew: 10,
        gave_back: 0.034,
        load: None,
    };
    let (grew, back) = ("grew in 10 of 11 parts of the 16m00 judged", "freed at most 3% of it");
    assert_eq!(window.texts(), [grew, back]);
    for (rise, text) in [
        (-0.08, "with no more work than before"),
        (0.1, "with no more work than before"),
        (0.42, "while its work rose by 42%"),
        (-0.25, "while its work fell by 25%"),
    ] {
        assert_eq!(window.at_load(Some(rise)).texts(), [grew, back, text]);
    }
    let fill = Reasons::Fill {
        seconds: 960.0,
        growth: 160 << 20,
        requested: 2 << 20,
    };
    let texts = [
        "not a leak so far: it fills memory that it requested earlier",
        "in 16m00 it grew by 160M and requested 2.0M",
    ];
    assert_eq!(fill.texts(), texts);
    let days = |days| Reasons::Days {
        days,
        hours: 24,
        risen: 23,
    };
    let above = "23 of 24 hours were above the same hour of the day before";
    assert_eq!(days(1).texts(), [above]);
    assert_eq!(days(2).texts(), [above, "2 days running"]);
}

#[test]
fn what_shrinks_or_steps_or_spikes_does_not_leak() {
    let shrinks = of_old(&points(600, |s| 500 * MB - s * MB / 4));
    assert_eq!(shrinks.verdict, Verdict::Shrinking);
    assert!(shrinks.slope < 0.0 && shrinks.since.is_none());
    for seconds in (100..1500).step_by(20) {
        let step = of_old(&points(seconds, |s| if s < 300 { 100 * MB } else { 180 * MB }));
        assert_eq!(step.verdict, Verdict::Steady, "a step, after {seconds} s");
        let spike = of_old(&points(seconds, |s| if s % 97 > 80 { 900 * MB } else { 100 * MB }));
        assert_ne!(spike.verdict, Verdict::Leaking, "spikes, after {seconds} s");
    }
}

#[test]
fn what_levels_off_is_warming() {
    let fills = |s: u64| 100 * MB + ((1.0 - (-(s as f64) / 600.0).exp()) * 2e8) as u64;
    for seconds in (300..1500).step_by(60) {
        let filling = of_old(&points(seconds, fills));
        assert_eq!(filling.verdict, Verdict::Warming, "{seconds} s: {filling:?}");
        assert!(filling.slope > 0.0 && filling.confidence < 0.9 && filling.eta(Some(1)).is_none());
    }
}

#[test]
fn what_grew_evenly_for_more_than_a_day_does_not_warm_up() {
    const DAY: u64 = 86_400;
    // 15 MB an hour from the second day on, and in the last forty minutes a cache that fills on top of it.
    let leak = |s: u64| 1000 * MB + s.saturating_sub(DAY) * 15 * MB / 3600;
    let fill = |s: u64, end: u64| {
        let since = s.saturating_sub(end - 2400) as f64;
        (60e6 * (1.0 - (-since / 600.0).exp())) as u64
    };
    for hours in [52, 60, 72] {
        let end = hours * 3600;
        let series: Vec<_> = (0..end)
            .step_by(60)
            .map(|s| Point::at(at(s), leak(s) + fill(s, end)))
            .collect();
        let judgement = of_old(&series);
        assert_eq!(judgement.verdict, Verdict::Growing, "{hours} h: {judgement:?}");
        let pace = judgement.slope * 3600.0 / (15 * MB) as f64;
        assert!((0.6..1.5).contains(&pace), "{hours} h: {pace}");
    }
    // Without the leak the same cache is a warm-up.
    let end = 2 * DAY;
    let series: Vec<_> = (0..end)
        .step_by(60)
        .map(|s| Point::at(at(s), 1000 * MB + fill(s, end)))
        .collect();
    assert_eq!(of_old(&series).verdict, Verdict::Warming);
}

#[test]
fn a_leak_below_teeth_longer_than_a_span_is_called() {
    // Teeth of 45 % of the base, and a floor that rises by so many percent of the base an hour, for four hours.
    let series = |minutes: u64, percent: u64| -> Vec<Point> {
        (0..4 * 3600)
            .step_by(10)
            .map(|s| {
                let tooth = s % (minutes * 60) * 90 * MB / (minutes * 60);
                Point::at(at(s), 200 * MB + s * 2 * percent * MB / 3600 + tooth)
            })
            .collect()
    };
    for minutes in [8, 13, 19, 23] {
        let leaks = watched(&series(minutes, 15));
        assert_eq!(leaks.verdict, Verdict::Leaking, "{minutes} min: {leaks:?}");
        let level = watched(&series(minutes, 0));
        assert_ne!(level.verdict, Verdict::Leaking, "{minutes} min: {level:?}");
    }
}

/// Seen with zmtop itself under a load of 100: at rest since a step, with dips of a second that become shallower.
#[test]
fn dips_that_become_rarer_are_no_leak() {
    let series = |level: fn(u64) -> u64| {
        points(1800, |s| {
            let dip = 8 * MB * (1800 - s) / 1800;
            if s % 20 == 0 { level(s) - dip } else { level(s) }
        })
    };
    let at_rest = watched(&series(|s| if s < 100 { 15 * MB } else { 23 * MB }));
    assert_ne!(at_rest.verdict, Verdict::Leaking, "{at_rest:?}");
    let grows = watched(&series(|s| 23 * MB + s * MB / 120));
    assert_eq!(grows.verdict, Verdict::Leaking, "{grows:?}");
}

#[test]
fn a_gap_hides_no_leak_and_makes_none() {
    let line = |s: u64| 200 * MB + s * MB / 60;
    let mut gappy = points(3600, line);
    gappy.retain(|p| !(at(1200)..at(1500)).contains(&p.from));
    assert_eq!(watched(&gappy).verdict, Verdict::Leaking);

    // A machine that slept, and a process that was another size thereafter.
    let mut slept = points(7200, |s| if s < 1800 { 100 * MB } else { 160 * MB });
    slept.retain(|p| !(at(1800)..at(5400)).contains(&p.from));
    assert_eq!(of_old(&slept).verdict, Verdict::Steady);
}

#[test]
fn since_never_reaches_over_a_gap_that_nobody_saw() {
    let since = |points: &[Point]| {
        watched(points)
            .seen_since()
            .map(|since| since.as_secs().cast_signed() - at(0).as_secs().cast_signed())
    };
    // Level, then nobody looks for ten minutes, then it grows.
    let late = |s: u64| 200 * MB + s.saturating_sub(3000) * MB;
    let mut gappy = points(3200, late);
    gappy.retain(|p| !(at(2400)..at(3010)).contains(&p.from));
    assert_eq!(since(&gappy), Some(3010));
    let line = |s: u64| 200 * MB + s * MB / 10;
    let unseen = |from: u64, to: u64| {
        let mut gappy = points(3600, line);
        gappy.retain(|p| !(at(from)..at(to)).contains(&p.from));
        since(&gappy)
    };
    assert!(unseen(2400, 2700) < Some(600), "{:?}", unseen(2400, 2700));
    // Right after a gap, the growth before it counts, unless there was none.
    assert!(unseen(3300, 3590) < Some(600), "{:?}", unseen(3300, 3590));
    // A late reading and a short restart cut nothing, nor do readings minutes apart.
    assert!(unseen(2400, 2450) < Some(600));
    let sparse: Vec<Point> = points(36_000, line).into_iter().step_by(180).collect();
    assert!(since(&sparse) < Some(4000), "{:?}", since(&sparse));
}

#[test]
fn growth_goes_on_over_a_gap_if_it_keeps_its_line() {
    let judged = |bytes: &dyn Fn(u64) -> u64, from: u64, to: u64, until: u64| {
        let mut gappy = points(until, bytes);
        gappy.retain(|p| !(at(from)..at(to)).contains(&p.from));
        let judged = watched(&gappy);
        let since = judged.seen_since().unwrap().as_secs().cast_signed() - at(0).as_secs().cast_signed();
        let watched = judged.watched(gappy.last().unwrap().to).unwrap().as_secs();
        (judged.verdict, since, judged.unwatched, watched)
    };
    // A leak of 45 minutes, and a restart of three.
    let line = |s: u64| 200 * MB + s * MB / 10 + s % 30 * MB / 20;
    let (verdict, since, gap, long) = judged(&line, 2520, 2700, 2880);
    assert_eq!(verdict, Verdict::Leaking);
    assert!(since < 300, "{since}");
    let gap = gap.unwrap();
    assert_eq!(
        (gap.to, gap.total.as_secs()),
        (at(2700), gap.to.checked_sub(gap.from).unwrap().as_secs())
    );
    assert!((179..=182).contains(&gap.total.as_secs()), "{gap:?}");
    assert!(long.abs_diff(2880 - since.unsigned_abs() - 181) < 3, "{long}");
    // It was level before the gap, with a step, and grows now.
    let late = |s: u64| match s {
        0..600 => 200 * MB,
        600..2600 => 220 * MB,
        _ => 220 * MB + (s - 2600) * MB / 10,
    };
    let (.., since, gap, _) = judged(&late, 2520, 2700, 3900);
    assert_eq!((since, gap), (2700, None));
    // It grew before by another pace.
    let faster = |s: u64| 200 * MB + s * MB / 100 + s.saturating_sub(2600) * MB / 5;
    let (.., since, gap, _) = judged(&faster, 2520, 2700, 4800);
    assert!(since >= 2700 && gap.is_none(), "{since} {gap:?}");
    // It made a step while nobody watched.
    let step = |s: u64| line(s) + if s < 2600 { 0 } else { 400 * MB };
    let (.., since, gap, _) = judged(&step, 2520, 2700, 4800);
    assert!(since >= 2700 && gap.is_none(), "{since} {gap:?}");
}

#[test]
fn runs_and_single_values_are_judged_alike() {
    // 5 MB more every 40 s, once by the second and once as a point for each level.
    let stairs = |s: u64| 100 * MB + s / 40 * 5 * MB;
    let single = watched(&points(3600, stairs));
    let runs: Vec<Point> = (0..90)
        .map(|i| Point {
            to: at(i * 40 + 39),
            ..Point::at(at(i * 40), stairs(i * 40))
        })
        .collect();
    assert_eq!(single.verdict, Verdict::Leaking);
    let runs = watched(&runs);
    assert_eq!(
        (runs.verdict, runs.slope.round()),
        (single.verdict, single.slope.round())
    );
}

#[test]
fn the_eta_is_headroom_by_pace() {
    let leak = of_old(&points(1200, |s| 200 * MB + s.saturating_sub(600) * MB / 6));
    let seconds = leak.eta(Some(100 * MB)).unwrap();
    assert!((570.0..630.0).contains(&seconds), "{seconds}");
    assert_eq!(leak.eta(Some(0)), Some(0.0));
    assert_eq!(leak.eta(None), None);
    let steady = of_old(&points(1200, |_| 200 * MB));
    assert_eq!(steady.eta(Some(200 * MB)), None);
}

#[test]
fn growth_that_ended_has_no_pace() {
    const END: u64 = 1200;
    let line = |pace: f64| move |s: u64| 200 * MB + (s as f64 * pace) as u64;
    let until = |end: u64, pace: f64| move |s: u64| line(pace)(s.min(end));
    let noisy = |s: u64| s * 7 % 11 * MB / 20;
    // 10 MB a minute, which ended so long ago; whether it is flat.
    let fast = MB as f64 / 6.0;
    for (ago, flat) in [
        (0, false),
        (40, false),
        (60, false),
        (80, true),
        (120, true),
        (250, true),
    ] {
        let judged = of_old(&points(END, until(END - ago, fast)));
        assert!(flat || judged.verdict.is_growth(), "{ago} s: {judged:?}");
        assert_eq!(judged.slope == 0.0, flat, "{ago} s: {judged:?}");
    }
    // A leak stays one, and tells since when it is flat.
    let stopped = watched(&points(2400, until(2300, fast)));
    assert_eq!((stopped.verdict, stopped.slope), (Verdict::Leaking, 0.0), "{stopped:?}");
    let off = stopped.flat_since.unwrap().as_secs_f64() - at(2300).as_secs_f64();
    assert!(off.abs() <= 20.0, "{off} s off");
    // So with noise of half a megabyte, and with a use of much more for a moment.
    let judged = of_old(&points(END, |s| until(END - 100, fast)(s) + noisy(s)));
    assert!(judged.slope == 0.0, "{judged:?}");
    let spike = |s: u64| if s == END - 50 { 500 * MB } else { 0 };
    let judged = of_old(&points(END, |s| until(END - 100, fast)(s) + spike(s)));
    assert!(judged.slope == 0.0, "{judged:?}");
    // Slower growth takes the time in which it would have added a megabyte.
    let slow = MB as f64 / 240.0;
    for (ago, flat) in [(150, false), (300, true)] {
        let judged = of_old(&points(3600, until(3600 - ago, slow)));
        assert_eq!(judged.slope == 0.0, flat, "{ago} s: {judged:?}");
    }
    // A pace that halves is a pace; unknown values are not flat.
    let halved = of_old(&points(END, |s| line(fast / 2.0)(s + s.min(END - 120))));
    assert!(halved.verdict.is_growth() && halved.slope > 0.0, "{halved:?}");
    let mut gappy = points(END, until(END - 100, fast));
    gappy.retain(|p| !(at(END - 80)..at(END - 10)).contains(&p.from));
    assert!(of_old(&gappy).verdict.is_growth());
}

#[test]
fn a_leak_stays_called_until_it_is_over() {
    // Stairs of ten minutes each, twenty to an hour and more, then level.
    let pauses = |s: u64| 200 * MB + (s / 900 * 600 + (s % 900).min(600)) * MB / 10;
    let stops = points(14_400, |s| pauses(s.min(7200)));
    let mut last = Judgement::default();
    let (mut called, mut dropped) = (None, None);
    for end in (60..=stops.len()).step_by(10) {
        last = judge(
            &stops[..end],
            &[],
            Some(Duration::from_secs(10)),
            &Params::default(),
            &last,
        );
        let leaks = last.verdict == Verdict::Leaking;
        if leaks {
            called = called.or(Some(end));
            assert_eq!(dropped, None, "called again after {end} s");
        } else if called.is_some() {
            dropped = dropped.or(Some(end));
        }
        // Within two minutes of the end there is no pace.
        assert!(!(7320..7400).contains(&end) || last.slope == 0.0, "{end} s: {last:?}");
    }
    assert!(called.is_some_and(|end| end < 3600), "{called:?}");
    assert!(dropped.is_some_and(|end| end > 7200 && end < 14_400), "{dropped:?}");
}

#[test]
fn a_leak_that_ended_in_a_gap_is_over() {
    // Returns the seconds after the gap for which the leak stays called.
    let called_for = |value: &dyn Fn(u64) -> u64, from: u64, to: u64, watched: u64| {
        let points = points(to + watched, value).into_iter().step_by(10);
        let points: Vec<_> = points.filter(|p| !(at(from)..at(to)).contains(&p.to)).collect();
        let mut last = Judgement::default();
        for (i, point) in points.iter().enumerate() {
            last = judge(
                &points[..=i],
                &[],
                Some(Duration::from_secs(10)),
                &Params::default(),
                &last,
            );
            assert!(point.to != at(from - 10) || last.verdict == Verdict::Leaking);
            if point.to >= at(to) && last.verdict != Verdict::Leaking {
                return Some(point.to.saturating_sub(at(to)).as_secs());
            }
        }
        None
    };
    let line = |s: u64| 2000 * MB + s * 5 * MB / 3;
    let freed = |s: u64| if s < 3000 { line(s) } else { 1000 * MB };
    assert_eq!(called_for(&freed, 1810, 9000, 900), Some(0));
    let stopped = |s: u64| line(s.min(1810));
    let over = called_for(&stopped, 1810, 9000, 1800);
    assert!(over.is_some_and(|seconds| seconds <= 960), "{over:?}");
    // Leaks that go on are not over, also if they become slower or have teeth.
    let teeth = |s: u64| line(s) + s % 60 * 20 * MB;
    let slower = |s: u64| line(s.min(1810)) + s.saturating_sub(1810) * MB / 2;
    for leak in [&line as &dyn Fn(u64) -> u64, &teeth, &slower] {
        for gap in [1200, 7200, 50_000] {
            assert_eq!(called_for(leak, 1810, 1810 + gap, 1800), None, "{gap}");
        }
    }
}

#[test]
fn the_pace_of_a_called_leak_in_stairs_does_not_depend_on_where_it_is_looked_at() {
    // 24 KiB a second, a stair every 700 seconds.
    let points = points(7200, |s| 50 * MB + s / 700 * 700 * 24 * 1024);
    let mut last = Judgement::default();
    let mut paces = Vec::new();
    for end in (60..=points.len()).step_by(10) {
        last = judge(
            &points[..end],
            &[],
            Some(Duration::from_secs(10)),
            &Params::default(),
            &last,
        );
        if last.verdict == Verdict::Leaking && last.flat_since.is_none() {
            paces.push((end, last.slope / (24.0 * 1024.0)));
        }
    }
    let off: Vec<_> = paces.iter().filter(|(_, pace)| (pace - 1.0).abs() > 0.3).collect();
    assert!(paces.len() > 200, "{}", paces.len());
    assert!(off.is_empty(), "{} of {}: {off:?}", off.len(), paces.len());
}

#[test]
fn growth_by_pages_of_files_is_distinguished() {
    let held = of_old(&points(600, |_| 100 * MB));
    let whole = of_old(&points(600, |s| 100 * MB + s * MB));
    let judged = held.or_growth_beside(&whole, Metric::File);
    assert_eq!((judged.verdict, judged.metric), (Verdict::Growing, Metric::File));
    assert_eq!(judged.eta(Some(MB)), None);
    // What is held and grows as fast is no growth by files.
    assert_eq!(whole.or_growth_beside(&whole, Metric::File), whole);
    assert_eq!(whole.or_growth_beside(&held, Metric::File), whole);
}

#[test]
fn any_series_is_judged_without_a_panic() {
    let edge = [0, 1, MB, u64::MAX / 2, u64::MAX];
    for a in edge {
        for b in edge {
            let mut points = points(400, |s| if s % 3 == 0 { a } else { b });
            // Out of order, and at one moment.
            points.push(Point::at(at(5), a));
            points.push(Point::at(at(5), b));
            points.push(Point {
                from: at(900),
                ..Point::at(at(2), b)
            });
            let judgement = of_old(&points);
            assert!(judgement.slope.is_finite() && judgement.confidence <= 1.0);
        }
    }
}
