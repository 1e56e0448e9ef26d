//! The README's pictures, drawn from a recording of real services: `INSTA_UPDATE=always cargo test the_pictures`
//! draws them anew.
//!
//! `recordings/small-host.ndjson.zst` has twenty-seven minutes of a host with `PostgreSQL`, Redis, memcached, `MariaDB`,
//! a JVM, Node and a Python program that leaks, a snapshot every ten seconds as `zmtop ps --every 10 --format ndjson`
//! writes them, without the processes that have no part in it.

use std::path::Path;
use std::sync::Arc;

use zmtop::model::Identity;
use zmtop::source::Source;

use crate::support::kept::assert_kept;
use crate::support::session::Session;
use crate::support::svg::{Scene, moving, svg};

/// The program that leaks.
const BILLING: Identity = Identity {
    pid: 6880,
    starttime: 7_888_566,
};

/// Returns the monitor on the recorded host, at its end.
fn recorded() -> Session {
    let mut session = Session::new(120, 40);
    session.app.privilege.root = true;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings/small-host.ndjson.zst");
    for snapshot in Source::open(&file).unwrap() {
        session.push(Arc::unwrap_or_clone(snapshot.unwrap()));
    }
    session
}

#[test]
fn the_pictures_in_the_readme() {
    let mut session = recorded();
    let leaks: Vec<_> = session
        .app
        .engine
        .leaks()
        .map(|suspect| suspect.key.process())
        .collect();
    assert_eq!(leaks, [Some(BILLING)], "the one program that was made to leak");
    let mut scenes = Vec::new();
    let mut scene = |session: &mut Session, caption| {
        scenes.push(Scene {
            frame: session.frame(),
            caption,
        });
    };
    scene(&mut session, "What each process really costs, and what leaks");
    scene(
        session.keys("L"),
        "L: what grows or leaks, since when, how fast, how sure",
    );
    scene(session.keys("Enter"), "Enter: one process in full");
    assert_kept("screen.svg", &svg(&session.frame()));
    scene(
        session.keys("Esc Tab"),
        "Tab: summed by program, then user, systemd unit, container, cgroup",
    );
    scene(session.keys("Tab Tab"), "Tab Tab: by systemd unit");
    scene(
        session.keys("Tab Tab Tab Tab /").types("user:postgres pss>3M"),
        "/: filter while you type",
    );
    scene(session.keys("Enter t"), "t: the tree");
    assert_kept("tour.svg", &moving(&scenes));
}
