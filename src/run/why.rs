//! `zmtop why`: explains what happened to memory in a recording.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};

use clap::Args;

use super::runtime::Progress;
use super::snapshot::{self, local_time, parse_at};
use super::{Failure, black_box, complain, output_style, print, settings};
use crate::cli::{Exit, Format, OutputArgs};
use crate::config::Env;
use crate::model::Snapshot;
use crate::output::why::WhyReport;
use crate::record::{Incident, IncidentKind, PRECISION, boot_digest};
use crate::source::{Group, Recording, Source};
use crate::units;
use crate::why::explanation::{Event, EventKind, Explanation};
use crate::why::{DAY, SHORT, Why};

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "An event is a kill for lack of memory, a reboot, a stall, or a limit that would have been reached within a \
                  minute. Without --at, zmtop explains the last kill, or the last reboot that came without warning or while \
                  memory was short. It explains a kill at the limit of a cgroup, or by systemd-oomd, only if the machine had \
                  no other kill and no such reboot in the day before. If there is no kill and no such reboot, it explains the last \
                  stall or limit, or else the last reboot."
)]
pub struct WhyArgs {
    /// The recording: a file or folder of zmtop record, or a file of ps --format ndjson; - is standard input. Default: the black
    /// box
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Explain the event nearest to this time, or the memory at this time: 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or
    /// -10m (10 minutes before the end)
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
    let here = args.file.is_none().then(this_boot).flatten();
    let new = || {
        let mut why = Why::new(settings.history_config(settings.ui.delta), at);
        if let Some((host, boot_id)) = here.clone() {
            why.set_here(host, boot_id);
        }
        why
    };
    let explanation = match index.filter(Recording::has_incidents) {
        Some(index) => explain_part(&index, at, here.as_ref().map(|(_, boot)| &**boot), new),
        None => explain_all(&path, at, new()),
    }?;
    let report = WhyReport {
        explanation: &explanation,
        zone: crate::zone::local(),
        style: output_style(settings.ui.units, args.output.color.no_color, env),
    };
    Ok(print(&report, args.output.format))
}

/// Returns the host and the boot id of this machine.
fn this_boot() -> Option<(Arc<[u8]>, Arc<str>)> {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let host = rustix::system::uname().nodename().to_bytes().into();
    Some((host, boot_id.trim().into()))
}

/// Explains a recording without an index.
fn explain_all(path: &Path, at: Option<SystemTime>, mut why: Why) -> Result<Explanation, Failure> {
    let source = Source::open(path).map_err(|error| error.to_string())?;
    let name = source.name().to_owned();
    let span = push_until(&mut why, source, None)?;
    if let Some((_, end)) = span {
        check_end(&name, end, at)?;
    }
    why.finish()
        .ok_or_else(|| snapshot::nothing(&name, span.map(|(first, _)| first)))
}

/// # Errors
/// The recording ends so long before the time asked for that it cannot explain it.
fn check_end(name: &str, end: SystemTime, at: Option<SystemTime>) -> Result<(), String> {
    match at {
        Some(at) if at > end + AFTER => Err(format!("{name} ends earlier, at {}", local_time(end))),
        _ => Ok(()),
    }
}

/// Explains a recording whose incidents lead to the part to read, which may be a small one of a month.
fn explain_part(
    index: &Recording,
    at: Option<SystemTime>,
    boot: Option<&str>,
    new: impl Fn() -> Why,
) -> Result<Explanation, Failure> {
    check_end(index.name(), index.span().1, at)?;
    let times = Times::new(index);
    let moments = at.map_or_else(|| harms(index, &times, boot), |at| vec![(at, true)]);
    let mut moments = moments.into_iter();
    loop {
        let moment = moments.next();
        let part = Part::new(index, &times, moment.map(|(at, _)| at));
        let mut why = new();
        let cuts = index.groups().iter().filter(|group| group.is_cut);
        why.set_cuts(cuts.map(|group| group.to).collect());
        let span = push_until(&mut why, index.read_from(part.from), Some(part.until))?;
        for snapshot in part.peaks() {
            why.add_brief(&snapshot);
        }
        why.add_index(index.span(), part.others());
        let explanation = why
            .finish()
            .ok_or_else(|| snapshot::nothing(index.name(), span.map(|(first, _)| first)))?;
        // Otherwise memory was not short after all, or only a cgroup reached its limit before.
        let is_it = |(_, is_of_cgroup)| explanation.is_of_harm() && (is_of_cgroup || explanation.is_of_machine());
        if at.is_some() || moment.is_none_or(is_it) {
            return Ok(explanation);
        }
    }
}

