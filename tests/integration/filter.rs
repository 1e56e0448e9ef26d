//! The filter language.

mod errors;
mod laws;
mod matches;
mod verdicts;
