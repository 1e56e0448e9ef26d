//! Which rows are shown, and in which order.

use crate::support::session::{Session, busy};

/// Keys, and the pids they leave on the table.
#[test]
fn orders() {
    let table: &[(&str, &[u32])] = &[
        // By PSS; what is unknown comes last in either direction.
        ("", &[900, 901, 400, 401, 402, 1, 2, 700]),
        ("I", &[1, 402, 401, 400, 901, 900, 2, 700]),
        ("S", &[402, 901, 400, 401, 900, 1, 2, 700]),
        ("S I", &[900, 1, 401, 400, 901, 402, 2, 700]),
        ("S M", &[900, 901, 400, 401, 402, 1, 2, 700]),
        // By trend, of which nothing is known after a minute.
        ("T", &[900, 901, 400, 401, 402, 1, 2, 700]),
        // To the right of PSS stands ΔPSS.
        (">", &[900, 901, 400, 401, 402, 1, 2, 700]),
        ("> <", &[900, 901, 400, 401, 402, 1, 2, 700]),
        // Already the leftmost.
        ("<", &[900, 901, 400, 401, 402, 1, 2, 700]),
        // Kernel threads are hidden until they are asked for.
        ("K", &[900, 901, 400, 401, 402, 1, 700]),
        ("K K", &[900, 901, 400, 401, 402, 1, 2, 700]),
        // The tree: siblings by what they hold with all below them.
        ("t", &[1, 900, 901, 400, 401, 402, 700, 2]),
        ("t t", &[900, 901, 400, 401, 402, 1, 2, 700]),
        ("t *", &[1, 900, 400, 700, 2]),
        ("t * *", &[1, 900, 901, 400, 401, 402, 700, 2]),
        ("t Home Down -", &[1, 900, 400, 401, 402, 700, 2]),
        ("t Home Down - +", &[1, 900, 901, 400, 401, 402, 700, 2]),
    ];
    for (keys, pids) in table {
        let mut session = Session::new(120, 40);
        session.minute().keys("K").keys(keys);
        assert_eq!(session.pids(), *pids, "after {keys:?}");
    }
}

#[test]
fn equal_rows_stand_by_pss_and_do_not_dance() {
    let mut session = Session::new(120, 40);
    session.minute().keys("S");
    let before = session.pids();
    session.tick(1, busy(12)).tick(1, busy(12));
    assert_eq!(session.pids(), before);
}

#[test]
fn a_frozen_order_keeps_rows_while_values_go_on() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("S z");
    let before = session.pids();
    assert_eq!(before[0], 402, "it holds most swap");
    let old = session.line("alice orders");
    // By then 901 has overtaken it.
    session.tick(5, busy(34));
    assert_eq!(session.pids(), before);
    assert_ne!(session.line("alice orders"), old, "values go on");
    session.keys("z");
    assert_eq!(session.pids()[0], 901);
}

#[test]
fn a_frozen_order_puts_what_is_new_after_what_is_there() {
    let mut session = Session::new(120, 40);
    let mut fewer = busy(0);
    fewer.retain(|p| p.id.pid != 900);
    session.tick(1, fewer).keys("z").tick(1, busy(0));
    assert_eq!(session.pids().last(), Some(&900));
    session.keys("z");
    assert_eq!(session.pids().first(), Some(&900));
}

#[test]
fn filters_take_effect_while_typed_and_an_unfinished_term_is_left_out() {
    let mut session = Session::new(120, 40);
    session.minute().keys("/").types("user:alice");
    assert_eq!(session.pids(), [900, 901]);
    session.types(" pss");
    assert!(session.pids().is_empty(), "no command of hers holds the word pss");
    session.types(">");
    assert_eq!(session.pids(), [900, 901], "the word before > was no filter");
    let picture = session.picture();
    assert!(picture.contains("a figure is missing"), "{picture}");
    assert!(picture.contains("unfinished: rows of user:alice"), "{picture}");
    session.keys("Enter");
    assert!(
        session.app.query.filter.error.is_some(),
        "a bad filter stays open to be mended"
    );
    session.types("500M").keys("Enter");
    assert_eq!(session.pids(), [900]);
    session.keys("\\");
    assert_eq!(session.pids().len(), 7);
    session.keys("/").types("postgres").keys("Esc");
    assert_eq!(session.pids().len(), 7, "Esc takes it back");
    session.keys("/").types("pss>");
    assert_eq!(session.pids().len(), 7);
    assert!(
        session.picture().contains("unfinished: all rows are shown"),
        "{}",
        session.picture()
    );
}

