//! `zmtop callers`: the code that allocates and keeps the memory of a process.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use rustix::process::{Resource, Rlimit};
use tokio::signal::unix::SignalKind;
use tokio::sync::Notify;

use super::prove;
use super::report::resolve_all;
use super::runtime::{Progress, on_runtime, signals};
use super::{Failure, complain, output_style, sampler_options, settings, written};
use crate::act::Pinned;
use crate::call_tree::{CHAIN, Measured, Order, SCHEMA};
use crate::cli::{Exit, OutputArgs, ProcessArg, watching_time};
use crate::config::state::create_recording;
use crate::config::{Env, Settings};
use crate::model::{Identity, Missing, Reading};
use crate::output::callers::CallersReport;
use crate::own;
use crate::proc::clock::{process_time, thread_time};
use crate::proc::files::Roots;
use crate::proc::page_faults::{self, MAX_STACK};
use crate::proc::{files, pid, smaps};
use crate::stacks::Measurement;
use crate::text;
use crate::units::{counted, span, span_exact};

/// Maximum memory of a measurement, and of one that the monitor starts, in bytes.
const MAX_MEMORY: u64 = 4 << 30;
const MAX_ARMED: u64 = 512 << 20;

#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(
    after_help = "The first access to a page causes a page fault. The kernel samples these faults with a copy of the \
                  stack; nothing is stopped or injected. Memory that an allocator reuses causes no fault.\n\nzmtop \
                  must run as the user of the process, or have CAP_PERFMON. Faults in the kernel need CAP_PERFMON, or \
                  a kernel.perf_event_paranoid of at most 1. If kernel.perf_event_paranoid is 3 or more, as in Debian \
                  and Ubuntu, the kernel requires root or CAP_SYS_ADMIN."
)]
pub struct CallersArgs {
    /// The processes to measure together: each by its pid, or all that have this program name or this part of the command line,
    /// or match a filter such as 'user:www pss>100M'
    #[arg(value_name = "PROCESS", required = true)]
    pub processes: Vec<ProcessArg>,
    /// Measure for this long: 1s to 24h (default 30s). Ctrl-C ends early and prints the report
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,
    /// Then measure for this long how much of the kept memory is touched: 1s to 24h. Clears the referenced bits of the process
    /// once, as leaks --prove does
    #[arg(long, value_name = "TIME")]
    pub prove: Option<String>,
    /// Begin at the outermost functions, and descend to the functions that they called
    #[arg(long)]
    pub callees: bool,
    /// Print all callers of each path, not only the nearest
    #[arg(long)]
    pub whole: bool,
    /// Combine branches with less than this share of the kept memory, in percent
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub least: u8,
    /// Also write a flame graph of the kept memory to this new file, for a browser
    #[arg(long, value_name = "FILE.svg")]
    pub flamegraph: Option<PathBuf>,
    /// Bytes of the stack to copy with each sample, up to 60k. Deep stacks need more
    #[arg(long, value_name = "SIZE", default_value = "16k")]
    pub stack: String,
    /// The start of the process in ticks since boot: another one with its pid is not measured
    #[arg(long, hide = true, value_name = "TICKS")]
    pub starttime: Option<u64>,
    /// Measure for hours at little cost, and end with the parent
    #[arg(long, hide = true)]
    pub armed: bool,
    #[command(flatten)]
    pub output: OutputArgs<CallersFormat>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CallersFormat {
    /// A tree of call paths
    #[default]
    Table,
    /// One object with all call paths
    Json,
    /// An object every 2 s with all call paths so far
    Ndjson,
    /// A line per call path with its kept bytes, for flame graph tools
    Folded,
}

/// Maximum size of the call paths of a repeated report, in bytes. The monitor keeps those of several processes, and programs choose their
/// names.
const MAX_REPORT: usize = 1 << 20;

/// The pace of a measurement.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// The longest time between two reads of the kernel's buffers.
    poll: Duration,
    /// Time between two checks of the kept pages, and between two objects of `--format ndjson`.
    check: Duration,
    report: Duration,
    /// True to free the symbols after each report.
    frees: bool,
    /// Minimum pause after a check, as a multiple of its processor time. A quarter of it applies to reports.
    rest: u32,
}

/// The shortest time between two reads of the kernel's buffers.
const SHORTEST_POLL: Duration = Duration::from_millis(5);
/// The shares of a buffer from which on it is read more often, and below which less often.
const FULL: f64 = 0.25;
const EMPTY: f64 = 0.1;

