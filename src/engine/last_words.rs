//! Last words: lines for the kernel's log, which may be all that is left of a machine.
//!
//! A line is due when a limit is less than a minute ahead, when tasks begin to wait for memory, and when a process is killed. It
//! names the process that takes the memory, its size and how fast it grows. What concerns the machine comes first.
//! Pure: [`recorder`](crate::recorder) writes the lines.

use std::collections::BTreeMap;
use std::time::Duration;

use super::State;
use super::incidents::{LULL, Lasting, NAME, name};
use super::quota::has_room;
use crate::group::RowKey;
use crate::history::dangers::MACHINE;
use crate::model::Snapshot;
use crate::record::{Incident, IncidentKind};
use crate::units::{self, Units};
use crate::{order, text};

/// A limit that is nearer is worth a line.
const URGENT: Duration = Duration::from_secs(60);
/// Maximum number of lines in [`PERIOD`], of which half are only for the machine. The kernel's own limit is 10 in 5 s.
const LINES: usize = 6;
const PERIOD: Duration = Duration::from_secs(60);

/// Composes the lines of each snapshot.
#[derive(Debug, Default)]
pub struct LastWords {
    /// The time at which each condition was last true.
    lasting: BTreeMap<Lasting, Duration>,
    /// The times at which the last lines were due, and the owners of what they are about.
    said: Vec<(Duration, Box<[u8]>)>,
    /// Kills without a line since the last one with a line.
    unsaid: usize,
}

impl LastWords {
    /// Maximum length of a line in bytes. The kernel takes about 1000; a serial line of 9600 baud needs 0.4 s for so many.
    pub const MOST: usize = 400;

    /// Returns the lines that are due with the snapshot that was pushed last. `incidents` are those that began with it.
    pub fn of(&mut self, state: &State, incidents: &[Incident]) -> Vec<String> {
        let Some(snapshot) = &state.snapshot else {
            return Vec::new();
        };
        let now = snapshot.monotonic;
        let mut due: Vec<(Box<[u8]>, bool, String)> = Vec::new();
        let kills = incidents.iter().filter(|incident| incident.kind == IncidentKind::Kill);
        due.extend(kills.map(|kill| {
            let owner = if kill.is_of_cgroup { kill.owner() } else { MACHINE };
            (owner.into(), true, format!("killed {}", kill.text))
        }));
        for danger in state.history.shared_dangers() {
            if danger.forecast.time() < URGENT && self.begins(Lasting::Danger(danger.limit.clone()), now) {
                let taker = danger.taker.as_ref().map_or_else(
                    || "no single process takes it".to_owned(),
                    |(key, pace)| growing(key, *pace, state, snapshot),
                );
                let (limit, note) = danger.limit_text(snapshot, NAME, Units::Auto);
                let text = format!("{limit} at this pace{note}: {taker}");
                due.push((danger.limit.owner(), false, text));
            }
        }
        for stall in state.history.stalls() {
            if self.begins(Lasting::Stall(stall.cgroup.clone()), now) {
                let taker = stall.taker.map_or(String::new(), |(id, pace)| {
                    format!("; {}", growing(&RowKey::Process(id), pace, state, snapshot))
                });
                let name = |id| snapshot.name_of_process(id);
                let text = stall.text(snapshot, name, NAME, Units::Auto).line();
                due.push((stall.owner().into(), false, text + &taker));
            }
        }
        self.lasting.retain(|_, last| now.saturating_sub(*last) <= LULL);
        self.said.retain(|(at, _)| now.saturating_sub(*at) < PERIOD);
        order::sort_by_key(&mut due, |(owner, ..)| **owner != *MACHINE);
        let mut lines = Vec::new();
        for (owner, is_kill, text) in due {
            if !has_room(self.said.iter().map(|(_, owner)| &**owner), &owner, LINES) {
                self.unsaid += usize::from(is_kill);
                continue;
            }
            self.said.push((now, owner));
            let more = match std::mem::take(&mut self.unsaid) {
                0 => String::new(),
                more => format!("; {more} more kills before"),
            };
            lines.push(text::prefix(&(text + &more + &machine(snapshot)), LastWords::MOST).into());
        }
        lines
    }

    /// Returns true if a condition was not true lately.
    fn begins(&mut self, condition: Lasting, now: Duration) -> bool {
        self.lasting.insert(condition, now).is_none()
    }
}

/// Describes the memory of a row and the rate of its growth.
fn growing(key: &RowKey, pace: f64, state: &State, snapshot: &Snapshot) -> String {
    let row = state.history.row(key);
    let held = row.and_then(|row| row.footprint().last());
    let held = held.map_or(String::new(), |held| {
        format!(" has {},", units::bytes(held, Units::Auto))
    });
    format!("{}{held} +{}", name(key, snapshot), units::pace(pace))
}

/// Describes the memory left on the machine.
fn machine(snapshot: &Snapshot) -> String {
    let system = &snapshot.system;
    let mut text = Vec::new();
    if let (Ok(available), Ok(total)) = (system.available(), system.mem_total) {
        let [available, total] = [available, total].map(|n| units::bytes(n, Units::Auto));
        text.push(format!("; {available} of {total} available"));
    }
    if let (Ok(free), Ok(total)) = (system.swap_free, system.swap_total) {
        let [free, total] = [free, total].map(|n| units::bytes(n, Units::Auto));
        text.push(format!(", swap {free} of {total} free"));
    }
    text.concat()
}
