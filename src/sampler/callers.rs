//! Traces who takes memory from the kernel's allocator, for a while: what `perf kmem stat --caller` tells.
//!
//! ```text
//! instance   the kernel's side: a directory below tracefs, made, read and removed
//! merge      pure: the events of all CPUs in one order
//! tally      pure: their sums by call site, and each allocation followed to its free
//! refusal    why it cannot be done, and what would grant it
//! ```
//!
//! Nothing is traced unless [`trace`] is called, and nothing but its own instance is changed.
//!
//! The sums are made here and not by histogram triggers of the kernel. These can sum what a call site takes, but they cannot
//! tell what of it was freed: the events of frees have an address alone, so each must be matched with its allocation. They
//! also need `CONFIG_HIST_TRIGGERS`, which many kernels lack. What zmtop takes itself is told apart here for the same reason:
//! a filter of the instance would hide the allocations, and have their frees look like those of something older.

mod instance;
pub mod merge;
mod refusal;
pub mod tally;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use instance::Instance;
pub use instance::remove;
use merge::Merge;
pub use refusal::Refusal;
use rustix::fs::CWD;
use rustix::time::{ClockId, clock_gettime};
use tally::Tally;

use crate::model::Reading;
use crate::model::callers::{CallFigures, CallSite, Callers, Symbol, Trace};
use crate::proc::files::{self, Roots};
use crate::proc::kallsyms::Lookup;
use crate::proc::tracefs;
use crate::proc::tracefs::event::{Decoder, Event};
use crate::proc::tracefs::page::Missed;

/// Time between two looks at the buffers. The kernel's default of 1.4 MB a CPU holds some 25,000 events: a million a second
/// on one CPU do not fill it in that time.
const PAUSE: Duration = Duration::from_millis(20);

/// Time between two reports of what was seen so far.
pub const REPORTS: Duration = Duration::from_secs(1);
/// Multiple of the time that looking up names took for which new ones wait, while it is traced: a fiftieth of a core.
const NAMES_REST: u32 = 50;

