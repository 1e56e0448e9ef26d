//! The graph of the machine's memory.

use crate::support::rows::{MIB, process, walk, with_pss};
use crate::support::session::Session;

#[test]
fn the_graph_stands_on_zero_and_says_when() {
    let mut session = Session::new(120, 50);
    session.minute().keys("b").minute();
    let picture = session.picture();
    let lines: Vec<&str> = picture.lines().collect();
    let top = lines.iter().position(|line| line.contains("23.5G ┤")).unwrap();
    let zero = lines.iter().position(|line| line.contains("    0 └")).unwrap();
    assert!(zero > top && lines[zero - 1].contains('█'), "{picture}");
    let axis = lines[zero];
    assert!(axis.contains("└5 min ago ───") && axis.ends_with("now"), "{picture}");
    for time in ["4m", "3m", "2m", "b mark ─"] {
        assert!(
            axis.contains(&format!(" {time}")) || axis.contains(&format!("─{time}")),
            "{picture}"
        );
    }
    let between = lines[top + 1..zero].iter().filter(|line| line.contains("G ┤")).count();
    assert!(between > 0 && between < zero - top - 1, "{picture}");
}

#[test]
fn its_height_is_chosen_and_the_table_keeps_its_rows() {
    let has_graph = |session: &mut Session| session.picture().contains("     0 └");
    let mut low = Session::new(120, 30);
    low.minute();
    assert!(!has_graph(&mut low), "there is no room for it");
    assert!(has_graph(low.keys("H")), "low");
    let mut high = Session::new(120, 50);
    high.minute();
    assert!(has_graph(&mut high), "by the room there is");
    assert!(has_graph(high.keys("H H")), "high");
    assert!(!has_graph(high.keys("H")), "off");
    let mut tiny = Session::new(80, 20);
    tiny.minute().keys("H H");
    assert!(!has_graph(&mut tiny), "the table comes first");
}

/// A process grows from the 300th second on, the one before which nothing was seen for `gap` seconds.
fn growing(width: u16, gap: u64) -> Session {
    let mut session = Session::new(width, 40);
    for second in 0..1500_u64 {
        let grows = with_pss(
            700,
            "/usr/bin/python3 grows.py",
            100 * MIB + second.saturating_sub(300) * MIB / 4,
        );
        let passed = if second == 300 { gap } else { 1 };
        session.tick_with(passed, vec![grows, process(900, 1, "/usr/bin/rests")], |snap| {
            snap.system.mem_available = Ok((8192 - second) * MIB);
        });
    }
    session
}

#[test]
fn what_began_while_nobody_watched_may_be_older() {
    let line = |mut session: Session| session.line("grows.py  ");
    let watched = line(growing(120, 1));
    assert!(
        watched.contains(" since ") && !watched.contains("or earlier"),
        "{watched}"
    );
    let unseen = line(growing(120, 600));
    assert!(unseen.contains(" or earlier:"), "{unseen}");
}

#[test]
fn a_suspend_is_no_time_in_which_growth_was_watched() {
    let mut session = Session::new(200, 50);
    for second in 0..600_u64 {
        let mut grows = process(700, 1, "/usr/bin/python3 grows.py");
        grows.walk = Ok(walk(100 * MIB + second * MIB / 4, 0));
        session.tick_with(1, vec![grows], |snap| {
            let asleep = if second < 590 { 0.0 } else { 3600.0 };
            snap.system.uptime = Ok(snap.monotonic.as_secs_f64() + 9000.0 + asleep);
        });
    }
    assert_eq!(session.app.engine.history.suspends().all().count(), 1);
    let line = session.line("(at least ");
    let long = line.split("(at least ").nth(1).unwrap().split(')').next().unwrap();
    assert!(long.contains('m'), "{long}: {line}");
}

#[test]
fn what_leaks_is_drawn_since_before_it_began() {
    let mut wide = growing(120, 1);
    let title = wide.line("in use over");
    assert!(
        title.contains("700 python3 grows.py over 30 min (auto): 100M to "),
        "{title}"
    );
    // Two charts beside each other have the same axis of time.
    assert!(title.contains("in use over 30 min (auto): "), "{title}");
    let axis = wide.line("30 min ago");
    assert_eq!(axis.matches("└30 min ago").count(), 2, "{axis}");
    assert!(axis.contains("▲ leak begins"), "{axis}");
    // Where there is no room for both, it is that.
    let mut narrow = growing(90, 1);
    let picture = narrow.picture();
    assert!(
        picture.contains("700 python3 grows.py over 30 min") && !picture.contains("in use over"),
        "{picture}"
    );
}

#[test]
fn growth_never_stands_before_the_start_of_its_program() {
    // Near the right edge, the word "now" leaves no room there.
    for (width, start) in [90, 120, 160, 201]
        .into_iter()
        .flat_map(|width| [(width, 200), (width, 500)])
    {
        let mut session = Session::new(width, 40);
        for second in 0..600_u64 {
            let mut processes = vec![process(900, 1, "/usr/bin/rests")];
            if second >= start {
                let mut grows = process(700, 1, "/usr/bin/python3 grows.py");
                grows.id.starttime = (1001 + start) * 100;
                grows.walk = Ok(walk(100 * MIB + (second - start) * MIB / 2, 0));
                processes.push(grows);
            }
            session.tick_with(1, processes, |snap| snap.system.uptime = Ok((1001 + second) as f64));
        }
        // A mark at the right edge moves no other sign into the time at the left one.
        session.keys("b");
        let axis = session.line("program starts");
        assert!(axis.contains(" ago "), "{width}, {start}: {axis}");
        let at = |sign: &str| axis.find(sign).unwrap_or_else(|| panic!("{sign} in {axis}"));
        assert!(at("*") < at("△"), "{width}, {start}: {axis}");
        let name = axis.find(" grows ");
        assert!(name.is_none_or(|name| at("*") < name), "{width}, {start}: {axis}");
    }
}
