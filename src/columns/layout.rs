//! The default columns of each table, from left to right, and the columns that the program itself refers to. An id without
//! an entry does not compile.

use super::cached_file::CachedFiles;
use super::callers::CallSites;
use super::held::HeldObjects;
use super::limit::LimitRows;
use super::mapping::Mappings;
use super::slab::Slab;
use super::{AppliesTo, Column, ColumnId, Needs, TableKind, Unit};
use crate::group::GroupBy;

pub const PSS: ColumnId = ColumnId::named("pss");
/// The memory columns that have a value if PSS cannot be read: columns of PSS then show RSS.
pub const WITHOUT_PSS: &[ColumnId] = &named([
    "pss", "dpss", "pss_anon", "rss", "swap", "dswap", "history", "trend", "growth",
]);
/// The best figure if PSS cannot be read: RSS counts shared memory in each process.
pub const ANON: ColumnId = ColumnId::named("pss_anon");
pub const RSS: ColumnId = ColumnId::named("rss");
pub const MEM: ColumnId = ColumnId::named("mem");
pub const SWAP: ColumnId = ColumnId::named("swap");
pub const DPSS: ColumnId = ColumnId::named("dpss");
pub const MARK_PSS: ColumnId = ColumnId::named("mark_pss");
pub const TREE_PSS: ColumnId = ColumnId::named("tree_pss");
pub const TREE_SWAP: ColumnId = ColumnId::named("tree_swap");
/// The column in which the guides of a tree are drawn.
pub const COMMAND: ColumnId = ColumnId::named("command");
pub const ELAPSED: ColumnId = ColumnId::named("elapsed");
pub const CPU: ColumnId = ColumnId::named("cpu");
pub const TIME: ColumnId = ColumnId::named("time");
pub const PID: ColumnId = ColumnId::named("pid");
pub const AGE: ColumnId = ColumnId::named("age");
pub const PSS_ERROR: ColumnId = ColumnId::named("pss_error");
pub const COUNT: ColumnId = ColumnId::named("count");
pub const GROUP: ColumnId = ColumnId::named("group");
pub const TREND: ColumnId = ColumnId::named("trend");
/// The columns that only concern swap.
pub const OF_SWAP: &[ColumnId] = &named(["swap", "dswap", "swap_pss", "mark_swap", "tree_swap", "cg_swap"]);
pub const ETA: ColumnId = ColumnId::named("eta");
pub const UNREAD: ColumnId = ColumnId::named("unread");
/// The parent, which a tree has as data.
pub const PPID: ColumnId = ColumnId::named("ppid");
/// The columns that show growth, the most informative first.
pub const BY_GROWTH: &[ColumnId] = &named(["trend", "growth", "history"]);

/// The figures that every alert contains, whatever its condition.
pub const ALERT: &[ColumnId] = &named(["pss", "swap", "footprint", "growth", "rss", "count"]);

/// The columns that name a process, which each process has in data.
pub const NAMES: [ColumnId; 2] = [PID, COMMAND];
/// The columns of `ps`.
pub const PS: &[ColumnId] = &named(["pid", "user", "swap", "uss", "pss", "rss", "command"]);
/// The columns of `ps --tree`.
pub const PS_TREE: &[ColumnId] = &named(["pid", "user", "swap", "uss", "pss", "tree_pss", "command"]);
/// The columns of a group's processes, in its panel.
pub const GROUP_MEMBERS: &[ColumnId] = &named(["growth", "pss", "trend", "pid", "command"]);
/// The same for a program's groups on its hosts, or for a host's groups.
pub const FLEET_MEMBERS: &[ColumnId] = &named(["growth", "pss", "trend", "count", "host", "command"]);
/// The columns of mappings in the monitor.
pub const MAPPINGS: &[ColumnId] = &named(["pss", "avg_pss", "uss", "rss", "swap", "count", "group"]);

