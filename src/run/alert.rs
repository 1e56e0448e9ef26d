//! Notifies of alert events: the terminal's bell, a line in the log, a program that gets the payload.
//!
//! The monitor passes every event to a [`Notifier`]. Nothing here blocks the caller or decides when a rule fires.

pub mod payload;
mod program;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use payload::Payload;
use rustix::process::{Pid, Signal};

use crate::alert::{AlertEvent, Transition};
use crate::config::AlertSettings;
use crate::config::fault::shown;

/// Notifies as the settings of each rule say. When it is dropped, the programs it runs are killed.
pub struct Notifier {
    settings: Vec<AlertSettings>,
    programs: Arc<Programs>,
    on_error: Arc<dyn Fn(String) + Send + Sync>,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notifier")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The programs that are running.
#[derive(Debug, Default)]
struct Programs(Mutex<ProgramsInner>);

#[derive(Debug, Default)]
struct ProgramsInner {
    /// Number of threads that run a program or are about to.
    running: usize,
    /// The programs that were started and not yet reaped; each leads a process group of its own.
    leaders: Vec<Pid>,
    /// Number of programs that were not started because too many were running.
    dropped: u64,
    /// The notifier was dropped: a program that starts now is killed at once.
    stopped: bool,
}

impl Programs {
    fn lock(&self) -> MutexGuard<'_, ProgramsInner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notifier {
    /// Maximum number of programs that run at once: a machine in trouble must not be flooded by its alerts. More
    /// are dropped and counted.
    pub const MAX_RUNNING: usize = 4;

    /// Creates a notifier for rules of these settings, by index. `on_error` gets each failure as a line that is
    /// safe to print, on any thread.
    pub fn new(settings: Vec<AlertSettings>, on_error: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self {
            settings,
            programs: Arc::default(),
            on_error: Arc::new(on_error),
        }
    }

    /// Notifies of an event; returns true if the bell is to ring. Never blocks: each program is run by a thread
    /// of its own.
    pub fn notify(&self, event: &AlertEvent, host: &[u8]) -> bool {
        let Some(settings) = self.settings.get(event.rule) else {
            return false;
        };
        let fired = event.transition == Transition::Fired;
        if settings.log {
            log(event);
        }
        if !settings.run.is_empty() && (fired || settings.run_on_clear) {
            self.run_program(settings, event, host);
        }
        fired && settings.bell
    }

    /// Returns the number of programs that were not started because too many were running.
    pub fn dropped(&self) -> u64 {
        self.programs.lock().dropped
    }

    /// Returns the number of programs that are running.
    pub fn running(&self) -> usize {
        self.programs.lock().running
    }

    fn run_program(&self, settings: &AlertSettings, event: &AlertEvent, host: &[u8]) {
        let name = shown(&settings.name);
        if let Err(dropped) = self.reserve() {
            let max = Self::MAX_RUNNING;
            return self.fail(&format!(
                "alert {name}: not run: {max} programs of alerts run already ({dropped} not run so far)"
            ));
        }
        let payload = Payload::new(event, &settings.when, host);
        let invocation = program::Invocation {
            argv: settings.run.clone(),
            environment: payload.environment(),
            stdin: payload.json(),
            timeout: settings.timeout,
        };
        let (programs, on_error) = (Arc::clone(&self.programs), Arc::clone(&self.on_error));
        let alert = name.clone();
        let started = std::thread::Builder::new()
            .name("zmtop-alert".into())
            .stack_size(256 << 10)
            .spawn(move || {
                if let Err(error) = program::run(&invocation, &programs) {
                    tracing::warn!(alert, "the program of an alert failed: {error}");
                    on_error(format!("alert {alert}: {error}"));
                }
                programs.lock().running -= 1;
            });
        if let Err(error) = started {
            self.programs.lock().running -= 1;
            self.fail(&format!("alert {name}: not run: {error}"));
        }
    }

    /// Reserves the right to run one more program, or returns the number of those dropped so far.
    fn reserve(&self) -> Result<(), u64> {
        let mut inner = self.programs.lock();
        if inner.running >= Self::MAX_RUNNING {
            inner.dropped += 1;
            return Err(inner.dropped);
        }
        inner.running += 1;
        Ok(())
    }

    fn fail(&self, error: &str) {
        tracing::warn!("{error}");
        (self.on_error)(error.to_owned());
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        let mut inner = self.programs.lock();
        inner.stopped = true;
        for leader in &inner.leaders {
            let _ = rustix::process::kill_process_group(*leader, Signal::KILL);
        }
    }
}

/// Writes an event to the log.
fn log(event: &AlertEvent) {
    let (alert, on, what) = (shown(&event.name), event.target_kind.id(), event.summary());
    let seconds = event.lasted.as_secs_f64();
    match event.transition {
        Transition::Fired => tracing::warn!(alert, on, held_s = seconds, "fired: {what}"),
        Transition::Resolved(reason) => {
            tracing::info!(alert, on, lasted_s = seconds, why = reason.id(), "cleared: {what}");
        }
    }
}
