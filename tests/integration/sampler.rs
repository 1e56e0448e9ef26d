//! The sampler: on a made proc tree, and on this machine's.

mod activity;
mod births;
mod cgroups;
mod changes;
mod close_looks;
mod containers;
mod estimate;
mod exits;
mod facts;
mod heaps;
pub(crate) mod held;
mod kernel_tables;
mod life;
mod margin;
mod plan;
mod program;
mod rotation;
mod rows;
mod simulation;
mod spaces;
mod system_account;
mod task;
mod twins;
mod users;
mod whole;

use zmtop::model::{Identity, ProcessSample, Snapshot};
use zmtop::sampler::Scanner;

use crate::support::block_on;

/// The row of a pid; there must be one, and no more.
fn row(snapshot: &Snapshot, pid: u32) -> &ProcessSample {
    let mut rows = snapshot.rows().iter().filter(|p| p.id.pid == pid);
    let row = rows.next().unwrap();
    assert!(rows.next().is_none());
    row
}

fn pids(snapshot: &Snapshot) -> Vec<u32> {
    snapshot.rows().iter().map(|p| p.id.pid).collect()
}

#[test]
fn sees_itself() {
    let mut scanner = Scanner::new(&crate::support::machine_options());
    let snapshot = block_on(scanner.full());
    let own = row(&snapshot, std::process::id());
    let memory = own.memory().unwrap();
    assert!(memory.pss > 0 && memory.rss >= memory.uss());
    let arguments: Vec<_> = std::env::args()
        .flat_map(|a| [a.into_bytes(), vec![0]].concat())
        .collect();
    assert_eq!(own.facts.cmdline.as_deref(), Ok(&*arguments));
    assert_eq!(own.stat.ppid, std::os::unix::process::parent_id());
    let uid = rustix::process::getuid().as_raw();
    assert_eq!(own.facts.uid, Ok(uid));
    assert!(own.facts.user.is_ok());
    assert_eq!(
        own.id,
        Identity {
            pid: std::process::id(),
            ..own.id
        }
    );
    assert!(own.id.starttime > 0);
    assert!(snapshot.system.mem_total.unwrap() > 1 << 20);
    assert!(snapshot.own.unwrap().rss > 0);
    assert!(snapshot.sampling.walks > 0 && snapshot.sampling.threads > 0);
    assert_eq!(snapshot.tick, 1);
    assert!(!snapshot.host.is_empty());
    assert!(pids(&snapshot).is_sorted());
}

#[test]
fn kernel_threads_are_never_walked() {
    let snapshot = block_on(Scanner::new(&crate::support::machine_options()).full());
    for row in snapshot.rows().iter().filter(|p| p.stat.is_kernel_thread()) {
        assert_eq!(row.walk, Err(zmtop::model::Missing::KernelThread));
    }
}
