//! The report of the system's memory: totals, compressed memory, and the use of RAM.

mod data;
mod text;

pub use data::schema;

use std::io::{self, Write};

use super::data::{DataTable, Document};
use super::{OutputStyle, Report};
use crate::account;
use crate::account::swap::{ShmemAccount, SwapAccount};
use crate::account::{Account, ProcessTotals};
use crate::model::Snapshot;

#[derive(Debug)]
pub struct MemReport<'a> {
    snapshot: &'a Snapshot,
    processes: ProcessTotals,
    account: Account,
    shmem: ShmemAccount<'a>,
    swap: SwapAccount,
    style: OutputStyle,
}

impl<'a> MemReport<'a> {
    pub fn new(snapshot: &'a Snapshot, style: OutputStyle) -> Self {
        let processes = ProcessTotals::of(snapshot);
        let system = &snapshot.system;
        let shmem = account::swap::shmem(system, &snapshot.accounting);
        Self {
            account: account::account(system, &snapshot.accounting, &processes),
            swap: account::swap::account(system, &processes, &shmem),
            shmem,
            snapshot,
            processes,
            style,
        }
    }
}

impl Report for MemReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        text::write(self, out)
    }

    fn document(&self) -> Document<'_> {
        Document::Object(data::plain(self).with_unread())
    }

    /// Returns a row for each figure, with its path in the document.
    fn table(&self) -> DataTable<'_> {
        data::plain(self).into_table()
    }
}
