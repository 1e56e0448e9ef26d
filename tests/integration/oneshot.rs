//! Output of the one-shot commands: chosen rows, tables, changes, and the program itself.

mod bars;
mod capture;
mod changes;
mod chosen;
mod conformance;
mod formats;
mod groups;
pub(crate) mod leaks;
mod past;
mod program;
mod prove;
mod rows;
mod scan;
mod sentences;
mod table;

use std::time::Duration;

use zmtop::columns::{COLUMNS, ColumnId, find};
use zmtop::filter::Filter;
use zmtop::model::{Missing, ProcessSample};
use zmtop::output::table::{TableOptions, write};
use zmtop::query::{Query, Rows};

use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

fn user(sample: ProcessSample, name: &str) -> ProcessSample {
    with_facts(sample, |f| f.user = Ok(name.as_bytes().into()))
}

/// Five processes: one of alice's that is large, a kernel thread, two that cannot be read.
fn machine() -> Vec<ProcessSample> {
    let mut rows = vec![
        process(1, 0, "/sbin/init"),
        process(2, 0, "kthreadd"),
        user(process(812, 1, "postgres: checkpointer"), "postgres"),
        user(process(27_213, 1, "python3 train.py --epochs 10"), "alice"),
        process(900, 1, "sshd"),
    ];
    rows[1].stat.flags = zmtop::model::Stat::PF_KTHREAD;
    rows[1].walk = Err(Missing::KernelThread);
    rows[2].walk = Err(Missing::Denied);
    rows[3].walk = Ok(walk(2048 * MIB, 12 * MIB));
    rows[4].walk = Err(Missing::TimedOut);
    rows
}

/// The table of these processes at nine seconds.
fn table(rows: Vec<ProcessSample>, filter: &str, change: impl FnOnce(&mut Query<'_>, &mut TableOptions)) -> String {
    let filter = Filter::parse(filter, &COLUMNS).unwrap();
    let mut query = Query::new(&filter);
    let mut options = TableOptions::default();
    change(&mut query, &mut options);
    let snapshot = snapshot(Duration::from_secs(9), rows);
    let mut out = Vec::new();
    write(&mut out, &Rows::select(&snapshot, None, &query), &options).unwrap();
    String::from_utf8(out).unwrap()
}

fn ids(names: &[&str]) -> Vec<ColumnId> {
    names.iter().map(|id| find(id).unwrap()).collect()
}
