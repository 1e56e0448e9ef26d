//! Leaks: the line above the table, and the list.

use std::sync::Arc;

use zmtop::group::RowKey;
use zmtop::history::suspects::Suspect;
use zmtop::model::mapping::{Mapping, MappingName};
use zmtop::model::snapshot::MallocHeap;
use zmtop::model::{CgroupFigures, Missing, ProcessSample};
use zmtop::trend::Verdict;
use zmtop::tui::Event;

use crate::support::rows::{MIB, in_cgroup, walk, with_facts, with_pss};
use crate::support::session::{Session, busy, cgroups, grouped};

macro_rules! photograph {
    ($name:literal, $session:expr) => {
        insta::with_settings!(
            { snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_snapshot!($name, $session.picture()); }
        )
    };
}

#[test]
fn the_chart_says_when_the_leak_began() {
    let mut session = session(80, 24, CALLED);
    photograph!("leak-chart-80x24", session.keys("x x x b Enter"));
    photograph!("leak-chart-200x50", session.feed(Event::Resize(200, 50)));
    let axis = session.feed(Event::Resize(120, 40)).line("1 hour ago");
    assert!(axis.contains("▲ leak begins"), "{axis}");
    let at = axis.chars().position(|c| c == '▲').unwrap();
    let share = (at - 8) as f64 / 111.0;
    assert!((share - 2.0 / 3.0).abs() < 0.03, "20 min ago: {share}");
}

/// The alarm line of so many programs that grow. The first one has this command line.
fn alarm(programs: u64, command: &'static [u8]) -> String {
    let mut session = Session::new(120, 40);
    let grows = |nth: u64, second: u64| {
        let name = format!("/opt/service{nth}/bin/service{nth}");
        let sample = with_pss(2000 + nth as u32, &name, (100 + (9 - nth) * second) * MIB);
        with_facts(sample, |facts| {
            if nth == 0 {
                facts.cmdline = Ok(command.into());
            }
        })
    };
    for second in 0..150 {
        session.tick(1, (0..programs).map(|nth| grows(nth, second)).collect());
    }
    session.line("△ growing")
}

#[test]
fn the_alarm_line_says_how_many_more_grow_rather_than_since_when() {
    let line = alarm(5, b"/opt/service0/bin/service0\0--config\0/etc/service0.conf\0");
    assert!(line.contains("4 more growing: press L"), "{line}");
}

#[test]
fn a_name_does_not_imitate_the_figures_of_the_alarm_line() {
    let line = alarm(1, b"x   7 postgres   99G");
    assert!(line.contains("x 7 postgres 99G  540M/min"), "{line}");
}

/// The second by which what leaks from the fifth minute on is called a leak.
const CALLED: u64 = 1500;

/// The made machine after so many seconds: from the fifth minute on 900 leaks half a MiB a second, and so does
/// 901, half as fast, until it ends in second 1640.
fn machine(second: u64, processes: fn(u64) -> Vec<ProcessSample>) -> Vec<ProcessSample> {
    let grown = second.saturating_sub(300);
    let mut all = processes(0);
    all.retain(|p| p.id.pid != 901 || second < 1640);
    for sample in &mut all {
        match sample.id.pid {
            900 => sample.walk = Ok(walk(600 * MIB + grown * MIB / 2, 0)),
            901 => sample.walk = Ok(walk(90 * MIB + grown * MIB / 4, 10 * MIB)),
            _ => {}
        }
    }
    all
}

fn session(width: u16, height: u16, until: u64) -> Session {
    let mut session = Session::new(width, height);
    for second in 0..until {
        session.tick_with(1, machine(second, grouped), |snap| {
            snap.system.uptime = Ok(1_000_000.0 + second as f64);
            snap.cgroups = Arc::new(cgroups());
        });
    }
    let id = session.app.requests.inspected.expect("a suspect is watched").id;
    for mib in [500, 620] {
        let heap = Mapping {
            areas: 1,
            memory: Ok(walk(mib * MIB, 0).memory),
            ..Mapping::new(MappingName::parse(b"[heap]", false))
        };
        session.feed(Event::Inspected(id, Arc::new(Ok(vec![heap]))));
    }
    session
}

#[test]
fn the_line_at_every_size() {
    let mut session = session(80, 24, CALLED);
    photograph!("leak-line-80x24", session);
    photograph!("leak-line-120x30", session.feed(Event::Resize(120, 30)));
    photograph!("leak-line-200x50", session.feed(Event::Resize(200, 50)));
    // It counts as the title does.
    for width in [80, 120, 200] {
        let title = session.feed(Event::Resize(width, 40)).line("zmtop on");
        assert!(title.contains("  2 leaks"), "{title}");
        let line = session.line(" ▲ leak  ");
        assert!(line.contains("   1 more"), "{line}");
    }
}

#[test]
fn a_danger_stands_above_the_leaks() {
    // The same machine while five MiB of its memory go in six seconds.
    let mut session = Session::new(80, 24);
    for second in 0..CALLED {
        session.tick_with(1, machine(second, grouped), |snap| {
            snap.system.mem_available = Ok((5 * (CALLED - second) / 6 + 100) * MIB);
        });
    }
    photograph!("danger-80x24", session);
    photograph!("danger-200x50", session.feed(Event::Resize(200, 50)));
}

