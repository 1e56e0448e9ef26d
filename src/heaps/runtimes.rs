//! Reads the heaps of the runtimes in a process, through their own diagnostic interfaces or from its memory.
//!
//! Opening a [`Door`] changes nothing. It reports the cost of a read, so that the cost can be announced first.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Files;
use super::dotnet::Dotnet;
use super::java::Jvm;
#[cfg(feature = "network")]
use super::node::{self, Node};
use super::socket::Refusal;
#[cfg(feature = "code")]
use super::{go, python};
use crate::heap::kinds::Kind;
use crate::heap::runtimes::{Objects, Part, Runtime};
use crate::heap::{self, Memory, Placed, State, Unknown};
use crate::model::snapshot::JvmHeap;
use crate::proc::{files, hsperfdata};
use crate::text::safe;
use crate::units;

/// Maximum time to read the memory of a runtime, and to wait for a JVM that need not count objects.
const LIMIT: Duration = Duration::from_secs(30);
/// Maximum time for the answer of a JVM that counts objects. That time is bounded by the accepted pause.
const ANSWER: Duration = Duration::from_secs(120);
/// Maximum time for the counters of a .NET runtime, which it sends after a second.
const COUNTERS: Duration = Duration::from_secs(3);
/// Pause of a JVM per GB of its heap while it counts its objects, without and with a garbage collection before: up to 1 and 3 s
/// with JDK 17 on a busy machine.
const COUNTING: f64 = 1.0;
const COLLECTING: f64 = 3.0;
/// Maximum memory in swap. A process with more is not read, because a read would bring it back into RAM.
const MAX_SWAPPED: u64 = 256 << 20;

/// The side effects that the user allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// A collection before objects are counted, so that only objects in use are counted.
    pub collection: bool,
    /// The longest pause of the program.
    pub pause: Duration,
    /// Node.js opens its inspector, through which every local user could control it meanwhile.
    pub inspector: bool,
}

impl Accepted {
    /// No side effect that the program could notice.
    pub const NOTHING: Self = Self {
        collection: false,
        pause: Duration::ZERO,
        inspector: false,
    };
}

/// A runtime that can be read.
pub struct Door {
    kind: Kind,
    way: Way,
}

enum Way {
    Java(Jvm),
    Dotnet(PathBuf, Dotnet),
    #[cfg(feature = "network")]
    Node(Node),
    /// An allocator whose structures are read.
    Malloc(PathBuf, u32),
    #[cfg(feature = "code")]
    Python(PathBuf, heap::python::Runtime),
    #[cfg(feature = "code")]
    Go(PathBuf, heap::go::Program),
    /// The reason why it cannot be read.
    None(String),
}

/// Opens the runtimes that were found in a process.
pub fn open(proc: &Path, state: &State) -> Vec<Door> {
    let dir = proc.join(state.pid.to_string());
    let is_in_swap = state.memory.is_ok_and(|memory| memory.swapped > MAX_SWAPPED);
    let door = |kind: &Kind| {
        let way = match kind {
            Kind::Java => match Jvm::open(&dir, state.pid) {
                Ok(jvm) => Way::Java(jvm),
                Err(why) => Way::None(format!("The JVM was not queried: {why}.")),
            },
            Kind::Dotnet => match Dotnet::open(&dir, state.pid) {
                Ok(dotnet) => Way::Dotnet(dir.clone(), dotnet),
                Err(why) => Way::None(format!(".NET was not queried: {}.", safe(why.to_string().as_bytes()))),
            },
            Kind::Python if is_in_swap => Way::None(
                "Python's objects were not counted: much of its memory is in swap, and a read would bring it back into \
                 RAM.".to_owned(),
            ),
            #[cfg(feature = "network")]
            Kind::Node => Way::Node(Node::open(&dir, state.pid).ok()?),
            Kind::Jemalloc | Kind::Mimalloc | Kind::Tcmalloc | Kind::Musl => Way::Malloc(proc.to_owned(), state.pid),
            #[cfg(feature = "code")]
            Kind::Python | Kind::Go => native(proc, &dir, state.pid, *kind)?,
            _ => return None,
        };
        Some(Door { kind: *kind, way })
    };
    state.others.iter().filter_map(door).collect()
}

