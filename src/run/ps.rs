//! `zmtop ps`: prints a table once or repeatedly.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::signal::unix::SignalKind;
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;

use super::past::{self, Past};
use super::runtime::{Progress, on_runtime, signals};
use super::snapshot::{self, clock_time, local_time, parse_at, scan_options};
use super::{Failure, OUTPUT_BUFFER, complain, output_style, parse_filter, written};
use crate::cli::{
    CgroupArgs, ChosenArgs, Exit, Format, GROUPS, PathArgs, SourceArgs, TableArgs, UsageError, is_no_user, one_of, set,
};
use crate::columns::{
    AppliesTo, COLUMNS, Column, ColumnId, DataValue, Needs, Row, Unit, Value, layout, needs_of_filter,
};
use crate::config::{Env, Settings};
use crate::filter::{self, Filter};
use crate::group::GroupBy;
use crate::heaps::MIN_ANON;
use crate::history::{History, HistoryConfig, kills};
use crate::model::{Identity, Missing, ProcessSample, Snapshot};
use crate::output::changes::ChangeTracker;
use crate::output::data::{DataTable, Document, Object};
use crate::output::sentences::{self, Sentences};
use crate::output::table::{self, RowTable, TableOptions, partial_label};
use crate::output::{self, Report};
use crate::proc::{files, pid};
use crate::query::{MappingCount, Query, RowSource, Rows, Selection, ShownRow, address_spaces, unread_mappings};
use crate::record::{Record, time_text};
use crate::sampler::mappings::{self, Shared};
use crate::sampler::{self, Options, Scanner, inquiry, one_shot};
use crate::source::At;
use crate::text;
use crate::trend::MIN_LEAK_OBSERVED;
use crate::units::{self, Units, counted};

const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// The past of a recording that is read for changes.
const PAST_FOR_CHANGES: Duration = Duration::from_secs(60);
/// The past of a recording that is read for verdicts.
const PAST_FOR_VERDICTS: Duration = Duration::from_secs(2 * 3600);
/// After SIGINT, how long a table being written may take to finish.
const GRACE: Duration = Duration::from_millis(700);
/// Minimum terminal width for the column of reasons.
const WIDE: usize = 100;

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_arg("from", |from| from.help("Show a snapshot of a recording: a file or folder of zmtop record, or a \
                                            file of ps --format ndjson; - is standard input")))]
pub struct PsArgs {
    /// List only rows that match: words, user:NAME, pid:N, pss>100M, /re/, ! (not), | (or)
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    #[command(flatten)]
    pub chosen: ChosenArgs,
    /// Sum by command, user, unit, container, pod, cgroup, family or mapping
    #[arg(long, value_name = "WHAT", value_parser = |typed: &str| one_of(&GROUPS, typed))]
    pub by: Option<GroupBy>,
    /// Show each process below its parent, with the sum over itself and its descendants
    #[arg(long, conflicts_with = "by")]
    pub tree: bool,
    #[command(flatten)]
    pub table: TableArgs,
    /// List at most N rows
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Print bytes as a percentage of the machine's RAM
    #[arg(long, conflicts_with = "units")]
    pub percent: bool,
    /// Draw bars for the sort column
    #[arg(long)]
    pub bars: bool,
    /// Omit the header line
    #[arg(short = 'H', long)]
    pub no_header: bool,
    /// Omit the row of totals
    #[arg(long)]
    pub no_totals: bool,
    /// Print sentences, for screen readers: the first rows (5 unless --top is given). With --every, later reports contain only kills
    /// for lack of memory and changes of at least 1 MiB and 5 %
    #[arg(long, conflicts_with_all = ["all", "format", "tree", "percent", "bars", "columns", "units", "no_header", "no_totals", "total_only"])]
    pub sentences: bool,
    /// Print only the total of the --sort column, in bytes unless --units is given
    #[arg(long, conflicts_with_all = ["top", "bars", "columns", "no_totals"])]
    pub total_only: bool,
    /// Exit with 1 if a row matches the filter, as an alarm for scripts; with --every, if one matches in the last table; with
    /// --by and a verdict in the filter, also if a single process matches
    #[arg(long)]
    pub check: bool,
    /// Repeat at this interval and print the changes: in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME", conflicts_with = "from")]
    pub every: Option<String>,
    /// Stop after N tables
    #[arg(long, value_name = "N", requires = "every", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// With --every: also list rows that did not change
    #[arg(long, requires = "every")]
    pub all: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub scope: CgroupArgs,
    #[command(flatten)]
    pub paths: PathArgs,
}

