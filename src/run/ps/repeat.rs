//! Tables again and again: the first whole, then what changed.
//!
//! Every table is of a whole scan, whatever the monitor may spend: the shorter the interval, the more of a
//! processor that takes.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior};

use super::plan::Plan;
use super::print::Printer;
use super::readable;
use crate::cli::Exit;
use crate::history::{History, HistoryConfig};
use crate::run::{Failure, written};

/// Time that a table that is being written may take after SIGINT.
const GRACE: Duration = Duration::from_millis(700);

/// Prints until `count` tables are printed, the reader goes away or SIGINT comes.
pub(super) fn run(plan: &Plan, every: Duration) -> Result<Exit, Failure> {
    crate::sampler::make_room();
    let failed = |error: io::Error| format!("cannot start the runtime: {error}");
    let runtime = crate::run::runtime().build().map_err(failed)?;
    let stop = Arc::new(Notify::new());
    {
        let _inside = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let stop = Arc::clone(&stop);
        runtime.spawn(async move {
            interrupt.recv().await;
            stop.notify_one();
            tokio::time::sleep(GRACE).await;
            std::process::exit(i32::from(Exit::Done as u8));
        });
    }
    let done = runtime.block_on(tables(plan, every, &stop));
    runtime.shutdown_background();
    done
}

async fn tables(plan: &Plan, every: Duration, stop: &Notify) -> Result<Exit, Failure> {
    let mut scanner = plan.scanner();
    let mut ticker = tokio::time::interval_at(Instant::now(), every);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // Changes are those since the table before.
    let mut history = History::with_config(HistoryConfig {
        window: every,
        ..plan.history
    });
    let mut printer = Printer::new(plan);
    for _ in 0..plan.count.unwrap_or(u64::MAX) {
        let snapshot = tokio::select! {
            biased;
            () = stop.notified() => break,
            snapshot = async { ticker.tick().await; scanner.full().await } => readable(snapshot)?,
        };
        // Whole before any of it is written, so that no line is ever half there.
        let mut text = Vec::new();
        history.push(&snapshot);
        let done = printer.print(&mut text, &snapshot, Some(&history));
        let mut out = io::stdout().lock();
        if let Err(error) = done.and_then(|()| out.write_all(&text)).and_then(|()| out.flush()) {
            return Ok(written(Err(error)));
        }
    }
    Ok(Exit::Done)
}
