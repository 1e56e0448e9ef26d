//! Processes of a busy machine: they start, fork, grow, share memory and end.

use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_parent_process_death_signal, waitpid};
use tempfile::TempDir;

use super::interrupt::pause;
use super::load::Load;

/// Tells a child what to be.
const KIND: &str = "ZMTOP_BENCH_CHURN";
const PAGE: usize = 4096;

/// Turns a bench that was started as one of these into one; to be called before anything else.
pub(crate) fn be_one_if_told() {
    let Ok(kind) = std::env::var(KIND) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let words: Vec<&str> = kind.split(' ').collect();
    let mb = words[1].parse::<usize>().unwrap() << 20;
    match words[0] {
        "server" => serve(mb),
        "grow" => grow(mb),
        "hold" => hold(mb, words[2]),
        _ => panic!("no such load: {kind}"),
    }
}

/// Starts a process: `server MB` forks forty workers a second, `grow MB` grows so much each second, `hold MB PATH` has
/// mapped and touched a file.
pub(crate) fn kind(kind: &str) -> Load {
    Load::start_as(1, KIND, kind)
}

fn ready() {
    std::io::stdout().write_all(b"r").unwrap();
    std::io::stdout().flush().unwrap();
}

/// Maps so many bytes, of a file where one is given.
fn area(size: usize, file: Option<&fs::File>) -> *mut u8 {
    let rw = ProtFlags::READ | ProtFlags::WRITE;
    #[expect(unsafe_code, reason = "a mapping can be had no other way")]
    // SAFETY: the kernel chooses a free place.
    let at = unsafe {
        match file {
            Some(file) => mmap(std::ptr::null_mut(), size, rw, MapFlags::SHARED, file, 0),
            None => mmap_anonymous(std::ptr::null_mut(), size, rw, MapFlags::PRIVATE),
        }
    };
    at.unwrap().cast()
}

fn touch(at: *mut u8, pages: std::ops::Range<usize>) {
    for page in pages {
        #[expect(unsafe_code, reason = "as in `area`")]
        // SAFETY: the callers mapped as much, for nothing else.
        unsafe {
            at.add(page * PAGE).write_volatile(1);
        }
    }
}

fn serve(size: usize) -> ! {
    touch(area(size, None), 0..size / PAGE);
    ready();
    loop {
        std::thread::sleep(Duration::from_millis(25));
        #[expect(unsafe_code, reason = "no library forks")]
        // SAFETY: there is one thread, and the child only sleeps and ends.
        unsafe {
            if libc::fork() == 0 {
                // So that some ten are there at a time: more would cost the walks beside them too much.
                std::thread::sleep(Duration::from_millis(250));
                libc::_exit(0);
            }
        }
        while let Ok(Some(_)) = waitpid(None, WaitOptions::NOHANG) {}
    }
}

fn grow(rate: usize) -> ! {
    const SECONDS: usize = 300;
    let at = area(rate * SECONDS, None);
    ready();
    let step = rate / PAGE / 20;
    for from in (0..rate * SECONDS / PAGE - step).step_by(step) {
        touch(at, from..from + step);
        std::thread::sleep(Duration::from_millis(50));
    }
    std::process::exit(0)
}

fn hold(size: usize, path: &str) -> ! {
    let file = fs::File::options().read(true).write(true).open(path).unwrap();
    touch(area(size, Some(&file)), 0..size / PAGE);
    ready();
    loop {
        std::thread::park();
    }
}

/// Something done again and again on threads of its own, until dropped.
pub(crate) struct Repeated {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Repeated {
    fn start(threads: u32, every: Duration, act: impl Fn() + Send + Sync + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let act = Arc::new(act);
        let threads = (0..threads).map(|_| {
            let (is_over, act) = (Arc::clone(&is_over), Arc::clone(&act));
            std::thread::spawn(move || {
                let mut next = Instant::now();
                while !is_over.load(Ordering::Relaxed) {
                    act();
                    // Without catching up where the machine could not keep up.
                    next = (next + every).max(Instant::now());
                    std::thread::sleep(next.saturating_duration_since(Instant::now()));
                }
            })
        });
        Self {
            threads: threads.collect(),
            is_over,
        }
    }

