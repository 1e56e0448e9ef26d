//! `zmtop kernel`: the kernel's own memory, by slab cache, by call site and by line of its source.

use std::io;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use tokio::signal::unix::SignalKind;
use tokio::sync::oneshot;

use super::report::{Wanted, wanted};
use super::runtime::{Progress, on_runtime, signals};
use super::{Failure, complain, print};
use crate::cli::{Exit, ReportArgs, watching_time};
use crate::columns::callers::{self, CallerRow};
use crate::columns::layout;
use crate::columns::sites::{self, SiteRow};
use crate::columns::slab::{self, SlabRow};
use crate::config::Env;
use crate::model::kernel::Callers;
use crate::output::kernel::{callers_report, sites_report, slab_report};
use crate::proc::files::Roots;
use crate::sampler::callers::{self as tracing, Refusal};
use crate::sampler::kernel;
use crate::units::span;

#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct KernelArgs {
    #[command(subcommand)]
    pub part: KernelPart,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum KernelPart {
    /// Print the slab caches: the total, used and wasted memory of each
    Slab(SlabArgs),
    /// Print allocations of kernel memory by call site: bytes requested, allocated, wasted and not freed
    Callers(CallersArgs),
    /// Print the memory that each line of the kernel's source has allocated, by the kernel's own account
    Sites(SitesArgs),
}

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "Only root may read the caches. Other users get only their sums from meminfo, with exit code 3."
)]
pub struct SlabArgs {
    /// List and sum only rows that match: words of the name, size>10M, 'use<50', /re/, ! (not), | (or)
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    #[command(flatten)]
    pub report: ReportArgs,
}

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "Requires root and a mounted tracefs. Uses its own trace instance and leaves other traces alone. If a \
                  requirement is missing, the command reports it and exits with 3."
)]
pub struct CallersArgs {
    /// List and sum only rows that match: words of the name, wasted>10M, 'frag>50', /re/, ! (not), | (or)
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Trace for this long: 100ms to 24h (default 5s). Ctrl-C stops early and prints the report
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,
    /// Sum by call site or by function
    #[arg(long, value_name = "WHAT", default_value = "site")]
    pub by: CallersBy,
    #[command(flatten)]
    pub report: ReportArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CallersBy {
    /// Each call site separately
    #[default]
    Site,
    /// All call sites in a function together
    Symbol,
}

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "Requires Linux 6.10 or later, with memory allocation profiling built in and enabled. Otherwise, the \
                  command explains how to enable it and exits with 3."
)]
pub struct SitesArgs {
    /// List and sum only rows that match: words of function, file or module, size>10M, /re/, ! (not), | (or)
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Maximum wait for the kernel beyond the requested time. Another tool may hold its lock.
const PATIENCE: Duration = Duration::from_secs(30);

/// The niceness of the reading thread. On an overloaded machine it would otherwise be scheduled too late and lose
/// events.
const NICE: i32 = -10;

/// Maximum wait for another thread to end the program.
const GRACE: Duration = Duration::from_secs(1);

pub(super) fn run(args: &KernelArgs, env: &Env) -> Result<Exit, Failure> {
    match &args.part {
        KernelPart::Slab(args) => slab_caches(args, env),
        KernelPart::Callers(args) => callers(args, env),
        KernelPart::Sites(args) => sites(args, env),
    }
}

fn slab_caches(args: &SlabArgs, env: &Env) -> Result<Exit, Failure> {
    let Wanted {
        options,
        filter,
        layout,
    } = wanted(&args.report, &args.filter, slab::COLUMNS, layout::slab, "size", env)?;
    let found = kernel::slab(&options);
    let caches = found.caches.as_ref().map_err(|why| *why);
    if let Err(why) = caches {
        complain(&slab::unread(why));
    }
    let rows = caches.map_or(&[][..], |found| &found.caches).iter().map(SlabRow::new);
    let rows: Vec<_> = rows.filter(|row| filter.matches(row)).collect();
    let total = SlabRow::total(&rows);
    let report = slab_report(caches, &found.system, (&rows, &total), layout);
    // Print the sums anyway.
    Ok(match print(&report, args.report.format) {
        Exit::Done if caches.is_err() => Exit::Unread,
        exit => exit,
    })
}

fn sites(args: &SitesArgs, env: &Env) -> Result<Exit, Failure> {
    let usual = || sites::COLUMNS.iter().collect();
    let Wanted {
        options,
        filter,
        layout,
    } = wanted(&args.report, &args.filter, sites::COLUMNS, usual, "size", env)?;
    let found = kernel::sites(&options).map_err(sites::unread)?;
    if !found.running {
        complain(sites::STOPPED);
    }
    // Leave out the many sites without allocated memory.
    let used = found.sites.iter().map(SiteRow::new);
    let used = used.filter(|row| row.figures.calls > 0 || row.figures.size > 0);
    let rows: Vec<_> = used.filter(|row| filter.matches(row)).collect();
    let total = SiteRow::total(&rows);
    Ok(print(
        &sites_report(&found, (&rows, &total), layout),
        args.report.format,
    ))
}

fn callers(args: &CallersArgs, env: &Env) -> Result<Exit, Failure> {
    let range = Duration::from_millis(100)..=Duration::from_secs(24 * 3600);
    let time = watching_time("--for", args.time.as_deref(), range, Duration::from_secs(5))?;
    let Wanted {
        options,
        filter,
        layout,
    } = wanted(
        &args.report,
        &args.filter,
        callers::COLUMNS,
        layout::callers,
        "allocated",
        env,
    )?;
    let found = watch(options.roots(), time)?;
    let by_symbol = args.by == CallersBy::Symbol;
    let rows = CallerRow::of(&found, by_symbol).into_iter();
    let rows: Vec<_> = rows.filter(|row| filter.matches(row)).collect();
    let total = CallerRow::total(&rows, found.trace.time.as_secs_f64());
    let report = callers_report(&found, by_symbol, (&rows, &total), layout);
    Ok(print(&report, args.report.format))
}

/// Traces on a separate thread, so that signals are handled whatever the kernel does.
fn watch(roots: Roots, time: Duration) -> Result<Callers, String> {
    let (stop, stopped) = mpsc::channel();
    let (send, mut done) = oneshot::channel();
    on_runtime(async {
        let mut interrupt = signals(SignalKind::interrupt())?;
        for kind in [SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()] {
            let mut ended = signals(kind)?;
            tokio::spawn(async move {
                ended.recv().await;
                end(kind);
            });
        }
        let work = move || {
            // Sending fails only if the receiver has stopped waiting.
            let _ = send.send(tracing::trace(&roots, time, &stopped, None));
        };
        on_thread(work).map_err(|error| format!("cannot start a thread: {error}"))?;
        let until = Instant::now() + time;
        let (mut progress, mut interrupted) = (Progress::new(), false);
        let patience = tokio::time::sleep(time.saturating_add(PATIENCE));
        tokio::pin!(patience);
        let found = loop {
            let left = span(until.saturating_duration_since(Instant::now()));
            progress.show(|| format!("tracing, {left} left; Ctrl-C reports now"));
            tokio::select! {
                biased;
                found = &mut done => break found.map_err(|_| "tracing ended".to_owned()),
                () = &mut patience => break Err("the kernel does not answer: another program may hold its trace".to_owned()),
                _ = interrupt.recv() => {
                    // A second Ctrl-C ends the program at once.
                    if stop.send(()).is_err() || interrupted {
                        end(SignalKind::interrupt());
                    }
                    interrupted = true;
                }
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        };
        found?.map_err(|why| {
            // A signal or a panic on another thread ended the trace. That thread sets the exit code.
            if why == Refusal::Ended {
                std::thread::sleep(GRACE);
            }
            why.to_string()
        })
    })
}

pub(super) fn on_thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("zmtop-callers".into());
    let started = thread.spawn(|| {
        // If raising the priority is denied, events may be lost sooner. The report counts them.
        let _ = rustix::process::setpriority_process(None, NICE);
        work();
    });
    started.map(|_| ())
}

/// Ends the program as the signal would.
fn end(kind: SignalKind) {
    tracing::remove();
    std::process::exit(128 + kind.as_raw_value());
}
