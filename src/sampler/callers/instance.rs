//! A private instance of the kernel's tracing: a directory `instances/zmtop-PID` with its own events and buffers.
//!
//! Nothing outside of it is written to, so other tracers are not disturbed. It must be removed however the program
//! ends: by [`remove`], or after a SIGKILL by the next start.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Refusal;
use crate::proc::files;
use crate::proc::parse::number;
use crate::proc::tracefs;
use crate::proc::tracefs::PageLayout;
use crate::proc::tracefs::{Decoder, EVENTS};

/// The prefix of the names of instances, which the pid follows.
const NAME: &str = "zmtop-";
/// Maximum number of attempts to remove an instance while one of its files is still open, and the pause between them.
/// On a busy machine, a thread that enables an event keeps a file open for long, and another program may read one.
const TRIES: (usize, Duration) = (100, Duration::from_millis(20));
/// Maximum size of the small files of tracefs, in bytes. The longest is the format of an event with all its flags.
const MAX_FILE: usize = 64 << 10;

/// The instance of this program. Any thread may remove it at any time.
static OPEN: Mutex<Option<Open>> = Mutex::new(None);

#[derive(Debug)]
struct Open {
    directory: PathBuf,
    /// The buffers of the CPUs. The kernel does not remove the instance while one is open.
    pipes: Vec<OwnedFd>,
}

fn lock() -> MutexGuard<'static, Option<Open>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes this program's instance, if there is one. It may be called from any thread, any number of times, and from
/// the panic hook: the lock is only held during a non-blocking read or a removal. The instance is gone after any
/// call.
pub fn remove() {
    let mut open = lock();
    let Some(Open { directory, pipes }) = open.take() else {
        return;
    };
    // Switch it off first, because an open file may keep the instance from being removed.
    let _ = write(&directory.join("tracing_on"), "0");
    let _ = write(&directory.join("events/enable"), "0");
    drop(pipes);
    for _ in 0..TRIES.0 {
        match fs::remove_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => std::thread::sleep(TRIES.1),
            _ => break,
        }
    }
}

/// The directory of this program's instance, which is removed when dropped.
#[derive(Debug)]
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        remove();
    }
}

impl Directory {
    fn new(instances: &Path) -> Result<Self, Refusal> {
        let path = instances.join(format!("{NAME}{}", std::process::id()));
        // With the lock held, a thread that ends the program waits until there is something to remove.
        let mut open = lock();
        fs::create_dir(&path).map_err(|error| Refusal::io(&path, &error))?;
        *open = Some(Open {
            directory: path.clone(),
            pipes: Vec::new(),
        });
        Ok(Self(path))
    }

    fn slurp<'b>(&self, name: &str, buf: &'b mut [u8]) -> Result<&'b [u8], Refusal> {
        let path = self.0.join(name);
        let read = files::slurp(path.as_os_str().as_encoded_bytes(), buf);
        read.map_err(|errno| unless_ended(Refusal::file(&path, errno)))
    }

    fn set(&self, name: &str, value: &str) -> Result<(), Refusal> {
        let path = self.0.join(name);
        write(&path, value).map_err(|error| unless_ended(Refusal::io(&path, &error)))
    }

    /// Opens the buffers, and returns the numbers of their CPUs, including offline ones, which may come online.
    fn open_pipes(&self) -> Result<Vec<u32>, Refusal> {
        let directory = self.0.join("per_cpu");
        let entries = fs::read_dir(&directory).map_err(|error| unless_ended(Refusal::io(&directory, &error)))?;
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut cpus: Vec<u32> = names
            .filter_map(|name| name.strip_prefix("cpu")?.parse().ok())
            .collect();
        cpus.sort_unstable();
        for cpu in &cpus {
            let path = directory.join(format!("cpu{cpu}/trace_pipe_raw"));
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            // Hold the lock, so that [`remove`] never runs while a pipe is open that is not in its list.
            let mut open = lock();
            let open = open.as_mut().ok_or(Refusal::Ended)?;
            let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
            let pipe = opened.map_err(|error| Refusal::io(&path, &error))?;
            open.pipes.push(pipe.into());
        }
        Ok(cpus)
    }
}

#[derive(Debug)]
pub(super) struct Instance {
    directory: Directory,
    pub(super) layout: PageLayout,
    /// The numbers of the CPUs that have a buffer.
    pub(super) cpus: Vec<u32>,
}

