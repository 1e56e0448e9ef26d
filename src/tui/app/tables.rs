//! The tables on the screen, and what they have in common.

use std::collections::HashSet;
use std::time::Duration;

use crate::columns::{ColumnId, layout};
use crate::config::settings::UiSettings;
use crate::group::RowKey;
use crate::tui::table::Table;

/// The tables on screen: one, or two side by side.
#[derive(Debug)]
pub struct Tables {
    /// The table that is shown alone.
    pub single: Table,
    /// The table by PSS and the table by swap.
    pub pair: [Table; 2],
    /// The pair is shown.
    pub two: bool,
    /// The index in `pair` of the table that keys go to.
    pub active: usize,
    /// The chosen columns of processes.
    pub columns: Vec<ColumnId>,
    /// The chosen columns of groups.
    pub group_columns: Vec<ColumnId>,
    /// The chosen columns of mappings.
    pub mapping_columns: Vec<ColumnId>,
    /// Number of columns scrolled away on the left.
    pub scroll: usize,
    /// The tagged processes and groups.
    pub tags: HashSet<RowKey>,
    /// The row that was clicked last, and when.
    pub clicked: Option<(RowKey, Duration)>,
    /// The selection is followed even at the first row.
    pub follow: bool,
    /// The order of rows is kept.
    pub frozen: bool,
    /// The column sorted by is no longer only that of the settings.
    pub sort_is_chosen: bool,
}

impl Tables {
    /// Starts empty, with the columns of the settings.
    pub fn new(ui: &UiSettings) -> Self {
        Self {
            single: Table::new(ui.columns.clone(), ui.sort, ui.descending),
            pair: [layout::PSS, layout::SWAP].map(|sort| Table::new(Vec::new(), sort, true)),
            two: ui.two_tables,
            active: 0,
            columns: ui.columns.clone(),
            group_columns: ui.group_columns.clone(),
            mapping_columns: layout::MAPPINGS.to_vec(),
            scroll: 0,
            tags: HashSet::new(),
            clicked: None,
            follow: false,
            frozen: false,
            sort_is_chosen: false,
        }
    }

    /// Returns the tables on screen, from left to right.
    pub fn shown(&self) -> &[Table] {
        if self.two {
            &self.pair
        } else {
            std::slice::from_ref(&self.single)
        }
    }

    /// Returns the tables on screen, to change.
    pub fn shown_mut(&mut self) -> &mut [Table] {
        if self.two {
            &mut self.pair
        } else {
            std::slice::from_mut(&mut self.single)
        }
    }

    /// Returns the table that keys go to.
    pub fn current(&self) -> &Table {
        &self.shown()[if self.two { self.active } else { 0 }]
    }

    /// Returns the table that keys go to, to change.
    pub fn current_mut(&mut self) -> &mut Table {
        let active = if self.two { self.active } else { 0 };
        &mut self.shown_mut()[active]
    }
}
