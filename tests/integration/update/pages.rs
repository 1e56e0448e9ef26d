//! Pages: going from one to another, and what is theirs while they are open.

use std::sync::Arc;

use ratatui::crossterm::event::MouseEventKind;
use zmtop::alert::AlertEvent;
use zmtop::columns::Needs;
use zmtop::config::Action;
use zmtop::model::system::{AccountingInputs, MemoryMount, Pressure};
use zmtop::model::{Missing, Snapshot};
use zmtop::tui::popup::cache::CacheList;
use zmtop::tui::{CacheScope, Effect};

use crate::support::rows::MIB;
use crate::support::session::{Session, busy};

/// The id of the selected part, by its line, which is reversed in no picture: the detail names it.
fn selected(session: &mut Session) -> String {
    let picture = session.picture();
    let line = picture.lines().find(|line| line.contains("Enter closes")).unwrap();
    line.trim().split("  ").next().unwrap().to_owned()
}

#[test]
fn keys_go_from_page_to_page_and_each_stays_as_it_was() {
    let mut session = Session::new(120, 40);
    session.minute().keys("j j");
    let pid = session.selected();
    assert!(session.picture().contains("COMMAND"));
    session.keys("2");
    assert!(session.picture().contains("anonymous memory of processes"));
    assert!(
        !session.picture().contains("train.py --epochs"),
        "{}",
        session.picture()
    );
    session.keys("j j Enter");
    let part = selected(&mut session);
    session.keys("1");
    assert!(session.picture().contains("COMMAND"));
    assert_eq!(session.selected(), pid);
    session.keys("2");
    assert_eq!(selected(&mut session), part);
    // Esc closes the detail, and then the page.
    session.keys("Esc");
    assert!(session.picture().contains("MemTotal") && !session.picture().contains("Enter closes"));
    session.keys("Esc");
    assert!(session.picture().contains("COMMAND"));
}

#[test]
fn the_table_is_where_it_was_scrolled_to() {
    let mut session = Session::new(120, 12);
    session.minute().keys("j j j");
    let list = session.app.tables.single.list;
    assert!(list.offset < list.cursor, "{list:?}");
    session.keys("2").tick(5, busy(13)).keys("j 1");
    assert_eq!(session.app.tables.single.list, list);
}

#[test]
fn a_scan_is_stopped_before_the_page_is_left() {
    let mut session = Session::new(120, 40);
    session.minute().keys("m 2");
    assert!(session.app.requests.scan.is_some());
    session.keys("Esc");
    assert!(session.app.requests.scan.is_none());
    assert_eq!(session.app.pages.open(), Some(Action::MemoryPage));
}

#[test]
fn nothing_of_processes_is_asked_for_but_the_history_goes_on() {
    let mut session = Session::new(120, 40);
    session.minute();
    assert!(!session.focused().is_empty());
    session.keys("Enter 2");
    assert!(session.focused().is_empty(), "{:?}", session.focused());
    assert!(session.needs().last().unwrap().contains(Needs::ACCOUNT));
    let id = session.app.engine.snapshot.as_ref().unwrap().rows()[6].id;
    let before = session.app.engine.history.get(id).unwrap().footprint().last().unwrap();
    session.tick(5, busy(30));
    let after = session.app.engine.history.get(id).unwrap().footprint().last().unwrap();
    assert!(after > before + 400 * MIB, "{before} {after}");
    session.keys("1");
    assert!(!session.focused().is_empty());
    assert!(!session.needs().last().unwrap().contains(Needs::ACCOUNT));
}

#[test]
fn keys_of_processes_say_that_they_are() {
    let mut session = Session::new(120, 40);
    session.minute().keys("2");
    for key in ["F9", "Tab", "t", "u", "m", "Space", "o", "c", "K"] {
        session.keys(key);
        assert!(session.app.modal.is_none(), "{key}");
        let last = session.picture().lines().last().unwrap().to_owned();
        assert!(last.contains("1 goes back to the processes"), "{key}: {last}");
    }
    assert!(session.effects.is_empty(), "{:?}", session.effects);
    session.keys("E x L");
    assert!(session.app.modal.is_some());
}

