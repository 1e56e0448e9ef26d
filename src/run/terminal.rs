//! Taking the terminal and giving it back, whatever happens.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Mutex;
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs;
use rustix::termios::{self, Action, OptionalActions, Termios};

use crate::sampler::callers;

/// The modes the terminal had before zmtop, and whether the mouse was asked for.
static BEFORE: Mutex<Option<(Termios, bool)>> = Mutex::new(None);

/// Alternate screen, bracketed paste, no cursor, cleared.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[2J";
/// Buttons and wheel, in the form that counts beyond 223 columns.
const MOUSE: &[u8] = b"\x1b[?1000h\x1b[?1006h";
/// Everything back: an open synchronized update, mouse, paste, colours, main screen, cursor.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[0m\x1b[?1049l\x1b[?25h";

fn lock() -> std::sync::MutexGuard<'static, Option<(Termios, bool)>> {
    BEFORE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Takes the terminal: keeps its modes, sets raw ones and the alternate screen. Called again after a stop
/// it sets them anew; the modes kept are those of the first time.
pub fn enter(mouse: bool) -> io::Result<()> {
    let stdin = io::stdin();
    let now = termios::tcgetattr(&stdin)?;
    let mut before = lock();
    let (original, _) = before.get_or_insert((now, mouse));
    let mut raw = original.clone();
    raw.make_raw();
    drop(before);
    set_modes(&raw)?;
    let mut bytes = ENTER.to_vec();
    if mouse {
        bytes.extend_from_slice(MOUSE);
    }
    let mut out = io::stdout();
    out.write_all(&bytes)?;
    out.flush()
}

/// Asks the terminal something; the answer comes as if it were typed.
pub fn ask(query: &[u8]) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(query)?;
    out.flush()
}

/// Gives a text to the terminal for the clipboard, by OSC 52.
pub fn copy(text: &str) -> io::Result<()> {
    crossterm::execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
}

/// Gives the terminal back: safe to call from any thread, at any time, any number of times, and from the
/// panic hook. Never blocks for long: an output that takes nothing loses only the escape sequences.
pub fn leave() {
    let Some((original, _)) = lock().take() else { return };
    let stdout = io::stdout();
    // Output stopped by Ctrl-S would keep the sequences back.
    let _ = termios::tcflow(&stdout, Action::OOn);
    if writable(stdout.as_fd()) {
        // Past std's lock, which another thread may hold while its write is stuck.
        let _ = rustix::io::write(&stdout, LEAVE);
    }
    let _ = set_modes(&original);
}

/// Gives the terminal back and stops, as Ctrl-Z does any program; returns once continued.
pub fn stop() {
    leave();
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
}

/// Sets the modes at once, without waiting for output to drain.
fn set_modes(modes: &Termios) -> io::Result<()> {
    loop {
        match termios::tcsetattr(io::stdin(), OptionalActions::Now, modes) {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

fn writable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: 200_000_000,
    };
    poll(&mut fds, Some(&wait)).is_ok_and(|n| n > 0) && fds[0].revents().contains(PollFlags::OUT)
}

/// Major numbers of pseudo-terminals, `UNIX98_PTY_SLAVE_MAJOR` of `include/uapi/linux/major.h`.
const PTY_MAJORS: std::ops::Range<u32> = 136..144;

/// Waits until the terminal on stdin is gone for good; returns false after a while in which it was not. When the other
/// side of a pseudo-terminal is closed, who waits is woken; a line that hangs up wakes nobody, and is looked at every
/// second.
pub fn wait_hung_up() -> bool {
    let stdin = io::stdin();
    let is_pty = fs::fstat(&stdin).is_ok_and(|stat| PTY_MAJORS.contains(&fs::major(stat.st_rdev)));
    is_hung_up(Duration::from_secs(if is_pty { 60 } else { 1 }))
}

/// Waits up to `wait` until the terminal on stdin is gone, if whatever makes it go wakes who waits; returns true if it
/// is gone.
pub fn is_hung_up(wait: Duration) -> bool {
    let stdin = io::stdin();
    let wait = Timespec {
        tv_sec: wait.as_secs().cast_signed(),
        tv_nsec: wait.subsec_nanos().into(),
    };
    let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty())];
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    if poll(&mut fds, Some(&wait)).is_err() {
        // Interrupted, or out of memory: not to spin.
        std::thread::sleep(Duration::from_secs(1));
    }
    fds[0].revents().intersects(gone)
}

/// The terminal's size in columns and rows.
pub fn size() -> io::Result<Size> {
    match termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Ok(Size::new(size.ws_col, size.ws_row)),
        // One that does not say: what its description or the environment tells.
        _ => crossterm::terminal::size().map(|(width, height)| Size::new(width, height)),
    }
}

/// Stdout for the screen's writes: unbuffered below, so that one frame is one write.
pub fn output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Has standard output be the controlling terminal from now on, for the screen, and returns what it was.
pub fn redirect_stdout() -> io::Result<File> {
    let before = output()?;
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    rustix::stdio::dup2_stdout(&terminal)?;
    Ok(before)
}

/// Gives the terminal back when it is dropped.
#[derive(Debug)]
pub struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        leave();
    }
}

/// Has every panic, on any thread, give the terminal back and end what is traced before it is reported, and end the program: what a half-dead
/// monitor shows cannot be trusted, and a released program cannot unwind.
pub fn install_panic_hook() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        leave();
        callers::remove();
        report(info);
        std::process::exit(101);
    }));
}