#[cfg(feature = "code")]
fn native(proc: &Path, dir: &Path, pid: u32, kind: Kind) -> Option<Way> {
    use std::os::unix::ffi::OsStrExt;

    let maps = files::slurp_grown(dir.join("maps").as_os_str().as_bytes(), 64 << 10, 64 << 20).ok()?;
    if kind == Kind::Go {
        return go::find(proc, pid, &maps).map(|program| Way::Go(dir.to_owned(), program));
    }
    let mut memory = Files::open(dir, Instant::now() + LIMIT).ok()?;
    let found = python::find(proc, pid, &maps, &mut memory).map(|found| Way::Python(dir.to_owned(), found));
    Some(found.unwrap_or_else(|| Way::None("Python's objects were not counted: its version is not known.".to_owned())))
}

impl Door {
    /// Returns the cost of a read for the program, as a part of a sentence; `None` if there is none.
    pub fn cost(&self, accepted: Accepted) -> Option<String> {
        if let Way::Dotnet(..) = &self.way {
            let seconds = COUNTERS.as_secs();
            return Some(format!(
                "the counters of .NET are read over its diagnostics socket, without a pause or a \
                 collection, for up to {seconds} s"
            ));
        }
        let Way::Java(jvm) = &self.way else { return None };
        let pause = pause(published(jvm)?.used, accepted);
        (pause <= accepted.pause).then(|| {
            let collects = if accepted.collection { "collects garbage and " } else { "" };
            let pause = units::span(pause.max(Duration::from_millis(100)));
            format!("the JVM is queried over its attach socket: it {collects}counts its objects, and pauses for up to {pause}")
        })
    }

    /// Returns true if a read only reads the memory of the program, which does not notice it.
    pub const fn is_free(&self) -> bool {
        !matches!(self.way, Way::Java(_) | Way::Dotnet(..))
    }

    /// Returns what a recording of the code that allocates costs the program, as a part of a sentence; `None` if it cannot record.
    pub fn cost_of_recording(&self, accepted: Accepted) -> Option<&'static str> {
        match (&self.way, accepted.inspector) {
            (Way::Java(_), _) => Some("the JVM loads its Flight Recorder"),
            #[cfg(feature = "network")]
            (Way::Node(_), true) => Some(
                "Node.js opens its inspector on the loopback interface, where every local user could control it meanwhile",
            ),
            _ => None,
        }
    }

    /// Lets a runtime record for about `time`, until `wait` returns, and adds the code that allocated the objects that stayed.
    pub fn record(&self, time: Duration, accepted: Accepted, wait: impl FnOnce(), runtime: &mut Runtime) {
        match &self.way {
            Way::Java(jvm) => record_java(jvm, time, accepted, wait, runtime),
            #[cfg(feature = "network")]
            Way::Node(_) if !accepted.inspector => runtime.remarks.push(
                "The code is not known: for this, Node.js must open its inspector on the loopback interface, where every local \
                 user could control it meanwhile. To accept that, use --inspector."
                    .to_owned(),
            ),
            #[cfg(feature = "network")]
            Way::Node(node) => sample_node(node, accepted, wait, runtime),
            _ => {}
        }
    }

    /// Reads the runtime, at the cost that [`Self::cost`] returns.
    pub fn look(&self, accepted: Accepted) -> Runtime {
        let mut runtime = Runtime::new(self.kind, String::new());
        match &self.way {
            Way::None(why) => runtime.remarks.push(why.clone()),
            Way::Java(jvm) => look_at_java(jvm, accepted, &mut runtime),
            Way::Dotnet(dir, dotnet) => look_at_dotnet(dir, dotnet, &mut runtime),
            #[cfg(feature = "network")]
            Way::Node(_) => {}
            Way::Malloc(proc, pid) => look_at_malloc(proc, *pid, &mut runtime),
            #[cfg(feature = "code")]
            Way::Python(dir, python) => look_at_python(dir, *python, &mut runtime),
            #[cfg(feature = "code")]
            Way::Go(dir, program) => look_at_go(dir, program, &mut runtime),
        }
        runtime
    }
}

