//! `zmtop ps`: a table, printed once or again and again.

mod clock;
mod mapping;
mod plan;
mod repeat;

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use super::{complain, usage, written};
use crate::cli::{Exit, PsArgs};
use crate::columns::Value;
use crate::config::Env;
use crate::model::{GroupBy, History, Missing, Snapshot};
use crate::output::rows::{Rows, View};
use crate::output::table;
use crate::sampler::quick;
use crate::units;
use plan::Plan;

/// Reads every process and prints a table of them.
pub fn run(args: &PsArgs, env: &Env) -> Exit {
    let plan = match Plan::new(args, env) {
        Ok(plan) => plan,
        Err(error) => return usage(&error),
    };
    let done = match plan.every {
        Some(every) => repeat::run(&plan, every),
        None => once(&plan),
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
    let mut out = BufWriter::new(io::stdout().lock());
    Ok(written(
        write(&mut out, plan, &snapshot, None).and_then(|()| out.flush()),
    ))
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

/// Writes a whole table of a snapshot.
fn write(out: &mut dyn Write, plan: &Plan, snapshot: &Snapshot, history: Option<&History>) -> io::Result<()> {
    let rows = select(plan, snapshot, history);
    if plan.total_only {
        return total(out, plan, &rows);
    }
    table::write(out, &rows, &plan.table(snapshot))
}

/// The rows that are asked for; those of mappings are read now.
fn select<'a>(plan: &Plan, snapshot: &'a Snapshot, history: Option<&'a History>) -> Rows<'a> {
    match plan.view {
        View::Groups(GroupBy::Mapping) => mapping::rows(plan, snapshot),
        View::Groups(_) | View::Processes | View::Tree => Rows::select(snapshot, history, &plan.query()),
    }
}

/// Nothing but a sum; why it is too small goes elsewhere, so that a script can count on one number.
fn total(out: &mut dyn Write, plan: &Plan, rows: &Rows<'_>) -> io::Result<()> {
    let partial = rows.partial();
    if let Some(why) = &partial {
        complain(why);
    }
    match (plan.sort.get().value)(&rows.total()) {
        Value::Bytes(sum) => writeln!(out, "{}", units::bytes(sum, plan.options.units)),
        // Of nothing; what could not be read is not nothing.
        _ if partial.is_none() => writeln!(out, "0"),
        _ => writeln!(out, "-"),
    }
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
