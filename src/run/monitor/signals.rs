//! Signals to zmtop itself, and a terminal that goes away.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{End, Input};
use crate::run::terminal;

/// How long the screen may take to leave before it is left to itself.
const GRACE: Duration = Duration::from_millis(700);

/// Ends the program although the main thread may be stuck in a write.
fn force(ended: &AtomicBool, code: i32) {
    if !ended.load(Ordering::SeqCst) {
        terminal::leave();
        std::process::exit(code);
    }
}

/// Ends the monitor, stops it and lets it go on as signals ask.
pub(super) fn watch(runtime: &Runtime, send: &SyncSender<Input>, ended: &Arc<AtomicBool>) -> io::Result<()> {
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::quit(),
    ] {
        let (send, ended) = (send.clone(), ended.clone());
        let number = kind.as_raw_value();
        on_signal(runtime, signal(kind)?, move || {
            let (send, ended) = (send.clone(), ended.clone());
            async move {
                let _ = send.try_send(Input::End(End::Signal(number)));
                tokio::time::sleep(GRACE).await;
                force(&ended, 128 + number);
            }
        });
    }
    let stopped = send.clone();
    // 20 and 18: SIGTSTP and SIGCONT on every architecture but MIPS and Alpha.
    let (tstp, cont) = (
        rustix::process::Signal::TSTP.as_raw(),
        rustix::process::Signal::CONT.as_raw(),
    );
    on_signal(runtime, signal(SignalKind::from_raw(tstp))?, move || {
        let _ = stopped.try_send(Input::Stop);
        std::future::ready(())
    });
    let continued = send.clone();
    on_signal(runtime, signal(SignalKind::from_raw(cont))?, move || {
        let _ = continued.try_send(Input::Continued);
        std::future::ready(())
    });
    Ok(())
}

fn on_signal<F, Fut>(runtime: &Runtime, mut signal: Signal, mut act: F)
where
    F: FnMut() -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    runtime.spawn(async move {
        while signal.recv().await.is_some() {
            act().await;
        }
    });
}

/// Looks every second whether the terminal is gone. A hang-up need not come as a signal, and the reader
/// of keys may spin on a dead terminal without ever saying so.
pub(super) fn watch_hangup(send: &SyncSender<Input>, ended: &Arc<AtomicBool>) -> io::Result<()> {
    let (send, ended) = (send.clone(), ended.clone());
    std::thread::Builder::new()
        .name("zmtop-hangup".into())
        .stack_size(64 << 10)
        .spawn(move || {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                if terminal::hung_up() {
                    let _ = send.try_send(Input::End(End::Hangup));
                    std::thread::sleep(GRACE);
                    force(&ended, 129);
                    return;
                }
            }
        })?;
    Ok(())
}
