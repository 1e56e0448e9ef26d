//! What the one-shot commands write to standard output.

mod layout;
pub mod table;
