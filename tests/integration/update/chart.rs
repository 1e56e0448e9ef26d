//! The time that charts and sparklines are of, and the cursor in the panel's chart.

use std::time::Duration;

use zmtop::config::settings::Settings;
use zmtop::tui::chart::Scale;
use zmtop::tui::chart::{Chart, SPANS, Span};
use zmtop::units::Units;

use crate::support::session::{Session, busy};

fn session() -> Session {
    let mut session = Session::new(129, 40);
    for second in 0..400 {
        session.tick(1, busy(second / 12));
    }
    session
}

#[test]
fn every_span_can_be_configured_and_is_named() {
    let mut settings = Settings::default();
    for span in SPANS {
        assert_eq!(settings.setting("ui.span").unwrap().parse(span.id), Ok(()));
        assert_eq!(Chart::over(&settings.ui.span).span(), &span);
        assert!(span.name.starts_with(|c: char| c.is_ascii_digit()) && span.time.as_secs() >= 300);
    }
    assert_eq!(Chart::over("x").span(), &SPANS[0]);
}

#[test]
fn x_goes_to_longer_spans_and_shift_x_back_also_for_sparklines() {
    let mut session = session();
    let mut titles = Vec::new();
    let longer = std::iter::repeat_n("x", SPANS.len());
    for keys in [""].into_iter().chain(longer).chain(["X X X X X X X X X X"]) {
        session.keys(keys);
        let heading = session.line("▼PSS");
        let title = |s: &&Span| heading.contains(&format!(" {} ", s.title));
        titles.push(SPANS.iter().find(title).unwrap().title);
    }
    assert_eq!(
        titles.join(", "),
        "5 MIN, 15 MIN, 30 MIN, 1 HOUR, 2 HOURS, 3 HOURS, 6 HOURS, 12 HOURS, 1 DAY, 1 WEEK, 30 DAYS, 30 DAYS, 5 MIN"
    );
    session.keys("X").line("5 min is the shortest span");
    // Six and a half minutes are less than half of a quarter of an hour.
    session.keys("x");
    let row = session.line("alice     python3 train.py");
    let chart: String = row.chars().filter(|c| "▁▂▃▄▅▆▇█".contains(*c)).collect();
    assert!((4..=5).contains(&chart.chars().count()), "{row}");
    session.keys("Enter");
    assert!(
        session.picture().contains("footprint over 15 min: 1000M to 1.9G"),
        "{}",
        session.picture()
    );
}

#[test]
fn a_key_about_charts_that_changes_nothing_on_screen_says_why() {
    let mut session = Session::new(80, 24);
    session.tick(1, busy(0)).keys("H H");
    session.line("graph of memory: high");
    session.line("too few lines for a graph");
    session.keys("H");
    session.line("graph of memory: off; threads have no rows");
    session.app.tables.columns = ["pid", "pss", "command"]
        .map(|id| zmtop::columns::find(id).unwrap())
        .into();
    session.app.apply_columns();
    session.keys("x");
    session.line("the span of charts is 15 min; no chart is on the screen");
    session.keys("Enter x");
    assert!(
        !session.picture().contains("no chart is on the screen"),
        "{}",
        session.picture()
    );
    let mut session = Session::new(120, 50);
    session.tick(1, busy(0)).keys("H x");
    assert!(
        !session.picture().contains("no chart is on the screen"),
        "{}",
        session.picture()
    );
    session.keys("H");
    session.line("graph of memory: high; threads");
}

#[test]
fn the_cursor_reads_values_and_leaves_to_the_right_or_by_escape() {
    let mut session = session();
    // Without the panel there is no cursor.
    session.keys("(");
    assert!(!session.app.screen.chart.has_cursor());
    session.keys("Enter (");
    // A column is two and a half seconds; the machine grows every twelve.
    let line = session.line("footprint over 5 min");
    assert!(line.contains("2s ago: 1.9G") && line.contains("·  00:23:17"), "{line}");
    session.keys("A-( A-(");
    let line = session.line("footprint over 5 min");
    assert!(line.contains("52s ago: 1.8G"), "{line}");
    // It stays on its time while time goes on.
    for second in 400..420 {
        session.tick(1, busy(second / 12));
    }
    assert!(session.line("footprint over 5 min").contains("72s ago: 1.8G"));
    session.keys("A-) A-) A-) )");
    assert!(!session.app.screen.chart.has_cursor());
    session.keys("( Esc");
    assert!(!session.app.screen.chart.has_cursor() && session.app.shows_panel());
    session.keys("Esc");
    assert!(!session.app.shows_panel());
}

