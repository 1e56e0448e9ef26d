//! `zmtop ps --from FILE`.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::plan::Plan;
use super::readable;
use super::tell::Teller;
use crate::cli::Exit;
use crate::run::{from, written};
use crate::source::At;

/// Shows the file's last snapshot, or the last one not after `at`, with the history of those before it.
pub(super) fn run(plan: &Plan, path: &Path, at: Option<&At>) -> Result<Exit, String> {
    let (snapshot, history) = from::read(path, at, &plan.config)?;
    let snapshot = readable(snapshot)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let told = Teller::new(plan).tell(&mut out, &snapshot, Some(&history));
    Ok(written(told.and_then(|()| out.flush())))
}
