//! Sets up the terminal and restores it, whatever happens.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs;
use rustix::termios::{self, Action, OptionalActions, Termios};

use crate::sampler::callers;

/// The terminal's modes before zmtop changed them; null while it is restored. Never freed, because a signal handler may
/// read it.
static BEFORE: AtomicPtr<Termios> = AtomicPtr::new(std::ptr::null_mut());

/// Alternate screen, bracketed paste, hidden cursor, cleared.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[2J";
/// Buttons, wheel and drags, in the encoding that works beyond 223 columns.
const MOUSE: &[u8] = b"\x1b[?1002h\x1b[?1006h";
/// Undoes everything: an open synchronized update, mouse, paste, colours, main screen, cursor.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?2004l\x1b[0m\x1b[?1049l\x1b[?25h";

/// Returns the modes in [`BEFORE`]. Sets that to null if they are `taken`.
fn saved_modes(taken: bool) -> Option<&'static Termios> {
    let address = if taken {
        BEFORE.swap(std::ptr::null_mut(), Ordering::SeqCst)
    } else {
        BEFORE.load(Ordering::SeqCst)
    };
    #[expect(unsafe_code, reason = "a lock must not be taken in a signal handler")]
    // SAFETY: only `enter` stores another address than null there: that of a leaked box, which nothing writes to or frees.
    unsafe {
        address.as_ref()
    }
}

/// Sets up the terminal: saves its modes, then sets raw mode and the alternate screen. After a stop, call it again. If
/// the terminal was not restored meanwhile, the modes saved first are kept.
pub fn enter(mouse: bool) -> io::Result<()> {
    let stdin = io::stdin();
    let now = termios::tcgetattr(&stdin)?;
    let saved = saved_modes(false);
    let mut raw = saved.unwrap_or(&now).clone();
    if saved.is_none() {
        BEFORE.store(Box::leak(Box::new(now)), Ordering::SeqCst);
    }
    raw.make_raw();
    set_modes(&raw)?;
    let mut bytes = ENTER.to_vec();
    if mouse {
        bytes.extend_from_slice(MOUSE);
    }
    ask(&bytes)
}

/// Sends a query to the terminal. The answer arrives like typed input.
pub fn ask(query: &[u8]) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(query)?;
    out.flush()
}

/// Copies a text to the clipboard, by OSC 52.
pub fn copy(text: &str) -> io::Result<()> {
    ask(format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text)).as_bytes())
}

/// Restores the terminal. Safe to call from any thread, at any time and any number of times, including in the panic
/// hook and in a signal handler: it only makes system calls, takes no lock and allocates nothing. Never blocks for
/// long. If the output is stalled, only the escape sequences are lost.
pub fn leave() {
    let Some(original) = saved_modes(true) else {
        return;
    };
    let stdout = rustix::stdio::stdout();
    // Output stopped by Ctrl-S would hold back the sequences.
    let _ = termios::tcflow(stdout, Action::OOn);
    if writable(stdout) {
        // Bypass std's lock, which another thread may hold while its write is stuck.
        let _ = rustix::io::write(stdout, LEAVE);
    }
    let _ = set_modes(original);
}

/// Restores the terminal and stops the process group, as Ctrl-Z does with any program. Returns once continued. A script
/// that runs zmtop stops too: the shell waits for the script.
pub fn stop() {
    leave();
    let _ = rustix::process::kill_current_process_group(rustix::process::Signal::STOP);
}

/// Signals of faults, which `kill` can also send. A runtime must not handle them, since it would return to the fault.
const FAULTS: [libc::c_int; 7] = [
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGTRAP,
];

static ACTIONS: OnceLock<Vec<libc::sigaction>> = OnceLock::new();

/// Installs handlers of fault signals that restore the terminal before the previous action, which ends the program, with a core
/// dump if the system keeps one.
pub fn leave_on_faults() -> io::Result<()> {
    let mut before = Vec::with_capacity(FAULTS.len());
    for signal in FAULTS {
        before.push(set_action(signal, None)?);
    }
    if ACTIONS.set(before).is_err() {
        return Ok(());
    }
    #[expect(unsafe_code, reason = "no library calls a handler on a fault")]
    // SAFETY: numbers, and an optional function: all zeros are a valid action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_fault as *const () as usize;
    // Use the alternate stack, which every Rust thread has: the main one may have overflowed.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    for signal in FAULTS {
        set_action(signal, Some(&action))?;
    }
    Ok(())
}

