//! Foreign bytes as safe text, and figures as text of a known width.

mod safe;
mod units;