#[test]
fn the_help_is_about_the_page() {
    let mut session = Session::new(120, 200);
    session.minute().keys("?");
    let of_processes = session.picture();
    assert!(of_processes.contains("Send a signal") && of_processes.contains("FILTER"));
    session.keys("Esc 2 ?");
    let of_memory = session.picture();
    assert!(
        !of_memory.contains("Send a signal") && !of_memory.contains("FILTER"),
        "{of_memory}"
    );
    assert!(of_memory.contains("WHERE THE RAM IS") && of_memory.contains("BYTES (bytes)"));
    assert!(of_memory.contains("Page 1: the processes") && of_memory.contains("Next unit"));
}

#[test]
fn the_footer_goes_to_a_page_by_the_mouse() {
    let mut session = Session::new(120, 40);
    session.minute();
    let column = |session: &mut Session, text: &str| {
        let last = session.picture().lines().last().unwrap().to_owned();
        let at = last.find(text).unwrap_or_else(|| panic!("{text} in {last}"));
        last[..at].chars().count() as u16 + 1
    };
    let at = column(&mut session, "2 memory");
    session.click(at, 39);
    assert_eq!(session.app.pages.open(), Some(Action::MemoryPage));
    // A row by a click and by the wheel.
    let row = session
        .picture()
        .lines()
        .position(|line| line.contains("buffers of block devices"))
        .unwrap() as u16;
    session.click(5, row);
    session.click(5, row);
    assert_eq!(selected(&mut session), "buffers of block devices");
    session.mouse(MouseEventKind::ScrollDown, 5, row);
    assert_ne!(selected(&mut session), "buffers of block devices");
    let at = column(&mut session, "1 processes");
    session.click(at, 39);
    assert_eq!(session.app.pages.open(), None);
}

#[test]
fn a_part_that_leaks_is_gone_to_from_the_list() {
    let mut session = Session::new(120, 40);
    for second in 0..1700_u64 {
        session.tick_with(1, busy(0), |snap| {
            let grown = second.saturating_sub(300) * 100 * 1024;
            snap.system.sunreclaim = Ok(200 * MIB + grown);
            snap.system.slab = Ok(500 * MIB + grown);
            snap.system.mem_free = snap.system.mem_free.map(|free| free - grown);
            snap.system.uptime = Ok(100_000.0 + second as f64);
        });
    }
    let line = session.line("▲ leak");
    assert!(
        line.contains("kernel: unreclaimable slab") && line.contains("/min"),
        "{line}"
    );
    session.keys("L");
    assert!(session.picture().contains("kernel: unreclaimable slab"));
    session.keys("Enter");
    assert_eq!(session.app.pages.open(), Some(Action::MemoryPage));
    assert_eq!(selected(&mut session), "slab, unreclaimable");
    assert!(
        session.picture().contains("Growth may be a leak"),
        "{}",
        session.picture()
    );
    assert!(session.picture().contains("▲ leaking"), "{}", session.picture());
    // The shipped alert reported it.
    let fired: Vec<_> = session.alerts.iter().map(AlertEvent::summary).collect();
    assert_eq!(fired, ["kernel: unreclaimable slab: verdict leaking"]);
}

#[test]
fn the_files_of_a_file_system_that_grows_are_listed_from_the_list() {
    let mut session = Session::new(120, 40);
    for second in 0..300_u64 {
        session.tick_with(1, busy(0), |snap| {
            let grown = second * MIB;
            snap.system.shmem = Ok(300 * MIB + grown);
            snap.system.cached = snap.system.cached.map(|cached| cached + grown);
            snap.system.mem_free = snap.system.mem_free.map(|free| free - grown);
            let mount = MemoryMount {
                device: 1,
                path: b"/dev/shm"[..].into(),
                kind: "tmpfs".into(),
                used: Ok(grown),
                size: Ok(8000 * MIB),
            };
            snap.accounting = Arc::new(AccountingInputs {
                mounts: Ok(vec![mount]),
                ..AccountingInputs::missing(Missing::Unsupported)
            });
        });
    }
    session.keys("L");
    session.line("tmpfs /dev/shm");
    session.keys("Enter");
    assert!(session.app.popup::<CacheList>().is_some(), "{}", session.picture());
    let asked = |effect: &Effect| matches!(effect, Effect::ReadCache(_, CacheScope::Mount(_)));
    assert!(session.effects.iter().any(asked));
}

