//! `zmtop leaks`: watches for some time or reads a recording, and reports what leaks.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use clap::Args;
use tokio::signal::unix::SignalKind;

use super::past::{self, Past};
use super::runtime::{Progress, on_runtime, signals};
use super::snapshot::{self, parse_at};
use super::{Failure, complain, load_settings, output_style, parse_filter, print, sampler_options};
use crate::cli::{Exit, MachineArgs, ProcessArg, UsageError, by, set, watching_time};
use crate::columns::{ColumnId, Needs, Row};
use crate::config::{Env, Settings};
use crate::filter::Filter;
use crate::group::{Coverage, GroupBy, GroupKey, GroupNames, RowKey};
use crate::history::dangers::{Danger, Limit};
use crate::history::kills::{Kill, SHOWN};
use crate::history::mappings::{MappingGrowth, MappingTotals, diff};
use crate::history::stalls::Stall;
use crate::history::suspects::{Cause, Suspect, SuspectQuery, ended_sample, stopped, suspects};
use crate::history::victims::KnownVictim;
use crate::history::{History, HistoryConfig};
use crate::model::page_cache::CachedFile;
use crate::model::{Identity, Snapshot};
use crate::output::leaks::LeaksReport;
use crate::query::{Chosen, choose};
use crate::sampler::mappings::merged;
use crate::sampler::page_cache::{self, Named};
use crate::sampler::{self, Options, Scanner};
use crate::source::At;
use crate::trend::{MIN_LEAK_OBSERVED, Verdict};
use crate::units::{counted, span, span_exact};

/// The shortest watching time. Before 2 minutes hardly any growth can be detected.
const SHORTEST: Duration = Duration::from_secs(120);
/// The default watching time. It suffices to detect a leak that is not smaller than the noise.
const DEFAULT: Duration = Duration::from_secs(1200);
/// Interval of checks for suspects whose mappings should be read.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// The longest watching time. For a longer time, record.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The reason why nothing was judged if the words of the filter select no process.
const UNMATCHED: &str = "no process matches the filter";

/// Maximum number of suspects whose mappings are read. Nobody reads a longer report.
const MAX_SUSPECTS: usize = 32;
/// Maximum number of files of a file system in memory that are examined: a fraction of a second.
const MAX_FILES: usize = 20_000;
/// Maximum number of processes per program whose mappings are read.
const MAX_MEMBERS: usize = 32;
/// Pause after a read, as a multiple of its duration. All reads together use at most 2 % of a core.
const REST: u32 = 50;

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_arg("from", |from| from.help("Judge a recording: a file or folder of zmtop record, or a file of ps \
                                            --format ndjson; - is standard input")))]
pub struct LeaksArgs {
    /// Report only rows that match: words, user:NAME, pid:N, footprint>100M, /re/, ! (not), | (or)
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    #[arg(
        long = "for",
        value_name = "TIME",
        conflicts_with = "from",
        help = "Watch for this long: 2m to 24h (default 20m). Growth is reported after 1 to 2 minutes, leaks after 16 \
                at the earliest. The history that the monitor saved is included. If it covers 2 minutes and no time \
                is given, the report is immediate. With --prove: 1s to 24h (default 1m). Ctrl-C stops early and \
                prints the report"
    )]
    pub time: Option<String>,
    /// Show the memory that a process (pid or name) does not touch while watched. Leaked memory is never touched.
    /// Clears the referenced bits of its pages, waits, and reads them
    #[arg(long, value_name = "PROCESS",
        conflicts_with_all = ["filter", "interval", "by", "all", "check", "from", "cgroup"])]
    pub prove: Option<ProcessArg>,
    /// Sampling interval, in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME", conflicts_with = "from")]
    pub interval: Option<String>,
    /// Report groups by command, user, unit, container, pod, cgroup or family instead
    #[arg(long, value_name = "WHAT", value_parser = by)]
    pub by: Option<GroupBy>,
    /// Report all rows with enough data, not only growing ones
    #[arg(long)]
    pub all: bool,
    /// Exit with code 1 if anything leaks, and with 5 if it is too early to know
    #[arg(long)]
    pub check: bool,
    /// Report at most N rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    #[command(flatten)]
    pub machine: MachineArgs,
}

