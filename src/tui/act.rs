//! Acting on processes: the dialogs that ask, what is ordered, and what is reported of it.
//!
//! A dialog is about the processes that were there when it was opened. Opening it orders them to be pinned, so
//! that whatever is ordered later reaches those processes or nobody; closing it lets go of them.

pub mod signals;
mod words;

use std::collections::VecDeque;

use rustix::process::Signal;

use super::app::{App, Message, Mode};
use super::input::LineEdit;
use super::popup::Place;
use crate::act::{ActError, Pinned};
use crate::model::Identity;

/// How many processes one order may be about: each takes a few descriptors.
pub const MOST: usize = 1000;

/// What is done to processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Send a signal.
    Signal(Signal),
    /// Set `oom_score_adj`.
    Oom(i32),
    /// Set the niceness.
    Nice(i32),
    /// Change the niceness of each by so much, within what the kernel takes.
    NiceBy(i32),
}

/// What the wiring is told. The number says which dialog it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Pin these processes, report, and watch whether they end.
    Pin(u64, Vec<Identity>),
    /// Do it to those that were pinned under that number, and report.
    Do(u64, Deed),
    /// Let go of them.
    Drop(u64),
}

/// What a pinned process has now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    /// Its `oom_score_adj`.
    pub oom: Result<i32, ActError>,
    /// Its niceness.
    pub nice: Result<i32, ActError>,
}

/// What comes back, by the number of the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The processes were pinned, in the order they were named; or why not.
    Pinned(u64, Vec<Result<Present, ActError>>),
    /// Of those pinned, these have ended so far.
    Ended(u64, Vec<Identity>),
    /// It was done to each of them, in that order, and the value is what it has now (of a signal, its number);
    /// or why not.
    Done(u64, Deed, Vec<Result<i32, ActError>>),
    /// Some time after a signal was sent, or earlier where all have ended: how many of those that it reached
    /// have, and how many are still there.
    Fate {
        /// Which order.
        number: u64,
        /// What was sent.
        signal: Signal,
        /// How many have ended.
        ended: usize,
        /// How many have not.
        there: usize,
    },
}

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
    /// Where the cursor is in [`signals::ALL`].
    pub place: Place,
    /// What was typed to get there.
    pub query: String,
    /// It is asked whether to send it.
    pub asks: bool,
}

/// A number that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// `oom_score_adj`.
    Oom,
    /// Niceness.
    Nice,
}

impl Knob {
    /// What the kernel takes.
    pub const fn range(self) -> std::ops::RangeInclusive<i32> {
        match self {
            Self::Oom => Pinned::OOM,
            Self::Nice => Pinned::NICE,
        }
    }

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Oom => "oom_score_adj",
            Self::Nice => "nice",
        }
    }
}

/// The line that a number is typed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjust {
    /// Which number.
    pub knob: Knob,
    /// As typed, or as it is now.
    pub line: LineEdit,
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
    pub number: u64,
    /// What for.
    pub asks: Asks,
    /// The processes it is about, as they were when it was opened; at least one.
    pub targets: Vec<Target>,
    /// The group whose members they are, safe to print.
    pub of: Option<String>,
    /// What became of pinning each; `None` while nothing was reported.
    pub pins: Option<Vec<Result<Present, ActError>>>,
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
    pub fn present(&self, knob: Knob) -> Option<(i32, i32)> {
        let values = self
            .pins
            .iter()
            .flatten()
            .flatten()
            .filter_map(|p| knob_of(knob, p).ok());
        values.fold(None, |span, n| {
            Some(span.map_or((n, n), |(least, most): (i32, i32)| (least.min(n), most.max(n))))
        })
    }
}

const fn knob_of(knob: Knob, present: &Present) -> Result<i32, ActError> {
    match knob {
        Knob::Oom => present.oom,
        Knob::Nice => present.nice,
    }
}

/// What was ordered and is to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct UnderWay {
    number: u64,
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

    fn find(&self, number: u64) -> Option<UnderWay> {
        self.under_way.iter().find(|one| one.number == number).cloned()
    }

    fn forget(&mut self, number: u64) {
        self.under_way.retain(|one| one.number != number);
    }
}

/// The number of the open dialog.
pub(super) const fn open(app: &App) -> Option<u64> {
    match &app.mode {
        Mode::Act(dialog) => Some(dialog.number),
        Mode::Table | Mode::Input(..) | Mode::Popup(_) => None,
    }
}

/// The open dialog, if it has that number.
fn dialog(app: &mut App, number: u64) -> Option<&mut Dialog> {
    match &mut app.mode {
        Mode::Act(dialog) if dialog.number == number => Some(dialog),
        _ => None,
    }
}

fn say(app: &mut App, (text, bad): (String, bool)) {
    app.screen.message = Some(Message { text, bad });
}

/// Takes in what came of an order; that of a dialog that is no longer open changes no other.
pub(super) fn report(app: &mut App, report: Report) {
    match report {
        Report::Pinned(number, pins) => pinned(app, number, pins),
        Report::Ended(number, ended) => {
            if let Some(dialog) = dialog(app, number) {
                dialog.ended = ended;
            }
        }
        Report::Done(number, deed, results) => done(app, number, deed, &results),
        Report::Fate {
            number,
            signal,
            ended,
            there,
        } => {
            let sent = app.requests.acts.find(number);
            app.requests.acts.forget(number);
            if let Some(told) = sent.and_then(|sent| words::fate(&sent, signal, ended, there)) {
                say(app, told);
            }
        }
    }
}

fn pinned(app: &mut App, number: u64, pins: Vec<Result<Present, ActError>>) {
    let Some(dialog) = dialog(app, number) else { return };
    if pins.iter().all(Result::is_err) {
        let told = (words::refused(&dialog.name(), &pins), true);
        app.mode = Mode::Table;
        return say(app, told);
    }
    dialog.pins = Some(pins);
    let spans = [Knob::Oom, Knob::Nice].map(|knob| dialog.present(knob));
    if let Asks::Number(adjust) = &mut dialog.asks
        && !adjust.touched
        && let Some((least, most)) = spans[adjust.knob as usize]
        && least == most
    {
        adjust.line = LineEdit::new(&least.to_string());
    }
}

fn done(app: &mut App, number: u64, deed: Deed, results: &[Result<i32, ActError>]) {
    let Some(ordered) = app.requests.acts.find(number) else {
        return;
    };
    let told = words::done(&ordered.name, deed, results);
    // What becomes of those that a signal reached is told later.
    if !(matches!(deed, Deed::Signal(_)) && results.iter().any(Result::is_ok)) {
        app.requests.acts.forget(number);
    }
    if let Some(dialog) = dialog(app, number)
        && let Asks::Number(adjust) = &mut dialog.asks
    {
        adjust.waits = false;
        if told.1 {
            // It stays open, to try another number.
            adjust.error = Some(told.0);
            return;
        }
        app.mode = Mode::Table;
    }
    say(app, told);
}
