//! Processes that ended lately and may be the victims of a kill, and their growth before it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::group::GroupBy;
use crate::history::row::RowHistory;
use crate::model::kill::OomVictim;
use crate::model::process::{Facts, Identity};

/// The times over which growth before a kill is measured. Recent growth matters more than earlier growth.
pub(super) const GROWTH_SPANS: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(120)];
/// Number of snapshots from a kill to the one in which it is found, at most.
pub(super) const AFTER_KILL: usize = 2;
/// Times after and before a kill in which a counter or an ended process may belong to it, if the log does not name the victim.
pub(super) const OPEN: Duration = Duration::from_secs(3);

/// A victim as the snapshot before the kill had it.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownVictim {
    pub id: Identity,
    pub facts: Arc<Facts>,
    /// In bytes.
    pub footprint: u64,
}

impl KnownVictim {
    /// Returns the name of the container or pod whose cgroup that is, if the victim was in it.
    pub fn container_of_cgroup(&self, path: &[u8]) -> Option<Cow<'_, [u8]>> {
        let container = self.facts.container.as_deref()?;
        container.name_of_cgroup(self.facts.cgroup.as_deref().ok()?, path)
    }
}

/// A process that ended recently and may be named in the log.
#[derive(Clone, Debug)]
pub(super) struct EndedProcess {
    /// The time of the first snapshot without it.
    pub(super) at: Duration,
    /// The time of the last snapshot with it.
    pub(super) seen: Duration,
    /// Its start; `None` if that was before the clock began, or is unknown.
    pub(super) started_at: Option<Duration>,
    pub(super) victim: KnownVictim,
    pub(super) command: Option<Arc<[u8]>>,
    /// Its growth over each of [`GROWTH_SPANS`] before its end, in bytes.
    pub(super) growth: [f64; 2],
    pub(super) past: Past,
    /// Its memory without pages of files and shared memory, which may stay, in bytes.
    pub(super) taken: u64,
    /// The size of its facts, unless the history remembers them anyway.
    pub(super) bytes: usize,
}

impl EndedProcess {
    /// Returns true if it started before `at`, or if its start is unknown.
    pub(super) fn is_older_than(&self, at: Duration) -> bool {
        self.started_at.is_none_or(|started| started < at)
    }

    /// Returns the name of its program, or of its owner.
    pub(super) fn name(&self, by: GroupBy) -> Option<&Arc<[u8]>> {
        match by {
            GroupBy::User => self.victim.facts.owner_name().ok(),
            _ => self.command.as_ref(),
        }
    }
}

/// The memory of a victim before its last growth, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Past {
    /// Its footprint before each of [`GROWTH_SPANS`].
    before: [f64; 2],
    /// The same without pages of files, if it is known.
    held_before: Option<[f64; 2]>,
    /// The highest footprint of the last seconds, and the highest held memory.
    highest: [u64; 2],
    /// The part of its RSS that PSS leaves to other sharers; `None` if its address space was gone.
    shared: Option<u64>,
    pub(super) swap: u64,
    /// It was a zombie, or could not be read, but had figures before.
    is_unknown: bool,
}

/// The growth of a victim over each of [`GROWTH_SPANS`], in bytes: at least and at most. What it shared is not known by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnGrowth {
    pub(super) least: [f64; 2],
    pub(super) most: [f64; 2],
}

impl Past {
    /// Returns the past of a process as of its last figures. It started at `new_at`, if the history has its start.
    pub(super) fn of(row: &RowHistory, new_at: Option<Duration>, now: Duration) -> Self {
        let is_new = |span: Duration| new_at.is_some_and(|at| at >= now.saturating_sub(span));
        let begin = |span, before: f64| if is_new(span) { 0.0 } else { before };
        let held = GROWTH_SPANS.map(|span| row.held_before(span).map(|before| begin(span, before)));
        Self {
            before: GROWTH_SPANS
                .map(|span| begin(span, row.newest_footprint() as f64 - row.footprint().change_over(span))),
            held_before: held[0].zip(held[1]).map(Into::into),
            highest: [row.footprint(), row.held()].map(|view| view.highest_within(OPEN).unwrap_or(0)),
            shared: row.newest_shared(),
            swap: row.known().map_or(0, |known| known.swap),
            is_unknown: row.known.is_none() && row.footprint().start().is_some(),
        }
    }

    /// Returns the growth up to the kill, of which the last snapshots saw so much. The log has the memory at that time; of a daemon's victim,
    /// they have it. The last one may have been taken while it was ending.
    pub(super) fn growth_to(&self, victim: &OomVictim, is_of_daemon: bool, seen: [f64; 2]) -> OwnGrowth {
        let parts = victim.parts.as_ref();
        let (least, most) = match (self.shared, parts) {
            _ if is_of_daemon => (self.highest[0], self.highest[0]),
            _ if self.is_unknown => (0, victim.rss),
            (Some(shared), _) => (victim.rss.saturating_sub(shared), victim.rss),
            (None, parts) => (parts.map_or(0, |parts| parts.anon), victim.rss),
        };
        let held = match parts {
            _ if is_of_daemon => Some(self.highest[1]),
            parts => parts.map(|parts| parts.anon.saturating_add(parts.shmem)),
        };
        // What was in swap may have been read from it.
        let swap = if is_of_daemon { 0.0 } else { self.swap as f64 };
        let held = |span: usize| Some(held? as f64 - self.held_before?[span]);
        let whole = |span: usize, at_kill: u64| at_kill as f64 - self.before[span];
        let least = |span| held(span).map_or(whole(span, least), |held| held.min(whole(span, least)));
        // Pages of files may have been unmapped since.
        let most = |span| swap + held(span).unwrap_or_else(|| whole(span, most));
        let least = std::array::from_fn(|span| seen[span].max(least(span)));
        OwnGrowth {
            least,
            most: std::array::from_fn(|span| least[span].max(most(span))),
        }
    }
}

/// Returns the growth of a process over each of [`GROWTH_SPANS`]. Before its start, if the history has it, it counts as 0.
pub(super) fn growth(row: &RowHistory, new_at: Option<Duration>, now: Duration) -> [f64; 2] {
    GROWTH_SPANS.map(|span| {
        if new_at.is_some_and(|at| at >= now.saturating_sub(span)) {
            row.newest_taken() as f64
        } else {
            row.taken_over(span)
        }
    })
}
