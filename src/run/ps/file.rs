//! `zmtop ps --from FILE`: what was written to a file, at one moment of it.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::plan::Plan;
use super::readable;
use super::tell::Teller;
use crate::cli::Exit;
use crate::model::{History, Snapshot};
use crate::run::{complain, written};
use crate::sampler::source::{At, Source, span};

/// Shows the file's last snapshot, or the last one not after `at`, with the history of those before it.
pub(super) fn run(plan: &Plan, path: &Path, at: Option<&At>) -> Result<Exit, String> {
    let until = at.map(|at| moment(path, at)).transpose()?;
    let mut history = History::new(plan.delta);
    let mut last: Option<Arc<Snapshot>> = None;
    let mut first = None;
    let source = Source::open(path).map_err(|error| error.to_string())?;
    let name = source.name().to_owned();
    for found in source {
        match found {
            Ok(snapshot) => {
                first.get_or_insert(snapshot.time);
                if until.is_some_and(|until| snapshot.time > until) {
                    // It may go back: a file may be of several hosts, or the clock was set.
                    continue;
                }
                history.push(&snapshot);
                last = Some(snapshot);
            }
            // The rest is used.
            Err(error) if !error.ends() || last.is_some() => complain(&error.to_string()),
            Err(error) => return Err(error.to_string()),
        }
    }
    let Some(snapshot) = last else {
        return Err(match first {
            Some(first) => format!("{name} begins later, at {}", super::clock::local(first)),
            None => format!("{name} holds no snapshot"),
        });
    };
    let snapshot = readable(snapshot)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let told = Teller::new(plan).tell(&mut out, &snapshot, Some(&history));
    Ok(written(told.and_then(|()| out.flush())))
}

fn moment(path: &Path, at: &At) -> Result<SystemTime, String> {
    if !at.needs_last() {
        return Ok(at.resolve(SystemTime::UNIX_EPOCH));
    }
    if path == Path::new("-") {
        return Err("--at: where standard input ends is not known before; write a whole time".into());
    }
    let (_, last) = span(path).map_err(|error| error.to_string())?;
    Ok(at.resolve(last))
}
