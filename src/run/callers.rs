//! `zmtop callers`: the code that takes and keeps the memory of a process.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tokio::signal::unix::SignalKind;

use super::report::resolve;
use super::runtime::{Progress, on_runtime, signals};
use super::{Failure, output_style, sampler_options, settings, written};
use crate::call_tree::{CHAIN, Measured, Order, SCHEMA};
use crate::cli::{ColorArgs, Exit, PathArgs, ProcessArg, UnitsArgs, watching_time};
use crate::config::Env;
use crate::config::state::create_recording;
use crate::model::{Missing, Reading};
use crate::output::callers::CallersReport;
use crate::proc::page_faults::MAX_STACK;
use crate::proc::{files, smaps};
use crate::stacks::Measurement;
use crate::text;
use crate::units::{counted, span};

#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(
    after_help = "Each page that a process keeps was touched for the first time once. The kernel samples these page faults with a copy of the stack; nothing is stopped or injected. Memory that an allocator recycles causes no fault.\n\nNeeds the same user or CAP_PERFMON; for faults in the kernel CAP_PERFMON, or kernel.perf_event_paranoid of at most 1."
)]
pub struct CallersArgs {
    /// The process: its pid, its program's name, or a part of its command line
    #[arg(value_name = "PROCESS")]
    pub process: ProcessArg,
    /// Measure for this long: 1s to 24h (default 30s). Ctrl-C ends early and prints the report
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,
    /// Begin at the outermost functions, and descend to what they called
    #[arg(long)]
    pub callees: bool,
    /// Print all callers of each path, not only the nearest
    #[arg(long)]
    pub whole: bool,
    /// Sum branches with less than this share of the kept memory, in percent
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub least: u8,
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: CallersFormat,
    /// Also write a flame graph of the kept memory to this new file, for a browser
    #[arg(long, value_name = "FILE.svg")]
    pub flamegraph: Option<PathBuf>,
    /// Bytes of the stack to copy with each sample, up to 60k. More for deep stacks
    #[arg(long, value_name = "SIZE", default_value = "16k")]
    pub stack: String,
    #[command(flatten)]
    pub units: UnitsArgs,
    #[command(flatten)]
    pub color: ColorArgs,
    /// Read the settings from FILE. May also stand before the command
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
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

/// Time between two reads of the kernel's buffers, and between two checks which pages are kept.
const POLL: Duration = Duration::from_millis(10);
const CHECK: Duration = Duration::from_secs(1);
/// Time between two objects of `--format ndjson`.
const REPORT: Duration = Duration::from_secs(2);
/// Maximum time to find the names of functions.
const NAMING: Duration = Duration::from_secs(20);

pub(super) fn run(args: &CallersArgs, env: &Env) -> Result<Exit, Failure> {
    let range = Duration::from_secs(1)..=Duration::from_secs(24 * 3600);
    let time = watching_time(args.time.as_deref(), range, Duration::from_secs(30))?;
    let stack = crate::units::parse_size(&args.stack).filter(|size| (1024.0..=f64::from(MAX_STACK)).contains(size));
    let stack =
        stack.ok_or_else(|| crate::cli::UsageError::option("--stack", "expected a size from 1k to 60k".to_owned()))?;
    let paths = PathArgs {
        config: args.config.clone(),
        proc_root: None,
    };
    let settings = settings(&paths, &args.units, env)?;
    let options = sampler_options(&settings.sampler, None);
    let pid = resolve("PROCESS", std::slice::from_ref(&args.process), &options)?[0];
    let proc = Path::new("/proc");
    // The file is created first, so that no measurement is lost to a wrong name.
    let graph = args.flamegraph.as_deref().map(|path| {
        create_recording(path).map_err(|error| format!("{}: {error}", text::safe(path.as_os_str().as_bytes())))
    });
    let graph = graph.transpose()?;
    let mut target = Target::start(proc, pid, stack as u32)?;
    let mut out = io::BufWriter::new(io::stdout());
    let repeated = (args.format == CallersFormat::Ndjson).then_some(&mut out);
    if let Err(error) = watch(&mut target, time, repeated)? {
        return Ok(written(Err(error)));
    }
    target.check();
    let measured = target.measured();
    let report = CallersReport {
        measured: &measured,
        order: if args.callees { Order::Callees } else { Order::Callers },
        least: f64::from(args.least) / 100.0,
        chain: if args.whole { usize::MAX } else { CHAIN },
        style: output_style(settings.ui.units, args.color.no_color, env),
    };
    if let Some(graph) = graph {
        report
            .write_svg(graph)
            .map_err(|error| format!("the flame graph cannot be written: {error}"))?;
    }
    let result = match args.format {
        CallersFormat::Table => report.write_text(&mut out),
        CallersFormat::Json | CallersFormat::Ndjson => report.write_json(&mut out),
        CallersFormat::Folded => report.write_folded(&mut out),
    };
    Ok(written(result.and_then(|()| out.flush())))
}

/// The process under measurement.
struct Target {
    pid: u32,
    dir: PathBuf,
    command: String,
    start: Instant,
    /// Its PSS and swap at the start, and as read last.
    before: Reading<u64>,
    after: Reading<u64>,
    measurement: Measurement,
}

impl Target {
    fn start(proc: &Path, pid: u32, stack: u32) -> Result<Self, String> {
        let dir = proc.join(pid.to_string());
        let command = std::fs::read(dir.join("comm")).unwrap_or_default();
        let before = footprint(&dir);
        let measurement = Measurement::start(proc, pid, stack).map_err(|why| refusal(pid, why))?;
        Ok(Self {
            pid,
            command: String::from_utf8_lossy(command.trim_ascii_end()).into(),
            start: Instant::now(),
            before,
            after: before,
            measurement,
            dir,
        })
    }

