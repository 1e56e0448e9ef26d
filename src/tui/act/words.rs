//! What is told of acting on processes.

use rustix::process::Signal;

use super::{Dialog, Target, UnderWay};
use crate::act::{ActError, ProcessAction, Tunable, TunableValues, signals};

/// A count of processes.
fn processes(n: usize) -> String {
    let plural = if n == 1 { "" } else { "es" };
    format!("{n} process{plural}")
}

/// Those a dialog is about.
pub(super) fn name(targets: &[Target], of: Option<&str>) -> String {
    match (targets, of) {
        ([one], _) => format!("{} {}", one.id.pid, one.name),
        (many, Some(group)) => format!("{} of {group}", processes(many.len())),
        (many, None) => processes(many.len()),
    }
}

/// Why some could not be acted on, each reason with how many: `2 denied, 1 ended`.
fn reasons(errors: impl Iterator<Item = ActError>) -> String {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for error in errors {
        let word = error.short();
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let words: Vec<String> = counts.iter().map(|(word, n)| format!("{n} {word}")).collect();
    words.join(", ")
}

/// None of them could be pinned.
pub(super) fn refused(name: &str, pins: &[Result<TunableValues, ActError>]) -> String {
    match pins {
        [Err(only)] => format!("{name}: {only}"),
        many => format!(
            "{name}: {}",
            reasons(many.iter().filter_map(|pin| pin.as_ref().err().copied()))
        ),
    }
}

/// What is known against acting on some of them.
pub(super) fn trouble(dialog: &Dialog) -> Option<String> {
    let ended = dialog.ended.len();
    if dialog.targets.len() == 1 {
        return (ended == 1).then(|| "has ended".into());
    }
    let errors = dialog
        .pins
        .iter()
        .flatten()
        .filter_map(|pin| pin.as_ref().err().copied());
    let refused = reasons(errors);
    match (ended, refused.is_empty()) {
        (0, true) => None,
        (0, false) => Some(format!("not to be acted on: {refused}")),
        (n, true) => Some(format!("{n} of {} have ended", dialog.targets.len())),
        (n, false) => Some(format!("{n} have ended since; not to be acted on: {refused}")),
    }
}

/// What came of it, and whether that is bad.
pub(super) fn done(name: &str, deed: ProcessAction, results: &[Result<i32, ActError>]) -> (String, bool) {
    let all = results.len();
    let good: Vec<i32> = results.iter().copied().flatten().collect();
    let why = match results {
        [Err(only)] => only.to_string(),
        many => reasons(many.iter().filter_map(|result| result.err())),
    };
    let none = good.is_empty();
    let text = match deed {
        ProcessAction::Signal(signal) => {
            let signal = signals::name(signal);
            match good.len() {
                0 => format!("{signal} not sent to {name}: {why}"),
                n if n == all => format!("{signal} sent to {name}"),
                n => format!("{signal} sent to {n} of {all}: {why}"),
            }
        }
        ProcessAction::Set(tunable, _) | ProcessAction::Step(tunable, _) => set(tunable, name, &good, all, &why),
    };
    (text, none || good.len() < all)
}

/// What came of setting a number.
fn set(tunable: Tunable, name: &str, good: &[i32], all: usize, why: &str) -> String {
    let what = tunable.spec().name;
    let value = match (good.iter().min(), good.iter().max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => return format!("{what} of {name} stays: {why}"),
    };
    if good.len() == all {
        format!("{what} of {name} is {value}")
    } else {
        format!("{what} is {value} for {} of {all}: {why}", good.len())
    }
}

/// What became of those that a signal reached, and whether that is bad; `None` where there is nothing to tell.
pub(super) fn fate(sent: &UnderWay, signal: Signal, ended: usize, there: usize) -> Option<(String, bool)> {
    let ends = matches!(
        signal,
        Signal::TERM | Signal::KILL | Signal::INT | Signal::QUIT | Signal::ABORT
    );
    // It is not asked to end by this.
    if there > 0 && !ends || ended + there == 0 {
        return None;
    }
    let all = sent.all;
    let (count, verb) = if there > 0 {
        (there, "still there")
    } else {
        (ended, "ended")
    };
    let who = if count == all {
        sent.name.clone()
    } else {
        format!("{count} of {all}")
    };
    let is = match (there > 0, count) {
        (true, 1) => "is",
        (true, _) => "are",
        (false, 1) => "has",
        (false, _) => "have",
    };
    let hint = match (there, signal) {
        (0, _) => "",
        (_, Signal::KILL) => " (the kernel has not let go)",
        (1, _) => " (SIGKILL ends it)",
        _ => " (SIGKILL ends them)",
    };
    Some((format!("{who} {is} {verb}{hint}"), there > 0))
}