/// Reads the formats of the allocator's events. Changes nothing.
pub(super) fn decoder(tracefs: &Path) -> Result<Decoder, Refusal> {
    let mut decoder = Decoder::default();
    let mut buf = vec![0; MAX_FILE];
    let events = tracefs.join("events/kmem");
    for (name, taken) in EVENTS {
        let path = events.join(name).join("format");
        match files::slurp(path.as_os_str().as_encoded_bytes(), &mut buf) {
            // Newer kernels have no separate events for nodes. All kernels have the others.
            Err(Errno::NOENT) if name.ends_with("_node") => {}
            Err(Errno::NOENT) => return Err(Refusal::NoEvents(events)),
            Err(errno) => return Err(Refusal::file(&path, errno)),
            Ok(file) => decoder.add(taken, file).map_err(|error| Refusal::Format(path, error))?,
        }
    }
    Ok(decoder)
}

impl Instance {
    /// Creates the instance and enables its events. Nothing is traced before [`Instance::start`].
    pub(super) fn new(tracefs: &Path, proc: &Path) -> Result<Self, Refusal> {
        const HEADER: &str = "events/header_page";
        let instances = tracefs.join("instances");
        remove_leftovers(&instances, proc);
        let directory = Directory::new(&instances)?;
        directory.set("tracing_on", "0")?;
        // This clock counts events, so it orders the events of all CPUs even if their clocks differ.
        directory.set("trace_clock", "counter")?;
        let mut buf = vec![0; MAX_FILE];
        let header = directory.slurp(HEADER, &mut buf)?;
        let layout = PageLayout::parse(header).map_err(|error| Refusal::Format(directory.0.join(HEADER), error))?;
        let cpus = directory.open_pipes()?;
        for (name, _) in EVENTS {
            if directory.0.join("events/kmem").join(name).exists() {
                directory.set(&format!("events/kmem/{name}/enable"), "1")?;
            }
        }
        Ok(Self {
            directory,
            layout,
            cpus,
        })
    }

    pub(super) fn start(&self) -> Result<(), Refusal> {
        self.directory.set("tracing_on", "1")
    }

    /// Stops tracing. The buffers can still be read.
    pub(super) fn stop(&self) -> Result<(), Refusal> {
        self.directory.set("tracing_on", "0")
    }

    /// Reads a page of the CPU at index `at` of `cpus`; returns length 0 if there is none.
    pub(super) fn read(&self, at: usize, page: &mut [u8]) -> Result<usize, Refusal> {
        let open = lock();
        let pipe = open
            .as_ref()
            .and_then(|open| open.pipes.get(at))
            .ok_or(Refusal::Ended)?;
        match files::read_once(pipe, page) {
            Ok(length) => Ok(length),
            // Nothing to read, or a CPU that was removed.
            Err(Errno::AGAIN | Errno::NODEV) => Ok(0),
            Err(errno) => Err(Refusal::file(&self.directory.0.join("per_cpu"), errno)),
        }
    }

    /// Returns the number of events lost on all CPUs.
    pub(super) fn lost(&self) -> Option<u64> {
        let lost = |cpu: &u32| {
            let mut buf = [0; 4096];
            let stats = self
                .directory
                .slurp(&format!("per_cpu/cpu{cpu}/stats"), &mut buf)
                .ok()?;
            tracefs::lost(stats)
        };
        self.cpus.iter().map(lost).sum()
    }

    pub(super) fn buffers(&self) -> Option<u64> {
        let mut buf = [0; 256];
        let text = self.directory.slurp("buffer_total_size_kb", &mut buf).ok()?;
        let digits = text.split(|b| !b.is_ascii_digit()).next()?;
        number(digits)?.checked_mul(1024)
    }
}

/// Returns [`Refusal::Ended`] if the instance was removed in the meantime, otherwise `why`.
fn unless_ended(why: Refusal) -> Refusal {
    if lock().is_some() { why } else { Refusal::Ended }
}

fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

/// Removes the instances of earlier runs of this program that ended without removing them. The kernel does not remove
/// an instance that is being read, so one whose pid belongs to another namespace is safe too.
pub(super) fn remove_leftovers(instances: &Path, proc: &Path) {
    let Ok(entries) = fs::read_dir(instances) else { return };
    let is_own = |pid: u32| pid == std::process::id();
    let is_zmtop = |pid: u32| {
        let comm = fs::read(proc.join(format!("{pid}/comm")));
        comm.is_ok_and(|comm| comm.starts_with(b"zmtop"))
    };
    for name in entries.flatten().map(|entry| entry.file_name()) {
        let pid = name
            .to_str()
            .and_then(|name| files::number(name.strip_prefix(NAME)?.as_bytes()));
        if pid.is_some_and(|pid| is_own(pid) || !is_zmtop(pid)) {
            let _ = fs::remove_dir(instances.join(name));
        }
    }
}