impl PsArgs {
    /// Applies the options to the settings. The filter comes only from the command line, never from the monitor's
    /// settings.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        set(
            settings,
            "FILTER",
            "ui.filter",
            Some(&self.chosen.added_to(&self.filter.join(" "))),
        )?;
        set(settings, "--every", "sampler.interval", self.every.as_deref())?;
        if self.by != Some(GroupBy::Mapping) {
            return self.table.apply(settings, "ui.columns");
        }
        // Mappings use the column of group names.
        let named = |name: &str| match name.trim() {
            "mapping" => "group".to_owned(),
            "-mapping" => "-group".to_owned(),
            other => other.to_owned(),
        };
        let columns = |list: &String| list.split(',').map(named).collect::<Vec<_>>().join(",");
        let table = TableArgs {
            columns: self.table.columns.as_ref().map(columns),
            sort: self.table.sort.as_deref().map(named),
            ..self.table.clone()
        };
        table.apply(settings, "ui.columns")
    }
}

pub(super) fn run(args: &PsArgs, env: &Env) -> Result<Exit, Failure> {
    let plan = Plan::new(args, env)?;
    match (&args.source.from, plan.every) {
        (Some(path), _) => {
            let (snapshot, mut history) = snapshot::read(
                path,
                plan.at.as_ref(),
                plan.past_of_file(),
                &plan.history(),
                &Filter::default(),
            )?;
            history.judge_all();
            print_once(&plan, snapshot, Some(&history))
        }
        (None, Some(every)) => repeat(&plan, every, env),
        (None, None) => {
            if let Some(asked) = plan.over_time() {
                return print_with_past(&plan, asked, env);
            }
            let one_shot = plan.is_plain().then(|| one_shot::scan(&plan.sampling, plan.needs));
            let snapshot = match one_shot.flatten() {
                Some(snapshot) => Arc::new(snapshot),
                None => snapshot::scan(plan.scanner())?,
            };
            print_once(&plan, snapshot, None)
        }
    }
}

/// Prints a table for which one snapshot does not suffice, with the history that the monitor saved.
fn print_with_past(plan: &Plan<'_>, (option, column): Asked, env: &Env) -> Result<Exit, Failure> {
    let refused = |why: String| {
        let id = column.get().id;
        let what = format!("{id} needs more than one snapshot: add --every TIME or --from FILE ({why})");
        UsageError::option(option, what)
    };
    let past = plan.past(env).map_err(refused)?;
    let snapshot = snapshot::scan(plan.scanner())?;
    let mut history = History::with_config(HistoryConfig {
        own_pid: Some(std::process::id()),
        ..plan.history()
    });
    let past = past.resume(&mut history, &snapshot).map_err(refused)?;
    complain(&format!("continues {past}"));
    history.push(&snapshot);
    history.judge_all();
    print_once(plan, snapshot, Some(&history))
}

fn print_once(plan: &Plan<'_>, snapshot: Arc<Snapshot>, history: Option<&History>) -> Result<Exit, Failure> {
    let mut snapshot = readable(snapshot, plan.is_live())?;
    if plan.args.source.from.is_none() && plan.args.format != Format::Table {
        complete_commands(Arc::make_mut(&mut snapshot), &plan.sampling);
    }
    if plan.is_live() && plan.sampling.heaps && plan.needs.contains(Needs::HEAPS) {
        read_heaps(Arc::make_mut(&mut snapshot), &plan.sampling);
    }
    plan.check_named(&snapshot)?;
    if let Some(what) = unread_mappings(&plan.filter, &snapshot) {
        complain(&what.text());
    }
    if plan.is_live() && plan.args.format == Format::Table {
        print_kills(&snapshot, plan.settings.ui.units);
    }
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER, io::stdout().lock());
    let mut printer = Printer::new(plan);
    let done = printer.print(&mut out, &snapshot, history);
    // The program ends here, so skip freeing memory piece by piece.
    std::mem::forget(snapshot);
    Ok(printer.exit(written(done.and_then(|()| out.flush()))))
}

/// Reads the command lines again of which only a part was kept, as data is not cut. One that changed meanwhile stays as it was.
fn complete_commands(snapshot: &mut Snapshot, options: &Options) {
    let rows = snapshot.processes.as_mut().map_or(&mut [][..], |rows| &mut rows[..]);
    let is_cut = |row: &ProcessSample| row.facts.cmdline.as_deref().is_ok_and(pid::is_cut);
    let mut rows: Vec<_> = rows.iter_mut().filter(|row| is_cut(row)).collect();
    let pids: Vec<u32> = rows.iter().map(|row| row.id.pid).collect();
    inquiry::command_lines(options, &pids, |at, whole| {
        if rows[at].facts.cmdline.as_deref() == Ok(&*pid::cmdline(&whole)) {
            Arc::make_mut(&mut rows[at].facts).cmdline = Ok(whole.into());
        }
    });
}

