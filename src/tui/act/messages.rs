//! The messages about actions and their results.

use rustix::process::Signal;

use super::pending::PendingAction;
use super::selection::Selection;
use crate::act::{ActError, ProcessAction, TunableValues, signals};
use crate::tui::app::Message;

/// Counts errors by their short form: `2 denied, 1 ended`.
fn count(errors: impl Iterator<Item = ActError>) -> String {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for error in errors.map(ActError::short) {
        match counts.iter_mut().find(|(known, _)| *known == error) {
            Some((_, count)) => *count += 1,
            None => counts.push((error, 1)),
        }
    }
    let texts: Vec<String> = counts.iter().map(|(error, n)| format!("{n} {error}")).collect();
    texts.join(", ")
}

/// Explains the errors: the only one in full, several by their counts.
fn explain<T>(results: &[Result<T, ActError>]) -> String {
    match results {
        [Err(only)] => only.to_string(),
        many => count(many.iter().filter_map(|result| result.as_ref().err().copied())),
    }
}

/// Writes the lowest and the highest value, or the only one.
pub(super) fn range((lowest, highest): (i32, i32)) -> String {
    if lowest == highest {
        lowest.to_string()
    } else {
        format!("{lowest} to {highest}")
    }
}

/// Returns the message that no process could be pinned.
pub(super) fn not_pinned(name: &str, results: &[Result<TunableValues, ActError>]) -> String {
    format!("{name}: {}", explain(results))
}

impl Selection {
    /// Returns what keeps an action from some of the processes: `has ended`, `2 of 5 have ended`.
    pub fn obstacles(&self) -> Option<String> {
        let exited = self.exited.len();
        let all = self.processes.len();
        if all == 1 {
            return (exited == 1).then(|| "has ended".into());
        }
        let results = self.values.iter().flatten();
        let refused = count(results.filter_map(|result| result.as_ref().err().copied()));
        match (exited, refused.is_empty()) {
            (0, true) => None,
            (0, false) => Some(format!("not to be acted on: {refused}")),
            (n, true) => Some(format!("{n} of {all} have ended")),
            (n, false) => Some(format!("{n} have ended since; not to be acted on: {refused}")),
        }
    }
}

/// Returns the message about the results of an action on the processes of that name.
pub(super) fn performed(name: &str, action: ProcessAction, results: &[Result<i32, ActError>]) -> Message {
    let all = results.len();
    let values = results.iter().copied().flatten();
    let done = values.clone().count();
    let error = explain(results);
    let text = match action {
        ProcessAction::Signal(signal) => {
            let signal = signals::name(signal);
            match done {
                0 => format!("{signal} not sent to {name}: {error}"),
                n if n == all => format!("{signal} sent to {name}"),
                n => format!("{signal} sent to {n} of {all}: {error}"),
            }
        }
        ProcessAction::ClearReferenced => match done {
            0 => format!("{name} is not looked at: {error}"),
            n if n == all => format!("what {name} touches is noted from now on"),
            n => format!("what {n} of {all} touch is noted from now on: {error}"),
        },
        ProcessAction::Set(tunable, _) | ProcessAction::Step(tunable, _) => {
            let what = tunable.spec().name;
            match values.clone().min().zip(values.max()).map(range) {
                None => format!("{what} of {name} stays: {error}"),
                Some(value) if done == all => format!("{what} of {name} is {value}"),
                Some(value) => format!("{what} is {value} for {done} of {all}: {error}"),
            }
        }
    };
    let bad = done < all;
    Message { text, bad }
}

/// Returns the message about the outcome of a signal; `None` if there is nothing to say.
pub(super) fn outcome(sent: &PendingAction, signal: Signal, exited: usize, running: usize) -> Option<Message> {
    // A process that goes on after SIGHUP or SIGSTOP does as it should.
    if exited + running == 0 || running > 0 && !signals::asks_to_exit(signal) {
        return None;
    }
    let count = if running > 0 { running } else { exited };
    let all = sent.processes.len();
    let name = if count == all {
        sent.name.clone()
    } else {
        format!("{count} of {all}")
    };
    let what = match (running, exited) {
        (0, 1) => "has ended",
        (0, _) => "have ended",
        (1, _) => "is still there",
        _ => "are still there",
    };
    let hint = match (running, signal) {
        (0, _) => "",
        (_, Signal::KILL) => " (the kernel has not let go)",
        (1, _) => " (SIGKILL ends it)",
        _ => " (SIGKILL ends them)",
    };
    let text = format!("{name} {what}{hint}");
    let bad = running > 0;
    Some(Message { text, bad })
}
