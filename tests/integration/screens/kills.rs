//! OOM kills: the line above the table, the sign on the axis, the list on page 2.

use zmtop::model::Missing;
use zmtop::model::kill::OomKill;

use crate::support::kills::{killed, killed_by_daemon};
use crate::support::rows::{MIB, in_cgroup, with_pss};
use crate::support::session::{Session, busy};

macro_rules! photograph {
    ($name:literal, $session:expr) => {
        insta::with_settings!(
            { snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_snapshot!($name, $session.picture()); }
        )
    };
}

/// A minute in which `importer` comes to its limit while another grows, and 14 s more.
fn session(width: u16, height: u16, kills: &[OomKill]) -> Session {
    let mut session = Session::new(width, height);
    for second in 0..75 {
        let mut rows = busy(0);
        let shop = |pid, command, mib: u64| in_cgroup(with_pss(pid, command, mib * MIB), "/shop");
        rows.push(shop(7000, "cache", 10 + second.min(60) / 2));
        if second < 60 {
            rows.push(shop(9137, "/srv/bin/importer --all", 110));
        }
        rows.sort_by_key(|row| row.id.pid);
        session.tick_with(1, rows, |snap| {
            let at = snap.monotonic.as_secs();
            let known = kills.iter().filter(|kill| kill.monotonic_ms.unwrap() <= at * 1000);
            snap.oom_kills = known.cloned().collect();
        });
    }
    session
}

/// The kill, in second 60 of the session, whose clock begins at 1000.
fn importer() -> OomKill {
    killed(1061, 812, 9137, "importer", 110, Some("/shop"))
}

#[test]
fn the_line_at_every_size() {
    let all = [importer()];
    photograph!("kill-80x24", session(80, 24, &all));
    photograph!("kill-120x30", session(120, 30, &all));
    photograph!("kill-200x50", session(200, 50, &all));
}

#[test]
fn page_two_lists_kills() {
    let mut session = session(120, 40, &[importer()]);
    session.keys("2");
    let picture = session.picture();
    assert!(picture.contains("killed 9137 importer --all"), "{picture}");
    assert!(picture.contains("/shop reached its limit of 150M"), "{picture}");
    assert!(picture.contains("7000 cache had grown most, +5.0M in 10s"), "{picture}");
}

#[test]
fn the_line_goes_when_it_is_acknowledged() {
    let mut session = session(120, 30, &[importer()]);
    assert!(session.picture().contains(" KILLED "));
    session.keys("a");
    let line = session.line("acknowledged");
    assert!(line.contains("1 kill acknowledged"), "{line}");
    session.keys("z");
    assert!(!session.picture().contains(" KILLED "), "{}", session.picture());
    session.keys("a");
    session.line("no kill to acknowledge");
}

#[test]
fn a_kill_that_is_not_known_says_why_and_others_are_counted() {
    let kill = importer();
    let unknown = |number: u64| OomKill {
        record: kill.record.map(|record| record + number),
        victim: Err(Missing::Denied),
        ..kill.clone()
    };
    let mut session = session(120, 30, &[0, 1, 2].map(unknown));
    let line = session.line("KILLED  a process");
    assert!(
        line.contains("the kernel's log cannot be read: permission denied  2 more"),
        "{line}"
    );
}

#[test]
fn names_are_safe_and_the_line_fits() {
    let mut kill = importer();
    let victim = kill.victim.as_mut().unwrap();
    victim.comm = (*b"e\x1b[31m\nvil").into();
    victim.limit.as_mut().unwrap().cgroup = [b"/deep\x1b[2J".repeat(40), b"/end".to_vec()].concat().into();
    for width in [20, 40, 80, 200] {
        let mut session = session(width, 24, &[kill.clone()]);
        let line = session.line(" ✖ KILLED");
        assert!(!line.contains('\x1b'), "{line}");
        assert!(width < 80 || line.contains("/end reached its limit"), "{line}");
    }
}

#[test]
fn a_kill_by_a_daemon_names_it() {
    let kill = killed_by_daemon(1061, 9137, "importer", 110, 2);
    let mut session = session(120, 40, &[kill]);
    let line = session.line(" ✖ KILLED");
    let expected = "9137 importer --all by systemd-oomd, 14s ago: memory was short";
    assert!(line.contains(expected), "{line}");
    session.keys("2");
    let picture = session.picture();
    for text in ["by systemd-oomd", "with 2 more of /shop"] {
        assert!(picture.contains(text), "{text}: {picture}");
    }
}

#[test]
fn page_two_says_which_daemons_cannot_be_watched() {
    let mut session = Session::new(120, 40);
    session.tick_with(1, busy(0), |snap| {
        snap.killers = [("earlyoom", Err(Missing::Denied)), ("systemd-oomd", Ok(()))].into();
    });
    session.keys("2");
    let line = session.line("kills by earlyoom");
    assert!(line.contains("not visible: needs root"), "{line}");
    assert!(session.line("kills by systemd-oomd").contains("watched"));
}