    /// Starts so many programs a second, which end at once.
    pub(crate) fn short(rate: u32) -> Self {
        const THREADS: u32 = 4;
        let every = Duration::from_secs(1) * THREADS / rate.max(1);
        Self::start(THREADS, every, || {
            let _ = Command::new("/bin/true").stdin(Stdio::null()).status();
        })
    }
}

impl Drop for Repeated {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Compilers at work.
pub(crate) struct Build {
    _compilers: Repeated,
    _source: TempDir,
}

impl Build {
    pub(crate) fn start() -> Self {
        let source = tempfile::tempdir().unwrap();
        let path = source.path().join("many.c");
        let functions = (0..3000).map(|n| {
            format!(
                "int f{n}(int *a, int n) {{ int s = {n}; for (int i = 0; i < n; i++) s += a[i] * (s ^ {n}); return s; }}\n"
            )
        });
        fs::write(&path, functions.collect::<String>()).unwrap();
        let compile = move || {
            let mut compiler = Command::new("cc");
            let _ = compiler.args(["-O2", "-c", "-o", "/dev/null"]).arg(&path).status();
        };
        Self {
            _compilers: Repeated::start(2, Duration::ZERO, compile),
            _source: source,
        }
    }
}

/// Two that share a memfd; from time to time one of them ends, and another begins.
pub(crate) struct Sharers {
    _turns: Repeated,
    _first: Load,
    _memory: std::os::fd::OwnedFd,
}

impl Sharers {
    pub(crate) fn start(mb: u64) -> Self {
        let memory = rustix::fs::memfd_create("zmtop-bench", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&memory, mb << 20).unwrap();
        let what = format!("hold {mb} /proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
        let first = kind(&what);
        let turn = move || {
            let _second = kind(&what);
            std::thread::sleep(Duration::from_millis(7500));
        };
        Self {
            _turns: Repeated::start(1, Duration::from_secs(15), turn),
            _first: first,
            _memory: memory,
        }
    }
}

/// A postgres of its own, and clients that connect anew for each transaction.
pub(crate) struct Database {
    server: Child,
    clients: Child,
    _dir: TempDir,
}

impl Database {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        let (uid, gid) = postgres_user();
        chown(path, Some(uid), Some(gid)).unwrap();
        let run = |program: &str, args: &[&str]| {
            let mut command = Command::new("setpriv");
            let (uid, gid) = (uid.to_string(), gid.to_string());
            command.args([
                "--reuid",
                &uid,
                "--regid",
                &gid,
                "--clear-groups",
                "--pdeathsig",
                "INT",
                "--",
            ]);
            command.arg(program).args(args).current_dir(path);
            command.env("PATH", path_of_postgres());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let at = path.to_str().unwrap();
        let data = format!("{at}/data");
        assert!(
            run("initdb", &["-A", "trust", &data]).status().unwrap().success(),
            "initdb"
        );
        let settings =
            format!("listen_addresses=''\nunix_socket_directories='{at}'\nfsync=off\nshared_buffers=256MB\n");
        let mut file = fs::File::options()
            .append(true)
            .open(format!("{data}/postgresql.conf"))
            .unwrap();
        file.write_all(settings.as_bytes()).unwrap();
        let server = run("postgres", &["-D", &data]).spawn().unwrap();
        let began = Instant::now();
        while !run("pgbench", &["-h", at, "-i", "-q", "-s", "10", "postgres"])
            .status()
            .unwrap()
            .success()
        {
            assert!(began.elapsed() < Duration::from_secs(60), "postgres does not answer");
            pause(Duration::from_millis(500));
        }
        let clients = ["-h", at, "-C", "-n", "-c", "8", "-R", "60", "-T", "100000", "postgres"];
        Self {
            clients: run("pgbench", &clients).spawn().unwrap(),
            server,
            _dir: dir,
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = self.clients.kill();
        let _ = self.clients.wait();
        let _ = kill_process(Pid::from_child(&self.server), Signal::INT);
        let _ = self.server.wait();
    }
}

/// The user that postgres runs as: it refuses root.
fn postgres_user() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let line = users
        .lines()
        .find(|line| line.starts_with("postgres:"))
        .expect("postgres is installed");
    let mut ids = line.split(':').skip(2).map(|id| id.parse().unwrap());
    (ids.next().unwrap(), ids.next().unwrap())
}

/// The usual path, and the directories in which Debian keeps the programs of postgres.
fn path_of_postgres() -> std::ffi::OsString {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let all = versions.map(|version| version.path().join("bin"));
    std::env::join_paths(all.chain([PathBuf::from("/usr/local/bin"), "/usr/bin".into(), "/bin".into()])).unwrap()
}
