//! The columns that each table shows unless others are chosen, from left to right, and those that the program
//! itself asks for by id.
//!
//! Only the order stands here; everything else is said in the entry. An id without an entry does not compile.

use super::callers::CallSites;
use super::held::HeldObjects;
use super::mapping::Mappings;
use super::slab::Slab;
use super::{Column, ColumnId, TableKind};
use crate::group::GroupBy;

/// The column that tables are sorted by unless another is chosen.
pub const PSS: ColumnId = ColumnId::named("pss");
/// The columns of memory that have a value where PSS may not be read. That of RSS says there what that of PSS does.
pub const WITHOUT_PSS: &[ColumnId] = &named([
    "pss", "dpss", "pss_anon", "rss", "swap", "dswap", "history", "trend", "growth",
]);
/// The anonymous memory, which tells who has it where PSS may not be read: RSS counts in each process what many share.
pub const ANON: ColumnId = ColumnId::named("pss_anon");
/// The resident memory.
pub const RSS: ColumnId = ColumnId::named("rss");
/// The memory in percent of the machine's.
pub const MEM: ColumnId = ColumnId::named("mem");
/// The column that the right one of two tables is sorted by.
pub const SWAP: ColumnId = ColumnId::named("swap");
/// The column after which changes since a mark are shown.
pub const DPSS: ColumnId = ColumnId::named("dpss");
/// The column that is shown while there is a mark.
pub const MARK_PSS: ColumnId = ColumnId::named("mark_pss");
/// The sum that a tree shows first.
pub const TREE_PSS: ColumnId = ColumnId::named("tree_pss");
/// The column in which the monitor draws a tree's guides.
pub const COMMAND: ColumnId = ColumnId::named("command");
/// The time that a process has been running.
pub const ELAPSED: ColumnId = ColumnId::named("elapsed");
/// The processor time since the last snapshot.
pub const CPU: ColumnId = ColumnId::named("cpu");
/// The processor time since the start.
pub const TIME: ColumnId = ColumnId::named("time");
/// The process id.
pub const PID: ColumnId = ColumnId::named("pid");
/// The verdict on the footprint.
pub const TREND: ColumnId = ColumnId::named("trend");
/// The columns that are about swap alone.
pub const OF_SWAP: &[ColumnId] = &named(["swap", "dswap", "swap_pss", "mark_swap", "tree_swap", "cg_swap"]);
/// The time until a limit is reached.
pub const ETA: ColumnId = ColumnId::named("eta");
/// The reason why a process has no figures.
pub const UNREAD: ColumnId = ColumnId::named("unread");
/// The parent, which a tree as data has too.
pub const PPID: ColumnId = ColumnId::named("ppid");
/// The columns that show growth, the most telling first.
pub const BY_GROWTH: &[ColumnId] = &named(["trend", "growth", "history"]);

/// The figures of every alert, whatever its condition: what its reader asks for next.
pub const ALERT: &[ColumnId] = &named(["pss", "swap", "footprint", "growth", "rss", "count"]);

/// The columns of `ps`.
pub const PS: &[ColumnId] = &named(["pid", "user", "swap", "uss", "pss", "rss", "command"]);
/// The columns of `ps --tree`.
pub const PS_TREE: &[ColumnId] = &named(["pid", "user", "swap", "uss", "pss", "tree_pss", "command"]);
/// The columns of a group's processes, in its panel.
pub const GROUP_MEMBERS: &[ColumnId] = &named(["growth", "pss", "trend", "pid", "command"]);
/// The same of a program's groups on its hosts, or of a host's.
pub const FLEET_MEMBERS: &[ColumnId] = &named(["growth", "pss", "trend", "count", "host", "command"]);
/// The columns of mappings in the monitor.
pub const MAPPINGS: &[ColumnId] = &named(["pss", "avg_pss", "uss", "rss", "swap", "count", "group"]);

/// The columns of the left one of two tables, and of the right one.
pub type Pair = [&'static [ColumnId]; 2];

/// Two tables of processes.
pub const PROCESS_PAIR: Pair = [
    &named(["pss", "dpss", "uss", "history", "pid", "user", "command"]),
    &named(["swap", "dswap", "swap_pss", "majflt", "pid", "user", "command"]),
];
/// Two tables of groups.
pub const GROUP_PAIR: Pair = [
    &named(["pss", "dpss", "uss", "history", "count", "group"]),
    &named(["swap", "dswap", "swap_pss", "majflt", "count", "group"]),
];
/// Two tables of mappings.
pub const MAPPING_PAIR: Pair = [
    &named(["pss", "avg_pss", "uss", "count", "group"]),
    &named(["swap", "swap_pss", "count", "group"]),
];

/// The columns of `fleet`: of the groups of each host, and of programs and hosts.
pub const FLEET: &[ColumnId] = &named([
    "pss", "dpss", "swap", "uss", "rss", "history", "trend", "count", "host", "command",
]);
/// The columns of `fleet` where its rows are summed.
pub const FLEET_SUMS: &[ColumnId] = &named(["pss", "dpss", "swap", "uss", "history", "trend", "count", "group"]);

/// Returns the columns of `ps --by`; the last says what each group is.
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

/// Returns columns by their ids, which are separated by spaces.
fn chosen<T: TableKind>(ids: &str) -> Vec<&'static Column<T>> {
    ids.split(' ').filter_map(T::find).collect()
}

/// Returns the columns of `kernel slab`.
pub fn slab() -> Vec<&'static Column<Slab>> {
    chosen("size used waste use active objects object_size slabs cache")
}

/// Returns the columns of `kernel callers`.
pub fn callers() -> Vec<&'static Column<CallSites>> {
    chosen("allocated requested wasted hits rate request size growth caller")
}

/// Returns the columns of `maps`: of single areas, or of mappings merged by name.
pub fn maps(areas: bool) -> Vec<&'static Column<Mappings>> {
    let first = if areas { "address perms" } else { "areas" };
    chosen(&format!("{first} size swap swap_pss dirty uss pss rss mapping"))
}

/// Returns the columns of `held`.
pub fn held() -> Vec<&'static Column<HeldObjects>> {
    chosen("share bytes vram holders fds kind name")
}