/// The pace if a user waits for the report.
const WATCHED: Pace = Pace {
    poll: Duration::from_millis(40),
    check: Duration::from_secs(1),
    report: Duration::from_secs(2),
    frees: false,
    rest: 300,
};
/// The pace of a measurement of hours.
const ARMED: Pace = Pace {
    poll: Duration::from_millis(500),
    check: Duration::from_secs(30),
    report: Duration::from_secs(30),
    frees: true,
    rest: 500,
};
/// Maximum time to find the names of functions.
const NAMING: Duration = Duration::from_secs(20);
/// Maximum CPU time to find them: the library that reads a file cannot be stopped, and a small file can take hours.
const MAX_NAMING: Duration = Duration::from_secs(40);
/// The niceness of a measurement of hours.
const NICE: i32 = 10;

pub(super) fn run(args: &CallersArgs, env: &Env) -> Result<Exit, Failure> {
    let range = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);
    let time = watching_time("--for", args.time.as_deref(), range.clone(), Duration::from_secs(30))?;
    let proof = args.prove.as_deref();
    let proof = proof.map(|time| watching_time("--prove", Some(time), range, Duration::from_secs(30)));
    let proof = proof.transpose()?;
    let stack = crate::units::parse_size(&args.stack).filter(|size| (1024.0..=f64::from(MAX_STACK)).contains(size));
    let stack =
        stack.ok_or_else(|| crate::cli::UsageError::option("--stack", "expected a size from 1k to 60k".to_owned()))?;
    let settings = settings(args.output.config.as_deref(), &args.output.units, env)?;
    if proof.is_some() {
        prove::refuse_if_readonly(&settings)?;
    }
    let options = sampler_options(&settings.sampler, None);
    let pids = resolve_all(&args.processes, &options)?;
    let proc = Path::new("/proc");
    limit_memory(if args.armed { MAX_ARMED } else { MAX_MEMORY });
    if args.armed {
        stay_behind();
    }
    // The file is created first, so that no measurement is lost to a wrong name.
    let graph = args.flamegraph.as_deref().map(|path| {
        create_recording(path).map_err(|error| format!("{}: {error}", text::safe(path.as_os_str().as_bytes())))
    });
    let graph = graph.transpose()?;
    let stack = stack as u32;
    let (pace, options) = if args.armed {
        (ARMED, page_faults::Options::armed(stack))
    } else {
        (WATCHED, page_faults::Options::watched(stack))
    };
    let mut target = Target::start(proc, &pids, options)?;
    if let Some(starttime) = args.starttime {
        target.check_identity(starttime)?;
    }
    let mut out = io::BufWriter::new(io::stdout());
    on_runtime(async {
        let repeated = (args.output.format == CallersFormat::Ndjson).then_some(&mut out);
        let end = End::on_signals(pace)?;
        if let Err(error) = watch(&mut target, time, pace, repeated, &end.notify).await {
            return Ok(written(Err(error)));
        }
        if let Some(proof) = proof {
            target.prove(proof, &end.notify).await?;
        }
        end.is_over.store(true, Ordering::Relaxed);
        target.check();
        if target.proved.is_some() {
            target.measurement.find_cold();
        }
        let mut measured = target.measured();
        if args.output.format == CallersFormat::Ndjson {
            measured.limit(MAX_REPORT);
        }
        print(args, env, &settings, &measured, graph, out)
    })
}

/// Writes the flame graph and the report.
fn print(
    args: &CallersArgs,
    env: &Env,
    settings: &Settings,
    measured: &Measured,
    graph: Option<File>,
    mut out: impl Write,
) -> Result<Exit, Failure> {
    let report = CallersReport {
        measured,
        order: if args.callees { Order::Callees } else { Order::Callers },
        least: f64::from(args.least) / 100.0,
        chain: if args.whole { usize::MAX } else { CHAIN },
        style: output_style(settings.ui.units, args.output.color.no_color, env),
    };
    if let Some(graph) = graph {
        report
            .write_svg(graph)
            .map_err(|error| format!("the flame graph cannot be written: {error}"))?;
    }
    let result = match args.output.format {
        CallersFormat::Table => report.write_text(&mut out),
        CallersFormat::Json | CallersFormat::Ndjson => report.write_json(&mut out),
        CallersFormat::Folded => report.write_folded(&mut out),
    };
    Ok(written(result.and_then(|()| out.flush())))
}

/// The end of a measurement by a signal: Ctrl-C, or SIGTERM, as `timeout` sends it.
struct End {
    notify: Arc<Notify>,
    /// The samples are complete.
    is_over: Arc<AtomicBool>,
}

