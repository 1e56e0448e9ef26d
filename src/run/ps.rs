//! `zmtop ps`: one table, printed.

use std::io;

use crate::cli::{Exit, PsArgs};
use crate::config::Env;

/// Prints one table of processes.
pub fn run(_args: &PsArgs, _env: &Env) -> Exit {
    super::written(Err(io::ErrorKind::Unsupported.into()))
}
