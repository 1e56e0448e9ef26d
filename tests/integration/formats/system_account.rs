//! Made inputs of a snapshot for the account of the system, and made kills.

use std::sync::Arc;
use std::time::SystemTime;

use zmtop::model::Missing;
use zmtop::model::kill::{Constraint, DaemonKill, OomKill, OomLimit, OomVictim, RssParts};
use zmtop::model::system::{
    AccountingInputs, HugePool, MemoryMount, Pressure, SysvCreator, SysvShm, Zones, ZramDevice,
};

/// Inputs of every kind, some of them missing.
pub(super) fn inputs() -> AccountingInputs {
    AccountingInputs {
        zones: Ok(Zones {
            present: 9,
            managed: 8,
            free_lists: 7,
        }),
        zram: Ok(vec![ZramDevice {
            name: "zram0".into(),
            size: Ok(1 << 30),
            stored: 300,
            same_filled: Ok(100),
            limit: Err(Missing::Malformed),
            used: 200,
            on_disk: Err(Missing::Unsupported),
        }]),
        huge: Ok(vec![HugePool {
            page: 2 << 20,
            total: 4 << 20,
            free: 0,
        }]),
        ksm: Err(Missing::Denied),
        zswap_on: Ok(true),
        thp: Ok("madvise".into()),
        pressure: Ok(Pressure {
            some: [0.1, 0.2, 0.3],
            full: [0.0; 3],
        }),
        sysv: Ok(SysvShm {
            segments: 2,
            resident: 4096,
            swapped: 8192,
            creator: Ok(SysvCreator {
                uid: 1000,
                pid: 77,
                resident: 4096,
            }),
            locked: Ok(4096),
        }),
        mounts: Ok(vec![MemoryMount {
            device: 23,
            path: (*b"/dev/sh\xe4m\x1b[31m").into(),
            kind: "tmpfs".into(),
            used: Err(Missing::TimedOut),
            size: Ok(1 << 30),
        }]),
        ..AccountingInputs::missing(Missing::Unsupported)
    }
}

/// A kill of which the log has everything, one by a daemon, one of an older recording, and one whose victim is not known.
pub(super) fn kills(time: SystemTime) -> Arc<[OomKill]> {
    let kill = |record, victim| OomKill {
        time,
        monotonic_ms: Ok(1234),
        record,
        daemon: None,
        victim,
    };
    let old = OomVictim {
        pid: 7,
        uid: None,
        comm: (*b"ev\xffil) (").into(),
        rss: 1 << 30,
        by_cgroup: true,
        parts: None,
        page_tables: None,
        constraint: None,
        limit: None,
        cgroup: None,
        group: None,
    };
    let whole = OomVictim {
        parts: Some(RssParts {
            anon: 1 << 30,
            file: 0,
            shmem: 0,
        }),
        page_tables: Some(3 << 20),
        constraint: Some(Constraint::Cgroup),
        limit: Some(OomLimit {
            cgroup: (*b"/sh\xffop").into(),
            size: Some(2 << 30),
            usage: None,
            files: None,
        }),
        cgroup: Some((*b"/sh\xffop/web").into()),
        group: Some((*b"/sh\xffop/web").into()),
        uid: Some(1000),
        ..old.clone()
    };
    [
        kill(Some(812), Ok(whole)),
        OomKill {
            daemon: Some(DaemonKill {
                name: "systemd-oomd".into(),
                others: 3,
            }),
            ..kill(None, Ok(old.clone()))
        },
        kill(None, Ok(old)),
        kill(None, Err(Missing::Denied)),
    ]
    .into()
}
