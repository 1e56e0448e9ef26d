//! Reads data of a few processes only: the counters of Java virtual machines, and the address space limits of
//! processes whose address space grows.
//!
//! The rows of a published snapshot select these processes. Each is read at intervals.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::job::{Job, JobKey, job};
use crate::model::snapshot::JvmHeap;
use crate::model::{Facts, Identity, Missing, ProcessSample, Reading, Snapshot, Stat};
use crate::proc::maps::MAX_MAPS;
use crate::proc::{files, hsperfdata, pid};
use crate::sampler::reading::Context;

/// Time between two reads of a virtual machine that ran in between, at some 60 µs each. Collections that matter are
/// further apart.
const JVM_INTERVAL: Duration = Duration::from_secs(10);
/// Expected time of a read, in µs.
const READ_MICROS: u64 = 60;
/// Reads of a suspected virtual machine without counters after which it counts as none.
const JVM_TRIES: u32 = 3;
/// Maximum number of stuck reads of virtual machines of one user, and of all; no other is read then. A file system that a process
/// mounts at its `/tmp` may block a reader for ever.
const MAX_STUCK: [usize; 2] = [2, 32];
/// Time after which the counters of a virtual machine that ran since are unknown.
const JVM_HOLD: Duration = Duration::from_secs(60);
/// Minimum address space that is watched. Smaller ones have no limits that matter, and are many.
const MIN_ADDRESS_SPACE: u64 = 16 << 20;
/// Minimum growth of an address space, in bytes, for its limit to be read.
const MIN_GROWTH: u64 = 1 << 20;
/// Time that a program gets to load before its limit is read.
const LOADING: Duration = Duration::from_secs(5);
/// Time without growth after which an address space is no longer watched; also the time between two reads of a limit.
const LIMIT_HOLD: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct CloseLooks {
    jvms: BTreeMap<Identity, Jvm>,
    growing: BTreeMap<Identity, AddressSpace>,
    pub(super) heaps: Arc<BTreeMap<Identity, Reading<JvmHeap>>>,
    /// The limits of growing address spaces that have one, in bytes.
    pub(super) limits: Arc<BTreeMap<Identity, u64>>,
    pruned_at: Duration,
}

/// A process that may be a Java virtual machine.
#[derive(Default)]
struct Jvm {
    exec: u32,
    /// The name under which it maps its counters.
    mapping: Option<Arc<[u8]>>,
    tries: u32,
    read_at: Option<Duration>,
    /// Its CPU time when it was last read, in clock ticks.
    cpu: u64,
    owner: Option<u32>,
    is_reading: bool,
}

struct AddressSpace {
    first: (u64, Duration),
    newest: (u64, Duration),
    read_at: Option<Duration>,
    is_reading: bool,
}

impl CloseLooks {
    /// Checks the changed rows of a snapshot, and returns the jobs to run.
    pub(super) fn follow(&mut self, snapshot: &Snapshot) -> Vec<Job> {
        let now = snapshot.monotonic;
        let mut jobs = Vec::new();
        let is_stuck =
            |jvm: &&Jvm| jvm.is_reading && jvm.read_at.is_some_and(|at| now.saturating_sub(at) >= JVM_INTERVAL);
        let mut stuck: HashMap<Option<u32>, usize> = HashMap::new();
        for jvm in self.jvms.values().filter(is_stuck) {
            *stuck.entry(jvm.owner).or_default() += 1;
        }
        let rows = snapshot.changed_rows();
        rows.for_each(|row| self.check(row, now, &stuck, &mut jobs));
        if now.saturating_sub(self.pruned_at) >= JVM_INTERVAL {
            self.pruned_at = now;
            self.prune(snapshot);
        }
        jobs
    }

    /// Adds the jobs for a changed row. `stuck` has the number of reads of counters that are late, by user.
    fn check(&mut self, row: &ProcessSample, now: Duration, stuck: &HashMap<Option<u32>, usize>, jobs: &mut Vec<Job>) {
        if row.stat.lacks_memory().is_some() {
            return;
        }
        // The path of the program shows whether its library is needed.
        if may_be_jvm(&row.facts) && row.facts.exe != Err(Missing::Pending) {
            jobs.extend(self.jvm_job(row, now, stuck));
        }
        if row.stat.vsize >= MIN_ADDRESS_SPACE {
            jobs.extend(self.limit_job(row, now));
        }
    }

