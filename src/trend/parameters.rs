//! All tuning constants of the method, in one table, [`TABLE`].
//!
//! A test checks that each entry has a reason, and that the tests it names exist. [`Params`] has the settings of users, a field
//! for each key of `[trend]` in the configuration file; the rest is fixed.

use std::time::Duration;

/// A tuning constant of the method.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The constant, or the field of [`Params`].
    pub name: &'static str,
    /// The value, as Rust writes it.
    pub value: &'static str,
    /// The unit; `1` if there is none.
    pub unit: &'static str,
    /// The mistake that the parameter prevents.
    pub guards_against: &'static str,
    /// The tests that show it: `module::function` in `tests/integration/trend`, or shapes after `corpus:`.
    pub shown_by: &'static str,
}

/// Defines each parameter once: as a field of [`Params`] or as a constant, and as a row of [`TABLE`].
macro_rules! parameters {
    (
        settings { $($(#[doc = $about:literal])+ $field:ident: $kind:ty = $default:expr, $unit:literal, $guard:literal, $test:literal;)+ }
        fixed { $($(#[doc = $fact:literal])+ $name:ident: $type:ty = $value:expr, $of:literal, $against:literal, $shown:literal;)+ }
    ) => {
        /// The parameters that users may set: the conditions under which growth is reported as a leak.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Params {
            $($(#[doc = $about])+ pub $field: $kind,)+
        }

        impl Default for Params {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        $($(#[doc = $fact])+ pub(crate) const $name: $type = $value;)+

        /// All parameters, the settings first.
        ///
        /// | parameter | value | unit | guards against | shown by |
        /// |---|---|---|---|---|
        $(#[doc = concat!("| [`", stringify!($field), "`](Params::", stringify!($field), ") | `", stringify!($default), "` | ", $unit, " | ", $guard, " | `", $test, "` |")])+
        $(#[doc = concat!("| `", stringify!($name), "` | `", stringify!($value), "` | ", $of, " | ", $against, " | `", $shown, "` |")])+
        pub const TABLE: &[Parameter] = &[
            $(Parameter { name: stringify!($field), value: stringify!($default), unit: $unit, guards_against: $guard, shown_by: $test },)+
            $(Parameter { name: stringify!($name), value: stringify!($value), unit: $of, guards_against: $against, shown_by: $shown },)+
        ];
    };
}

parameters! {
    settings {
        /// Minimum confidence of a leak, 0 to 1. A higher value is later and more certain.
        confidence: f64 = 0.9, "1",
            "leaks called on bare evidence", "corpus: walk churn";
        /// Minimum growth of the floor, in bytes; less is not growth.
        least_bytes: u64 = 1 << 20, "bytes",
            "allocators, which request and release memory by the megabyte", "corpus: steady";
        /// Minimum growth of the floor, as a share of it.
        least_share: f64 = 0.025, "1",
            "large processes, which vary by a percent or two", "corpus: steady walk";
        /// Minimum t-statistic of the floor's slope.
        significance: f64 = 6.0, "1",
            "noise that looks like a line", "corpus: walk churn";
        /// Minimum pace of the second half as a share of the first's: 1 for even growth, 0.45 for growth with the square
        /// root of time.
        level_off: f64 = 0.85, "1",
            "caches that fill and level off", "cases::what_levels_off_is_warming corpus: cache";
        /// Growth per hour, as a share of the floor, below which it may follow the load of the day, and must outlast a day to be a
        /// leak. A load that rises by half from night to noon has 0.07.
        day_rate: f64 = 0.08, "1/h",
            "load that comes and goes with the day", "corpus: day leak-day w-day-flank";
        /// Time within which a limit must be reached, at the present total pace, to be reported as a danger; at most four times
        /// as long as growth has been observed.
        danger: Duration = Duration::from_secs(1800), "duration",
            "alarms that need no action yet", "countdown::a_limit_is_reported_once_it_is_near";
    }
    fixed {
        /// Floors of a horizon: enough to fit a line and a curve, few enough to fit them at every evaluation.
        SPANS: usize = 16, "floors",
            "saw-teeth: a floor is the lowest value of a sixteenth", "corpus: teeth leak-teeth";
        /// Horizons, each twice the one before: 80 s to 30 days.
        HORIZONS: usize = 16, "horizons",
            "leaks missed for their pace", "corpus: leak-fast leak-slow";
        /// Length of a floor of the shortest horizon.
        SHORTEST_SPAN_MS: u64 = 5_000, "ms",
            "a slow verdict: the shortest horizon is 80 s, and the shortest window of a leak 16 min", "goals::ten_megabytes_a_minute_are_growth_within_two";
        /// Newest points whose distance is the density of a series.
        DENSITY_POINTS: usize = 9, "points",
            "floors made of a single value, in sparse series", "corpus: gaps";
        /// Minimum average number of values per span for a window to show a leak.
        MIN_POINTS_PER_SPAN: u64 = 2, "points",
            "floors made of a single value, in sparse series: without it 0.20 % of evaluations of real machines are wrong instead of 0.07 %", "corpus: day";
        /// Minimum observed time for any verdict.
        MIN_OBSERVED_MS: u64 = 65_000, "ms",
            "verdicts on almost no data", "cases::nothing_is_said_of_what_was_hardly_seen";
        /// Assumed noise of each floor: a few pages come and go unnoticed.
        MIN_NOISE: f64 = 16.0 * 1024.0, "bytes",
            "infinite certainty if a series has no noise", "cases::a_line_is_a_leak_with_its_slope_and_beginning";
        /// Added to the autocorrelation of the residuals, which few values underestimate.
        AUTOCORRELATION_BIAS: f64 = 0.2, "1",
            "slow variation taken for a trend or a slowdown: without it recall falls from 0.984 to 0.978", "corpus: walk w-cycle";
        /// Minimum t-statistic of a curvature for a slowdown to count.
        MIN_CURVATURE: f64 = 1.0, "1",
            "noise taken for a slowdown: with 0 recall falls from 0.984 to 0.981; with 2 6 harmless series are called instead of 1", "corpus: leak-slow w-fill-slow-exp";
        /// Seconds for which growing must level off to become warming, and for which warming must no longer do so to become growing.
        LEVEL_OFF_SECONDS: [f64; 2] = [60.0, 120.0], "s",
            "a verdict that changes to and fro at an even pace", "cases::the_verdict_on_even_growth_hardly_changes_before_the_call";
        /// Longer horizons whose older halves provide the earlier peak: seven times the length together.
        PEAK_HORIZONS: usize = 3, "horizons",
            "hourly patterns: with 1 0.37 % of evaluations of real machines are wrong instead of 0.07 %", "corpus: churn teeth";
        /// Number of floors of the windows in each horizon: 16 min, 21 min, 32 min and so on.
        WINDOWS: [usize; 2] = [12, 16], "floors",
            "leaks called late, as no window fits", "corpus: leak-late w-line";
        /// Length of the shortest window.
        SHORTEST_WINDOW: f64 = 900.0, "s",
            "fills of up to a quarter of an hour", "corpus: w-fill-linear w-load-ramps";
        /// Minimum growth of a leak, in bytes, within three quarters of its window.
        LEAST_LEAK: f64 = 3.0 * 1024.0 * 1024.0, "bytes",
            "runtimes that leave garbage while idle: of six quiet node servers three were called, at 8 MB an hour", "corpus: w-fill-slow-exp w-fill-log";
        /// Minimum pace of a leak in a window of less than a day, in bytes an hour.
        LEAST_PACE: f64 = 5.0 * 1024.0 * 1024.0, "bytes/h",
            "the same for hours: of 40 quiet node servers two were called, at 3 MB an hour", "corpus: w-fill-log";
        /// Share of a window's floors that must be known.
        MIN_KNOWN_SHARE: f64 = 0.75, "1",
            "a leak made of two values and a gap", "corpus: gaps";
        /// Minimum growth of each quarter of a window, as a share of its part in even growth.
        MIN_QUARTER_SHARE: f64 = 0.4, "1",
            "steps, ramps and fills: without it 22 of 360 harmless series are called instead of none", "corpus: w-fill-linear w-fill-twice w-load-ramps w-load-steps";
        /// Horizons checked for levelling off: this one and the next longer ones.
        LONGER_WINDOWS: usize = 4, "horizons",
            "a filling cache whose last part looks straight: without them 14 of 275 harmless series are called instead of 2", "corpus: cache w-fill-sqrt w-fill-slow-exp";
        /// Maximum pace at the end of the newer half of such a window, as a share of the pace at its beginning, for growth that is not
        /// judged as a leak to level off.
        MAX_RATIO_OF_NEWER: f64 = 0.95, "1",
            "even growth after a start of a minute or two taken for a warm-up, for up to 14 minutes", "steps::even_growth_after_a_slow_start_is_growing";
        /// Minimum length of a window that grows evenly for a shorter one not to count as levelling off, as a multiple.
        LONGER_GROWTH: f64 = 2.0, "1",
            "growth with pauses or stairs in it taken for a warm-up: without it leaks are warming four times as often before they are called", "steps::growth_with_pauses_is_no_warm_up";
        /// Minimum t-statistic of a curvature in them.
        CLEAR_CURVATURE: f64 = 2.0, "1",
            "a filling cache whose last part looks straight: with 3 19 of 1080 harmless series are called instead of 11", "corpus: w-frees w-cycle w-fill-log w-fill-sqrt";
        /// Spans whose lowest floor is used if teeth are longer than a span.
        ERODED_SPANS: usize = 3, "floors",
            "leaks missed below teeth that are longer than a span: of 120 series 81 are called within four hours instead of 101", "cases::a_leak_below_teeth_longer_than_a_span_is_called corpus: w-long-teeth";
        /// The number of such floors in a horizon.
        FLOORS_BELOW_TEETH: usize = SPANS - ERODED_SPANS + 1, "floors",
            "leaks missed below teeth that are longer than a span", "cases::a_leak_below_teeth_longer_than_a_span_is_called";
        /// Minimum sum of all falls of the floors, as a share of their total rise, for teeth that are longer than a span.
        MIN_TEETH: f64 = 1.0, "1",
            "fills without teeth, judged twice", "corpus: w-fill-sqrt w-warm-up";
        /// Minimum rise of the mean from the second quarter of a window to the last, as a share of the growth of the floors. Of
        /// even growth it is two thirds.
        MIN_MEAN_RISE: f64 = 0.2, "1",
            "a series at rest whose dips become rarer: its floors rise, its values do not", "cases::dips_that_become_rarer_are_no_leak";
        /// Share of the growth that must lie above the earlier peak.
        MIN_ABOVE_PEAK: f64 = 0.7, "1",
            "variation within the range that the series reached before: without it 6 harmless series are called instead of 1", "corpus: walk w-load-cycle w-triangle";
        /// Minimum share of its growth that a leak must have requested within its window.
        MIN_REQUESTED_SHARE: f64 = 0.75, "1",
            "buffer pools and virtual machines, which fill memory that they requested long before", "cases::what_was_asked_for_before_is_filled services::services_that_leak_are_distinguished_from_those_that_fill";
        /// Share of its window that a leak must stand for to be called.
        STANDING_SHARE: f64 = 0.15, "1",
            "noise taken for a leak in one of thousands of evaluations: without it 41 of 360 harmless series are called instead of none", "corpus: w-walk w-flicker w-fill-slow-exp";
        /// Upper bound of the time that one evaluation stands for.
        MAX_LOOK_SECONDS: f64 = 600.0, "s",
            "leaks called by two evaluations with a night in between", "corpus: gaps";
        /// Share of the time since its start within which a leak must have grown to stay called.
        HELD_SHARE: f64 = 0.5, "1",
            "calls that come and go, if growth has stairs or pauses", "corpus: w-pauses w-stairs w-bursts";
        /// Lower bound of that time for growth that is not a leak; [`SHORTEST_HOLD`] is the upper bound.
        SHORTEST_GROWTH_HOLD: Duration = Duration::from_secs(240), "duration",
            "growth by large steps that comes and goes", "cases::the_verdict_on_even_growth_hardly_changes_before_the_call";
        /// Lower bound of that time.
        SHORTEST_HOLD: Duration = Duration::from_secs(900), "duration",
            "calls that come and go, if growth has stairs or pauses", "corpus: w-pauses w-stairs w-bursts";
        /// Upper bound of that time.
        LONGEST_HOLD: Duration = Duration::from_secs(86_400), "duration",
            "leaks called for weeks after they ended", "corpus: leak-day";
        /// Minimum growth within that time, as a share of the total.
        MIN_GROWTH_HELD: f64 = 0.05, "1",
            "noise taken for a continuing leak", "cases::a_leak_stays_called_until_it_is_over";
        /// Seconds of a day, the longest cycle of a load.
        DAY: f64 = 86_400.0, "s",
            "load that comes and goes with the day", "corpus: day w-day-flank";
        /// Days whose hours are compared.
        DAYS: usize = 5, "days",
            "one busy day", "corpus: day leak-day";
        /// Minimum number of hours known both on a day and on the day before.
        MIN_PAIRS: usize = 10, "hours",
            "a few busy hours", "corpus: day leak-day";
        /// Hours from which on the day before the last counts too.
        MIN_PAIRS_BEFORE: usize = 12, "hours",
            "one busy day", "corpus: day leak-day";
        /// Share of the hours that must be above the same hour of the day before, on two successive days.
        MIN_RISEN: f64 = 0.85, "1",
            "a day that was busier at some hours", "corpus: day leak-day";
        /// Hours of a block of a day, in which the distance to the days before is compared.
        BLOCK_HOURS: usize = 6, "hours",
            "single outlying hours", "corpus: day leak-day";
        /// Maximum share of that distance that may arise from one block to the next.
        MAX_STEP_SHARE: f64 = 0.55, "1",
            "a step, after which every hour is above the same hour of the day before", "corpus: day leak-day";
        /// Minimum distance of the newest hours, as a share of the last day's distance.
        MIN_NEWEST_SHARE: f64 = 0.8, "1",
            "growth that ended within the last day", "corpus: day leak-day";
        /// Minimum rise from day to day, as a share of the minimum growth.
        MIN_DAILY_SHARE: f64 = 0.5, "1",
            "days that hardly differ", "corpus: steady";
        /// Length of the window, in days, that a leak of days counts as for [`STANDING_SHARE`].
        DAY_STANDING_SHARE: f64 = 0.5, "days",
            "an hour at which two days happen to differ: without it 0.29 % of evaluations of real machines are wrong instead of 0.07 %", "corpus: day";
        /// The same for a leak that only the last day shows.
        LONE_DAY_STANDING_SHARE: f64 = 0.75, "days",
            "one busy day: with 0.5 0.40 % of evaluations of real machines are wrong instead of 0.33 %", "machines::leaks_that_begin_a_day_after_zmtop_are_called";
        /// Multiple of the median rise from floor to floor above which a rise is a step.
        STEP_RISE: f64 = 4.0, "1",
            "the first floors of a curve that levels off taken for a step: with 2 even growth after a step is warming", "steps::even_growth_after_a_step_grows_from_the_first_minute_until_it_is_called";
        /// Maximum number of such rises in a window, as a step may begin in one span and end in the next.
        MAX_STEPS: usize = 2, "floors",
            "even growth after a step of ten seconds or more that seems to level off: with 1 for up to seven minutes", "steps::even_growth_after_a_step_grows_from_the_first_minute_until_it_is_called";
        /// Time that a program may need to warm up, which is excluded when judging leaks.
        WARM_UP: Duration = Duration::from_secs(600), "duration",
            "even growth that seems to level off after a faster start", "services::services_that_leak_are_distinguished_from_those_that_fill";
        /// Maximum share of a program's age that is excluded as its warm-up.
        MAX_WARM_UP_SHARE: u32 = 8, "1/share",
            "excluding most of a young program", "corpus: w-young w-after-fill";
        /// Change of the load, as a share, up to which it counts as even.
        EVEN_LOAD: f64 = 0.1, "1",
            "a load called even that explains the growth", "cases::reasons_in_words";
        /// Upper bound of the evidence for growth that is not called a leak.
        MAX_EVIDENCE_WITHOUT_LEAK: f64 = 0.9, "1",
            "a confidence that contradicts the verdict", "cases::what_levels_off_is_warming";
        /// Shortest time over which a series may be flat.
        SHORTEST_PLATEAU_MS: u64 = 90_000, "ms",
            "a pace shown long after growth ended", "cases::growth_that_ended_has_no_pace";
        /// Spans of that time; each has a floor, so that momentary use is not growth.
        PLATEAU_SPANS: usize = 9, "spans",
            "noise taken for growth", "cases::growth_that_ended_has_no_pace";
        /// Minimum number of known spans, including the oldest.
        MIN_PLATEAU_SPANS: usize = 6, "spans",
            "too little data called flat", "cases::growth_that_ended_has_no_pace";
        /// Upper bound of the range of these floors, as a share of what the pace adds in that time.
        MAX_PLATEAU_RISE: f64 = 0.2, "1",
            "growth that only slows down called flat", "cases::growth_that_ended_has_no_pace";
        /// Minimum growth at the pace in that time: less is the rhythm of an allocator.
        MIN_PACE_BYTES: f64 = 1024.0 * 1024.0, "bytes",
            "slow leaks that seem flat between allocations", "cases::growth_that_ended_has_no_pace";
        /// Share of the growth by which a value may exceed the level at its start.
        ONSET_SLACK: f64 = 1.0 / 16.0, "1",
            "noise that hides when growth began", "cases::a_line_is_a_leak_with_its_slope_and_beginning";
        /// Minimum share of the time of growth that a level stretch must have to be excluded.
        LEVEL_SHARE: f64 = 0.25, "1",
            "a start that varies with the noise", "cases::growth_does_not_begin_at_a_step_before_a_level_stretch";
        /// Maximum pace of a level stretch, as a share of the pace of growth.
        LEVEL_PACE: f64 = 0.25, "1",
            "growth that becomes faster and loses its start", "cases::growth_does_not_begin_at_a_step_before_a_level_stretch";
        /// Maximum gap that is never cut from the time since when growth was seen. Longer than the minute between two writes of
        /// the history that the monitor keeps.
        SHORTEST_GAP: Duration = Duration::from_secs(75), "duration",
            "growth that is cut at every late reading", "cases::since_never_reaches_over_a_gap_that_nobody_saw";
        /// The same as a multiple of the usual distance of points.
        MAX_USUAL_GAP: u32 = 4, "1",
            "growth that is cut in a series read every few minutes", "cases::since_never_reaches_over_a_gap_that_nobody_saw";
        /// Divisor of the time since: a longer gap within growth cuts it.
        LONG_GAP: u32 = 50, "1/share",
            "a leak of weeks that is cut as zmtop was updated", "cases::since_never_reaches_over_a_gap_that_nobody_saw";
        /// Minimum time of growth before a long gap for it to go on over the gap.
        GROWTH_BEFORE_GAP: Duration = Duration::from_secs(120), "duration",
            "a step before a gap taken for growth", "cases::growth_goes_on_over_a_gap_if_it_keeps_its_line";
        /// Minimum pace before a long gap, as a share of the pace of the finding, for the growth to be the same.
        SAME_PACE: f64 = 0.5, "1",
            "a process that hardly grew before the gap", "cases::growth_goes_on_over_a_gap_if_it_keeps_its_line";
        /// Windows over which the fall of the remaining memory is measured, the shortest first.
        DANGER_WINDOWS: [Duration; 7] = [
            Duration::from_secs(12),
            Duration::from_secs(16),
            Duration::from_secs(32),
            Duration::from_secs(64),
            Duration::from_secs(128),
            Duration::from_secs(256),
            Duration::from_secs(512),
        ], "durations",
            "a momentary pace taken for a lasting one", "countdown::a_limit_is_reported_once_it_is_near";
        /// Time for which a pace is extrapolated, as a multiple of the observed growth. At 4 a limit is reported when a fifth of
        /// the time to it has passed.
        DANGER_REACH: f64 = 4.0, "1",
            "dangers reported for compilers and test runs: in 45 minutes on a machine with twice as much left as they take, 469 s at 15, 85 s at 4; with four times as much left 364 s at 15, 13 s at 5, none at 4", "countdown::a_pace_is_not_known_for_longer_than_it_lasted countdown::builds_and_test_runs_are_no_danger";
        /// The same for the limit of a cgroup, which has fewer programs, so that its pace is more regular.
        CGROUP_REACH: f64 = 8.0, "1",
            "dangers reported for builds in a container", "countdown::a_limit_of_a_cgroup_is_reported_within_15_seconds";
        /// Share of a fall up to which it counts as not begun.
        DANGER_ONSET: f64 = 0.05, "1",
            "a pause before the growth taken for a part of it", "countdown::a_pace_is_not_known_for_longer_than_it_lasted";
        /// Time to a limit that is reported however short the observed growth.
        URGENT: Duration = Duration::from_secs(60), "duration",
            "memory that is full before it is reported", "countdown::less_than_a_minute_is_reported_within_three_seconds";
        /// Minimum distance of three values with two falls, for an urgent danger.
        SURGE_STEP: Duration = Duration::from_millis(750), "duration",
            "a single allocation taken for a pace", "countdown::a_step_is_not_urgent";
        /// Maximum time of these two falls, but at least 2.5 intervals.
        SURGE_LONGEST: Duration = Duration::from_secs(16), "duration",
            "a change in a gap taken for a pace", "countdown::a_gap_in_the_values_is_no_pace";
        /// Minimum pace of each fall, as a share of the pace of both.
        SURGE_EVENNESS: f64 = 0.5, "1",
            "a single allocation taken for a pace", "countdown::a_step_is_not_urgent";
        /// A danger is over if more is free again than falls within this time at its pace.
        DANGER_RELIEF: Duration = Duration::from_secs(3), "duration",
            "a danger that outlasts the kill of its cause", "countdown::a_kill_ends_it_at_once";
        /// Share of the highest value that must have remained at an earlier low, for a similar fall to be harmless.
        SAFE_TOOTH: f64 = 0.125, "1",
            "a process that is killed and fills the memory again, taken for a collector", "countdown::what_was_used_up_before_is_reported_again";
        /// Minimum fall from a quarter of a window to the next one, as a share of the mean.
        DANGER_EVENNESS: f64 = 0.35, "1",
            "a fall that has ended, or a step", "countdown::what_is_far_away_or_falls_in_no_even_way_is_not_reported";
        /// Minimum number of values in a quarter.
        DANGER_VALUES: usize = 3, "values",
            "a meaningless median", "countdown::what_is_far_away_or_falls_in_no_even_way_is_not_reported";
        /// Time for which a danger is still reported without such a pace, unless memory is at rest.
        DANGER_PAUSE: Duration = Duration::from_secs(10), "duration",
            "dangers that come and go", "countdown::a_limit_is_reported_once_it_is_near";
        /// Bounds of the time at rest after which a danger is over.
        DANGER_REST: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(8)], "durations",
            "a pace still reported after growth stopped", "countdown::it_is_over_at_once_when_the_growth_stops";
        /// This time as a share of the window of the pace.
        DANGER_REST_SHARE: f64 = 1.0 / 16.0, "1",
            "a danger that ends at every pause of slow growth", "countdown::a_limit_is_reported_once_it_is_near";
        /// Maximum pace at rest, as a share of the pace.
        DANGER_REST_PACE: f64 = 0.2, "1",
            "a pace still reported after growth stopped", "countdown::it_is_over_at_once_when_the_growth_stops";
        /// Minimum number of hosts that are reported together.
        MIN_HOSTS: usize = 3, "hosts",
            "two hosts that are better reported one by one", "agreement::what_is_called";
        /// Assumed share of hosts with a false call at any moment: far more than was measured.
        FALSE_CALLS: f64 = 0.02, "1",
            "a few false calls among many hosts taken for a leaking program", "agreement::what_is_called";
        /// Probability below which so many false calls at once are ruled out.
        MAX_CHANCE: f64 = 1e-4, "1",
            "chance taken for agreement", "agreement::what_is_called";
        /// Share of the hosts that must have started together for a common start.
        AGREEING_HOSTS: f64 = 2.0 / 3.0, "1",
            "a common start reported for growth that started one by one", "agreement::what_is_called";
        /// Minimum tolerance of their starts around the median.
        NEAR: Duration = Duration::from_secs(600), "duration",
            "starts distinguished beyond their accuracy", "agreement::what_is_called";
        /// The same as a share of the time since then.
        NEAR_SHARE: u32 = 6, "1/share",
            "starts of long ago distinguished beyond their accuracy", "agreement::what_is_called";
    }
}
