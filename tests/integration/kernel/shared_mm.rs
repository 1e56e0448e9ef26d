//! Processes that share one address space.

use std::cmp::Ordering;
use std::ffi::{CString, OsStr, OsString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_parent_process_death_signal, waitpid};
use zmtop::group::Totals;
use zmtop::model::{Identity, ProcessSample};
use zmtop::sampler::{Needs, Scanner, one_shot};

use super::child::Child;
use super::row;
use crate::support::{PATIENCE, block_on, cannot};

const NAME: &str = "kernel::shared_mm::one_address_space_counts_once";
/// Set in the process that makes the others.
const MAKER: &str = "ZMTOP_TEST_KIN";
/// Its value where one more is made, with this memory, whose parent is another.
const ALL: &str = "all";
/// Its value where the one with this memory, once it continues, executes the same program with the value [`WAIT`], which is as long.
const EXEC: &str = "exec";
const WAIT: &str = "wait";
const STACK: usize = 64 << 10;
/// The number of copies of this memory between two processes that share it, for [`ALL`].
const COPIES: usize = 50;

/// Waits to be killed. It may run beside its maker in the same memory, so it does nothing else.
extern "C" fn wait_for_ever(_: *mut c_void) -> c_int {
    #[expect(unsafe_code, reason = "a clone shares even the C library's state with its maker")]
    // SAFETY: two system calls, which touch no memory of the caller's.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        loop {
            libc::pause();
        }
    }
}

/// The arguments of `execve(2)`, for as long as the process lives.
struct Call {
    path: CString,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
}

/// Stops, and then executes the [`Call`] at `call`.
extern "C" fn execute_later(call: *mut c_void) -> c_int {
    #[expect(unsafe_code, reason = "as above")]
    // SAFETY: three system calls. The call was made for it, and is never changed or freed.
    unsafe {
        let call = &*call.cast::<Call>();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::kill(libc::getpid(), libc::SIGSTOP);
        libc::execve(call.path.as_ptr(), call.arguments.as_ptr(), call.environment.as_ptr())
    }
}

/// Returns a call of this program with the same arguments, and another value of [`MAKER`].
fn call_of_this_program() -> *mut c_void {
    let text = |bytes: &OsStr| CString::new(bytes.as_bytes()).unwrap();
    let list = |texts: Vec<CString>| {
        let ends = texts.into_iter().map(|text| text.into_raw().cast_const());
        ends.chain([std::ptr::null()]).collect()
    };
    let environment = std::env::vars_os().map(|(name, value)| {
        let value = if name == MAKER { WAIT.into() } else { value };
        text(
            &[name.as_os_str(), "=".as_ref(), &value]
                .into_iter()
                .collect::<OsString>(),
        )
    });
    let call = Call {
        path: text(std::env::current_exe().unwrap().as_os_str()),
        arguments: list(std::env::args_os().map(|argument| text(&argument)).collect()),
        environment: list(environment.collect()),
    };
    Box::into_raw(Box::new(call)).cast()
}

fn make(flags: c_int) {
    make_with(wait_for_ever, std::ptr::null_mut(), flags);
}

fn make_with(body: extern "C" fn(*mut c_void) -> c_int, argument: *mut c_void, flags: c_int) {
    let stack: &'static mut [u8] = Box::leak(vec![0; STACK].into_boxed_slice());
    #[expect(unsafe_code, reason = "no other call makes a process with the same memory")]
    // SAFETY: the stack is its own for ever, and what runs on it does not return.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(STACK).cast();
        libc::clone(body, top, flags | libc::SIGCHLD, argument)
    };
    assert!(pid > 0, "{}", std::io::Error::last_os_error());
}

/// In the process that is to make the others: does not return.
fn be_the_maker() {
    let Some(makes) = std::env::var_os(MAKER) else { return };
    set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
    if makes == EXEC {
        make_with(execute_later, call_of_this_program(), libc::CLONE_VM);
    } else if makes != WAIT {
        // One with this memory, and one with a copy of it.
        make(libc::CLONE_VM);
        make(0);
    }
    if makes == ALL {
        // The one whose parent is another is far away from the first.
        (1..COPIES).for_each(|_| make(0));
        make(libc::CLONE_VM | libc::CLONE_PARENT);
    }
    loop {
        kill_process(getpid(), Signal::STOP).unwrap();
    }
}

fn space(row: &ProcessSample) -> Identity {
    row.shares_mm.unwrap_or(row.id)
}

/// A process with two children: one with its memory, and one with a copy of it.
pub(crate) fn start_pair() -> Child {
    start("pair")
}