impl LeaksArgs {
    /// Applies the options to the settings. The filter comes only from the command line, never from the monitor's
    /// settings.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        set(settings, "FILTER", "ui.filter", Some(&self.filter.join(" ")))?;
        set(settings, "--interval", "sampler.interval", self.interval.as_deref())?;
        self.machine.units.apply(settings)
    }
}

struct Plan {
    settings: Settings,
    filter: Filter,
    time: Duration,
    at: Option<At>,
    query: SuspectQuery,
}

struct Observed {
    snapshot: Arc<Snapshot>,
    history: History,
    /// Time from the first snapshot, of a past that was continued too, to the last.
    watched: Duration,
    /// The age of the history that the monitor saved, if the verdicts are from it.
    past_age: Option<Duration>,
    /// The reason why no leak can be reported.
    unjudged: Option<String>,
    /// Reads the mappings of suspects. `None` for a recording.
    mappings: Option<GrownMappings>,
}

pub(super) fn run(args: &LeaksArgs, env: &Env) -> Result<Exit, Failure> {
    let plan = plan(args, env)?;
    let mut observed = match &args.machine.source.from {
        Some(path) => replay(path, &plan)?,
        None => match look(args, &plan, env)? {
            Some(observed) => observed,
            None => watch(args, &plan, plan.past(args, env))?,
        },
    };
    observed.history.judge_all();
    let mappings = observed.mappings.take();
    let mut found = suspects(&observed.history, &observed.snapshot, plan.query);
    retain_passing(&mut found, &observed, &plan.filter);
    let leaks_of = |found: &[Suspect]| found.iter().filter(|suspect| is_leak(suspect)).count() as u64;
    let mut leaks = leaks_of(&found) > 0;
    if args.by.is_some() && !leaks {
        // The sum of a group may hide that one of its processes leaks.
        let query = SuspectQuery { by: None, ..plan.query };
        let mut processes = suspects(&observed.history, &observed.snapshot, query);
        retain_passing(&mut processes, &observed, &plan.filter);
        let count = leaks_of(&processes);
        if count > 0 {
            leaks = true;
            complain(&format!(
                "no group leaks as a whole, but there is {} without --by",
                counted(count, "leak")
            ));
        }
    }
    let mut stopped = stopped(&observed.history, &observed.snapshot, args.by, &found);
    retain_passing(&mut stopped, &observed, &plan.filter);
    let matched = (!plan.filter.is_empty()).then(|| matched(&observed.snapshot, &plan.filter));
    let is_unmatched = matched == Some(0) && found.is_empty() && stopped.is_empty();
    if is_unmatched && observed.unjudged.as_deref() != Some(UNMATCHED) {
        if !args.check {
            complain(UNMATCHED);
        }
        observed.unjudged = Some(UNMATCHED.to_owned());
    }
    let concerns = Concerns::new(&observed, &plan.filter);
    let dangers: Vec<Danger> = concerns.dangers().cloned().collect();
    let stalls: Vec<Stall> = concerns.stalls().cloned().collect();
    let kills = concerns.kills();
    let all = found.len();
    found.truncate(args.top.map_or(usize::MAX, |n| n as usize));
    let grown = mappings.map_or_else(HashMap::new, |mappings| {
        mappings.finish(&found, &observed.history, &observed.snapshot)
    });
    let machine = &args.machine;
    // A recording has no files to look at, and another proc tree describes the files of another machine.
    let is_live = machine.source.from.is_none() && machine.paths.proc_root.is_none();
    let is_read = |suspect: &&Suspect| is_live && suspect.ended.is_none();
    let options = sampler_options(&plan.settings.sampler, None);
    let files = found.iter().filter(is_read);
    let files = files.filter_map(|suspect| Some((suspect.key.clone(), largest_file(&options, suspect)?)));
    let files = files.collect();
    let report = LeaksReport {
        snapshot: &observed.snapshot,
        history: &observed.history,
        watched: observed.watched,
        past_age: observed.past_age,
        by: args.by,
        matched,
        suspects: &found,
        stopped: &stopped,
        dangers: &dangers,
        stalls: &stalls,
        kills,
        grown: &grown,
        files: &files,
        more: all - found.len(),
        shortfall: *observed.history.shortfall(),
        style: output_style(plan.settings.ui.units, args.machine.color.no_color, env),
    };
    Ok(match print(&report, args.machine.format) {
        Exit::Done if args.check && leaks => Exit::Found,
        Exit::Done if args.check => match observed.unjudged {
            Some(why) => {
                complain(&format!("not yet judged: {why}"));
                Exit::Unjudged
            }
            None => Exit::Done,
        },
        other => {
            // With the kept history, it was said before.
            if let Some(why) = observed
                .unjudged
                .filter(|_| observed.past_age.is_none() && !is_unmatched)
            {
                complain(&format!("not yet judged: {why}"));
            }
            other
        }
    })
}

