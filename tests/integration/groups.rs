//! Processes together.

mod cgroups;
mod columns;
mod families;
mod filters;
mod history;
mod interpreters;
mod leaks;
mod moves;
mod names;
mod populations;
mod starting;
mod sums;

use std::sync::Arc;

use zmtop::group;
use zmtop::group::{Change, Group, GroupBy, GroupKey};
use zmtop::model::{Facts, ProcessSample, Snapshot};

use crate::support::rows::{process, with_facts};

/// Bytes to share.
fn bytes(text: impl AsRef<[u8]>) -> Arc<[u8]> {
    Arc::from(text.as_ref())
}

/// A process whose kernel's name and program's file are these.
fn program(pid: u32, ppid: u32, comm: &str, exe: &str) -> ProcessSample {
    with_facts(process(pid, ppid, exe), |facts| {
        facts.comm = comm.as_bytes().into();
        facts.exe = Ok(bytes(exe));
    })
}

/// Changes where a process runs and for whom.
fn placed(sample: ProcessSample, user: &str, cgroup: &str, change: impl FnOnce(&mut Facts)) -> ProcessSample {
    with_facts(sample, |facts| {
        facts.user = Ok(bytes(user));
        facts.cgroup = Ok(bytes(cgroup));
        change(facts);
    })
}

/// All the groups of that kind, with no changes.
fn groups(snapshot: &Snapshot, by: GroupBy) -> Vec<Group> {
    group::groups(snapshot, by, |_| true, |_| Some(Change::default()))
}

/// The key of a named group.
fn key(by: GroupBy, name: &str) -> GroupKey {
    GroupKey {
        by,
        name: Some(bytes(name)),
    }
}
