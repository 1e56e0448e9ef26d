//! Samples the code that allocates the memory of a process, while the screen shows it.
//!
//! Runs `zmtop callers` as a separate process: it reads programs that others chose, and all memory that this needs is freed when
//! it ends. If zmtop is killed, the process ends at its next write, because the pipe is closed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use super::Input;
use crate::call_tree::Measured;
use crate::model::Identity;
use crate::own;
use crate::tui::Event;

/// Maximum time of one measurement, as an argument of `callers --for`.
const LONGEST: &str = "1h";
/// The longest object that is read.
const MAX_LINE: u64 = 8 << 20;

#[derive(Default)]
pub(super) struct Measurer {
    current: Option<Running>,
}

/// The process that measures. It is killed when dropped.
pub(super) struct Running(Arc<Mutex<Child>>);

impl Drop for Running {
    fn drop(&mut self) {
        // The thread that reads its output waits for it.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }
}

impl Measurer {
    /// Measures another process, or none.
    pub(super) fn turn_to(&mut self, of: Option<(u64, Identity)>, send: &SyncSender<Input>) {
        self.current = None;
        let Some((number, id)) = of else { return };
        let forward = send.clone();
        // Waits while the screen is stuck, and ends with it.
        let each = move |found: Result<_, _>| {
            let event = Event::Measured(number, found.map(Arc::new));
            forward.send(Input::Event(event)).is_ok()
        };
        match start(id, &["--for", LONGEST], each) {
            Ok(running) => self.current = Some(running),
            Err(why) => {
                let _ = send.try_send(Input::Event(Event::Measured(number, Err(why))));
            }
        }
    }
}

/// Starts to measure a process. Calls `each` with what was found so far, until it returns false, and at last with the reason for
/// the end.
pub(super) fn start(
    id: Identity,
    options: &[&str],
    mut each: impl FnMut(Result<Measured, String>) -> bool + Send + 'static,
) -> Result<Running, String> {
    let program = own::program().map_err(|error| format!("zmtop does not find its own program: {error}"))?;
    let (pid, starttime) = (id.pid.to_string(), id.starttime.to_string());
    let mut command = Command::new(program);
    own::restore(&mut command);
    let mut child = command
        // The options come first, so that a narrow table shows the purpose of the process.
        .args(["callers", &pid])
        .args(options)
        .args(["--starttime", &starttime, "--format", "ndjson"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("the measurement cannot be started: {error}"))?;
    let (out, errors) = (child.stdout.take(), child.stderr.take());
    let child = Arc::new(Mutex::new(child));
    let running = Running(Arc::clone(&child));
    let read = move || {
        let (Some(out), Some(errors)) = (out, errors) else {
            return;
        };
        forward(out, &mut each);
        let mut why = String::new();
        let _ = errors.take(4096).read_to_string(&mut why);
        let _ = child.lock().unwrap_or_else(PoisonError::into_inner).wait();
        let why = why.lines().last().unwrap_or("the measurement ended early");
        let why = why.strip_prefix("zmtop: ").unwrap_or(why).to_owned();
        each(Err(why));
    };
    let started = std::thread::Builder::new().name("zmtop-measure".into()).spawn(read);
    started.map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(running)
}

/// Passes the objects on, until the process ends.
fn forward(out: ChildStdout, each: &mut impl FnMut(Result<Measured, String>) -> bool) {
    let mut out = BufReader::new(out);
    loop {
        let mut line = Vec::new();
        match out.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(len) if len > 0 => {}
            _ => return,
        }
        let Ok(measured) = serde_json::from_slice::<Measured>(&line) else {
            return;
        };
        if !each(Ok(measured)) {
            return;
        }
    }
}
