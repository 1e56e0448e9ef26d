//! A private instance of the kernel's tracing: a directory `instances/zmtop-PID` with events and buffers of its own.
//!
//! Nothing outside of it is written to, so who else traces is not disturbed. However the program ends it is to be removed:
//! by [`remove`], or after a SIGKILL by the next start.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::refusal::Refusal;
use crate::proc::files;
use crate::proc::parse::number;
use crate::proc::tracefs;
use crate::proc::tracefs::event::{Decoder, EVENTS};
use crate::proc::tracefs::page::PageLayout;

/// The names of instances begin with that; the pid follows.
const NAME: &str = "zmtop-";
/// Times that removing is tried while a file of the instance is still open, and the pause between: a thread that is switching
/// an event on has it open for long on a busy machine, and somebody else may look at it.
const TRIES: (usize, Duration) = (100, Duration::from_millis(20));
/// Maximum size of the small files of tracefs, in bytes: the longest is the format of an event with all its flags.
const MAX_FILE: usize = 64 << 10;

/// The instance of this program, to be removed from any thread at any time.
static OPEN: Mutex<Option<Open>> = Mutex::new(None);

#[derive(Debug)]
struct Open {
    directory: PathBuf,
    /// The buffers of the CPUs. While one is open the kernel does not remove the instance.
    pipes: Vec<OwnedFd>,
}

fn lock() -> MutexGuard<'static, Option<Open>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes this program's instance, if there is one. Safe to call from any thread, any number of times, and from the panic
/// hook: nobody holds the lock longer than a read takes that does not wait, or than removing does. So after any call it is
/// removed.
pub fn remove() {
    let mut open = lock();
    let Some(Open { directory, pipes }) = open.take() else {
        return;
    };
    // Switched off first, in case somebody looks at it and it has to stay.
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
    /// Makes it.
    fn new(instances: &Path) -> Result<Self, Refusal> {
        let path = instances.join(format!("{NAME}{}", std::process::id()));
        // Who ends the program meanwhile waits until there is something to remove.
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

    /// Opens the buffers, and returns the numbers of their CPUs: also those that are offline, which may come.
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
            // Opened within the lock: [`remove`] would wait in vain for one that waits for the lock.
            let mut open = lock();
            let open = open.as_mut().ok_or(Refusal::Ended)?;
            let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
            let pipe = opened.map_err(|error| Refusal::io(&path, &error))?;
            open.pipes.push(pipe.into());
        }
        Ok(cpus)
    }
}

/// This program's instance.
#[derive(Debug)]
pub(super) struct Instance {
    directory: Directory,
    /// The layout of its pages.
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
            // Newer kernels have no events for nodes; the others are there on all.
            Err(Errno::NOENT) if name.ends_with("_node") => {}
            Err(Errno::NOENT) => return Err(Refusal::NoEvents(events)),
            Err(errno) => return Err(Refusal::file(&path, errno)),
            Ok(file) => decoder.add(taken, file).map_err(|error| Refusal::Format(path, error))?,
        }
    }
    Ok(decoder)
}

impl Instance {
    /// Makes the instance, with its events switched on; nothing is traced before [`Instance::start`].
    pub(super) fn new(tracefs: &Path, proc: &Path) -> Result<Self, Refusal> {
        const HEADER: &str = "events/header_page";
        let instances = tracefs.join("instances");
        remove_leftovers(&instances, proc);
        let directory = Directory::new(&instances)?;
        directory.set("tracing_on", "0")?;
        // It counts events, and so puts those of all CPUs in one order, whatever their clocks say.
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

    /// Begins to trace.
    pub(super) fn start(&self) -> Result<(), Refusal> {
        self.directory.set("tracing_on", "1")
    }

    /// Ends tracing; what is in the buffers can still be read.
    pub(super) fn stop(&self) -> Result<(), Refusal> {
        self.directory.set("tracing_on", "0")
    }

    /// Reads a page of the CPU at this place of the list; the length is 0 if there is none.
    pub(super) fn read(&self, at: usize, page: &mut [u8]) -> Result<usize, Refusal> {
        let open = lock();
        let pipe = open
            .as_ref()
            .and_then(|open| open.pipes.get(at))
            .ok_or(Refusal::Ended)?;
        match files::read_once(pipe, page) {
            Ok(length) => Ok(length),
            // Nothing to read, or a CPU that has gone.
            Err(Errno::AGAIN | Errno::NODEV) => Ok(0),
            Err(errno) => Err(Refusal::file(&self.directory.0.join("per_cpu"), errno)),
        }
    }

    /// Returns how many events were lost on all CPUs.
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

    /// Returns the size of all buffers in bytes.
    pub(super) fn buffers(&self) -> Option<u64> {
        let mut buf = [0; 256];
        let text = self.directory.slurp("buffer_total_size_kb", &mut buf).ok()?;
        let digits = text.split(|b| !b.is_ascii_digit()).next()?;
        number(digits)?.checked_mul(1024)
    }
}

/// Returns why a file of the instance could not be used: where it has been removed meanwhile, that is the reason.
fn unless_ended(why: Refusal) -> Refusal {
    if lock().is_some() { why } else { Refusal::Ended }
}

/// Writes to a file that exists.
fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

/// Removes the instances of other runs of this program that have ended without doing so. The kernel itself refuses to remove
/// one that is read; so one whose pid is of another namespace is safe, too.
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
