//! Acting on processes: the dialogs that ask, what is ordered, and what is reported of it.
//!
//! A dialog is about the processes that were there when it was opened. Opening it orders them to be pinned, so
//! that whatever is ordered later reaches those processes or nobody; closing it lets go of them.

mod draw;
mod keys;
mod reply;
mod words;

use std::collections::VecDeque;

pub(super) use keys::on_action;
pub(super) use reply::on_reply;

use super::widgets::{ListState, TextInput};
use crate::act::{ActError, RequestId, Tunable, TunableValues};
use crate::model::Identity;

/// A process that a dialog is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which.
    pub id: Identity,
    /// Its short name, safe to print.
    pub name: String,
    /// Whose it is, safe to print.
    pub user: String,
    /// Its command line, safe to print.
    pub command: String,
}

/// The list of signals, and then the question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Where the cursor is in [`signals::ALL`](crate::act::signals::ALL).
    pub list: ListState,
    /// What was typed to get there.
    pub query: String,
    /// It is asked whether to send it.
    pub asks: bool,
}

/// The line that a number is typed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjust {
    /// Which number.
    pub tunable: Tunable,
    /// As typed, or as it is now.
    pub line: TextInput,
    /// Something was typed: what is reported no longer changes it.
    pub touched: bool,
    /// It was ordered, and no answer has come.
    pub waits: bool,
    /// What was wrong with it.
    pub error: Option<String>,
}

/// What a dialog asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asks {
    /// A signal.
    Signal(Choice),
    /// A number.
    Number(Adjust),
}

/// An open dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialog {
    /// Which.
    pub number: RequestId,
    /// What for.
    pub asks: Asks,
    /// The processes it is about, as they were when it was opened; at least one.
    pub targets: Vec<Target>,
    /// The group whose members they are, safe to print.
    pub of: Option<String>,
    /// What became of pinning each; `None` while nothing was reported.
    pub pins: Option<Vec<Result<TunableValues, ActError>>>,
    /// Those that have ended since.
    pub ended: Vec<Identity>,
}

impl Dialog {
    /// Those it is about in a few words: `27213 python3`, `7 processes of postgres`.
    pub fn name(&self) -> String {
        words::name(&self.targets, self.of.as_deref())
    }

    /// Every process it is about has ended.
    pub fn is_over(&self) -> bool {
        self.targets.iter().all(|t| self.ended.contains(&t.id))
    }

    /// What is known against acting on some of them: `has ended`, `2 have ended, 1 denied`.
    pub fn trouble(&self) -> Option<String> {
        words::trouble(self)
    }

    /// What all of them have now, the least and the greatest of it; `None` where it is not known of any.
    pub fn present(&self, tunable: Tunable) -> Option<(i32, i32)> {
        let values = self.pins.iter().flatten().flatten().filter_map(|p| p.get(tunable).ok());
        values.fold(None, |span, n| {
            Some(span.map_or((n, n), |(least, most): (i32, i32)| (least.min(n), most.max(n))))
        })
    }
}

/// What was ordered and is to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UnderWay {
    number: RequestId,
    name: String,
    /// How many processes it is about.
    all: usize,
}

/// What was ordered so far.
#[derive(Debug, Default)]
pub struct Acts {
    /// How many dialogs there were.
    pub count: u64,
    under_way: VecDeque<UnderWay>,
}

/// How many orders are told of at most; further ones make the first forgotten.
const TOLD: usize = 64;

impl Acts {
    /// A number that no dialog had.
    pub(super) const fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Remembers who it is about.
    pub(super) fn ordered(&mut self, dialog: &Dialog) {
        if self.under_way.len() == TOLD {
            self.under_way.pop_front();
        }
        self.under_way.push_back(UnderWay {
            number: dialog.number,
            name: dialog.name(),
            all: dialog.targets.len(),
        });
    }

    fn find(&self, number: RequestId) -> Option<UnderWay> {
        self.under_way.iter().find(|one| one.number == number).cloned()
    }

    fn forget(&mut self, number: RequestId) {
        self.under_way.retain(|one| one.number != number);
    }
}