/// Sets the action of a signal if `action` is given. Returns the previous action.
fn set_action(signal: libc::c_int, action: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let action = action.map_or(std::ptr::null(), std::ptr::from_ref);
    #[expect(unsafe_code, reason = "no library sets the action of SIGSEGV")]
    // SAFETY: the addresses are valid or null. All zeros are a valid action, should the call fail. The only handler that is ever
    // set is `on_fault`, which takes what `SA_SIGINFO` passes and is async-signal-safe.
    let (status, before) = unsafe {
        let mut before = std::mem::zeroed();
        (libc::sigaction(signal, action, &raw mut before), before)
    };
    if status == 0 {
        Ok(before)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Restores the terminal, then lets the signal's previous action run. Async-signal-safe.
extern "C" fn on_fault(signal: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    leave();
    let before = FAULTS.iter().position(|fault| *fault == signal);
    let before = before.and_then(|at| ACTIONS.get()?.get(at));
    #[expect(unsafe_code, reason = "a signal handler")]
    // SAFETY: the kernel passes an address that is valid until the handler returns. Both calls are async-signal-safe. All zeros are
    // the default action, and `before` is an action that this signal had.
    unsafe {
        let is_sent = info.as_ref().is_none_or(|info| info.si_code <= 0);
        let returns_to_fault = !is_sent && !matches!(signal, libc::SIGSYS | libc::SIGTRAP);
        match before {
            // The fault recurs, and std's handler reports a stack overflow.
            Some(before) if returns_to_fault => {
                libc::sigaction(signal, before, std::ptr::null_mut());
            }
            _ => {
                libc::sigaction(signal, &std::mem::zeroed(), std::ptr::null_mut());
                libc::raise(signal);
            }
        }
    }
}

/// Reads typed input. Waits at most `wait`, or without limit if `None`. Returns `None` if nothing arrived.
pub fn read(buffer: &mut [u8], wait: Option<Duration>) -> io::Result<Option<usize>> {
    let stdin = io::stdin();
    let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
    match poll(&mut fds, wait.as_ref()) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        other => other?,
    };
    // Bypass std's buffer: poll does not see bytes held there.
    match rustix::io::read(&stdin, buffer) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(read) => Ok(Some(read)),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn set_modes(modes: &Termios) -> io::Result<()> {
    Ok(rustix::io::retry_on_intr(|| {
        // std's standard input would take a lock where it is used for the first time.
        termios::tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, modes)
    })?)
}

fn writable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: 200_000_000,
    };
    poll(&mut fds, Some(&wait)).is_ok_and(|n| n > 0) && fds[0].revents().contains(PollFlags::OUT)
}

/// Writes a one-line message to stderr, unless stderr is stalled: the terminal may be stuck.
pub fn complain(what: &str) {
    if writable(io::stderr().as_fd()) {
        super::complain(what);
    }
}

/// Major numbers of pseudo-terminals, `UNIX98_PTY_SLAVE_MAJOR` of `include/uapi/linux/major.h`.
const PTY_MAJORS: std::ops::Range<u32> = 136..144;

/// Waits until the terminal on stdin is gone for good, and returns true. Returns false after a time limit. Closing the
/// other side of a pseudo-terminal wakes the waiting thread. A hang-up of a serial line does not, so it is polled every
/// second.
pub fn wait_hung_up() -> bool {
    let stdin = io::stdin();
    let is_pty = fs::fstat(&stdin).is_ok_and(|stat| PTY_MAJORS.contains(&fs::major(stat.st_rdev)));
    is_hung_up(Duration::from_secs(if is_pty { 60 } else { 1 }))
}

/// Waits up to `wait` until the terminal on stdin is gone. Returns true if it is gone. Returns early only if the loss
/// wakes the waiting thread.
pub fn is_hung_up(wait: Duration) -> bool {
    let stdin = io::stdin();
    let wait = Timespec::try_from(wait).ok();
    let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty())];
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    if poll(&mut fds, wait.as_ref()).is_err() {
        // Interrupted or out of memory. Sleep to avoid spinning.
        std::thread::sleep(Duration::from_secs(1));
    }
    fds[0].revents().intersects(gone)
}

/// The largest screen that is drawn. Any process on the terminal can set its size, and a screen of 65535 × 65535 needs 300 GB.
const LARGEST: Size = Size::new(1000, 500);

/// Returns the size of the screen: that of the terminal, at most `LARGEST`.
pub fn size() -> io::Result<Size> {
    let (width, height) = match termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
        // If the terminal does not know its size, use its description or the environment.
        _ => crossterm::terminal::size()?,
    };
    Ok(Size::new(width.min(LARGEST.width), height.min(LARGEST.height)))
}

/// Opens stdout for the screen's writes. It is unbuffered, so that one frame is one write.
pub fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Redirects standard output to the controlling terminal, for the screen. Returns the previous output.
pub fn redirect_stdout() -> io::Result<File> {
    let before = output()?;
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    rustix::stdio::dup2_stdout(&terminal)?;
    Ok(before)
}

/// Redirects standard input to the controlling terminal, for the keys. Returns the previous input.
pub fn redirect_stdin() -> io::Result<File> {
    let before = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    rustix::stdio::dup2_stdin(&terminal)?;
    Ok(before)
}

#[derive(Debug)]
pub struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        leave();
    }
}

/// Installs a panic hook for all threads. It restores the terminal and ends a trace before the panic is reported, then
/// ends the program: the display of a half-dead monitor cannot be trusted, and a release build cannot unwind.
pub fn install_panic_hook() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        leave();
        callers::remove();
        report(info);
        std::process::exit(101);
    }));
}