/// Reads how much `malloc` keeps free in large processes.
fn read_heaps(snapshot: &mut Snapshot, options: &Options) {
    let anon = |row: &&ProcessSample| {
        row.memory()
            .is_ok_and(|memory| memory.pss_anon.is_ok_and(|anon| anon >= MIN_ANON))
    };
    let ids: Vec<Identity> = snapshot.rows().iter().filter(anon).map(|row| row.id).collect();
    let pids: Vec<u32> = ids.iter().map(|id| id.pid).collect();
    let mut found = BTreeMap::new();
    inquiry::free_memory(options, &pids, |at, heap| {
        found.insert(ids[at], heap);
    });
    snapshot.heaps = Arc::new(found);
}

/// A column that a single snapshot does not have, and the option that asked for it.
type Asked = (&'static str, ColumnId);

/// Reports the OOM kills of the last ten minutes, newest first.
fn print_kills(snapshot: &Snapshot, units: Units) {
    for kill in snapshot.oom_kills.iter().rev() {
        let text = kills::text_of(kill, 120, units);
        let ago = kill.monotonic().map(|at| snapshot.monotonic.saturating_sub(at));
        let ago = ago.map_or(String::new(), |ago| format!(", {} ago", units::span(ago)));
        complain(&format!("KILLED: {} by {}{ago}: {}", text.victim, text.by, text.why()));
    }
}

/// Returns the snapshot if any process in it could be read.
fn readable(snapshot: Arc<Snapshot>, is_live: bool) -> Result<Arc<Snapshot>, String> {
    let rows = match &snapshot.processes {
        Err(why) => return Err(format!("the processes cannot be listed: {why}")),
        Ok(rows) if rows.is_empty() => return Err("there are no processes to read".into()),
        Ok(rows) => rows,
    };
    let hidden = rows.iter().find_map(|p| p.walk.err().filter(|why| why.hides_memory()));
    if let Some(why) = hidden.filter(|_| rows.iter().all(|p| p.walk.is_err())) {
        let why = match why {
            // In a capture or recording, access was denied to whoever made it.
            Missing::Denied if is_live => files::advice(files::memory_capability()),
            other => other.to_string(),
        };
        return Err(format!("no process's memory can be read: {why}"));
    }
    Ok(snapshot)
}

#[derive(Debug)]
struct Plan<'a> {
    args: &'a PsArgs,
    settings: Settings,
    filter: Filter,
    options: TableOptions,
    sampling: Options,
    /// Data to read in addition to every process's memory.
    needs: Needs,
    at: Option<At>,
    /// Interval between tables; `None` for a single table.
    every: Option<Duration>,
}

impl<'a> Plan<'a> {
    fn new(args: &'a PsArgs, env: &Env) -> Result<Self, UsageError> {
        let settings = configure(args, env)?;
        let filter = parse_filter(&settings)?;
        let options = options(args, &settings, &filter, env);
        let mut sampling = scan_options(&settings.sampler, args.paths.proc_root.as_deref());
        args.scope.apply(&mut sampling)?;
        let shown = options.columns.iter().chain([&settings.ui.sort]);
        let shown: Needs = shown.map(|column| column.get().needs).collect();
        let plan = Self {
            needs: shown.and(needs_of_filter(&filter)),
            at: parse_at(args.source.at.as_deref())?,
            every: args.every.is_some().then_some(settings.sampler.interval),
            args,
            settings,
            filter,
            options,
            sampling,
        };
        plan.check()
    }

    fn check(self) -> Result<Self, UsageError> {
        let (args, sort) = (self.args, self.settings.ui.sort.get());
        let refuse = |option, what: String| Err(UsageError::option(option, what));
        if self.every.is_some() && args.format == Format::Json {
            return refuse(
                "--format",
                "json is one object; with --every, use rows (one line per row) or ndjson (one line per snapshot)"
                    .into(),
            );
        }
        if args.format != Format::Table {
            let table_only = [(args.percent, "--percent"), (self.options.bars.is_some(), "--bars")];
            if let Some((_, option)) = table_only.into_iter().find(|(on, _)| *on) {
                return refuse(option, "is for tables; other formats have plain figures".into());
            }
        }
        if args.source.from.is_some() && args.by == Some(GroupBy::Mapping) {
            return refuse("--by", "mappings are not in a file of snapshots".into());
        }
        for (option, column) in self.beyond_one_snapshot() {
            past::refuse_of_monitor(option, column)?;
            let id = column.get().id;
            if args.by == Some(GroupBy::Mapping) {
                return refuse(
                    option,
                    format!("{id} needs more than one snapshot, and mappings have no history"),
                );
            }
        }
        if args.check && self.filter.is_empty() {
            return refuse("--check", "needs a FILTER: it reports whether a row matches".into());
        }
        let of_bytes = [(args.total_only, "--total-only"), (args.sentences, "--sentences")];
        if let Some((_, option)) = of_bytes.into_iter().find(|(on, _)| *on)
            && !(sort.unit == Unit::Bytes && sort.additive)
        {
            return refuse(
                "--sort",
                format!(
                    "{option} needs a column of sizes that can be summed, which {} is not",
                    sort.id
                ),
            );
        }
        if self.options.bars.is_some() && sort.unit == Unit::Text {
            return refuse("--bars", format!("{} is not a figure", sort.id));
        }
        Ok(self)
    }

