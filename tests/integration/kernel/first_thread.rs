//! Processes whose first thread has ended while another holds memory. The test runs itself again as one.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use zmtop::act::{ActError, Pinned, Tunable};
use zmtop::columns::Needs;
use zmtop::group::Totals;
use zmtop::model::{Identity, Missing, ProcessSample};
use zmtop::proc::files::Roots;
use zmtop::sampler::{Scanner, mappings, one_shot};

use super::child::Child;
use super::row;
use crate::support::{PATIENCE, block_on};

/// Set in the process that is to hold the memory.
const HOLDER: &str = "ZMTOP_TEST_HOLDER";
const HELD: u64 = 48 << 20;

extern "C" fn end_thread(_: libc::c_int) {
    #[expect(
        unsafe_code,
        reason = "no library ends a thread from without, nor the first one alone"
    )]
    // SAFETY: a system call that touches no memory and does not return.
    unsafe {
        libc::syscall(libc::SYS_exit, 0);
    }
}

/// In the process that is to hold the memory: does not return. Each thread ends by SIGUSR1.
fn be_the_holder() {
    if std::env::var_os(HOLDER).is_none() {
        return;
    }
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    let held = vec![1_u8; HELD as usize].leak();
    std::hint::black_box(held);
    #[expect(unsafe_code, reason = "see `end_thread`")]
    // SAFETY: the handler makes one system call.
    unsafe {
        libc::signal(libc::SIGUSR1, end_thread as *const () as libc::sighandler_t);
    }
    for _ in 0..3 {
        std::thread::spawn(|| {
            loop {
                std::thread::park();
            }
        });
    }
    kill_process(rustix::process::getpid(), Signal::STOP).unwrap();
    loop {
        std::thread::park();
    }
}

/// A process that holds memory in some threads, of which `name` is the test.
struct Holder(Child);

impl Holder {
    fn start(name: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(HOLDER, "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let holder = Self(Child::from(child));
        holder.until("it never stops", || holder.state() == Some('T'));
        kill_process(Pid::from_raw(holder.pid().cast_signed()).unwrap(), Signal::CONT).unwrap();
        holder
    }

    fn pid(&self) -> u32 {
        self.0.pid()
    }

    fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < PATIENCE, "{what}: {}", self.pid());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The state of a thread, of the first by default.
    fn state_of(&self, tid: u32) -> Option<char> {
        let stat = std::fs::read(format!("/proc/{}/task/{tid}/stat", self.pid())).ok()?;
        String::from_utf8_lossy(&stat).rsplit(") ").next()?.chars().next()
    }

    fn state(&self) -> Option<char> {
        self.state_of(self.pid())
    }

    /// Threads that live beside the first.
    fn others(&self) -> Vec<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let tids = tasks.filter_map(|task| task.unwrap().file_name().to_str()?.parse().ok());
        tids.filter(|tid| *tid != self.pid()).collect()
    }

    fn end(&self, tid: u32) {
        #[expect(unsafe_code, reason = "no library signals one thread of another process")]
        // SAFETY: a system call that takes three numbers.
        let result = unsafe { libc::syscall(libc::SYS_tgkill, self.pid(), tid, libc::SIGUSR1) };
        assert_eq!(result, 0);
        self.until("the thread does not end", || {
            self.state_of(tid).is_none_or(|state| state == 'Z')
        });
    }

    fn identity(&self) -> Identity {
        let bytes = std::fs::read(format!("/proc/{}/stat", self.pid())).unwrap();
        let starttime = zmtop::proc::pid::stat(&bytes, 1).unwrap().starttime;
        Identity {
            pid: self.pid(),
            starttime,
        }
    }
}

/// The row is that of a process that lives and holds its memory.
fn assert_whole(row: &ProcessSample, name: &str) {
    let memory = row.memory().unwrap();
    assert!(memory.uss() >= HELD && memory.pss >= HELD, "{memory:?}");
    assert!(!row.stat.is_zombie() && row.stat.threads > 1, "{:?}", row.stat);
    assert!(row.stat.rss >= HELD && row.stat.vsize >= HELD, "{:?}", row.stat);
    assert!(row.data.is_err() || row.data >= Ok(HELD), "{:?}", row.data);
    assert_ne!((row.stat.image, row.stat.argv), (0, 0));
    let facts = &row.facts;
    let line = facts.cmdline.as_ref().unwrap();
    assert!(line.split(|b| *b == 0).any(|arg| arg == name.as_bytes()), "{line:?}");
    assert_eq!(facts.uid, Ok(rustix::process::geteuid().as_raw()));
    let exe = std::env::current_exe().unwrap();
    assert_eq!(facts.exe.as_deref(), Ok(exe.as_os_str().as_bytes()));
}

