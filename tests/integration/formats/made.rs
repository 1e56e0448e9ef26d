//! Made snapshots of every kind.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::system_account;
use crate::support::rows::{process, snapshot, walk, with_facts};
use proptest::prelude::*;

use zmtop::columns::{COLUMNS, Row, Value};
use zmtop::history::History;
use zmtop::model::cgroup::Count;
use zmtop::model::kernel::{SlabCache, SlabCaches, SlabFigures};
use zmtop::model::kill::KillCause;
use zmtop::model::snapshot::JvmHeap;
use zmtop::model::system::{Pressure, SwapArea, SystemSample, Zram};
use zmtop::model::taker::{HeapUse, KeptPath, MappingUse, Taker};
use zmtop::model::{
    CgroupFigures, Container, ContainerNames, Counted, Exit, Exits, Facts, Held, HeldKind, HeldObject, Identity,
    Memory, Missing, Owner, ProcessSample, Reading, Replaced, Sampling, SelfCost, Snapshot, Stat, Walk,
};

/// Names that anyone could have chosen.
pub(crate) const HOSTILE: [&[u8]; 12] = [
    b"\x1b[2J\x1b]52;c;aGk=\x07",
    b"\x9b31m\xff\xfe\x80",
    "\u{9b}31m \u{85}".as_bytes(),
    "\u{202e}gpj.exe\u{2066}".as_bytes(),
    b"a\nb) R 1 (x\r\t",
    b"\"quoted\", and \\escaped\\",
    "\u{ef80}\u{efff}\u{ef7f}\u{f000}".as_bytes(),
    b"=HYPERLINK(\"http://x\")",
    b"@SUM(1+1)*cmd|' /C calc'!A0",
    b"  -2+3",
    "\u{2028}\u{2029}\u{feff}\u{e0041}\u{0}\u{7f}".as_bytes(),
    b"{\"schema\":\"zmtop/1\"}",
];

/// The heap of a Java virtual machine.
const HEAP: JvmHeap = JvmHeap {
    used: 5,
    capacity: 9,
    old: Ok(3),
    live: Err(Missing::Unsupported),
    old_max: Ok(8),
    collections: 12,
    old_collections: 2,
};

/// Slab caches, whose names modules choose. A small one is not recorded.
fn slab() -> SlabCaches {
    let cache = |name: &[u8], reclaimable, size| SlabCache {
        name: name.into(),
        object_size: 192,
        objects_per_slab: 21,
        reclaimable,
        figures: SlabFigures {
            active: 100,
            objects: 105,
            slabs: 5,
            size,
            used: size - 1280,
        },
    };
    SlabCaches {
        caches: vec![
            cache(b"\x1b[31m \xff", None, 3 << 20),
            cache(b"dentry", Some(true), 1 << 20),
            cache(b"kmalloc-512", Some(false), 2 << 20),
        ],
        malformed: 0,
    }
}

/// The figures of a cgroup, some of which are missing.
fn cgroup() -> CgroupFigures {
    CgroupFigures {
        current: Ok(4096),
        swap: Err(Missing::Denied),
        limit: Ok(None),
        swap_limit: Ok(Some(1 << 20)),
        high: Ok(Some(1 << 30)),
        reclaimable: Ok(1024),
        inactive_file: Ok(512),
        shmem: Ok(128),
        file_mapped: Ok(32),
        anon: Ok(640),
        unmapped: Ok(48),
        kernel: Ok(64),
        major_faults: Ok(Count(7)),
        refaults: Ok(Count(9)),
        oom_kills: Ok(Count(2)),
        throttled: Ok(Count(4)),
        limit_hits: Ok(Count(5)),
        stalled_some: Ok(Duration::from_millis(1500)),
        stalled_full: Err(Missing::Unsupported),
        peak: Ok(8192),
        dying: Ok(Count(3)),
    }
}

