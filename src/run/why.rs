//! `zmtop why`: explains what happened to memory in a recording.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use jiff::tz::TimeZone;

use super::snapshot::{self, local_time, parse_at};
use super::{Failure, black_box, complain, output_style, print, settings};
use crate::cli::{Exit, Format, OutputArgs};
use crate::config::Env;
use crate::model::Snapshot;
use crate::output::why::WhyReport;
use crate::record::{Incident, IncidentKind, PRECISION};
use crate::source::{Group, Recording, Source};
use crate::why::Why;
use crate::why::explanation::{Event, EventKind};

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "An event is a kill because memory was short, a reboot, a stall, or a limit less than a minute ahead. \
                        Without --at, the last kill or reboot is explained, or else the last of the others."
)]
pub struct WhyArgs {
    /// The recording, as ps --format ndjson writes it, plain or zstd; - is standard input. Without it: the black box of the monitor
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Explain the event nearest to this time, or the memory at it: 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m (10 minutes before the end)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<String>,
    #[command(flatten)]
    pub output: OutputArgs<Format>,
}

/// Reads the recording once, and writes the explanation.
pub(super) fn run(args: &WhyArgs, env: &Env) -> Result<Exit, Failure> {
    let at = parse_at(args.at.as_deref())?;
    let settings = settings(args.output.config.as_deref(), &args.output.units, env)?;
    let path = args.file.clone().map_or_else(|| black_box::find(env), Ok)?;
    let at = at.map(|at| snapshot::resolve(&path, &at)).transpose()?;
    let index = (path.as_os_str() != "-").then(|| Recording::open(&path));
    let index = index.transpose().map_err(|error| error.to_string())?;
    // The incidents lead to the part to read, which may be a small one of a month.
    let part = index.filter(Recording::has_incidents).map(|index| Part::new(index, at));
    let source = match &part {
        Some(part) => part.index.read_from(part.from),
        None => Source::open(&path).map_err(|error| error.to_string())?,
    };
    let until = part.as_ref().map(|part| part.until);
    let name = source.name().to_owned();
    let mut why = Why::new(settings.history_config(settings.ui.delta), at);
    let mut first = None;
    for found in source {
        match found {
            Ok(snapshot) if until.is_some_and(|until| snapshot.time > until) => break,
            Ok(snapshot) => {
                first.get_or_insert(snapshot.time);
                why.push(&snapshot);
            }
            // Use what can be read.
            Err(error) if !error.ends() || first.is_some() => complain(&error.to_string()),
            Err(error) => return Err(error.to_string().into()),
        }
    }
    if let Some(part) = &part {
        for snapshot in part.peaks() {
            why.add_brief(&snapshot);
        }
        why.add_index(part.index.span(), part.others());
    }
    let explanation = why.finish().ok_or_else(|| match first {
        Some(first) => format!("{name} begins later, at {}", local_time(first)),
        None => format!("{name} holds no snapshot"),
    })?;
    let report = WhyReport {
        explanation: &explanation,
        zone: TimeZone::system(),
        style: output_style(settings.ui.units, args.output.color.no_color, env),
    };
    Ok(print(&report, args.output.format))
}

/// Time before an event that is read, for what had grown.
const BEFORE: Duration = Duration::from_secs(70 * 60);
/// Time after it.
const AFTER: Duration = Duration::from_secs(10 * 60);

/// Maximum number of other groups that are read for the processes that came and went.
const PEAKS: usize = 3;

/// The part of a recording that is read.
struct Part {
    index: Recording,
    from: SystemTime,
    until: SystemTime,
    /// Nothing is known to have happened.
    is_quiet: bool,
}

impl Part {
    /// Chooses the part around `at`, or else around the event that is explained.
    fn new(index: Recording, at: Option<SystemTime>) -> Self {
        // A kill that the first snapshot has was before the recording.
        let begin = index.span().0 + PRECISION;
        let is_seen = |incident: &&Incident| incident.kind != IncidentKind::Kill || incident.at() > begin;
        let last = |kinds: &[IncidentKind]| {
            let mut all = index.incidents().iter().rev().filter(is_seen);
            all.find(|incident| kinds.contains(&incident.kind)).map(Incident::at)
        };
        let event = at
            .or_else(|| last(&[IncidentKind::Kill, IncidentKind::Boot]))
            .or_else(|| last(&[IncidentKind::Danger, IncidentKind::Stall]));
        // Else the moment with the least memory, and at the end, which may be a sudden one.
        let groups = index.groups();
        let least = groups.iter().filter(|group| group.total > 0);
        let least = least.min_by_key(|group| (std::cmp::Reverse(group.pressure), group.available));
        let end = index.span().1;
        let moment = event.or(least.map(|group| group.to)).unwrap_or(end);
        let from = moment.checked_sub(BEFORE).unwrap_or(SystemTime::UNIX_EPOCH);
        // The snapshots before a boot may be hours before it.
        let before = groups.iter().map(|group| group.to).filter(|to| *to < moment).max();
        let from = before
            .and_then(|to| to.checked_sub(BEFORE))
            .map_or(from, |earlier| earlier.min(from));
        let until = moment.checked_add(AFTER).unwrap_or(moment);
        Self {
            is_quiet: event.is_none(),
            index,
            from,
            until,
        }
    }

    /// Returns true if a time is not in the part.
    fn is_outside(&self, time: SystemTime) -> bool {
        !(self.from..=self.until).contains(&time)
    }

    /// If nothing happened, reads the groups that are not in the part and in which the processes that came and went rose highest.
    fn peaks(&self) -> impl Iterator<Item = Arc<Snapshot>> {
        let groups = self
            .index
            .groups()
            .iter()
            .filter(|group| self.is_quiet && group.peak > 0);
        let mut groups: Vec<_> = groups.filter(|group| self.is_outside(group.to)).collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.peak));
        groups.truncate(PEAKS);
        let of_group = |group: &Group| {
            let (from, to) = (group.from, group.to);
            let source = self.index.read_from(from).flatten();
            source.take_while(move |snapshot| snapshot.time <= to)
        };
        groups.into_iter().flat_map(of_group)
    }

    /// Returns the events of the parts that are not read.
    fn others(&self) -> impl Iterator<Item = Event> {
        let incidents = self.index.incidents().iter();
        let outside = incidents.filter(|incident| self.is_outside(incident.at()));
        outside.filter_map(|incident| {
            let (kind, who) = match incident.kind {
                // The text begins with the pid and the name.
                IncidentKind::Kill => {
                    let who = incident.text.split(" by ").next().unwrap_or_default();
                    let name = who.split_once(' ').filter(|(pid, _)| pid.parse::<u32>().is_ok());
                    (EventKind::Kill, name.map_or(who, |(_, name)| name))
                }
                IncidentKind::Boot => (EventKind::Reboot, ""),
                IncidentKind::Stall => (EventKind::Stall, ""),
                IncidentKind::Danger => (EventKind::Danger, ""),
                IncidentKind::Leak | IncidentKind::Alert => return None,
            };
            Some(Event {
                kind,
                time: incident.at(),
                is_short: incident.kind != IncidentKind::Boot,
                who: who.as_bytes().into(),
            })
        })
    }
}