fn plan(args: &LeaksArgs, env: &Env) -> Result<Plan, UsageError> {
    let mut settings = load_settings(args.machine.paths.config.as_deref(), env)?;
    args.apply(&mut settings)?;
    let filter = parse_filter(&settings)?;
    for column in filter.columns() {
        past::refuse_of_monitor("FILTER", ColumnId(column))?;
    }
    let time = watching_time("--for", args.time.as_deref(), SHORTEST..=LONGEST, DEFAULT)?;
    Ok(Plan {
        settings,
        filter,
        time,
        at: parse_at(args.machine.source.at.as_deref())?,
        query: SuspectQuery {
            least: if args.all { Verdict::Shrinking } else { Verdict::Warming },
            by: args.by,
        },
    })
}

impl Plan {
    /// Reads the history that the monitor saved; `None` if it does not cover the watched processes.
    fn past(&self, args: &LeaksArgs, env: &Env) -> Option<Past> {
        let is_machine = args.machine.scope.cgroup.is_none() && args.machine.paths.proc_root.is_none();
        let past = Past::read(env).ok().filter(|_| is_machine)?;
        // Words choose other processes to sum.
        Some(if self.filter.uses_text() {
            past.without_groups()
        } else {
            past
        })
    }

    fn new_history(&self, own_pid: Option<u32>) -> History {
        let config = self.settings.history_config(self.settings.ui.delta);
        History::with_config(HistoryConfig { own_pid, ..config })
    }

    fn push(&self, history: &mut History, snapshot: &Snapshot) {
        history.push_chosen(snapshot, |sample| choose(&self.filter, sample, snapshot));
    }
}

/// Returns true if no leak can be reported after this time. The last snapshot is at most one interval older than the end.
fn is_short(watched: Duration, interval: Duration) -> bool {
    watched + interval.max(Duration::from_secs(5)) < MIN_LEAK_OBSERVED
}

/// Returns why no leak can be reported after this time; `None` if it is long enough.
fn too_short(watched: Duration, interval: Duration) -> Option<String> {
    let least = span_exact(MIN_LEAK_OBSERVED);
    is_short(watched, interval).then(|| {
        format!(
            "a leak is reported only after {least} of history, and {} are known; watch with --for {least} or longer, or let the \
             monitor run: its history is included",
            span(watched)
        )
    })
}

/// Returns the time that a history covers, together with the past that it continues.
fn covered(history: &History, now: Duration) -> Duration {
    history
        .known_since()
        .map_or(Duration::ZERO, |since| now.saturating_sub(since))
}

/// Returns the line that announces how long it will watch. `past` describes the past that it continues, or has the reason
/// why it continues none; `known` is the time that the past covers.
pub fn opening(past: Option<Result<String, String>>, known: Duration, time: Duration) -> String {
    let watching = format!("watching for {}; Ctrl-C reports", span_exact(time));
    match past {
        None => format!("no history is kept for this: {watching}"),
        Some(Err(why)) => format!("{why}; {watching}"),
        Some(Ok(past)) if is_short(known, Duration::ZERO) => {
            format!("{past}, is too short to judge: {} are known; {watching}", span(known))
        }
        Some(Ok(past)) => format!("continues {past}; {watching}"),
    }
}