    /// Returns true if this machine is read, rather than a file or another proc tree.
    fn is_live(&self) -> bool {
        self.args.source.from.is_none() && self.sampling.proc_root == Path::new("/proc")
    }

    /// Returns a scanner that reads the requested data. JSON and NDJSON also get everything else that a snapshot
    /// contains.
    fn scanner(&self) -> Scanner {
        let mut scanner = Scanner::new(&self.sampling);
        let is_table = self.args.format.is_table();
        let whole = if is_table { Needs::NOTHING } else { Needs::ACCOUNT };
        // A single snapshot has no interval.
        let is_stream = self.every.is_some() && self.args.format == Format::Ndjson;
        let exits = if is_stream { Needs::EXITS } else { Needs::NOTHING };
        scanner.set_needs(self.needs.and(whole).and(exits));
        scanner
    }

    /// Returns the requested columns that a single snapshot does not have.
    fn beyond_one_snapshot(&self) -> impl Iterator<Item = Asked> {
        let filter = self.filter.columns().into_iter().map(|at| ("FILTER", ColumnId(at)));
        let sort = [("--sort", self.settings.ui.sort)];
        let shown = self.options.columns.iter().map(|column| ("--columns", *column));
        let asked = filter.chain(sort).chain(shown);
        asked.filter(|(_, column)| column.get().needs.is_beyond_one_snapshot())
    }

    /// Returns the first of them.
    fn over_time(&self) -> Option<Asked> {
        self.beyond_one_snapshot().next()
    }

    /// Checks that the users and processes exist which the options name. Notes a user of the filter that does not exist.
    fn check_named(&self, snapshot: &Snapshot) -> Result<(), Failure> {
        let chosen = &self.args.chosen;
        let of_option = chosen.user.as_ref().and_then(|_| {
            let filter = Filter::parse(&chosen.added_to(""), &COLUMNS).ok()?;
            Some(filter.users())
        });
        let of_option = of_option.unwrap_or_default();
        for user in self.filter.users() {
            if self.may_exist(&user, snapshot) {
                continue;
            }
            let what = format!("no user {}", text::safe(user.as_bytes()));
            if of_option.contains(&user) {
                return Err(UsageError::option("-u", what).into());
            }
            complain(&what);
        }
        let pids = chosen.pid.iter().flat_map(|pids| pids.split(','));
        let pids: Vec<u32> = pids.filter_map(|pid| pid.parse().ok()).collect();
        let is_gone = |pid: &&u32| !snapshot.rows().iter().any(|row| row.id.pid == **pid);
        let gone: Vec<_> = pids.iter().filter(is_gone).map(ToString::to_string).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let what = format!("no process {}", gone.join(", "));
        if gone.len() == pids.len() {
            return Err(what.into());
        }
        complain(&what);
        Ok(())
    }

    /// Returns false if no user of that name exists. In a file or another proc tree, only the users of its processes are
    /// known. The name service may block, so it is asked only about a user without processes.
    fn may_exist(&self, user: &str, snapshot: &Snapshot) -> bool {
        let is_named = |row: &ProcessSample| match &row.facts.user {
            Ok(name) => String::from_utf8_lossy(name).to_lowercase() == user.to_lowercase(),
            // Here the name service decides.
            Err(_) => !self.is_live(),
        };
        user.parse::<u32>().is_ok() || snapshot.rows().iter().any(is_named) || self.is_live() && !is_no_user(user)
    }

    /// Returns how much of a recording is read before the snapshot that is shown: enough for changes, or for a verdict if the
    /// filter or the order needs it.
    fn past_of_file(&self) -> Duration {
        match self.over_time() {
            Some(_) => PAST_FOR_VERDICTS,
            None => PAST_FOR_CHANGES,
        }
    }