fn start(makes: &str) -> Child {
    // Without random addresses: what executes the same program has the same.
    let maker = Command::new("setarch")
        .arg("-R")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture", "--test-threads=1"])
        .env(MAKER, makes)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    Child::from(maker)
}

/// Returns true if address spaces can be compared; says so if not.
fn has_kcmp() -> bool {
    let has = zmtop::proc::pid::compare_memory(std::process::id(), std::process::id()) == Ok(Ordering::Equal);
    if !has {
        cannot("this kernel, or whoever runs this, allows no kcmp");
    }
    has
}

#[test]
fn the_same_program_executed_at_the_same_addresses_has_its_own_memory() {
    if !has_kcmp() {
        return;
    }
    let maker = start(EXEC);
    let began = Instant::now();
    let mut scanner = Scanner::new(&crate::support::machine_options());
    let mut find = |what: &str, is_it: &dyn Fn(&ProcessSample) -> bool| loop {
        let snapshot = block_on(scanner.full());
        let mut rows = snapshot.rows().iter().filter(|row| row.stat.ppid == maker.pid());
        if let Some(found) = rows.find(|row| is_it(row)) {
            break found.clone();
        }
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    };
    let child = find("the child is not found", &|row| {
        row.stat.state == b'T' && row.shares_mm.is_some()
    });
    kill_process(Pid::from_raw(child.id.pid.cast_signed()).unwrap(), Signal::CONT).unwrap();
    let own = find("it still shares", &|row| {
        row.shares_mm.is_none() && row.memory().is_ok()
    });
    assert_eq!(own.id, child.id);
}

#[test]
fn one_address_space_counts_once() {
    be_the_maker();
    if !has_kcmp() {
        return;
    }
    let maker = start(ALL);
    let began = Instant::now();
    let mut scanner = Scanner::new(&crate::support::machine_options());
    while row(&block_on(scanner.full()), maker.pid()).stat.state != b'T' {
        assert!(began.elapsed() < PATIENCE, "the maker never stops");
        std::thread::sleep(Duration::from_millis(5));
    }
    // By one that saw them come, and one that sees them all at once.
    let snapshot = block_on(scanner.full());
    let fresh = block_on(Scanner::new(&crate::support::machine_options()).full());
    let pids: Vec<u32> = {
        let one = space(row(&fresh, maker.pid()));
        fresh
            .rows()
            .iter()
            .filter(|p| space(p) == one)
            .map(|p| p.id.pid)
            .collect()
    };
    let table = one_shot::scan(&crate::support::machine_options(), Needs::MEMORY).expect("one table");
    let sharing = table.rows().iter().filter(|row| pids.contains(&row.id.pid));
    let distinct = sharing.filter(|row| row.shares_mm.is_none()).count();
    // The one whose parent is this process does not end with its maker.
    let orphans = pids
        .iter()
        .filter(|pid| **pid != maker.pid() && row(&fresh, **pid).stat.ppid != maker.pid());
    for pid in orphans.filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
        kill_process(pid, Signal::KILL).unwrap();
        waitpid(Some(pid), WaitOptions::empty()).unwrap();
    }
    let children: Vec<_> = fresh.rows().iter().filter(|p| p.stat.ppid == maker.pid()).collect();
    assert_eq!(children.len(), 1 + COPIES);
    let (sharers, copies): (Vec<_>, Vec<_>) = children.into_iter().partition(|p| pids.contains(&p.id.pid));
    assert_eq!((sharers.len(), copies.len()), (1, COPIES), "{pids:?}");
    assert!(copies.iter().all(|copy| copy.shares_mm.is_none()));
    assert_eq!(pids.len(), 3, "the one with another parent is not found");
    assert_eq!(distinct, 1, "a table for one time counts it again");
    // The first of them stands for all, and the sum is its own.
    let lowest = pids.iter().min().copied();
    for pid in &pids {
        assert_eq!(
            row(&fresh, *pid).shares_mm.map(|id| id.pid),
            lowest.filter(|low| low != pid)
        );
    }
    let all: Vec<_> = fresh.rows().iter().filter(|p| pids.contains(&p.id.pid)).collect();
    let sum = Totals::of(all.iter().copied(), |_| None);
    let one = all.iter().find(|p| p.shares_mm.is_none()).unwrap();
    assert_eq!(sum.memory.unwrap().pss, one.memory().unwrap().pss);
    assert_eq!((sum.count, sum.partial), (pids.len(), false));
    // Seen as they came, the same is known of the child.
    let seen = row(&snapshot, sharers[0].id.pid);
    assert_eq!(space(seen), space(row(&snapshot, maker.pid())));
}
