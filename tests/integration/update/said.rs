//! Texts on the screen about figures being read, the order, names in narrow columns, and typed input.

use std::sync::Arc;
use std::time::Duration;

use zmtop::columns::{COLUMNS, find, layout};
use zmtop::filter::Schema as _;
use zmtop::model::mapping::{Mapping, MappingName};
use zmtop::model::page_cache::{CacheFigures, CachedFile, FileKind, PageCache};
use zmtop::sampler::inquiry::Inquiry;
use zmtop::sampler::mappings::{Mappings, Shared};
use zmtop::text;
use zmtop::tui::{CacheScope, Effect, Event};
use zmtop::units::{Units, delta};

use super::panel::with_mappings;
use crate::support::rows::{MIB, walk};
use crate::support::session::{Session, busy};

fn message(session: &Session) -> &str {
    session.app.screen.message.as_ref().map_or("", |message| &message.text)
}

/// A session that shows the mappings of all processes.
fn mapped(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    session.minute().keys("m");
    let number = session.effects.iter().rev().find_map(|effect| match effect {
        Effect::ScanMappings(number, _) => Some(*number),
        _ => None,
    });
    let heap = Shared {
        mapping: Mapping {
            memory: Ok(walk(40 * MIB, 0).memory),
            ..Mapping::new(MappingName::parse(b"[heap]", false))
        },
        members: [0].into(),
    };
    let found = Mappings {
        shared: vec![heap],
        read: 1,
        ..Mappings::default()
    };
    session.feed(Event::ScanDone(number.unwrap(), Arc::new(found)));
    session
}

#[test]
fn while_mappings_are_read_no_process_is_said_not_to_match() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut session = Session::new(width, height);
        session.minute().keys("/").types("maps:libc").keys("Enter");
        let picture = session.picture();
        assert!(picture.contains("reading the mappings of "), "{picture}");
        for wrong in ["no process matches", "are not known"] {
            assert!(!picture.contains(wrong), "{wrong}:\n{picture}");
        }
    }
}

#[test]
fn mappings_have_an_order_of_their_own_by_columns_that_they_have() {
    let mut session = mapped(120, 40);
    session.keys("s");
    let menu = session.picture();
    for (id, is_listed) in [
        ("avg_pss", true),
        ("eta", false),
        ("held_change", false),
        ("gpu", false),
        ("pid", false),
    ] {
        let line = menu.lines().any(|line| line.contains(&format!(" {id} ")));
        assert_eq!(line, is_listed, "{id}:\n{menu}");
    }
    session.types("rss").keys("Enter");
    let rss = find("rss").unwrap();
    assert_eq!(session.app.tables.current().sort, rss);
    // A key that sorts by what they do not have says so.
    session.keys("P");
    assert_eq!(session.app.tables.current().sort, rss);
    assert_eq!(message(&session), "these rows have no CPU%; their order is unchanged");
    session.keys("Backspace");
    assert_eq!(session.app.tables.current().sort, layout::PSS, "that of the processes");
}

#[test]
fn mappings_named_alike_stay_distinct_with_who_shares_them() {
    let mut session = with_mappings(80, 24);
    let line = session.line("libc.so.6");
    assert!(line.contains("+≥2: "), "{line}");
    assert!(!line.contains("shared with at"), "{line}");
    // A name that does not fit loses its directories, then its middle.
    let name = |module: &str| format!("/usr/lib/python3.11/lib-dynload/{module}.cpython-311-x86_64-linux-gnu.so");
    for (width, shown) in [
        (90, name("_ssl")),
        (45, "…ad/_ssl.cpython-311-x86_64-linux-gnu.so".into()),
        (24, "…/_ssl.cpython-…-gnu.so".into()),
    ] {
        let cut = text::truncate_path(&name("_ssl"), width);
        assert!(text::width(&cut) <= width, "{cut}");
        if width != 45 {
            assert!(cut.starts_with(shown.split("cpython").next().unwrap()), "{cut}");
        }
        assert_ne!(cut, text::truncate_path(&name("_bz2"), width));
    }
}

#[test]
fn a_hidden_column_that_orders_is_named() {
    let mut session = Session::new(80, 24);
    session.minute().keys("C Space Enter");
    let heading = session.line("COMMAND");
    assert!(heading.contains("by PSS▼"), "{heading}");
    session.keys("I");
    let heading = session.line("COMMAND");
    assert!(heading.contains("by PSS▲") || heading.contains("▲PSS"), "{heading}");
}