    /// Reads the history that the monitor saved.
    fn past(&self, env: &Env) -> Result<Past, String> {
        match self.args.scope.cgroup {
            Some(_) => Err("no history is kept for a cgroup".into()),
            None if !self.is_live() => Err("no history is kept for another proc tree".into()),
            None => Past::read(env),
        }
    }

    /// Returns the reason why a table without rows is not conclusive yet: its filter compares figures over time, which are not
    /// known. The text is safe to print.
    fn unjudged(&self, rows: &Rows<'_>) -> Unjudged {
        let compared = self.filter.columns().into_iter().map(ColumnId);
        let over_time: Vec<_> = compared.filter(|id| id.get().needs.contains(Needs::HISTORY)).collect();
        if over_time.is_empty() || rows.selection.count() > 0 {
            return Unjudged::None;
        }
        let is_asked = |row: &Row<'_>| {
            let sample = row.sample.filter(|_| row.group.is_none());
            sample.is_none_or(|s| !s.stat.is_kernel_thread() && self.filter.matches_but_for_figures(row))
        };
        let asked: Vec<_> = rows.candidates().map(|(_, row, _)| row).filter(is_asked).collect();
        if asked.is_empty() {
            return Unjudged::None;
        }
        let all = counted(
            asked.len() as u64,
            if self.args.by.is_some() { "group" } else { "process" },
        );
        let known = rows.source.history.map_or(Duration::ZERO, History::observed);
        let judges = over_time.iter().any(|id| id.get().unit == Unit::Verdict);
        if judges && known < MIN_LEAK_OBSERVED {
            let least = units::span_exact(MIN_LEAK_OBSERVED);
            let known = units::span(known);
            return Unjudged::All(format!(
                "not yet judged: a leak is reported only after {least} of history, and {known} are known"
            ));
        }
        let is_open = |row: &&Row<'_>| over_time.iter().any(|id| id.is_open(row));
        match asked.iter().filter(is_open).count() {
            0 => Unjudged::None,
            open if open == asked.len() => {
                let ids: Vec<_> = over_time.iter().map(|id| id.get().id).collect();
                let ids = ids.join(", ");
                Unjudged::All(format!("not yet judged: {ids} is known for none of the {all}"))
            }
            // An answer about the lesser part is none.
            open if open > asked.len() / 2 => Unjudged::All(format!("not yet judged: {open} of {all}")),
            open => Unjudged::Some(format!("{open} of {all} are not judged yet")),
        }
    }

    /// Reports that processes have the verdict which the filter asks for, although none of the groups has it: a leak may be small
    /// in its group. The text is safe to print.
    fn matched_by_members(&self, snapshot: &Snapshot, history: Option<&History>) -> Option<String> {
        self.args.by.filter(|by| *by != GroupBy::Mapping)?;
        let mut compared = self.filter.columns().into_iter().map(ColumnId);
        compared.find(|id| id.get().unit == Unit::Verdict)?;
        let query = Query {
            by: None,
            ..self.query()
        };
        let count = Rows::select(snapshot, history, &query).selection.count() as u64;
        let verb = if count == 1 { "matches" } else { "match" };
        (count > 0).then(|| {
            format!(
                "no group matches, but {} {verb} without --by",
                counted(count, "process")
            )
        })
    }

    /// Reports that no row matches the filter, and how a script can detect it.
    fn nothing_matched(&self, rows: &Rows<'_>) -> String {
        let is_listed = |row: &Row<'_>| row.sample.is_none_or(|sample| !sample.stat.is_kernel_thread());
        let all = rows.candidates().filter(|(_, row, _)| is_listed(row)).count() as u64;
        let what = match self.args.by {
            None => "process",
            Some(GroupBy::Mapping) => "mapping",
            Some(_) => "group",
        };
        let way = if self.args.check {
            ""
        } else {
            " (with --check, the exit code is 1 if one does)"
        };
        let meant = filter::meant(&self.settings.ui.filter).map_or(String::new(), |meant| format!("; {meant}"));
        format!("0 of {} match{way}{meant}", counted(all, what))
    }

    fn query(&self) -> Query<'_> {
        Query {
            by: self.args.by,
            tree: self.args.tree,
            sort: self.settings.ui.sort,
            descending: self.settings.ui.descending,
            top: self
                .args
                .top
                .or(self.args.sentences.then_some(sentences::DEFAULT_TOP))
                .map(|n| n as usize),
            ..Query::new(&self.filter)
        }
    }

    fn table(&self, rows: &Rows<'_>) -> TableOptions {
        let ram = rows.source.snapshot.system.mem_total.ok().filter(|_| self.args.percent);
        let mut options = TableOptions {
            percent_of: ram,
            ..self.options.clone()
        };
        // In a wide terminal, a column gives the reasons for missing figures.
        let hidden = |shown: ShownRow<'_>| {
            shown
                .row
                .sample
                .is_some_and(|s| s.walk.is_err_and(Missing::hides_memory))
        };
        if self.args.table.columns.is_none()
            && options.style.width.is_some_and(|w| w >= WIDE)
            && rows.shown().any(hidden)
        {
            let last = options.columns.len() - 1;
            options.columns.insert(last, layout::UNREAD);
        }
        options
    }
    fn history(&self) -> HistoryConfig {
        self.settings.history_config(self.settings.ui.delta)
    }

    /// Returns true if the table is a plain one, for which a one-shot scan suffices.
    fn is_plain(&self) -> bool {
        let args = self.args;
        let is_single = args.every.is_none() && args.source.from.is_none() && args.scope.cgroup.is_none();
        let is_listed = args.by.is_none() && !args.percent && !args.tree && self.settings.ui.filter.trim().is_empty();
        let is_listed = is_listed && !args.sentences;
        is_single && is_listed && args.format.is_table()
    }
}

