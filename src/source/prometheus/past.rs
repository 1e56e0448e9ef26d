//! Snapshots of the time before the first one, from ranges, so that series and sparklines begin in the past.

use std::time::Duration;

use super::answer::Answer;
use super::fleet::FleetSource;
use super::queries::Field;
use crate::model::{Memory, Missing, ProcessSample, Snapshot, Walk};

/// Figures of the past. To be filled from the answers of [`range_questions`](super::range_questions), each of every span.
#[derive(Debug, Default)]
pub struct Past {
    /// The second, the row's number, the place of the figure, and its value.
    points: Vec<(u32, u32, u8, f64)>,
}

/// The figures of a row in the past: PSS, swap and `SwapPss`.
const FIELDS: [Field; 3] = [Field::Pss, Field::Swap, Field::SwapPss];

impl Past {
    /// Takes in an answer about the rows of the fleet's last snapshot; others have ended.
    pub fn take(&mut self, fleet: &FleetSource, field: Field, answer: &Answer<'_>) {
        let Some(place) = FIELDS.iter().position(|known| *known == field) else {
            return;
        };
        for series in &answer.series {
            let Some(number) = fleet.number_of(&series.metric) else {
                continue;
            };
            let points = series
                .points()
                .map(|(at, value)| (at as u32, number, place as u8, value));
            self.points.extend(points);
        }
    }

    /// Returns the snapshots, oldest first, all before the fleet's last one.
    pub fn snapshots(mut self, fleet: &FleetSource) -> Vec<Snapshot> {
        let Some(last) = fleet.last() else { return Vec::new() };
        self.points
            .sort_unstable_by_key(|(at, number, place, _)| (*at, *number, *place));
        let mut before = Duration::ZERO;
        let mut snapshots = Vec::new();
        for moment in self.points.chunk_by(|a, b| a.0 == b.0) {
            let at = Duration::from_secs(moment[0].0.into());
            if at >= last.monotonic {
                break;
            }
            let rows = moment.chunk_by(|a, b| a.1 == b.1);
            let rows: Vec<_> = rows.filter_map(|figures| row(figures, at, last)).collect();
            let mut snapshot = fleet.snapshot_at(at, rows, at.saturating_sub(before));
            if before.is_zero() {
                snapshot.interval = last.interval;
            }
            // The figures of the hosts are those of now.
            snapshot.system = crate::model::SystemSample::missing(Missing::NotExported);
            snapshots.push(snapshot);
            before = at;
        }
        snapshots
    }
}

/// Makes the row of one moment; `None` where its PSS is not known.
fn row(figures: &[(u32, u32, u8, f64)], at: Duration, last: &Snapshot) -> Option<ProcessSample> {
    let [pss, swap, swap_pss] = [0, 1, 2].map(|place| {
        let found = figures.iter().find(|figure| figure.2 == place);
        found.map(|figure| figure.3.max(0.0) as u64)
    });
    let number = figures.first()?.1;
    let place = last.rows().binary_search_by_key(&number, |row| row.id.pid).ok()?;
    let mut sample = last.rows()[place].clone();
    let pss = pss?;
    let swap = swap.unwrap_or(0);
    let memory = Memory {
        rss: pss,
        pss,
        pss_anon: Err(Missing::NotExported),
        swap,
        swap_pss: match swap_pss {
            Some(part) => Ok(part),
            None if swap == 0 => Ok(0),
            None => Err(Missing::NotExported),
        },
        ..Memory::default()
    };
    let walk = sample.walk.ok()?;
    sample.walk = Ok(Walk { memory, at, ..walk });
    Some(sample)
}
