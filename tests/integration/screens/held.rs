//! Memory held through descriptors: its column, and the panel's list.

use std::sync::Arc;

use zmtop::model::mapping::{Mapping, MappingName};
use zmtop::model::{Held, HeldKind, HeldObject, Missing, ProcessSample};
use zmtop::sampler::Needs;
use zmtop::tui::Event;

use crate::support::rows::{MIB, walk};
use crate::support::session::{Session, busy};

macro_rules! photograph {
    ($name:literal, $session:expr) => {
        insta::with_settings!(
            { snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true },
            { insta::assert_snapshot!($name, $session.picture()); }
        )
    };
}

fn object(kind: HeldKind, name: &[u8], bytes: u64, vram: u64, holders: u32) -> HeldObject {
    HeldObject {
        kind,
        name: name.into(),
        bytes: Ok(bytes),
        vram,
        holders,
        fds: 1,
    }
}

/// The busy machine, where the greatest process holds one thing of each kind, and of another that is not known.
fn machine() -> Vec<ProcessSample> {
    let mut all = busy(0);
    for sample in &mut all {
        sample.held = Some(Arc::new(Ok(Held::default())));
    }
    all.sort_by_key(|sample| std::cmp::Reverse(sample.memory().map_or(0, |memory| memory.pss)));
    let mut unknown = object(HeldKind::Bpf, b"hash map 4", 0, 0, 1);
    unknown.bytes = Err(Missing::Malformed);
    all[0].held = Some(Arc::new(Ok(Held::new(vec![
        object(HeldKind::Gpu, b"xe 0000:03:00.0 client 7", 96 * MIB, 512 * MIB, 2),
        object(HeldKind::DmaBuf, b"system frame", 8 * MIB, 0, 4),
        object(HeldKind::Memfd, b"/memfd:cache\x1b[31m\xff", 200 * MIB, 0, 1),
        object(HeldKind::Uring, b"registered buffers", MIB, 0, 1),
        unknown,
    ]))));
    all[1].held = Some(Arc::new(Err(Missing::Denied)));
    all.sort_by_key(|sample| sample.id);
    all
}

fn session(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    for _ in 0..3 {
        session.tick(1, machine());
    }
    session
}

/// The panel of the greatest process, once its mappings were read.
fn panel(width: u16, height: u16) -> Session {
    let mut session = session(width, height);
    session.keys("Enter");
    let id = session.app.requests.inspected.expect("the panel asks for mappings").id;
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
fn the_panel_lists_what_a_process_holds() {
    photograph!("held-panel-80x24", panel(80, 24));
    photograph!("held-panel-120x40", panel(120, 40));
    assert!(panel(120, 40).app.wanted().needs.contains(Needs::HELD));
    assert!(!session(120, 40).app.wanted().needs.contains(Needs::HELD));
}

#[test]
fn the_filter_asks_for_it_and_the_sum_has_it() {
    let mut session = session(120, 30);
    session.keys("/").types("held>1M").keys("Enter");
    assert!(session.app.wanted().needs.contains(Needs::HELD));
    assert_eq!(session.app.tables.current().rows.len(), 1);
}

/// Twenty minutes in which the greatest process leaks into a memfd.
fn leaking(width: u16, height: u16) -> Session {
    let mut session = Session::new(width, height);
    for step in 0..=240 {
        let mut all = machine();
        let greatest = all.iter_mut().max_by_key(|s| s.memory().map_or(0, |memory| memory.pss));
        let cache = object(HeldKind::Memfd, b"/memfd:cache", (100 + step) * MIB, 0, 1);
        greatest.unwrap().held = Some(Arc::new(Ok(Held::new(vec![cache]))));
        session.tick(5, all);
    }
    session
}

#[test]
fn a_leak_of_it_is_reported_with_what_it_is() {
    let mut session = leaking(120, 40);
    let line = session.line(" ▲ ");
    assert!(line.contains("12.1M/min") && line.contains("held: memfd"), "{line}");
    session.keys("L");
    photograph!("held-leaks-120x40", session);
    session.keys("Enter");
    photograph!("held-leak-panel-120x40", session);
    assert!(session.app.wanted().needs.contains(Needs::HELD));
    // While it grows it is read, though nothing shows it.
    session.keys("Enter");
    assert!(!session.app.shows_panel() && session.app.wanted().needs.contains(Needs::HELD));
}
