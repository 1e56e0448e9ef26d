//! Margins of a process's estimates, as walks correct them.

use zmtop::sampler::estimate::{Others, Tracker};

use super::estimate::{MB, MB_FAULTS, alone, estimated, forked};

#[test]
fn faults_that_prove_harmless_are_soon_known_for_it() {
    let mut anchor = forked();
    let mut tracker = Tracker::default();
    tracker.walked(Some(anchor), &Others::default());
    let mut bounds = Vec::new();
    for _ in 0..4 {
        anchor.counters.faults += 8 * MB_FAULTS;
        tracker.glanced(anchor.counters);
        bounds.push(tracker.estimate().unwrap().bound);
        tracker.walked(Some(anchor), &Others::default());
    }
    assert_eq!(bounds, [16 * MB, 4 * MB, MB, MB / 4]);
    // Once one does harm, they all may.
    anchor.counters.faults += 8 * MB_FAULTS;
    anchor.memory.pss += 4 * MB;
    tracker.walked(Some(anchor), &Others::default());
    anchor.counters.faults += 8 * MB_FAULTS;
    tracker.glanced(anchor.counters);
    let bound = tracker.estimate().unwrap().bound;
    assert!(bound > 7 * MB, "{bound}");
    // Unless others did it.
    anchor.memory.pss += 20 * MB;
    let others = Others {
        bound: 20 * MB,
        ..Others::default()
    };
    tracker.walked(Some(anchor), &others);
    anchor.counters.faults += 8 * MB_FAULTS;
    tracker.glanced(anchor.counters);
    assert!(tracker.estimate().unwrap().bound < 4 * MB);
}

#[test]
fn harmless_faults_say_nothing_of_many_more() {
    let mut anchor = alone();
    let mut tracker = Tracker::default();
    for _ in 0..8 {
        tracker.walked(Some(anchor), &Others::default());
        anchor.counters.faults += 50;
        tracker.glanced(anchor.counters);
    }
    let estimate = tracker.estimate().unwrap();
    assert!(estimate.bound < MB / 16 && estimate.unproven == 0);
    // Faults of reading 12 MB of a file in place of another.
    anchor.counters.faults += 192;
    tracker.glanced(anchor.counters);
    let estimate = tracker.estimate().unwrap();
    assert!(estimate.bound > MB && estimate.unproven > 8 * MB);
    // They may be few enough that a bound by what faults are worth mostly is tolerated.
    anchor.counters.faults -= 92;
    tracker.glanced(anchor.counters);
    let estimate = tracker.estimate().unwrap();
    assert!(estimate.bound < MB && estimate.unproven > 3 * MB);
}

#[test]
fn pages_of_a_file_that_proved_alike_say_nothing_of_many_more() {
    let mut anchor = alone();
    let mut tracker = Tracker::default();
    tracker.walked(Some(anchor), &Others::default());
    let mut more = |tracker: &mut Tracker, bytes: u64| {
        anchor.counters.rss += bytes;
        let resident = anchor.counters.resident.as_mut().unwrap();
        resident.shared += bytes;
        tracker.glanced(anchor.counters);
        let estimate = tracker.estimate().unwrap();
        anchor.memory = estimate.memory;
        tracker.walked(Some(anchor), &Others::default());
        estimate.bound
    };
    let unknown = more(&mut tracker, MB);
    for _ in 0..4 {
        more(&mut tracker, MB);
    }
    assert!(more(&mut tracker, MB) < unknown / 4);
    // A file of 16 MB may be shared by many or by nobody, all of it.
    let large = more(&mut tracker, 16 * MB);
    assert!(large >= 16 * unknown * 9 / 10, "{large} {unknown}");
}