/// A process that no snapshot saw, and one that a signal ended, of a kernel that does not count processes.
fn exits(time: SystemTime) -> Exits {
    let short = Exit {
        pid: 31,
        starttime: None,
        ppid: 27,
        parent: Some((*b"w\xff\x1b").into()),
        uid: 1000,
        comm: (*b"cc1\x1b[31m\xfe").into(),
        cgroup: None,
        time: time - Duration::from_millis(1200),
        lifetime: Duration::from_millis(300),
        peak: 1 << 30,
        is_fork: false,
        parent_rss: None,
        code: Some(7),
        signal: None,
    };
    let killed = Exit {
        pid: 32,
        starttime: Some(320),
        ppid: 1,
        parent: None,
        cgroup: Some((*b"/init.scope").into()),
        is_fork: true,
        parent_rss: Some(3 << 20),
        code: None,
        signal: Some(9),
        peak: 20 << 20,
        ..short.clone()
    };
    Exits {
        ended: Err(Missing::Unsupported),
        started: Ok(44),
        lost: 3,
        list: vec![short, killed],
    }
}

/// A snapshot with one of everything: for a picture.
pub(crate) fn small() -> Snapshot {
    let init = with_facts(process(1, 0, "/sbin/init"), |f| {
        f.exe = Ok(Arc::from(&b"/usr/lib/systemd/systemd"[..]));
        f.unit = Some(Arc::from(&b"init.scope"[..]));
        f.cgroup = Ok(Arc::from(&b"/init.scope"[..]));
    });
    let mut worker = with_facts(process(27, 1, "./wörk \x1b[31m"), |f| {
        f.comm = (*b"w\xff\x1b").into();
        f.replaced = Some(Replaced::Deleted);
    });
    worker.shares_mm = Some(Identity { pid: 999, starttime: 0 });
    worker.oom_score = Ok(667);
    worker.peak = Ok(64 << 20);
    worker.page_tables = Ok(1 << 20);
    let object = |kind, name: &[u8], bytes, vram, holders| HeldObject {
        kind,
        name: name.into(),
        bytes,
        vram,
        holders,
        fds: 2,
    };
    worker.held = Some(Arc::new(Ok(Held::new(vec![
        object(HeldKind::Memfd, b"/memfd:\xff\x1b[31m", Ok(12288), 0, 3),
        object(HeldKind::Gpu, b"xe client 1", Ok(8192), 4096, 1),
        object(HeldKind::Bpf, b"map", Err(Missing::Denied), 0, 1),
    ]))));
    worker.stale = true;
    worker.walk = Ok(Walk {
        memory: Memory {
            pss_dirty: Err(Missing::Unsupported),
            shared_clean: 8192,
            ..walk(4096, 4096).memory
        },
        error: 12_345,
        at: Duration::from_millis(60_500),
        cost: Duration::from_micros(250),
    });
    let mut thread = process(2, 0, "kthreadd");
    thread.stat.flags = Stat::PF_KTHREAD;
    thread.walk = Err(Missing::KernelThread);
    let mut other = with_facts(process(30, 1, "/usr/bin/secret"), |f| {
        f.cmdline = Err(Missing::Malformed);
    });
    other.walk = Err(Missing::Denied);
    other.held = Some(Arc::new(Err(Missing::Denied)));
    let mut made = snapshot(Duration::from_secs(70), vec![init, thread, worker, other]);
    made.time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_478_400_123);
    made.sampling = Sampling {
        walks: 2,
        walked: Duration::from_micros(500),
        budget: Some(0.02),
        took: Duration::from_millis(12),
        threads: 2,
        ..Sampling::default()
    };
    made.system = SystemSample {
        mem_total: Ok(16 << 30),
        mem_available: Ok(8 << 30),
        zram: vec![Zram {
            name: "zram0".into(),
            stored: 300,
            compressed: 200,
            limit: Some(400),
            is_swap: true,
        }],
        swaps: Ok(vec![SwapArea {
            path: (*b"/dev/zr\xe4m0").into(),
            kind: "partition".into(),
            size: 1 << 30,
            used: 300,
            priority: Ok(-2),
        }]),
        psi: Ok(Pressure {
            some: [0.1],
            full: [0.0],
        }),
        uptime: Ok(1234.56),
        ..SystemSample::missing(Missing::Unsupported)
    };
    made.accounting = Arc::new(system_account::inputs());
    made.oom_kills = system_account::kills(made.time);
    made.exits = Arc::new(exits(made.time));
    made.oom_counts.add(KillCause::Cgroup, 2);
    made.killers = Arc::from([("systemd-oomd", Ok(())), ("earlyoom", Err(Missing::Denied))]);
    made.cgroups = Arc::new([(Arc::from(&b"/init.scope"[..]), cgroup())].into());
    made.kernel.slab = Ok(Arc::new(slab()));
    let id = made.rows()[0].id;
    made.jvms = Arc::new([(id, Ok(HEAP))].into());
    made.address_limits = Arc::new([(id, 1 << 31)].into());
    made.takers = takers(id, made.time);
    made
}

