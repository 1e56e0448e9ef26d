//! The time that charts and sparklines are of, and the cursor in the panel's chart.

use std::time::Duration;

use zmtop::config::settings::Settings;
use zmtop::tui::chart::{Chart, SPANS};

use crate::support::session::{Session, busy};

fn session() -> Session {
    let mut session = Session::new(122, 40);
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
    for keys in ["", "x", "x", "x", "x", "x", "x", "x", "X X X X X X X"] {
        session.keys(keys);
        let heading = session.line("▼PSS");
        titles.push(SPANS.iter().rev().find(|s| heading.contains(s.title)).unwrap().title);
    }
    assert_eq!(
        titles,
        [
            "5 MIN", "15 MIN", "1 HOUR", "6 HOURS", "1 DAY", "1 WEEK", "30 DAYS", "30 DAYS", "5 MIN"
        ]
    );
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
fn the_cursor_reads_values_and_leaves_to_the_right_or_by_escape() {
    let mut session = session();
    // Without the panel there is none.
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
    let mut app = Session::new(102, 40);
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
    app.keys("X X");
    let window = app.app.screen.chart.window(now, 100);
    let back = Duration::from_secs(86_400) * 3 / 10;
    assert_eq!(window.span, Duration::from_secs(3600));
    assert_eq!(window.end, now.saturating_sub(back) + Duration::from_secs(1800));
    assert!((48..=50).contains(&window.cursor.unwrap()), "{window:?}");
    // At every span and width the cursor is on a column.
    for keys in ["X", "X", "x x x x x x"] {
        app.keys(keys);
        for width in [0, 1, 7, 300] {
            let cursor = app.app.screen.chart.window(now, width).cursor.unwrap();
            assert!(cursor < width.max(1), "{cursor} of {width}");
        }
    }
}
