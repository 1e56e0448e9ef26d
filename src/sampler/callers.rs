//! Traces call sites that allocate kernel memory, for a while: the data of `perf kmem stat --caller`.
//!
//! ```text
//! instance   the kernel's side: a directory below tracefs, made, read and removed
//! tally      pure: the events of all CPUs in one order, and their sums by call site
//! ```
//!
//! Nothing is traced unless [`trace`] is called, and nothing but zmtop's own instance is changed.
//!
//! The sums are made here and not by histogram triggers of the kernel. These can sum what a call site allocates, but
//! not what of it was freed: the event of a free holds only an address, so it must be matched with its allocation.
//! They also need `CONFIG_HIST_TRIGGERS`, which many kernels lack. zmtop's own allocations are also separated here,
//! not by a filter of the instance: the filter would hide the allocations, and their frees would look like frees of
//! older memory.

mod instance;
pub mod tally;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{fmt, io};

use instance::Instance;
pub use instance::remove;
use rustix::fs::CWD;
use rustix::io::Errno;
use tally::{Merge, Tally};

use crate::model::Reading;
use crate::model::kernel::{CallFigures, CallSite, Callers, Symbol, Trace};
use crate::proc::clock;
use crate::proc::files::{self, Roots};
use crate::proc::kallsyms::Lookup;
use crate::proc::tracefs::{self, Decoder, Event, FormatError, Missed};
use crate::text::safe;

/// Time between two reads of the buffers. The kernel's default of 1.4 MB per CPU holds some 25,000 events, which 1
/// million events per second on one CPU do not fill in that time.
const PAUSE: Duration = Duration::from_millis(20);

/// Time between two interim reports.
pub const REPORTS: Duration = Duration::from_secs(1);
/// During a trace, new names wait for this multiple of the last lookup's duration. This limits lookups to 1/50 of a
/// core.
const NAMES_REST: u32 = 50;

/// Traces for `time`, or until `stop` receives a message or loses its last sender, and returns the result. `report`,
/// if any, is called every second with the interim result.
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
        },
        merge: Merge::new(instance.cpus.len()),
        tally: Tally::default(),
        names: Names {
            known: HashMap::new(),
            fault: Ok(()),
            from: Instant::now(),
        },
        cpu_before: clock::thread_time(),
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
            // Until the next update, a new thread of zmtop counts as a foreign one.
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

struct Tracer {
    reader: Reader,
    merge: Merge<Event>,
    tally: Tally,
    names: Names,
    cpu_before: Duration,
}

impl Tracer {
    /// Reads the buffers. Returns false if all events were handled and there is nothing to do until new ones arrive.
    fn step(&mut self, instance: &Instance) -> Result<bool, Refusal> {
        let mut refused = None;
        let read = |at, queue: &mut VecDeque<_>| {
            let read = self.reader.read(instance, at, queue);
            read.unwrap_or_else(|why| {
                refused = Some(why);
                false
            })
        };
        let busy = self
            .merge
            .step(read, |at, event| self.tally.push(instance.cpus[at], event));
        refused.map_or(Ok(busy), Err)
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
            cpu: clock::thread_time().saturating_sub(self.cpu_before),
            buffers: instance.buffers(),
        }
    }
}

/// Returns the threads of zmtop as events name them: by their ids in the first PID namespace. In any other namespace,
/// these ids are unknown, and the result is empty.
fn own_threads(roots: &Roots) -> Vec<u32> {
    let mut threads = Vec::new();
    if roots.is_own() && files::is_in_first_pid_namespace(&roots.proc) {
        let path = roots.proc.join("self/task");
        // Without the list, they count as foreign threads.
        let _ = files::numbers(CWD, path.as_os_str().as_encoded_bytes(), 4 << 10, |tid| {
            threads.push(tid);
        });
    }
    threads
}

struct Reader {
    decoder: Decoder,
    page: Vec<u8>,
    /// Events lost before a page, as the pages count them.
    lost: u64,
    torn: u64,
}

