//! What the one-shot commands write to standard output.

pub mod bars;
mod cells;
pub mod changes;
mod layout;
pub mod rows;
pub mod table;
