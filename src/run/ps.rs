//! `zmtop ps`: prints a table once or repeatedly.

use std::cell::OnceCell;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::signal::unix::SignalKind;
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;

use super::runtime::{Progress, on_runtime, signals};
use super::snapshot::{self, local_time, parse_at, scan_options};
use super::{Failure, OUTPUT_BUFFER, complain, output_style, parse_filter, written};
use crate::cli::{CgroupArgs, Exit, Format, GROUPS, PathArgs, SourceArgs, TableArgs, UsageError, one_of, set};
use crate::columns::{Column, ColumnId, DataValue, Needs, Row, Unit, Value, layout, needs_of_filter};
use crate::config::{Env, Settings};
use crate::filter::Filter;
use crate::group::GroupBy;
use crate::history::{History, HistoryConfig, kills};
use crate::model::{Missing, Snapshot};
use crate::output::changes::ChangeTracker;
use crate::output::data::{DataTable, Document};
use crate::output::table::{self, RowTable, TableOptions, partial_label};
use crate::output::{self, Report};
use crate::proc::files;
use crate::query::{MappingCount, Query, RowSource, Rows, Selection, ShownRow, address_spaces, unread_mappings};
use crate::record::{Record, time_text};
use crate::sampler::mappings::{self, Shared};
use crate::sampler::{self, Options, Scanner, one_shot};
use crate::source::At;
use crate::units::{self, Units};

const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// After SIGINT, how long a table being written may take to finish.
const GRACE: Duration = Duration::from_millis(700);
/// Minimum terminal width for the column of reasons.
const WIDE: usize = 100;

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_arg("from", |from| from.help("Show a snapshot in FILE, json or ndjson, plain or zstd; - is standard input")))]
pub struct PsArgs {
    /// List only rows that match: words, user:NAME, pid:N, pss>100M, /re/, ! (not), | (or)
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Sum by command, user, unit, container, pod, cgroup, family or mapping
    #[arg(long, value_name = "WHAT", value_parser = |typed: &str| one_of(&GROUPS, typed))]
    pub by: Option<GroupBy>,
    /// Show each process below its parent, with the sum over itself and its descendants
    #[arg(long, conflicts_with = "by")]
    pub tree: bool,
    #[command(flatten)]
    pub table: TableArgs,
    /// List at most N rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
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
    /// Print only the total of the --sort column, in bytes unless --units is given
    #[arg(long, conflicts_with_all = ["top", "bars", "columns", "no_totals"])]
    pub total_only: bool,
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
        set(settings, "FILTER", "ui.filter", Some(&self.filter.join(" ")))?;
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
            let (snapshot, history) = snapshot::read(path, plan.at.as_ref(), &plan.history(), &Filter::default())?;
            print_once(&plan, snapshot, Some(&history))
        }
        (None, Some(every)) => repeat(&plan, every),
        (None, None) => {
            let one_shot = plan.is_plain().then(|| one_shot::scan(&plan.sampling, plan.needs));
            let snapshot = match one_shot.flatten() {
                Some(snapshot) => Arc::new(snapshot),
                None => snapshot::scan(plan.scanner())?,
            };
            print_once(&plan, snapshot, None)
        }
    }
}

fn print_once(plan: &Plan<'_>, snapshot: Arc<Snapshot>, history: Option<&History>) -> Result<Exit, Failure> {
    let snapshot = readable(snapshot, plan.is_live())?;
    if let Some(what) = unread_mappings(&plan.filter, &snapshot) {
        complain(&what);
    }
    if plan.is_live() && plan.args.format == Format::Table {
        tell_kills(&snapshot, plan.settings.ui.units);
    }
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER, io::stdout().lock());
    let done = Printer::new(plan).print(&mut out, &snapshot, history);
    // The program ends here, so skip freeing memory piece by piece.
    std::mem::forget(snapshot);
    Ok(written(done.and_then(|()| out.flush())))
}

