//! `zmtop limits`: the memory that cgroups needed in a recording, and the limits to set.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;

use super::report::{Wanted, wanted};
use super::runtime::Progress;
use super::{Failure, black_box, complain, print, written};
use crate::cli::{Exit, Format, ReportArgs, UsageError, one_of};
use crate::columns::layout;
use crate::columns::limit::{COLUMNS, LimitRow};
use crate::config::Env;
use crate::group::GroupBy;
use crate::limits::Limits;
use crate::output::limits::{Recorded, limits_report, paste};
use crate::source::{Source, span};
use crate::units::{self, parse_span};

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    mut_arg("proc_root", |arg| arg.hide(true)),
    after_help = "The need is the memory that must stay in RAM or in swap. File cache does not count, because the \
                  kernel frees it before it kills a process. If the recording has no figures of the cgroup, the need \
                  is the sum of the footprints of its processes. To record the figures, run zmtop record, or \
                  zmtop ps --every 10 --format ndjson --sort cg_stays.\n\nRequest: the 99th percentile of the need. \
                  Limit: the peak of the need, plus the expected growth over as much time as was recorded, plus a \
                  margin. The margin is 15 % of the peak after a recording of a week, 25 % after a day, 50 % after an \
                  hour, else 100 %; at least 16M. Soft limit: the same with half the margin. A limit is uncertain if a \
                  process was killed, if the need grows, if the present limit held it back, or if less than a day was \
                  recorded.\n\nExit code 3 if the recording could not be read."
)]
pub struct LimitsArgs {
    /// The recording: a file or folder of zmtop record, or a file of ps --format ndjson; - is standard input. Default: the black
    /// box
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Use only the last part of the recording, such as 7d
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// List only units, containers, pods, or other cgroups
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub by: Option<GroupBy>,
    /// List only rows that match: words of the name, 'peak>1G', 'near>80', unit:NAME, container:NAME, /re/, ! (not), | (or)
    #[arg(long, value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Print only the lines to paste into a configuration. Uncertain ones are commented out
    #[arg(long, conflicts_with_all = ["format", "columns"])]
    pub paste: bool,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// The kinds of cgroups that are followed.
pub(crate) const KINDS: [GroupBy; 4] = [GroupBy::Unit, GroupBy::Container, GroupBy::Pod, GroupBy::Cgroup];

fn kind(typed: &str) -> Result<GroupBy, String> {
    one_of(&KINDS, typed)
}

pub(super) fn run(args: &LimitsArgs, env: &Env) -> Result<Exit, Failure> {
    let Wanted { filter, mut layout, .. } = wanted(&args.report, &args.filter, COLUMNS, layout::limits, "peak", env)?;
    let path = args.file.clone().map_or_else(|| black_box::find(env), Ok)?;
    let since = since(args, &path)?;
    let (limits, host_count) = read(&path, since)?;
    let recorded = Recorded {
        time: limits.recorded(),
        snapshots: limits.snapshots(),
        left_out: limits.left_out(),
    };
    let mut findings = limits.findings();
    findings.retain(|found| args.by.is_none_or(|by| found.by == by) && filter.matches(&LimitRow(Some(found))));
    if args.paste {
        let rows: Vec<_> = findings.iter().map(|found| LimitRow(Some(found))).collect();
        let mut out = io::stdout().lock();
        let mut lines = layout
            .shown(&rows)
            .into_iter()
            .map(|at| paste(&findings[at], layout.style.units));
        return Ok(written(lines.try_for_each(|line| out.write_all(line.as_bytes()))));
    }
    let is_usual = args.report.format == Format::Table && args.report.table.columns.is_none();
    if is_usual {
        let has_limit = findings.iter().any(|found| matches!(found.limit.bytes, Ok(Some(_))));
        let is_mixed = findings.windows(2).any(|two| two[0].by != two[1].by);
        layout.columns.retain(|column| match column.id {
            "limit" | "near" => has_limit,
            "kind" => is_mixed,
            _ => true,
        });
    }
    if is_usual && host_count > 1 {
        let host = COLUMNS.iter().find(|column| column.id == "host");
        let before_name = layout.columns.len() - 1;
        layout.columns.splice(before_name..before_name, host);
    }
    let rows: Vec<_> = findings.iter().map(|found| LimitRow(Some(found))).collect();
    let total = LimitRow(None);
    Ok(print(
        &limits_report(&recorded, (&rows, &total), layout, is_usual),
        args.report.format,
    ))
}

/// Returns the time from which snapshots count.
fn since(args: &LimitsArgs, path: &std::path::Path) -> Result<Option<SystemTime>, Failure> {
    let Some(typed) = &args.since else { return Ok(None) };
    let Some(length) = parse_span(typed) else {
        let what = "expected a duration, such as 7d";
        return Err(UsageError::option("--since", what).into());
    };
    if path.as_os_str() == "-" {
        let what = "the end of standard input is not known in advance; name a FILE";
        return Err(UsageError::option("--since", what).into());
    }
    let (_, last) = span(path).map_err(|error| error.to_string())?;
    Ok(last.checked_sub(length))
}

/// Reads the record. Damage is reported and skipped. Returns the number of hosts too, at most 2.
fn read(path: &std::path::Path, since: Option<SystemTime>) -> Result<(Limits, usize), Failure> {
    let source = Source::open(path).map_err(|error| error.to_string())?;
    let name = source.name().to_owned();
    let mut limits = Limits::default();
    let mut progress = Progress::new();
    let (mut host, mut hosts) = (None, 1);
    for found in source {
        match found {
            Ok(snapshot) if since.is_some_and(|since| snapshot.time <= since) => {}
            Ok(snapshot) => {
                limits.push(&snapshot);
                if limits.snapshots() % 500 == 0 {
                    progress.show(|| format!("read {} of {name}", units::span(limits.recorded())));
                }
                let first = host.get_or_insert_with(|| snapshot.host.clone());
                if *first != snapshot.host {
                    hosts = 2;
                }
            }
            // Use what can be read.
            Err(error) if !error.ends() || limits.snapshots() > 0 => complain(&error.to_string()),
            Err(error) => return Err(error.to_string().into()),
        }
    }
    if limits.snapshots() == 0 {
        return Err(format!("{name} holds no snapshot").into());
    }
    Ok((limits, hosts))
}
