//! `zmtop kernel callers`: who takes memory from the kernel's allocator.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::kernel_report::{Wanted, wanted};
use super::{Failure, print};
use crate::cli::Exit;
use crate::cli::kernel::{CallersArgs, CallersBy};
use crate::columns::callers::COLUMNS;
use crate::columns::layout;
use crate::config::Env;
use crate::model::callers::Callers;
use crate::output::callers::CallersReport;
use crate::proc::files::Roots;
use crate::sampler::callers::{self, Refusal};
use crate::units::span;

/// Time beyond the one asked for after which the kernel is not waited for any longer: another tool may hold its lock.
const PATIENCE: Duration = Duration::from_secs(30);

/// The niceness of the thread that reads: on a machine with more to do than CPUs it would come too late, and lose events.
const NICE: i32 = -10;

/// Time that who ends the program has for that.
const GRACE: Duration = Duration::from_secs(1);

/// Traces for a while, and writes what was seen.
pub(super) fn run(args: &CallersArgs, env: &Env) -> Result<Exit, Failure> {
    let time = args.time()?;
    let Wanted {
        options,
        filter,
        layout,
    } = wanted(&args.report, &args.filter, COLUMNS, layout::callers, "allocated", env)?;
    let found = watch(options.roots(), time)?;
    let by_symbol = args.by == CallersBy::Symbol;
    Ok(print(
        &CallersReport::new(&found, by_symbol, &filter, layout),
        args.report.format,
    ))
}

/// Traces on a thread of its own, so that signals are heard whatever the kernel does.
fn watch(roots: Roots, time: Duration) -> Result<Callers, String> {
    let failed = |error: io::Error| format!("cannot start the runtime: {error}");
    remove_on_panic();
    let runtime = super::runtime().build().map_err(failed)?;
    let (stop, stopped) = mpsc::channel();
    let (send, mut done) = oneshot::channel();
    let found = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        for kind in [SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()] {
            let mut ended = signal(kind).map_err(failed)?;
            tokio::spawn(async move {
                ended.recv().await;
                end(kind);
            });
        }
        let work = move || {
            // Nobody waits for it any longer where that fails.
            let _ = send.send(callers::trace(&roots, time, &stopped, None));
        };
        on_thread(work).map_err(|error| format!("cannot start a thread: {error}"))?;
        let mut progress = Progress::new(time);
        let patience = tokio::time::sleep(time.saturating_add(PATIENCE));
        tokio::pin!(patience);
        loop {
            tokio::select! {
                biased;
                found = &mut done => break found.map_err(|_| "tracing ended".to_owned()),
                () = &mut patience => break Err("the kernel does not answer: another program may hold its trace".to_owned()),
                _ = interrupt.recv() => {
                    // For the second time: at once.
                    if stop.send(()).is_err() || progress.interrupted {
                        end(SignalKind::interrupt());
                    }
                    progress.interrupted = true;
                }
                () = progress.next() => {}
            }
        }
    });
    let found = found?.map_err(|why| match why {
        // By a signal or a panic on another thread, which has the exit code.
        Refusal::Ended => {
            std::thread::sleep(GRACE);
            why.to_string()
        }
        why => why.to_string(),
    });
    runtime.shutdown_background();
    found
}

/// Starts a thread that traces.
pub(super) fn on_thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("zmtop-callers".into());
    let started = thread.spawn(|| {
        // Where it is denied, events may be lost sooner, which is told.
        let _ = rustix::process::setpriority_process(None, NICE);
        work();
    });
    started.map(|_| ())
}

/// Ends the program as a signal does.
fn end(kind: SignalKind) {
    callers::remove();
    std::process::exit(128 + kind.as_raw_value());
}

/// Has a panic on any thread remove the instance before the program ends.
fn remove_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        callers::remove();
        before(info);
    }));
}

/// Shows how long it still takes, where stderr is a terminal.
struct Progress {
    until: Instant,
    interactive: bool,
    interrupted: bool,
}

impl Progress {
    fn new(time: Duration) -> Self {
        Self {
            until: Instant::now() + time,
            interactive: io::stderr().is_terminal(),
            interrupted: false,
        }
    }

    async fn next(&self) {
        if self.interactive {
            let left = self.until.saturating_duration_since(Instant::now());
            let _ = write!(
                io::stderr(),
                "\r\x1b[Ktraces, {} left; Ctrl-C tells at once",
                span(left)
            );
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.interactive {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