#[test]
fn scrolled_commands_are_marked() {
    let mut session = Session::new(200, 40);
    session.minute();
    assert!(!session.line("COMMAND").contains('←'));
    session.keys("Right");
    let heading = session.line("COMMAND");
    assert!(
        heading.contains(" ← ") || heading.trim_end().ends_with('←'),
        "{heading}"
    );
}

#[test]
fn in_a_tree_the_arrow_is_over_the_sums_that_order_it() {
    let mut session = Session::new(120, 40);
    session.minute().keys("t");
    let heading = session.line("ΣPSS");
    assert!(heading.contains("▼ΣPSS"), "{heading}");
    assert_eq!(heading.matches('▼').count(), 1, "{heading}");
    // Where they are scrolled away, the order is named by them, too.
    let mut session = Session::new(80, 24);
    session.minute().keys("t Right");
    let heading = session.line("COMMAND");
    assert!(heading.contains("by ΣPSS▼"), "{heading}");
}

#[test]
fn what_was_typed_is_answered() {
    let mut session = Session::new(120, 40);
    session.minute().keys("d").types("250ms").keys("Enter");
    assert_eq!(message(&session), "interval 250ms");
    session.types("401");
    assert!(session.picture().contains("Enter opens it, Esc stays on it"));
    session.keys("Enter");
    assert_eq!(session.selected(), Some(401));
    assert!(session.app.screen.panel_open, "Enter opened it");
    session.keys("Esc /").types("user:rot");
    let picture = session.picture();
    assert!(
        picture.contains("no process of user rot: did you mean root?"),
        "{picture}"
    );
}

#[test]
fn every_heading_of_the_screen_is_a_name_of_its_column() {
    for column in COLUMNS {
        let found = find(column.title).map(|id| id.get().id);
        // `CGROUP` and the like are ids of their own.
        assert_eq!(found, find(&column.title.to_lowercase()).map(|id| id.get().id));
        assert!(found.is_some(), "{}", column.title);
    }
    for (heading, id) in [
        ("ΔPSS", "dpss"),
        ("Δpss", "dpss"),
        ("ΔPSS/10s", "dpss"),
        ("Δ10s", "dpss"),
        ("ΔSWAP/1m", "dswap"),
        ("CPU%", "cpu"),
        ("MAJ/s", "majflt"),
        ("≤ANON", "pss_anon"),
        ("±PSS", "pss_error"),
        ("FULL IN", "eta"),
        ("full_in", "eta"),
        ("pss", "pss"),
    ] {
        assert_eq!(find(heading).map(|id| id.get().id), Some(id), "{heading}");
        assert_eq!((&COLUMNS).id(&heading.to_lowercase()), Some(id), "{heading}");
    }
}

#[test]
fn a_change_that_rounds_to_nothing_has_no_sign() {
    for (bytes, shown) in [(30 << 10, "0"), (-(30 << 10), "0"), (60 << 10, "+0.1M"), (0, "0")] {
        assert_eq!(delta(bytes, Units::M), shown);
    }
}

#[test]
fn the_file_that_grows_in_a_tmpfs_is_named_with_who_has_it_open() {
    let file = |path: &str, mib: u64| CachedFile {
        path: path.as_bytes().into(),
        is_deleted: false,
        kind: FileKind::Shmem,
        size: Ok(mib * MIB),
        figures: Ok(CacheFigures::only(mib * MIB, Ok(0))),
        processes: Ok(1),
        first: Some((6576, (*b"python3").into())),
    };
    let read = |queue: u64| {
        Ok(Arc::new(PageCache {
            is_of_all: false,
            files: vec![file("/dev/shm/buffers", 900), file("/dev/shm/queue.dat", queue)],
            left_out: (0, 0),
            unread_processes: Vec::new(),
            unread_paths: Vec::new(),
            machine: Ok(0),
            page: 4096,
        }))
    };
    let mut session = Session::new(120, 40);
    let mount: Arc<[u8]> = (*b"/dev/shm").into();
    let cache = &mut session.app.data.cache;
    let seconds = Duration::from_secs;
    let asks = |effect: Option<Effect>| matches!(effect, Some(Effect::ReadCache(_, CacheScope::Mount(_))));
    assert!(asks(cache.follow_mount(&mount, seconds(10))));
    assert!(!asks(cache.follow_mount(&mount, seconds(12))), "one read at a time");
    cache.take_in(cache.number, read(20));
    // At first only the sizes are known.
    assert_eq!(
        cache.grower_in(&mount).map(|file| &*file.path),
        Some(&b"/dev/shm/buffers"[..])
    );
    assert!(!asks(cache.follow_mount(&mount, seconds(40))), "it has a cost");
    assert!(asks(cache.follow_mount(&mount, seconds(75))));
    cache.take_in(cache.number, read(224));
    let grower = cache.grower_in(&mount).unwrap();
    assert_eq!(
        grower.text(Units::Auto),
        "/dev/shm/queue.dat 224M, open in 6576 python3"
    );
    assert!(cache.grower_in(b"/run").is_none());
}