/// Number of snapshots that wait to be processed. One may have hundreds of thousands of processes.
const AHEAD: usize = 1;

/// Adds the snapshots up to a time. Returns the times of the first and the last one.
fn push_until(
    why: &mut Why,
    source: Source,
    until: Option<SystemTime>,
) -> Result<Option<(SystemTime, SystemTime)>, Failure> {
    let mut span: Option<(SystemTime, SystemTime)> = None;
    let mut progress = Progress::new();
    let (name, mut count) = (source.name().to_owned(), 0);
    std::thread::scope(|scope| {
        // Reading takes as long as the rest.
        let (sender, receiver) = mpsc::sync_channel(AHEAD);
        let read_ahead = move || {
            for found in source {
                if sender.send(found).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("zmtop-source".into());
        thread
            .spawn_scoped(scope, read_ahead)
            .map_err(|error| error.to_string())?;
        for found in receiver {
            match found {
                Ok(snapshot) if until.is_some_and(|until| snapshot.time > until) => break,
                Ok(snapshot) => {
                    let (first, last) = (span.map_or(snapshot.time, |(first, _)| first), snapshot.time);
                    span = Some((first, last));
                    why.push(&snapshot);
                    count += 1;
                    if count % 500 == 0 {
                        let read = last.duration_since(first).unwrap_or_default();
                        progress.show(|| format!("read {} of {name}", units::span(read)));
                    }
                }
                // Use what can be read.
                Err(error) if !error.ends() || span.is_some() => complain(&error.to_string()),
                Err(error) => return Err(error.to_string().into()),
            }
        }
        Ok(span)
    })
}

/// Time before an event that is read, to find the growth.
const BEFORE: Duration = Duration::from_secs(70 * 60);
/// Time after it.
const AFTER: Duration = Duration::from_secs(10 * 60);

/// Maximum number of other groups that are read for the processes that started and ended.
const PEAKS: usize = 3;

/// Maximum number of reboots that are read to find if memory was short.
const DOUBTFUL: usize = 4;

/// Maximum number of events that are read to find one that did harm. The last one did harm unless the recording is damaged or forged.
const MOMENTS: usize = 8;

/// The groups of a recording and the signs of short memory, by time. A recording may have a hundred thousand of each.
struct Times<'a> {
    /// By their ends.
    groups: Vec<&'a Group>,
    signs: Vec<SystemTime>,
}

impl<'a> Times<'a> {
    fn new(index: &'a Recording) -> Self {
        // The first snapshot of a machine that has just started may lack its boot.
        let is_known = |group: &&Group| group.snapshots > 0 && (group.boot != 0 || group.is_cut);
        let mut groups: Vec<_> = index.groups().iter().filter(is_known).collect();
        groups.sort_by_key(|group| group.to);
        let is_sign = |incident: &&Incident| matches!(incident.kind, IncidentKind::Danger | IncidentKind::Stall);
        let signs = index.incidents().iter().filter(is_sign);
        Self {
            groups,
            signs: signs.map(Incident::at).collect(),
        }
    }

    /// Returns the last group before a time.
    fn last_before(&self, at: SystemTime) -> Option<&'a Group> {
        let after = self.groups.partition_point(|group| group.to < at);
        after.checked_sub(1).map(|last| self.groups[last])
    }

    /// Returns true if memory may have been short at the end of a group.
    fn may_be_short(&self, group: &Group) -> bool {
        let is_low = (group.available as f64) < group.total as f64 * SHORT;
        let end = group.to + PRECISION;
        let after = self.signs.partition_point(|sign| *sign <= end);
        let last = after.checked_sub(1).map(|last| self.signs[last]);
        let is_near = |sign: SystemTime| end.duration_since(sign).is_ok_and(|ago| ago <= BEFORE);
        is_low || last.is_some_and(is_near)
    }
}

