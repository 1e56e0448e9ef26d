//! `zmtop heap`: the memory that the allocators of a process use and keep.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tokio::signal::unix::SignalKind;

use super::report::resolve;
use super::runtime::{Progress, on_runtime, signals};
use super::{Failure, complain, output_style, print_readable, sampler_options, settings, supervised};
use crate::cli::{Exit, OutputArgs, ProcessArg, UsageError, watching_time};
use crate::config::Env;
use crate::heap::State;
use crate::heap::runtimes::Runtime;
use crate::heaps::runtimes::{Accepted, Door};
use crate::heaps::{self, Program, runtimes};
use crate::model::Missing;
use crate::output::Format;
use crate::output::heap::HeapReport;
use crate::output::maps::reason;
use crate::proc::files;
use crate::units::{parse_span, span, span_exact};

#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(
    after_help = "Reads the heaps of glibc, jemalloc, mimalloc, tcmalloc (of gperftools) and musl, the objects of Python and the memory profile of Go from \
                  outside, with the program running: nothing is stopped, injected or written. Asks a JVM (HotSpot) for \
                  its heap and its objects by class: the JVM pauses for this, and the expected pause is printed first. \
                  Asks a .NET runtime for its counters. Samples the allocations of Node.js only with --inspector. For other \
                  allocators and runtimes, the report names the tool that shows their state.\n\nNeeds the right to trace the \
                  process: the same user, as far as kernel.yama.ptrace_scope allows it, or CAP_SYS_PTRACE. Exit code 3 if the \
                  heap could not be read."
)]
pub struct HeapArgs {
    /// The process: its pid, its program's name, a part of its command line, or a filter that only it matches
    #[arg(value_name = "PROCESS")]
    pub process: ProcessArg,
    /// Read the heap again after TIME, such as 30s or 10m, and show the changes of memory in use, of free memory, and by type
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,
    /// Let a JVM collect garbage first, so that it counts only objects in use
    #[arg(long)]
    pub collect: bool,
    /// Maximum pause of a JVM: it counts its objects only if the expected pause is shorter
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub pause: String,
    /// Let the runtime record for TIME, such as 30s, which code allocates objects that stay in use. A JVM (JDK 17 and later)
    /// loads its Flight Recorder, which takes up to 3 s and some 10 MB. Node.js needs --inspector. Ctrl-C ends the recording
    #[arg(long, value_name = "TIME")]
    pub code: Option<String>,
    /// Let Node.js open its inspector on the loopback interface for --code, and close it at the end. Meanwhile every local user
    /// can connect to it and control the program
    #[arg(long, requires = "code")]
    pub inspector: bool,
    /// Show the N largest types
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    #[command(flatten)]
    pub output: OutputArgs<HeapFormat>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HeapFormat {
    /// A table of arenas, with an explanation
    #[default]
    Table,
    /// One object
    Json,
}

/// Maximum time to follow free chunks.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) fn run(args: &HeapArgs, env: &Env) -> Result<Exit, Failure> {
    supervised::split();
    let settings = settings(args.output.config.as_deref(), &args.output.units, env)?;
    let options = sampler_options(&settings.sampler, None);
    let pid = resolve("PROCESS", std::slice::from_ref(&args.process), &options)?[0];
    let pause = parse_span(&args.pause)
        .ok_or_else(|| UsageError::option("--pause", "expected a time such as 2s".to_owned()))?;
    let accepted = Accepted {
        collection: args.collect,
        pause,
        inspector: args.inspector,
    };
    let range = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);
    let time_of = |option, text: &Option<String>| {
        let text = text.as_deref();
        text.map(|text| watching_time(option, Some(text), range.clone(), LIMIT))
            .transpose()
    };
    let (time, code) = (time_of("--for", &args.time)?, time_of("--code", &args.code)?);
    let proc = Path::new("/proc");
    let program = Program::of(proc, pid);
    let mut state = shown(pid, || heaps::look(proc, pid, LIMIT)).map_err(|why| refusal(pid, why))?;
    let doors = runtimes::open(proc, &state);
    for cost in doors.iter().filter_map(|door| door.cost(accepted)) {
        let times = if time.is_some() { ", twice" } else { "" };
        complain(&format!("{pid}: {cost}{times}"));
    }
    let look = || shown(pid, || doors.iter().map(|door| door.look(accepted)).collect());
    state.runtimes = look();
    if let Some(time) = time.filter(|_| state.can_change()) {
        let start = Instant::now();
        let (_sender, never) = mpsc::channel();
        wait(time, "reading again in", &never);
        let again = shown(pid, || heaps::look(proc, pid, LIMIT)).map_err(|why| refusal(pid, why))?;
        let before = std::mem::replace(&mut state, again);
        state.runtimes = look();
        if !program.is_ok_and(|program| program.is_running()) {
            return Err(format!("{pid}: it has ended or executed another program").into());
        }
        state.compare(&before, start.elapsed());
    }
    if let Some(time) = code {
        record(&doors, &mut state, accepted, time)?;
    }
    let is_read = state.runtimes.iter().any(Runtime::is_read);
    let fault = state
        .heap
        .as_ref()
        .err()
        .filter(|_| !is_read)
        .map(|why| format!("{pid}: {why}"));
    let report = HeapReport {
        state,
        top: args.top,
        style: output_style(settings.ui.units, args.output.color.no_color, env),
    };
    let format = match args.output.format {
        HeapFormat::Table => Format::Table,
        HeapFormat::Json => Format::Json,
    };
    Ok(print_readable(&report, format, fault.into_iter()))
}

/// Lets the runtimes record for some time, or until Ctrl-C: the programs must be left as they were.
fn record(doors: &[Door], state: &mut State, accepted: Accepted, time: Duration) -> Result<(), String> {
    on_runtime(async {
        let mut interrupt = signals(SignalKind::interrupt())?;
        let (interrupted, is_interrupted) = mpsc::channel();
        tokio::spawn(async move {
            interrupt.recv().await;
            drop(interrupted);
            // Another one ends the program at once: a runtime may take minutes to answer.
            interrupt.recv().await;
            std::process::exit(128 + SignalKind::interrupt().as_raw_value());
        });
        for (door, runtime) in doors.iter().zip(&mut state.runtimes) {
            if let Some(cost) = door.cost_of_recording(accepted) {
                let time = span_exact(time);
                complain(&format!(
                    "{}: {cost}, and records for {time}; Ctrl-C reports now",
                    state.pid
                ));
            }
            door.record(time, accepted, || wait(time, "recording for", &is_interrupted), runtime);
        }
        Ok(())
    })
}

/// Returns the result of a read. Once the read takes a second, shows for how long it has been running: a runtime may take
/// minutes to answer.
fn shown<T>(pid: u32, read: impl FnOnce() -> T) -> T {
    let (end, is_ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (start, mut progress) = (Instant::now(), Progress::new());
            while is_ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                progress.show(|| format!("reading the heap of process {pid} for {}", span(start.elapsed())));
            }
        });
        let result = read();
        drop(end);
        result
    })
}

/// Waits, and shows how long. The end of the channel ends it.
fn wait(time: Duration, what: &str, until: &Receiver<()>) {
    let start = Instant::now();
    let mut progress = Progress::new();
    while let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
        progress.show(|| format!("{what} {}", span(left)));
        if until.recv_timeout(left.min(Duration::from_secs(1))) == Err(RecvTimeoutError::Disconnected) {
            break;
        }
    }
}

fn refusal(pid: u32, why: Missing) -> String {
    match why {
        Missing::Denied => format!("{pid}: {}", files::trace_advice()),
        other => reason(pid, other),
    }
}
