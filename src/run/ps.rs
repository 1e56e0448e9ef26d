//! `zmtop ps`: a table, printed once or again and again.

mod mapping;
mod plan;
mod print;
mod repeat;

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use plan::Plan;
use print::Printer;

use super::{Failure, OUTPUT_BUFFER, snapshot, written};
use crate::cli::{Exit, PsArgs};
use crate::config::Env;
use crate::filter::Filter;
use crate::history::History;
use crate::model::{Missing, Snapshot};
use crate::sampler::one_shot;

/// Reads every process, or a file, and prints a table.
pub(super) fn run(args: &PsArgs, env: &Env) -> Result<Exit, Failure> {
    let plan = Plan::new(args, env)?;
    match (&plan.from, plan.every) {
        (Some(path), _) => {
            let (snapshot, history) = snapshot::read(path, plan.at.as_ref(), &plan.history, &Filter::default())?;
            print_once(&plan, snapshot, Some(&history))
        }
        (None, Some(every)) => repeat::run(&plan, every),
        (None, None) => {
            let one_shot = plan.is_plain.then(|| one_shot::scan(&plan.sampling, plan.needs));
            let snapshot = match one_shot.flatten() {
                Some(snapshot) => Arc::new(snapshot),
                None => snapshot::scan(plan.scanner())?,
            };
            print_once(&plan, snapshot, None)
        }
    }
}

fn print_once(plan: &Plan, snapshot: Arc<Snapshot>, history: Option<&History>) -> Result<Exit, Failure> {
    let snapshot = readable(snapshot)?;
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER, io::stdout().lock());
    let done = Printer::new(plan).print(&mut out, &snapshot, history);
    // The program ends here: memory need not be given back bit by bit.
    std::mem::forget(snapshot);
    Ok(written(done.and_then(|()| out.flush())))
}

/// Returns the snapshot if anything in it could be read.
fn readable(snapshot: Arc<Snapshot>) -> Result<Arc<Snapshot>, String> {
    let rows = match &snapshot.processes {
        Err(why) => return Err(format!("the processes cannot be listed: {why}")),
        Ok(rows) if rows.is_empty() => return Err("there are no processes to read".into()),
        Ok(rows) => rows,
    };
    let hidden = rows.iter().any(|p| p.walk.is_err_and(Missing::hides_memory));
    if hidden && rows.iter().all(|p| p.walk.is_err()) {
        let what = "no process's memory can be read; run as root, or grant CAP_PERFMON (CAP_SYS_PTRACE before Linux \
                    6.15)";
        return Err(what.into());
    }
    Ok(snapshot)
}
