//! Lines for the kernel's log, `/dev/kmsg`. From a machine that hangs, pstore, a serial console or netconsole preserve them.
//!
//! `Documentation/ABI/testing/dev-kmsg` of the kernel defines the format: each write is one record, with its priority in front.
//! A write waits for the consoles (a serial line of 9600 baud takes 1 ms a byte), so a separate thread does it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fs::OFlags;

use crate::text;

/// Maximum number of lines that wait for the consoles.
const QUEUE: usize = 8;
/// `LOG_CRIT`. Consoles show it even on a machine that was started with `quiet`. The facility becomes `LOG_USER`.
const PRIORITY: u8 = 2;
/// The kernel's log, and the setting that makes it ignore all writes.
const LOG: &str = "/dev/kmsg";
const SETTING: &str = "/proc/sys/kernel/printk_devkmsg";

/// Writes lines to the kernel's log. Dropping it waits for them, at most two seconds.
#[derive(Debug)]
pub struct KernelLog {
    queue: Option<SyncSender<String>>,
    fault: Arc<Mutex<Option<String>>>,
    done: Mutex<Receiver<()>>,
    thread: Option<JoinHandle<()>>,
}

impl KernelLog {
    /// Opens the log of this machine.
    ///
    /// # Errors
    /// It cannot be written, or the kernel ignores what is written to it. The text is safe to print.
    pub fn of_machine() -> Result<Self, String> {
        if fs::read_to_string(SETTING).is_ok_and(|setting| setting.trim() == "off") {
            return Err("the kernel ignores lines, since kernel.printk_devkmsg is off".into());
        }
        Self::open(Path::new(LOG)).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => format!("only root may write to {LOG}"),
            _ => format!("{LOG}: {}", reason(&error)),
        })
    }

    /// Opens a device or a named pipe.
    ///
    /// # Errors
    /// It cannot be opened, or it is a file of another type.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let mut options = OpenOptions::new();
        let options = options.write(true).custom_flags(flags.bits().cast_signed());
        let log = options.open(path)?;
        let kind = log.metadata()?.file_type();
        if !kind.is_char_device() && !kind.is_fifo() {
            return Err(io::Error::other("it is no log"));
        }
        let (queue, lines) = sync_channel::<String>(QUEUE);
        let (end, done) = sync_channel(1);
        let fault = Arc::<Mutex<Option<String>>>::default();
        let faults = Arc::clone(&fault);
        let thread = std::thread::Builder::new().name("zmtop-kmsg".into()).spawn(move || {
            for line in lines {
                if let Err(error) = write(&log, &line) {
                    *faults.lock() = Some(reason(&error));
                }
            }
            let _ = end.send(());
        })?;
        Ok(Self {
            queue: Some(queue),
            fault,
            done: Mutex::new(done),
            thread: Some(thread),
        })
    }

    /// Writes a line of printable text. Never blocks: it is dropped if the consoles are too slow.
    pub fn write(&self, line: String) {
        if let Some(Err(TrySendError::Full(_))) = self.queue.as_ref().map(|queue| queue.try_send(line)) {
            *self.fault.lock() = Some("the consoles are too slow".into());
        }
    }

    /// Removes and returns the last fault, safe to print.
    pub fn take_fault(&self) -> Option<String> {
        self.fault.lock().take()
    }

    /// Waits until all lines are written; returns the last fault.
    pub fn end(mut self) -> Option<String> {
        self.stop();
        self.take_fault()
    }

    fn stop(&mut self) {
        let is_done = self.queue.take().is_some() && self.done.lock().recv_timeout(Duration::from_secs(2)).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_done) {
            let _ = thread.join();
        }
    }
}

impl Drop for KernelLog {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Writes a record in one write, because two writes would be two records.
fn write(mut log: &File, line: &str) -> io::Result<()> {
    let record = format!("<{PRIORITY}>zmtop[{}]: {line}\n", std::process::id());
    match log.write(record.as_bytes())? {
        n if n == record.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

fn reason(error: &io::Error) -> String {
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    text::safe(reason.as_bytes()).into_owned()
}
