//! The panel of the selected process: what it asks for, and what it makes of the answers.

use std::sync::Arc;

use crossterm::event::MouseEventKind;
use zmtop::columns::Needs;
use zmtop::model::mapping::{MappedObject, Mapping, MappingName};
use zmtop::model::{Identity, Missing};
use zmtop::tui::{Effect, Event};

use crate::support::rows::{MIB, walk};
use crate::support::session::{Session, busy};

/// Returns the pids of the inspections that were asked for, in order; `None` for an end.
fn asked(session: &Session) -> Vec<Option<u32>> {
    let pids = session.effects.iter().filter_map(|e| match e {
        Effect::Inspect(inspect) => Some(inspect.map(|inspect| inspect.id.pid)),
        _ => None,
    });
    pids.collect()
}

fn heap(mib: u64) -> Vec<Mapping> {
    vec![Mapping {
        areas: 1,
        memory: Ok(walk(mib * MIB, 0).memory),
        ..Mapping::new(MappingName::parse(b"[heap]", false))
    }]
}

fn read(session: &mut Session, pid: u32, mib: u64) {
    let id = id(session, pid);
    session.feed(Event::Inspected(id, Arc::new(Ok(heap(mib)))));
}

fn id(session: &Session, pid: u32) -> Identity {
    let snapshot = session.app.engine.snapshot.as_ref().unwrap();
    snapshot.rows().iter().find(|s| s.id.pid == pid).unwrap().id
}

fn session() -> Session {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0));
    session
}

#[test]
fn enter_opens_it_and_it_follows_the_selection() {
    let mut session = session();
    session.keys("Enter");
    assert_eq!(asked(&session), [Some(900)]);
    assert!(session.needs().last().unwrap().contains(Needs::CGROUP_FIGURES));
    assert!(session.picture().contains("reading its mappings"));
    session.keys("j");
    assert_eq!(asked(&session), [Some(900), Some(901)]);
    session.tick(1, busy(1));
    assert_eq!(asked(&session).len(), 2, "asked once");
    session.keys("Esc");
    assert_eq!(asked(&session).last(), Some(&None));
    assert!(!session.app.shows_panel());
    assert!(!session.needs().last().unwrap().contains(Needs::CGROUP_FIGURES));
    session.keys("Enter Enter");
    assert_eq!(asked(&session).len(), 5, "Enter closes it as well");
    assert_eq!(session.selected(), Some(901));
}

#[test]
fn what_grew_is_shown_since_the_first_reading() {
    let mut session = session();
    session.keys("Enter");
    read(&mut session, 900, 100);
    assert!(session.picture().contains("its mappings  ·"));
    session.tick(30, busy(1));
    read(&mut session, 900, 140);
    assert!(session.picture().contains("growth in 30s"));
    assert!(session.line("[heap]").contains("+40.0M"));
    // It is kept while another is looked at, and while the panel is closed.
    session.keys("j").tick(10, busy(1));
    assert!(session.picture().contains("reading its mappings"));
    session.keys("Esc k Enter");
    assert!(session.line("[heap]").contains("+40.0M"));
    // From a mark on it counts anew.
    session.keys("b").tick(10, busy(1));
    read(&mut session, 900, 145);
    assert!(session.picture().contains("since the mark"));
    assert!(session.line("[heap]").contains("+5.0M"), "{}", session.line("[heap]"));
}

#[test]
fn an_exec_or_another_process_begins_anew() {
    let mut session = session();
    session.keys("Enter");
    read(&mut session, 900, 100);
    let mut processes = busy(1);
    for process in &mut processes {
        process.exec += 1;
    }
    session.tick(5, processes);
    assert!(session.picture().contains("reading its mappings"));
    read(&mut session, 900, 400);
    assert!(
        session.picture().contains("its mappings  ·"),
        "no growth from another program"
    );
    // A late answer about one that is gone changes nothing.
    let gone = Identity { pid: 900, starttime: 1 };
    session.feed(Event::Inspected(gone, Arc::new(Ok(heap(999)))));
    assert!(!session.picture().contains("999M"));
}

#[test]
fn why_it_cannot_be_read_is_said() {
    let mut session = session();
    session.keys("Enter");
    let id = id(&session, 900);
    session.feed(Event::Inspected(id, Arc::new(Err(Missing::Denied))));
    assert!(session.picture().contains("mappings not read: permission denied"));
    // What was read before stays, with the reason of the last failure.
    read(&mut session, 900, 100);
    assert!(!session.picture().contains("mappings not read"));
    session.feed(Event::Inspected(id, Arc::new(Err(Missing::TimedOut))));
    assert!(session.line("mappings not read").contains("its mappings  ·"));
}

