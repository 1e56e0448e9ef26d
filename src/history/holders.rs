//! The processes that have a part of the RAM which is in no PSS: the page tables, or the huge pages of hugetlbfs.
//!
//! Page tables are memory of the kernel, in no PSS. A process that touches one page in each 2 MiB of a huge mapping has as much
//! memory in them as in pages. They are only read while the machine has many, or a column or
//! [`PageTableHolders::is_suspected`] asks for them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::account::{HUGETLB, PAGE_TABLES, SHMEM};
use crate::history::History;
use crate::history::kernel::{PartHistories, growth, relative_growth};
use crate::history::row::RowHistory;
use crate::model::Identity;
use crate::model::snapshot::Snapshot;
use crate::text;
use crate::trend::Verdict;
use crate::units::{self, Units};

/// Time for which they are still read after growth, so that a leak in bursts is not lost between two bursts.
const SUSPECTED: Duration = Duration::from_secs(600);
/// Minimum growth of the page tables of a process to report, in bytes.
const MIN_GROWTH: u64 = 1 << 20;
/// Maximum width of a name, in columns.
const MAX_NAME: usize = 40;

/// The process or the program that has at least half of a part of the RAM, or of its growth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartShare {
    /// Its share of the part, or of the growth, in bytes.
    pub bytes: u64,
    /// `bytes` is growth.
    pub is_growth: bool,
    /// The name of the process or the program, raw.
    pub name: Box<[u8]>,
    /// `None` if several processes of the program have them.
    pub pid: Option<u32>,
    pub processes: usize,
}

impl PartShare {
    fn of_process(snapshot: &Snapshot, id: Identity, bytes: u64, is_growth: bool) -> Self {
        Self {
            bytes,
            is_growth,
            name: snapshot.row(id).map_or_else(Box::default, |row| row.facts.comm.clone()),
            pid: Some(id.pid),
            processes: 1,
        }
    }

    /// Returns `61M of it in evil (pid 123)`, safe to print.
    pub fn text(&self) -> String {
        let bytes = units::bytes(self.bytes, Units::Auto);
        let what = if self.is_growth { "its growth" } else { "it" };
        let [before, after] = self.around_name();
        let name = text::safe_prefix(&self.name, MAX_NAME);
        format!("{bytes} of {what} in {before}{name}{after}")
    }

    /// Returns `evil (pid 123)` or `12 processes of evil`, raw.
    pub(super) fn holder(&self) -> Vec<u8> {
        let [before, after] = self.around_name();
        [before.as_bytes(), &self.name, after.as_bytes()].concat()
    }

    fn around_name(&self) -> [String; 2] {
        match self.pid {
            Some(pid) => [String::new(), format!(" (pid {pid})")],
            None => [
                format!("{} of ", units::counted(self.processes as u64, "process")),
                String::new(),
            ],
        }
    }
}

/// The page tables of a process when they were fewest.
#[derive(Clone, Copy, Debug)]
struct Fewest {
    at: Duration,
    bytes: u64,
}

/// Follows the page tables of the processes for which they are read.
#[derive(Debug, Default)]
pub struct PageTableHolders {
    fewest: HashMap<Identity, Fewest>,
    now: Duration,
    suspected_until: Duration,
}

impl PageTableHolders {
    /// Returns true if they must be read even if no column needs them, because those of the machine grow.
    pub fn is_suspected(&self) -> bool {
        self.now < self.suspected_until
    }

    /// Adds a snapshot, with which the machine's were judged.
    pub(super) fn push(&mut self, snapshot: &Snapshot, parts: &PartHistories) {
        let now = snapshot.monotonic;
        let mut before = std::mem::take(&mut self.fewest);
        let fewest = known(snapshot).map(|(id, bytes)| {
            let known = before.remove(&id).filter(|known| known.bytes <= bytes);
            (id, known.unwrap_or(Fewest { at: now, bytes }))
        });
        self.fewest = fewest.collect();
        self.now = now;
        let row = parts.get(PAGE_TABLES);
        if row.is_some_and(|row| row.trend().verdict >= Verdict::Growing) {
            self.suspected_until = now + SUSPECTED;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.fewest.capacity() * (size_of::<(Identity, Fewest)>() + 1)
    }
}

/// Returns the known page tables of the processes in bytes, of a shared address space once.
fn known(snapshot: &Snapshot) -> impl Iterator<Item = (Identity, u64)> {
    let own = snapshot.rows().iter().filter(|sample| sample.shares_mm.is_none());
    own.filter_map(|sample| Some((sample.id, sample.page_tables.ok()?)))
}

impl History {
    pub const fn page_tables(&self) -> &PageTableHolders {
        &self.page_table_holders
    }