impl End {
    /// The first signal ends the sampling, and the report follows. Another one ends the program, and so does the first one if the
    /// sampling is over, or if no report has followed in time: files with symbols may be on a disk that does not answer.
    fn on_signals(pace: Pace) -> Result<Self, String> {
        let mut interrupt = signals(SignalKind::interrupt())?;
        // The monitor ends an armed measurement, whose last report nobody reads.
        let mut terminate = (!pace.frees).then(|| signals(SignalKind::terminate())).transpose()?;
        let mut signal = async move || {
            let terminated = async {
                match &mut terminate {
                    Some(signal) => signal.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = interrupt.recv() => rustix::process::Signal::INT,
                _ = terminated => rustix::process::Signal::TERM,
            }
        };
        let (notify, is_over) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let (notified, over) = (Arc::clone(&notify), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut last = signal().await;
            if !over.load(Ordering::Relaxed) {
                notified.notify_one();
                // An object may be due before the report.
                if let Ok(another) = tokio::time::timeout(NAMING * 2, signal()).await {
                    last = another;
                }
            }
            std::process::exit(128 + last.as_raw());
        });
        Ok(Self { notify, is_over })
    }
}

/// Limits the memory of this process. Debug information can grow a thousandfold while it is parsed, and the measured program chooses it.
fn limit_memory(bytes: u64) {
    let limit = rustix::process::getrlimit(Resource::Data);
    let lower = |limit: Option<u64>| Some(limit.map_or(bytes, |limit| limit.min(bytes)));
    let limit = Rlimit {
        current: lower(limit.current),
        maximum: lower(limit.maximum),
    };
    let _ = rustix::process::setrlimit(Resource::Data, limit);
}

/// Does `work`, and ends this process if that takes more CPU time than `limit`.
fn or_exit<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    let used = || process_time(std::process::id()).unwrap_or_default();
    let until = used() + limit;
    let (_end, is_ended) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        while is_ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
            if used() > until {
                complain("the debug information of the program or of a library takes too long to read");
                std::process::exit(Exit::Unread as i32);
            }
        }
    });
    work()
}

/// Lowers the priority, and ends with the parent.
fn stay_behind() {
    let _ = rustix::process::nice(NICE);
    // The measured program determines its memory, so it is the first to be killed if memory runs out.
    let _ = own::set_oom_score_adj(1000);
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
}

/// The processes under measurement.
struct Target {
    /// The largest one first.
    processes: Vec<Process>,
    /// The name of the first one.
    command: String,
    start: Instant,
    /// The time since when the referenced bits are clear.
    proved: Option<Instant>,
    measurement: Measurement,
}

struct Process {
    pid: u32,
    /// As it was when the measurement began.
    id: Reading<Identity>,
    dir: PathBuf,
    /// Its PSS and swap at the start, and as read last.
    before: Reading<u64>,
    after: Reading<u64>,
}

impl Target {
    fn start(proc: &Path, pids: &[u32], options: page_faults::Options) -> Result<Self, String> {
        let process = |pid: &u32| {
            let dir = proc.join(pid.to_string());
            let before = footprint(&dir);
            Process {
                pid: *pid,
                id: identity(*pid, &dir),
                before,
                after: before,
                dir,
            }
        };
        let mut processes: Vec<_> = pids.iter().map(process).collect();
        // The largest one gives its name.
        crate::order::sort_by_key(&mut processes, |process| std::cmp::Reverse(process.before.unwrap_or(0)));
        let measurement = Measurement::start(proc, pids, options).map_err(|why| refusal(pids, why))?;
        Ok(Self {
            command: name(&processes[0].dir).unwrap_or_default(),
            processes,
            start: Instant::now(),
            proved: None,
            measurement,
        })
    }

    /// Refuses another process that has the pid of the requested one. The events are open: from now on, its pid is not reused.
    fn check_identity(&self, starttime: u64) -> Result<(), String> {
        for process in &self.processes {
            if !identity(process.pid, &process.dir).is_ok_and(|id| id.starttime == starttime) {
                return Err(refusal(&[process.pid], Missing::Gone));
            }
        }
        Ok(())
    }

    /// Checks which pages are kept; returns false once all processes have ended.
    fn check(&mut self) -> bool {
        self.measurement.check();
        let mut is_there = false;
        for process in &mut self.processes {
            let after = footprint(&process.dir);
            if after != Err(Missing::Gone) {
                is_there = true;
                process.after = after;
            }
        }
        is_there
    }

    /// Clears the referenced bits of the processes, and waits for so long or until `end`.
    async fn prove(&mut self, time: Duration, end: &Notify) -> Result<(), String> {
        for process in &self.processes {
            let id = process.id.map_err(|why| refusal(&[process.pid], why))?;
            let cleared = Pinned::new(&Roots::new(None), id).and_then(|pinned| pinned.clear_referenced());
            cleared.map_err(|why| format!("no proof is possible for {}: {why}", process.pid))?;
        }
        self.proved = Some(Instant::now());
        let progress = Progress::new();
        progress.announce(|| {
            format!(
                "watching which memory is touched, for {}; Ctrl-C reports",
                span_exact(time)
            )
        });
        // The samples of this time must not fill the buffers.
        let mut pause = tokio::time::interval(WATCHED.poll);
        let over = tokio::time::sleep(time);
        tokio::pin!(over);
        loop {
            tokio::select! {
                () = end.notified() => break,
                () = &mut over => break,
                _ = pause.tick() => {
                    self.measurement.poll();
                }
            }
        }
        Ok(())
    }

