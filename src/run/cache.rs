//! `zmtop cache`: the files that fill the page cache.

use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use super::report::{Wanted, resolve, wanted};
use super::runtime::Progress as ProgressLine;
use super::{Failure, complain, print};
use crate::cli::{Exit, Format, ProcessArg, ReportArgs, UsageError};
use crate::columns::cached_file::{self, COLUMNS, CachedRow};
use crate::columns::{Value, layout};
use crate::config::Env;
use crate::model::Missing;
use crate::output::cache::cache_report;
use crate::proc::cgroup::figures;
use crate::proc::cgroup::scope::Place;
use crate::proc::files;
use crate::sampler::page_cache::{self, MAX_FILES, Named};
use crate::sampler::{self, Options};
use crate::text::safe;
use crate::units::counted;

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "zmtop opens files, but does not read their content. It does not follow links or enter other file \
                  systems. Exit code 3 if a named process or path could not be read."
)]
pub struct CacheArgs {
    /// List the files of these processes (pid, program's name, or a part of the command line) or cgroups, and these files and
    /// directories; by default, the files that any process has open or mapped
    #[arg(value_name = "PID|PATH|CGROUP")]
    pub named: Vec<PathBuf>,
    /// List and sum only files that match: words of the path, 'cached>10M', 'share<50', /re/, ! (not), | (or)
    #[arg(long, value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Examine at most N files, the largest ones
    #[arg(long, value_name = "N", default_value_t = MAX_FILES, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_files: u32,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// Minimum time between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of unreadable paths that are named.
const NAMED: usize = 5;

pub(super) fn run(args: &CacheArgs, env: &Env) -> Result<Exit, Failure> {
    let Wanted {
        options,
        filter,
        mut layout,
    } = wanted(&args.report, &args.filter, COLUMNS, layout::cache, "cached", env)?;
    let named = args.named.iter().map(|typed| named(typed, &options));
    let named = named.collect::<Result<Vec<_>, _>>()?;
    sampler::make_room();
    let (mut line, mut shown) = (ProgressLine::new(), Instant::now());
    let found = page_cache::read(&options, &named, args.max_files as usize, |progress| {
        if shown.elapsed() >= PROGRESS_INTERVAL {
            shown = Instant::now();
            line.show(|| progress.to_string());
        }
        ControlFlow::Continue(())
    });
    drop(line);
    let found = found.map_err(cached_file::unread)?;
    let rows = found.files.iter().map(|file| CachedRow::new(file, found.page));
    let rows: Vec<_> = rows.filter(|row| filter.matches(row)).collect();
    if args.report.format == Format::Table && args.report.table.columns.is_none() {
        // Most machines have nothing to say there.
        let says = |id, value: &Value<'_>| match value {
            Value::Text(text) => id != "kind" || **text != *b"cache",
            value => value.number().is_some_and(|n| n > 0.0),
        };
        layout.columns.retain(|column| {
            let is_optional = matches!(column.id, "writeback" | "kind" | "deleted" | "unread");
            !is_optional || rows.iter().any(|row| says(column.id, &(column.value)(row)))
        });
    }
    let total = CachedRow::total(&rows, found.page);
    let report = cache_report(&found, (&rows, &total), layout);
    let is_whole = complain_of_unread(&found.unread_processes, &found.unread_paths, &named);
    Ok(match print(&report, args.report.format) {
        Exit::Done if !is_whole => Exit::Unread,
        exit => exit,
    })
}

/// Returns what an argument names: a pid, a path, a cgroup, or a process, in this order.
fn named(typed: &Path, options: &Options) -> Result<Named, Failure> {
    let bytes = typed.as_os_str().as_bytes();
    if !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit) {
        let pid = typed.to_string_lossy().parse::<ProcessArg>();
        let pid = pid.map_err(|what| UsageError::option("PID", what))?;
        let pids = resolve("PID", &[pid], options)?;
        return Ok(Named::Process(pids[0]));
    }
    let shown = safe(bytes);
    let cgroup = |path: &[u8]| Place::chosen(Arc::new(figures::mounts(&options.roots())?), path);
    match std::fs::metadata(typed) {
        Ok(found) if found.is_dir() => {
            let mounts = figures::mounts(&options.roots());
            let is_cgroup = mounts.is_ok_and(|mounts| mounts.path(bytes).is_some());
            let place = is_cgroup.then(|| cgroup(bytes).ok()).flatten();
            Ok(place.map_or_else(|| Named::Path(typed.into()), Named::Cgroup))
        }
        Ok(found) if found.is_file() => Ok(Named::Path(typed.into())),
        Ok(found) => {
            let kind = found.file_type();
            let kind = match (kind.is_fifo(), kind.is_socket()) {
                (true, _) => "a pipe",
                (_, true) => "a socket",
                _ => "a device",
            };
            Err(UsageError::option(
                "PATH",
                format!("{shown} is {kind}, which has no pages in the page cache"),
            )
            .into())
        }
        // A file in a folder that zmtop may not enter may exist.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(Named::Path(typed.into())),
        Err(_) => match (bytes.contains(&b'/'), cgroup(bytes)) {
            (_, Ok(place)) => Ok(Named::Cgroup(place)),
            (true, Err(_)) => Err(format!("there is no file and no cgroup {shown}").into()),
            (false, Err(_)) => {
                let name = ProcessArg::Name(typed.to_string_lossy().into());
                Ok(Named::Process(resolve("PID", &[name], options)?[0]))
            }
        },
    }
}

/// Reports on stderr which arguments could not be listed. Returns true if all could be.
fn complain_of_unread(processes: &[(u32, Missing)], paths: &[(Box<[u8]>, Missing)], named: &[Named]) -> bool {
    let is_named = |pid: u32| named.contains(&Named::Process(pid));
    for (pid, why) in processes.iter().filter(|(pid, _)| is_named(*pid)) {
        complain(&match why {
            Missing::Gone => format!("{pid}: no such process"),
            Missing::Denied => format!("{pid}: {}", files::advice("CAP_SYS_PTRACE")),
            why => format!("{pid}: {why}"),
        });
    }
    for (path, why) in paths.iter().take(NAMED) {
        complain(&format!("{}: {why}", safe(path)));
    }
    if let more @ 1.. = paths.len().saturating_sub(NAMED) {
        complain(&format!(
            "and {} more could not be listed",
            counted(more as u64, "path")
        ));
    }
    paths.is_empty() && !processes.iter().any(|(pid, _)| is_named(*pid))
}
