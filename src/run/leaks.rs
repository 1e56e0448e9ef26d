//! `zmtop leaks`: watches for a while, or reads a recording, and reports what leaks.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use super::grown::GrownMappings;
use super::snapshot::{self, parse_at};
use super::{Failure, complain, output_style, parse_filter, print, prove, sampler_options};
use crate::cli::leaks::LeaksArgs;
use crate::cli::{Exit, UsageError};
use crate::columns::{Needs, Row};
use crate::config::{Config, Env, Settings};
use crate::filter::Filter;
use crate::group::{Coverage, RowKey};
use crate::history::suspects::{Suspect, SuspectQuery, ended_sample, suspects};
use crate::history::{History, HistoryConfig};
use crate::model::Snapshot;
use crate::output::leaks::LeaksReport;
use crate::query::{Chosen, choose};
use crate::sampler;
use crate::source::At;
use crate::trend::{MIN_LEAK_OBSERVED, Verdict};
use crate::units::{span, span_exact};

/// The shortest watch: before two minutes hardly any growth can be told.
const SHORTEST: Duration = Duration::from_secs(120);
/// The watch that is not asked for otherwise: a leak that is no smaller than the noise is called within it.
const DEFAULT: Duration = Duration::from_secs(1200);
/// Time between two looks for suspects whose mappings are to be read.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// The longest watch: who wants to see more records it.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The options, understood.
struct Plan {
    settings: Settings,
    filter: Filter,
    time: Duration,
    at: Option<At>,
    query: SuspectQuery,
}

/// The last snapshot and what was seen until then.
struct Observed {
    snapshot: Arc<Snapshot>,
    history: History,
    watched: Duration,
    /// Reads the mappings of what grows; none of a recording.
    mappings: Option<GrownMappings>,
}

/// Watches, or reads a recording, and reports what grows.
pub(super) fn run(args: &LeaksArgs, env: &Env) -> Result<Exit, Failure> {
    if let Some(process) = &args.prove {
        return prove::run(process, args, env);
    }
    let plan = plan(args, env)?;
    let mut observed = match &args.source.from {
        Some(path) => replay(path, &plan)?,
        None => watch(args, &plan)?,
    };
    observed.history.judge_all();
    let mut found = suspects(&observed.history, &observed.snapshot, plan.query);
    retain_passing(&mut found, &observed, &plan.filter);
    let leaks = found
        .iter()
        .any(|suspect| suspect.judgement.verdict == Verdict::Leaking);
    let all = found.len();
    found.truncate(args.top.map_or(usize::MAX, |n| n as usize));
    let mappings = observed.mappings.take();
    let grown = mappings.map_or_else(HashMap::new, |mappings| {
        mappings.finish(&found, &observed.history, &observed.snapshot)
    });
    let report = LeaksReport {
        snapshot: &observed.snapshot,
        watched: observed.watched,
        by: args.by,
        suspects: &found,
        dangers: observed.history.dangers(),
        grown: &grown,
        more: all - found.len(),
        shortfall: *observed.history.shortfall(),
        style: output_style(plan.settings.ui.units, args.color.no_color, env),
    };
    Ok(match print(&report, args.format) {
        Exit::Done if args.check && leaks => Exit::Found,
        other => other,
    })
}

fn plan(args: &LeaksArgs, env: &Env) -> Result<Plan, UsageError> {
    let mut settings = Config::load(args.paths.config.as_deref(), env)?.settings;
    args.apply(&mut settings)?;
    let filter = parse_filter(&settings)?;
    let time = args.watching_time(SHORTEST..=LONGEST, DEFAULT)?;
    Ok(Plan {
        settings,
        filter,
        time,
        at: parse_at(args.source.at.as_deref())?,
        query: SuspectQuery {
            least: if args.all { Verdict::Shrinking } else { Verdict::Warming },
            by: args.by,
        },
    })
}

fn replay(path: &Path, plan: &Plan) -> Result<Observed, Failure> {
    let config = plan.settings.history_config(plan.settings.ui.delta);
    let (snapshot, history) = snapshot::read(path, plan.at.as_ref(), &config, &plan.filter)?;
    let since = history.since();
    Ok(Observed {
        watched: since.map_or(Duration::ZERO, |since| snapshot.monotonic.saturating_sub(since)),
        snapshot,
        history,
        mappings: None,
    })
}

/// Watches this machine, by the budget of the monitor.
fn watch(args: &LeaksArgs, plan: &Plan) -> Result<Observed, Failure> {
    sampler::make_room();
    let failed = |error: io::Error| format!("cannot start the runtime: {error}");
    let runtime = super::runtime().build().map_err(failed)?;
    let options = sampler_options(&plan.settings.sampler, args.paths.proc_root.as_deref());
    let observed = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let own_pid = options.roots().is_own().then(std::process::id);
        let mappings = GrownMappings::new(options.clone());
        let mut handle = sampler::spawn(options, runtime.handle());
        let mut watch = Watch::new(plan, own_pid, mappings);
        handle.wanted.send_modify(|wanted| wanted.needs = Needs::HELD);
        let until = Instant::now() + plan.time;
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
                }
            }
        };
        watch.clear_progress();
        ended.and_then(|()| watch.finish())
    });
    runtime.shutdown_background();
    Ok(observed?)
}

