//! Pictures of whole sessions, at the sizes people have, and the colours of single cells.

mod characters;
mod first_look;
mod graph;
mod held;
mod kernel;
mod kills;
mod leaks;
mod pages;
mod pictures;
mod sizes;
mod without_root;

use std::sync::Arc;

use ratatui::style::{Color, Modifier};
use zmtop::config::Env;
use zmtop::model::mapping::{Mapping, MappingName};
use zmtop::tui::Event;

use crate::support::rows::{MIB, process, walk};
use crate::support::session::{Session, assert_tame, busy, cgroups, env, grouped};

/// The picture of a session's screen.
macro_rules! photograph {
    ($name:literal, $session:expr) => {
        insta::with_settings!(
            { snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_snapshot!($name, $session.picture()); }
        )
    };
}

#[test]
fn the_table_at_every_size() {
    photograph!("table-80x24", Session::new(80, 24).minute());
    photograph!("table-120x40", Session::new(120, 40).minute());
    photograph!("table-200x50", Session::new(200, 50).minute());
    photograph!("table-20x5", Session::new(20, 5).minute());
}

#[test]
fn before_the_first_snapshot() {
    photograph!("waiting-80x24", Session::new(80, 24));
}

#[test]
fn the_tree_folded_and_open() {
    photograph!("tree-120x40", Session::new(120, 40).minute().keys("t"));
    photograph!("tree-folded-80x24", Session::new(80, 24).minute().keys("t * "));
    photograph!(
        "tree-filtered-80x24",
        Session::new(80, 24)
            .minute()
            .keys("t /")
            .types("checkpointer")
            .keys("Enter")
    );
}

#[test]
fn two_tables() {
    photograph!("two-tables-200x50", Session::new(200, 50).minute().keys("v"));
    photograph!("two-tables-80x24", Session::new(80, 24).minute().keys("v w j"));
}

#[test]
fn groups_by_everything() {
    for (width, height) in [(80, 24), (120, 30), (200, 50)] {
        let mut session = Session::new(width, height);
        session.grouped_minute();
        for by in ["command", "user", "unit", "container", "pod", "cgroup", "family"] {
            session.keys("Tab");
            let picture = session.picture();
            insta::with_settings!(
                { snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true },
                { insta::assert_snapshot!(format!("by-{by}-{width}x{height}"), picture); }
            );
        }
    }
}

#[test]
fn members_and_two_tables_of_groups() {
    let mut session = Session::new(80, 24);
    photograph!("members-80x24", session.grouped_minute().keys("Tab Down Enter"));
    photograph!(
        "two-tables-by-command-120x30",
        Session::new(120, 30).grouped_minute().keys("Tab v Space")
    );
}

#[test]
fn a_filter_while_it_is_typed() {
    photograph!(
        "filter-good-80x24",
        Session::new(80, 24).minute().keys("/").types("user:postgres pss>100M")
    );
    photograph!(
        "filter-bad-80x24",
        Session::new(80, 24).minute().keys("/").types("postgres pss>lots")
    );
    photograph!("filter-bad-20x5", Session::new(20, 5).minute().keys("/").types("pss>"));
    photograph!(
        "filter-none-80x24",
        Session::new(80, 24)
            .minute()
            .keys("/")
            .types("nobody-has-this")
            .keys("Enter")
    );
}

#[test]
fn popups() {
    photograph!("help-80x24", Session::new(80, 24).minute().keys("?"));
    photograph!("help-end-120x40", Session::new(120, 40).minute().keys("? End"));
    photograph!("sort-80x24", Session::new(80, 24).minute().keys("s Down Down"));
    photograph!("users-80x24", Session::new(80, 24).minute().keys("u"));
    photograph!(
        "columns-120x40",
        Session::new(120, 40).minute().keys("C Down Down Space ]")
    );
    photograph!("columns-20x5", Session::new(20, 5).minute().keys("C"));
}

#[test]
fn tags_pause_and_messages() {
    photograph!("tags-80x24", Session::new(80, 24).minute().keys("Space Space j z Z"));
    photograph!(
        "message-80x24",
        Session::new(80, 24)
            .minute()
            .feed(Event::Failed("not saved: no space left on device".into()))
    );
}