/// Takes only one snapshot if no watching time was requested, and the history that the monitor saved is long enough to show
/// growth or no process matches.
fn look(args: &LeaksArgs, plan: &Plan, env: &Env) -> Result<Option<Observed>, Failure> {
    let past = plan.past(args, env);
    if args.time.is_some() || past.is_none() && !plan.filter.uses_text() {
        return Ok(None);
    }
    let mut options = snapshot::scan_options(&plan.settings.sampler, args.machine.paths.proc_root.as_deref());
    args.machine.scope.apply(&mut options)?;
    let own_pid = options.roots().is_own().then(std::process::id);
    let mut scanner = Scanner::new(&options);
    // The account has the file systems in memory. A single snapshot asks for page tables before it is known whether they grow.
    scanner.set_needs(
        Needs::HELD
            .and(Needs::CGROUP_FIGURES)
            .and(Needs::ACCOUNT)
            .and(Needs::PAGE_TABLES),
    );
    let snapshot = snapshot::scan(scanner)?;
    let mut rows = snapshot.rows().iter();
    let has_match = !plan.filter.uses_text() || rows.any(|row| choose(&plan.filter, row, &snapshot) != Some(false));
    let mut history = plan.new_history(own_pid);
    let gap = past.as_ref().map_or(Duration::ZERO, |past| past.gap(&snapshot));
    let past = past.map(|past| past.resume(&mut history, &snapshot));
    plan.push(&mut history, &snapshot);
    let watched = covered(&history, snapshot.monotonic);
    let unjudged = match past {
        _ if !has_match => {
            complain(&format!("{UNMATCHED}; --for TIME waits for one"));
            Some(UNMATCHED.to_owned())
        }
        Some(Ok(past)) if watched >= SHORTEST => {
            // Nothing is known of the gap, so that it proves no absence of a leak.
            let known = history.observed();
            let why = too_short(known, Duration::ZERO);
            let known = why.as_ref().map_or_else(String::new, |_| {
                let least = span_exact(MIN_LEAK_OBSERVED);
                format!(": {} are known, and a leak is reported only after {least}", span(known))
            });
            complain(&format!("judged with {past}{known}; --for TIME watches longer"));
            why
        }
        _ => return Ok(None),
    };
    Ok(Some(Observed {
        snapshot,
        history,
        watched,
        past_age: Some(gap).filter(|_| has_match),
        unjudged,
        mappings: None,
    }))
}

fn replay(path: &Path, plan: &Plan) -> Result<Observed, Failure> {
    let config = plan.settings.history_config(plan.settings.ui.delta);
    let (snapshot, history) = snapshot::read(path, plan.at.as_ref(), Duration::MAX, &config, &plan.filter)?;
    let watched = history
        .since()
        .map_or(Duration::ZERO, |since| snapshot.monotonic.saturating_sub(since));
    Ok(Observed {
        watched,
        past_age: None,
        unjudged: too_short(history.observed(), snapshot.interval),
        snapshot,
        history,
        mappings: None,
    })
}

fn watch(args: &LeaksArgs, plan: &Plan, past: Option<Past>) -> Result<Observed, Failure> {
    if args.check && past.is_none() && plan.time < MIN_LEAK_OBSERVED {
        let (time, least) = (span_exact(plan.time), span_exact(MIN_LEAK_OBSERVED));
        complain(&format!(
            "--check answers after {least} at the earliest: within {time}, no leak is reported"
        ));
    }
    sampler::make_room();
    let mut options = sampler_options(&plan.settings.sampler, args.machine.paths.proc_root.as_deref());
    args.machine.scope.apply(&mut options)?;
    on_runtime(async {
        let mut interrupt = signals(SignalKind::interrupt())?;
        let own_pid = options.roots().is_own().then(std::process::id);
        let mappings = GrownMappings::new(options.clone());
        let mut handle = sampler::spawn(options, &tokio::runtime::Handle::current());
        let mut watch = Watch::new(plan, own_pid, mappings, past);
        handle.wanted.send_modify(|wanted| wanted.needs = Needs::HELD);
        let until = tokio::time::Instant::now() + plan.time;
        let ended = loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => break Ok(()),
                () = tokio::time::sleep_until(until) => break Ok(()),
                changed = handle.snapshots.changed() => {
                    let snapshot = handle.snapshots.borrow_and_update().clone();
                    match changed.ok().and(snapshot) {
                        Some(snapshot) => if let ControlFlow::Break(why) = watch.push(snapshot) { break Err(why) },
                        None => break Err("sampling ended".to_owned()),
                    }
                    if watch.needs_cgroups() {
                        handle.wanted.send_modify(|wanted| wanted.needs = wanted.needs.and(Needs::CGROUP_FIGURES));
                    }
                    if watch.history.page_tables().is_suspected() {
                        handle.wanted.send_if_modified(|wanted| {
                            let before = wanted.needs;
                            wanted.needs = before.and(Needs::MANY_PAGE_TABLES);
                            wanted.needs != before
                        });
                    }
                }
            }
        };
        ended?;
        Ok(watch.finish()?)
    })
}