/// Returns true if a mapping, summed over the processes that map it, has a value in a column: a figure of one reading of its
/// memory, how many map it, or its name.
pub fn is_of_mappings(id: ColumnId) -> bool {
    let column = id.get();
    let is_read_once = column.needs.without(Needs::MEMORY.and(Needs::SYSTEM)) == Needs::NOTHING;
    let is_figure = column.needs.contains(Needs::MEMORY) && column.unit != Unit::Text;
    let is_of_walks = [TREE_PSS, TREE_SWAP, AGE, PSS_ERROR].contains(&id);
    let applies = column.applies_to == AppliesTo::AnyRow && is_figure && is_read_once && !is_of_walks;
    applies || [COUNT, GROUP].contains(&id)
}

/// The columns of two tables side by side: the left one and the right one.
pub type Pair = [&'static [ColumnId]; 2];

pub const PROCESS_PAIR: Pair = [
    &named(["pss", "dpss", "uss", "history", "pid", "user", "command"]),
    &named(["swap", "dswap", "swap_pss", "majflt", "pid", "user", "command"]),
];
pub const GROUP_PAIR: Pair = [
    &named(["pss", "dpss", "uss", "history", "count", "group"]),
    &named(["swap", "dswap", "swap_pss", "majflt", "count", "group"]),
];
pub const MAPPING_PAIR: Pair = [
    &named(["pss", "avg_pss", "uss", "count", "group"]),
    &named(["swap", "swap_pss", "count", "group"]),
];

/// The columns of `fleet`, whose rows are the groups of each host.
pub const FLEET: &[ColumnId] = &named([
    "pss", "dpss", "swap", "uss", "rss", "history", "trend", "count", "host", "command",
]);
/// The columns of `fleet` if its rows are summed.
pub const FLEET_SUMS: &[ColumnId] = &named(["pss", "dpss", "swap", "uss", "history", "trend", "count", "group"]);

/// Returns the columns of `ps --by`. The last one names the group.
pub const fn ps_by(by: GroupBy) -> &'static [ColumnId] {
    match by {
        GroupBy::Command | GroupBy::Family | GroupBy::Host | GroupBy::Siblings => {
            const {
                &named([
                    "count",
                    "swap",
                    "swap_pss",
                    "uss",
                    "shared_pss",
                    "pss",
                    "footprint",
                    "command",
                ])
            }
        }
        GroupBy::User => const { &named(["count", "swap", "uss", "pss", "rss", "user"]) },
        GroupBy::Unit => const { &of_cgroups("unit") },
        GroupBy::Container => const { &of_cgroups("container") },
        GroupBy::Pod => const { &of_cgroups("pod") },
        GroupBy::Cgroup => const { &of_cgroups("cgroup") },
        GroupBy::Mapping => const { &named(["count", "swap", "avg_pss", "pss", "group"]) },
    }
}

const fn of_cgroups(name: &str) -> [ColumnId; 7] {
    named(["count", "swap", "pss", "cg_current", "cg_limit", "cg_swap", name])
}

const fn named<const N: usize>(ids: [&str; N]) -> [ColumnId; N] {
    let mut columns = [ColumnId(0); N];
    let mut at = 0;
    while at < N {
        columns[at] = ColumnId::named(ids[at]);
        at += 1;
    }
    columns
}

/// Returns columns by their ids, separated by spaces.
fn chosen<T: TableKind>(ids: &str) -> Vec<&'static Column<T>> {
    ids.split(' ').filter_map(T::find).collect()
}

pub fn slab() -> Vec<&'static Column<Slab>> {
    chosen("size used waste use active objects object_size slabs cache")
}

pub fn callers() -> Vec<&'static Column<CallSites>> {
    chosen("allocated requested wasted hits rate request size growth caller")
}

/// Returns the columns of `maps`, for single areas or for mappings merged by name.
pub fn maps(areas: bool) -> Vec<&'static Column<Mappings>> {
    let first = if areas { "address perms" } else { "areas" };
    chosen(&format!("{first} size swap swap_pss dirty uss pss rss mapping"))
}

pub fn limits() -> Vec<&'static Column<LimitRows>> {
    chosen("median p99 peak limit near kills observed max certainty kind name")
}

pub fn cache() -> Vec<&'static Column<CachedFiles>> {
    chosen("cached dirty writeback evicted size share processes pid comm kind deleted unread file")
}

pub fn held() -> Vec<&'static Column<HeldObjects>> {
    chosen("share bytes vram holders fds kind name")
}