    fn jvm_job(&mut self, row: &ProcessSample, now: Duration, stuck: &HashMap<Option<u32>, usize>) -> Option<Job> {
        let owner = row.facts.owner_uid().ok();
        let of_owner = stuck.get(&owner).copied().unwrap_or(0);
        let may_read = of_owner < MAX_STUCK[0] && stuck.values().sum::<usize>() < MAX_STUCK[1];
        let jvm = self.jvms.entry(row.id).or_default();
        jvm.owner = owner;
        if jvm.exec != row.exec {
            (jvm.exec, jvm.mapping, jvm.tries) = (row.exec, None, 0);
        }
        let is_due = jvm
            .read_at
            .is_none_or(|at| now.saturating_sub(at) >= JVM_INTERVAL && row.stat.cpu_ticks != jvm.cpu);
        if !is_due || jvm.tries >= JVM_TRIES {
            return None;
        }
        if !may_read || jvm.is_reading {
            let is_old = jvm.read_at.is_some_and(|at| now.saturating_sub(at) >= JVM_HOLD);
            if is_old && self.heaps.get(&row.id).is_some_and(Result::is_ok) {
                Arc::make_mut(&mut self.heaps).insert(row.id, Err(Missing::TimedOut));
            }
            return None;
        }
        (jvm.is_reading, jvm.read_at, jvm.cpu) = (true, Some(now), row.stat.cpu_ticks);
        let (id, known) = (row.id, jvm.mapping.clone());
        let is_file_of_jvm = has_file_of_jvm(&row.facts);
        Some(job(
            JobKey::CloseLook(id.pid),
            READ_MICROS,
            move |context, reader| read_jvm(id, known, is_file_of_jvm, context, reader.buf),
            move |scanner, (mapping, heap)| scanner.close_looks.set_heap(id, mapping, heap),
        ))
    }

    fn limit_job(&mut self, row: &ProcessSample, now: Duration) -> Option<Job> {
        let seen = (row.stat.vsize, now);
        let new = AddressSpace {
            first: seen,
            newest: seen,
            read_at: None,
            is_reading: false,
        };
        let space = self.growing.entry(row.id).or_insert(new);
        if seen.0 > space.newest.0 {
            space.newest = seen;
        }
        let grew = space.newest.0.saturating_sub(space.first.0) >= MIN_GROWTH
            && now.saturating_sub(space.first.1) >= LOADING
            && space.newest.1 == now;
        let is_due = space.read_at.is_none_or(|at| now.saturating_sub(at) >= LIMIT_HOLD);
        if !grew || !is_due || space.is_reading {
            return None;
        }
        (space.is_reading, space.read_at) = (true, Some(now));
        let id = row.id;
        Some(job(
            JobKey::CloseLook(id.pid),
            READ_MICROS,
            move |context, reader| read_limit(id, context, reader.buf),
            move |scanner, limit| scanner.close_looks.set_limit(id, limit),
        ))
    }

    fn set_heap(&mut self, id: Identity, mapping: Option<Arc<[u8]>>, heap: Reading<JvmHeap>) {
        let Some(jvm) = self.jvms.get_mut(&id) else { return };
        jvm.is_reading = false;
        jvm.mapping = mapping;
        if jvm.mapping.is_none() {
            // It is still starting, or is no virtual machine.
            jvm.tries += 1;
        } else {
            Arc::make_mut(&mut self.heaps).insert(id, heap);
        }
    }

    fn set_limit(&mut self, id: Identity, limit: Reading<Option<u64>>) {
        let Some(space) = self.growing.get_mut(&id) else {
            return;
        };
        space.is_reading = false;
        if let Ok(Some(limit)) = limit {
            Arc::make_mut(&mut self.limits).insert(id, limit);
        } else if self.limits.contains_key(&id) {
            Arc::make_mut(&mut self.limits).remove(&id);
        }
    }

