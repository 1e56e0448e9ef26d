//! Placeholder.
use crate::columns::ColumnId;
use crate::units::Units;
/// Placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// x
    pub columns: Vec<ColumnId>,
    /// x
    pub sort: ColumnId,
    /// x
    pub descending: bool,
    /// x
    pub filter: String,
    /// x
    pub units: Units,
    /// x
    pub tree: bool,
    /// x
    pub two_tables: bool,
    /// x
    pub kernel_threads: bool,
}
