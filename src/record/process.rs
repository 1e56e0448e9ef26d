//! One process of `zmtop/1`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{Facts, Identity, Memory, Missing, ProcessSample, Reading, Replaced, Stat, Walk};
use crate::record::unread::{Gaps, Unread, why};
use crate::record::{raw, seconds, shared};
use crate::text::lossless;

/// A process as the schema has it. `rss` and all that follows it down to `swap_pss` are of the walk; `uss`,
/// `shared` and `hugetlb` are sums of others, for those who read; `cmdline` keeps the NULs between its
/// arguments.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Process<'a> {
    pub(super) pid: u32,
    pub(super) starttime: u64,
    ppid: Option<u32>,
    uid: Option<u32>,
    user: Option<Cow<'a, str>>,
    comm: Option<Cow<'a, str>>,
    cmdline: Option<Cow<'a, str>>,
    /// Left out while nobody asked for it.
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    exe: Field<Cow<'a, str>>,
    replaced: Option<Cow<'a, str>>,
    unit: Option<Cow<'a, str>>,
    container: Option<Cow<'a, str>>,
    cgroup: Option<Cow<'a, str>>,
    state: Option<Cow<'a, str>>,
    threads: Option<u64>,
    minflt: Option<u64>,
    majflt: Option<u64>,
    cpu_ticks: Option<u64>,
    vsize: Option<u64>,
    stat_rss: Option<u64>,
    flags: Option<u64>,
    exec: Option<u32>,
    /// The pid of the process whose address space it shares.
    shares_mm: Option<u32>,
    rss: Option<u64>,
    pss: Option<u64>,
    pss_anon: Option<u64>,
    pss_file: Option<u64>,
    pss_shmem: Option<u64>,
    pss_dirty: Option<u64>,
    uss: Option<u64>,
    shared: Option<u64>,
    private_clean: Option<u64>,
    private_dirty: Option<u64>,
    shared_clean: Option<u64>,
    shared_dirty: Option<u64>,
    private_hugetlb: Option<u64>,
    shared_hugetlb: Option<u64>,
    hugetlb: Option<u64>,
    swap: Option<u64>,
    swap_pss: Option<u64>,
    age_s: Option<f64>,
    walk_s: Option<f64>,
    stale: Option<bool>,
    /// Left out while nobody asked for it.
    #[serde(default, skip_serializing_if = "Field::is_absent")]
    oom_score: Field<u32>,
    unread: Option<Unread>,
}

/// A field that says by its absence that nobody asked.
#[derive(Debug, Default)]
enum Field<T> {
    #[default]
    Absent,
    Here(Option<T>),
}

impl<T: Serialize> Serialize for Field<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => to.serialize_none(),
            Self::Here(value) => value.serialize(to),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Option::deserialize(from).map(Self::Here)
    }
}

impl<T> Field<T> {
    const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    fn of<U>(gaps: &mut Gaps, name: &'static str, reading: Reading<U>, write: impl FnOnce(U) -> T) -> Self {
        match reading {
            Err(Missing::Pending) => Self::Absent,
            other => Self::Here(gaps.take(name, other).map(write)),
        }
    }

    fn reading(self, unread: Option<&Unread>, name: &str) -> Reading<T> {
        match self {
            Self::Absent => Err(Missing::Pending),
            Self::Here(value) => value.ok_or_else(|| why(unread, name)),
        }
    }
}

/// What `unread` calls all figures of the walk together.
const MEMORY: &str = "memory";

impl<'a> Process<'a> {
    /// As seen in a snapshot taken at `now`.
    pub(super) fn of(sample: &'a ProcessSample, now: Duration) -> Self {
        let mut gaps = Gaps::default();
        let (stat, facts) = (&sample.stat, &*sample.facts);
        let walk = gaps.take(MEMORY, sample.walk.as_ref().map_err(|why| *why));
        let memory = walk.map(|walk| &walk.memory);
        let figure = |get: fn(&Memory) -> u64| memory.map(get);
        let mut later = |name, get: fn(&Memory) -> Reading<u64>| memory.and_then(|memory| gaps.take(name, get(memory)));
        let pss_anon = later("pss_anon", |m| m.pss_anon);
        let pss_file = later("pss_file", |m| m.pss_file);
        let pss_shmem = later("pss_shmem", |m| m.pss_shmem);
        let pss_dirty = later("pss_dirty", |m| m.pss_dirty);
        let private_hugetlb = later("private_hugetlb", |m| m.private_hugetlb);
        let shared_hugetlb = later("shared_hugetlb", |m| m.shared_hugetlb);
        let swap_pss = later("swap_pss", |m| m.swap_pss);
        let mut text = |name, reading: Reading<&'a [u8]>| gaps.take(name, reading).map(lossless);
        let user = text("user", facts.user.as_deref().map_err(|why| *why));
        let cmdline = text("cmdline", facts.cmdline.as_deref().map_err(|why| *why));
        let cgroup = text("cgroup", facts.cgroup.as_deref().map_err(|why| *why));
        let exe = facts.exe.as_deref().map_err(|why| *why);
        Self {
            pid: sample.id.pid,
            starttime: sample.id.starttime,
            ppid: Some(stat.ppid),
            uid: gaps.take("uid", facts.uid),
            user,
            comm: Some(lossless(&facts.comm)),
            cmdline,
            exe: Field::of(&mut gaps, "exe", exe, lossless),
            replaced: facts.replaced.map(|replaced| word(replaced).into()),
            unit: facts.unit.as_deref().map(lossless),
            container: facts.container.as_deref().map(lossless),
            cgroup,
            state: Some(lossless(&[stat.state]).into_owned().into()),
            threads: Some(stat.threads),
            minflt: Some(stat.minflt),
            majflt: Some(stat.majflt),
            cpu_ticks: Some(stat.cpu_ticks),
            vsize: Some(stat.vsize),
            stat_rss: Some(stat.rss),
            flags: Some(stat.flags),
            exec: Some(sample.exec),
            shares_mm: sample.shares_mm.map(|id| id.pid),
            rss: figure(|m| m.rss),
            pss: figure(|m| m.pss),
            pss_anon,
            pss_file,
            pss_shmem,
            pss_dirty,
            uss: figure(Memory::uss),
            shared: figure(Memory::shared),
            private_clean: figure(|m| m.private_clean),
            private_dirty: figure(|m| m.private_dirty),
            shared_clean: figure(|m| m.shared_clean),
            shared_dirty: figure(|m| m.shared_dirty),
            private_hugetlb,
            shared_hugetlb,
            hugetlb: memory.and_then(|m| m.hugetlb().ok()),
            swap: figure(|m| m.swap),
            swap_pss,
            age_s: walk.map(|walk| now.saturating_sub(walk.at).as_secs_f64()),
            walk_s: walk.map(|walk| walk.cost.as_secs_f64()),
            stale: Some(sample.stale),
            oom_score: Field::of(&mut gaps, "oom_score", sample.oom_score, |n| n),
            unread: gaps.unread(MEMORY),
        }
    }

