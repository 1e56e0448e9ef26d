//! `zmtop leaks --prove`: what one process does not touch of its memory.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};

use super::{Failure, complain, named, output_style, print, sampler_options};
use crate::act::{Pinned, time_to_clear};
use crate::cli::leaks::LeaksArgs;
use crate::cli::{Exit, ProcessArg, UsageError};
use crate::config::{Config, Env};
use crate::history::coldness::Coldness;
use crate::model::mapping::Mapping;
use crate::model::{Identity, Missing, Reading};
use crate::output::maps::reason;
use crate::output::prove::ProveReport;
use crate::sampler::Options;
use crate::sampler::mappings::{Found, merged};
use crate::text::safe;
use crate::units::{self, Units, span, span_exact};

/// The shortest wait: what is used at all is used within minutes rather than seconds.
const SHORTEST: Duration = Duration::from_secs(1);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The wait that is not asked for otherwise.
const DEFAULT: Duration = Duration::from_secs(60);

/// Clears the referenced bits of the process, waits, and reports what it did not touch.
pub(super) fn run(process: &ProcessArg, args: &LeaksArgs, env: &Env) -> Result<Exit, Failure> {
    let mut settings = Config::load(args.paths.config.as_deref(), env)
        .map_err(UsageError::from)?
        .settings;
    args.units.apply(&mut settings)?;
    let time = args.watching_time(SHORTEST..=LONGEST, DEFAULT)?;
    if settings.ui.readonly {
        let what = "it clears the referenced bits of the process, and ui.readonly in the config forbids changes";
        return Err(UsageError::option("--prove", what).into());
    }
    let options = sampler_options(&settings.sampler, args.paths.proc_root.as_deref());
    let pid = named::resolve("--prove", std::slice::from_ref(process), &options)?[0];
    let (before, _) = read(&options, pid, None)?;
    let id = Identity {
        pid,
        starttime: before.starttime,
    };
    let refused = |error| format!("{pid}: {error}");
    let pinned = Pinned::new(&options.roots(), id).map_err(refused)?;
    announce(&before, time);
    let runtime = super::runtime()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let waited = runtime.block_on(async {
        // Ctrl-C still ends the program here: the kernel may keep it waiting for the lock of the address space.
        pinned.clear_referenced().map_err(refused)?;
        let cleared = Instant::now();
        let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
        tokio::select! {
            biased;
            _ = interrupt.recv() => {}
            () = wait(&pinned, cleared, time) => {}
        }
        Ok::<_, String>(cleared)
    });
    runtime.shutdown_background();
    let cleared = waited?;
    // What is not noted when the reading begins was not touched until then.
    let (after, began) = read(&options, pid, Some(id))?;
    let coldness = Coldness::new(&after.what, began.saturating_duration_since(cleared));
    if let Err(why) = coldness.total {
        complain(&format!("{pid}: what it touched is not known: {why}"));
        return Ok(Exit::Unread);
    }
    let report = ProveReport {
        id,
        comm: &after.comm,
        coldness: &coldness,
        top: args.top.map(|n| n as usize),
        style: output_style(settings.ui.units, args.color.no_color, env),
    };
    Ok(print(&report, args.format))
}

/// Says what is about to be changed.
fn announce(before: &Found<Vec<Mapping>>, time: Duration) {
    let rss = before.what.iter().map(|mapping| mapping.memory.map_or(0, |m| m.rss));
    let rss = rss.sum();
    complain(&format!(
        "clears the referenced bits of {} {} ({} resident): for about {} ms its page faults wait, and until pages are \
         touched again reclaim takes them for idle; nothing else changes. Looks in {}; Ctrl-C tells at once",
        before.pid,
        safe(&before.comm),
        units::bytes(rss, Units::Auto),
        time_to_clear(rss).as_millis().max(1),
        span_exact(time)
    ));
}

/// Waits until the time is over, or the process has ended; shows how far it is where stderr is a terminal.
async fn wait(process: &Pinned, since: Instant, time: Duration) {
    let interactive = io::stderr().is_terminal();
    loop {
        let left = time.saturating_sub(since.elapsed());
        if left.is_zero() || process.has_exited() {
            break;
        }
        if interactive {
            let _ = write!(io::stderr(), "\r\x1b[Klooks in {}", span(left));
        }
        tokio::time::sleep(left.min(Duration::from_secs(1))).await;
    }
    if interactive {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

/// Reads the mappings of a process, which must be that one where it is known; and says when that began.
fn read(options: &Options, pid: u32, id: Option<Identity>) -> Result<(Found<Vec<Mapping>>, Instant), String> {
    let began = Instant::now();
    let found: Reading<_> = merged(options, &[pid]).pop().unwrap_or(Err(Missing::Gone));
    let is_other = |found: &Found<_>| id.is_some_and(|id| id.starttime != found.starttime);
    match found {
        Ok(found) if is_other(&found) => Err(format!("{pid}: the process has ended, and another has its pid now")),
        Ok(found) => Ok((found, began)),
        Err(Missing::Gone | Missing::Zombie) if id.is_some() => Err(format!("{pid}: the process ended meanwhile")),
        Err(why) => Err(reason(pid, why)),
    }
}