fn record_java(jvm: &Jvm, time: Duration, accepted: Accepted, wait: impl FnOnce(), runtime: &mut Runtime) {
    let mut refused = None;
    let collects = || {
        let heap = jvm
            .ask("GC.heap_info", LIMIT)
            .map(|answer| heap::java::heap_info(&answer));
        let parts = heap.iter().flatten().map(|(part, _)| part);
        refused = accepted
            .collection
            .then(|| too_long(used(jvm, parts), accepted))
            .flatten();
        accepted.collection && refused.is_none()
    };
    let recorded = jvm.record(time, collects, wait);
    if let Some(why) = refused {
        runtime
            .remarks
            .push(format!("It did not collect garbage at the end of the recording: {why}"));
    }
    match recorded {
        Ok(recording) => match heap::java::jfr::kept(&recording) {
            Some(kept) if kept.is_empty() => {
                // With any other collector, JDK 25 has samples.
                let heap = jvm.ask("GC.heap_info", LIMIT);
                let remark = if heap.is_ok_and(|heap| heap.starts_with(b"Shenandoah")) {
                    "Its Flight Recorder has no samples: JDK 25 takes none with the Shenandoah collector."
                } else {
                    "Its Flight Recorder has no sample of an object that survived a collection: record longer, or with \
                     --collect."
                };
                runtime.remarks.push(remark.to_owned());
            }
            Some(kept) => runtime.kept = kept,
            None => runtime
                .remarks
                .push("The recording of its Flight Recorder could not be parsed.".to_owned()),
        },
        Err(why) => {
            let why = why.to_string();
            runtime
                .remarks
                .push(format!("The code is not known: {}.", safe(why.as_bytes())));
        }
    }
}

#[cfg(feature = "network")]
fn sample_node(node: &Node, accepted: Accepted, wait: impl FnOnce(), runtime: &mut Runtime) {
    let (sampled, left_open) = node.sample(node::ANSWER, accepted.collection, wait);
    match sampled {
        Ok(sampled) => {
            runtime.version = sampled.version;
            runtime.parts.extend(sampled.heap);
            match heap::node::sites(sampled.profile.get().as_bytes()) {
                Some(sites) => runtime.sites = sites,
                None => runtime.remarks.push("Its profile could not be parsed.".to_owned()),
            }
            let remark = "The bytes were allocated during the recording and are still in use: estimates from one sample per 32 KiB.";
            runtime.remarks.push(remark.to_owned());
            if sampled.workers > 0 {
                let workers = units::counted(sampled.workers, "worker thread");
                let remark = format!("The heaps of its {workers} are not included.");
                runtime.remarks.push(remark);
            }
        }
        Err(why) => {
            let why = why.to_string();
            let remark = format!("The code is not known: {}.", safe(why.as_bytes()));
            runtime.remarks.push(remark);
        }
    }
    if let Some(port) = left_open {
        runtime
            .remarks
            .push(format!("Its inspector is still open on port {port}."));
    }
}