#[test]
fn nothing_is_read_while_paused_or_in_groups() {
    let mut session = session();
    session.keys("Enter Z");
    assert_eq!(asked(&session), [Some(900), None]);
    session.keys("Z Tab");
    assert_eq!(asked(&session), [Some(900), None, Some(900), None]);
    assert!(
        session.picture().contains("its processes, by growth"),
        "it is of the group"
    );
    session.keys("BackTab");
    assert_eq!(asked(&session).last(), Some(&Some(900)));
}

#[test]
fn the_selection_stays_in_sight_beside_it() {
    let mut session = session();
    let many: Vec<_> = (1..60)
        .map(|n| crate::support::rows::process(1000 + n, 1, "worker"))
        .collect();
    session.tick(1, many).keys("f End Enter");
    let table = session.app.tables.current();
    let rows = session.app.rows_shown();
    assert!((table.list.offset..table.list.offset + rows).contains(&table.list.cursor));
    let pid = session.selected().unwrap();
    let picture = session.picture();
    assert_eq!(
        picture.matches(&format!(" {pid} ")).count(),
        2,
        "in the table and in the panel:\n{picture}"
    );
    // On a low screen there is only the panel, and it stays with its process.
    session.feed(Event::Resize(80, 24)).keys("k");
    assert_eq!(session.app.rows_shown(), 0);
    assert_eq!(session.selected(), Some(pid));
    assert!(session.picture().contains(&format!(" {pid} worker")));
    session.keys("Esc");
    let table = session.app.tables.current();
    assert!((table.list.offset..table.list.offset + session.app.rows_shown()).contains(&table.list.cursor));
}

/// Has these processes map these objects, by their inodes.
fn maps(snapshot: &mut zmtop::model::Snapshot, all: &[(u32, &[(u64, &str)])]) {
    let mapped = Arc::make_mut(&mut snapshot.mapped);
    for (pid, objects) in all {
        let id = snapshot
            .processes
            .as_ref()
            .unwrap()
            .iter()
            .find(|row| row.id.pid == *pid)
            .unwrap()
            .id;
        let object = |(inode, name): &(u64, &str)| {
            let name = MappingName::parse(name.as_bytes(), false);
            MappedObject {
                device: (8, 1),
                inode: *inode,
                kind: name.kind,
                name: name.bytes,
            }
        };
        mapped.insert(id, Ok(objects.iter().map(object).collect()));
    }
}

const LIBC: (u64, &str) = (7, "/usr/lib/libc.so.6");
const RING: (u64, &str) = (21, "/dev/zero (deleted)");
const OTHER_RING: (u64, &str) = (22, "/dev/zero (deleted)");

/// The panel of a process that maps a library, shared memory without a name, a heap and fifty files.
pub(super) fn with_mappings(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    let shared: &[(u32, &[(u64, &str)])] = &[(900, &[LIBC, RING]), (901, &[LIBC, RING]), (400, &[LIBC, OTHER_RING])];
    session.tick_with(1, busy(0), |snapshot| maps(snapshot, shared));
    session.keys("Enter");
    let mapping = |name: &str, mib: u64| {
        let mut memory = walk(mib * MIB, 0).memory;
        (memory.rss, memory.swap) = (3 * mib * MIB, MIB / 2);
        Mapping {
            areas: 1,
            memory: Ok(memory),
            ..Mapping::new(MappingName::parse(name.as_bytes(), false))
        }
    };
    let mut all = vec![mapping("[heap]", 100), mapping(RING.1, 90), mapping(LIBC.1, 80)];
    all.extend((0..50).map(|at| mapping(&format!("/data/part-{at:02}"), 1)));
    let id = id(&session, 900);
    session.feed(Event::Inspected(id, Arc::new(Ok(all))));
    session.tick_with(1, busy(0), |snapshot| maps(snapshot, shared));
    session
}

