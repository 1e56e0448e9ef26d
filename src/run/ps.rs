//! `zmtop ps`: a table, printed once or again and again.

mod file;
mod mapping;
mod plan;
mod repeat;
mod tell;

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use plan::Plan;
use tell::Teller;

use super::{complain, usage, written};
use crate::cli::{Exit, PsArgs};
use crate::config::Env;
use crate::model::{Missing, Snapshot};
use crate::sampler::quick;

/// Reads every process and prints a table of them.
pub fn run(args: &PsArgs, env: &Env) -> Exit {
    let plan = match Plan::new(args, env) {
        Ok(plan) => plan,
        Err(error) => return usage(&error),
    };
    let done = match (&plan.from, plan.every) {
        (Some(path), _) => file::run(&plan, path, plan.at.as_ref()),
        (None, Some(every)) => repeat::run(&plan, every),
        (None, None) => once(&plan),
    };
    done.unwrap_or_else(|why| {
        complain(&why);
        Exit::Unread
    })
}

/// One table.
fn once(plan: &Plan) -> Result<Exit, String> {
    let look = plan.wants.and_then(|wants| quick::look(&plan.sampling, wants));
    let snapshot = match look {
        Some(snapshot) => Arc::new(snapshot),
        None => scan(plan)?,
    };
    let snapshot = readable(snapshot)?;
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let told = Teller::new(plan).tell(&mut out, &snapshot, None);
    // The program ends here: memory need not be given back bit by bit.
    std::mem::forget(snapshot);
    Ok(written(told.and_then(|()| out.flush())))
}

/// One whole snapshot with everything in it.
fn scan(plan: &Plan) -> Result<Arc<Snapshot>, String> {
    crate::sampler::make_room();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    let snapshot = runtime.block_on(async { plan.scanner().full().await });
    // Reads may be stuck for ever: nobody waits for them.
    runtime.shutdown_background();
    Ok(snapshot)
}

/// The snapshot if anything in it could be read.
fn readable(snapshot: Arc<Snapshot>) -> Result<Arc<Snapshot>, String> {
    match &snapshot.processes {
        Err(why) => Err(format!("the processes cannot be listed: {why}")),
        Ok(rows) if rows.is_empty() => Err("there are no processes to read".into()),
        Ok(rows)
            if rows.iter().all(|p| p.walk.is_err())
                && rows.iter().any(|p| p.walk.is_err_and(Missing::hides_memory)) =>
        {
            Err(
                "no process's memory can be read; run as root, or grant CAP_PERFMON (CAP_SYS_PTRACE before Linux 6.15)"
                    .into(),
            )
        }
        Ok(_) => Ok(snapshot),
    }
}