#[test]
fn only_figures_that_may_be_wrong_are_said_to_be_old() {
    let mut session = Session::new(120, 40);
    session.minute();
    session.line("processes  figures up to 1s old");
    let mut snapshot = (*session.app.engine.snapshot.clone().unwrap()).clone();
    snapshot.processes.as_mut().unwrap()[0].stale = true;
    session.push(snapshot);
    let line = session.line("processes  1 figure up to");
    assert!(line.contains(" old"), "{line}");
}

#[test]
fn lazily_freed_memory_is_in_no_part_of_the_used_memory() {
    let gib = |n: f64| Ok((n * 1024.0 * MIB as f64) as u64);
    // What is in AnonPages; what of it is used.
    for (anon_pages, anon, other) in [(2.0, "2.0G", "1.0G"), (11.2, "3.0G", "0")] {
        let mut session = Session::new(120, 40);
        session.tick_with(5, busy(0), |made| {
            let system = &mut made.system;
            (system.mem_total, system.mem_available) = (gib(16.0), gib(12.5));
            (system.anon_pages, system.shmem) = (gib(anon_pages), gib(0.5));
        });
        let line = session.line(" Mem ");
        let sum = format!("3.5G/16.0G = █ anon {anon} + ▓ shmem 512M + ▒ other {other} ");
        let bar = &line[..line.find("3.5G").unwrap()];
        assert!(line.contains(&sum), "{sum}: {line}");
        assert!(
            bar.matches('█').count() < bar.matches(' ').count() + bar.matches('░').count(),
            "{line}"
        );
    }
}

#[test]
fn every_word_around_the_table_is_found_in_the_help() {
    let mut session = Session::new(160, 50);
    session.minute().keys("?");
    let height = 2000;
    session.feed(Event::Resize(160, height));
    let help = session.picture();
    for word in [
        "2 figures up to",
        "zmtop: 0.2 % of a core",
        "PSI",
        "some",
        "full",
        "major faults",
        "load",
        "▒ other",
        "avail",
        "░ cache",
        "KILLED",
        "FOLLOW",
        "FROZEN",
        "PAUSED",
        "read only",
        "alerts",
        "DANGER",
        "STALLED",
        "mark 5m ago",
        "or earlier",
        "paused for",
        "by PSS",
        "Σ",
        "zram",
        "stuck",
        "may count twice",
        "/min",
    ] {
        assert!(help.contains(word), "{word}");
    }
    session.feed(Event::Resize(80, 24));
    session.keys("/").types("Pressure stall").keys("Enter");
    assert!(
        session.picture().contains("Pressure stall information"),
        "{}",
        session.picture()
    );
}

#[test]
fn zmtop_s_own_growth_is_said_to_be_its_own() {
    let cause = zmtop::history::suspects::Cause::Own { limit: 64 << 20 };
    assert_eq!(cause.text(), "zmtop itself: its history is limited to 64.0M");
}

#[test]
fn a_popup_about_one_process_names_it_in_its_title() {
    for size in [(80, 24), (120, 40)] {
        for (key, title) in [
            ("m", "Mappings of 900 python3"),
            ("J", "Heap of 900 python3"),
            ("l", "Open files of 900 python3"),
            ("e", "Limits and environment of 900 python3"),
            ("O", "Origin of the memory of 900 python3"),
        ] {
            let mut session = with_mappings(size.0, size.1);
            session.keys(key);
            let line = session.line(title);
            assert!(line.contains('┌'), "{line}");
        }
    }
}

#[test]
fn a_text_that_is_longer_than_its_popup_names_the_process_too() {
    let mut session = with_mappings(80, 24);
    session.keys("e");
    let id = session.app.data.asked.as_ref().unwrap().id;
    let line = |at: usize| (format!("NAME_{at}").into_bytes().into(), b"x"[..].into());
    let found = (0..60).map(line).collect();
    session.feed(Event::Answered(Inquiry::Environment, id, Ok(found)));
    session.line("Limits and environment of 900 python3: lines 1 to ");
}