#[test]
fn it_says_of_each_mapping_what_it_takes_and_who_shares_it() {
    let mut session = with_mappings(120, 40);
    assert!(session.needs().last().unwrap().contains(Needs::MAPPED));
    let heading = session.line("GROWTH");
    for title in ["PSS", "RSS", "SWAP", "MAPPING"] {
        assert!(heading.contains(title), "{heading}");
    }
    let libc = session.line("libc.so.6");
    for figure in ["80.0M", "240M", "512K", "shared with at least 2 others: "] {
        assert!(libc.contains(figure), "{libc}");
    }
    let ring = session.line("[shared anonymous memory]");
    assert!(ring.contains("shared with at least 1 other: "), "{ring}");
    assert!(!session.picture().contains("/dev/zero"), "{}", session.picture());
    // No row is left empty while there are more mappings.
    let picture = session.picture();
    let lines: Vec<&str> = picture.lines().collect();
    assert!(lines[lines.len() - 2].contains("/data/part-"), "{picture}");
    assert!(picture.contains("of 53, m lists all"), "{picture}");
}

#[test]
fn all_mappings_are_reached_and_enter_lists_who_maps_one() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut session = with_mappings(width, height);
        let mut seen = session.keys("m").picture();
        for _ in 0..60 {
            seen += &session.keys("Down").picture();
        }
        for at in 0..50 {
            assert!(
                seen.contains(&format!("/data/part-{at:02}")),
                "{at} at {width}×{height}"
            );
        }
        session.keys("Home");
        assert!(session.picture().contains("[heap]"));
        session.keys("Enter");
        assert!(session.picture().contains(" Heap "), "{}", session.picture());
        session.keys("Esc m Home Down Enter");
        assert!(session.app.modal.is_none());
        assert_eq!(session.app.query.filter.text, r#"maps:"[shared anonymous memory] 21""#);
        assert_eq!(session.app.rows.matching, 2);
        assert_eq!(session.selected(), Some(900));
        assert!(session.needs().last().unwrap().contains(Needs::MAPPED));
        // What is not known is said, not left out in silence.
        let picture = session.picture();
        assert!(width < 100 || picture.contains("reading the mappings of "), "{picture}");
    }
}

#[test]
fn where_it_covers_the_table_the_keys_scroll_it_and_move_no_selection() {
    let mut session = with_mappings(80, 24);
    let top = session.picture();
    assert!(session.line("q quit").contains(" j scroll "), "{top}");
    assert!(top.contains("[heap]") && top.contains("1–"), "{top}");
    let mut seen = String::new();
    for _ in 0..60 {
        session.keys("Down");
        seen += &session.picture();
    }
    for at in 0..50 {
        assert!(seen.contains(&format!("/data/part-{at:02}")), "{at}");
    }
    let end = session.picture();
    assert!(
        end.contains("–53 of 53, m lists all") && !end.contains("[heap]"),
        "{end}"
    );
    // The end leaves no line empty, and one key leads back from it.
    assert_ne!(session.keys("Up").picture(), end);
    assert_eq!(session.keys("PageDown").picture(), end);
    assert_ne!(session.keys("PageUp").picture(), end);
    assert_eq!(session.keys("G").picture(), end);
    session.mouse(MouseEventKind::ScrollUp, 3, 10);
    assert_ne!(session.picture(), end);
    assert_eq!(session.keys("g").picture(), top);
    // A tag moves no selection either, and the keys still are about the process in sight.
    session.keys("Space");
    assert_eq!(session.selected(), Some(900));
    session.keys("m").line("Mappings of 900 python3");
    // Of another process it begins at the top.
    session.keys("Esc G Esc j Enter");
    assert_eq!(session.selected(), Some(901));
    session.keys("Esc k Enter");
    assert!(session.picture().contains("1–"), "{}", session.picture());
}

#[test]
fn beside_the_table_the_keys_move_the_selection_and_the_last_line_says_so() {
    let mut session = with_mappings(120, 40);
    assert!(session.line("q quit").contains(" j next row "), "{}", session.picture());
    session.keys("Down");
    assert_eq!(session.selected(), Some(901));
    session.keys("Esc");
    assert!(!session.picture().contains(" j next row "), "{}", session.picture());
}

#[test]
fn a_panel_that_shows_all_says_so() {
    let mut session = Session::new(80, 24);
    session.tick(1, busy(0)).keys("Tab p");
    let selected = session.app.tables.current().selected.clone();
    session.keys("Down").line("the panel already shows everything");
    assert_eq!(session.app.tables.current().selected, selected);
}

#[test]
fn it_does_not_pass_to_the_neighbour_of_a_process_that_ended() {
    let mut session = session();
    session.keys("Enter");
    let shown = session.selected().unwrap();
    let mut rows = busy(1);
    rows.retain(|row| row.id.pid != shown);
    session.tick(1, rows);
    assert!(!session.app.shows_panel());
    let picture = session.picture();
    assert!(
        picture.contains(&format!("{shown} has ended: its details are closed")),
        "{picture}"
    );
}
