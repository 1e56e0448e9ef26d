//! Made processes and snapshots.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zmtop::model::{Counted, Facts, Identity, Memory, Missing, Owner, ProcessSample, SelfCost, Snapshot, Stat, Walk};

/// One mebibyte.
pub(crate) const MIB: u64 = 1 << 20;

/// A sleeping process of root's with 10 MiB of PSS, all of it anonymous and private.
pub(crate) fn process(pid: u32, ppid: u32, command: &str) -> ProcessSample {
    let comm = command.split(' ').next().unwrap_or_default();
    let comm = comm.rsplit('/').next().unwrap_or_default();
    ProcessSample {
        id: Identity {
            pid,
            starttime: u64::from(pid) * 10,
        },
        exec: 0,
        stat: Stat {
            state: b'S',
            ppid,
            threads: 1,
            ..Stat::default()
        },
        facts: Arc::new(Facts {
            comm: comm.as_bytes().into(),
            cmdline: Ok(command.replace(' ', "\0").into_bytes().into()),
            uid: Ok(0),
            user: Ok(Arc::from(&b"root"[..])),
            owner: None,
            cgroup: Ok(Arc::from(&b"/"[..])),
            unit: None,
            container: None,
            exe: Err(Missing::Pending),
            replaced: None,
            host: None,
        }),
        walk: Ok(walk(10 * MIB, 0)),
        data: Err(Missing::Pending),
        stale: false,
        oom_score: Err(Missing::Pending),
        peak: Err(Missing::Pending),
        page_tables: Err(Missing::Pending),
        shares_mm: None,
        counted: Counted::default(),
        held: None,
    }
}

/// A process of init's that has so much PSS, all of it anonymous and private.
pub(crate) fn with_pss(pid: u32, command: &str, pss: u64) -> ProcessSample {
    ProcessSample {
        walk: Ok(walk(pss, 0)),
        ..process(pid, 1, command)
    }
}

/// Adds so many mapped bytes of files to a process, whose other memory is anonymous.
pub(crate) fn with_file(mut sample: ProcessSample, bytes: u64) -> ProcessSample {
    let memory = &mut sample.walk.as_mut().expect("it was read").memory;
    (memory.pss_anon, memory.pss_file) = (Ok(memory.pss), Ok(bytes));
    memory.pss += bytes;
    sample
}

/// Makes the process run under a subordinate uid of `user{owner}`.
pub(crate) fn subordinate(sample: ProcessSample, uid: u32, owner: u32) -> ProcessSample {
    with_facts(sample, |facts| {
        (facts.uid, facts.user) = (Ok(uid), Ok(uid.to_string().into_bytes().into()));
        let name = format!("user{owner}").into_bytes().into();
        facts.owner = Some(Arc::new(Owner { uid: owner, name }));
    })
}

/// Puts a process into a cgroup.
pub(crate) fn in_cgroup(sample: ProcessSample, path: &str) -> ProcessSample {
    with_facts(sample, |facts| facts.cgroup = Ok(path.as_bytes().into()))
}

/// A walk at the clock's zero that saw so much PSS, anonymous and private, and so much swap.
pub(crate) fn walk(pss: u64, swap: u64) -> Walk {
    Walk {
        memory: Memory {
            rss: pss,
            pss,
            pss_anon: Ok(pss),
            private_dirty: pss,
            swap,
            swap_pss: Ok(swap),
            ..Memory::default()
        },
        error: 0,
        at: Duration::ZERO,
        cost: Duration::ZERO,
    }
}

/// Changes the facts of a process.
pub(crate) fn with_facts(mut sample: ProcessSample, change: impl FnOnce(&mut Facts)) -> ProcessSample {
    let mut facts = (*sample.facts).clone();
    change(&mut facts);
    sample.facts = Arc::new(facts);
    sample
}

/// A snapshot of a machine that had been up for 100,000 seconds, and so many more.
pub(crate) fn later(second: u64, processes: Vec<ProcessSample>) -> Snapshot {
    let mut made = snapshot(Duration::from_secs(100_000 + second), processes);
    made.system.uptime = Ok(100_000.0 + second as f64);
    made
}

/// A snapshot of these processes at that moment; nothing is known of the system.
pub(crate) fn snapshot(at: Duration, processes: Vec<ProcessSample>) -> Snapshot {
    Snapshot {
        time: SystemTime::UNIX_EPOCH + at,
        tick: 1,
        host: Arc::from(&b"db1"[..]),
        boot_id: Ok(Arc::from("boot")),
        own: Ok(SelfCost::default()),
        processes: Ok(processes),
        ..Snapshot::missing(at, Duration::from_secs(1), Missing::Unsupported)
    }
}
