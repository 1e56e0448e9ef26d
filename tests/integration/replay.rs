//! The monitor over the past.

mod keys;
mod player;
mod program;
mod recent;
mod same;

use std::time::{Duration, SystemTime};

use zmtop::model::Snapshot;
use zmtop::output::json;
use zmtop::record::Record;

use crate::support::rows::{MIB, walk};
use crate::support::session::{Session, busy};

fn ndjson(snapshots: &[Snapshot]) -> Vec<u8> {
    let mut out = Vec::new();
    for snapshot in snapshots {
        json::line(&mut out, &Record::new(snapshot)).unwrap();
    }
    out
}

/// Snapshots of the made machine, five seconds apart, from one wall-clock time on. Its process 900 grows by 30 MiB each.
fn made(begin: SystemTime, count: u64) -> Vec<Snapshot> {
    let mut session = Session::new(80, 24);
    let step = |step: u64| {
        let mut processes = busy(step.min(30));
        let grower = processes.iter_mut().find(|process| process.id.pid == 900).unwrap();
        grower.walk = Ok(walk((1000 + 30 * step) * MIB, 0));
        session.tick_with(5, processes, |made| made.time = begin + Duration::from_secs(5 * step));
        Snapshot::clone(session.app.engine.snapshot.as_ref().unwrap())
    };
    (0..count).map(step).collect()
}
