//! Notifies of alert events: rings the terminal's bell, writes a line to the log, runs a program with the payload.
//!
//! The monitor passes every event to a [`Notifier`]. Nothing here blocks the caller or decides when a rule fires.

pub mod payload;
mod program;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use payload::Payload;
use rustix::process::{Pid, Signal};

use crate::alert::{AlertEvent, CALM, Queue, Transition};
use crate::config::AlertSettings;
use crate::config::fault::shown;
use crate::units::span_exact;

/// Notifies as the settings of each rule require. Dropping it kills the running programs and discards the waiting
/// events.
pub struct Notifier(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    on_error: Box<dyn Fn(String) + Send + Sync>,
}

#[derive(Debug, Default)]
struct State {
    /// The settings of all rules so far, by number: events of an earlier rule may still wait.
    settings: HashMap<usize, Arc<AlertSettings>>,
    queue: Queue,
    /// The host of the latest event.
    host: Arc<[u8]>,
    /// Number of threads that run programs. Each thread runs one program at a time.
    running: usize,
    /// The programs started and not yet reaped. Each leads its own process group.
    leaders: Vec<Pid>,
    /// True once the notifier is dropped: a program that starts then is killed at once.
    stopped: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: String) {
        tracing::warn!("{error}");
        (self.on_error)(error);
    }

    fn work(&self) {
        loop {
            let (event, settings, host) = {
                let mut state = self.lock();
                let next = if state.stopped { None } else { state.queue.start() };
                let Some(event) = next else {
                    state.running -= 1;
                    return;
                };
                let settings = state.settings.get(&event.rule).cloned();
                (event, settings, Arc::clone(&state.host))
            };
            if let Some(settings) = settings {
                let payload = Payload::new(&event, &settings.when, &host);
                let report = |error: &str| {
                    let alert = shown(&settings.name);
                    tracing::warn!(alert, "the program of an alert failed: {error}");
                    (self.on_error)(format!("alert {alert}: {error}"));
                };
                if let Err(error) = program::run(&settings, &payload, self, &report) {
                    report(&error);
                }
            }
            self.lock().queue.finish(&event);
        }
    }
}

impl Notifier {
    /// Maximum number of concurrent programs. Further ones wait, so that alerts cannot flood a machine in trouble.
    pub const MAX_RUNNING: usize = 4;

    /// Creates a notifier for rules with these settings, numbered from 0. `on_error` is called on any thread with each
    /// failure, as a line that is safe to print.
    pub fn new(settings: Vec<AlertSettings>, on_error: impl Fn(String) + Send + Sync + 'static) -> Self {
        let notifier = Self(Arc::new(Shared {
            state: Mutex::default(),
            on_error: Box::new(on_error),
        }));
        notifier.add(settings.into_iter().enumerate());
        notifier
    }

    /// Adds the settings of further rules, by number.
    pub fn add(&self, settings: impl IntoIterator<Item = (usize, AlertSettings)>) {
        let settings = settings.into_iter().map(|(number, rule)| (number, Arc::new(rule)));
        self.0.lock().settings.extend(settings);
    }

    /// Notifies of an event. Returns true if the bell should ring. Never blocks: programs run on their own threads.
    pub fn notify(&self, event: &AlertEvent, host: &[u8]) -> bool {
        let settings = self.0.lock().settings.get(&event.rule).cloned();
        let Some(settings) = settings else { return false };
        if settings.log {
            log(event);
        }
        if event.flapping {
            let (name, what, calm) = (shown(&settings.name), event.summary(), span_exact(CALM));
            let text = format!("alert {name} is flapping: {what}; reported again once it is steady for {calm}");
            (self.0.on_error)(text);
        }
        if !settings.run.is_empty() {
            self.run_program(&settings, event, host);
        }
        event.transition == Transition::Fired && settings.bell
    }

    /// Returns the number of alerts whose program was never run because too many were waiting and these had already
    /// ended.
    pub fn dropped(&self) -> u64 {
        self.0.lock().queue.dropped()
    }

    pub fn running(&self) -> usize {
        self.0.lock().running
    }

    fn run_program(&self, settings: &AlertSettings, event: &AlertEvent, host: &[u8]) {
        let dropped = {
            let mut state = self.0.lock();
            if *state.host != *host {
                state.host = host.into();
            }
            let before = state.queue.dropped();
            state.queue.push(event.clone(), settings.run_on_clear);
            let dropped = state.queue.dropped();
            if state.running < Self::MAX_RUNNING && state.queue.is_ready() {
                state.running += 1;
                drop(state);
                self.start_thread(settings);
            }
            (dropped > before).then_some(dropped)
        };
        // Report only the first, the second, the fourth and so on, since there may be very many.
        if let Some(dropped) = dropped.filter(|dropped| dropped.is_power_of_two()) {
            let (name, max) = (shown(&settings.name), Queue::MAX_OVER);
            self.0.fail(format!(
                "alert {name}: programs are too slow: over {max} cleared alerts were waiting ({dropped} discarded so far)"
            ));
        }
    }

    fn start_thread(&self, settings: &AlertSettings) {
        let shared = Arc::clone(&self.0);
        let started = thread::Builder::new()
            .name("zmtop-alert".into())
            .stack_size(256 << 10)
            .spawn(move || shared.work());
        if let Err(error) = started {
            // The event stays queued. The next event tries again to start a thread.
            self.0.lock().running -= 1;
            let name = shown(&settings.name);
            self.0
                .fail(format!("alert {name}: its program has not been started yet: {error}"));
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.stopped = true;
        for leader in &state.leaders {
            let _ = rustix::process::kill_process_group(*leader, Signal::KILL);
        }
        let waiting = state.queue.waiting();
        if waiting > 0 {
            tracing::warn!(waiting, "alerts were still waiting for their program");
        }
    }
}

/// The result of firing an alert once.
#[derive(Debug)]
pub(super) struct Fired {
    pub(super) bell: bool,
    /// The reasons why its program failed, safe to print.
    pub(super) errors: Vec<String>,
}

/// Notifies of an event once, and waits for the program.
pub(super) fn fire_once(settings: &AlertSettings, event: &AlertEvent) -> Fired {
    let errors = Arc::new(Mutex::new(Vec::new()));
    let failed = Arc::clone(&errors);
    let notifier = Notifier::new(vec![settings.clone()], move |error| {
        failed.lock().unwrap_or_else(PoisonError::into_inner).push(error);
    });
    let bell = notifier.notify(event, rustix::system::uname().nodename().to_bytes());
    while notifier.running() > 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let errors = std::mem::take(&mut *errors.lock().unwrap_or_else(PoisonError::into_inner));
    Fired { bell, errors }
}

fn log(event: &AlertEvent) {
    let (alert, on, what) = (shown(&event.name), event.target_kind.id(), event.summary());
    let seconds = event.lasted.as_secs_f64();
    match event.transition {
        Transition::Fired if event.flapping => tracing::warn!(alert, on, held_s = seconds, "flapping: {what}"),
        Transition::Fired => tracing::warn!(alert, on, held_s = seconds, "fired: {what}"),
        Transition::Resolved(reason) => {
            tracing::info!(alert, on, lasted_s = seconds, why = reason.id(), "cleared: {what}");
        }
    }
}
