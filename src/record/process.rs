//! A process of `zmtop/1`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::cgroup::is_usual_path;
use crate::model::held::share;
use crate::model::memory::MemoryFigure;
use crate::model::{
    Container, ContainerNames, Counted, Facts, Held, Identity, Memory, Missing, Owner, ProcessSample, Reading,
    Replaced, Stat, Walk,
};
use crate::record::held::HeldRecord;
use crate::record::unread::{MissingFields, Reasons, Unread};
use crate::record::{bytes, seconds};
use crate::schema::{self, described};
use crate::text::lossless;

/// The key in `unread` for all figures of a walk together.
const MEMORY: &str = "memory";

/// Defines the record of a process.
///
/// `counters` are fields of [`Stat`]. In `memory` a `figure` is a field of [`Memory`]. A `sum` is one of its methods; it is
/// written for other readers and not read back. All names are the same as in the model.
macro_rules! define_process {
    (
        counters: $($(#[doc = $counter_help:literal])+ $counter:ident: $unit:expr;)*
        memory: $($(figure $figure:ident)? $($(#[doc = $sum_help:literal])+ sum $sum:ident)?,)*
    ) => {
        described! {
            #[derive(Debug, Deserialize, Serialize)]
            pub(super) struct Process<'a> {
                /// Its pid.
                pub(super) pid: u32 = id(),
                /// Start time in clock ticks since boot. Together with the pid it identifies the process.
                pub(super) starttime: u64 = id(),
                /// The pid of its parent.
                ppid: Option<u32> = id(),
                /// Its session. It differs from its parent's if it leads one, or if its first parent ended.
                session: Option<u32> = id(),
                /// Its effective user.
                uid: Option<u32> = id().unread(),
                /// The name of that user.
                user: Option<Cow<'a, str>> = foreign().unread(),
                /// The user whose subordinate uid it runs under.
                #[serde(skip_serializing_if = "Option::is_none")]
                owner: Option<Cow<'a, str>> = foreign().absent(NOT_SUBORDINATE),
                /// The uid of that user, or the first uid of the range.
                #[serde(skip_serializing_if = "Option::is_none")]
                owner_uid: Option<u32> = id().absent(NOT_SUBORDINATE),
                /// Its short name, which it may set.
                comm: Option<Cow<'a, str>> = foreign(),
                /// Its command line, with a NUL after each argument.
                cmdline: Option<Cow<'a, str>> = foreign().unread(),
                /// The path of its program.
                #[serde(default, skip_serializing_if = "OnRequest::is_absent")]
                exe: OnRequest<Cow<'a, str>> = foreign().unread().absent(ON_REQUEST),
                /// The state of its program's file if it was replaced.
                replaced: Option<Cow<'a, str>> = one_of(["updated", "deleted"]).null("the file is in place, or unknown"),
                /// Its systemd unit.
                unit: Option<Cow<'a, str>> = foreign().null("it is in none"),
                /// The name of its container, or the first 12 digits of the id if the name is unknown.
                container: Option<Cow<'a, str>> = foreign().null("it is in none"),
                /// The whole id of its container; if it has none, the name of the container's cgroup. Below `user@1000/` if a user
                /// runs it.
                #[serde(skip_serializing_if = "Option::is_none")]
                container_id: Option<Cow<'a, str>> = foreign().absent(OUTSIDE),
                /// The pod of its container in Kubernetes.
                #[serde(skip_serializing_if = "Option::is_none")]
                pod: Option<Cow<'a, str>> = foreign().absent(OUTSIDE),
                /// The namespace of that pod, or the project of Docker Compose.
                #[serde(skip_serializing_if = "Option::is_none")]
                namespace: Option<Cow<'a, str>> = foreign().absent(OUTSIDE),
                /// The image of its container. `unread` has the reason if the names of the container are unknown.
                #[serde(skip_serializing_if = "Option::is_none")]
                image: Option<Cow<'a, str>> = foreign().absent(OUTSIDE),
                /// The path of its cgroup.
                cgroup: Option<Cow<'a, str>> = foreign().unread(),
                /// Its state: R, S, D, Z, T and so on.
                state: Option<Cow<'a, str>> = text(),
                $($(#[doc = $counter_help])+ $counter: Option<u64> = $unit,)*
                /// RSS from `stat`: cheaper and less exact than `rss`.
                stat_rss: Option<u64> = bytes(),
                /// The kernel's flags (`PF_…`).
                flags: Option<u64> = id(),
                /// The number of observed execs.
                exec: Option<u32> = count(),
                /// The pid of the process whose address space it shares. Sums count the memory once.
                shares_mm: Option<u32> = id().null("it shares none"),
                $($(#[doc = "A figure of [`Memory`]."] $figure: Option<u64> = bytes().unread(),)? $($(#[doc = $sum_help])+ $sum: Option<u64> = bytes().unread(),)?)*
                /// Upper bound on the error of `pss` and `swap_pss` together.
                pss_error: Option<u64> = bytes().unread(),
                /// Time since the last walk, from which the memory figures are updated. Figures of huge pages are that old.
                age_s: Option<f64> = seconds().unread(),
                /// CPU time of the walk.
                walk_s: Option<f64> = seconds().unread(),
                /// `pss_error` is more than 1 % and more than 1 MiB, or the process's counters were not read in time.
                stale: Option<bool> = switch(),
                /// Private writable address space (`VmData`), touched or not.
                #[serde(default, skip_serializing_if = "OnRequest::is_absent")]
                data: OnRequest<u64> = bytes().unread().absent(ON_REQUEST),
                /// `oom_score`, from 0 to 2000. The kernel kills the process with the highest one first.
                #[serde(default, skip_serializing_if = "OnRequest::is_absent")]
                oom_score: OnRequest<u32> = id().unread().absent(ON_REQUEST),
                /// The highest RSS since its start or its last exec (`VmHWM`).
                #[serde(default, skip_serializing_if = "OnRequest::is_absent")]
                peak: OnRequest<u64> = bytes().unread().absent(ON_REQUEST),
                /// Its page tables (`VmPTE`), which are in no PSS.
                #[serde(default, skip_serializing_if = "OnRequest::is_absent")]
                page_tables: OnRequest<u64> = bytes().unread().absent("until a column, filter or panel asks for it, or while the machine has few"),
                /// Anonymous memory from `status`, which every user may read.
                #[serde(skip_serializing_if = "Option::is_none")]
                rss_anon: Option<u64> = bytes().absent(WHERE_DENIED),
                /// Swapped-out anonymous memory from `status`, which every user may read.
                #[serde(skip_serializing_if = "Option::is_none")]
                vm_swap: Option<u64> = bytes().absent(WHERE_DENIED),
                /// Memory held through its descriptors, which is in no PSS.
                #[serde(default, skip_serializing_if = "OnRequest::is_absent")]
                held: OnRequest<HeldRecord<'a>> = object(HeldRecord::fields()).unread().absent(ON_REQUEST),
                /// The reasons of nulls. `memory` stands for all memory figures.
                unread: Option<Unread> = unread(),
            }
        }

        impl<'a> Process<'a> {
            /// Creates the record of a sample in a snapshot taken at `now`.
            pub(super) fn new(sample: &'a ProcessSample, now: Duration) -> Self {
                let mut missing = MissingFields::default();
                let (stat, facts) = (&sample.stat, &*sample.facts);
                let walk = missing.value(MEMORY, sample.walk.as_ref().map_err(|why| *why));
                let memory = walk.map(|walk| &walk.memory);
                $($(let $figure =
                    memory.and_then(|memory| missing.value(stringify!($figure), memory.$figure.reading()));)?
                $(let $sum = memory.and_then(|memory| memory.$sum().reading().ok());)?)*
                let mut text = |name, reading: Reading<&'a [u8]>| missing.value(name, reading).map(lossless);
                let user = text("user", facts.user.as_deref().map_err(|why| *why));
                let cmdline = text("cmdline", facts.cmdline.as_deref().map_err(|why| *why));
                let cgroup = text("cgroup", facts.cgroup.as_deref().map_err(|why| *why));
                let container = facts.container.as_deref();
                let names = container.and_then(|container| {
                    missing.value("image", container.names.as_ref().map_err(|why| *why))
                });
                let named = |get: fn(&ContainerNames) -> Option<&[u8]>| names.and_then(get).map(lossless);
                let exe = facts.exe.as_deref().map_err(|why| *why);
                Self {
                    pid: sample.id.pid,
                    starttime: sample.id.starttime,
                    ppid: Some(stat.ppid),
                    session: Some(stat.session),
                    uid: missing.value("uid", facts.uid),
                    user,
                    owner: facts.owner.as_deref().map(|owner| lossless(&owner.name)),
                    owner_uid: facts.owner.as_deref().map(|owner| owner.uid),
                    comm: Some(lossless(&facts.comm)),
                    cmdline,
                    exe: OnRequest::new(&mut missing, "exe", exe.map(lossless)),
                    replaced: facts.replaced.map(|replaced| replaced.id().into()),
                    unit: facts.unit.as_deref().map(lossless),
                    container: container.map(|container| lossless(container.name())),
                    container_id: container.map(|container| lossless(&container.id)),
                    pod: named(|names| names.pod.as_deref()),
                    namespace: named(|names| names.namespace.as_deref()),
                    image: named(|names| names.image.as_deref()),
                    cgroup,
                    state: Some(lossless(&[stat.state]).into_owned().into()),
                    $($counter: Some(stat.$counter),)*
                    stat_rss: Some(stat.rss),
                    flags: Some(stat.flags),
                    exec: Some(sample.exec),
                    shares_mm: sample.shares_mm.map(|id| id.pid),
                    $($($figure,)? $($sum,)?)*
                    pss_error: walk.map(|walk| walk.error),
                    age_s: walk.map(|walk| now.saturating_sub(walk.at).as_secs_f64()),
                    walk_s: walk.map(|walk| walk.cost.as_secs_f64()),
                    stale: Some(sample.stale),
                    data: OnRequest::new(&mut missing, "data", sample.data),
                    oom_score: OnRequest::new(&mut missing, "oom_score", sample.oom_score),
                    peak: OnRequest::new(&mut missing, "peak", sample.peak),
                    page_tables: OnRequest::new(&mut missing, "page_tables", sample.page_tables),
                    rss_anon: sample.counted.anon(),
                    vm_swap: sample.counted.swap(),
                    held: OnRequest::new(&mut missing, "held", held(sample).map(HeldRecord::new)),
                    unread: missing.into_unread(MEMORY),
                }
            }

            /// Returns the counters of `stat`; absent ones are 0.
            fn counters(&self) -> Stat {
                Stat {
                    $($counter: self.$counter.unwrap_or(0),)*
                    rss: self.stat_rss.unwrap_or(0),
                    ..Stat::default()
                }
            }

            /// Returns the memory of the walk if it has all figures that every kernel writes.
            fn memory(&self) -> Reading<Memory> {
                let reasons = Reasons(self.unread.as_ref());
                Ok(Memory {
                    $($($figure: MemoryFigure::from_reading(reasons.reading(stringify!($figure), self.$figure))
                        .map_err(|_| reasons.reason(MEMORY))?,)?)*
                })
            }
        }
    };
}

/// Condition under which a field is absent that needs a separate read.
const ON_REQUEST: &str = "until a column, filter or panel asks for it";
/// Condition under which an owner is absent.
const NOT_SUBORDINATE: &str = "unless its uid is subordinate to another user";
/// Condition under which the names of a container are absent.
const OUTSIDE: &str = "unless it is in a container that is known to have one";
/// Condition under which the counters are absent that every user may read.
const WHERE_DENIED: &str = "unless reading its memory is denied";

define_process! {
    counters:
        /// Number of threads.
        threads: count();
        /// Page faults that needed no disk.
        minflt: count();
        /// Page faults that waited for a disk.
        majflt: count();
        /// CPU time, in ticks of the kernel (100 a second).
        cpu_ticks: count();
        /// The size of its address space.
        vsize: bytes();
    memory:
        figure rss,
        figure pss,
        figure pss_anon,
        figure pss_file,
        figure pss_shmem,
        figure pss_dirty,
        /// The unique set, which is freed if the process ends: `private_clean` + `private_dirty`.
        sum uss,
        /// Shared pages, not divided by sharers: `shared_clean` + `shared_dirty`.
        sum shared,
        figure private_clean,
        figure private_dirty,
        figure shared_clean,
        figure shared_dirty,
        figure private_hugetlb,
        figure shared_hugetlb,
        /// Huge pages of hugetlbfs: `private_hugetlb` + `shared_hugetlb`.
        sum hugetlb,
        figure anon_huge,
        figure lazy_free,
        figure swap,
        figure swap_pss,
}

impl Process<'_> {
    /// Returns the fields, with the model's descriptions of figures.
    pub(super) fn documented() -> Vec<schema::Field> {
        let mut fields = Self::fields();
        for field in &mut fields {
            let meaning = Memory::HELP.iter().find(|(name, _)| *name == field.name);
            if let Some((name, help)) = meaning {
                *field = schema::Field::new(*name, help, field.shape.clone());
            }
        }
        fields
    }
}

/// A field that is absent until it was read.
#[derive(Debug, Default)]
enum OnRequest<T> {
    #[default]
    Absent,
    Present(Option<T>),
}

impl<T: Serialize> Serialize for OnRequest<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => to.serialize_none(),
            Self::Present(value) => value.serialize(to),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OnRequest<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Option::deserialize(from).map(Self::Present)
    }
}

impl<T> OnRequest<T> {
    const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    fn new(missing: &mut MissingFields, name: &'static str, reading: Reading<T>) -> Self {
        match reading {
            Err(Missing::Pending) => Self::Absent,
            other => Self::Present(missing.value(name, other)),
        }
    }

    fn reading(self, reasons: Reasons<'_>, name: &str) -> Reading<T> {
        match self {
            Self::Absent => Err(Missing::Pending),
            Self::Present(value) => reasons.reading(name, value),
        }
    }
}

/// Converts a record into a sample. Until [`set_walk_time`], the time of its walk is an age, and `shares_mm` has only a pid.
impl From<Process<'_>> for ProcessSample {
    fn from(record: Process<'_>) -> Self {
        let reasons = Reasons(record.unread.as_ref());
        let walk = record.memory().map(|memory| Walk {
            memory,
            error: record.pss_error.unwrap_or(0),
            at: seconds(record.age_s).unwrap_or_default(),
            cost: seconds(record.walk_s).unwrap_or_default(),
        });
        let kernel_thread = matches!(walk, Err(Missing::KernelThread));
        let state = record.state.as_deref().map(bytes).unwrap_or_default();
        let stat = Stat {
            state: state.first().copied().unwrap_or(Stat::UNKNOWN_STATE),
            ppid: record.ppid.unwrap_or(0),
            session: record.session.unwrap_or(0),
            flags: record.flags.unwrap_or(if kernel_thread { Stat::PF_KTHREAD } else { 0 }),
            ..record.counters()
        };
        let container = record.container.as_deref().map(|name| {
            let text = |text: Option<&str>| text.map(|text| bytes(text).into());
            let name = bytes(name);
            let id = text(record.container_id.as_deref()).unwrap_or_else(|| name.as_slice().into());
            Arc::new(Container::known(id, name.into(), reasons.reason("image"), |names| {
                names.pod = text(record.pod.as_deref());
                names.namespace = text(record.namespace.as_deref());
                names.image = text(record.image.as_deref());
            }))
        });
        let owner = record.owner.zip(record.owner_uid).map(|(name, uid)| {
            let name = bytes(&name).into();
            Arc::new(Owner { uid, name })
        });
        let facts = Facts {
            comm: bytes(record.comm.as_deref().unwrap_or("?")).into(),
            cmdline: reasons.bytes("cmdline", record.cmdline),
            exe: record.exe.reading(reasons, "exe").map(|path| bytes(&path).into()),
            replaced: record.replaced.and_then(|id| Replaced::from_id(&id)),
            uid: reasons.reading("uid", record.uid),
            user: reasons.bytes("user", record.user),
            owner,
            cgroup: reasons
                .bytes("cgroup", record.cgroup)
                .and_then(|path: Arc<[u8]>| is_usual_path(&path).then_some(path).ok_or(Missing::Malformed)),
            unit: record.unit.map(|name| bytes(&name).into()),
            container,
            host: None,
        };
        Self {
            id: Identity {
                pid: record.pid,
                starttime: record.starttime,
            },
            exec: record.exec.unwrap_or(0),
            stat,
            facts: Arc::new(facts),
            walk,
            data: record.data.reading(reasons, "data"),
            stale: record.stale.unwrap_or(false),
            oom_score: record.oom_score.reading(reasons, "oom_score"),
            peak: record.peak.reading(reasons, "peak"),
            page_tables: record.page_tables.reading(reasons, "page_tables"),
            shares_mm: record.shares_mm.map(|pid| Identity { pid, starttime: 0 }),
            counted: Counted::new(record.rss_anon, record.vm_swap),
            held: match record.held.reading(reasons, "held") {
                Err(Missing::Pending) => None,
                held => Some(share(held.map(HeldRecord::held))),
            },
        }
    }
}

fn held(sample: &ProcessSample) -> Reading<&Held> {
    let held = sample.held.as_deref().ok_or(Missing::Pending)?;
    held.as_ref().map_err(|why| *why)
}

/// Replaces the age of a sample's walk with its time.
pub(super) fn set_walk_time(sample: &mut ProcessSample, now: Duration) {
    if let Ok(walk) = &mut sample.walk {
        walk.at = now.saturating_sub(walk.at);
    }
}