    /// Returns the result as of the last [`Self::check`].
    fn measured(&mut self) -> Measured {
        let growth = |process: &Process| {
            let (before, after) = (process.before.ok()?, process.after.ok()?);
            Some(after.cast_signed() - before.cast_signed())
        };
        // It may run another program by now, or have ended.
        if let Some(name) = name(&self.processes[0].dir) {
            self.command = name;
        }
        Measured {
            schema: SCHEMA.to_owned(),
            pid: self.processes[0].pid,
            processes: self.processes.len(),
            command: self.command.clone(),
            time_s: self.start.elapsed().as_secs_f64(),
            proved_s: self.proved.map(|since| since.elapsed().as_secs_f64()),
            growth: self.processes.iter().map(growth).sum(),
            stacks: or_exit(MAX_NAMING, || self.measurement.stacks(NAMING)),
            counts: self.measurement.counts(),
        }
    }
}

fn identity(pid: u32, dir: &Path) -> Reading<Identity> {
    let stat = std::fs::read(dir.join("stat")).map_err(|_| Missing::Gone)?;
    let starttime = pid::stat(&stat, 4096)?.starttime;
    Ok(Identity { pid, starttime })
}

fn name(dir: &Path) -> Option<String> {
    let name = std::fs::read(dir.join("comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into())
}

fn footprint(dir: &Path) -> Reading<u64> {
    let path = dir.join("smaps_rollup");
    let mut buf = [0; 4096];
    let bytes = files::slurp(path.as_os_str().as_bytes(), &mut buf).map_err(files::reason)?;
    let memory = smaps::rollup(bytes)?;
    Ok(memory.pss + memory.swap_pss.unwrap_or(0))
}

fn refusal(pids: &[u32], why: Missing) -> String {
    let of = match pids {
        [pid] => pid.to_string(),
        several => format!("these {} processes", several.len()),
    };
    match why {
        Missing::Denied => {
            let need = match files::raised_perf_level() {
                Some(level) => format!("kernel.perf_event_paranoid is {level}, which needs root or CAP_SYS_ADMIN"),
                None => format!(
                    "this needs the user of the process, or {}",
                    files::advice("CAP_PERFMON")
                ),
            };
            format!("no permission to sample the page faults of {of}: {need}")
        }
        Missing::Gone if pids.len() == 1 => format!("no process {of}"),
        Missing::Gone => format!("{of} have ended"),
        Missing::Unsupported => "this kernel has no events of page faults".to_owned(),
        other => format!("the page faults of {of} cannot be sampled: {other}"),
    }
}

/// Samples until the time is over, the process has ended, or `end`. Writes the state so far to `out` from time to time.
///
/// # Errors
/// The errors of writing.
async fn watch(
    target: &mut Target,
    time: Duration,
    pace: Pace,
    mut out: Option<&mut impl Write>,
    end: &Notify,
) -> io::Result<()> {
    let until = target.start + time;
    let mut progress = Progress::new();
    if !pace.frees {
        progress.announce(|| format!("sampling for {}; Ctrl-C reports", span_exact(time)));
    }
    let mut next_check = Instant::now() + pace.check;
    let mut next_report = Instant::now() + pace.report;
    let mut wait = SHORTEST_POLL;
    loop {
        tokio::select! {
            biased;
            () = end.notified() => break,
            () = tokio::time::sleep(wait) => {}
        }
        wait = match target.measurement.poll() {
            FULL.. => (wait / 4).max(SHORTEST_POLL),
            share if share < EMPTY => (wait * 3 / 2).min(pace.poll),
            _ => wait,
        };
        let now = Instant::now();
        if now >= until {
            break;
        }
        if now < next_check {
            continue;
        }
        let began = thread_time();
        let price = || thread_time().saturating_sub(began);
        if !target.check() {
            break;
        }
        // A large program takes long to check.
        next_check = Instant::now() + pace.check.max(price() * pace.rest);
        let left = span(until.saturating_duration_since(now));
        let faults = target.measurement.counts().faults;
        progress.show(|| format!("{}, {left} left; Ctrl-C reports now", counted(faults, "page fault")));
        if let Some(out) = out.as_mut().filter(|_| now >= next_report) {
            let mut measured = target.measured();
            measured.limit(MAX_REPORT);
            crate::output::json::line(out, &measured)?;
            out.flush()?;
            if pace.frees {
                target.measurement.free_symbols();
                own::trim();
            }
            next_report = Instant::now() + pace.report.max(price() * pace.rest / 4);
        }
    }
    Ok(())
}