#[test]
fn a_fault_that_mapped_a_folio_is_known_for_it() {
    let mut anchor = alone();
    let mut tracker = Tracker::default();
    tracker.walked(Some(anchor), &Others::default());
    // Twelve faults, each with a mebibyte of a file that two share in place of one that nobody shares.
    anchor.counters.faults += 12;
    tracker.glanced(anchor.counters);
    let estimate = tracker.estimate().unwrap();
    assert!(estimate.bound < MB && estimate.unproven >= 12 * MB);
    anchor.memory.pss -= 6 * MB;
    anchor.memory.pss_file = anchor.memory.pss_file.map(|pss| pss - 6 * MB);
    tracker.walked(Some(anchor), &Others::default());
    anchor.counters.faults += 12;
    tracker.glanced(anchor.counters);
    assert!(tracker.estimate().unwrap().bound > 6 * MB);
    // Few are enough to prove harmless as many.
    for _ in 0..3 {
        tracker.walked(Some(anchor), &Others::default());
        anchor.counters.faults += 12;
        tracker.glanced(anchor.counters);
    }
    assert_eq!(tracker.estimate().unwrap().unproven, 0);
}

#[test]
fn small_pages_that_came_beside_hide_no_fault_that_mapped_a_folio() {
    let mut anchor = alone();
    let mut tracker = Tracker::default();
    tracker.walked(Some(anchor), &Others::default());
    // Twelve faults with a mebibyte each, and two that brought 32 small pages of the program.
    anchor.counters.faults += 14;
    anchor.counters.rss += 32 << 12;
    let resident = anchor.counters.resident.as_mut().unwrap();
    resident.shared += 32 << 12;
    tracker.glanced(anchor.counters);
    let estimate = tracker.estimate().unwrap();
    assert!(estimate.bound < MB && estimate.unproven >= 12 * MB);
    // Harmless as often, they prove it.
    anchor.memory = estimate.memory;
    tracker.walked(Some(anchor), &Others::default());
    anchor.counters.faults += 14;
    tracker.glanced(anchor.counters);
    let estimate = tracker.estimate().unwrap();
    assert!(estimate.faulted >= 12 * MB && estimate.unproven == 0);
    // Harm that no other counter explains refutes it.
    anchor.memory.pss -= 6 * MB;
    anchor.memory.pss_file = anchor.memory.pss_file.map(|pss| pss - 6 * MB);
    tracker.walked(Some(anchor), &Others::default());
    anchor.counters.faults += 14;
    tracker.glanced(anchor.counters);
    assert!(tracker.estimate().unwrap().unproven >= 12 * MB);
}

#[test]
fn walks_show_how_far_the_drift_of_others_is_known() {
    let anchor = alone();
    let of = |drift| Others {
        drift,
        ..Others::default()
    };
    let mut tracker = Tracker::default();
    tracker.walked(Some(anchor), &Others::default());
    let mut bounds = Vec::new();
    for _ in 0..4 {
        bounds.push(tracker.bound_of(&of(4 * MB)));
        tracker.walked(Some(anchor), &of(4 * MB));
    }
    assert_eq!(bounds, [4 * MB, MB, MB / 4, MB / 4]);
    // What is larger than any that was shown is not known.
    assert_eq!(tracker.bound_of(&of(40 * MB)), 32 * MB + MB / 2);
    let mut moved = anchor;
    moved.memory.pss -= 3 * MB;
    let others = Others {
        shift: -2 * MB.cast_signed(),
        ..of(4 * MB)
    };
    tracker.walked(Some(moved), &others);
    assert_eq!(tracker.bound_of(&of(4 * MB)), 2 * MB);
}

#[test]
fn cpu_time_without_a_trace_is_looked_at_ever_more_seldom() {
    let mut anchor = alone();
    let mut tracker = Tracker::default();
    tracker.walked(Some(anchor), &Others::default());
    let mut ticks = Vec::new();
    for _ in 0..4 {
        let before = anchor.counters.cpu_ticks;
        while tracker.estimate().unwrap().bound <= MB {
            anchor.counters.cpu_ticks += 1;
            tracker.glanced(anchor.counters);
        }
        ticks.push(anchor.counters.cpu_ticks - before);
        tracker.walked(Some(anchor), &Others::default());
    }
    assert_eq!(ticks, [6, 21, 82, 328]);
    // What shares nothing never is.
    let mut own = alone();
    own.memory.pss_file = Ok(0);
    own.memory.rss = 100 * MB;
    own.counters.resident.as_mut().unwrap().shared = 0;
    let mut now = own.counters;
    now.cpu_ticks += 1 << 40;
    now.faults += 1 << 40;
    assert_eq!(estimated(&own, now).bound, 0);
}
