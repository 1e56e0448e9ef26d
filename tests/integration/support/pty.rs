//! The real program in a real pseudo-terminal, and a terminal emulator that shows whole frames only, as a terminal with
//! synchronised updates does.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) use super::PATIENCE;
use super::terminal::{Terminal, cells, emulator, size};

/// The most bytes of raw output that are kept.
const MAX_RAW: usize = 16 << 20;

/// The key Esc as kitty and xterm number it. A lone ESC and the next key are one key where a loaded machine joins them.
pub(crate) const ESC: &str = "\x1b[27u";

/// The program under test.
pub(crate) const ZMTOP: &str = env!("CARGO_BIN_EXE_zmtop");

/// A shell or program in a pseudo-terminal of its own. Ended when dropped.
pub(crate) struct Pty {
    terminal: Terminal,
    writer: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
    /// The reader stops reading while this is held.
    stall: Arc<Mutex<()>>,
    reader: std::thread::JoinHandle<()>,
}

impl Pty {
    /// Runs `program` with `args` on a terminal of that size, with a home of its own.
    pub(crate) fn run(size: (u16, u16), program: &str, args: &[&str], env: &[(&str, &str)]) -> Self {
        let (cols, rows) = size;
        let started = Terminal::start(size, program, args, |command, home| {
            // Not the first start, but where a test wants that.
            std::fs::create_dir_all(home.join(".local/state/zmtop/started")).unwrap();
            command.env("PS1", "$ ");
            command.env("ZMTOP", ZMTOP);
            for (name, value) in env {
                command.env(name, value);
            }
        });
        let terminal = started.unwrap();
        let screen = Arc::new(Mutex::new(emulator(cols, rows)));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let stall = Arc::new(Mutex::new(()));
        let mut reader = terminal.master().try_clone_reader().unwrap();
        let (shown, log, held) = (screen.clone(), raw.clone(), stall.clone());
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            let mut pending = Vec::new();
            loop {
                drop(held.lock().unwrap_or_else(PoisonError::into_inner));
                let Ok(read @ 1..) = reader.read(&mut buffer) else {
                    break;
                };
                let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                if log.len() < MAX_RAW {
                    log.extend_from_slice(&buffer[..read]);
                }
                drop(log);
                pending.extend_from_slice(&buffer[..read]);
                let whole: Vec<u8> = pending.drain(..whole(&pending)).collect();
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(&whole);
            }
            shown.lock().unwrap_or_else(PoisonError::into_inner).process(&pending);
        });
        Self {
            writer: terminal.master().take_writer().unwrap(),
            terminal,
            screen,
            raw,
            stall,
            reader,
        }
    }

    /// zmtop itself.
    pub(crate) fn zmtop(size: (u16, u16), args: &[&str]) -> Self {
        Self::run(size, ZMTOP, args, &[])
    }

    /// A shell that notes the terminal's modes before and after zmtop, and how it ended; then waits.
    pub(crate) fn noted(args: &str) -> Self {
        let script = format!("echo before $(stty -g); $ZMTOP {args}; echo ended $?; echo after $(stty -g); read wait");
        Self::run((100, 30), "sh", &["-c", &script], &[])
    }

    /// The home directory it has.
    pub(crate) fn home(&self) -> &Path {
        self.terminal.home.path()
    }

    /// Returns the present screen.
    pub(crate) fn screen(&self) -> MutexGuard<'_, vt100::Parser> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The screen as text.
    pub(crate) fn text(&self) -> String {
        self.screen().screen().contents()
    }

    /// All that was written so far, as it came, up to [`MAX_RAW`].
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.raw.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Types bytes.
    pub(crate) fn send(&mut self, bytes: &str) {
        let writer = &mut self.writer;
        writer.write_all(bytes.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// Clicks on the first `text` of the screen, `clicks` times, until the screen's text is as wanted. Clicks again where nothing
    /// happens: lines above come and go with what other tests do to the machine, and may move the text in the meantime.
    #[track_caller]
    pub(crate) fn click(&mut self, text: &str, clicks: usize, what: &str, wanted: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !wanted(&self.text()) {
            let screen = self.text();
            assert!(
                start.elapsed() < PATIENCE,
                "clicked in vain on {text} for {what}:\n{screen}"
            );
            let place = screen
                .lines()
                .zip(1..)
                .find_map(|(line, y)| Some((line.find(text)?, line, y)));
            if let Some((at, line, y)) = place {
                let x = line[..at].chars().count() + 1 + text.chars().count() / 2;
                self.send(&format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m").repeat(clicks));
            }
            let clicked = Instant::now();
            while clicked.elapsed() < Duration::from_secs(5) && !wanted(&self.text()) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Waits until the screen's text is as wanted.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !wanted(&self.text()) {
            assert!(
                start.elapsed() < PATIENCE,
                "waited in vain for {what}:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until all that an ended program wrote is on the screen.
    #[track_caller]
    pub(crate) fn wait_for_end(&self) {
        let start = Instant::now();
        while !self.reader.is_finished() {
            assert!(start.elapsed() < PATIENCE, "the terminal stays open:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen holds a text.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait(text, |screen| screen.contains(text));
    }

    /// Waits for the monitor's table.
    #[track_caller]
    pub(crate) fn wait_for_table(&self) {
        // The sums of it, where there is nothing but ASCII with another sign.
        let has_sums = |screen: &str| screen.contains("Σ ") || screen.contains("= ");
        self.wait("the table", |screen| screen.contains("COMMAND") && has_sums(screen));
    }

    /// Sets another size.
    pub(crate) fn resize(&self, cols: u16, rows: u16) {
        self.screen().screen_mut().set_size(cells(rows), cells(cols));
        self.terminal.master().resize(size(cols, rows)).unwrap();
    }

    /// Stops reading what is written until the guard is dropped.
    pub(crate) fn stall(&self) -> MutexGuard<'_, ()> {
        self.stall.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, for who types meanwhile: reading stops while it is held.
    pub(crate) fn stall_lock(&self) -> Arc<Mutex<()>> {
        self.stall.clone()
    }

    /// The pid of what was run.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.terminal.pid()).unwrap()
    }

    /// The pid of the zmtop that the shell runs.
    pub(crate) fn zmtop_pid(&self) -> i32 {
        let start = Instant::now();
        loop {
            let children =
                std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.pid())).unwrap_or_default();
            let found = children.split_whitespace().find(|pid| {
                std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "zmtop")
            });
            if let Some(pid) = found {
                return pid.parse().unwrap();
            }
            assert!(start.elapsed() < PATIENCE, "zmtop did not start:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for it to end; its exit code.
    #[track_caller]
    pub(crate) fn exit_code(&mut self) -> u32 {
        let code = self.terminal.exit_code(PATIENCE);
        code.unwrap_or_else(|| panic!("it does not end:\n{}", self.text()))
    }
}

/// Returns how many of these bytes a terminal shows: all before a frame (DEC mode 2026) whose end has not come.
fn whole(bytes: &[u8]) -> usize {
    const BEGIN: &[u8] = b"\x1b[?2026h";
    const END: &[u8] = b"\x1b[?2026l";
    let last = |mark: &[u8]| bytes.windows(mark.len()).rposition(|found| found == mark);
    match (last(BEGIN), last(END)) {
        (Some(begin), end) if end.is_none_or(|end| end < begin) => begin,
        // Perhaps the first bytes of a mark.
        _ => {
            let cut = (1..BEGIN.len()).rev().find(|cut| bytes.ends_with(&BEGIN[..*cut]));
            bytes.len() - cut.unwrap_or(0)
        }
    }
}

#[test]
fn a_frame_is_shown_once_it_is_whole() {
    let table: [(&[u8], &[u8]); 7] = [
        (b"text", b"text"),
        (b"text\x1b[?20", b"text"),
        (b"text\x1b[?25h", b"text\x1b[?25h"),
        (b"text\x1b[?2026hpart", b"text"),
        (b"text\x1b[?2026hpart\x1b[?2026", b"text"),
        (
            b"text\x1b[?2026hall\x1b[?2026lmore",
            b"text\x1b[?2026hall\x1b[?2026lmore",
        ),
        (
            b"\x1b[?2026hall\x1b[?2026l\x1b[?2026hpart",
            b"\x1b[?2026hall\x1b[?2026l",
        ),
    ];
    for (bytes, shown) in table {
        assert_eq!(
            bytes[..whole(bytes)].escape_ascii().to_string(),
            shown.escape_ascii().to_string()
        );
    }
}

/// Also ends the jobs of a shell: one that stopped just as the shell ended would stay for ever.
impl Drop for Pty {
    fn drop(&mut self) {
        let session = self.terminal.child.process_id().map(u32::cast_signed);
        self.terminal.end();
        let all = procfs::process::all_processes().into_iter().flatten().flatten();
        let stats = all.filter_map(|process| process.stat().ok());
        for stat in stats.filter(|stat| Some(stat.session) == session) {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(stat.pid).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
    }
}

/// Returns true if the main thread of a process waits for a terminal to accept its output, and goes on waiting: a write may
/// also wait for a moment for something else.
pub(crate) fn is_stuck_in_write(pid: i32) -> bool {
    (0..5).all(|look| {
        if look > 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let waits = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
        // 1 is write on x86-64, 64 on the generic table.
        waits.contains("tty_write") || waits == "wait_woken" || call.starts_with("1 0x") || call.starts_with("64 0x")
    })
}

/// Sends a signal to a process that a test started.
pub(crate) fn signal(pid: i32, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Returns the state of a process, and the processor time that it has used; `None` once it is gone.
fn state(pid: i32) -> Option<(char, Duration)> {
    let stat = procfs::process::Process::new(pid)
        .and_then(|process| process.stat())
        .ok()?;
    let ticks = stat.utime + stat.stime;
    Some((
        stat.state,
        Duration::from_millis(ticks * 1000 / procfs::ticks_per_second()),
    ))
}

/// Waits until a process is gone (or a zombie that its parent has not reaped). Returns the processor time that it had used when it
/// was last seen.
#[track_caller]
pub(crate) fn wait_gone(pid: i32) -> Duration {
    let start = Instant::now();
    let mut used = Duration::ZERO;
    while let Some((state, time)) = state(pid) {
        used = time;
        if state == 'Z' {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "process {pid} does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    used
}

/// Ends the terminal of a process, and waits until the process is gone. Fails if it spun until then.
#[track_caller]
pub(crate) fn wait_gone_after(pid: i32, end: impl FnOnce()) {
    /// The processor time that shows a spin. A process that ends at once uses far less, also when built without optimisation.
    const SPIN: Duration = Duration::from_secs(1);
    let before = state(pid).map_or(Duration::ZERO, |(_, used)| used);
    end();
    let used = wait_gone(pid).saturating_sub(before);
    assert!(
        used < SPIN,
        "process {pid} used {used:?} of a processor before it ended"
    );
}

/// Returns true if a tool is on the PATH. An absent tool fails the test under CI, and is reported elsewhere.
pub(crate) fn have(tool: &str) -> bool {
    let found = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|d| d.join(tool).is_file());
    assert!(found || std::env::var_os("CI").is_none(), "CI has no {tool}");
    if !found {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no {tool} here");
    }
    found
}
