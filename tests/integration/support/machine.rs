//! The made machine: its processes, its cgroups and what the system says of itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use zmtop::model::system::{Pressure, SwapArea, Zram};
use zmtop::model::{CgroupFigures, Missing, ProcessSample, Sampling, SelfCost, Snapshot};

use super::rows::{MIB, process, snapshot, walk, with_facts};

/// The made machine's processes after so many steps.
pub(crate) fn busy(step: u64) -> Vec<ProcessSample> {
    let user = |name: &'static [u8], uid: u32, p: ProcessSample| {
        with_facts(p, |f| {
            f.user = Ok(Arc::from(name));
            f.uid = Ok(uid);
        })
    };
    let with = |p: ProcessSample, pss: u64, swap: u64| ProcessSample {
        walk: Ok(walk(pss, swap)),
        ..p
    };
    let mut kernel = process(2, 0, "");
    kernel.stat.flags = zmtop::model::Stat::PF_KTHREAD;
    kernel.walk = Err(Missing::KernelThread);
    let kernel = with_facts(kernel, |f| {
        f.comm = b"kthreadd"[..].into();
        f.cmdline = Ok(Box::default());
    });
    let mut hidden = process(700, 1, "/usr/sbin/secretd --quiet");
    hidden.walk = Err(Missing::Denied);
    let postgres = |pid, parent, title, pss, swap| {
        user(
            b"postgres",
            110,
            with(process(pid, parent, title), pss * MIB, swap * MIB),
        )
    };
    vec![
        with(process(1, 0, "/sbin/init"), 9 * MIB, 0),
        kernel,
        postgres(400, 1, "/usr/bin/postgres -D /var/lib/postgresql", 310, 12),
        postgres(401, 400, "postgres: checkpointer", 120, 4),
        postgres(402, 400, "postgres: alice orders idle", 96, 700 - 20 * step),
        hidden,
        user(
            b"alice",
            1000,
            with(
                process(900, 1, "/usr/bin/python3 train.py --epochs 40"),
                (1000 + 30 * step) * MIB,
                0,
            ),
        ),
        user(
            b"alice",
            1000,
            with(process(901, 900, "/usr/bin/python3 worker.py"), 450 * MIB, 90 * MIB),
        ),
    ]
}

/// The made machine's processes in units, containers and cgroups; the program of one was replaced.
pub(crate) fn grouped(step: u64) -> Vec<ProcessSample> {
    let mut processes = busy(step);
    processes.push(process(950, 1, "/usr/sbin/nginx -g daemon off;"));
    processes.push(process(951, 950, "nginx: worker process"));
    processes
        .into_iter()
        .map(|p| {
            let pid = p.id.pid;
            with_facts(p, |f| {
                let (program, unit, cgroup): (&str, &str, &str) = match pid {
                    400..500 => ("postgres", "postgresql.service", "/system.slice/postgresql.service"),
                    700 => ("secretd", "secretd.service", "/system.slice/secretd.service"),
                    900..950 => ("python3", "session-2.scope", "/user.slice/session-2.scope"),
                    950.. => ("nginx", "docker.service", CONTAINER),
                    _ => ("init", "init.scope", "/init.scope"),
                };
                if pid != 2 {
                    f.comm = program.as_bytes().into();
                    f.exe = Ok(Arc::from(format!("/usr/bin/{program}").into_bytes()));
                    f.unit = (pid < 950).then(|| Arc::from(unit.as_bytes()));
                    f.container = (pid >= 950).then(|| zmtop::model::Container::of_pod(b"shop/checkout-7d9f"));
                    f.cgroup = Ok(Arc::from(cgroup.as_bytes()));
                }
                if pid == 951 {
                    f.replaced = Some(zmtop::model::Replaced::Updated);
                }
            })
        })
        .collect()
}

/// A cgroup of a container.
const CONTAINER: &str = "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Returns the figures of the cgroups of those processes.
pub(crate) fn cgroups() -> BTreeMap<Arc<[u8]>, CgroupFigures> {
    let of = |current: u64, limit: Option<u64>| CgroupFigures {
        current: Ok(current * MIB),
        limit: Ok(limit.map(|n| n * MIB)),
        swap: Ok(0),
        swap_limit: Ok(None),
        ..CgroupFigures::missing(Missing::Unlimited)
    };
    [
        ("/init.scope", of(12, None)),
        ("/system.slice/postgresql.service", of(900, Some(2048))),
        ("/user.slice/session-2.scope", of(2000, None)),
        (CONTAINER, of(64, Some(256))),
    ]
    .into_iter()
    .map(|(path, figures)| (Arc::from(path.as_bytes()), figures))
    .collect()
}

/// A snapshot of the made machine with these processes.
pub(crate) fn machine(now: Duration, processes: Vec<ProcessSample>) -> Snapshot {
    let mut processes = processes;
    for walk in processes.iter_mut().filter_map(|p| p.walk.as_mut().ok()) {
        walk.at = now;
    }
    let mut made = snapshot(now, processes);
    let gib = |n: f64| Ok((n * 1024.0 * MIB as f64) as u64);
    let s = &mut made.system;
    s.mem_total = gib(23.5);
    s.mem_free = gib(8.0);
    s.mem_available = gib(13.9);
    s.buffers = gib(0.1);
    s.cached = gib(4.2);
    s.shmem = gib(0.3);
    s.anon_pages = gib(6.2);
    s.slab = gib(0.5);
    s.swap_total = gib(3.0);
    s.swap_free = gib(1.6);
    s.zswap = Ok(0);
    s.zswapped = Ok(0);
    s.zram = vec![Zram {
        name: "zram0".into(),
        stored: 1200 * MIB,
        compressed: 410 * MIB,
        limit: None,
        is_swap: true,
    }];
    s.swaps = Ok(vec![
        SwapArea {
            path: b"/dev/zram0"[..].into(),
            kind: "partition".into(),
            size: 2048 * MIB,
            used: 1200 * MIB,
            priority: Ok(100),
        },
        SwapArea {
            path: b"/swapfile"[..].into(),
            kind: "file".into(),
            size: 1024 * MIB,
            used: 233 * MIB,
            priority: Ok(-2),
        },
    ]);
    s.pswpin = Ok(0);
    s.pswpout = Ok(now.as_secs() * 12 * 1024);
    s.pgmajfault = Ok(now.as_secs() * 12);
    s.psi = Ok(Pressure {
        some: [0.1],
        full: [0.0],
    });
    s.uptime = Ok(12.3 * 86_400.0);
    s.loadavg = Ok([0.42, 0.31, 0.2]);
    made.own = Ok(SelfCost {
        cpu: now / 500,
        rss: 11 * MIB,
    });
    made.sampling = Sampling {
        walks: 6,
        walked: Duration::from_millis(2),
        budget: Some(0.05),
        waiting: 0,
        stuck: 0,
        doubtful: 0,
        threads: 2,
        took: Duration::from_millis(12),
    };
    made
}