fn look_at_malloc(proc: &Path, pid: u32, runtime: &mut Runtime) {
    let dir = files::living(proc, pid);
    let heap = Files::open(&dir, Instant::now() + LIMIT).map_err(|why| why.to_string());
    let heap = heap.and_then(|mut files| {
        files.allow_pid(proc, pid);
        heap::allocator(runtime.kind, &mut files).map_err(|why| match why {
            Unknown::NotFound => "its structures were not found".to_owned(),
            why => why.to_string(),
        })
    });
    let memory = super::memory(&dir).ok().map(Placed::total);
    let heap = heap.and_then(|heap| {
        let fits = memory.is_none_or(|memory| heap.kept <= memory);
        fits.then_some(heap.runtime)
            .ok_or_else(|| "it has more free memory in RAM than the process".to_owned())
    });
    match heap {
        Ok(found) => *runtime = Runtime { memory, ..found },
        Err(why) => {
            let (name, shown_by) = (runtime.kind.label(), runtime.kind.shown_by());
            runtime
                .remarks
                .push(format!("The heap of {name} could not be read: {why}; {shown_by}."));
        }
    }
    if runtime.heap().is_none() {
        // Some of what is in use was never touched.
        for part in &mut runtime.parts {
            part.resident = None;
        }
    }
}

/// Returns the heap of a JVM, from the counters that it publishes now.
fn published(jvm: &Jvm) -> Option<JvmHeap> {
    hsperfdata::parse(&jvm.counters().ok()?).ok()
}

/// Returns the used bytes of the heap of a JVM, by its counters or by its parts: the larger one, as either may be unknown.
fn used<'p>(jvm: &Jvm, parts: impl Iterator<Item = &'p Part>) -> u64 {
    let heap: u64 = parts.filter(|part| part.is_heap).map(|part| part.used).sum();
    published(jvm).map_or(0, |heap| heap.used).max(heap)
}

/// Returns what a JVM with so many used bytes would do for longer than it may, as the end of a sentence and another sentence.
fn too_long(used: u64, accepted: Accepted) -> Option<String> {
    let pause = pause(used, accepted);
    let seconds = pause.as_secs() + 1;
    (pause > accepted.pause)
        .then(|| format!("it would pause for up to {seconds} s. To accept that, use --pause {seconds}s."))
}

fn pause(used: u64, accepted: Accepted) -> Duration {
    let pace = if accepted.collection { COLLECTING } else { COUNTING };
    Duration::from_secs_f64(used as f64 / 1e9 * pace)
}

fn look_at_java(jvm: &Jvm, accepted: Accepted, runtime: &mut Runtime) {
    runtime.version = jvm.version.clone().unwrap_or_else(|| "HotSpot".to_owned());
    let parts = || {
        jvm.ask("GC.heap_info", LIMIT)
            .map(|answer| with_residence(jvm, heap::java::heap_info(&answer)))
    };
    let mut info = parts();
    if let Err(why) = &info
        && !matches!(why, Refusal::Failed(_))
    {
        runtime
            .remarks
            .push(format!("The JVM did not answer: {}.", safe(why.to_string().as_bytes())));
        return;
    }
    if let Some(why) = too_long(used(jvm, info.iter().flatten()), accepted) {
        runtime.remarks.push(format!("Its objects were not counted: {why}"));
    } else {
        let command = if accepted.collection {
            "GC.class_histogram"
        } else {
            "GC.class_histogram -all"
        };
        match jvm.ask(command, ANSWER) {
            Ok(answer) => {
                runtime.objects = heap::java::histogram(&answer).map(|types| Objects { types, is_whole: true });
            }
            Err(why) => {
                let why = why.to_string();
                runtime
                    .remarks
                    .push(format!("Its objects were not counted: {}.", safe(why.as_bytes())));
            }
        }
        if accepted.collection {
            info = parts();
        } else {
            runtime.remarks.push(
                "Garbage that was not collected yet counts as in use; with --collect, it does not count.".to_owned(),
            );
        }
    }
    if let Ok(answer) = jvm.ask("VM.native_memory summary", ANSWER) {
        runtime.native = heap::java::native_memory(&answer);
    }
    runtime.parts = info.unwrap_or_default();
    if runtime.parts.is_empty()
        && let Some(heap) = published(jvm)
    {
        // JDK 8 has no such command.
        runtime.parts.push(Part {
            name: "heap".to_owned(),
            used: heap.used,
            committed: Some(heap.capacity),
            resident: None,
            is_heap: true,
        });
    }
}