    /// Returns the process or the program that has at least half of a part of the RAM, if its processes are known.
    pub fn part_share(&self, id: &str, snapshot: &Snapshot) -> Option<PartShare> {
        match id {
            PAGE_TABLES => self.page_table_share(snapshot),
            HUGETLB => self.huge_page_share(snapshot),
            SHMEM => self.shared_memory_share(snapshot),
            _ => None,
        }
    }

    /// Returns the process with the most huge pages, if these are at least half of the pools.
    fn huge_page_share(&self, snapshot: &Snapshot) -> Option<PartShare> {
        let whole = self.parts().get(HUGETLB)?.newest_footprint();
        let known = snapshot.rows().iter().filter(|sample| sample.shares_mm.is_none());
        let known = known.filter_map(|sample| Some((sample, sample.memory().ok()?.hugetlb().ok()?)));
        let (sample, bytes) = known.max_by_key(|(_, bytes)| *bytes)?;
        (bytes > 0 && bytes >= whole / 2).then(|| PartShare::of_process(snapshot, sample.id, bytes, false))
    }

    /// Returns the process with the most shared memory, if this is at least half of the growing part, and its footprint grew by
    /// at least half as much.
    fn shared_memory_share(&self, snapshot: &Snapshot) -> Option<PartShare> {
        let whole = self.parts().get(SHMEM)?;
        let known = snapshot.rows().iter().filter(|sample| sample.shares_mm.is_none());
        let known = known.filter_map(|sample| Some((sample.id, sample.memory().ok()?.pss_shmem.ok()?)));
        let (id, bytes) = known.max_by_key(|(_, bytes)| *bytes)?;
        // Its own memory may grow beside a constant part.
        let growth = self.get(id)?.growth_since_start();
        let grows = relative_growth(self.get(id), whole)? >= 0.5;
        let grows = grows && growth.is_none_or(|growth| growth.is_in_shared_memory());
        (grows && bytes >= whole.newest_footprint() / 2).then(|| PartShare::of_process(snapshot, id, bytes, false))
    }

    /// Returns the process that has at least half of the growth of the machine's page tables, or of them; or such a program.
    fn page_table_share(&self, snapshot: &Snapshot) -> Option<PartShare> {
        let row = self.parts().get(PAGE_TABLES)?;
        let whole = row.newest_footprint();
        let most = known(snapshot).max_by_key(|(_, bytes)| *bytes);
        let holder = most.filter(|(_, bytes)| *bytes >= whole / 2);
        let grower = self.page_table_grower(snapshot, row);
        let of_process = |id, bytes, is_growth| PartShare::of_process(snapshot, id, bytes, is_growth);
        match (holder, grower) {
            (Some((id, bytes)), Some((grower, _))) if id == grower => Some(of_process(id, bytes, false)),
            (_, Some((id, grown))) => Some(of_process(id, grown, true)),
            (Some((id, bytes)), None) => Some(of_process(id, bytes, false)),
            (None, None) => self.page_table_program(snapshot, whole),
        }
    }

    /// Returns the process whose page tables grew by at least half of the growth of all since its were fewest, and by how much.
    fn page_table_grower(&self, snapshot: &Snapshot, row: &RowHistory) -> Option<(Identity, u64)> {
        let grown = known(snapshot).filter_map(|(id, bytes)| {
            let fewest = self.page_table_holders.fewest.get(&id)?;
            Some((id, bytes.saturating_sub(fewest.bytes), fewest.at))
        });
        let (id, most, since) = grown.max_by_key(|(_, grown, _)| *grown)?;
        let all = growth(row.footprint_series(), since)?;
        (all > 0.0 && most >= MIN_GROWTH && most as f64 >= all / 2.0).then_some((id, most))
    }

    /// Returns the program whose processes have at least half of all page tables.
    fn page_table_program(&self, snapshot: &Snapshot, whole: u64) -> Option<PartShare> {
        let mut programs: HashMap<Arc<[u8]>, (u64, usize)> = HashMap::new();
        for (id, bytes) in known(snapshot) {
            let Some(name) = self.command(id) else { continue };
            let (sum, processes) = programs.entry(name).or_default();
            (*sum, *processes) = (sum.saturating_add(bytes), *processes + 1);
        }
        let (name, (bytes, processes)) = programs.into_iter().max_by_key(|(_, (sum, _))| *sum)?;
        (bytes >= whole / 2).then(|| PartShare {
            bytes,
            is_growth: false,
            name: (*name).into(),
            pid: None,
            processes,
        })
    }
}