/// A process that was read, with its code, and one that was not.
fn takers(id: Identity, now: SystemTime) -> Arc<[Taker]> {
    let read = Taker {
        id,
        comm: (*b"caf\xe9").into(),
        time: now,
        memory: Ok(2 << 30),
        heap: Ok(HeapUse {
            in_use: 1900 << 20,
            free: 80 << 20,
            kept: 60 << 20,
        }),
        mappings: Ok(vec![MappingUse {
            name: (*b"/dev/shm/caf\xe9").into(),
            bytes: 1800 << 20,
        }]),
        kept_by: Some(KeptPath {
            functions: vec!["remember<\u{1b}[31m>".into(), "handle server.c:88".into()],
            runtime: Some("Java machine".into()),
            bytes: 94 << 20,
            total: 100 << 20,
            span: Duration::from_millis(61_500),
        }),
    };
    let unread = Taker {
        memory: Err(Missing::Gone),
        heap: Err(Missing::Unsupported),
        mappings: Err(Missing::Gone),
        kept_by: None,
        ..read.clone()
    };
    Arc::from([read, unread])
}

/// A snapshot of as many processes as a name each of [`HOSTILE`] gives, in every field that has one.
pub(crate) fn hostile() -> Snapshot {
    let rows = HOSTILE.iter().enumerate().map(|(i, name)| {
        with_facts(process(i as u32 + 1, 0, "x"), |f| {
            let shared: Arc<[u8]> = Arc::from(*name);
            f.comm = (*name).into();
            f.cmdline = Ok([*name, b"\0", name, b"\0"].concat().into());
            f.user = Ok(Arc::clone(&shared));
            f.cgroup = Ok(Arc::clone(&shared));
            f.exe = Ok(Arc::clone(&shared));
            f.unit = Some(Arc::clone(&shared));
            f.container = Some(Arc::new(Container {
                id: (*shared).into(),
                names: Ok(ContainerNames {
                    name: (*shared).into(),
                    pod: Some((*shared).into()),
                    namespace: None,
                    image: Some((*shared).into()),
                }),
            }));
        })
    });
    let mut made = snapshot(Duration::from_secs(5), rows.collect());
    made.host = Arc::from(HOSTILE.concat());
    made
}

fn reading<T: std::fmt::Debug + 'static>(value: impl Strategy<Value = T> + 'static) -> BoxedStrategy<Reading<T>> {
    let why = prop_oneof![
        Just(Missing::Denied),
        Just(Missing::Gone),
        Just(Missing::Unsupported),
        Just(Missing::TimedOut),
        Just(Missing::Malformed),
        any::<i32>().prop_map(Missing::Errno),
    ];
    prop_oneof![3 => value.prop_map(Ok), 1 => why.prop_map(Err)].boxed()
}

fn bytes() -> BoxedStrategy<Vec<u8>> {
    prop_oneof![
        3 => "[a-z/ ]{0,12}".prop_map(String::into_bytes),
        2 => proptest::collection::vec(any::<u8>(), 0..12),
        1 => (0..HOSTILE.len()).prop_map(|i| HOSTILE[i].to_vec()),
    ]
    .boxed()
}

fn shared() -> BoxedStrategy<Arc<[u8]>> {
    bytes().prop_map(Arc::from).boxed()
}

fn memory() -> BoxedStrategy<Memory> {
    let plain = any::<[u64; 7]>();
    let later = [(); 9].map(|()| reading(any::<u64>()));
    (plain, later)
        .prop_map(|(plain, later)| {
            let [rss, pss, shared_clean, shared_dirty, private_clean, private_dirty, swap] = plain;
            let [
                pss_dirty,
                pss_anon,
                pss_file,
                pss_shmem,
                shared_hugetlb,
                private_hugetlb,
                anon_huge,
                lazy_free,
                swap_pss,
            ] = later;
            Memory {
                rss,
                pss,
                pss_dirty,
                pss_anon,
                pss_file,
                pss_shmem,
                shared_clean,
                shared_dirty,
                private_clean,
                private_dirty,
                shared_hugetlb,
                private_hugetlb,
                anon_huge,
                lazy_free,
                swap,
                swap_pss,
            }
        })
        .boxed()
}

