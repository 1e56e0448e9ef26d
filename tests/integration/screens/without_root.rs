//! Screens of a user who may read only their own processes, and of machines without swap.

use zmtop::model::{Counted, Missing, ProcessSample, Stat};

use crate::support::rows::{MIB, process, walk, with_facts, with_pss};
use crate::support::session::Session;

/// A process whose memory may not be read, of so much RSS and swap.
fn hidden(pid: u32, command: &str, rss: u64, swap: Option<u32>) -> ProcessSample {
    let mut sample = process(pid, 1, command);
    sample.walk = Err(Missing::Denied);
    (sample.stat.rss, sample.stat.vsize) = (rss, 4 * rss);
    sample.counted = Counted::new(Some(rss / 2), swap.map(|kib| u64::from(kib) << 10));
    sample
}

fn session(width: u16, height: u16) -> Session {
    let own = with_pss(900, "/usr/bin/python3 own.py", 40 * MIB);
    let own = with_facts(own, |f| f.user = Ok(std::sync::Arc::from(&b"alice"[..])));
    let mut unseen = process(3, 0, "?");
    unseen.walk = Err(Missing::Denied);
    unseen.stat = Stat {
        state: Stat::UNKNOWN_STATE,
        ..Stat::default()
    };
    let mut kernel = process(2, 0, "");
    kernel.stat.flags = Stat::PF_KTHREAD;
    kernel.walk = Err(Missing::KernelThread);
    let mut session = Session::new(width, height);
    let rows = vec![
        kernel,
        unseen,
        hidden(700, "/usr/sbin/mysqld", 2100 * MIB, Some(12 << 10)),
        hidden(701, "/usr/sbin/small", 10 * MIB + 512 * 1024, Some(0)),
        own,
    ];
    session.tick(1, rows.clone());
    session.tick(1, rows);
    session
}

#[test]
fn what_may_not_be_read_stands_by_its_rss_and_what_cannot_is_one_line() {
    let mut session = session(120, 30);
    let picture = session.picture();
    assert_eq!(
        session.pids(),
        [700, 900, 701],
        "by anonymous memory where PSS is not allowed:\n{picture}"
    );
    let row = session.line("mysqld");
    assert!(
        row.contains(" 1.0G  2.1G") && row.contains("12.0M") && !row.contains('≤'),
        "{row}"
    );
    // Sorted by PSS it is a bound, for which there is room.
    assert!(session.keys("M").line("small").contains("≤10.5M"), "{picture}");
    assert!(!session.line("mysqld").contains(" - "), "{picture}");
    let advice = session.line("needs root");
    assert!(
        advice.contains("PSS of 3 processes needs root or CAP_PERFMON  ? shows"),
        "{advice}"
    );
    // Kernel threads are no processes until they are listed.
    assert!(session.line("zmtop on db1").contains("4 processes"), "{picture}");
    assert!(session.line("Σ").contains("3 of 4 processes"), "{picture}");
    session.keys("K");
    assert!(session.line("zmtop on db1").contains("5 processes"));
    // A filter that asks for what nothing is known of finds it.
    session.keys("/").types("pid:3").keys("Enter");
    assert_eq!(session.pids(), [3]);
}

