//! Made OOM kills.

use std::time::{Duration, SystemTime};

use zmtop::model::kill::{Constraint, DaemonKill, OomKill, OomLimit, OomVictim, RssParts};

use crate::support::rows::MIB;

/// A kill in that second: its record, its pid and name, its MiB, and the cgroup whose limit of 150 MiB was reached.
pub(crate) fn killed(second: u64, record: u64, pid: u32, comm: &str, mib: u64, limit: Option<&str>) -> OomKill {
    let at = Duration::from_secs(second);
    OomKill {
        time: SystemTime::UNIX_EPOCH + at,
        monotonic_ms: Ok(second * 1000),
        record: Some(record),
        daemon: None,
        victim: Ok(OomVictim {
            pid,
            uid: None,
            comm: comm.as_bytes().into(),
            rss: mib * MIB,
            by_cgroup: limit.is_some(),
            parts: Some(RssParts {
                anon: mib * MIB,
                ..RssParts::default()
            }),
            page_tables: Some(mib * MIB / 100),
            constraint: Some(limit.map_or(Constraint::None, |_| Constraint::Cgroup)),
            limit: limit.map(|path| OomLimit {
                cgroup: path.as_bytes().into(),
                size: Some(150 * MIB),
                usage: Some(150 * MIB),
                files: None,
            }),
            cgroup: Some(limit.unwrap_or("/").as_bytes().into()),
            group: None,
        }),
    }
}

/// A kill by `systemd-oomd` in that second, of a process of `/shop` and so many others of it.
pub(crate) fn killed_by_daemon(second: u64, pid: u32, comm: &str, mib: u64, others: u64) -> OomKill {
    let mut kill = killed(second, 0, pid, comm, mib, None);
    kill.record = None;
    kill.daemon = Some(DaemonKill {
        name: "systemd-oomd".into(),
        others,
    });
    if let Ok(victim) = &mut kill.victim {
        (victim.parts, victim.page_tables, victim.constraint) = (None, None, None);
        victim.cgroup = Some((*b"/shop/web").into());
        victim.group = (others > 0).then(|| (*b"/shop").into());
    }
    kill
}