#[test]
fn the_parts_are_ordered_filtered_and_searched_and_their_own_order_comes_back() {
    let mut session = Session::new(120, 50);
    session.minute().tick_with(5, busy(13), |snapshot| {
        snapshot.system.anon_huge = Ok(300 * MIB);
        snapshot.system.sreclaimable = Ok(200 * MIB);
        snapshot.system.sunreclaim = Ok(100 * MIB);
    });
    session.keys("2 g");
    // The names at the beginning of the lines between the heading and the total.
    let names = |session: &mut Session| -> Vec<String> {
        let picture = session.picture();
        let lines = picture.lines().skip_while(|line| !line.contains("PART"));
        let lines = lines.skip(1).take_while(|line| !line.contains("MemTotal"));
        lines
            .map(|line| line.get(..32).unwrap_or(line).trim_end().to_owned())
            .collect()
    };
    let own = names(&mut session);
    let whole = |name: &&String| !name.starts_with("  ");
    assert!(own.len() > 6 && !own.iter().all(|name| whole(&name)), "{own:?}");
    // The first order is the account's own: no order comes before it.
    session.keys("<");
    assert_eq!(names(&mut session), own);
    session.keys(">");
    let by_size = names(&mut session);
    assert!(session.line("PART").contains("▼BYTES"), "{}", session.picture());
    assert_ne!(by_size, own);
    // The parts of a part stay below it.
    for (at, name) in own.iter().enumerate().filter(|(_, name)| !whole(name)) {
        let above = own[..at].iter().rfind(whole).unwrap();
        let place = by_size.iter().position(|other| other == name).unwrap();
        assert_eq!(by_size[..place].iter().rfind(whole).unwrap(), above);
    }
    session.keys("I");
    let reversed = names(&mut session);
    let wholes = |names: &[String]| -> Vec<String> { names.iter().filter(whole).cloned().collect() };
    assert_eq!(wholes(&reversed).last(), wholes(&by_size).first());
    // What is drawn of a share is passed over.
    session.keys("> >");
    assert!(
        session.line("PART").contains('Δ') && session.line("PART").contains("▼Δ"),
        "{}",
        session.picture()
    );
    session.keys("< < <");
    assert_eq!(names(&mut session), own);
    // By the menu.
    session.keys("s Down Enter");
    assert_eq!(names(&mut session), by_size);
    session.keys("s Home Enter");
    assert_eq!(names(&mut session), own);
    session.keys("/").types("slab").keys("Enter");
    let slab = names(&mut session);
    assert!(
        !slab.is_empty() && slab.iter().all(|name| name.contains("slab")),
        "{slab:?}"
    );
    session.keys("\\");
    assert_eq!(names(&mut session), own);
    session.keys("/").types("bytes>1G").keys("Enter");
    assert!(names(&mut session).len() < own.len());
    session.keys("\\ Home F3").types("not acc").keys("Enter Enter");
    assert_eq!(selected(&mut session), "not accounted for");
}

/// Every line of the open page that the keys lead to, each once, in the order of their appearance.
fn reached(session: &mut Session, key: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for _ in 0..120 {
        let picture = session.picture();
        for line in picture.lines() {
            if !lines.iter().any(|known| known == line) {
                lines.push(line.to_owned());
            }
        }
        session.keys(key);
    }
    lines
}