struct Watch<'a> {
    plan: &'a Plan,
    /// The past that is continued with the first snapshot.
    past: Option<Past>,
    history: History,
    last: Option<Arc<Snapshot>>,
    mappings: GrownMappings,
    /// The time at which suspects were last checked, on the monotonic clock.
    looked: Duration,
    /// True once the limits of cgroups have been requested.
    cgroups: bool,
    progress: Progress,
    /// The time at which progress was last shown, since the start.
    shown: Option<Duration>,
}

impl<'a> Watch<'a> {
    fn new(plan: &'a Plan, own_pid: Option<u32>, mappings: GrownMappings, past: Option<Past>) -> Self {
        Self {
            plan,
            past,
            history: plan.new_history(own_pid),
            last: None,
            mappings,
            looked: Duration::ZERO,
            cgroups: false,
            progress: Progress::new(),
            shown: None,
        }
    }

    fn push(&mut self, snapshot: Arc<Snapshot>) -> ControlFlow<String> {
        if let Err(why) = &snapshot.processes {
            return ControlFlow::Break(format!("the processes cannot be listed: {why}"));
        }
        let past = self.past.take();
        let past = past.map(|past| past.resume(&mut self.history, &snapshot));
        self.plan.push(&mut self.history, &snapshot);
        if self.last.is_none() {
            complain(&opening(past, self.history.observed(), self.plan.time));
        }
        if snapshot.monotonic.saturating_sub(self.looked) >= LOOK_INTERVAL {
            self.looked = snapshot.monotonic;
            let found = suspects(&self.history, &snapshot, self.query());
            self.mappings.follow(&found, &self.history, &snapshot);
        }
        self.last = Some(snapshot);
        self.show_progress();
        ControlFlow::Continue(())
    }

    /// Returns the query for everything that grows or leaks.
    const fn query(&self) -> SuspectQuery {
        SuspectQuery {
            least: Verdict::Warming,
            ..self.plan.query
        }
    }

    fn watched(&self) -> Duration {
        let now = self.last.as_ref().map_or(Duration::ZERO, |last| last.monotonic);
        self.history
            .since()
            .map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// Returns true once something grows. The limits of cgroups are then needed to estimate when one is reached.
    fn needs_cgroups(&mut self) -> bool {
        let grows = !self.cgroups && self.history.processes().any(|(_, s)| s.trend().verdict.is_growth());
        self.cgroups |= grows;
        grows
    }

    fn show_progress(&mut self) {
        let watched = self.watched();
        let is_late = |at| watched.saturating_sub(at) >= Duration::from_secs(1);
        let Some(last) = self.last.as_ref().filter(|_| self.shown.is_none_or(is_late)) else {
            return;
        };
        self.shown = Some(watched);
        let query = self.query();
        self.progress.show(|| {
            let found = suspects(&self.history, last, query);
            let leaks = found.iter().filter(|s| s.judgement.verdict == Verdict::Leaking).count();
            format!(
                "watched {} of {}, {} processes, {} growing, {}; Ctrl-C reports now",
                span(watched),
                span_exact(self.plan.time),
                Coverage::of(last).readable,
                found.len() - leaks,
                match leaks {
                    0 if self.history.observed() < MIN_LEAK_OBSERVED => "too early for leaks".into(),
                    0 => "no leak".into(),
                    1 => "1 leak".into(),
                    n => format!("{n} leaks"),
                },
            )
        });
    }

    fn finish(self) -> Result<Observed, String> {
        drop(self.progress);
        let snapshot = self.last.ok_or_else(|| "nothing was seen yet".to_owned())?;
        let watched = covered(&self.history, snapshot.monotonic);
        if Coverage::of(&snapshot).readable == 0 {
            return Err("no process's memory can be read".into());
        }
        let interval = self.plan.settings.sampler.interval;
        let known = self.history.observed();
        let unjudged = too_short(known, interval);
        if unjudged.is_some() {
            let growth = if known + interval.max(Duration::from_secs(5)) < SHORTEST {
                "hardly any growth is detected, and "
            } else {
                ""
            };
            complain(&format!(
                "watched for only {}: so early, {growth}no leak is reported; that takes at least {}",
                span(known),
                span_exact(MIN_LEAK_OBSERVED)
            ));
        }
        Ok(Observed {
            snapshot,
            history: self.history,
            watched,
            past_age: None,
            unjudged,
            mappings: Some(self.mappings),
        })
    }
}

/// Returns true for a leak, except of a history of zmtop.
fn is_leak(suspect: &Suspect) -> bool {
    let is_history = matches!(suspect.cause, Some(Cause::Own { .. } | Cause::OtherMonitor));
    suspect.judgement.verdict == Verdict::Leaking && !is_history
}

/// Returns the number of processes that the filter selects by their words. Its figures exclude none.
fn matched(snapshot: &Snapshot, filter: &Filter) -> u64 {
    let rows = snapshot.rows().iter();
    let selected = rows.filter(|sample| filter.matches_but_for_figures(&Row::of_process(sample, None, snapshot)));
    selected.count() as u64
}

/// Keeps the suspects that pass the filter. Its words already selected the processes in the history, so they are
/// checked again only for ended processes. Its figures are compared with single processes, and with the sums of groups.
fn retain_passing(found: &mut Vec<Suspect>, observed: &Observed, filter: &Filter) {
    if filter.is_empty() {
        return;
    }
    let snapshot = &observed.snapshot;
    let chosen = Chosen::new(filter, &observed.history, snapshot);
    // All groups among the suspects are of the same kind.
    let groups = OnceCell::new();
    found.retain(|suspect| match &suspect.key {
        // A filter selects processes, not parts.
        RowKey::Part(_) => false,
        RowKey::Process(id) => match snapshot.row(*id) {
            Some(sample) => chosen.passes(sample),
            None => suspect.facts.as_ref().is_some_and(|facts| {
                let ended = ended_sample(*id, facts);
                filter.matches(&Row::of_process(&ended, None, snapshot))
            }),
        },
        RowKey::Group(key) => groups.get_or_init(|| chosen.passing_groups(key.by)).contains(key),
    });
}

/// The events that concern the filter: of the machine as a whole, and of processes and programs that pass.
struct Concerns<'a> {
    observed: &'a Observed,
    filter: &'a Filter,
}

