//! The histories of the parts of the RAM: each is a row like that of a process, judged in turn with the others.
//!
//! Which of them may leak stands in [`RULES`]. The account is made of each snapshot without the sums over processes, which
//! only divide one of its parts further.

use std::sync::Arc;

use crate::account::{Account, Part, ProcessTotals, account};
use crate::group::PartKey;
use crate::history::evaluation::{EvaluationScheduler, RowNumber};
use crate::history::figures::{MemorySample, Rates, Tick};
use crate::history::row::RowHistory;
use crate::history::time_series::Retention;
use crate::model::reading::Missing;
use crate::model::snapshot::Snapshot;
use crate::model::system::AccountingInputs;

/// The id of unreclaimable slab, whose caches are judged too.
pub const SLAB: &str = "slab_unreclaimable";
/// The id of what is not accounted for.
pub const REST: &str = "unattributed";
/// Its name on the screen.
pub const REST_TITLE: &str = "not accounted for";

/// The meaning of the growth of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It may be a leak.
    Leak,
    /// The processes explain it, and are judged themselves.
    Processes,
    /// The kernel takes it back when memory is needed: never a leak.
    Reclaimed,
    /// It is no use of memory: not judged.
    Free,
}

/// A part: its id, the meaning of its growth, its name in the list of what grows, and the reason for that meaning.
pub type Rule = (&'static str, Growth, &'static str, &'static str);

/// The meaning of growth for each part of the account. Parts of a part are not judged: the part is.
pub const RULES: &[Rule] = &[
    (
        "anon",
        Growth::Processes,
        "anonymous memory",
        "each process is judged by itself",
    ),
    (
        "swap_cache",
        Growth::Reclaimed,
        "swap cache",
        "the kernel drops it when memory is needed: it is in swap, too",
    ),
    (
        "files",
        Growth::Reclaimed,
        "file cache",
        "it grows as files are read, and the kernel drops it when memory is needed",
    ),
    (
        "shmem",
        Growth::Leak,
        "shared memory and tmpfs",
        "it stays until somebody deletes the file or the segment, whatever becomes of who made it",
    ),
    (
        "buffers",
        Growth::Reclaimed,
        "buffers",
        "the kernel drops it when memory is needed",
    ),
    (
        "slab_reclaimable",
        Growth::Reclaimed,
        "kernel: reclaimable slab",
        "caches of names and inodes grow as files are looked at, and shrink when memory is needed",
    ),
    (
        SLAB,
        Growth::Leak,
        "kernel: unreclaimable slab",
        "only the code that took an object gives it back",
    ),
    (
        "kernel_reclaimable",
        Growth::Reclaimed,
        "kernel: reclaimable memory",
        "the kernel gives it back when memory is needed",
    ),
    (
        "kernel_stacks",
        Growth::Leak,
        "kernel: stacks of threads",
        "threads that are never ended keep theirs",
    ),
    (
        "page_tables",
        Growth::Leak,
        "kernel: page tables",
        "a process keeps them though the memory that they mapped is gone",
    ),
    (
        "sec_page_tables",
        Growth::Leak,
        "kernel: page tables of guests and devices",
        "only the driver that took them gives them back",
    ),
    (
        "percpu",
        Growth::Leak,
        "kernel: per-processor memory",
        "only the code that took it gives it back: cgroups that are never freed, BPF maps",
    ),
    (
        "vmalloc",
        Growth::Leak,
        "kernel: vmalloc",
        "only the code that took it gives it back",
    ),
    (
        "gpu",
        Growth::Leak,
        "graphics memory",
        "only the program or driver that took a buffer gives it back",
    ),
    (
        "gpu_reclaim",
        Growth::Reclaimed,
        "graphics memory kept for later",
        "the driver gives it back when memory is needed",
    ),
    (
        "arc",
        Growth::Reclaimed,
        "ZFS cache",
        "ZFS gives it back when memory is needed, down to c_min",
    ),
    (
        "bounce",
        Growth::Leak,
        "kernel: bounce buffers",
        "a copy is given back when its device is done",
    ),
    (
        "writeback_tmp",
        Growth::Leak,
        "kernel: FUSE write-back copies",
        "a copy is given back when it is written",
    ),
    (
        "hugetlb",
        Growth::Leak,
        "huge page pools",
        "a pool keeps its pages until somebody makes it smaller",
    ),
    (
        "zram",
        Growth::Processes,
        "zram",
        "it grows as processes are swapped out",
    ),
    (
        "zswap",
        Growth::Processes,
        "zswap",
        "it grows as processes are swapped out",
    ),
    ("corrupted", Growth::Leak, "bad RAM", "bad pages never come back"),
    ("free", Growth::Free, "free memory", "it is free"),
    ("free_lists", Growth::Free, "free memory of processors", "it is free"),
    (
        REST,
        Growth::Leak,
        "memory not accounted for",
        "a driver that takes pages and does not give them back shows nowhere else",
    ),
];

/// Returns the rule of a part; none of a part of a part.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|(known, ..)| *known == id)
}

impl Growth {
    /// Returns the meaning of a part's growth. A part that is not known is free to grow.
    pub fn of(id: &str) -> Self {
        rule(id).map_or(Self::Free, |(_, growth, ..)| *growth)
    }

    /// Returns true if it is judged at all.
    pub const fn is_judged(self) -> bool {
        !matches!(self, Self::Free)
    }
}