#[test]
fn columns_that_have_values_come_before_those_that_have_none() {
    let heading = |session: &mut Session| {
        session
            .line("COMMAND")
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let mut narrow = session(80, 24);
    let shown = heading(&mut narrow);
    for known in ["▼≤ANON", "RSS", "Δ10s", "SWAP", "TREND"] {
        assert!(shown.contains(&known.to_owned()), "{known} of {shown:?}");
    }
    // Mostly bounds, and USS is nobody's to read.
    let mut wide = session(160, 24);
    let shown = heading(&mut wide);
    for empty in ["USS", "MEM%"] {
        assert!(!shown.contains(&empty.to_owned()), "{empty} of {shown:?}");
    }
    // Who asks for them gets them.
    let columns = ["pss", "rss", "command"].map(|id| zmtop::columns::find(id).unwrap());
    wide.app.choose_columns(columns.to_vec());
    assert!(heading(&mut wide).contains(&"RSS".to_owned()));
    // Where all may be read nothing is different.
    let mut all = Session::new(80, 24);
    assert!(heading(all.minute()).contains(&"▼PSS".to_owned()));
}

#[test]
fn what_is_shown_by_rss_has_its_change_and_its_trend() {
    let mut session = Session::new(120, 30);
    for second in 0..180_u64 {
        let own = process(900, 1, "/usr/bin/python3 own.py");
        let mysqld = hidden(700, "/usr/sbin/mysqld", 2100 * MIB + second * MIB, Some(0));
        session.tick(1, vec![mysqld, own]);
    }
    let row = session.line("700 root");
    assert!(row.contains("+10.0M") && row.contains("△ grow"), "{row}");
    // A change of RSS does not count in the sum of PSS.
    let sum = session.line("Σ");
    assert!(!sum.contains('+'), "{sum}");
    let advice = session.line("needs root");
    assert!(
        advice.contains("PSS of 1 process needs root or CAP_PERFMON, ≤ is its RSS"),
        "{advice}"
    );
}

#[test]
fn a_row_of_dashes_is_not_said_to_be_shown_by_rss() {
    let mut session = Session::new(120, 30);
    let mut dashes = process(800, 1, "/usr/bin/dashes");
    dashes.walk = Err(Missing::Denied);
    let rows = vec![hidden(700, "/usr/sbin/mysqld", 2100 * MIB, None), dashes];
    session.tick(1, rows);
    assert!(session.line("dashes").contains(" - "), "{}", session.picture());
    assert!(session.line("needs root").contains("PSS of 2 processes needs root"));
}

#[test]
fn a_bound_is_no_figure_for_a_filter() {
    let mut session = session(120, 30);
    session.keys("/").types("pss>1G").keys("Enter");
    assert_eq!(session.pids(), [0_u32; 0]);
    session.keys("/ C-u").types("rss>1G").keys("Enter");
    assert_eq!(session.pids(), [700]);
}

#[test]
fn groups_of_what_may_not_be_read_stand_by_their_rss() {
    let mut session = session(120, 30);
    session.keys("Tab");
    assert!(session.line("mysqld").contains(" 1.0G  2.1G "), "{}", session.picture());
}

#[test]
fn without_swap_there_is_nothing_of_swap_until_there_is_some() {
    let mut session = session(120, 30);
    assert!(session.picture().contains("ΔSWAP/10s"));
    let rows = session.app.engine.snapshot.as_ref().unwrap().rows().to_vec();
    session.tick_with(1, rows.clone(), |s| s.system.swap_total = Ok(0));
    let picture = session.picture();
    assert!(!picture.contains("SWAP") && !picture.contains("Swap"), "{picture}");
    session.tick(1, rows);
    assert!(session.picture().contains("ΔSWAP/10s") && session.picture().contains(" Swap "));
}

#[test]
fn changes_below_a_kib_are_none() {
    use zmtop::columns::{Value, cell};
    use zmtop::units::Units;
    let text = |n, units| cell(&Value::Delta(n, 0), units, 6).text;
    assert_eq!(text(-610, Units::Auto), "0");
    assert_eq!(text(-610, Units::K), "0");
    assert_eq!(text(-610, Units::Bytes), "-610");
    assert_eq!(text(1024, Units::Auto), "+1.0K");
}

#[test]
fn bounds_fit_their_column() {
    use zmtop::columns::{Value, cell};
    use zmtop::units::Units;
    for (n, expected) in [
        (2 << 30, "≤2.0G"),
        ((10 << 20) + 1, "≤11M"),
        (512, "≤512B"),
        (1010 << 20, "≤1.0G"),
        (120 << 20, "≤120M"),
    ] {
        assert_eq!(cell(&Value::AtMost(n), Units::Auto, 5).text, expected);
    }
}

#[test]
fn the_sum_is_of_what_the_rows_show() {
    let mut session = Session::new(120, 30);
    let own = process(900, 1, "/usr/bin/python3 own.py");
    let others = [
        hidden(700, "/usr/sbin/mysqld", 2048 * MIB, Some(0)),
        hidden(701, "/usr/sbin/small", 1024 * MIB, Some(0)),
    ];
    let rows: Vec<_> = others.into_iter().chain([own]).collect();
    session.tick(1, rows.clone());
    let more = hidden(701, "/usr/sbin/small", 1034 * MIB, Some(0));
    let rows = vec![rows[0].clone(), more, rows[2].clone()];
    session.tick(1, rows.clone());
    let sum = session.line("Σ");
    assert!(sum.contains(" 1.5G ") && sum.contains("+10.0M"), "{sum}");
    assert!(
        !sum.contains("3.0G") && !sum.contains('≤'),
        "RSS has what is shared many times over: {sum}"
    );
    assert!(sum.contains("Σ 3 processes") && !sum.contains("unreadable"), "{sum}");
    // One of which nothing is known makes it none.
    let mut dashes = process(800, 1, "/usr/bin/dashes");
    dashes.walk = Err(Missing::Denied);
    session.tick(1, rows.into_iter().chain([dashes]).collect());
    let sum = session.line("Σ");
    assert!(!sum.contains(" 1.5G ") && sum.contains("3 unreadable"), "{sum}");
}

#[test]
fn what_many_share_does_not_hide_who_has_much() {
    // Backends that map the same two gigabytes, and one that has a gigabyte to itself.
    let rows = || {
        let backends = (0..9).map(|n| {
            let mut backend = hidden(400 + n, "/usr/bin/postgres", 2048 * MIB, Some(0));
            backend.counted = Counted::new(Some(8 * MIB), Some(0));
            backend
        });
        let mut heap = hidden(700, "/usr/bin/java -jar shop.jar", 1100 * MIB, Some(0));
        heap.counted = Counted::new(Some(1000 * MIB), Some(0));
        let own = process(900, 1, "/usr/bin/python3 own.py");
        backends.chain([heap, own]).collect::<Vec<_>>()
    };
    let mut session = Session::new(120, 30);
    session.keys("f").tick(1, rows());
    session.tick(1, rows());
    assert_eq!(session.pids()[0], 700, "{}", session.picture());
    let row = session.line("shop.jar");
    assert!(row.contains(" 1000M  1.1G"), "{row}");
    // Who asks for the order by PSS has it, and keeps it.
    session.keys("M");
    assert_eq!(session.pids()[0], 400, "{}", session.picture());
    session.tick(1, vec![process(900, 1, "/usr/bin/python3 own.py")]);
    session.tick(1, rows());
    assert_eq!(session.pids()[0], 400, "{}", session.picture());
}

#[test]
fn the_menu_of_users_has_bounds_and_counts_an_address_space_once() {
    let mut session = session(120, 30);
    let mut rows = session.app.engine.snapshot.as_ref().unwrap().rows().to_vec();
    let own = rows.last().unwrap().clone();
    let shared = own.id;
    let mut twin = own;
    (twin.id.pid, twin.shares_mm) = (901, Some(shared));
    rows.push(twin);
    session.tick(1, rows).keys("u");
    let picture = session.picture();
    let users: Vec<Vec<&str>> = picture
        .lines()
        .filter(|line| line.contains(" procs "))
        .map(|line| line.split('│').nth(1).unwrap().split_whitespace().collect())
        .collect();
    assert_eq!(
        users,
        [["root", "3", "procs", "≤2.1G"], ["alice", "2", "procs", "40.0M"]]
    );
}

#[test]
fn the_sum_of_swap_includes_what_may_not_be_read() {
    let rows = |mib: u32| {
        let mut own = process(900, 1, "/usr/bin/python3 own.py");
        own.walk = Ok(walk(40 * MIB, 4 * MIB));
        vec![hidden(700, "/usr/sbin/mysqld", 2048 * MIB, Some(mib << 10)), own]
    };
    let mut session = Session::new(120, 30);
    session.tick(1, rows(500)).tick(1, rows(520));
    for (line, swap) in [("mysqld", " 520M "), ("own.py", " 4.0M "), ("Σ", " 524M ")] {
        assert!(session.line(line).contains(swap), "{}", session.picture());
    }
    for line in ["mysqld", "Σ"] {
        assert!(session.line(line).contains("+20.0M"), "{}", session.picture());
    }
}
