//! Mappings: whole `smaps`, of one process or of many. Dear: the kernel writes some twenty lines an area.
//!
//! All of this blocks its caller, but no longer than reads go on: each is bound by [`Options::deadline`],
//! and one that is stuck is left behind.

mod crew;

use std::ops::ControlFlow;

use crew::Ask;

use super::Options;
use crate::group::mapping::MappingMerge;
use crate::group::{Group, GroupBy, GroupKey, Totals};
use crate::model::mapping::{Area, Mapping};
use crate::model::{Identity, Missing, Reading};

/// What was read of one process.
#[derive(Clone, Debug)]
pub struct Found<T> {
    /// Its id.
    pub pid: u32,
    /// Field 22 of `stat`.
    pub starttime: u64,
    /// The kernel's short name, raw.
    pub comm: Box<[u8]>,
    /// Its areas, or its mappings.
    pub what: T,
}

/// The areas of these processes, one by one, in the order asked; or why one's could not be read.
pub fn areas(options: &Options, pids: &[u32]) -> Vec<Reading<Found<Vec<Area>>>> {
    each(options, pids)
}

/// The mappings of these processes, areas of one name put together, in the order asked; or why one's could
/// not be read.
pub fn merged(options: &Options, pids: &[u32]) -> Vec<Reading<Found<Vec<Mapping>>>> {
    let found = each::<MappingMerge>(options, pids).into_iter();
    found
        .map(|found| {
            found.map(|f| Found {
                pid: f.pid,
                starttime: f.starttime,
                comm: f.comm,
                what: f.what.finish(),
            })
        })
        .collect()
}

fn each<T: super::walk::Collect>(options: &Options, pids: &[u32]) -> Vec<Reading<Found<T>>> {
    let ask = |pid: &u32| Ask {
        pid: *pid,
        starttime: None,
    };
    let asks: Vec<Ask> = pids.iter().map(ask).collect();
    let mut all: Vec<Reading<Found<T>>> = pids.iter().map(|_| Err(Missing::Pending)).collect();
    crew::read(options, &asks, |at, found| {
        all[at] = found;
        ControlFlow::Continue(())
    });
    all
}

/// A mapping over many processes.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The sums over all of them.
    pub mapping: Mapping,
    /// Which of the processes asked for have it: their places among those, in order.
    pub members: Vec<usize>,
}

impl Shared {
    /// It as a row: a group of areas, named by what is mapped.
    pub fn into_group(self) -> Group {
        let mut name = self.mapping.name.bytes;
        if self.mapping.name.deleted {
            name = [&*name, b" (deleted)"].concat().into();
        }
        let mut group = Group::new(GroupKey {
            by: GroupBy::Mapping,
            name: Some(name),
        });
        group.readable = self.members.len();
        group.totals = Totals {
            count: self.members.len(),
            memory: self.mapping.memory,
            ..Totals::default()
        };
        group
    }
}

/// The mappings of many processes.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    /// Each mapping, in no order.
    pub shared: Vec<Shared>,
    /// How many processes were read.
    pub read: usize,
    /// Those that have memory and could not be read, by their places among those asked for, and why. The
    /// sums lack them.
    pub missing: Vec<(usize, Missing)>,
    /// Whether it was broken off before all were read.
    pub broken_off: bool,
}

/// Reads the mappings of these processes and puts those of one name together. `progress` is told how many
/// are done, of how many, and may break off: then what was read so far is the result.
///
/// The sum of PSS over all mappings is that over the processes, but for what the kernel cuts off below a
/// kibibyte in each area.
pub fn scan(
    options: &Options,
    processes: &[Identity],
    mut progress: impl FnMut(usize, usize) -> ControlFlow<()>,
) -> Mappings {
    let ask = |id: &Identity| Ask {
        pid: id.pid,
        starttime: Some(id.starttime),
    };
    let asks: Vec<Ask> = processes.iter().map(ask).collect();
    let mut result = Mappings::default();
    let mut merge = MappingMerge::default();
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut done = 0;
    crew::read::<MappingMerge>(options, &asks, |at, found| {
        match found {
            Ok(found) => {
                result.read += 1;
                for mapping in found.what.finish() {
                    merge.mapping(&mapping);
                    let slot = merge.last().unwrap_or_default();
                    members.resize_with(members.len().max(slot + 1), Vec::new);
                    members[slot].push(at);
                }
            }
            Err(why) if why.hides_memory() => result.missing.push((at, why)),
            Err(_) => {}
        }
        done += 1;
        let go = progress(done, asks.len());
        result.broken_off = go.is_break() && done < asks.len();
        go
    });
    result.missing.sort_unstable();
    result.shared = merge
        .finish()
        .into_iter()
        .zip(members)
        .map(|(mapping, mut members)| {
            members.sort_unstable();
            Shared { mapping, members }
        })
        .collect();
    result
}
