//! The pages beside the processes, at the sizes people have.

use std::sync::Arc;

use crate::support::rows::MIB;
use crate::support::session::{Session, assert_tame, busy};

use zmtop::model::system::{AccountingInputs, Pressure, Zones};
use zmtop::model::{Missing, Snapshot};
use zmtop::tui::Event;

macro_rules! photograph {
    ($name:literal, $session:expr) => {
        insta::with_settings!(
            { snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_snapshot!($name, $session.picture()); }
        )
    };
}

/// Fills in the kernel's figures for the made machine, on which unreclaimable slab grows from step to step.
fn account(snap: &mut Snapshot, step: u64) {
    let s = &mut snap.system;
    let grown = step * 4 * MIB;
    s.anon_huge = Ok(2048 * MIB);
    s.mapped = Ok(900 * MIB);
    s.sreclaimable = Ok(300 * MIB);
    s.sunreclaim = Ok(212 * MIB + grown);
    s.slab = Ok(512 * MIB + grown);
    s.kernel_stack = Ok(18 * MIB);
    s.page_tables = Ok(70 * MIB);
    s.percpu = Ok(13 * MIB);
    s.vmalloc = Ok(60 * MIB);
    s.mem_free = Ok(8192 * MIB + 3900 * MIB - grown);
    snap.accounting = Arc::new(AccountingInputs {
        zones: Ok(Zones {
            present: 24_500 * MIB,
            managed: 24_064 * MIB,
            free_lists: 30 * MIB,
        }),
        pressure: Ok(Pressure {
            some: [0.1, 0.4, 0.2],
            full: [0.0, 0.1, 0.1],
        }),
        ..AccountingInputs::missing(Missing::Unsupported)
    });
}

fn session(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    for step in 0..60 {
        session.tick_with(5, busy(step % 12), |snap| account(snap, step));
    }
    session.keys("2");
    session
}

#[test]
fn the_account_at_every_size() {
    photograph!("memory-80x24", session(80, 24));
    photograph!("memory-120x40", session(120, 40));
    photograph!("memory-200x50", session(200, 50));
    photograph!("memory-40x16", session(40, 16));
}

#[test]
fn the_detail_of_a_part() {
    let detail = |width, height| {
        let mut session = session(width, height);
        session.keys("Home Down Down Down Down Down Down Down Enter");
        session
    };
    photograph!("memory-detail-80x24", detail(80, 24));
    photograph!("memory-detail-120x40", detail(120, 40));
}

#[test]
fn nothing_of_the_account_known() {
    let mut session = Session::new(80, 24);
    session.tick(1, busy(0));
    let mut bare = (**session.app.engine.snapshot.as_ref().unwrap()).clone();
    bare.system = zmtop::model::SystemSample::missing(Missing::Denied);
    session.push(bare).keys("2 End");
    assert_tame(&session.frame());
    let line = session.line("not accounted for");
    assert!(line.contains('-'), "{line}");
    // Before the first snapshot.
    let mut session = Session::new(80, 24);
    session.keys("2 j Enter Up");
    assert_tame(&session.frame());
}

#[test]
fn what_is_counted_twice_stays_under_its_name() {
    let mut session = Session::new(80, 40);
    session.tick_with(1, busy(0), |snap| {
        account(snap, 0);
        snap.system.mem_free = snap.system.mem_free.map(|free| free + 2048 * MIB);
    });
    let line = session.keys("2 End").line("not accounted for");
    assert!(line.contains("-1.5G") && line.contains("counted"), "{line}");
}

#[test]
fn it_survives_every_size() {
    for keys in ["", "Enter", "End Enter x"] {
        let mut session = session(80, 24);
        session.keys(keys).keys("Down Up");
        let before = session.picture();
        for (width, height) in Session::ODD_SIZES {
            session.feed(Event::Resize(width, height)).keys("Down Up");
            let frame = session.frame();
            assert_eq!((frame.area.width, frame.area.height), (width, height));
            assert_tame(&frame);
            let after = session.feed(Event::Resize(80, 24)).picture();
            assert_eq!(after.lines().last(), before.lines().last(), "{width}×{height} {keys:?}");
        }
        assert_eq!(session.picture().lines().count(), 24);
    }
}
