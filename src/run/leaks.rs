//! `zmtop leaks`: watches for a while, or goes through a recording, and tells who leaks.

use std::cell::OnceCell;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use super::mem::paper;
use super::{complain, from, usage, written};
use crate::cli::leaks::LeaksArgs;
use crate::cli::{self, Exit, Format, UsageError};
use crate::columns::{Catalogue, Needs, Row, RowSubject};
use crate::config::{Config, Env, Settings};
use crate::filter::Filter;
use crate::group::{Coverage, RowKey};
use crate::history::History;
use crate::history::suspects::{Suspect, SuspectQuery, ended_sample, suspects};
use crate::model::{ProcessSample, Snapshot};
use crate::output::leaks::{Leaks, LeaksOptions};
use crate::source::At;
use crate::trend::Verdict;
use crate::units::{parse_span, span, span_exact};
use crate::{group, sampler};

/// The shortest watch: before two minutes hardly anything can be said.
const SHORTEST: Duration = Duration::from_secs(120);
/// The longest.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What was asked for.
struct Plan {
    settings: Settings,
    filter: Filter,
    time: Duration,
    at: Option<At>,
    ask: SuspectQuery,
}

/// What was seen.
struct Seen {
    snapshot: Arc<Snapshot>,
    history: History,
    watched: Duration,
}

/// Watches, and tells.
pub fn run(args: &LeaksArgs, env: &Env) -> Exit {
    let plan = match plan(args, env) {
        Ok(plan) => plan,
        Err(error) => return usage(&error),
    };
    let seen = match &args.from {
        Some(path) => recorded(path, &plan),
        None => watched(args, &plan),
    };
    let mut seen = match seen {
        Ok(seen) => seen,
        Err(why) => {
            complain(&why);
            return Exit::Unread;
        }
    };
    seen.history.judge_all();
    let mut found = suspects(&seen.history, &seen.snapshot, plan.ask);
    keep(&mut found, &seen, &plan.filter);
    let leaks = found
        .iter()
        .any(|suspect| suspect.judgement.verdict == Verdict::Leaking);
    let all = found.len();
    found.truncate(args.top.map_or(usize::MAX, |n| n as usize));
    let told = Leaks {
        snapshot: &seen.snapshot,
        watched: seen.watched,
        by: args.by,
        suspects: &found,
        more: all - found.len(),
    };
    let stdout = io::stdout();
    let (width, color) = paper(stdout.is_terminal(), args.no_color, env);
    let mut out = BufWriter::new(stdout.lock());
    let options = LeaksOptions {
        units: plan.settings.ui.units,
        width,
        color,
    };
    let done = match args.format {
        Format::Table => told.table(&mut out, options),
        Format::Json => told.json(&mut out, false),
        Format::Ndjson => told.json(&mut out, true),
        Format::Csv => told.csv(&mut out),
    };
    match written(done.and_then(|()| out.flush())) {
        Exit::Done if args.check && leaks => Exit::Found,
        other => other,
    }
}

fn plan(args: &LeaksArgs, env: &Env) -> Result<Plan, UsageError> {
    let wrong = |option, what: String| UsageError::Option { option, what };
    let mut settings = Config::load(args.place.config.as_deref(), env)?.settings;
    cli::apply_leaks(&mut settings, args)?;
    let filter = Filter::parse(&settings.ui.filter, &Catalogue).map_err(|e| wrong("FILTER", e.to_string()))?;
    let within = |time: &Duration| (SHORTEST..=LONGEST).contains(time);
    let time = parse_span(&args.time).filter(within).ok_or_else(|| {
        let what = format!(
            "a length of time from {} to {}",
            span_exact(SHORTEST),
            span_exact(LONGEST)
        );
        wrong("--for", format!("expected {what}, such as 10m"))
    })?;
    let at = args.at.as_deref().map(At::parse).transpose();
    Ok(Plan {
        settings,
        filter,
        time,
        at: at.map_err(|e| wrong("--at", e.to_string()))?,
        ask: SuspectQuery {
            least: if args.all { Verdict::Shrinking } else { Verdict::Growing },
            by: args.by,
        },
    })
}

fn recorded(path: &std::path::Path, plan: &Plan) -> Result<Seen, String> {
    let (snapshot, history) = from::read(
        path,
        plan.at.as_ref(),
        &plan.settings.history_config(plan.settings.ui.delta),
    )?;
    let watched = history
        .since()
        .map_or(Duration::ZERO, |since| snapshot.monotonic.saturating_sub(since));
    Ok(Seen {
        snapshot,
        history,
        watched,
    })
}

/// Watches this machine, by the budget of the monitor.
fn watched(args: &LeaksArgs, plan: &Plan) -> Result<Seen, String> {
    sampler::make_room();
    let start = |error: io::Error| format!("cannot start the runtime: {error}");
    let runtime = super::runtime().build().map_err(start)?;
    let options = super::options(&plan.settings.sampler, args.place.proc_root.as_deref());
    let seen = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(start)?;
        let mut handle = sampler::spawn(options, runtime.handle());
        let mut watch = Watch::new(plan);
        let until = Instant::now() + plan.time;
        let ended = loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => break Ok(()),
                () = tokio::time::sleep_until(until) => break Ok(()),
                changed = handle.snapshots.changed() => {
                    let snapshot = handle.snapshots.borrow_and_update().clone();
                    match changed.ok().and(snapshot) {
                        Some(snapshot) => if let ControlFlow::Break(why) = watch.take(snapshot) { break Err(why) },
                        None => break Err("sampling ended".to_owned()),
                    }
                    if watch.wants_cgroups() {
                        handle.wanted.send_modify(|wanted| wanted.needs = Needs::CGROUP_FIGURES);
                    }
                }
            }
        };
        watch.clear();
        ended.and_then(|()| watch.end())
    });
    runtime.shutdown_background();
    seen
}

