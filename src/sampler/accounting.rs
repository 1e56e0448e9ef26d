//! Reads the inputs of the account of the system, once.

use std::ops::ControlFlow;
use std::time::Duration;

use super::Options;
use super::pool::{Pool, Priority, Work, Worker};
use crate::model::Missing;
use crate::model::system::AccountingInputs;
use crate::proc::files::Roots;
use crate::proc::system::accounting::{AccountingFile, InputUpdate};

/// A file to read; each for itself, so that one that never returns costs its own figures only.
struct Job(AccountingFile);

impl Work for Job {
    type Context = Roots;
    type Key = AccountingFile;
    type Output = InputUpdate;

    fn key(&self) -> AccountingFile {
        self.0
    }

    fn profile(&self) -> (Priority, Duration) {
        // Enough to give each file a thread: some, such as `zoneinfo`, take milliseconds.
        (Priority::Urgent, Duration::from_millis(5))
    }

    fn run(self, roots: &Roots, _: &mut [u8], _: &Worker<'_, Self>) -> InputUpdate {
        self.0.read(roots)
    }
}

/// Reads it all and blocks the caller no longer than the deadline: what has not come by then is
/// [`Missing::TimedOut`], and its thread is left behind.
pub fn read(options: &Options) -> AccountingInputs {
    let mut inputs = AccountingInputs::missing(Missing::Unsupported);
    let pool = Pool::new(options, AccountingFile::ALL.len(), options.roots());
    pool.submit(AccountingFile::ALL.iter().copied().map(Job));
    // It is never broken off.
    let _ = pool.collect(options.deadline, AccountingFile::missing, |update| {
        update(&mut inputs);
        ControlFlow::Continue(())
    });
    inputs
}
