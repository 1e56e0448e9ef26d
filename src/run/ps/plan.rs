//! Resolves the options of `ps` into a query, and into how it is printed.

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::{Format, PsArgs, UsageError};
use crate::columns::{ColumnId, Needs, Unit, layout, needs_of_filter};
use crate::config::{Env, Settings};
use crate::filter::Filter;
use crate::group::GroupBy;
use crate::history::HistoryConfig;
use crate::model::Missing;
use crate::output::table::{self, TableOptions};
use crate::query::{Query, Rows, ShownRow};
use crate::run::snapshot::{parse_at, scan_options};
use crate::run::{output_style, parse_filter};
use crate::sampler::{Options, Scanner};
use crate::source::At;
use crate::units::Units;

/// The options of `ps`, understood.
#[derive(Debug)]
pub(super) struct Plan {
    filter: Filter,
    pub(super) by: Option<GroupBy>,
    pub(super) tree: bool,
    pub(super) sort: ColumnId,
    descending: bool,
    top: Option<usize>,
    pub(super) options: TableOptions,
    percent: bool,
    pub(super) total_only: bool,
    /// Time between tables, if there are several.
    pub(super) every: Option<Duration>,
    pub(super) count: Option<u64>,
    /// Rows that did not change are listed too.
    pub(super) all: bool,
    pub(super) sampling: Options,
    /// Figures to read beside every process's memory.
    pub(super) needs: Needs,
    pub(super) format: Format,
    /// Columns were asked for by name.
    pub(super) chosen_columns: bool,
    /// The file that snapshots come from instead of this machine, and which of them.
    pub(super) from: Option<PathBuf>,
    pub(super) at: Option<At>,
    /// Retention of histories.
    pub(super) history: HistoryConfig,
    /// The table is a plain one, which a one-shot scan may serve.
    pub(super) is_plain: bool,
}

impl Plan {
    /// Resolves the options.
    ///
    /// # Errors
    /// The first that is wrong, or every fault of the configuration.
    pub(super) fn new(args: &PsArgs, env: &Env) -> Result<Self, UsageError> {
        let settings = configure(args, env)?;
        let filter = parse_filter(&settings)?;
        let options = options(args, &settings, env);
        let shown = options.columns.iter().chain([&settings.ui.sort]);
        let shown: Needs = shown.map(|column| column.get().needs).collect();
        let plan = Self {
            needs: shown.and(needs_of_filter(&filter)),
            is_plain: is_plain(args, &settings),
            format: args.format,
            chosen_columns: args.table.columns.is_some(),
            from: args.source.from.clone(),
            at: parse_at(args.source.at.as_deref())?,
            history: settings.history_config(settings.ui.delta),
            filter,
            by: args.by,
            tree: args.tree,
            sort: settings.ui.sort,
            descending: settings.ui.descending,
            top: args.top.map(|n| n as usize),
            options,
            percent: args.percent,
            total_only: args.total_only,
            every: args.every.is_some().then_some(settings.sampler.interval),
            count: args.count,
            all: args.all,
            sampling: scan_options(&settings.sampler, args.paths.proc_root.as_deref()),
        };
        plan.check()
    }

    /// Refuses options that contradict each other.
    fn check(self) -> Result<Self, UsageError> {
        let sort = self.sort.get();
        if self.every.is_some() && self.format == Format::Json {
            let what = "json is one object; with --every write ndjson, one a line";
            return Err(UsageError::option("--format", what));
        }
        if self.format != Format::Table {
            let table_only = [(self.percent, "--percent"), (self.options.bars.is_some(), "--bars")];
            if let Some((_, option)) = table_only.into_iter().find(|(on, _)| *on) {
                return Err(UsageError::option(
                    option,
                    "is for tables; other formats have plain figures",
                ));
            }
        }
        if self.from.is_some() && self.by == Some(GroupBy::Mapping) {
            return Err(UsageError::option("--by", "mappings are not in a file of snapshots"));
        }
        if self.every.is_none()
            && self.from.is_none()
            && let Some(column) = self.over_time()
        {
            let what = format!(
                "{} takes more than one snapshot: add --every or --from",
                column.get().id
            );
            return Err(UsageError::option("--columns, --sort", what));
        }
        if self.total_only && !(sort.unit == Unit::Bytes && sort.additive) {
            let what = format!("--total-only sums bytes, which {} does not count", sort.id);
            return Err(UsageError::option("--sort", what));
        }
        if self.options.bars.is_some() && sort.unit == Unit::Text {
            return Err(UsageError::option(
                "--bars",
                format!("{} is no figure to draw", sort.id),
            ));
        }
        Ok(self)
    }

    /// Returns a scanner that reads what is wanted; for a format that holds whole snapshots all that belongs into one.
    pub(super) fn scanner(&self) -> Scanner {
        let mut scanner = Scanner::new(&self.sampling);
        let whole = match self.format {
            Format::Json | Format::Ndjson => Needs::ACCOUNT,
            _ => Needs::NOTHING,
        };
        scanner.set_needs(self.needs.and(whole));
        scanner
    }

    /// Returns a column asked for that one snapshot cannot fill.
    fn over_time(&self) -> Option<ColumnId> {
        let possible: Vec<ColumnId> = table::columns_of_one_snapshot().collect();
        let mut asked = self.options.columns.iter().chain([&self.sort]).copied();
        asked.find(|c| !possible.contains(c))
    }

    /// Returns the query of a snapshot.
    pub(super) fn query(&self) -> Query<'_> {
        Query {
            by: self.by,
            tree: self.tree,
            sort: self.sort,
            descending: self.descending,
            top: self.top,
            ..Query::new(&self.filter)
        }
    }

    /// Returns the options of one snapshot's table.
    pub(super) fn table(&self, rows: &Rows<'_>) -> TableOptions {
        let ram = rows.snapshot().system.mem_total.ok().filter(|_| self.percent);
        let mut options = TableOptions {
            percent_of: ram,
            ..self.options.clone()
        };
        // Why rows have no figures stands beside them where there is room.
        let hidden = |shown: ShownRow<'_>| {
            shown
                .row
                .sample
                .is_some_and(|s| s.walk.is_err_and(Missing::hides_memory))
        };
        if !self.chosen_columns && options.style.width.is_some_and(|w| w >= WIDE) && rows.shown().any(hidden) {
            let last = options.columns.len() - 1;
            options.columns.insert(last, layout::UNREAD);
        }
        options
    }
}

/// Least width of a terminal that has room for reasons.
const WIDE: usize = 100;

/// Returns the settings of the configuration with the options over them.
fn configure(args: &PsArgs, env: &Env) -> Result<Settings, UsageError> {
    let mut settings = Settings::load(args.paths.config.as_deref(), env)?;
    // The monitor's own order and filter are not those of a table that scripts read.
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
    // A sum alone is for scripts.
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

/// Returns true if the table is a plain one, which a one-shot scan may serve.
fn is_plain(args: &PsArgs, settings: &Settings) -> bool {
    let is_single = args.every.is_none() && args.source.from.is_none();
    let is_listed = args.by.is_none() && !args.percent && !args.tree && settings.ui.filter.trim().is_empty();
    is_single && is_listed && matches!(args.format, Format::Table | Format::Csv)
}
