//! The rows that the user asks for: their kind, and the filters they must pass.

use std::collections::HashSet;
use std::sync::Arc;

use crate::columns::COLUMNS;
use crate::config::settings::UiSettings;
use crate::filter::{Filter, FilterError, Schema};
use crate::model::Identity;
use crate::tui::scope::Scope;

/// The part of the snapshot that the user asks to see.
#[derive(Clone, Debug)]
pub struct QueryState {
    /// The kind of rows.
    pub scope: Scope,
    /// The filter of the rows.
    pub filter: FilterState,
    /// While mappings are shown: the filter of the processes, by which they were chosen.
    pub outer_filter: Option<FilterState>,
    /// Only the processes of this user.
    pub user: Option<Arc<[u8]>>,
    /// The text that is searched for, lower-cased.
    pub search: Option<String>,
    /// Processes stand in a tree.
    pub tree: bool,
    /// The processes whose subtrees are folded.
    pub folded: HashSet<Identity>,
    /// Kernel threads are listed.
    pub kernel_threads: bool,
}

impl QueryState {
    /// Starts from the settings.
    pub fn new(ui: &UiSettings) -> Self {
        let mut filter = FilterState::default();
        filter.set(&ui.filter);
        Self {
            scope: Scope::by(ui.by),
            filter,
            outer_filter: None,
            user: None,
            search: None,
            tree: ui.tree,
            folded: HashSet::new(),
            kernel_threads: ui.kernel_threads,
        }
    }

    /// Returns true if the rows stand in a tree.
    pub const fn shows_tree(&self) -> bool {
        self.tree && self.scope.lists_processes()
    }

    /// Returns true if mappings are shown.
    pub const fn shows_mappings(&self) -> bool {
        matches!(self.scope, Scope::Mappings(_))
    }

    /// Returns the filter that chooses processes, whatever is shown.
    pub fn process_filter(&self) -> &FilterState {
        self.outer_filter.as_ref().unwrap_or(&self.filter)
    }
}

/// The filter as typed and as understood.
#[derive(Clone, Debug, Default)]
pub struct FilterState {
    /// The text as last typed.
    pub text: String,
    /// The last filter that parsed.
    pub filter: Filter,
    /// The text of the last filter that parsed.
    pub good: String,
    /// The fault in what was typed.
    pub error: Option<FilterError>,
}

impl FilterState {
    /// Parses what was typed as a filter of processes; the last good filter stays where it does not parse.
    pub fn set(&mut self, text: &str) {
        self.set_by(text, &COLUMNS);
    }

    /// Parses what was typed as a filter of rows with these columns.
    pub fn set_by(&mut self, text: &str, schema: &dyn Schema) {
        self.text = text.into();
        match Filter::parse(text, schema) {
            Ok(filter) => {
                self.filter = filter;
                self.good = text.into();
                self.error = None;
            }
            Err(error) => self.error = Some(error),
        }
    }
}