/// The rows that a filter could not judge, as their past is not known.
#[derive(Debug)]
enum Unjudged {
    None,
    Some(String),
    All(String),
}

fn configure(args: &PsArgs, env: &Env) -> Result<Settings, UsageError> {
    let (mut settings, unread) = Settings::load(args.paths.config.as_deref(), env)?;
    if let Some(what) = unread {
        complain(&what);
    }
    // Scripts read this table, so ignore the monitor's saved order. The filter comes from the command line too.
    settings.ui.sort = layout::PSS;
    settings.ui.descending = true;
    args.apply(&mut settings)?;
    Ok(settings)
}

fn options(args: &PsArgs, settings: &Settings, filter: &Filter, env: &Env) -> TableOptions {
    let mut columns = match args.by {
        None if args.table.columns.is_some() && args.format.has_objects() => {
            table::with_names(settings.ui.columns.clone())
        }
        _ if args.table.columns.is_some() => settings.ui.columns.clone(),
        Some(by) => layout::ps_by(by).to_vec(),
        None if args.format.has_objects() => table::columns_of_data(),
        None if args.tree => layout::PS_TREE.to_vec(),
        None => layout::PS.to_vec(),
    };
    let is_fixed = args.table.columns.is_some() || args.format == Format::Csv;
    if !is_fixed {
        add_used(&mut columns, settings.ui.sort, filter, args.by.is_some());
    }
    let naming = |by| layout::ps_by(by).last().map(|id| (*id, by.title()));
    // A sum alone is read by scripts.
    let bytes = args.total_only && args.table.units.units.is_none();
    let units = if bytes { Units::Bytes } else { settings.ui.units };
    TableOptions {
        columns,
        style: output_style(units, args.table.color.no_color, env),
        percent_of: None,
        name: args.by.and_then(naming),
        heading: !args.no_header,
        totals: !args.no_totals,
        bars: args.bars.then_some(settings.ui.sort),
        caption: None,
    }
}

/// Adds the sort column and the columns that the filter compares, to the left of the name. A group has no figures that only
/// processes have.
fn add_used(columns: &mut Vec<ColumnId>, sort: ColumnId, filter: &Filter, of_groups: bool) {
    let compared = filter.columns().into_iter().map(ColumnId);
    for id in [sort].into_iter().chain(compared) {
        let has_values = !of_groups || id.get().applies_to != AppliesTo::Processes;
        if has_values && !columns.contains(&id) {
            columns.insert(columns.len() - 1, id);
        }
    }
}

/// Prints tables, the first in full, then the changes, until `count` are printed, the reader closes the pipe or SIGINT
/// arrives. Every table comes from a full scan, regardless of the monitor's CPU budget.
fn repeat(plan: &Plan<'_>, every: Duration, env: &Env) -> Result<Exit, Failure> {
    sampler::make_room();
    on_runtime(async {
        let stop = Arc::new(Notify::new());
        let mut interrupt = signals(SignalKind::interrupt())?;
        let stopped = Arc::clone(&stop);
        tokio::spawn(async move {
            interrupt.recv().await;
            stopped.notify_one();
            tokio::time::sleep(GRACE).await;
            std::process::exit(i32::from(Exit::Done as u8));
        });
        tables(plan, every, env, &stop).await
    })
}