fn container() -> BoxedStrategy<Arc<Container>> {
    let optional = || proptest::option::of(bytes());
    let named = (bytes(), (bytes(), optional(), optional(), optional()));
    let named = named.prop_map(|(id, (name, pod, namespace, image))| {
        let boxed = |text: Option<Vec<u8>>| text.map(Into::into);
        let names = ContainerNames {
            name: name.into(),
            pod: boxed(pod),
            namespace: boxed(namespace),
            image: boxed(image),
        };
        Container {
            id: id.into(),
            names: Ok(names),
        }
    });
    let unnamed = ("[0-9a-f]{12,64}", reading(Just(()))).prop_filter_map("a reason", |(id, names)| {
        let names = Err(names.err()?);
        Some(Container {
            id: id.into_bytes().into(),
            names,
        })
    });
    prop_oneof![named, unnamed].prop_map(Arc::new).boxed()
}

fn facts() -> BoxedStrategy<Facts> {
    let paths = (
        reading(bytes()),
        reading(shared()),
        reading(shared()),
        reading(shared()),
    );
    let replaced = prop_oneof![Just(None), Just(Some(Replaced::Updated)), Just(Some(Replaced::Deleted))];
    let names = (
        proptest::option::of(shared()),
        proptest::option::of(container()),
        reading(any::<u32>()),
        proptest::option::of((any::<u32>(), shared()).prop_map(|(uid, name)| Arc::new(Owner { uid, name }))),
    );
    (bytes(), paths, replaced, names)
        .prop_map(
            |(comm, (cmdline, exe, user, cgroup), replaced, (unit, container, uid, owner))| Facts {
                comm: comm.into(),
                cmdline: cmdline.map(Into::into),
                exe,
                replaced,
                uid,
                user,
                owner,
                cgroup,
                unit,
                container,
                host: None,
            },
        )
        .boxed()
}

fn sample() -> BoxedStrategy<ProcessSample> {
    let walk = (memory(), 0..60_000_u64, 0..60_000_u64).prop_map(|(memory, at, cost)| Walk {
        memory,
        error: at * 7,
        at: Duration::from_micros(at),
        cost: Duration::from_nanos(cost),
    });
    let hidden = prop_oneof![
        Just(Missing::KernelThread),
        Just(Missing::Zombie),
        Just(Missing::Pending)
    ];
    let walk = prop_oneof![4 => reading(walk), 1 => hidden.prop_map(Err)];
    let figures = any::<[u64; 7]>();
    let stat = (any::<u8>(), any::<u32>(), figures).prop_map(|(state, ppid, figures)| {
        let [flags, minflt, majflt, cpu_ticks, threads, vsize, rss] = figures;
        Stat {
            state,
            ppid,
            flags,
            minflt,
            majflt,
            cpu_ticks,
            threads,
            vsize,
            rss,
            ..Stat::default()
        }
    });
    let rest = (
        any::<u32>(),
        any::<bool>(),
        reading(any::<u32>()),
        [reading(any::<u64>()), reading(any::<u64>()), reading(any::<u64>())],
        any::<(Option<u32>, Option<u32>)>(),
    );
    (1..999_u32, any::<u64>(), stat, facts(), walk, rest)
        .prop_map(
            |(pid, starttime, stat, facts, walk, (exec, stale, oom_score, [data, peak, page_tables], (anon, swap)))| {
                ProcessSample {
                    id: Identity { pid, starttime },
                    exec,
                    stat,
                    facts: Arc::new(facts),
                    walk,
                    data,
                    stale,
                    oom_score,
                    peak,
                    page_tables,
                    shares_mm: None,
                    counted: Counted::new(
                        anon.map(|kib| u64::from(kib) << 10),
                        swap.map(|kib| u64::from(kib) << 10),
                    ),
                    held: None,
                }
            },
        )
        .boxed()
}

