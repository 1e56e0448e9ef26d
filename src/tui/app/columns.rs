//! Which columns the tables have, by what their rows are; and what must be read for them.

use super::App;
use crate::columns::{ColumnId, find};
use crate::group::GroupBy;
use crate::sampler::Needs;
use crate::tui::scope::Scope;

/// The columns of the left one of two tables, and of the right one: of processes, of groups, of mappings.
const PAIR: [[&[&str]; 2]; 3] = [
    [
        &["pss", "dpss", "uss", "history", "pid", "user", "command"],
        &["swap", "dswap", "swap_pss", "majflt", "pid", "user", "command"],
    ],
    [
        &["pss", "dpss", "uss", "history", "count", "group"],
        &["swap", "dswap", "swap_pss", "majflt", "count", "group"],
    ],
    [
        &["pss", "avg_pss", "uss", "count", "group"],
        &["swap", "swap_pss", "count", "group"],
    ],
];

fn ids(names: &[&str]) -> Vec<ColumnId> {
    names.iter().copied().filter_map(find).collect()
}

/// The columns of mappings.
pub(super) fn of_mappings() -> Vec<ColumnId> {
    ids(&["pss", "avg_pss", "uss", "rss", "swap", "count", "group"])
}

impl App {
    /// The columns chosen for what the rows are now.
    pub const fn chosen(&self) -> &Vec<ColumnId> {
        match self.query.scope {
            Scope::Processes | Scope::Members(_) => &self.tables.columns,
            Scope::Groups(_) => &self.tables.group_columns,
            Scope::Mappings(_) => &self.tables.mapping_columns,
        }
    }

    /// Chooses others.
    pub fn choose(&mut self, columns: Vec<ColumnId>) {
        match self.query.scope {
            Scope::Processes | Scope::Members(_) => self.tables.columns = columns,
            Scope::Groups(_) => self.tables.group_columns = columns,
            Scope::Mappings(_) => self.tables.mapping_columns = columns,
        }
        self.apply_columns();
    }

    /// Gives the tables the chosen columns. A tree shows the sums of its subtrees first; groups that are no
    /// cgroups have none of the figures of cgroups.
    pub fn apply_columns(&mut self) {
        let chosen = self.chosen();
        let sums = find("tree_pss").filter(|c| self.query.shows_tree() && !chosen.contains(c));
        let no_cgroups = matches!(self.query.scope, Scope::Groups(GroupBy::Command | GroupBy::User));
        let left_out = |c: &ColumnId| no_cgroups && is_of_cgroup(*c);
        let columns: Vec<ColumnId> = chosen.iter().copied().filter(|c| !left_out(c)).collect();
        // Where nothing but those was chosen, they stay: a table has a column.
        let columns = if columns.is_empty() { chosen.clone() } else { columns };
        self.tables.single.columns = sums.into_iter().chain(columns).collect();
        self.show_marked();
        let pair = match self.query.scope {
            Scope::Processes | Scope::Members(_) => &PAIR[0],
            Scope::Groups(_) => &PAIR[1],
            Scope::Mappings(_) => &PAIR[2],
        };
        for (table, names) in self.tables.pair.iter_mut().zip(pair) {
            table.columns = ids(names);
        }
    }

    /// With a mark there is a column of changes since, beside that of the last changes, unless one was chosen.
    fn show_marked(&mut self) {
        let chosen = self.chosen().iter().any(|c| c.get().id.starts_with("mark_"));
        let of_mappings = matches!(self.query.scope, Scope::Mappings(_));
        let Some(marked) = find("mark_pss").filter(|_| !self.data.marks.is_empty() && !chosen && !of_mappings) else {
            return;
        };
        let columns = &mut self.tables.single.columns;
        let beside = |id: &str| columns.iter().position(|c| c.get().id == id);
        let at = beside("dpss").or_else(|| beside("pss")).map_or(0, |at| at + 1);
        columns.insert(at, marked);
    }

    /// Returns what must be read for some part of the screen, for the filter or for a rule.
    pub(super) fn needs(&self) -> Needs {
        let by_cgroup = matches!(
            self.query.scope.groups(),
            Some(GroupBy::Unit | GroupBy::Container | GroupBy::Cgroup)
        );
        let chosen = self.chosen().iter().chain([&self.tables.current().sort]).copied();
        let filtered = self.query.filter.filter.columns().into_iter().map(ColumnId);
        let table = Needs::of_columns(chosen.chain(filtered).map(|column| column.get().id));
        let ruled = |id: &str| self.data.alerts.rules().iter().any(|rule| rule.asks(id));
        Needs {
            oom_score: table.oom_score || ruled("oom_score"),
            // The line of detail shows them though no column does.
            cgroups: by_cgroup
                // Groups by command or by user, and mappings, have no cgroup.
                || table.cgroups && self.query.scope.lists_processes()
                || ["cg_current", "cg_limit", "cg_swap"].into_iter().any(ruled)
                // They tell how long it takes until a limit is reached.
                || !self.data.suspects.is_empty()
                || self.shows_panel(),
        }
    }
}

fn is_of_cgroup(column: ColumnId) -> bool {
    column.get().id.starts_with("cg_")
}