#[test]
fn the_fault_of_an_unfinished_filter_is_shown_whole() {
    let mut session = Session::new(80, 24);
    session.minute().keys("/").types("user:alice pss>");
    session.line("a figure is missing after pss: write a size such as 100M or 1.5G");
    session.line("unfinished: rows of user:alice");
}

#[test]
fn a_size_without_a_unit_is_said_to_be_bytes() {
    let mut session = Session::new(120, 40);
    session.minute().keys("/").types("pss>30");
    assert!(session.line("30 is in bytes: write 30M for MiB").contains("match"));
    session.keys("Enter");
    session.line("30 is in bytes");
    for sound in ["pss>30M", "pss>0", "pss>4096", "age>30"] {
        session.keys("/ C-u").types(sound);
        assert!(!session.picture().contains("is in bytes"), "{sound}");
        session.keys("Esc");
    }
}

#[test]
fn esc_clears_a_filter_when_nothing_else_is_open() {
    let mut session = Session::new(120, 40);
    session.minute().keys("/").types("user:alice").keys("Enter");
    session.keys("p Esc");
    assert_eq!(session.pids(), [900, 901], "Esc closed the panel");
    session.keys("Esc");
    assert_eq!(session.pids().len(), 7);
    session.line("cleared: filter user:alice");
    session.keys("Esc");
    session.line("nothing is open, and no filter applies");
    // A group is left before the filter.
    session.keys("/").types("postgres").keys("Enter Tab Enter Esc");
    let found = session.group_names().len();
    assert_eq!(found, 2, "postgres and its worker");
    session.keys("Esc");
    assert!(session.group_names().len() > found);
    session.keys("Esc");
    assert_eq!(session.pids().len(), 7, "the groups are left for the processes");
    session.keys("Tab Backspace");
    assert_eq!(session.pids().len(), 7);
    session.keys("Tab");
    // The choice of a user is a filter, too.
    session.keys("BackTab u").types("alice").keys("Enter");
    assert_eq!(session.pids(), [900, 901]);
    session.keys("Esc");
    session.line("cleared: user alice");
    // On a page it is that of the page.
    session.keys("2 /").types("anon").keys("Enter Esc");
    session.line("cleared: filter anon");
    assert!(session.app.page().is_some());
    session.keys("Esc");
    assert!(session.app.page().is_none());
}

/// Keys, and the heading that is marked as the sorted one then.
#[test]
fn the_column_sorted_by_is_shown_with_its_mark() {
    for (name, heading) in [("growth", "▼GROWTH"), ("virt", "▼VIRT"), ("elapsed", "▼RUNS")] {
        for size in [(80, 24), (120, 40)] {
            let mut session = Session::new(size.0, size.1);
            session.minute().keys("s").types(name).keys("Enter");
            let line = session.line(heading);
            let command = line.find("COMMAND").unwrap();
            assert!(line.find(heading).unwrap() < command, "{line}");
            assert!(
                !session.keys("M").picture().contains(heading.trim_start_matches('▼')),
                "{}",
                session.picture()
            );
        }
    }
    let mut session = Session::new(200, 40);
    session.minute().keys("v s").types("virt").keys("Enter");
    session.line("▼VIRT");
}

#[test]
fn totals_are_those_of_the_rows_that_match() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("/").types("user:postgres").keys("Enter");
    let totals = &session.app.rows.totals;
    assert_eq!(totals.count, 3);
    assert_eq!(totals.memory.unwrap().pss, (310 + 120 + 96) << 20);
    assert!(!totals.partial);
    session.keys("\\");
    assert!(session.app.rows.totals.partial, "700 cannot be read");
}

#[test]
fn a_folded_row_shows_the_sum_of_its_subtree() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("t Home Down -");
    let line = session.line("train.py");
    assert!(line.contains("1.4G") && line.contains("[+1]"), "{line}");
    assert!(line.contains("90"), "the child's swap: {line}");
}

#[test]
fn the_two_tables_are_ordered_by_pss_and_by_swap() {
    let mut session = Session::new(200, 50);
    session.minute().keys("v");
    assert_eq!(session.pids()[0], 900);
    session.keys("w");
    assert_eq!(session.pids()[0], 402);
    session.keys("v");
    assert_eq!(session.app.tables.shown().len(), 1);
}

#[test]
fn by_cpu_and_then_by_cpu_time_the_column_is_shown_for_as_long() {
    let mut session = Session::new(120, 40);
    session.minute();
    for (key, shown, hidden) in [("P", "CPU%", "TIME"), ("P", "TIME", "CPU%"), ("P", "CPU%", "TIME")] {
        let picture = session.keys(key).picture();
        assert!(picture.contains(shown) && !picture.contains(hidden), "{picture}");
    }
    assert!(!session.keys("M").picture().contains("CPU%"));
}