impl Reader {
    /// Appends the events of a CPU's next page; returns false if there is none.
    fn read(&mut self, instance: &Instance, at: usize, queue: &mut VecDeque<(u64, Event)>) -> Result<bool, Refusal> {
        let length = instance.read(at, &mut self.page)?;
        if length == 0 {
            return Ok(false);
        }
        let Some(page) = instance.layout.open(&self.page[..length]) else {
            self.torn += 1;
            return Ok(true);
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
        Ok(true)
    }
}

/// Removes the instances of earlier runs of this program that were ended by a SIGKILL. The next trace does so too.
pub fn remove_leftovers(roots: &Roots) {
    if let Ok(tracefs) = find(roots) {
        instance::remove_leftovers(&tracefs.join("instances"), &roots.proc);
    }
}

/// Returns the first existing directory where tracefs is mounted.
fn find(roots: &Roots) -> Result<PathBuf, Refusal> {
    let mountinfo = files::mountinfo(roots).unwrap_or_default();
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
    // If a directory is not accessible, a later call returns the kernel's error.
    let mut first = None;
    for mount in mounts {
        if mount.join("instances").is_dir() {
            return Ok(mount);
        }
        first.get_or_insert(mount);
    }
    first.ok_or(Refusal::NotMounted)
}

fn slurp(path: &Path) -> Option<Vec<u8>> {
    files::slurp_grown(path.as_os_str().as_encoded_bytes(), 4 << 10, 64 << 10).ok()
}

fn is_locked_down(roots: &Roots) -> bool {
    let sys = roots.sys.as_ref().map(|sys| sys.join("kernel/security/lockdown"));
    let modes = sys.and_then(|path| slurp(&path)).unwrap_or_default();
    modes
        .split(|b| *b == b' ')
        .any(|mode| mode.trim_ascii() == b"[confidentiality]")
}

/// The functions of the call sites that were looked up.
struct Names {
    known: HashMap<u64, Option<Symbol>>,
    fault: Reading<()>,
    /// When new ones may next be looked up. A lookup reads megabytes.
    from: Instant,
}

impl Names {
    /// Returns the call sites with their functions. Before the last call, some functions may be missing.
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

/// The reason why call sites cannot be traced. Its text is safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NoTracefs,
    NotMounted,
    /// Only root may use this file.
    Denied(PathBuf),
    LockedDown,
    /// The kernel has no events of its allocator, which would be in this directory.
    NoEvents(PathBuf),
    /// A file that describes a layout lacks a needed part.
    Format(PathBuf, FormatError),
    InUse(PathBuf),
    File(PathBuf, Errno),
    BigEndian,
    /// The program is about to end.
    Ended,
}

impl Refusal {
    /// Returns the reason why a file of tracefs could not be used.
    fn file(path: &Path, errno: Errno) -> Self {
        match errno {
            Errno::ACCESS | Errno::PERM => Self::Denied(path.into()),
            Errno::EXIST => Self::InUse(path.into()),
            errno => Self::File(path.into(), errno),
        }
    }

    /// Like [`Self::file`], for an error of the standard library.
    fn io(path: &Path, error: &io::Error) -> Self {
        Self::file(path, Errno::from_io_error(error).unwrap_or(Errno::IO))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| safe(path.as_os_str().as_encoded_bytes()).into_owned();
        match self {
            Self::NoTracefs => f.write_str("this kernel has no tracefs (CONFIG_EVENT_TRACING)"),
            Self::NotMounted => {
                f.write_str("tracefs is not mounted; root can do it: mount -t tracefs nodev /sys/kernel/tracing")
            }
            Self::Denied(path) => write!(f, "only root may trace the kernel: {} is denied", shown(path)),
            Self::LockedDown => f.write_str(
                "the kernel is locked down for confidentiality, which forbids tracing: /sys/kernel/security/lockdown",
            ),
            Self::NoEvents(path) => write!(f, "this kernel has no events of its allocator: {}", shown(path)),
            Self::Format(path, error) => write!(f, "{} {error}", shown(path)),
            Self::InUse(path) => write!(f, "{} is in use by another zmtop", shown(path)),
            Self::File(path, errno) => write!(f, "{}: {}", shown(path), io::Error::from(*errno)),
            Self::BigEndian => f.write_str("zmtop reads the kernel's trace buffers only on little-endian machines"),
            Self::Ended => f.write_str("ended meanwhile"),
        }
    }
}
