//! A row of a fleet: a group of processes on a host.

use std::sync::Arc;
use std::time::Duration;

use super::queries::Field;
use crate::group::GroupBy;
use crate::model::{Facts, FleetRow, Identity, Memory, Missing, ProcessSample, Stat, ToldVerdict, Walk};
use crate::text;

/// Maximum length of a name, in columns.
const MAX_NAME: usize = 200;

/// A group of processes on a host.
#[derive(Debug)]
pub(super) struct GroupRow {
    pub(super) number: u32,
    pub(super) facts: Arc<Facts>,
    /// The figures, each with the round in which it was told.
    pub(super) figures: [(u64, f64); Field::OF_GROUPS],
    /// The round in which it was there last.
    pub(super) present_in: u64,
}

impl GroupRow {
    /// Creates one of which only the name is known.
    pub(super) fn new(number: u32, by: GroupBy, name: &str, host: Arc<[u8]>) -> Self {
        let name: Arc<[u8]> = shortened(name).as_bytes().into();
        let mut facts = Facts::unread(&name, Missing::NotExported);
        facts.cmdline = Ok((*name).into());
        facts.host = Some(host);
        match by {
            GroupBy::User => facts.user = Ok(name),
            GroupBy::Unit => facts.unit = Some(name),
            GroupBy::Container => facts.container = Some(name),
            GroupBy::Cgroup => facts.cgroup = Ok(name),
            GroupBy::Command | GroupBy::Family | GroupBy::Host | GroupBy::Mapping => {}
        }
        Self {
            number,
            facts: Arc::new(facts),
            figures: [(0, 0.0); Field::OF_GROUPS],
            present_in: 0,
        }
    }

    pub(super) const fn id(&self) -> Identity {
        Identity {
            pid: self.number,
            starttime: 0,
        }
    }

    /// Returns the row; `None` where its memory was not told in the last answer about it.
    pub(super) fn make(
        &self,
        answered: &[u64; Field::OF_GROUPS],
        is_partial: bool,
        at: Duration,
        now: Duration,
    ) -> Option<(ProcessSample, FleetRow)> {
        let get = |field: Field| {
            let (round, value) = self.figures[field as usize];
            (round > 0 && round == answered[field as usize]).then_some(value)
        };
        let bytes = |field| get(field).map(|value: f64| value.max(0.0) as u64);
        let why = if is_partial {
            Missing::Pending
        } else {
            Missing::NotExported
        };
        let told = |field| bytes(field).ok_or(why);
        let is_asked_later = answered[Field::Rss as usize] < answered[Field::Pss as usize];
        if bytes(Field::Pss).is_none() && (is_asked_later || bytes(Field::Rss).is_none()) {
            return None;
        }
        let mut sample = ProcessSample::unread(self.id(), Arc::clone(&self.facts), Missing::NotExported);
        sample.stat = Stat {
            state: b'-',
            rss: bytes(Field::Rss).unwrap_or(0),
            ..Stat::default()
        };
        let after_pss = |field| if is_partial { Some(0) } else { bytes(field) };
        let memory = (bytes(Field::Pss), after_pss(Field::Uss), after_pss(Field::Rss));
        sample.walk = if let (Some(pss), Some(uss), Some(rss)) = memory {
            let swap = bytes(Field::Swap).unwrap_or(0);
            let memory = Memory {
                rss,
                pss,
                pss_anon: told(Field::Anon),
                pss_file: told(Field::File),
                pss_shmem: told(Field::Shmem),
                pss_dirty: Err(Missing::NotExported),
                private_dirty: uss,
                shared_dirty: rss.saturating_sub(uss),
                private_hugetlb: Err(Missing::NotExported),
                shared_hugetlb: Err(Missing::NotExported),
                swap,
                // What has no swap has no part of it.
                swap_pss: if swap == 0 && !is_partial {
                    Ok(0)
                } else {
                    told(Field::SwapPss)
                },
                ..Memory::default()
            };
            Ok(Walk {
                memory,
                error: 0,
                at: if at.is_zero() { now } else { at },
                cost: Duration::ZERO,
            })
        } else {
            // The others of one that is new come with the next round.
            let is_new = self.figures[Field::Uss as usize].0 == 0 && self.figures[Field::Rss as usize].0 == 0;
            Err(if is_new && is_asked_later {
                Missing::Pending
            } else {
                why
            })
        };
        let growing_for = get(Field::GrowingFor).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let rank = get(Field::Verdict).or_else(|| get(Field::Steady));
        let verdict = rank.map(|rank| ToldVerdict {
            rank,
            slope: get(Field::Slope).unwrap_or(0.0),
            confidence: get(Field::Confidence).unwrap_or(0.0),
            since: growing_for.map(|long| now.saturating_sub(long)),
        });
        let processes = bytes(Field::Processes);
        Some((sample, FleetRow { processes, verdict }))
    }
}

/// Returns a label's value, cut where nobody would read on.
pub(super) fn shortened(label: &str) -> Box<str> {
    text::safe_prefix(label.as_bytes(), MAX_NAME).into()
}