    /// Looks up what is kept; returns false once the process has ended.
    fn check(&mut self) -> bool {
        self.measurement.check();
        let after = footprint(&self.dir);
        let is_there = after != Err(Missing::Gone);
        if is_there {
            self.after = after;
        }
        is_there
    }

    /// Returns the result as of the last [`Self::check`].
    fn measured(&mut self) -> Measured {
        let growth = self.before.ok().zip(self.after.ok());
        Measured {
            schema: SCHEMA.to_owned(),
            pid: self.pid,
            command: self.command.clone(),
            time_s: self.start.elapsed().as_secs_f64(),
            growth: growth.map(|(before, after)| after.cast_signed() - before.cast_signed()),
            stacks: self.measurement.stacks(NAMING),
            counts: self.measurement.counts(),
        }
    }
}

fn footprint(dir: &Path) -> Reading<u64> {
    let path = dir.join("smaps_rollup");
    let mut buf = [0; 4096];
    let bytes = files::slurp(path.as_os_str().as_bytes(), &mut buf).map_err(files::reason)?;
    let memory = smaps::rollup(bytes)?;
    Ok(memory.pss + memory.swap_pss.unwrap_or(0))
}

fn refusal(pid: u32, why: Missing) -> String {
    match why {
        Missing::Denied => format!(
            "the page faults of {pid} may not be sampled: that needs the same user, or {}",
            files::advice("CAP_PERFMON")
        ),
        Missing::Gone => format!("no process {pid}"),
        Missing::Unsupported => "this kernel has no events of page faults".to_owned(),
        other => format!("the page faults of {pid} cannot be sampled: {other}"),
    }
}

/// Samples until the time is over, the process has ended, or Ctrl-C. Writes the state so far to `out` from time to time; the
/// inner error is one of writing.
fn watch(target: &mut Target, time: Duration, mut out: Option<&mut impl Write>) -> Result<io::Result<()>, String> {
    on_runtime(async {
        let mut interrupt = signals(SignalKind::interrupt())?;
        let until = target.start + time;
        let mut progress = Progress::new();
        let mut next_check = Instant::now() + CHECK;
        let mut next_report = Instant::now() + REPORT;
        loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => break,
                () = tokio::time::sleep(POLL) => {}
            }
            target.measurement.poll();
            let now = Instant::now();
            if now >= until {
                break;
            }
            if now < next_check {
                continue;
            }
            if !target.check() {
                break;
            }
            // A large program takes long to check: it has at most a twentieth of the time.
            next_check = Instant::now() + CHECK.max(now.elapsed() * 20);
            let left = span(until.saturating_duration_since(now));
            let faults = target.measurement.counts().faults;
            progress.show(|| format!("{}, {left} left; Ctrl-C reports now", counted(faults, "page fault")));
            if let Some(out) = out.as_mut().filter(|_| now >= next_report) {
                let measured = target.measured();
                let line = serde_json::to_vec(&measured).unwrap_or_default();
                if let Err(error) = out
                    .write_all(&line)
                    .and_then(|()| out.write_all(b"\n"))
                    .and_then(|()| out.flush())
                {
                    return Ok(Err(error));
                }
                next_report = Instant::now() + REPORT.max(now.elapsed() * 5);
            }
        }
        Ok::<_, String>(Ok(()))
    })
}