async fn tables(plan: &Plan<'_>, every: Duration, env: &Env, stop: &Notify) -> Result<Exit, Failure> {
    let mut scanner = plan.scanner();
    let mut ticker = tokio::time::interval(every);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // Changes are relative to the previous table.
    let mut history = History::with_config(HistoryConfig {
        window: every,
        ..plan.history()
    });
    let mut past = plan.over_time().and_then(|_| plan.past(env).ok());
    let mut printer = Printer::new(plan);
    for _ in 0..plan.args.count.unwrap_or(u64::MAX) {
        let snapshot = tokio::select! {
            biased;
            () = stop.notified() => break,
            snapshot = async { ticker.tick().await; scanner.full().await } => readable(snapshot, plan.is_live())?,
        };
        // Format the whole table before writing any of it, so that no line is written partially.
        let mut text = Vec::new();
        if printer.tables == 0 {
            plan.check_named(&snapshot)?;
        }
        if let Some(past) = past.take().and_then(|past| past.resume(&mut history, &snapshot).ok()) {
            complain(&format!("continues {past}"));
        }
        history.push(&snapshot);
        let done = printer.print(&mut text, &snapshot, Some(&history));
        let mut out = io::stdout().lock();
        if let Err(error) = done.and_then(|()| out.write_all(&text)).and_then(|()| out.flush()) {
            return Ok(written(Err(error)));
        }
    }
    Ok(printer.exit(Exit::Done))
}

/// Reads the full `smaps` of every process that matches the filter's words, and sums it by mapping.
fn mapping_rows<'a>(plan: &Plan<'_>, snapshot: &'a Snapshot) -> Rows<'a> {
    let query = plan.query();
    let source = RowSource::new(snapshot, None);
    let ids = address_spaces(&source, &query);
    let (mut progress, mut last) = (Progress::new(), Instant::now());
    let found = mappings::scan(&plan.sampling, &ids, |done, all| {
        if done < all && last.elapsed() >= PROGRESS_INTERVAL {
            last = Instant::now();
            progress.show(|| format!("reading mappings: {done} of {all} processes"));
        }
        ControlFlow::Continue(())
    });
    drop(progress);
    let unreadable: Vec<Missing> = found.missing.iter().map(|(_, why)| *why).collect();
    let count = MappingCount {
        read: found.read,
        unreadable: unreadable.len(),
    };
    let groups = found.shared.into_iter().map(Shared::into_group).collect();
    // The filter's words selected processes. Its figures select mappings.
    let no_members = || std::iter::empty::<Row<'_>>();
    let passes = |row: &Row<'_>| query.filter.matches_group(row, no_members());
    let selection = Selection::of_mappings(&source, groups, count, passes);
    Rows::of_selection(source, selection, unreadable, &query)
}

#[derive(Debug)]
struct Printer<'a> {
    plan: &'a Plan<'a>,
    changes: Option<ChangeTracker>,
    sentences: Sentences,
    /// Number of tables printed, including the current one.
    tables: u64,
    /// The filter could judge nothing in the last table.
    is_unjudged: bool,
    /// Rows matched in the last table.
    has_found: bool,
}

impl<'a> Printer<'a> {
    fn new(plan: &'a Plan<'a>) -> Self {
        Self {
            plan,
            changes: None,
            sentences: Sentences::default(),
            tables: 0,
            is_unjudged: false,
            has_found: false,
        }
    }

    /// Returns the exit code after the last table.
    fn exit(&self, written: Exit) -> Exit {
        match written {
            Exit::Done if self.plan.args.check && self.has_found => Exit::Found,
            Exit::Done if self.is_unjudged => Exit::Unjudged,
            other => other,
        }
    }

    /// Writes the table of the next snapshot. Changes and rates come from `history`.
    fn print(&mut self, out: &mut dyn Write, snapshot: &Snapshot, history: Option<&History>) -> io::Result<()> {
        let plan = self.plan;
        self.tables += 1;
        let rows = match plan.args.by {
            Some(GroupBy::Mapping) => mapping_rows(plan, snapshot),
            _ => Rows::select(snapshot, history, &plan.query()),
        };
        let may_complain = self.tables == 1 || self.has_found;
        self.has_found = rows.selection.count() > 0;
        if !self.has_found
            && let Some(what) = plan.matched_by_members(snapshot, history)
        {
            complain(&what);
            self.has_found = true;
        }
        let was_unjudged = self.is_unjudged;
        match plan.unjudged(&rows) {
            _ if self.has_found => self.is_unjudged = false,
            Unjudged::None => {
                if may_complain && !plan.filter.is_empty() {
                    complain(&plan.nothing_matched(&rows));
                }
                self.is_unjudged = false;
            }
            Unjudged::Some(what) => {
                if was_unjudged || self.tables == 1 {
                    complain(&what);
                }
                self.is_unjudged = false;
            }
            Unjudged::All(what) => {
                if !was_unjudged {
                    complain(&what);
                }
                self.is_unjudged = true;
            }
        }
        if plan.args.total_only {
            return print_total(out, plan, &rows);
        }
        if plan.args.sentences {
            let time = clock_time(snapshot.time);
            return self.sentences.write(out, &rows, &plan.query(), &time);
        }
        let mut options = plan.table(&rows);
        if plan.args.format == Format::Table && plan.every.is_some() {
            if self.tables > 1 {
                writeln!(out)?;
            }
            options.caption = Some(local_time(snapshot.time));
            if let Some(changes) = &mut self.changes {
                return changes.write(out, &rows, &plan.query(), &options);
            }
            // A tree is printed in full every time.
            if !plan.args.tree {
                self.changes = Some(ChangeTracker::new(&rows, &plan.query(), &options, plan.args.all));
            }
        }
        let report = PsReport {
            plan,
            rows: &rows,
            options,
            first: self.tables == 1,
            data: OnceCell::new(),
        };
        output::write(out, &report, plan.args.format)
    }
}