    /// Removes ended processes, and address spaces that no longer grow.
    fn prune(&mut self, snapshot: &Snapshot) {
        let now = snapshot.monotonic;
        let is_there = |id: &Identity| snapshot.place(*id).is_some();
        self.jvms.retain(|id, _| is_there(id));
        self.growing
            .retain(|id, space| is_there(id) && (space.is_reading || now.saturating_sub(space.newest.1) < LIMIT_HOLD));
        if !self.heaps.keys().all(|id| self.jvms.contains_key(id)) {
            Arc::make_mut(&mut self.heaps).retain(|id, _| self.jvms.contains_key(id));
        }
        if !self.limits.keys().all(|id| self.growing.contains_key(id)) {
            Arc::make_mut(&mut self.limits).retain(|id, _| self.growing.contains_key(id));
        }
    }
}

/// Returns true if a program may be a Java virtual machine, judging by the names of its file. A false positive costs
/// little: it has no counters, and is dropped after [`JVM_TRIES`] reads.
fn may_be_jvm(facts: &Facts) -> bool {
    &*facts.comm == b"java" || has_file_of_jvm(facts)
}

/// Returns true if the path of a program is one of a Java virtual machine. That may be linked statically.
fn has_file_of_jvm(facts: &Facts) -> bool {
    const PARTS: [&[u8]; 4] = [b"/jvm/", b"/jdk", b"/jre", b"/bin/java"];
    let has = |path: &[u8], part: &[u8]| path.windows(part.len()).any(|piece| piece == part);
    let exe = facts.exe.as_ref();
    exe.is_ok_and(|exe| PARTS.iter().any(|part| has(exe, part)))
}

/// Reads the counters of a Java virtual machine, mapped under the `known` name; if there is none, searches for it. Without the
/// file of a virtual machine, only if its library is mapped: a name alone makes none.
/// Returns the name too.
fn read_jvm(
    id: Identity,
    known: Option<Arc<[u8]>>,
    is_file_of_jvm: bool,
    context: &Context,
    buf: &mut [u8],
) -> (Option<Arc<[u8]>>, Reading<JvmHeap>) {
    let proc = context.roots.proc.as_path();
    let find = || {
        let maps = files::slurp_grown(&path(proc, id.pid, "maps"), 64 << 10, MAX_MAPS).ok()?;
        let is_jvm = is_file_of_jvm || hsperfdata::has_library(&maps);
        hsperfdata::find(&maps).filter(|_| is_jvm).map(Arc::from)
    };
    let mapping = known.or_else(find);
    let heap = mapping.as_deref().ok_or(Missing::Unsupported);
    let heap = heap.and_then(|mapping| hsperfdata::read(proc, id.pid, mapping));
    let heap = heap.and_then(|heap| {
        let space = same(id, context, buf)?.vsize;
        // The whole heap is reserved before any of it is used.
        (heap.capacity <= space).then_some(heap).ok_or(Missing::Malformed)
    });
    (mapping, heap)
}

/// Reads the limit on the size of a process's address space, in bytes; `None` if it has none.
fn read_limit(id: Identity, context: &Context, buf: &mut [u8]) -> Reading<Option<u64>> {
    let limits = files::slurp(&path(&context.roots.proc, id.pid, "limits"), buf).map_err(files::reason)?;
    let limit = pid::address_space_limit(limits)?;
    check_same(id, context, buf).map(|()| limit)
}

pub(super) fn path(proc: &Path, pid: u32, name: &str) -> Vec<u8> {
    let path = proc.join(pid.to_string()).join(name);
    path.into_os_string().into_encoded_bytes()
}

/// Fails if the process with that pid was replaced by another one.
pub(super) fn check_same(id: Identity, context: &Context, buf: &mut [u8]) -> Reading<()> {
    same(id, context, buf).map(|_| ())
}

/// Reads the `stat` of a process; fails as [`check_same`].
fn same(id: Identity, context: &Context, buf: &mut [u8]) -> Reading<Stat> {
    let read = files::slurp(&path(&context.roots.proc, id.pid, "stat"), buf).map_err(files::reason);
    let glance = read.and_then(|bytes| pid::stat(bytes, context.page));
    let same = glance.ok().filter(|glance| glance.starttime == id.starttime);
    same.map(|glance| glance.stat).ok_or(Missing::Gone)
}