#[test]
fn the_first_thread_ends_while_it_is_watched() {
    const NAME: &str = "kernel::first_thread::the_first_thread_ends_while_it_is_watched";
    be_the_holder();
    let holder = Holder::start(NAME);
    let mut scanner = Scanner::new(&crate::support::machine_options());
    let before = row(&block_on(scanner.full()), holder.pid()).clone();
    assert_whole(&before, NAME);
    holder.end(holder.pid());
    assert_eq!(holder.state(), Some('Z'));
    // Each thread in turn: the one that is read ends, and another is found.
    while let Some(tid) = holder.others().first() {
        for _ in 0..2 {
            let snapshot = block_on(scanner.full());
            let r = row(&snapshot, holder.pid());
            assert_whole(r, NAME);
            assert_eq!((r.id, r.exec), (before.id, before.exec));
            assert!(!Totals::of([r], |_| None).partial);
        }
        holder.end(*tid);
    }
    let ended = block_on(scanner.full());
    assert_eq!(row(&ended, holder.pid()).walk, Err(Missing::Zombie));
    assert!(row(&ended, holder.pid()).stat.is_zombie());
}

#[test]
fn one_that_has_ended_before_is_read_whole() {
    const NAME: &str = "kernel::first_thread::one_that_has_ended_before_is_read_whole";
    be_the_holder();
    let holder = Holder::start(NAME);
    holder.end(holder.pid());
    let options = crate::support::machine_options();
    assert_whole(row(&block_on(Scanner::new(&options).full()), holder.pid()), NAME);
    let snapshot = one_shot::scan(&options, Needs::MEMORY.and(Needs::COMMAND_LINE).and(Needs::USER)).unwrap();
    let r = row(&snapshot, holder.pid());
    assert!(r.memory().unwrap().uss() >= HELD && !r.stat.is_zombie(), "{r:?}");
    let line = r.facts.cmdline.as_ref().unwrap();
    assert!(line.windows(NAME.len()).any(|part| part == NAME.as_bytes()), "{line:?}");
    let areas = mappings::areas(&options, &[holder.pid()]).remove(0).unwrap();
    assert!(areas.what.iter().map(|area| area.memory.unwrap().rss).sum::<u64>() >= HELD);
    let scan = mappings::scan(&options, &[holder.identity()], |_, _| {
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!((scan.read, scan.missing.len()), (1, 0));
    let heap = zmtop::heaps::look(std::path::Path::new("/proc"), holder.pid(), Duration::from_secs(10)).unwrap();
    assert!(heap.memory.unwrap().total() >= HELD, "{heap:?}");
    // It can be acted on, as the kernel allows.
    let pinned = Pinned::new(&Roots::new(None), holder.identity()).unwrap();
    assert!(!pinned.has_exited());
    assert_eq!(pinned.set(Tunable::Nice, 19), Ok(()));
    assert_eq!(pinned.get(Tunable::Nice), Ok(19));
    assert_eq!(pinned.set(Tunable::OomScoreAdj, 900), Ok(()));
    assert_eq!(pinned.get(Tunable::OomScoreAdj), Ok(900));
    assert_eq!(pinned.signal(Signal::KILL), Ok(()));
    holder.until("it does not end", || pinned.has_exited());
    assert_eq!(pinned.signal(Signal::KILL), Err(ActError::Zombie));
}

/// The owner may act on it too, though the first thread's files are root's.
#[test]
fn its_owner_may_act_on_it() {
    const NAME: &str = "kernel::first_thread::its_owner_may_act_on_it";
    be_the_holder();
    if rustix::process::geteuid().is_root() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", NAME, "--test-threads=1"]);
        let output = command.uid(65534).gid(65534).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let holder = Holder::start(NAME);
    holder.end(holder.pid());
    let pinned = Pinned::new(&Roots::new(None), holder.identity()).unwrap();
    assert_eq!(pinned.set(Tunable::OomScoreAdj, 900), Ok(()));
    assert_eq!(pinned.get(Tunable::OomScoreAdj), Ok(900));
    assert_eq!(pinned.signal(Signal::KILL), Ok(()));
    holder.until("it does not end", || pinned.has_exited());
}