    /// As a sample whose walk was made at its age, not yet at a time: see [`place`]. The process whose
    /// address space it shares is known by its pid alone.
    pub(super) fn sample(self) -> ProcessSample {
        let unread = self.unread.as_ref();
        let walk = self.walk();
        let kernel_thread = matches!(walk, Err(Missing::KernelThread));
        let text = |name, text: Option<&str>| text.map(raw).ok_or_else(|| why(unread, name));
        let facts = Facts {
            comm: raw(self.comm.as_deref().unwrap_or("?")).into(),
            cmdline: text("cmdline", self.cmdline.as_deref()).map(Into::into),
            exe: self.exe.reading(unread, "exe").map(|path| shared(&path)),
            replaced: self.replaced.as_deref().and_then(replaced),
            uid: self.uid.ok_or_else(|| why(unread, "uid")),
            user: text("user", self.user.as_deref()).map(Into::into),
            cgroup: text("cgroup", self.cgroup.as_deref()).map(Into::into),
            unit: self.unit.as_deref().map(shared),
            container: self.container.as_deref().map(shared),
        };
        let state = self.state.as_deref().map(raw).unwrap_or_default();
        ProcessSample {
            id: Identity {
                pid: self.pid,
                starttime: self.starttime,
            },
            exec: self.exec.unwrap_or(0),
            stat: Stat {
                state: state.first().copied().unwrap_or(b'?'),
                ppid: self.ppid.unwrap_or(0),
                flags: self.flags.unwrap_or(if kernel_thread { Stat::PF_KTHREAD } else { 0 }),
                minflt: self.minflt.unwrap_or(0),
                majflt: self.majflt.unwrap_or(0),
                cpu_ticks: self.cpu_ticks.unwrap_or(0),
                threads: self.threads.unwrap_or(0),
                vsize: self.vsize.unwrap_or(0),
                rss: self.stat_rss.unwrap_or(0),
                image: 0,
                argv: 0,
            },
            facts: Arc::new(facts),
            walk,
            stale: self.stale.unwrap_or(false),
            oom_score: self.oom_score.reading(unread, "oom_score"),
            shares_mm: self.shares_mm.map(|pid| Identity { pid, starttime: 0 }),
        }
    }

    /// The walk: known only where every figure is that all kernels give.
    fn walk(&self) -> Reading<Walk> {
        let unread = self.unread.as_ref();
        let later = |name, value: Option<u64>| value.ok_or_else(|| why(unread, name));
        let memory = || {
            Some(Memory {
                rss: self.rss?,
                pss: self.pss?,
                pss_dirty: later("pss_dirty", self.pss_dirty),
                pss_anon: later("pss_anon", self.pss_anon),
                pss_file: later("pss_file", self.pss_file),
                pss_shmem: later("pss_shmem", self.pss_shmem),
                shared_clean: self.shared_clean?,
                shared_dirty: self.shared_dirty?,
                private_clean: self.private_clean?,
                private_dirty: self.private_dirty?,
                shared_hugetlb: later("shared_hugetlb", self.shared_hugetlb),
                private_hugetlb: later("private_hugetlb", self.private_hugetlb),
                swap: self.swap?,
                swap_pss: later("swap_pss", self.swap_pss),
            })
        };
        Ok(Walk {
            memory: memory().ok_or_else(|| why(unread, MEMORY))?,
            at: seconds(self.age_s).unwrap_or_default(),
            cost: seconds(self.walk_s).unwrap_or_default(),
        })
    }
}

/// Puts a walk that has only an age at its time.
pub(super) fn place(sample: &mut ProcessSample, now: Duration) {
    if let Ok(walk) = &mut sample.walk {
        walk.at = now.saturating_sub(walk.at);
    }
}

const fn word(replaced: Replaced) -> &'static str {
    match replaced {
        Replaced::Updated => "updated",
        Replaced::Deleted => "deleted",
    }
}

fn replaced(text: &str) -> Option<Replaced> {
    [Replaced::Updated, Replaced::Deleted]
        .into_iter()
        .find(|replaced| word(*replaced) == text)
}