fn look_at_dotnet(dir: &Path, dotnet: &Dotnet, runtime: &mut Runtime) {
    match dotnet.counters(COUNTERS) {
        Ok(counters) => {
            let memory = super::memory(dir).ok().map(Placed::total);
            *runtime = counters.runtime(dotnet.version.clone(), memory);
        }
        Err(why) => {
            let why = why.to_string();
            runtime
                .remarks
                .push(format!(".NET did not send its counters: {}.", safe(why.as_bytes())));
        }
    }
}

/// Adds the part of each that is in RAM. A heap has pages that were never touched.
fn with_residence(jvm: &Jvm, parts: Vec<(Part, Option<Range<u64>>)>) -> Vec<Part> {
    let mut memory = Files::open(&jvm.dir, Instant::now() + LIMIT).ok();
    let fill = |(mut part, range): (Part, Option<Range<u64>>)| {
        part.resident = range
            .zip(memory.as_mut())
            .and_then(|(range, memory)| resident(memory, range));
        part
    };
    parts.into_iter().map(fill).collect()
}

/// Returns the bytes of a range that are in RAM; `None` if the range, which the program chooses, is too large to look through.
fn resident(memory: &mut dyn Memory, range: Range<u64>) -> Option<u64> {
    const PRESENT: u64 = 1 << 63;
    const MAX_RANGE: u64 = 1 << 40;
    if range.end.saturating_sub(range.start) > MAX_RANGE {
        return None;
    }
    let size = memory.page_size();
    let mut entries = vec![0; 64 << 10];
    let (mut page, end) = (range.start / size, range.end / size);
    let mut found = 0;
    while page < end {
        let count = (end - page).min(entries.len() as u64);
        let entries = &mut entries[..count as usize];
        if memory.is_over() || !memory.pages(page, entries) {
            return None;
        }
        found += entries.iter().filter(|entry| **entry & PRESENT != 0).count() as u64;
        page += count;
    }
    Some(found * size)
}

#[cfg(feature = "code")]
fn look_at_python(dir: &Path, python: heap::python::Runtime, runtime: &mut Runtime) {
    let (major, minor) = python.version;
    runtime.version = format!("CPython {major}.{minor}");
    let mut memory = match Files::open(dir, Instant::now() + LIMIT) {
        Ok(memory) => memory,
        Err(why) => {
            runtime.remarks.push(format!("Its objects were not counted: {why}."));
            return;
        }
    };
    let pools = heap::python::pools(&mut memory, python.version);
    if pools.arenas > 0 {
        runtime.parts.push(Part {
            name: "objects of up to 512 bytes".to_owned(),
            used: pools.used,
            committed: Some(pools.arenas),
            resident: Some(pools.used + pools.free + pools.empty),
            is_heap: true,
        });
    }
    let mut pause = || std::thread::sleep(Duration::from_millis(20));
    match heap::python::objects(&mut memory, &mut pause, python) {
        Ok(objects) => runtime.objects = Some(objects),
        Err(why) => runtime
            .remarks
            .push(format!("Its objects were not counted: {}.", why.reason())),
    }
}

#[cfg(feature = "code")]
fn look_at_go(dir: &Path, program: &heap::go::Program, runtime: &mut Runtime) {
    "Go".clone_into(&mut runtime.version);
    let memory = Files::open(dir, Instant::now() + LIMIT);
    let sites = memory.map(|mut memory| heap::go::sites(&mut memory, program));
    match sites {
        Ok(Ok(sites)) => {
            runtime.sites = sites;
            let remark = "Go's figures are estimates from one sample per 512 KiB, as of its last collection.";
            runtime.remarks.push(remark.to_owned());
        }
        Ok(Err(heap::go::Refusal::NoProfile)) => runtime.remarks.push(
            "Go keeps no memory profile: the program does not use runtime.MemProfile or net/http/pprof, or allocated little."
                .to_owned(),
        ),
        Err(why) => runtime.remarks.push(format!("Go's profile could not be read: {why}.")),
    }
}
