//! Finds the processes that a command line names.

use std::collections::HashSet;
use std::fmt::Write;

use super::{Failure, snapshot};
use crate::cli::{ProcessArg, UsageError};
use crate::group::{GroupBy, GroupNames};
use crate::model::{ProcessSample, Snapshot};
use crate::sampler::{Options, Scanner};
use crate::text;

/// Maximum number of processes that an error lists: a screenful, with room for the question.
const LISTED: usize = 16;
/// Maximum width of a command line in that list: with a pid and the margin it fits 80 columns.
const COMMAND_WIDTH: usize = 64;

/// Returns the pids of these processes, in the order asked. `option` is what they were typed as.
///
/// # Errors
/// None or several are of that name.
pub(super) fn resolve(option: &'static str, processes: &[ProcessArg], options: &Options) -> Result<Vec<u32>, Failure> {
    let mut snapshot = None;
    let mut pid = |process: &ProcessArg| match process {
        ProcessArg::Pid(pid) => Ok(*pid),
        ProcessArg::Name(name) => {
            let snapshot = match &mut snapshot {
                Some(snapshot) => snapshot,
                none => none.insert(snapshot::scan(Scanner::new(options))?),
            };
            let own = options.roots().is_own().then(std::process::id);
            one(option, name, snapshot, own)
        }
    };
    processes.iter().map(&mut pid).collect()
}

/// Returns the only process of that name.
fn one(option: &'static str, name: &str, snapshot: &Snapshot, own: Option<u32>) -> Result<u32, Failure> {
    if let Err(why) = &snapshot.processes {
        return Err(format!("the processes cannot be listed: {why}").into());
    }
    let shown = text::safe(name.as_bytes());
    match matching(name, snapshot.rows(), own).as_slice() {
        [] => Err(format!("no process is named `{shown}`, or has that in its command line").into()),
        [only] => Ok(only.id.pid),
        several => {
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

/// Returns the processes whose program has that name; where there are none, those with it in their command line.
fn matching<'a>(name: &str, rows: &'a [ProcessSample], own: Option<u32>) -> Vec<&'a ProcessSample> {
    let names = GroupNames::new(rows);
    let is_named = |sample: &&ProcessSample| {
        let program = names.name_of(sample, GroupBy::Command).unwrap_or_default();
        // Of `python3 leak.py`, which an interpreter runs, either will do.
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
    // The name stands in the command line of zmtop, and of the sudo, watch or shell that runs it.
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
