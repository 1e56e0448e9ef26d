//! Which columns the tables have, by what their rows are; and what must be read for them.

use super::App;
use crate::alert::Rule;
use crate::columns::{AppliesTo, ColumnId, Needs, layout, needs_of_filter};
use crate::group::GroupBy;
use crate::tui::scope::Scope;

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
        let sums = Some(layout::TREE_PSS).filter(|c| self.query.shows_tree() && !chosen.contains(c));
        let no_cgroups = matches!(self.query.scope, Scope::Groups(GroupBy::Command | GroupBy::User));
        let left_out = |c: &ColumnId| no_cgroups && c.get().applies_to == AppliesTo::CgroupRows;
        let columns: Vec<ColumnId> = chosen.iter().copied().filter(|c| !left_out(c)).collect();
        // Where nothing but those was chosen, they stay: a table has a column.
        let columns = if columns.is_empty() { chosen.clone() } else { columns };
        self.tables.single.columns = sums.into_iter().chain(columns).collect();
        self.show_marked();
        let pair = match self.query.scope {
            Scope::Processes | Scope::Members(_) => layout::PROCESS_PAIR,
            Scope::Groups(_) => layout::GROUP_PAIR,
            Scope::Mappings(_) => layout::MAPPING_PAIR,
        };
        for (table, columns) in self.tables.pair.iter_mut().zip(pair) {
            table.columns = columns.to_vec();
        }
    }

    /// With a mark there is a column of changes since, beside that of the last changes, unless one was chosen.
    fn show_marked(&mut self) {
        let chosen = self.chosen().iter().any(|c| c.get().needs.contains(Needs::MARK));
        if self.data.marks.is_empty() || chosen || matches!(self.query.scope, Scope::Mappings(_)) {
            return;
        }
        let columns = &mut self.tables.single.columns;
        let beside = |id: ColumnId| columns.iter().position(|c| *c == id);
        let at = beside(layout::DPSS).or_else(|| beside(layout::PSS));
        columns.insert(at.map_or(0, |at| at + 1), layout::MARK_PSS);
    }

    /// Returns what must be read for some part of the screen, for the filter or for a rule.
    pub(super) fn needs(&self) -> Needs {
        let by_cgroup = matches!(
            self.query.scope.groups(),
            Some(GroupBy::Unit | GroupBy::Container | GroupBy::Cgroup)
        );
        let shown = self.chosen().iter().chain([&self.tables.current().sort]);
        let shown: Needs = shown.map(|c| c.get().needs).collect();
        let table = shown.and(needs_of_filter(&self.query.filter.filter));
        let rules: Needs = self.data.alerts.rules().map(Rule::needs).collect();
        let all = [
            // Groups by command or by user, and mappings, have no cgroup.
            match by_cgroup || self.query.scope.lists_processes() {
                true => table,
                false => table.without(Needs::CGROUP_FIGURES),
            },
            rules,
            // The line of detail shows them though no column does; and for suspects and in the panel they tell
            // how long it takes until a limit is reached.
            match by_cgroup || !self.data.suspects.is_empty() || self.shows_panel() {
                true => Needs::CGROUP_FIGURES,
                false => Needs::NOTHING,
            },
        ];
        all.into_iter().collect::<Needs>().within(Needs::ON_DEMAND)
    }
}
