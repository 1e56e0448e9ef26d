//! The account of the system, as text or as data.

mod data;
mod more;
mod text;

use std::io::{self, Write};

use crate::account;
use crate::account::swap::SwapAccount;
use crate::account::{Account, ProcessTotals};
use crate::model::Snapshot;
use crate::model::system::AccountingInputs;
use crate::output::json;
use crate::units::Units;

/// How it is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemOptions {
    /// How bytes are written in text.
    pub units: Units,
    /// The terminal's columns: no line of text is longer.
    pub width: Option<usize>,
    /// With escape sequences for bold and dim.
    pub color: bool,
}

/// All that is told of the system.
#[derive(Debug)]
pub struct Mem<'a> {
    snapshot: &'a Snapshot,
    inputs: &'a AccountingInputs,
    userland: ProcessTotals,
    account: Account,
    swap: SwapAccount,
}

impl<'a> Mem<'a> {
    /// Accounts for what was seen.
    pub fn new(snapshot: &'a Snapshot, inputs: &'a AccountingInputs) -> Self {
        let userland = ProcessTotals::of(snapshot);
        let system = &snapshot.system;
        Self {
            account: account::account(system, inputs, &userland),
            swap: account::swap::account(system, &userland),
            snapshot,
            inputs,
            userland,
        }
    }

    /// Writes it for people.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn text(&self, out: &mut dyn Write, options: MemOptions) -> io::Result<()> {
        text::write(self, out, options)
    }

    /// Writes it as one JSON object, over some lines or on one. Bytes are integers, what is unknown is
    /// null, and `unread` says why, by path.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn json(&self, out: &mut dyn Write, one_line: bool) -> io::Result<()> {
        let map = data::map(self).with_unread();
        if one_line {
            json::line(out, &map)
        } else {
            json::document(out, &map)
        }
    }

    /// Writes it as CSV: a line for each figure, with its path in the JSON.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        data::map(self).csv(out)
    }
}
