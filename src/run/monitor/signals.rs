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
use crate::sampler::callers;

/// Time that the screen has to leave before the program is ended without it.
const GRACE: Duration = Duration::from_millis(700);

/// Ends the program although the main thread may be stuck in a write.
fn force(ended: &AtomicBool, code: i32) {
    if !ended.load(Ordering::SeqCst) {
        terminal::leave();
        callers::remove();
        std::process::exit(code);
    }
}

/// Ends, stops and continues the monitor as signals ask.
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
    // Their numbers differ between architectures.
    let pass_on: [(_, fn() -> Input); 2] = [
        (rustix::process::Signal::TSTP, || Input::Stop),
        (rustix::process::Signal::CONT, || Input::Continued),
    ];
    for (kind, input) in pass_on {
        let send = send.clone();
        let kind = SignalKind::from_raw(kind.as_raw());
        on_signal(runtime, signal(kind)?, move || {
            let _ = send.try_send(input());
            std::future::ready(())
        });
    }
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

/// Watches that the terminal is still there. A hang-up need not come as a signal, and the reader of keys
/// may spin on a dead terminal without ever saying so.
pub(super) fn watch_hangup(send: &SyncSender<Input>, ended: &Arc<AtomicBool>) -> io::Result<()> {
    let (send, ended) = (send.clone(), ended.clone());
    std::thread::Builder::new()
        .name("zmtop-hangup".into())
        .stack_size(64 << 10)
        .spawn(move || {
            while !terminal::wait_hung_up() {}
            let _ = send.try_send(Input::End(End::Hangup));
            std::thread::sleep(GRACE);
            // As if SIGHUP had come.
            force(&ended, 128 + 1);
        })?;
    Ok(())
}