#[test]
fn zooming_in_keeps_what_the_cursor_is_on_in_sight() {
    let mut app = Session::new(109, 40);
    app.tick(1_000_000, busy(0));
    let now = app.app.engine.snapshot.as_ref().unwrap().monotonic;
    let mut chart = Chart::over("1d");
    assert_eq!(chart.window(now, 100).end, now);
    app.keys("Enter");
    app.app.screen.chart = chart;
    app.keys("A-( A-( A-(");
    chart = app.app.screen.chart;
    let window = chart.window(now, 100);
    assert_eq!((window.end, window.cursor), (now, Some(69)));
    app.keys("X X X X X");
    let window = app.app.screen.chart.window(now, 100);
    let back = Duration::from_secs(86_400) * 3 / 10;
    assert_eq!(window.span, Duration::from_secs(3600));
    assert_eq!(window.end, now.saturating_sub(back) + Duration::from_secs(1800));
    assert!((48..=50).contains(&window.cursor.unwrap()), "{window:?}");
    // At every span and width the cursor is on a column.
    for keys in ["X", "X", "x x x x x x x x x x"] {
        app.keys(keys);
        for width in [0, 1, 7, 300] {
            let cursor = app.app.screen.chart.window(now, width).cursor.unwrap();
            assert!(cursor < width.max(1), "{cursor} of {width}");
        }
    }
}

#[test]
fn axes_are_labelled_with_round_values() {
    const MIB: u64 = 1 << 20;
    let over = |low: u64, high: u64, lines| Scale::over(low * MIB, high * MIB, (high * MIB / 25).max(MIB / 4), lines);
    // A third of it changed: from 0. Less: from a round value near the least. Between, where a line ends, or the middle.
    for (scale, labels) in [
        (over(0, 0, 4), "0 150K 300K"),
        (over(0, 90, 4), "0 50M 100M"),
        (over(60, 90, 4), "0 50M 100M"),
        (over(61, 90, 4), "60M 75M 90M"),
        (over(310, 310, 3), "310M 315M 320M 325M"),
        (over(310, 310, 2), "310M 320M 330M"),
        (over(1000, 1300, 3), "0.8G 1.0G 1.2G 1.4G"),
        (over(1000, 1300, 12), "0.95G 1.12G 1.30G"),
        (over(900, 1020, 3), "900M 950M 1000M 1050M"),
        (over(700_000, 1_000_000, 6), "600G 800G 1000G"),
        // Of a whole, where lines end.
        (Scale::whole(24_064 * MIB, 4), "0 11.8G 23.5G"),
        (Scale::whole(24_064 * MIB, 5), "0 23.5G"),
        (Scale::whole(24_064 * MIB, 8), "0 5.9G 11.8G 17.6G 23.5G"),
        (Scale::whole(512 * MIB, 2), "0 512M"),
    ] {
        let found: Vec<_> = scale
            .labels
            .iter()
            .map(|value| scale.label(*value, Units::Auto))
            .collect();
        assert_eq!(found.join(" "), labels);
    }
    let scale = over(61, 90, 4);
    assert_eq!((scale.base, scale.top), (60 * MIB, 90 * MIB));
    // Half a line below, as the strokes are; what is known has an eighth at least, and what is above no more than there is.
    let heights = [0, 60, 75, 90, 999].map(|mib| scale.eighths(mib * MIB, 4));
    assert_eq!(heights, [1, 1, 12, 28, 28]);
    // Whatever the values, it holds them.
    for (low, high) in [
        (0, u64::MAX),
        (u64::MAX, u64::MAX),
        (u64::MAX / 2, u64::MAX),
        (0, 1),
        (1, 1),
    ] {
        for lines in [0, 1, 2, 3, 12, 500] {
            let scale = Scale::over(low, high, high / 25, lines);
            assert!(
                scale.base <= low && scale.top >= high,
                "{low} {high} {lines}: {scale:?}"
            );
            assert!(scale.labels.len() < 600, "{scale:?}");
            assert_eq!(Scale::whole(high, lines).top, high.max(1));
        }
    }
}
