//! What the one-shot commands write to standard output.

pub mod bars;
mod cells;
pub mod changes;
pub mod csv;
mod grid;
pub mod json;
mod layout;
pub mod leaks;
pub mod maps;
pub mod mem;
mod node;
pub mod rows;
pub mod table;

use crate::columns::{DataValue, Row};

/// A row as data is written of it: what is not in the column table, such as its depth in a tree, comes
/// before its columns.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// Names and values, the same names in each row; none may be a column's id.
    pub before: Vec<(&'static str, DataValue<'a>)>,
    /// What the columns take their values from.
    pub row: Row<'a>,
}

impl<'a> From<Row<'a>> for Line<'a> {
    fn from(row: Row<'a>) -> Self {
        Self {
            before: Vec::new(),
            row,
        }
    }
}