#[test]
fn units_and_scrolled_columns() {
    photograph!("units-k-120x40", Session::new(120, 40).minute().keys("E"));
    photograph!(
        "scrolled-80x24",
        Session::new(80, 24).minute().keys("Right Right Right")
    );
}

#[test]
fn nothing_of_the_system_known() {
    let mut session = Session::new(80, 24);
    session.tick(1, busy(0));
    let mut bare = (**session.app.engine.snapshot.as_ref().unwrap()).clone();
    bare.system = zmtop::model::SystemSample::missing(zmtop::model::Missing::Denied);
    session.push(bare);
    photograph!("system-unknown-80x24", session);
}

/// A minute of the made machine with the panel open on what grows; its mappings were read twice.
fn with_panel(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    session.tick_with(5, grouped(0), |s| s.cgroups = Arc::new(cgroups()));
    session.keys("Enter");
    for step in 1..=12 {
        session.tick_with(5, grouped(step), |s| s.cgroups = Arc::new(cgroups()));
        let id = session.app.requests.inspected.expect("the panel asks").id;
        session.feed(Event::Inspected(id, Arc::new(Ok(maps(step)))));
    }
    session
}

/// Returns the mappings of a process after so many steps: two grow, one shrinks, one comes and one goes.
fn maps(step: u64) -> Vec<Mapping> {
    let made = |name: &[u8], areas: u64, mib: u64| Mapping {
        areas,
        memory: Ok(walk(mib * MIB, 0).memory),
        ..Mapping::new(MappingName::parse(name, false))
    };
    let mut all = vec![
        made(b"", 40 + step, 800 + 25 * step),
        made(b"[heap]", 1, 90 + 5 * step),
        made(b"/usr/lib/x86_64-linux-gnu/libpython3.13.so.1.0", 5, 4),
        made(
            b"/var/lib/a/long/way/down/to/the/data/of/this/program/cache-0001.dat",
            1,
            70 - step,
        ),
        made("/tmp/\u{202e}txt.exe\x1b[31m".as_bytes(), 1, 1),
    ];
    all.push(if step < 6 {
        made(b"/memfd:early (deleted)", 1, 30)
    } else {
        made(b"/memfd:late (deleted)", 1, 12)
    });
    all
}

#[test]
fn the_panel_of_a_process() {
    photograph!("panel-80x24", with_panel(80, 24));
    photograph!("panel-120x30", with_panel(120, 30));
    photograph!("panel-200x50", with_panel(200, 50));
    let mut session = with_panel(120, 40);
    let id = session.app.requests.inspected.unwrap().id;
    session.keys("b").tick(5, busy(13));
    session.feed(Event::Inspected(id, Arc::new(Ok(maps(20)))));
    photograph!("panel-marked-120x40", session);
}

/// A dialog that was opened by these keys, its processes pinned.
fn with_dialog(width: u16, height: u16, keys: &str) -> Session {
    use zmtop::act::{ActError, Command, Reply, Tunable, TunableValues};
    let mut session = Session::new(width, height);
    session.grouped_minute().keys(keys);
    let pinned = session.effects.iter().rev().find_map(|effect| match effect {
        zmtop::tui::Effect::Act(Command::Pin(request, ids)) => Some((*request, ids.len())),
        _ => None,
    });
    let (request, count) = pinned.expect("it pins");
    let values = TunableValues::new(|tunable| {
        Ok(match tunable {
            Tunable::OomScoreAdj => -250,
            Tunable::Nice => 5,
        })
    });
    let mut pins = vec![Ok(values); count];
    if count > 1 {
        pins[0] = Err(ActError::Init);
    }
    session.feed(Event::Act(Reply::Pinned(request, pins)));
    session
}

#[test]
fn dialogs_that_ask_before_processes_are_acted_on() {
    photograph!("signal-80x24", with_dialog(80, 24, "F9"));
    photograph!("signal-asks-80x24", with_dialog(80, 24, "F9 Down Enter"));
    photograph!("signal-many-120x30", with_dialog(120, 30, "Tab Tab Tab Space F9 Enter"));
    photograph!(
        "signal-tagged-80x24",
        with_dialog(80, 24, "Space Space Space Space Space Space F9 k")
    );
    photograph!("signal-20x5", with_dialog(20, 5, "F9 Enter"));
    photograph!("oom-adjust-80x24", with_dialog(80, 24, "o"));
    photograph!("nice-bad-120x30", {
        let mut session = with_dialog(120, 30, "i");
        session.keys("C-u 9 9 Enter");
        session
    });
}

