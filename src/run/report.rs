//! Resolves the options of a report: its filter, its columns and order, and the processes named on the command line.

use std::collections::HashSet;
use std::fmt::Write;

use super::{Failure, output_style, sampler_options, settings, snapshot};
use crate::cli::{Format, ProcessArg, ReportArgs, UsageError, check_filter};
use crate::columns::{COLUMNS, Column, ColumnId, Needs, TableKind, named, needs_of_filter};
use crate::config::{Env, unknown};
use crate::filter::Filter;
use crate::group::{GroupBy, GroupNames};
use crate::model::ProcessSample;
use crate::output::report_layout::ReportLayout;
use crate::query::RowSource;
use crate::sampler::{Options, Scanner};
use crate::text;

/// Maximum number of processes listed in an error: about a screenful.
const LISTED: usize = 16;
/// Maximum width of a command line in that list. With a pid and the margin it fits in 80 columns.
const COMMAND_WIDTH: usize = 64;

pub(super) struct Wanted<T: TableKind> {
    pub(super) options: Options,
    pub(super) filter: Filter,
    pub(super) layout: ReportLayout<T>,
}

/// Resolves the options of a report. Without `--columns`, a table has the columns of `usual`, and other formats have all.
/// Sorts by `key` unless `--sort` says otherwise.
pub(super) fn wanted<T: TableKind>(
    args: &ReportArgs,
    filter: &[String],
    known: &'static [Column<T>],
    usual: impl FnOnce() -> Vec<&'static Column<T>>,
    key: &str,
    env: &Env,
) -> Result<Wanted<T>, UsageError> {
    let settings = settings(args.paths.config.as_deref(), &args.table.units, env)?;
    let find = |option, id: &str| {
        named(known, id).map(|at| &known[at]).ok_or_else(|| {
            let known = known.iter().map(|column| column.id);
            UsageError::option(option, unknown("column", id, known))
        })
    };
    let columns = match &args.table.columns {
        Some(typed) => {
            let ids = typed.split(',').map(|id| find("--columns", id.trim()));
            ids.collect::<Result<Vec<_>, _>>()?
        }
        None if args.format == Format::Table => usual(),
        None => known.iter().collect(),
    };
    let key = args.table.sort.as_deref().unwrap_or(key);
    let sort = find("--sort", key.strip_prefix('-').unwrap_or(key))?;
    let filter = check_filter("FILTER", &filter.join(" "), &known)?;
    Ok(Wanted {
        options: sampler_options(&settings.sampler, args.paths.proc_root.as_deref()),
        filter,
        layout: ReportLayout {
            columns,
            sort,
            descending: (sort.ascending == key.starts_with('-')) != args.table.reverse,
            top: args.top.map(|n| n as usize),
            style: output_style(settings.ui.units, args.table.color.no_color, env),
        },
    })
}

/// Returns the pids of these processes, in the order given. `option` is the option they were typed for.
pub(super) fn resolve(option: &'static str, processes: &[ProcessArg], options: &Options) -> Result<Vec<u32>, Failure> {
    find(processes, options, |name, found| Ok(vec![one(option, name, found)?]))
}

/// Returns the pids of these processes, each once. A name selects all processes that match it.
#[cfg(feature = "code")]
pub(super) fn resolve_all(processes: &[ProcessArg], options: &Options) -> Result<Vec<u32>, Failure> {
    let mut pids = find(processes, options, |_, found| {
        Ok(found.iter().map(|sample| sample.id.pid).collect())
    })?;
    let mut seen = HashSet::new();
    pids.retain(|pid| seen.insert(*pid));
    Ok(pids)
}

/// Returns the pids of these processes, in the order given: of a name or a filter, those that `choose` returns of all that match
/// it.
fn find(
    processes: &[ProcessArg],
    options: &Options,
    choose: impl Fn(&str, &[&ProcessSample]) -> Result<Vec<u32>, Failure>,
) -> Result<Vec<u32>, Failure> {
    let filters = processes.iter().filter_map(|process| match process {
        ProcessArg::Filter(typed) => Some(check_target(typed)),
        ProcessArg::Pid(_) | ProcessArg::Name(_) => None,
    });
    let filters = filters.collect::<Result<Vec<_>, _>>()?;
    let needs: Needs = filters.iter().map(needs_of_filter).collect();
    let mut filters = filters.iter();
    let (mut snapshot, mut pids) = (None, Vec::new());
    for process in processes {
        let (typed, filter) = match process {
            ProcessArg::Pid(pid) => {
                pids.push(*pid);
                continue;
            }
            ProcessArg::Name(name) => (name, None),
            ProcessArg::Filter(typed) => (typed, filters.next()),
        };
        let snapshot = match &mut snapshot {
            Some(snapshot) => snapshot,
            none => {
                let mut scanner = Scanner::new(options);
                scanner.set_needs(needs);
                none.insert(snapshot::scan(scanner)?)
            }
        };
        if let Err(why) = &snapshot.processes {
            return Err(format!("the processes cannot be listed: {why}").into());
        }
        let own = options.roots().is_own().then(std::process::id);
        let found = match filter {
            Some(filter) => {
                let source = RowSource::new(snapshot, None);
                let rows = snapshot.rows().iter();
                let rows = rows.filter(|sample| Some(sample.id.pid) != own && !sample.stat.is_kernel_thread());
                rows.filter(|sample| filter.matches(&source.process(sample))).collect()
            }
            None => matching(typed, snapshot.rows(), own),
        };
        if found.is_empty() {
            return Err(nothing_matches(typed, filter.is_some()).into());
        }
        pids.extend(choose(typed, &found)?);
    }
    Ok(pids)
}