impl<'a> Concerns<'a> {
    const fn new(observed: &'a Observed, filter: &'a Filter) -> Self {
        Self { observed, filter }
    }

    fn is_process_chosen(&self, id: Identity) -> bool {
        let Observed { history, snapshot, .. } = self.observed;
        let chosen = Chosen::new(self.filter, history, snapshot);
        self.filter.is_empty() || snapshot.row(id).is_some_and(|sample| chosen.passes(sample))
    }

    fn is_chosen(&self, key: &RowKey) -> bool {
        let Observed { history, snapshot, .. } = self.observed;
        match key {
            RowKey::Process(id) => self.is_process_chosen(*id),
            RowKey::Group(key) => Chosen::new(self.filter, history, snapshot)
                .passing_groups(key.by)
                .contains(key),
            RowKey::Part(_) => self.filter.is_empty(),
        }
    }

    fn dangers(&self) -> impl Iterator<Item = &'a Danger> {
        let dangers = self.observed.history.dangers().iter();
        dangers.filter(|danger| {
            let taker = danger.taker.as_ref();
            match &danger.limit {
                Limit::AddressSpace(id) => self.is_process_chosen(*id),
                Limit::Machine => true,
                Limit::Cgroup(_) | Limit::CgroupHigh(_) => {
                    self.filter.is_empty() || taker.is_some_and(|(key, _)| self.is_chosen(key))
                }
            }
        })
    }

    fn stalls(&self) -> impl Iterator<Item = &'a Stall> {
        let stalls = self.observed.history.stalls().iter();
        stalls.filter(|stall| {
            let mut processes = [stall.waiter, stall.taker].into_iter().flatten();
            stall.cgroup.is_none() || self.filter.is_empty() || processes.any(|(id, _)| self.is_process_chosen(id))
        })
    }

    /// Returns the kills of the last ten minutes, the newest first. The filter is applied to the names of the victims.
    fn kills(&self) -> Vec<&'a Kill> {
        let is_chosen = |kill: &&Kill| {
            let passes = |known: &KnownVictim| {
                let victim = ended_sample(known.id, &known.facts);
                self.filter
                    .matches(&Row::of_process(&victim, None, &self.observed.snapshot))
            };
            self.filter.is_empty() || kill.known.as_ref().is_some_and(passes)
        };
        self.observed.history.kills_within(SHOWN).filter(is_chosen).collect()
    }
}

type Reading = (RowKey, MappingTotals, Duration);