/// Traces for some time, or until there is a message or no sender left, and returns what was seen. `report` is given
/// what was seen so far, every second; for nobody that is not put together.
///
/// # Errors
/// [`Refusal`]. Even then no instance is left behind.
pub fn trace(
    roots: &Roots,
    time: Duration,
    stop: &Receiver<()>,
    mut report: Option<&mut dyn FnMut(Callers)>,
) -> Result<Callers, Refusal> {
    if cfg!(target_endian = "big") {
        return Err(Refusal::BigEndian);
    }
    let tracefs = find(roots)?;
    let made = instance::decoder(&tracefs).and_then(|decoder| Ok((decoder, Instance::new(&tracefs, &roots.proc)?)));
    let (decoder, instance) = made.map_err(|why| match why {
        Refusal::Denied(_) if is_locked_down(roots) => Refusal::LockedDown,
        other => other,
    })?;
    let mut tracer = Tracer {
        reader: Reader {
            decoder,
            page: vec![0; instance.layout.size()],
            lost: 0,
            torn: 0,
            refused: None,
        },
        merge: Merge::new(instance.cpus.len()),
        tally: Tally::default(),
        names: Names::default(),
        cpu_before: cpu_time(),
    };
    let began = Instant::now();
    let mut next = REPORTS;
    instance.start()?;
    tracer.tally.set_own(own_threads(roots));
    loop {
        let left = time.saturating_sub(began.elapsed());
        let pause = if tracer.step(&instance)? {
            Duration::ZERO
        } else {
            PAUSE.min(left)
        };
        let is_due = began.elapsed() >= next;
        if is_due {
            next = began.elapsed() + REPORTS;
            // Until then a new thread counts as somebody else's.
            tracer.tally.set_own(own_threads(roots));
        }
        if let Some(report) = report.as_mut().filter(|_| is_due) {
            let facts = tracer.facts(&instance, began.elapsed());
            report(tracer.names.callers(roots, &tracer.tally, facts, false));
        }
        if left.is_zero() || stop.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    instance.stop()?;
    let took = began.elapsed();
    while tracer.step(&instance)? {}
    let facts = tracer.facts(&instance, took);
    drop(instance);
    Ok(tracer.names.callers(roots, &tracer.tally, facts, true))
}

/// A trace that goes on.
struct Tracer {
    reader: Reader,
    merge: Merge<Event>,
    tally: Tally,
    names: Names,
    /// The processor time of this thread when it began.
    cpu_before: Duration,
}

impl Tracer {
    /// Takes in what is in the buffers; returns false once there is nothing to do until there is more.
    fn step(&mut self, instance: &Instance) -> Result<bool, Refusal> {
        let Self {
            reader, merge, tally, ..
        } = self;
        let read = |at, queue: &mut VecDeque<_>| reader.read(instance, at, queue);
        let busy = merge.step(read, |at, event| tally.push(instance.cpus[at], event));
        reader.refused.take().map_or(Ok(busy), Err)
    }

    fn facts(&self, instance: &Instance, time: Duration) -> Trace {
        Trace {
            time,
            events: self.tally.events,
            lost: instance.lost().map(|lost| lost.max(self.reader.lost)),
            torn: self.reader.torn,
            failed: self.tally.failed,
            older_frees: self.tally.older_frees,
            unseen_frees: self.tally.unseen_frees,
            unfollowed: self.tally.unfollowed,
            own: self.tally.own,
            cpu: cpu_time().saturating_sub(self.cpu_before),
            buffers: instance.buffers(),
        }
    }
}

/// The processor time of this thread.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.cast_unsigned(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Returns the threads of zmtop as events name them: by their numbers in the first PID namespace. In another one it does not
/// know them, and has none.
fn own_threads(roots: &Roots) -> Vec<u32> {
    // The number of that namespace's file, `PROC_PID_INIT_INO` of `include/linux/proc_ns.h`.
    const FIRST: &str = "pid:[4026531836]";
    let own = roots.proc.join("self");
    let mut threads = Vec::new();
    let is_first = std::fs::read_link(own.join("ns/pid")).is_ok_and(|link| link == Path::new(FIRST));
    if roots.is_own() && is_first {
        let path = own.join("task");
        // Without the list they count as somebody else's.
        let _ = files::numbers(CWD, path.as_os_str().as_encoded_bytes(), 4 << 10, |tid| {
            threads.push(tid);
        });
    }
    threads
}

/// Reads the pages of an instance.
struct Reader {
    decoder: Decoder,
    page: Vec<u8>,
    /// Events that pages say were lost before them.
    lost: u64,
    torn: u64,
    refused: Option<Refusal>,
}

impl Reader {
    /// Appends the events of a CPU's next page; returns false if there is none.
    fn read(&mut self, instance: &Instance, at: usize, queue: &mut VecDeque<(u64, Event)>) -> bool {
        let length = match instance.read(at, &mut self.page) {
            Ok(0) => return false,
            Ok(length) => length,
            Err(why) => {
                self.refused = Some(why);
                return false;
            }
        };
        let Some(page) = instance.layout.open(&self.page[..length]) else {
            self.torn += 1;
            return true;
        };
        if let Missed::Count(missed) = page.missed {
            self.lost = self.lost.saturating_add(missed);
        }
        for record in page.records {
            match record {
                Ok(record) => queue.extend(self.decoder.decode(record.payload).map(|event| (record.time, event))),
                Err(_) => self.torn += 1,
            }
        }
        true
    }
}

/// Removes the instances of other runs of this program that were ended by a SIGKILL; as the next trace does, too.
pub fn remove_leftovers(roots: &Roots) {
    if let Ok(tracefs) = find(roots) {
        instance::remove_leftovers(&tracefs.join("instances"), &roots.proc);
    }
}

/// Returns where tracefs is mounted: the first place that is there.
fn find(roots: &Roots) -> Result<PathBuf, Refusal> {
    let mountinfo = slurp(&roots.proc.join("self/mountinfo")).unwrap_or_default();
    let within = |path: PathBuf| match &roots.sys {
        _ if roots.is_own() => Some(path),
        // A captured tree must not lead to this machine.
        Some(sys) => path.strip_prefix("/sys").ok().map(|rest| sys.join(rest)),
        None => None,
    };
    let mut mounts = tracefs::mounts(&mountinfo).into_iter().filter_map(within).peekable();
    if mounts.peek().is_none() {
        let known = slurp(&roots.proc.join("filesystems")).unwrap_or_default();
        let has = known.split(u8::is_ascii_whitespace).any(|word| word == b"tracefs");
        return Err(if has { Refusal::NotMounted } else { Refusal::NoTracefs });
    }
    // Who may not look into a directory is told so by the kernel later.
    let mut first = None;
    for mount in mounts {
        if mount.join("instances").is_dir() {
            return Ok(mount);
        }
        first.get_or_insert(mount);
    }
    first.ok_or(Refusal::NotMounted)
}

/// Reads a small file whole.
fn slurp(path: &Path) -> Option<Vec<u8>> {
    files::slurp_grown(path.as_os_str().as_encoded_bytes(), 64 << 10, files::MAX_MOUNTINFO).ok()
}

/// Returns true if the kernel is locked down so that tracing is forbidden.
fn is_locked_down(roots: &Roots) -> bool {
    let sys = roots.sys.as_ref().map(|sys| sys.join("kernel/security/lockdown"));
    let modes = sys.and_then(|path| slurp(&path)).unwrap_or_default();
    modes
        .split(|b| *b == b' ')
        .any(|mode| mode.trim_ascii() == b"[confidentiality]")
}

/// The functions of call sites, as far as they were looked up.
struct Names {
    known: HashMap<u64, Option<Symbol>>,
    fault: Reading<()>,
    /// New ones are looked up from then on, as that reads megabytes.
    from: Instant,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            fault: Ok(()),
            from: Instant::now(),
        }
    }
}

impl Names {
    /// Returns the call sites with the functions that they are in; before the last time some may be without.
    fn callers(&mut self, roots: &Roots, tally: &Tally, trace: Trace, is_last: bool) -> Callers {
        let addresses = tally.sites().iter().filter_map(|(address, _)| *address);
        let unknown: Vec<u64> = addresses.filter(|address| !self.known.contains_key(address)).collect();
        let began = Instant::now();
        if !unknown.is_empty() && self.fault.is_ok() && (is_last || began >= self.from) {
            let mut lookup = Lookup::new(unknown);
            let read = files::pieces(&roots.proc.join("kallsyms"), |piece| lookup.feed(piece));
            self.fault = read
                .map_err(files::optional_reason)
                .and_then(|()| lookup.finish())
                .map(|found| self.known.extend(found));
            self.from = Instant::now() + began.elapsed().saturating_mul(NAMES_REST);
        }
        let site = |(address, figures): &(Option<u64>, CallFigures)| CallSite {
            address: *address,
            symbol: address.and_then(|address| self.known.get(&address).cloned()).flatten(),
            figures: *figures,
        };
        Callers {
            sites: tally.sites().iter().map(site).collect(),
            symbols: self.fault,
            trace,
        }
    }
}