fn system() -> BoxedStrategy<SystemSample> {
    let psi = (0.0_f32..100.0, 0.0_f32..100.0).prop_map(|(some, full)| Pressure {
        some: [some],
        full: [full],
    });
    let area = (bytes(), any::<u64>(), reading(any::<i32>())).prop_map(|(path, size, priority)| SwapArea {
        path: path.into(),
        kind: "file".into(),
        size,
        used: size / 3,
        priority,
    });
    let swaps = reading(proptest::collection::vec(area, 0..3));
    let one = (reading(any::<u64>()), reading(any::<u64>()), reading(any::<u64>()));
    let limit = (reading(any::<u64>()), reading(any::<Option<u64>>())).prop_map(|(current, limit)| CgroupFigures {
        current,
        limit,
        ..CgroupFigures::missing(Missing::Gone)
    });
    let huge = (reading(any::<u64>()), reading(any::<u64>()));
    (one, swaps, reading(psi), reading(0.0..1e7), limit, huge)
        .prop_map(
            |((mem_total, zswap, pswpin), swaps, psi, uptime, limit, (lru, huge_free))| SystemSample {
                limit,
                mem_total,
                lru,
                huge_free,
                zswap,
                pswpin,
                swaps,
                psi,
                uptime,
                ..SystemSample::missing(Missing::TimedOut)
            },
        )
        .boxed()
}

fn any_exits() -> BoxedStrategy<Exits> {
    let names = (bytes(), proptest::option::of(bytes()), proptest::option::of(bytes()));
    let ids = any::<(u32, Option<u64>, u32, u32)>();
    let end = any::<(bool, Option<u64>, Option<u32>, Option<u32>)>();
    let one = (ids, names, 0..99_999_u64, any::<u64>(), end).prop_map(
        |((pid, starttime, ppid, uid), (comm, parent, cgroup), time, peak, (is_fork, parent_rss, code, signal))| Exit {
            pid,
            starttime,
            ppid,
            parent: parent.map(Into::into),
            uid,
            comm: comm.into(),
            cgroup: cgroup.map(Into::into),
            time: SystemTime::UNIX_EPOCH + Duration::from_millis(time * 1001),
            lifetime: Duration::from_micros(time * 7),
            peak,
            is_fork,
            parent_rss,
            code,
            signal,
        },
    );
    let counts = (reading(any::<u64>()), reading(any::<u64>()), any::<u64>());
    (counts, proptest::collection::vec(one, 0..3))
        .prop_map(|((ended, started, lost), list)| Exits {
            ended,
            started,
            lost,
            list,
        })
        .boxed()
}

/// Snapshots of anything.
pub(crate) fn any_snapshot() -> BoxedStrategy<Snapshot> {
    let rows = reading(proptest::collection::vec(sample(), 0..6));
    // Ninety days: so long a time is exact to the nanosecond in a double.
    let clock = (0..99_999_u64, 60_000..7_776_000_000_000_u64);
    let own = reading((0..999_999_u64, any::<u64>()).prop_map(|(cpu, rss)| SelfCost {
        cpu: Duration::from_micros(cpu),
        rss,
    }));
    let boot_id = reading("[0-9a-f-]{0,36}");
    (rows, clock, shared(), boot_id, own, system(), any_exits())
        .prop_map(
            |(rows, (time, monotonic), host, boot_id, own, system, exits)| Snapshot {
                exits: Arc::new(exits),
                time: SystemTime::UNIX_EPOCH + Duration::from_millis(time * 1001),
                monotonic: Duration::from_micros(monotonic),
                host,
                boot_id: boot_id.map(Into::into),
                own,
                system,
                processes: rows.map(|mut rows| {
                    rows.sort_by_key(|row| row.id);
                    rows.dedup_by_key(|row| row.id);
                    let first = rows.first().map(|row| row.id);
                    for row in rows.iter_mut().skip(1).step_by(2) {
                        row.shares_mm = first;
                    }
                    rows
                }),
                ..snapshot(Duration::ZERO, Vec::new())
            },
        )
        .boxed()
}

/// Every column of every row, as it would be told.
pub(crate) fn told(snapshot: &Snapshot) -> Vec<(u32, &'static str, String)> {
    let mut history = History::new(Duration::from_secs(10));
    history.push(snapshot);
    let mut cells = Vec::new();
    for sample in snapshot.rows() {
        let row = Row::of_process(sample, history.get(sample.id), snapshot);
        for column in COLUMNS {
            let value = (column.value)(&row);
            let text = match &value {
                Value::Chart(line, slope) => format!("{:?} {slope:?}", line.recent(60)),
                value => format!("{value:?}"),
            };
            cells.push((sample.id.pid, column.id, text));
        }
    }
    cells
}