struct PsReport<'a> {
    plan: &'a Plan<'a>,
    rows: &'a Rows<'a>,
    options: TableOptions,
    first: bool,
    /// The rows as data, created when a format first needs them.
    data: OnceCell<RowTable<'a>>,
}

impl<'a> PsReport<'a> {
    fn row_table(&self) -> &RowTable<'a> {
        self.data.get_or_init(|| RowTable {
            snapshot: self.rows.source.snapshot,
            by: self.plan.args.by.map(GroupBy::id),
            is_tree: self.plan.args.tree,
            rows: self.rows.shown().map(|shown| (shown.depth, shown.row)).collect(),
            totals: self.options.totals.then(|| self.rows.total()),
        })
    }

    /// Returns the columns for data formats, without the reasons that a wide terminal shows.
    fn columns(&self) -> Vec<&'static Column> {
        self.plan.options.columns.iter().map(|id| id.get()).collect()
    }
}

impl Report for PsReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        table::write(out, self.rows, &self.options)
    }

    /// Returns a line of a recording as a snapshot that can be read back, unless columns were requested by name. Everything else
    /// is a table.
    fn document(&self) -> Document<'_> {
        let plan = self.plan;
        let is_recording = !plan.args.format.is_table();
        if is_recording && plan.args.by.is_none() && !plan.args.tree && plan.args.table.columns.is_none() {
            let samples = self.rows.shown().filter_map(|shown| shown.row.sample).collect();
            return Document::Snapshot(Record::selected(self.rows.source.snapshot, samples));
        }
        let mut columns = self.columns();
        if is_recording && plan.args.tree && plan.args.table.columns.is_none() {
            columns.insert(1, layout::PPID.get());
        }
        Document::Object(self.row_table().document(&columns))
    }

    /// Returns the rows as objects. In a series of tables, each begins with `at`, its time: a column has the id `time`.
    fn rows(&self) -> Vec<Object<'_>> {
        let rows = self.row_table().objects(&self.columns());
        let time = time_text(self.rows.source.snapshot.time);
        let timed = |row| Object::default().put("at", time.clone()).extend(row);
        match self.plan.every {
            Some(_) => rows.into_iter().map(timed).collect(),
            None => rows,
        }
    }

    /// Returns a table of values. In a series of tables, each row begins with its time, and only the first table has
    /// names.
    fn table(&self) -> DataTable<'_> {
        let DataTable { mut names, mut rows } = self.row_table().table(self.columns());
        if self.plan.every.is_some() {
            if let Some(names) = &mut names {
                names.insert(0, "at");
            }
            let time = time_text(self.rows.source.snapshot.time).into_bytes();
            rows = Box::new(rows.map(move |mut row| {
                row.insert(0, DataValue::Text(time.clone().into()));
                row
            }));
        }
        DataTable {
            names: names.filter(|_| self.options.heading && self.first),
            rows,
        }
    }
}

/// Writes only a sum, so that a script always reads one number. If the sum is incomplete, the reason goes to stderr.
fn print_total(out: &mut dyn Write, plan: &Plan<'_>, rows: &Rows<'_>) -> io::Result<()> {
    let partial = partial_label(rows);
    if let Some(why) = &partial {
        complain(why);
    }
    match (plan.settings.ui.sort.get().value)(&rows.total()) {
        Value::Bytes(sum) => writeln!(out, "{}", units::bytes(sum, plan.options.style.units)),
        Value::AtLeast(sum) => {
            complain("partial: the sum is at least this");
            writeln!(out, "{}", units::bytes(sum, plan.options.style.units))
        }
        // The sum of no rows is 0, unless some could not be read.
        _ if partial.is_none() => writeln!(out, "0"),
        _ => writeln!(out, "-"),
    }
}