/// What was seen so far.
struct Watch<'a> {
    plan: &'a Plan,
    history: History,
    last: Option<Arc<Snapshot>>,
    asked: bool,
    /// Whether somebody looks on.
    told: bool,
    shown: Option<Duration>,
}

impl<'a> Watch<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            history: History::with_config(plan.settings.history_config(plan.settings.ui.delta)),
            last: None,
            asked: false,
            told: io::stderr().is_terminal(),
            shown: None,
        }
    }

    fn take(&mut self, snapshot: Arc<Snapshot>) -> ControlFlow<String> {
        if let Err(why) = &snapshot.processes {
            return ControlFlow::Break(format!("the processes cannot be listed: {why}"));
        }
        self.history.push(&snapshot);
        self.last = Some(snapshot);
        self.show();
        ControlFlow::Continue(())
    }

    fn watched(&self) -> Duration {
        let now = self.last.as_ref().map_or(Duration::ZERO, |last| last.monotonic);
        self.history
            .since()
            .map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }

    /// Once something grows the limits of cgroups are asked for.
    fn wants_cgroups(&mut self) -> bool {
        let grows = !self.asked
            && self
                .history
                .processes()
                .any(|(_, s)| s.trend().verdict >= Verdict::Growing);
        self.asked |= grows;
        grows
    }

    /// A line on stderr that says how far it is.
    fn show(&mut self) {
        let watched = self.watched();
        let late = self
            .shown
            .is_none_or(|at| watched.saturating_sub(at) >= Duration::from_secs(1));
        let Some(last) = self.last.as_ref().filter(|_| self.told && late) else {
            return;
        };
        self.shown = Some(watched);
        let leaks = suspects(
            &self.history,
            last,
            SuspectQuery {
                least: Verdict::Leaking,
                by: self.plan.ask.by,
            },
        );
        let _ = write!(
            io::stderr(),
            "\r\x1b[Kwatched {} of {}, {} processes, {} so far; Ctrl-C tells now",
            span(watched),
            span_exact(self.plan.time),
            Coverage::of(last).readable,
            match leaks.len() {
                0 => "no leak".into(),
                1 => "1 leak".into(),
                n => format!("{n} leaks"),
            },
        );
    }

    fn clear(&self) {
        if self.told {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn end(self) -> Result<Seen, String> {
        let watched = self.watched();
        let snapshot = self.last.ok_or_else(|| "nothing was seen yet".to_owned())?;
        if Coverage::of(&snapshot).readable == 0 {
            return Err("no process's memory can be read".into());
        }
        // The last look is up to an interval before the end.
        if watched + self.plan.settings.sampler.interval.max(Duration::from_secs(5)) < SHORTEST {
            complain(&format!(
                "watched for {} only: before {} hardly anything is called a leak",
                span(watched),
                span_exact(SHORTEST)
            ));
        }
        Ok(Seen {
            snapshot,
            history: self.history,
            watched,
        })
    }
}

/// Keeps those that pass the filter: processes by all that is known of them, ended ones by their words, groups
/// as in the tables.
fn keep(found: &mut Vec<Suspect>, seen: &Seen, filter: &Filter) {
    if filter.is_empty() {
        return;
    }
    let snapshot = &seen.snapshot;
    let rows = snapshot.rows();
    let row = |at: usize| Row::of(&rows[at], seen.history.get(rows[at].id), snapshot);
    // All groups told of are of one kind.
    let groups = OnceCell::new();
    let made = |by| {
        let may = |sample: &ProcessSample| filter.may_match(&RowSubject(Row::of(sample, None, snapshot)));
        group::groups(snapshot, by, may, |sample| {
            seen.history.get(sample.id).map(|series| *series.change())
        })
    };
    found.retain(|suspect| match &suspect.key {
        RowKey::Process(id) => {
            let at = rows.binary_search_by_key(&id.pid, |sample| sample.id.pid).ok();
            match at.filter(|at| rows[*at].id == *id) {
                Some(at) => filter.matches(&RowSubject(row(at))),
                None => suspect.facts.as_ref().is_some_and(|facts| {
                    filter.matches(&RowSubject(Row::of(&ended_sample(*id, facts), None, snapshot)))
                }),
            }
        }
        RowKey::Group(key) => {
            let groups = groups.get_or_init(|| made(key.by));
            groups.iter().filter(|group| group.key == *key).any(|group| {
                let sums = RowSubject(Row::of_group(group, seen.history.group(key), snapshot));
                let members = group.members.iter().map(|at| RowSubject(row(*at)));
                filter.matches_group(&sums, members)
            })
        }
    });
}