/// Tells the OOM kills of the last ten minutes, the newest first.
fn tell_kills(snapshot: &Snapshot, units: Units) {
    for kill in snapshot.oom_kills.iter().rev() {
        let told = kills::text_of(kill, 120, units);
        let ago = kill.monotonic().map(|at| snapshot.monotonic.saturating_sub(at));
        let ago = ago.map_or(String::new(), |ago| format!(", {} ago", units::span(ago)));
        complain(&format!("KILLED: {} by the kernel{ago}: {}", told.victim, told.why()));
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
        let options = options(args, &settings, env);
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
                "json is one object; with --every write ndjson, one a line".into(),
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
        if self.every.is_none()
            && args.source.from.is_none()
            && let Some(column) = self.over_time()
        {
            let id = column.get().id;
            let what = format!("{id} takes more than one snapshot: add --every or --from");
            return refuse("--columns, --sort", what);
        }
        if args.total_only && !(sort.unit == Unit::Bytes && sort.additive) {
            let what = format!("--total-only sums bytes, which {} does not count", sort.id);
            return refuse("--sort", what);
        }
        if self.options.bars.is_some() && sort.unit == Unit::Text {
            return refuse("--bars", format!("{} is no figure to draw", sort.id));
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
        scanner.set_needs(self.needs.and(whole));
        scanner
    }

    /// Returns a requested column that a single snapshot cannot fill, if any.
    fn over_time(&self) -> Option<ColumnId> {
        let possible: Vec<ColumnId> = table::columns_of_one_snapshot().collect();
        let mut asked = self.options.columns.iter().chain([&self.settings.ui.sort]).copied();
        asked.find(|c| !possible.contains(c))
    }

    fn query(&self) -> Query<'_> {
        Query {
            by: self.args.by,
            tree: self.args.tree,
            sort: self.settings.ui.sort,
            descending: self.settings.ui.descending,
            top: self.args.top.map(|n| n as usize),
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
        is_single && is_listed && args.format.is_table()
    }
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

fn options(args: &PsArgs, settings: &Settings, env: &Env) -> TableOptions {
    let columns = match args.by {
        _ if args.table.columns.is_some() => settings.ui.columns.clone(),
        Some(by) => layout::ps_by(by).to_vec(),
        None if args.tree => layout::PS_TREE.to_vec(),
        None => layout::PS.to_vec(),
    };
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

/// Prints tables, the first in full, then the changes, until `count` are printed, the reader closes the pipe or SIGINT
/// arrives. Every table comes from a full scan, regardless of the monitor's CPU budget.
fn repeat(plan: &Plan<'_>, every: Duration) -> Result<Exit, Failure> {
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
        tables(plan, every, &stop).await
    })
}

async fn tables(plan: &Plan<'_>, every: Duration, stop: &Notify) -> Result<Exit, Failure> {
    let mut scanner = plan.scanner();
    let mut ticker = tokio::time::interval(every);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // Changes are relative to the previous table.
    let mut history = History::with_config(HistoryConfig {
        window: every,
        ..plan.history()
    });
    let mut printer = Printer::new(plan);
    for _ in 0..plan.args.count.unwrap_or(u64::MAX) {
        let snapshot = tokio::select! {
            biased;
            () = stop.notified() => break,
            snapshot = async { ticker.tick().await; scanner.full().await } => readable(snapshot, plan.is_live())?,
        };
        // Format the whole table before writing any of it, so that no line is written partially.
        let mut text = Vec::new();
        history.push(&snapshot);
        let done = printer.print(&mut text, &snapshot, Some(&history));
        let mut out = io::stdout().lock();
        if let Err(error) = done.and_then(|()| out.write_all(&text)).and_then(|()| out.flush()) {
            return Ok(written(Err(error)));
        }
    }
    Ok(Exit::Done)
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
    /// Number of tables printed, including the current one.
    tables: u64,
}

impl<'a> Printer<'a> {
    const fn new(plan: &'a Plan<'a>) -> Self {
        Self {
            plan,
            changes: None,
            tables: 0,
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
        if plan.args.total_only {
            return print_total(out, plan, &rows);
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

    /// Returns processes as a snapshot that can be read back, unless columns were requested by name.
    fn document(&self) -> Document<'_> {
        let plan = self.plan;
        if plan.args.by.is_none() && !plan.args.tree && plan.args.table.columns.is_none() {
            let samples = self.rows.shown().filter_map(|shown| shown.row.sample).collect();
            return Document::Snapshot(Record::selected(self.rows.source.snapshot, samples));
        }
        let mut columns = self.columns();
        if plan.args.tree && plan.args.table.columns.is_none() {
            columns.insert(1, layout::PPID.get());
        }
        Document::Object(self.row_table().document(&columns))
    }

    /// Returns a table of values. In a series of tables, each row begins with its time, and only the first table has
    /// names.
    fn table(&self) -> DataTable<'_> {
        let DataTable { mut names, mut rows } = self.row_table().table(self.columns());
        if self.plan.every.is_some() {
            if let Some(names) = &mut names {
                names.insert(0, "time");
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
        // The sum of no rows is 0, unless some could not be read.
        _ if partial.is_none() => writeln!(out, "0"),
        _ => writeln!(out, "-"),
    }
}
