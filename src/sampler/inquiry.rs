//! Reads data on request: the environment, the open files or the heap of one process; the whole command lines and the free
//! heap memory of many.

use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::Options;
use super::reading::pool::{Job, Pool, Priority};
use crate::heaps;
use crate::model::snapshot::MallocHeap;
use crate::model::{Identity, Missing, Reading};
use crate::proc::{clock, environ, files, pid, ulimits};

/// A question about a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inquiry {
    Environment,
    OpenFiles,
    /// The heap of its allocator.
    Heap,
}

/// The answer: names or numbers, each with its value; raw bytes.
pub type Found = Vec<(Box<[u8]>, Box<[u8]>)>;

/// Maximum number of bytes read of an environment. The kernel allows a quarter of the stack, usually 2 MiB.
const MAX_ENVIRON: usize = 256 << 10;
/// Maximum number of open files listed.
const MAX_FILES: usize = 20_000;
const MAX_LINK: usize = 4096;
/// Maximum time to follow the free chunks of a heap.
const HEAP_TIME: Duration = Duration::from_secs(3);

/// Reads the answer from the process with that identity, never from another one with its pid. May block.
///
/// # Errors
/// The process is gone, or may not be read.
pub fn read(proc: &Path, id: Identity, inquiry: Inquiry) -> Reading<Found> {
    let path = proc.join(id.pid.to_string());
    // All reads go through this descriptor, which another process with the pid does not inherit.
    let dir = files::open_dir(path.as_os_str().as_encoded_bytes()).map_err(files::reason)?;
    let mut buf = vec![0; 4096];
    let stat = files::open_at(&dir, b"stat").map_err(files::reason)?;
    let len = files::read_all(&stat, &mut buf).map_err(files::reason)?;
    if pid::stat(&buf[..len], 4096)?.starttime != id.starttime {
        return Err(Missing::Gone);
    }
    match inquiry {
        Inquiry::Environment => environment(&dir),
        Inquiry::OpenFiles => open_files(&dir),
        Inquiry::Heap => {
            let lines = heaps::lines(proc, id.pid, HEAP_TIME)?;
            // It was the same process until now.
            files::open_at(&dir, b"stat").map_err(files::reason)?;
            return Ok(lines
                .into_iter()
                .map(|(label, text)| (label.into_bytes().into(), text.into_bytes().into()))
                .collect());
        }
    }
    .map_err(files::reason)
}

/// Reads the limits, then the environment.
fn environment(dir: &OwnedFd) -> Result<Found, Errno> {
    let mut buf = vec![0; MAX_ENVIRON];
    // Without its limits, the environment is still worth reading.
    let len = files::open_at(dir, b"limits").and_then(|file| files::read_all(file, &mut buf));
    let limits = len.map_or_else(
        |_| Vec::new(),
        |len| ulimits::parse(&String::from_utf8_lossy(&buf[..len])),
    );
    let limits = limits.into_iter();
    let limits = limits.map(|(name, value)| (name.as_bytes().into(), value.into_bytes().into()));
    let len = files::read_all(files::open_at(dir, b"environ")?, &mut buf)?;
    let variables = environ::parse(&buf[..len]).into_iter();
    Ok(limits
        .chain(variables.map(|variable| (variable.name, variable.value)))
        .collect())
}

fn open_files(dir: &OwnedFd) -> Result<Found, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(dir, "fd", flags, Mode::empty())?;
    let mut numbers = Vec::new();
    files::numbers(&dir, b".", 64 << 10, |number| numbers.push(number))?;
    // `files::numbers` is made for pids, and skips 0.
    numbers.push(0);
    numbers.sort_unstable();
    numbers.truncate(MAX_FILES);
    let mut link = [0; MAX_LINK];
    let mut found = Vec::new();
    for number in numbers {
        let number = number.to_string();
        match rustix::fs::readlinkat_raw(&dir, number.as_str(), &mut link[..]) {
            Ok(len) => found.push((number.into_bytes().into(), link[..len].into())),
            Err(e @ (Errno::ACCESS | Errno::PERM)) => return Err(e),
            // It was closed meanwhile.
            Err(_) => {}
        }
    }
    Ok(found)
}

/// The longest command line that is read. The kernel's own limit is 6 MiB.
const MAX_COMMAND_LINE: usize = 8 << 20;
/// Processor time after which a read of a heap gives up.
const MAX_FREE_TIME: Duration = Duration::from_millis(500);
/// The usual time of such a read.
const EXPECTED: Duration = Duration::from_millis(1);

/// Reads whole command lines, and passes each to `each` with its index. Omits those that cannot be read.
pub fn command_lines(options: &Options, pids: &[u32], each: impl FnMut(usize, Vec<u8>)) {
    let read = |proc: &Path, pid: u32| {
        let path = proc.join(pid.to_string()).join("cmdline");
        let read = files::slurp_grown(path.as_os_str().as_encoded_bytes(), 64 << 10, MAX_COMMAND_LINE);
        read.ok().filter(|whole| whole.len() < MAX_COMMAND_LINE)
    };
    read_each(options, pids, read, each);
}

/// Reads the memory that `malloc` keeps free, and passes it to `each` with the index of the process. Omits heaps that cannot
/// be read.
pub fn free_memory(options: &Options, pids: &[u32], each: impl FnMut(usize, MallocHeap)) {
    let read = |proc: &Path, pid: u32| {
        let [free, kept] = heaps::free(proc, pid, MAX_FREE_TIME).1.ok()?;
        let at = clock::monotonic();
        Some(MallocHeap { at, free, kept })
    };
    read_each(options, pids, read, each);
}

/// Runs a read for each process in a pool. A read of another process's memory may never return, so it is abandoned after
/// [`Options::deadline`].
fn read_each<T: Send + 'static>(
    options: &Options,
    pids: &[u32],
    read: impl Fn(&Path, u32) -> Option<T> + Send + Sync + 'static,
    mut each: impl FnMut(usize, T),
) {
    if pids.is_empty() {
        return;
    }
    let proc = options.proc_root.clone();
    let threads = options.reader_threads().min(pids.len());
    let pool = Pool::new(options, threads, move |(place, pid): (usize, u32), _| {
        (place, read(&proc, pid))
    });
    let jobs = pids.iter().enumerate();
    pool.submit(jobs.map(|(place, pid)| Job::new(place, Priority::Urgent, EXPECTED, (place, *pid))));
    let _ = pool.collect(
        options.deadline,
        |place, _| (place, None),
        |(place, read)| {
            if let Some(found) = read {
                each(place, found);
            }
            ControlFlow::Continue(())
        },
    );
}
