//! The one table of columns.

mod cells;
mod registry;
