//! Snapshots and tables as data, and back.

mod csv;
mod json;
mod made;
mod python;
mod source;
mod wire;