#[test]
fn a_mark_and_its_column() {
    let mut session = Session::new(120, 30);
    session.minute().keys("b");
    let mut later = busy(20);
    later.push(process(950, 900, "/usr/bin/python3 newcomer.py"));
    session.tick(200, later);
    photograph!("mark-120x30", session);
}

/// The style of the first cell of `text` in the frame.
fn style_of(session: &mut Session, text: &str) -> ratatui::style::Style {
    let frame = session.frame();
    for y in 0..frame.area.height {
        let line: Vec<&str> = (0..frame.area.width).map(|x| frame[(x, y)].symbol()).collect();
        let at = line.concat().find(text).map(|byte| {
            let mut sum = 0;
            line.iter().position(|s| {
                sum += s.len();
                sum > byte
            })
        });
        if let Some(Some(x)) = at {
            return frame[(u16::try_from(x).unwrap(), y)].style();
        }
    }
    panic!("no cell shows {text:?}");
}

#[test]
fn colours_say_what_figures_mean() {
    let mut session = Session::new(120, 40);
    session.minute().keys("G");
    let theme = session.app.config.theme.clone();
    assert_eq!(style_of(&mut session, "+60").fg, theme.up.fg, "growth");
    assert_eq!(style_of(&mut session, "-40").fg, theme.down.fg, "shrinking");
    assert_eq!(
        style_of(&mut session, "needs root or").fg,
        theme.dim.fg,
        "what nobody can mend is no warning"
    );
    assert_eq!(style_of(&mut session, "zmtop on db1").fg, theme.title.fg, "title");
    assert_ne!(theme.up.fg, theme.down.fg);
    assert_ne!(theme.up.fg, None);
}

#[test]
fn no_color_leaves_modifiers_only() {
    let env = Env {
        no_color: Some("1".into()),
        ..env()
    };
    let mut session = Session::with_env(120, 40, &env);
    let frame = session.minute().keys("Space").frame();
    for cell in &frame.content {
        assert!(
            matches!(cell.fg, Color::Reset) && matches!(cell.bg, Color::Reset),
            "a cell has a colour: {cell:?}"
        );
    }
    assert!(
        frame.content.iter().any(|c| c.modifier.contains(Modifier::REVERSED)),
        "the selection is still seen"
    );
}

#[test]
fn hostile_names_reach_no_cell_raw_and_keep_the_columns() {
    let hostile: &[&[u8]] = &[
        b"\x1b[31mred\x1b]52;c;Zm9v\x07",
        b"tab\there\nand\rthere",
        b"\xff\xfe\x80bad utf-8",
        "\u{202e}txt.exe\u{200b}\u{2066}".as_bytes(),
        "日本語のプロセス名がとても長い".as_bytes(),
        "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}".as_bytes(),
        &"x\u{300}".repeat(1000).into_bytes(),
        b"\xc2\x9b31m c1",
    ];
    let mut session = Session::new(120, 40);
    let processes = busy(0)
        .into_iter()
        .zip(hostile.iter().cycle())
        .map(|(p, name)| {
            crate::support::rows::with_facts(p, |f| {
                f.comm = (*name).into();
                f.cmdline = Ok([name, b"\0--arg".as_slice()].concat().into());
                f.user = Ok(Arc::from(*name));
                f.unit = Some(Arc::from(*name));
            })
        })
        .collect();
    session.tick(1, processes);
    for keys in ["", "t", "Down Down", "u", "Esc"] {
        let frame = session.keys(keys).frame();
        assert_tame(&frame);
        for cell in &frame.content {
            assert!(cell.symbol().chars().count() <= 6, "{:?} piles up", cell.symbol());
        }
    }
    // COMMAND begins in the same column in every row, whatever USER holds.
    let picture = session.keys("t").picture();
    let heading = picture.lines().find(|l| l.contains("COMMAND")).unwrap();
    assert!(heading.contains("USER"), "{picture}");
}
