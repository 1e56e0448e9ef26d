//! What comes of an alert: a bell, a line in the log, a program run with the facts.
//!
//! ```text
//! facts    the facts as environment and as JSON
//! program  one program from its start to its end
//! ```

pub mod facts;
mod program;

use std::sync::{Arc, Mutex, PoisonError};

use facts::Facts;
use rustix::process::{Pid, Signal};

use crate::alert::{Kind, Notice};
use crate::config::AlertSettings;
use crate::config::fault::shown;

/// Does what the rules ask for. When it is dropped, what it runs is killed, and nobody waits for it.
pub struct Performer {
    settings: Vec<AlertSettings>,
    running: Arc<Running>,
    tell: Arc<dyn Fn(String) + Send + Sync>,
}

impl std::fmt::Debug for Performer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Performer")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The programs that run.
#[derive(Debug, Default)]
struct Running(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Threads that run a program, or are about to.
    busy: usize,
    /// Programs that were started and not yet reaped; each leads a process group of its own.
    leaders: Vec<Pid>,
    /// Programs that were not started because too many ran.
    dropped: u64,
    stopped: bool,
}

impl Running {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Performer {
    /// How many programs run at once; more are dropped and counted.
    pub const AT_ONCE: usize = 4;

    /// For the rules of these settings, by their places. `tell` is given what went wrong, a line at a time
    /// and safe to print, on a thread of any kind.
    pub fn new(settings: Vec<AlertSettings>, tell: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self {
            settings,
            running: Arc::default(),
            tell: Arc::new(tell),
        }
    }

    /// Does what the notice's rule asks for; whether the bell is to ring. Never blocks: programs run on
    /// threads of their own.
    pub fn perform(&self, notice: &Notice, host: &[u8]) -> bool {
        let Some(settings) = self.settings.get(notice.rule) else {
            return false;
        };
        let fired = notice.kind == Kind::Fired;
        if settings.log {
            log(notice);
        }
        if !settings.run.is_empty() && (fired || settings.run_on_clear) {
            self.start(settings, notice, host);
        }
        fired && settings.bell
    }

    /// How many programs were not started because too many ran.
    pub fn dropped(&self) -> u64 {
        self.running.lock().dropped
    }

    /// How many programs run.
    pub fn busy(&self) -> usize {
        self.running.lock().busy
    }

    fn start(&self, settings: &AlertSettings, notice: &Notice, host: &[u8]) {
        let name = shown(&settings.name);
        {
            let mut inner = self.running.lock();
            if inner.busy >= Self::AT_ONCE {
                inner.dropped += 1;
                let dropped = inner.dropped;
                drop(inner);
                let most = Self::AT_ONCE;
                return self.fail(&format!(
                    "alert {name}: not run: {most} programs of alerts run already ({dropped} not run so far)"
                ));
            }
            inner.busy += 1;
        }
        let facts = Facts::of(notice, &settings.when, host);
        let job = program::Job {
            words: settings.run.clone(),
            environment: facts.environment(),
            input: facts.json(),
            timeout: settings.timeout,
        };
        let (running, tell) = (Arc::clone(&self.running), Arc::clone(&self.tell));
        let shown_name = name.clone();
        let started = std::thread::Builder::new()
            .name("zmtop-alert".into())
            .stack_size(256 << 10)
            .spawn(move || {
                let result = program::run(&job, &running);
                if let Err(what) = result {
                    tracing::warn!(alert = shown_name, "the program of an alert failed: {what}");
                    tell(format!("alert {shown_name}: {what}"));
                }
                running.lock().busy -= 1;
            });
        if let Err(error) = started {
            self.running.lock().busy -= 1;
            self.fail(&format!("alert {name}: not run: {error}"));
        }
    }

    fn fail(&self, what: &str) {
        tracing::warn!("{what}");
        (self.tell)(what.to_owned());
    }
}

impl Drop for Performer {
    fn drop(&mut self) {
        let mut inner = self.running.lock();
        inner.stopped = true;
        for leader in &inner.leaders {
            let _ = rustix::process::kill_process_group(*leader, Signal::KILL);
        }
    }
}

/// A line in zmtop's own log.
fn log(notice: &Notice) {
    let (name, on, what) = (shown(&notice.name), notice.on.id(), notice.summary());
    let seconds = notice.lasted.as_secs_f64();
    match notice.kind {
        Kind::Fired => tracing::warn!(alert = name, on, held_s = seconds, "fired: {what}"),
        Kind::Cleared(why) => {
            tracing::info!(alert = name, on, lasted_s = seconds, why = why.id(), "cleared: {what}");
        }
    }
}
