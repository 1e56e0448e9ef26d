//! zmtop's own process: its limit on open files, its `oom_score_adj`, its locked memory. Programs that zmtop starts get the limit and the
//! `oom_score_adj` that zmtop was started with.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::mm::MlockAllFlags;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::proc::clock;

/// The limit on open files before it was raised.
static INITIAL_LIMIT: OnceLock<Rlimit> = OnceLock::new();
/// The content of `oom_score_adj` before it was set.
static INITIAL_ADJ: OnceLock<String> = OnceLock::new();

static IS_LOCKED: AtomicBool = AtomicBool::new(false);
/// Held while pages are locked or unlocked.
static LOCKING: Mutex<()> = Mutex::new(());

const OOM_SCORE_ADJ: &str = "/proc/self/oom_score_adj";
/// Interval at which new mappings are locked.
const LOCK_INTERVAL: Duration = Duration::from_secs(10);

/// Raises the limit on open files as far as allowed, and returns it; `None` if it is unlimited.
pub fn raise_open_files_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    INITIAL_LIMIT.get_or_init(|| limit);
    if limit.current == limit.maximum {
        return limit.current;
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// Sets `oom_score_adj`. Call it before capabilities are given up, while there is only one thread.
///
/// # Errors
/// The kernel's reason, in words.
pub fn set_oom_score_adj(value: i16) -> Result<(), String> {
    let mut is_lower = false;
    let mut set = || {
        let initial = std::fs::read_to_string(OOM_SCORE_ADJ)?;
        is_lower = initial.trim().parse::<i16>().is_ok_and(|initial| value < initial);
        let _unprivileged = (!is_lower).then(Unprivileged::begin).transpose()?;
        std::fs::write(OOM_SCORE_ADJ, value.to_string())?;
        INITIAL_ADJ.get_or_init(|| initial);
        Ok(())
    };
    set().map_err(|error: io::Error| {
        let needs = match error.kind() {
            io::ErrorKind::PermissionDenied if is_lower => " (lowering it needs CAP_SYS_RESOURCE)",
            _ => "",
        };
        format!("cannot set oom_score_adj to {value}: {}{needs}", error.kind())
    })
}

/// Removes `CAP_SYS_RESOURCE` from the effective set until it is dropped. With this capability, the kernel would make the new value the
/// minimum (`oom_score_adj_min`), and the programs that zmtop starts could not get the initial value.
struct Unprivileged(CapabilitySets);

impl Unprivileged {
    fn begin() -> io::Result<Self> {
        let sets = rustix::thread::capabilities(None)?;
        let without = CapabilitySets {
            effective: sets.effective - CapabilitySet::SYS_RESOURCE,
            ..sets
        };
        rustix::thread::set_capabilities(None, without)?;
        Ok(Self(sets))
    }
}

impl Drop for Unprivileged {
    fn drop(&mut self) {
        let _ = rustix::thread::set_capabilities(None, self.0);
    }
}

/// Locks the present mappings, now and again every `LOCK_INTERVAL`: each page is locked when it is first used. `MCL_FUTURE` would also
/// lock later mappings, but then allocations beyond the limit on locked memory would fail in a thread without `CAP_IPC_LOCK`.
///
/// # Errors
/// The kernel's reason, in words.
pub fn lock_memory() -> Result<(), String> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::OutOfMemory => {
            "cannot lock memory: this needs CAP_IPC_LOCK or an unlimited `ulimit -l`".to_owned()
        }
        _ => format!("cannot lock memory: {}", error.kind()),
    };
    lock().map_err(|error| refused(error.into()))?;
    IS_LOCKED.store(true, Ordering::Relaxed);
    let again = || {
        loop {
            std::thread::sleep(LOCK_INTERVAL);
            let _ = lock();
        }
    };
    let thread = std::thread::Builder::new().name("zmtop-lock".into());
    thread.stack_size(64 << 10).spawn(again).map_err(refused)?;
    Ok(())
}

fn lock() -> rustix::io::Result<()> {
    let _locking = LOCKING.lock();
    lock_pages()
}

/// Locks the pages in use. Without ONFAULT, the kernel would allocate each page of the stack of each thread.
fn lock_pages() -> rustix::io::Result<()> {
    rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::ONFAULT)
}

/// Returns freed memory to the kernel.
pub fn trim() {
    let _locking = LOCKING.lock();
    let is_locked = IS_LOCKED.load(Ordering::Relaxed);
    // Locked pages cannot be returned, so unlock all.
    if is_locked {
        let _ = rustix::mm::munlockall();
    }
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "no library offers malloc_trim(3)")]
    // SAFETY: it takes a number, locks each heap, and does not touch memory in use.
    unsafe {
        libc::malloc_trim(0);
    }
    if is_locked {
        let _ = lock_pages();
    }
}

/// Decides when to return freed memory to the kernel. The allocator keeps it between pieces in use, so that zmtop keeps what many
/// processes needed once.
#[derive(Debug, Default)]
pub struct GiveBack {
    /// The lowest RSS since memory was last returned, in bytes.
    least: u64,
}

impl GiveBack {
    /// Interval at which to call [`Self::is_due`].
    const INTERVAL: Duration = Duration::from_secs(60);
    /// Growth of the RSS in bytes after which memory is returned.
    const MUCH: u64 = 2 << 20;

    /// Returns true if memory is to be returned.
    pub fn is_due(&mut self, rss: u64) -> bool {
        self.least = self.least.min(rss);
        rss >= self.least + Self::MUCH
    }

    /// Sets the RSS after memory was returned.
    pub const fn returned(&mut self, rss: u64) {
        self.least = rss;
    }

    /// Returns memory whenever it is due.
    pub async fn run(mut self) {
        loop {
            tokio::time::sleep(Self::INTERVAL).await;
            if clock::own_rss().is_ok_and(|rss| self.is_due(rss)) {
                trim();
                self.returned(clock::own_rss().unwrap_or(0));
            }
        }
    }
}

/// Returns the program of this process, also if its file was replaced since, as by an update.
pub fn program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let is_deleted = path.as_os_str().as_bytes().ends_with(b" (deleted)");
    Ok(if is_deleted { "/proc/self/exe".into() } else { path })
}

/// Makes a command start its program with the limit on open files and the `oom_score_adj` that zmtop was started with. Many programs close every descriptor
/// up to the limit, or use `select`, which supports only 1024.
pub fn restore(command: &mut Command) {
    let (limit, adj) = (INITIAL_LIMIT.get().copied(), INITIAL_ADJ.get().map(String::as_bytes));
    let restore = move || {
        if let Some(adj) = adj {
            // Otherwise, after a change of user, the file would belong to root. The new program is dumpable anyway.
            let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable);
            let file = rustix::fs::open(OOM_SCORE_ADJ, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
            rustix::io::write(file, adj)?;
        }
        // This fails if the hard limit was lowered meanwhile. The program then keeps the current limit. The limit is set last: zmtop may
        // have more files open than it allows.
        let _ = limit.map(|limit| setrlimit(Resource::Nofile, limit));
        Ok(())
    };
    #[expect(
        unsafe_code,
        reason = "a limit of the child alone can be set only by itself, before it runs"
    )]
    // SAFETY: between fork and exec only async-signal-safe operations are allowed. These are system calls. They take no lock
    // and allocate nothing: the limit is a copy, the texts are static, and a short path is copied to the stack.
    unsafe {
        command.pre_exec(restore);
    }
}