/// Returns the times of the kills, and of the reboots and the end that may have done harm, each with true if a cgroup's owner can cause
/// it: first those of the machine in the day before the newest kill, then the others, the last first. This machine is now in that
/// `boot`, if it wrote the recording.
fn harms(index: &Recording, times: &Times<'_>, boot: Option<&str>) -> Vec<(SystemTime, bool)> {
    let (begin, end) = index.span();
    let mut doubtful = 0;
    let mut may_be_short = |group: &Group| {
        let is_doubtful = doubtful < DOUBTFUL && times.may_be_short(group);
        doubtful += usize::from(is_doubtful);
        is_doubtful
    };
    let is_over = |group: &Group| boot.is_some_and(|boot| group.boot != boot_digest(boot));
    let is_at_end = times
        .last_before(end + PRECISION)
        .is_some_and(|group| (group.is_cut && is_over(group)) || may_be_short(group));
    let mut is_harm = |incident: &&Incident| match incident.kind {
        // A kill that the first snapshot has was before the recording.
        IncidentKind::Kill => incident.at() > begin + PRECISION,
        IncidentKind::Boot => {
            let before = times.last_before(incident.at());
            before.is_some_and(|group| group.is_cut || may_be_short(group))
        }
        _ => false,
    };
    let incidents = index.incidents().iter().rev().filter(|incident| is_harm(incident));
    let ends = is_at_end.then_some((end, false)).into_iter();
    let harms = incidents.map(|incident| (incident.at(), incident.is_of_cgroup));
    let mut all: Vec<_> = ends.chain(harms).collect();
    // Other harm may turn out to be none.
    let mut kills = index
        .incidents()
        .iter()
        .rev()
        .filter(|incident| incident.kind == IncidentKind::Kill);
    let newest = kills.next().map_or(end, Incident::at);
    all.sort_by_key(|(at, is_of_cgroup)| *is_of_cgroup || newest.duration_since(*at).is_ok_and(|ago| ago >= DAY));
    all.truncate(MOMENTS);
    all
}

/// The part of a recording that is read.
struct Part<'a> {
    index: &'a Recording,
    times: &'a Times<'a>,
    from: SystemTime,
    until: SystemTime,
    /// No event is known.
    is_quiet: bool,
}

impl<'a> Part<'a> {
    /// Chooses the part around `at`, or else around the last event that did no harm.
    fn new(index: &'a Recording, times: &'a Times<'a>, at: Option<SystemTime>) -> Self {
        let last = |kinds: &[IncidentKind]| {
            let mut all = index.incidents().iter().rev();
            all.find(|incident| kinds.contains(&incident.kind)).map(Incident::at)
        };
        let event = at
            .or_else(|| last(&[IncidentKind::Danger, IncidentKind::Stall]))
            .or_else(|| last(&[IncidentKind::Boot]));
        // Else the moment with the least memory, and at the end, which may be a sudden one.
        let groups = index.groups();
        let least = groups.iter().filter(|group| group.total > 0);
        let least = least.min_by_key(|group| (std::cmp::Reverse(group.pressure), group.available));
        let end = index.span().1;
        let moment = event.or(least.map(|group| group.to)).unwrap_or(end);
        let from = moment.checked_sub(BEFORE).unwrap_or(SystemTime::UNIX_EPOCH);
        // The snapshots before a boot may be hours before it.
        let before = times.last_before(moment);
        let from = before
            .and_then(|group| group.to.checked_sub(BEFORE))
            .map_or(from, |earlier| earlier.min(from));
        let until = moment.checked_add(AFTER).unwrap_or(moment);
        Self {
            is_quiet: event.is_none(),
            index,
            times,
            from,
            until,
        }
    }

    /// Returns true if a time is not in the part.
    fn is_outside(&self, time: SystemTime) -> bool {
        !(self.from..=self.until).contains(&time)
    }

    /// If no event is known, reads the groups outside of the part in which short-lived processes used the most memory.
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
                is_sudden: (incident.kind == IncidentKind::Boot)
                    .then(|| self.times.last_before(incident.at()).is_some_and(|group| group.is_cut)),
                who: who.as_bytes().into(),
            })
        })
    }
}