/// A part, and its history.
#[derive(Debug)]
struct PartHistory {
    key: PartKey,
    growth: Growth,
    row: RowHistory,
}

/// The histories of all parts.
#[derive(Debug, Default)]
pub struct PartHistories {
    account: Option<Account>,
    parts: Vec<PartHistory>,
    /// The inputs that the rest was counted with, and the rest.
    inputs: Option<Arc<AccountingInputs>>,
    rest: Option<u64>,
    /// Histories that were kept when zmtop ended, by their ids.
    pub(super) kept: Vec<(String, RowHistory)>,
}

impl PartHistories {
    /// Returns the account of the last snapshot, without what only the processes tell.
    pub const fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Returns the history of a part.
    pub fn get(&self, id: &str) -> Option<&RowHistory> {
        let found = self.parts.iter().find(|part| part.key.id == id);
        found.map(|part| &part.row)
    }

    /// Returns those that may leak, with what they are called.
    pub fn that_may_leak(&self) -> impl Iterator<Item = (PartKey, &RowHistory)> {
        let parts = self.parts.iter().filter(|part| part.growth == Growth::Leak);
        parts.map(|part| (part.key, &part.row))
    }

    /// Returns every history by its id.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = (&'static str, &RowHistory)> {
        self.parts.iter().map(|part| (part.key.id, &part.row))
    }

    /// Takes in a snapshot.
    pub(super) fn push(&mut self, snapshot: &Snapshot, tick: Tick) {
        let account = account(
            &snapshot.system,
            &snapshot.accounting,
            &ProcessTotals::missing(Missing::NotAsked),
        );
        // A few parts always have room, whatever the processes need.
        let tick = Tick { has_room: true, ..tick };
        for part in &account.parts {
            let reclaimed = part
                .within
                .iter()
                .filter(|inner| Growth::of(inner.id) == Growth::Reclaimed);
            let reclaimed = reclaimed
                .filter_map(|inner| inner.bytes.ok())
                .fold(0, u64::saturating_add);
            let bytes = part.bytes.ok();
            self.push_part(part.id, bytes, reclaimed, tick);
            for Part { id, bytes, .. } in &part.within {
                self.push_part(id, bytes.ok(), 0, tick);
            }
        }
        // What is read seldom and what is read now do not sum up: the rest holds until both were read together.
        let is_read = self
            .inputs
            .as_ref()
            .is_none_or(|last| !Arc::ptr_eq(last, &snapshot.accounting));
        if is_read {
            let is_known = snapshot.accounting.zones != Err(Missing::Pending);
            let rest = account.rest.ok().filter(|_| is_known);
            self.rest = rest.map(|rest| u64::try_from(rest).unwrap_or(0));
            self.inputs = Some(Arc::clone(&snapshot.accounting));
        }
        self.push_part(REST, self.rest, 0, tick);
        self.account = Some(account);
    }

    /// Takes in the size of a part, of which so much can be taken back.
    fn push_part(&mut self, id: &'static str, bytes: Option<u64>, reclaimed: u64, tick: Tick) {
        let sample = bytes.map(|bytes| MemorySample {
            pss: bytes,
            swap: 0,
            footprint: bytes,
            held: if reclaimed > 0 {
                bytes.saturating_sub(reclaimed)
            } else {
                0
            },
            // The kernel asks for what it takes.
            asked: bytes,
        });
        let at = self.parts.iter().position(|part| part.key.id == id);
        // What was never there needs no history.
        let at = match (at, sample) {
            (Some(at), _) => at,
            (None, None) => return,
            (None, Some(_)) => {
                let part = self.begin(id);
                self.parts.push(part);
                self.parts.len() - 1
            }
        };
        self.parts[at].row.push(tick, sample, &Rates::default());
    }

    fn begin(&mut self, id: &'static str) -> PartHistory {
        let kept = self.kept.iter().position(|(name, _)| name == id);
        let (growth, label) = rule(id).map_or((Growth::Free, id), |(_, growth, label, _)| (*growth, *label));
        PartHistory {
            key: PartKey { id, label },
            growth,
            row: kept.map_or_else(RowHistory::default, |at| self.kept.swap_remove(at).1),
        }
    }

    /// Puts those that are due in the queue of what is judged.
    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler) {
        for (number, part) in (0..).zip(&mut self.parts) {
            if part.growth.is_judged() {
                part.row.queue(scheduler, RowNumber::Part(number));
            }
        }
    }

    /// Judges one of them now.
    pub(super) fn judge(&mut self, number: u32, scheduler: &mut EvaluationScheduler) {
        if let Some(part) = self.parts.get_mut(number as usize) {
            part.judge(scheduler);
        }
    }

    /// Judges all of them now.
    pub(super) fn judge_all(&mut self, scheduler: &mut EvaluationScheduler) {
        let judged = self.parts.iter_mut().filter(|part| part.growth.is_judged());
        judged.for_each(|part| part.judge(scheduler));
    }

    /// Drops what that retention does not keep.
    pub(super) fn set_retention(&mut self, retention: Retention) {
        self.parts.iter_mut().for_each(|part| part.row.set_retention(retention));
    }

    /// Returns their memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.row.bytes()).sum()
    }
}

impl PartHistory {
    fn judge(&mut self, scheduler: &mut EvaluationScheduler) {
        self.row.evaluate_of_kernel(scheduler, self.growth == Growth::Leak);
    }
}
