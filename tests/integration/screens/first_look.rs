//! Parts of the screen that a user must not misread at the first sight.

use std::time::Duration;

use ratatui::style::{Color, Modifier};
use zmtop::config::theme::{SHIPPED, shipped};
use zmtop::model::{Missing, ProcessSample};
use zmtop::tui::widgets::rows_in_sight;

use crate::support::rows::{MIB, process, walk};
use crate::support::session::{Session, busy};

/// So many servers of one program, and one of another.
fn workers(count: u32) -> Vec<ProcessSample> {
    let worker = |at| process(1000 + at, 1, "/usr/bin/postgres: worker");
    let other = process(900, 1, "/usr/bin/python3 train.py");
    std::iter::once(other).chain((0..count).map(worker)).collect()
}

#[test]
fn changes_say_the_time_they_are_over() {
    for (width, delta, expected, on_page) in [
        (80, 10, "▼PSS   Δ10s", "Δ10s"),
        (120, 10, "▼PSS ΔPSS/10s", "Δ10s"),
        (120, 90, "SWAP ΔSWAP/90s", "Δ90s"),
        (80, 3600, "▼PSS    Δ1h", "Δ1h"),
    ] {
        let mut session = Session::new(width, 24);
        session.app.config.settings.ui.delta = Duration::from_secs(delta);
        let heading = session.minute().line("▼PSS");
        assert!(heading.contains(expected), "{heading}");
        let page = session.keys("2").line(" PART ");
        assert!(page.contains(on_page), "{page}");
    }
}

#[test]
fn rows_beyond_the_edge_are_counted() {
    for (offset, height, rows, expected) in [
        (0, 16, 16, None),
        (0, 0, 16, None),
        (0, 16, 17, Some("1–16 of 17")),
        (1, 16, 17, Some("2–17 of 17")),
        (4000, 16, 4010, Some("4001–4010 of 4010")),
    ] {
        let found = rows_in_sight(offset, height, rows);
        assert_eq!(found.first().map(String::as_str), expected);
    }
    for (width, height) in [(80, 24), (120, 40)] {
        let mut session = Session::new(width, height);
        session.tick(1, workers(99)).keys("f");
        let shown = session.app.rows_shown();
        let heading = session.line("▼PSS");
        assert!(heading.ends_with(&format!(" 1–{shown} of 100")), "{heading}");
        let heading = session.keys("End").line("▼PSS");
        assert!(heading.ends_with(&format!(" {}–100 of 100", 101 - shown)), "{heading}");
        let heading = session.keys("/").types("train").keys("Enter").line("▼PSS");
        assert!(!heading.contains(" of "), "{heading}");
    }
}

#[test]
fn the_last_line_tells_that_programs_are_summed() {
    let tab = |width| Session::new(width, 40).minute().line("q quit");
    assert!(tab(120).contains("Tab sum by program"));
    assert!(tab(80).contains("Tab group"));
    assert!(
        Session::new(120, 40)
            .minute()
            .keys("Tab")
            .line("q quit")
            .contains("Tab group")
    );
}

#[test]
fn a_selected_leak_keeps_its_colour_in_every_theme() {
    let mut session = Session::new(120, 40);
    let machine = |second: u64| {
        let mut all = busy(0);
        for sample in &mut all {
            if sample.id.pid == 900 {
                sample.walk = Ok(walk(600 * MIB + second * MIB, 0));
            }
        }
        all
    };
    for second in 0..1300 {
        session.tick(1, machine(second));
    }
    session.keys("/").types("pid:900").keys("Enter Home");
    assert_eq!(session.app.engine.leaks().count(), 1, "{}", session.picture());
    for (name, _) in SHIPPED {
        let theme = shipped(name).unwrap();
        session.app.config.theme = theme.clone();
        let frame = session.frame();
        let signs = (0..frame.area.height).flat_map(|y| (0..frame.area.width).map(move |x| (x, y)));
        let mut signs =
            signs.filter(|at| frame[*at].symbol() == "▲" && frame[*at].modifier.contains(Modifier::REVERSED));
        let at = signs
            .next()
            .unwrap_or_else(|| panic!("the leak is not selected in {name}"));
        // Reversed, its colour is the ground, which is as legible as the role itself.
        let sign = &frame[at];
        assert_eq!(sign.fg, theme.leak.fg.unwrap_or(Color::Reset), "{name}");
        assert_eq!(sign.bg, theme.text.bg.unwrap_or(Color::Reset), "{name}");
        let other = &frame[(1, at.1)];
        assert_eq!(other.fg, theme.selected.fg.unwrap_or(Color::Reset), "{name}");
    }
}

#[test]
fn how_to_see_more_is_a_key_away() {
    let mut session = Session::new(80, 24);
    let mut hidden = process(700, 1, "/usr/sbin/mysqld");
    hidden.walk = Err(Missing::Denied);
    hidden.stat.rss = 100 * MIB;
    session.tick(1, vec![hidden, process(900, 1, "own")]).keys("?");
    let help = session.picture();
    assert!(help.contains("sudo /usr/bin/zmtop "), "{help}");
    assert!(
        help.contains("--ambient-caps +perfmon") && help.contains("sudo setpriv"),
        "{help}"
    );
    session.keys("Esc").tick(1, vec![process(900, 1, "own")]).keys("?");
    assert!(!session.picture().contains("setpriv"));
}

#[test]
fn the_parts_of_the_gauge_sum_to_the_figure_beside_it() {
    let bytes = |figure: &str| zmtop::units::parse_size(figure).unwrap();
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let mut session = Session::new(width, height);
        session.minute();
        let line = session.line(" Mem ");
        let (used, rest) = line.split_once('/').unwrap();
        let used = bytes(used.rsplit(' ').next().unwrap());
        let (_, sum) = rest.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
        let parts: Vec<f64> = sum
            .split(" + ")
            .map(|part| bytes(part.split_whitespace().nth(2).unwrap()))
            .collect();
        assert_eq!(parts.len(), 3, "{line}");
        let off = (parts.iter().sum::<f64>() - used).abs();
        assert!(off < 0.02 * used, "{parts:?} are not {used}: {line}");
    }
}