#[test]
fn a_page_of_the_memory_page_is_a_page_less_a_line_and_the_rest_has_a_line_of_its_own() {
    for (width, height) in [(80, 24), (80, 18), (80, 15), (120, 18)] {
        let mut session = Session::new(width, height);
        session.minute().keys("2").tick(5, busy(13));
        let rest = |session: &mut Session| {
            let picture = session.picture();
            let line = picture
                .lines()
                .find(|line| line.contains(" more line"))
                .map(str::trim)?;
            assert!(line.starts_with(['↑', '↓']), "the line has nothing else: {line}");
            let (_, below) = line.split_once("↓ ")?;
            below.split(' ').next()?.parse::<usize>().ok()
        };
        let all = rest(&mut session).unwrap();
        let every_line = reached(&mut session, "j");
        session.keys("g");
        let mut lines = Vec::new();
        let mut left = vec![all];
        for _ in 0..10 {
            lines.extend(session.picture().lines().map(str::to_owned));
            session.keys("PageDown");
            left.push(rest(&mut session).unwrap_or(0));
        }
        let moves = left.windows(2).map(|pair| pair[0] - pair[1]);
        let moves: Vec<_> = moves.filter(|by| *by > 0).collect();
        // Those of the rows leave the heading and the total in sight. The last is what is left of the page.
        let mut full = moves[..moves.len() - 1].to_vec();
        full.dedup();
        assert!(full.len() <= 2 && full.is_sorted(), "{left:?}");
        assert!(moves[0] > 1, "{left:?}");
        assert_eq!(left.last(), Some(&0), "{left:?}");
        // A page skips no line: those of the status, which count, aside.
        let missed = every_line
            .iter()
            .filter(|line| !lines.contains(line) && !line.contains("more line"));
        let missed: Vec<_> = missed
            .filter(|line| ![" of ", "q quit"].iter().any(|part| line.contains(part)))
            .collect();
        assert!(missed.is_empty(), "{width}×{height}: {missed:#?}\n{left:?}");
        session.keys("PageUp PageUp PageUp PageUp PageUp PageUp PageUp PageUp PageUp PageUp");
        assert_eq!(rest(&mut session), Some(all), "{}", session.picture());
    }
}

#[test]
fn every_line_of_the_memory_page_is_reached_at_any_size_and_it_says_that_there_is_more() {
    let waits = |snapshot: &mut Snapshot| {
        let (some, full) = ([1.0; 3], [0.5; 3]);
        Arc::make_mut(&mut snapshot.accounting).pressure = Ok(Pressure { some, full });
    };
    for (width, height) in [(80, 24), (80, 10), (120, 18), (200, 14)] {
        let mut session = Session::new(width, height);
        session.minute().keys("2").tick_with(5, busy(13), waits);
        assert!(session.picture().contains("more lines"), "{}", session.picture());
        let all = reached(&mut session, "j").join("\n");
        for wanted in [
            "PART",
            "MemTotal",
            "SWAP",
            "WAITING FOR MEMORY",
            "every task",
            "RECLAIM",
            "major faults",
        ] {
            assert!(all.contains(wanted), "{wanted} at {width}×{height}:\n{all}");
        }
        let end = session.picture();
        assert!(end.contains("↑ ") && !end.contains("↓ "), "{end}");
        session.keys("g");
        let top = session.picture();
        assert!(top.contains("anonymous memory of processes"), "{top}");
        assert!(!top.contains("↑ ") && top.contains("↓ "), "{top}");
        // The end stays in sight when figures arrive, and the wheel goes back.
        session.keys("G").tick_with(5, busy(13), waits);
        assert!(!session.picture().contains("↓ "), "{}", session.picture());
        session.mouse(MouseEventKind::ScrollUp, 3, 10);
        assert!(session.picture().contains("↓ "), "{}", session.picture());
    }
}

#[test]
fn the_heading_and_the_last_line_of_the_memory_page_count_the_same_hidden_rows() {
    for (width, height) in [(80, 24), (80, 18), (80, 12)] {
        let mut session = Session::new(width, height);
        session.minute().keys("2").tick(5, busy(13));
        for key in ["j", "PageDown"] {
            session.keys("g");
            for _ in 0..40 {
                let picture = session.picture();
                let number = |sign: &str| {
                    let line = picture.lines().find(|line| line.contains(" more line"));
                    let (_, after) = line?.split_once(sign)?;
                    after.split_whitespace().next()?.parse::<usize>().ok()
                };
                let heading = picture.lines().find_map(|line| {
                    let (before, after) = line.split_once('–')?;
                    let (last, all) = after.split_once(" of ")?;
                    let first = before.split_whitespace().last()?.parse::<usize>().ok()?;
                    let all = all.split_whitespace().next()?.parse::<usize>().ok()?;
                    Some((first, last.parse::<usize>().ok()?, all))
                });
                if let Some((first, last, all)) = heading {
                    assert_eq!(number("↑ ").unwrap_or(0), first - 1, "{picture}");
                    assert!(number("↓ ").unwrap_or(0) >= all - last, "{picture}");
                }
                session.keys(key);
            }
        }
    }
}