#[test]
fn a_danger_of_a_cgroup_names_the_process_on_a_narrow_screen() {
    let mut session = Session::new(80, 24);
    for second in 0..40 {
        let used = (3 * second + 5) * MIB;
        let hog = in_cgroup(
            with_pss(31_415, "python3 -c import-time-and-take-memory", used),
            "/shop/front",
        );
        session.tick_with(1, vec![hog], |snap| {
            let figures = CgroupFigures {
                current: Ok(used),
                reclaimable: Ok(0),
                limit: Ok(Some(200 * MIB)),
                high: Ok(None),
                swap: Ok(0),
                swap_limit: Ok(Some(0)),
                ..CgroupFigures::missing(Missing::Unsupported)
            };
            snap.cgroups = Arc::new([(Arc::from(&b"/shop/front"[..]), figures)].into());
        });
    }
    let line = session.line("DANGER  /");
    assert!(line.contains("/shop/front reaches its limit of 200M in"), "{line}");
    assert!(line.contains("  31415 pytho") && line.contains("M/min"), "{line}");
}

#[test]
fn growth_is_reported_before_it_is_a_leak() {
    let mut session = session(80, 24, 600);
    photograph!("growth-line-80x24", session);
    photograph!("growth-page-80x24", session.keys("L"));
}

#[test]
fn the_page_at_every_size() {
    let mut session = session(40, 16, CALLED + 200);
    photograph!("leak-page-40x16", session.keys("L"));
    photograph!("leak-page-80x24", session.feed(Event::Resize(80, 24)));
    photograph!("leak-page-200x50", session.feed(Event::Resize(200, 50)));
    photograph!("leak-page-none-80x24", Session::new(80, 24).tick(1, busy(0)).keys("L"));
}

#[test]
fn a_group_in_full() {
    let mut session = session(120, 40, CALLED);
    photograph!("group-panel-120x40", session.keys("Tab p"));
    session.keys("p Tab Tab Tab Tab Tab p");
    photograph!("group-panel-80x24", session.feed(Event::Resize(80, 24)));
}

#[test]
fn whom_it_names() {
    photograph!("leak-panel-120x40", session(120, 40, CALLED).keys("L Enter"));
}

#[test]
fn what_grew_for_minutes_leaves_the_list_when_it_ends() {
    // Grows from the fifth minute on, and ends.
    let listed = |ends: u64, until: u64| {
        let mut session = Session::new(120, 30);
        for second in (0..until).step_by(10) {
            let grown = second.saturating_sub(300);
            let mut all = grouped(0);
            all.retain(|p| p.id.pid != 901 || second < ends);
            if let Some(sample) = all.iter_mut().find(|p| p.id.pid == 901) {
                sample.walk = Ok(walk(90 * MIB + grown * MIB / 4, 10 * MIB));
            }
            session.tick(10, all);
        }
        session.keys("L").picture().contains("ended")
    };
    assert!(!listed(500, 560), "it grew for three minutes, as a compiler does");
    assert!(listed(1200, 1260), "it grew for a quarter of an hour");
    assert!(!listed(1200, 1200 + 3700), "an hour ago");
    assert!(listed(1900, 1960), "it was called a leak");
}

#[test]
fn a_hoard_has_room_for_its_pace() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut session = Session::new(width, height);
        for second in (0..45 * 60).step_by(5) {
            let hoarded = second * MIB / 4;
            let mut api = with_pss(7, "/usr/bin/api", 200 * MIB + hoarded);
            api.data = Ok(300 * MIB + hoarded);
            let id = api.id;
            session.tick_with(5, vec![api], |snap| {
                let heap = MallocHeap {
                    at: snap.monotonic,
                    free: 100 * MIB + hoarded,
                    kept: 100 * MIB + hoarded,
                };
                snap.heaps = Arc::new([(id, heap)].into());
            });
        }
        let row = session.line("7 root");
        assert!(
            row.contains("◇ hoard 15.") && row.contains("M/min "),
            "{}",
            session.picture()
        );
    }
}

#[test]
fn the_line_above_the_table_has_what_reaches_a_limit_first() {
    let mut session = session(120, 30, CALLED);
    session.line("▲ leak  900");
    let mut hoard = session.app.engine.suspects[0].clone();
    let sample = session
        .app
        .engine
        .snapshot
        .as_ref()
        .unwrap()
        .rows()
        .iter()
        .find(|p| p.id.pid == 901);
    hoard.key = RowKey::Process(sample.unwrap().id);
    hoard.judgement.verdict = Verdict::Hoarding;
    for (of_leak, of_hoard, first) in [
        (Some(7200.0), Some(3600.0), "◇ hoarding"),
        (Some(3600.0), Some(7200.0), "▲ leak"),
        (None, Some(3600.0), "◇ hoarding"),
        // Nothing is reached within a day.
        (None, Some(200_000.0), "▲ leak"),
        (None, None, "▲ leak"),
    ] {
        let suspects = &mut session.app.engine.suspects;
        suspects.truncate(1);
        suspects[0].eta = of_leak;
        suspects.push(Suspect {
            eta: of_hoard,
            ..hoard.clone()
        });
        assert!(
            session.picture().contains(first),
            "{of_leak:?} {of_hoard:?}: {}",
            session.picture()
        );
    }
}