/// A watch that goes on.
struct Watch<'a> {
    plan: &'a Plan,
    history: History,
    last: Option<Arc<Snapshot>>,
    mappings: GrownMappings,
    /// When suspects were looked for last, on the monotonic clock.
    looked: Duration,
    /// The limits of cgroups were asked for.
    cgroups: bool,
    /// Progress is shown: stderr is a terminal.
    interactive: bool,
    /// When progress was shown last, as a time since the start.
    shown: Option<Duration>,
}

impl<'a> Watch<'a> {
    fn new(plan: &'a Plan, own_pid: Option<u32>, mappings: GrownMappings) -> Self {
        let config = plan.settings.history_config(plan.settings.ui.delta);
        Self {
            plan,
            history: History::with_config(HistoryConfig { own_pid, ..config }),
            last: None,
            mappings,
            looked: Duration::ZERO,
            cgroups: false,
            interactive: io::stderr().is_terminal(),
            shown: None,
        }
    }

    fn push(&mut self, snapshot: Arc<Snapshot>) -> ControlFlow<String> {
        if let Err(why) = &snapshot.processes {
            return ControlFlow::Break(format!("the processes cannot be listed: {why}"));
        }
        let filter = &self.plan.filter;
        self.history
            .push_chosen(&snapshot, |sample| choose(filter, sample, &snapshot));
        if snapshot.monotonic.saturating_sub(self.looked) >= LOOK_INTERVAL {
            self.looked = snapshot.monotonic;
            let found = suspects(&self.history, &snapshot, self.query());
            self.mappings.follow(&found, &self.history, &snapshot);
        }
        self.last = Some(snapshot);
        self.show_progress();
        ControlFlow::Continue(())
    }

    /// Asks for what grows or leaks.
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

    /// Returns true once something grows: then the limits of cgroups say how long until one is reached.
    fn needs_cgroups(&mut self) -> bool {
        let grows = !self.cgroups && self.history.processes().any(|(_, s)| s.trend().verdict.is_growth());
        self.cgroups |= grows;
        grows
    }

    /// Writes a line on stderr that says how far the watch is.
    fn show_progress(&mut self) {
        let watched = self.watched();
        let late = self
            .shown
            .is_none_or(|at| watched.saturating_sub(at) >= Duration::from_secs(1));
        let Some(last) = self.last.as_ref().filter(|_| self.interactive && late) else {
            return;
        };
        self.shown = Some(watched);
        let found = suspects(&self.history, last, self.query());
        let leaks = found.iter().filter(|s| s.judgement.verdict == Verdict::Leaking).count();
        let _ = write!(
            io::stderr(),
            "\r\x1b[Kwatched {} of {}, {} processes, {} growing, {}; Ctrl-C tells now",
            span(watched),
            span_exact(self.plan.time),
            Coverage::of(last).readable,
            found.len() - leaks,
            match leaks {
                0 if watched < MIN_LEAK_OBSERVED => "too early for leaks".into(),
                0 => "no leak".into(),
                1 => "1 leak".into(),
                n => format!("{n} leaks"),
            },
        );
    }

    fn clear_progress(&self) {
        if self.interactive {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn finish(self) -> Result<Observed, String> {
        let watched = self.watched();
        let snapshot = self.last.ok_or_else(|| "nothing was seen yet".to_owned())?;
        if Coverage::of(&snapshot).readable == 0 {
            return Err("no process's memory can be read".into());
        }
        // The last snapshot is up to an interval before the end.
        let about = watched + self.plan.settings.sampler.interval.max(Duration::from_secs(5));
        if about < MIN_LEAK_OBSERVED {
            let growth = if about < SHORTEST {
                "hardly any growth is told, and "
            } else {
                ""
            };
            complain(&format!(
                "watched for {} only: so early {growth}nothing is called a leak, which takes {} at the least",
                span(watched),
                span_exact(MIN_LEAK_OBSERVED)
            ));
        }
        Ok(Observed {
            snapshot,
            history: self.history,
            watched,
            mappings: Some(self.mappings),
        })
    }
}

/// Keeps the suspects that pass the filter. Its words chose the processes that the history is of, so ended ones are asked
/// for them alone; its figures judge processes by themselves, and groups by their sums.
fn retain_passing(found: &mut Vec<Suspect>, observed: &Observed, filter: &Filter) {
    if filter.is_empty() {
        return;
    }
    let snapshot = &observed.snapshot;
    let chosen = Chosen::new(filter, &observed.history, snapshot);
    // All groups among the suspects are of one kind.
    let groups = OnceCell::new();
    found.retain(|suspect| match &suspect.key {
        // A filter chooses processes.
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
