//! `zmtop leaks --prove`: finds the memory that one process does not touch.

use std::time::{Duration, Instant};

use tokio::signal::unix::SignalKind;

use super::leaks::LeaksArgs;
use super::report::resolve;
use super::runtime::{Progress, on_runtime, signals};
use super::{Failure, complain, output_style, print, sampler_options, settings};
use crate::act::{Pinned, time_to_clear};
use crate::cli::{Exit, ProcessArg, UsageError, watching_time};
use crate::config::{Env, Settings};
use crate::history::mappings::Coldness;
use crate::model::mapping::Mapping;
use crate::model::{Identity, Missing, Reading};
use crate::output::maps::reason;
use crate::output::prove::ProveReport;
use crate::sampler::Options;
use crate::sampler::mappings::{Found, merged};
use crate::text::safe;
use crate::units::{self, Units, span, span_exact};

/// The shortest wait. Memory in use is usually touched within minutes rather than seconds.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(24 * 3600);
const DEFAULT: Duration = Duration::from_secs(60);

/// Refuses `--prove` if the config forbids changes.
pub(super) fn refuse_if_readonly(settings: &Settings) -> Result<(), UsageError> {
    if settings.ui.readonly {
        let what = "it clears the referenced bits of the process, and ui.readonly in the config forbids changes";
        return Err(UsageError::option("--prove", what));
    }
    Ok(())
}

/// Clears the referenced bits of the process, waits, and reports the memory that it did not touch.
pub(super) fn run(process: &ProcessArg, args: &LeaksArgs, env: &Env) -> Result<Exit, Failure> {
    let machine = &args.machine;
    let settings = settings(machine.paths.config.as_deref(), &machine.units, env)?;
    let time = watching_time("--for", args.time.as_deref(), SHORTEST..=LONGEST, DEFAULT)?;
    refuse_if_readonly(&settings)?;
    let options = sampler_options(&settings.sampler, machine.paths.proc_root.as_deref());
    let pid = resolve("--prove", std::slice::from_ref(process), &options)?[0];
    let (before, _) = read(&options, pid, None)?;
    let id = Identity {
        pid,
        starttime: before.starttime,
    };
    let refused = |error| format!("{pid}: {error}");
    let pinned = Pinned::new(&options.roots(), id).map_err(refused)?;
    announce(&before, time);
    let cleared = on_runtime(async {
        // Ctrl-C still ends the program here, since the kernel may wait for the lock of the address space.
        pinned.clear_referenced().map_err(refused)?;
        let cleared = Instant::now();
        let mut interrupt = signals(SignalKind::interrupt())?;
        tokio::select! {
            biased;
            _ = interrupt.recv() => {}
            () = wait(&pinned, cleared, time) => {}
        }
        Ok::<_, String>(cleared)
    })?;
    // Pages without a referenced bit when the read begins were not touched until then.
    let (after, began) = read(&options, pid, Some(id))?;
    let coldness = Coldness::new(&after.what, began.saturating_duration_since(cleared));
    if let Err(why) = coldness.total {
        complain(&format!("{pid}: the touched memory is unknown: {why}"));
        return Ok(Exit::Unread);
    }
    let report = ProveReport {
        id,
        comm: &after.comm,
        coldness: &coldness,
        top: args.top.map(|n| n as usize),
        style: output_style(settings.ui.units, machine.color.no_color, env),
    };
    Ok(print(&report, machine.format))
}

/// Announces on stderr the changes about to be made.
fn announce(before: &Found<Vec<Mapping>>, time: Duration) {
    let rss = before.what.iter().map(|mapping| mapping.memory.map_or(0, |m| m.rss));
    let rss = rss.sum();
    complain(&format!(
        "clearing the referenced bits of {} {} ({} resident): this delays its page faults by about {} ms in total, and \
         reclaim treats its pages as idle until they are touched again; nothing else changes. Waiting {}; Ctrl-C \
         reports now",
        before.pid,
        safe(&before.comm),
        units::bytes(rss, Units::Auto),
        time_to_clear(rss).as_millis().max(1),
        span_exact(time)
    ));
}

/// Waits until the time is over or the process has ended. Shows the remaining time.
async fn wait(process: &Pinned, since: Instant, time: Duration) {
    let mut progress = Progress::new();
    loop {
        let left = time.saturating_sub(since.elapsed());
        if left.is_zero() || process.has_exited() {
            break;
        }
        progress.show(|| format!("reading in {}", span(left)));
        tokio::time::sleep(left.min(Duration::from_secs(1))).await;
    }
}

/// Reads the mappings of a process, and returns when the read began. With an `id`, fails unless the process is still
/// the same.
fn read(options: &Options, pid: u32, id: Option<Identity>) -> Result<(Found<Vec<Mapping>>, Instant), String> {
    let began = Instant::now();
    let found: Reading<_> = merged(options, &[pid]).pop().unwrap_or(Err(Missing::Gone));
    let is_other = |found: &Found<_>| id.is_some_and(|id| id.starttime != found.starttime);
    match found {
        Ok(found) if is_other(&found) => Err(format!(
            "{pid}: the process has ended, and another process has its pid now"
        )),
        Ok(found) => Ok((found, began)),
        Err(Missing::Gone | Missing::Zombie) if id.is_some() => Err(format!("{pid}: the process has ended")),
        Err(why) => Err(reason(pid, why)),
    }
}