/// The mappings of suspects: as of when their growth was first seen, and at the end. For a program, they are the sum over
/// its current processes.
struct GrownMappings {
    options: Options,
    /// The first readings and their times. `None` while being read.
    first: HashMap<RowKey, Option<(MappingTotals, Instant)>>,
    readings: (Sender<Reading>, Receiver<Reading>),
    is_reading: bool,
    next: Instant,
}

impl GrownMappings {
    fn new(options: Options) -> Self {
        Self {
            options,
            first: HashMap::new(),
            readings: channel(),
            is_reading: false,
            next: Instant::now(),
        }
    }

    /// Reads the mappings of the next of these suspects that has no reading yet, on a separate thread.
    fn follow(&mut self, suspects: &[Suspect], history: &History, snapshot: &Snapshot) {
        while let Ok((key, totals, took)) = self.readings.1.try_recv() {
            self.first.insert(key, Some((totals, Instant::now())));
            self.is_reading = false;
            self.next = Instant::now() + took * REST;
        }
        let is_new = |s: &&Suspect| s.ended.is_none() && s.is_mapped() && !self.first.contains_key(&s.key);
        let may_read = !self.is_reading && self.first.len() < MAX_SUSPECTS && Instant::now() >= self.next;
        let Some(suspect) = suspects.iter().find(is_new).filter(|_| may_read) else {
            return;
        };
        let (key, pids) = (suspect.key.clone(), members(suspect, history, snapshot));
        let (options, send) = (self.options.clone(), self.readings.0.clone());
        let read = move || {
            let began = Instant::now();
            let totals = totals(&options, &pids);
            let _ = send.send((key, totals, began.elapsed()));
        };
        if std::thread::Builder::new()
            .name("zmtop-maps".into())
            .spawn(read)
            .is_ok()
        {
            self.is_reading = true;
            self.first.insert(suspect.key.clone(), None);
        }
    }

    /// Reads the mappings of these suspects again. Returns for each the mapping that grew most since the first reading, if
    /// that explains its growth.
    fn finish(
        mut self,
        suspects: &[Suspect],
        history: &History,
        snapshot: &Snapshot,
    ) -> HashMap<RowKey, MappingGrowth> {
        let mut grown = HashMap::new();
        for suspect in suspects.iter().filter(|s| s.ended.is_none() && s.is_mapped()) {
            let Some(Some((first, at))) = self.first.remove(&suspect.key) else {
                continue;
            };
            let now = totals(&self.options, &members(suspect, history, snapshot));
            let fastest = diff(&first, &now).into_iter().next();
            if let Some(fastest) = fastest.filter(|row| row.explains(suspect.judgement.slope, at.elapsed())) {
                grown.insert(suspect.key.clone(), fastest);
            }
        }
        grown
    }
}

/// Returns the largest file of a suspect that is a file system in memory.
fn largest_file(options: &Options, suspect: &Suspect) -> Option<CachedFile> {
    let mount = suspect.key.part()?.mount.as_deref()?;
    let named = [Named::Path(OsStr::from_bytes(mount).into())];
    let found = page_cache::read(options, &named, MAX_FILES, |_| ControlFlow::Continue(())).ok()?;
    let cached = |file: &CachedFile| file.figures.map_or(0, |figures| figures.cached);
    found
        .files
        .into_iter()
        .max_by_key(cached)
        .filter(|file| cached(file) > 0)
}

/// Returns the processes of a suspect that are in the history.
fn members(suspect: &Suspect, history: &History, snapshot: &Snapshot) -> Vec<u32> {
    match &suspect.key {
        RowKey::Part(_) => Vec::new(),
        RowKey::Process(id) => vec![id.pid],
        RowKey::Group(GroupKey { by, name }) => {
            let names = GroupNames::new(snapshot.rows());
            let rows = snapshot.rows().iter().filter(|row| history.get(row.id).is_some());
            let uid = suspect.users.uid;
            let rows = rows.filter(|row| uid.is_none() || row.facts.uid.ok() == uid);
            let own = rows.filter(|row| names.name_of(row, *by).as_deref() == name.as_deref());
            own.map(|row| row.id.pid).take(MAX_MEMBERS).collect()
        }
    }
}

/// Reads the mappings of processes and sums them by name. Skips processes that cannot be read.
fn totals(options: &Options, pids: &[u32]) -> MappingTotals {
    let found = merged(options, pids).into_iter().flatten();
    let all: Vec<_> = found.flat_map(|found| found.what).collect();
    MappingTotals::of(&all)
}