/// Parses a filter that selects processes on the command line. It must be answerable from one snapshot.
fn check_target(typed: &str) -> Result<Filter, UsageError> {
    let filter = check_filter("PROCESS", typed, &COLUMNS)?;
    let mut columns = filter.columns().into_iter().map(|at| ColumnId(at).get());
    match columns.find(|column| column.needs.is_beyond_one_snapshot()) {
        Some(column) => {
            let what = format!(
                "{} needs more than one snapshot: select processes by other columns",
                column.id
            );
            Err(UsageError::option("PROCESS", what))
        }
        None => Ok(filter),
    }
}

/// Returns the error for a name or a filter that selects no process. If it may be intended as a filter, the error has the
/// filter's fault.
fn nothing_matches(typed: &str, is_filter: bool) -> String {
    let shown = text::safe(typed.as_bytes());
    if is_filter {
        return format!("no process matches `{shown}`");
    }
    let error = typed
        .contains([':', '<', '>', '='])
        .then(|| Filter::parse(typed, &COLUMNS).err())
        .flatten();
    let fault = error.map(|error| format!(", and it is not a filter: {}", error.in_lines(typed)));
    format!(
        "no process is named `{shown}`, or has that in its command line{}",
        fault.unwrap_or_default()
    )
}

/// Returns the pid of the only process that matches.
fn one(option: &'static str, name: &str, found: &[&ProcessSample]) -> Result<u32, Failure> {
    match found {
        [only] => Ok(only.id.pid),
        several => {
            let shown = text::safe(name.as_bytes());
            let mut what = format!("{} processes match `{shown}`; name one by its pid:", several.len());
            for sample in several.iter().take(LISTED) {
                let command = sample.facts.short_command();
                let command = text::safe_prefix(&command, COMMAND_WIDTH);
                let command = text::fit(&command, text::width(&command).min(COMMAND_WIDTH), text::Align::Left);
                let _ = write!(what, "\n  {:>7}  {command}", sample.id.pid);
            }
            if let more @ 1.. = several.len().saturating_sub(LISTED) {
                let _ = write!(what, "\n  and {more} more");
            }
            Err(UsageError::option(option, what).into())
        }
    }
}

/// Returns the processes whose program has that name. If there are none, those whose command line contains it.
fn matching<'a>(name: &str, rows: &'a [ProcessSample], own: Option<u32>) -> Vec<&'a ProcessSample> {
    let names = GroupNames::new(rows);
    let is_named = |sample: &&ProcessSample| {
        let program = names.name_of(sample, GroupBy::Command).unwrap_or_default();
        // For `python3 leak.py`, accept the interpreter's name as well as the script's.
        let before = program.strip_suffix(name.as_bytes());
        *sample.facts.comm == *name.as_bytes() || before.is_some_and(|rest| matches!(rest.last(), None | Some(b' ')))
    };
    let exact: Vec<_> = rows
        .iter()
        .filter(|sample| Some(sample.id.pid) != own)
        .filter(is_named)
        .collect();
    if !exact.is_empty() {
        return exact;
    }
    // Exclude zmtop and the sudo, watch or shell that runs it, since their command lines contain the name.
    let callers = callers(rows, own);
    let wanted = name.to_lowercase();
    let has_it = |sample: &&ProcessSample| {
        let command = sample.facts.command();
        sample.facts.cmdline.is_ok() && String::from_utf8_lossy(&command).to_lowercase().contains(&wanted)
    };
    let others = rows.iter().filter(|sample| !callers.contains(&sample.id.pid));
    others.filter(has_it).collect()
}

/// Returns the pids of a process and its ancestors.
fn callers(rows: &[ProcessSample], own: Option<u32>) -> HashSet<u32> {
    let mut pids = HashSet::new();
    let mut next = own;
    while let Some(pid) = next.filter(|pid| pids.insert(*pid)) {
        let at = rows.binary_search_by_key(&pid, |sample| sample.id.pid);
        next = at.ok().map(|at| rows[at].stat.ppid);
    }
    pids
}
