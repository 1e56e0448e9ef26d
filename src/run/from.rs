//! `--from FILE`: what was written to a file, at one moment of it.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::complain;
use crate::history::{History, HistoryConfig};
use crate::model::Snapshot;
use crate::source::{At, Source, span};

/// The file's last snapshot, or the last one not after `at`, with the history of those before it, kept
/// as `config` says. Damage is told of, and passed over where what is whole can be used.
pub(super) fn read(path: &Path, at: Option<&At>, config: &HistoryConfig) -> Result<(Arc<Snapshot>, History), String> {
    let until = at.map(|at| moment(path, at)).transpose()?;
    let mut history = History::with_config(*config);
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
    last.map(|last| (last, history)).ok_or_else(|| match first {
        Some(first) => format!("{name} begins later, at {}", super::clock::local(first)),
        None => format!("{name} holds no snapshot"),
    })
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
