//! Handles signals to zmtop itself, and the loss of its terminal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{End, Input};
use crate::run::runtime::prepare;
use crate::run::terminal;
use crate::sampler::callers;

/// Maximum time for the screen to close; then the program ends without it.
const GRACE: Duration = Duration::from_millis(700);

/// The signals that end a program by default and are not raised by faults, except SIGPIPE, which Rust ignores. The
/// real-time signals also belong to these.
const ENDING: [libc::c_int; 13] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGALRM,
    libc::SIGIO,
    libc::SIGPROF,
    libc::SIGPWR,
    libc::SIGSTKFLT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGVTALRM,
    libc::SIGXCPU,
];

/// Ends the program even if the main thread is stuck in a write.
fn force(ended: &AtomicBool, code: i32) {
    if !ended.load(Ordering::SeqCst) {
        terminal::leave();
        callers::remove();
        std::process::exit(code);
    }
}

/// Ends, stops and continues the monitor on signals.
pub(super) fn watch(runtime: &Runtime, send: &SyncSender<Input>, ended: &Arc<AtomicBool>) -> io::Result<()> {
    terminal::leave_on_faults()?;
    let _handled = prepare(runtime)?;
    for number in ENDING.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
        let (send, ended) = (send.clone(), ended.clone());
        let is_typed = [libc::SIGINT, libc::SIGQUIT].contains(&number);
        on_signal(runtime, signal(SignalKind::from_raw(number))?, move || {
            if is_typed && ended.load(Ordering::SeqCst) {
                // The screen is gone, and only the last writes are awaited.
                std::process::exit(128 + number);
            }
            let _ = send.try_send(Input::End(End::Signal(number)));
            let ended = ended.clone();
            tokio::spawn(async move {
                tokio::time::sleep(GRACE).await;
                force(&ended, 128 + number);
            });
        });
    }
    // Their numbers differ between architectures.
    let pass_on: [(_, fn() -> Input); 3] = [
        (rustix::process::Signal::WINCH, || Input::Measure),
        (rustix::process::Signal::TSTP, || Input::Stop),
        (rustix::process::Signal::CONT, || Input::Continued),
    ];
    for (kind, input) in pass_on {
        let send = send.clone();
        let kind = SignalKind::from_raw(kind.as_raw());
        on_signal(runtime, signal(kind)?, move || {
            let _ = send.try_send(input());
        });
    }
    Ok(())
}

fn on_signal(runtime: &Runtime, mut signal: Signal, mut act: impl FnMut() + Send + 'static) {
    runtime.spawn(async move {
        while signal.recv().await.is_some() {
            act();
        }
    });
}

/// Watches for the loss of the terminal. A hang-up does not always raise a signal, and the key reader may spin on a
/// dead terminal without reporting it.
pub(super) fn watch_hangup(send: &SyncSender<Input>, ended: &Arc<AtomicBool>) -> io::Result<()> {
    let (send, ended) = (send.clone(), ended.clone());
    std::thread::Builder::new()
        .name("zmtop-hangup".into())
        .stack_size(64 << 10)
        .spawn(move || {
            while !terminal::wait_hung_up() {}
            let _ = send.try_send(Input::End(End::Hangup));
            std::thread::sleep(GRACE);
            // Act as on SIGHUP.
            force(&ended, 128 + 1);
        })?;
    Ok(())
}
