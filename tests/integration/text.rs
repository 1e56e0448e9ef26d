//! Foreign bytes as safe text, and figures as text of a known width.

mod lossless;
mod safe;
mod units;
