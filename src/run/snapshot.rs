//! Obtains snapshots for the one-shot commands: one scan of this machine, or a file.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::{Timestamp, TimestampRound, Unit};

use super::runtime::run_on;
use super::{Failure, complain};
use crate::cli::UsageError;
use crate::config::settings::SamplerSettings;
use crate::filter::Filter;
use crate::history::{History, HistoryConfig};
use crate::model::Snapshot;
use crate::query::choose;
use crate::sampler::{self, Options, Policy, Scanner};
use crate::source::{At, Source, span};

/// Returns the options of a scan that reads everything, regardless of the monitor's CPU budget.
pub(super) fn scan_options(settings: &SamplerSettings, proc_root: Option<&Path>) -> Options {
    Options {
        policy: Policy::UNLIMITED,
        ..super::sampler_options(settings, proc_root)
    }
}

pub(super) fn scan(scanner: Scanner) -> Result<Arc<Snapshot>, Failure> {
    scan_again_if(scanner, |_| false)
}

/// Reads this machine once, and a second time if the first snapshot shows that more data is needed.
pub(super) fn scan_again_if(
    mut scanner: Scanner,
    has_more: impl Fn(&Snapshot) -> bool,
) -> Result<Arc<Snapshot>, Failure> {
    sampler::make_room();
    run_on(tokio::runtime::Builder::new_current_thread().enable_all(), async {
        let first = scanner.full().await;
        Ok(if has_more(&first) { scanner.full().await } else { first })
    })
}

pub(super) fn parse_at(typed: Option<&str>) -> Result<Option<At>, UsageError> {
    let at = typed.map(At::parse).transpose();
    at.map_err(|error| UsageError::option("--at", error.to_string()))
}

/// Returns the file's last snapshot, or the last one not after `at`, with the history of the earlier ones: of all of a file of
/// lines, of at least `past` of a recording, which may hold months. The history covers the processes that match the words of the
/// filter. Damage is reported. Damaged parts are skipped if the rest is usable.
///
/// # Errors
/// There is no such snapshot.
pub(super) fn read(
    path: &Path,
    at: Option<&At>,
    past: Duration,
    config: &HistoryConfig,
    chosen_by: &Filter,
) -> Result<(Arc<Snapshot>, History), Failure> {
    let until = at.map(|at| resolve(path, at)).transpose()?;
    let mut history = History::with_config(*config);
    let mut last: Option<Arc<Snapshot>> = None;
    let mut first = None;
    let source = Source::open_before(path, until, past).map_err(|error| error.to_string())?;
    let name = source.name().to_owned();
    for found in source {
        match found {
            Ok(snapshot) => {
                first.get_or_insert(snapshot.time);
                if until.is_some_and(|until| snapshot.time > until) {
                    // Time may go backwards if the file contains several hosts or the clock was set.
                    continue;
                }
                history.push_chosen(&snapshot, |sample| choose(chosen_by, sample, &snapshot));
                last = Some(snapshot);
            }
            // Use what can be read.
            Err(error) if !error.ends() || last.is_some() => complain(&error.to_string()),
            Err(error) => return Err(error.to_string().into()),
        }
    }
    last.map(|last| (last, history)).ok_or_else(|| nothing(&name, first))
}

/// Returns the failure that a recording has no snapshot at the requested time; `first` is the time of its first snapshot.
pub(super) fn nothing(name: &str, first: Option<SystemTime>) -> Failure {
    Failure::Unread(match first {
        Some(first) => format!("{name} begins later, at {}", local_time(first)),
        None => format!("{name} holds no snapshot"),
    })
}

/// Returns the time in a file to which `--at` refers.
///
/// # Errors
/// The end of the file must be known for it, and is not.
pub(super) fn resolve(path: &Path, at: &At) -> Result<SystemTime, String> {
    if !at.needs_last() {
        return Ok(at.resolve(SystemTime::UNIX_EPOCH));
    }
    if path == Path::new("-") {
        return Err("--at: the end of standard input is not known in advance; write a full time".into());
    }
    let (_, last) = span(path).map_err(|error| error.to_string())?;
    Ok(at.resolve(last))
}

/// Formats a time in the user's time zone, to a tenth of a second: `2026-11-20 23:51:00.1 +01:00`.
pub(super) fn local_time(time: SystemTime) -> String {
    let Ok(stamp) = Timestamp::try_from(time) else {
        return String::new();
    };
    let tenth = stamp.round(TimestampRound::new().smallest(Unit::Millisecond).increment(100));
    let zoned = tenth.unwrap_or(stamp).to_zoned(crate::zone::local());
    zoned.strftime("%Y-%m-%d %H:%M:%S%.1f %:z").to_string()
}

/// Formats the time of day in the user's time zone: `23:51:00`.
pub(super) fn clock_time(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(
        |_| String::new(),
        |stamp| stamp.to_zoned(crate::zone::local()).strftime("%H:%M:%S").to_string(),
    )
}
