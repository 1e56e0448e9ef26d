//! The processes that a dialog is about, and the messages about actions on them.

use std::sync::Arc;

use rustix::process::Signal;

use crate::act::{ActError, Command, ProcessAction, RequestId, Tunable, TunableValues, signals};
use crate::group::{GroupBy, RowKey};
use crate::model::{Facts, Identity, ProcessSample, Snapshot};
use crate::tui::app::{App, Message, PendingAction, Response};
use crate::tui::event::Effect;
use crate::{order, text};

/// A process as a dialog names it.
pub struct NamedProcess {
    pub id: Identity,
    pub facts: Arc<Facts>,
    /// The number of its execs, and the last known user.
    program: (u32, Option<u32>),
}

/// The processes that a dialog is about, at least one, and their state since it was opened.
pub struct Selection {
    pub request: RequestId,
    /// Sorted by identity.
    pub processes: Vec<NamedProcess>,
    /// The group whose members they are, safe to print.
    group: Option<String>,
    /// Their tunables, or the reasons why they are not pinned; `None` before the reply.
    pub values: Option<Vec<Result<TunableValues, ActError>>>,
    pub exited: Vec<Identity>,
    /// The processes that execute another program or have another user since then.
    replaced: Vec<Identity>,
}

impl Selection {
    /// Selects the processes of the tagged rows, or else of the row at the cursor; of a group all its members.
    ///
    /// # Errors
    /// There are none, or more than `most`.
    pub(super) fn new(app: &mut App, most: usize) -> Result<Self, String> {
        if app.query.scope.grouped_by() == Some(GroupBy::Mapping) {
            return Err("a mapping is not a process: go back to act on processes".into());
        }
        let snapshot = app.engine.snapshot.as_ref().ok_or("no process is known yet")?;
        let tagged: Vec<&RowKey> = app.tagged_rows().collect();
        let rows: Vec<&RowKey> = if tagged.is_empty() {
            app.tables.current().selected.iter().collect()
        } else {
            tagged
        };
        let mut samples: Vec<&ProcessSample> = rows.iter().flat_map(|row| members(app, snapshot, row)).collect();
        // A process may be in several tagged groups.
        order::sort_by_key(&mut samples, |s| s.id);
        samples.dedup_by_key(|s| s.id);
        if samples.is_empty() {
            return Err("no process is selected".into());
        }
        if samples.len() > most {
            return Err(too_many(samples.len(), most));
        }
        let group = match rows.as_slice() {
            [row @ RowKey::Group(key)] => Some(match app.rows.folds.get(row) {
                Some(fold) => fitted(fold.group.name()),
                None => format!("{} {}", key.by.id(), fitted(key.label())),
            }),
            [RowKey::Process(_) | RowKey::Part(_)] => None,
            many => {
                let groups = app.query.scope.grouped_by();
                groups.map(|_| format!("{} groups", many.len()))
            }
        };
        Ok(Self::of(app.requests.acts.next_request(), samples, group))
    }

    /// Selects a process, and all below it if `with_below`.
    ///
    /// # Errors
    /// It has ended, or they are more than `most`.
    pub(super) fn tree(app: &mut App, root: Identity, with_below: bool, most: usize) -> Result<Self, String> {
        let below = if with_below { app.below(root) } else { Vec::new() };
        let snapshot = app.engine.snapshot.as_ref().ok_or("no process is known yet")?;
        let first = snapshot.row(root).ok_or("that process has ended")?;
        let name = format!("{} {}", root.pid, text::safe_prefix(&first.facts.comm, 15));
        let mut samples: Vec<_> = below.iter().filter_map(|id| snapshot.row(*id)).chain([first]).collect();
        if samples.len() > most {
            return Err(too_many(samples.len(), most));
        }
        order::sort_by_key(&mut samples, |s| s.id);
        Ok(Self::of(
            app.requests.acts.next_request(),
            samples,
            Some(format!("the tree of {name}")),
        ))
    }

    pub(super) fn of<'a>(
        request: RequestId,
        samples: impl IntoIterator<Item = &'a ProcessSample>,
        group: Option<String>,
    ) -> Self {
        let named = |sample: &ProcessSample| NamedProcess {
            id: sample.id,
            facts: Arc::clone(&sample.facts),
            program: (sample.exec, sample.facts.uid.ok()),
        };
        Self {
            request,
            processes: samples.into_iter().map(named).collect(),
            group,
            values: None,
            exited: Vec::new(),
            replaced: Vec::new(),
        }
    }

    /// Names the processes as they are now. Returns true if one has begun to execute another program or has another user since the
    /// last call.
    pub(super) fn follow(&mut self, snapshot: &Snapshot) -> bool {
        let mut is_replaced = false;
        for process in &mut self.processes {
            let Some(sample) = snapshot.row(process.id) else {
                continue;
            };
            process.facts = Arc::clone(&sample.facts);
            let (exec, user) = process.program;
            process.program = (sample.exec, sample.facts.uid.ok().or(user));
            if exec != sample.exec || user.is_some() && user != process.program.1 {
                is_replaced = true;
                if !self.replaced.contains(&process.id) {
                    self.replaced.push(process.id);
                }
            }
        }
        is_replaced
    }

    fn ids(&self) -> Vec<Identity> {
        self.processes.iter().map(|p| p.id).collect()
    }

    pub(super) fn pin(&self) -> Effect {
        Effect::Act(Command::Pin(self.request, self.ids()))
    }

    /// Performs an action on them.
    pub(super) fn perform(&self, app: &mut App, action: ProcessAction) -> Effect {
        app.requests.acts.add(PendingAction {
            request: self.request,
            name: self.name(),
            processes: self.ids(),
        });
        Effect::Act(Command::Perform(self.request, action))
    }

    /// Performs an action on them and closes the dialog. If all have ended, reports this after `failure`.
    pub(super) fn perform_and_close(&self, app: &mut App, action: ProcessAction, failure: &str) -> Response {
        app.screen.message = None;
        if self.all_exited() {
            let have = has(self.processes.len());
            app.screen
                .fail(format!("{failure}: {} {have} already ended", self.name()));
            return Response::close();
        }
        Response::close().with(self.perform(app, action))
    }

    /// Returns them in a few words: `27213 python3`, `7 processes of command postgres`.
    pub fn name(&self) -> String {
        if let [only] = self.processes.as_slice() {
            return format!("{} {}", only.id.pid, text::safe_prefix(&only.facts.comm, 15));
        }
        let count = self.processes.len();
        match &self.group {
            Some(group) if count == 1 => format!("1 process of {group}"),
            Some(group) => format!("{count} processes of {group}"),
            None => format!("{count} processes"),
        }
    }

    pub fn all_exited(&self) -> bool {
        self.processes.iter().all(|p| self.exited.contains(&p.id))
    }

    /// Returns the lowest and the highest present value of a tunable, or `None` if none is known.
    pub fn value_range(&self, tunable: Tunable) -> Option<(i32, i32)> {
        let pinned = self.values.iter().flatten().flatten();
        let values = pinned.filter_map(|values| values.get(tunable).ok());
        Some((values.clone().min()?, values.max()?))
    }
}

const fn has(number: usize) -> &'static str {
    if number == 1 { "has" } else { "have" }
}

fn too_many(all: usize, most: usize) -> String {
    format!("these are {all} processes: at most {most} are allowed at once")
}

/// Returns the name of a group, short and safe to print.
fn fitted(name: &[u8]) -> String {
    let name = text::safe_prefix(name, 24);
    text::fit(&name, text::width(&name).min(24), text::Align::Left)
}

fn members<'a>(app: &App, snapshot: &'a Snapshot, row: &RowKey) -> Vec<&'a ProcessSample> {
    let rows = snapshot.rows();
    match row {
        RowKey::Part(_) => Vec::new(),
        RowKey::Process(id) => snapshot.row(*id).into_iter().collect(),
        RowKey::Group(key) => {
            let fold = app.rows.folds.get(row).map(|fold| &fold.group);
            let group = fold.or_else(|| app.rows.groups.iter().find(|group| group.key == *key));
            let members = group.into_iter().flat_map(|group| &group.members);
            members.filter_map(|at| rows.get(*at)).collect()
        }
    }
}

// The messages about actions and their results.

/// Counts errors by their short form: `2 denied, 1 ended`.
fn count_errors(errors: impl Iterator<Item = ActError>) -> String {
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
pub(super) fn explain<T>(results: &[Result<T, ActError>]) -> String {
    match results {
        [Err(only)] => only.to_string(),
        many => count_errors(many.iter().filter_map(|result| result.as_ref().err().copied())),
    }
}

/// Writes the lowest and the highest value, or the only one.
pub(super) fn value_range_text((lowest, highest): (i32, i32)) -> String {
    if lowest == highest {
        lowest.to_string()
    } else {
        format!("{lowest} to {highest}")
    }
}

impl Selection {
    /// Returns why an action cannot reach some of the processes: `has ended`, `2 of 5 have ended`.
    pub fn obstacles(&self) -> Option<String> {
        let exited = self.exited.len();
        let all = self.processes.len();
        if all == 1 {
            let is_replaced = !self.replaced.is_empty();
            return match exited {
                0 => is_replaced.then(|| "has become another program or user since this dialog opened".into()),
                _ => Some("has ended".into()),
            };
        }
        let results = self.values.iter().flatten();
        let refused = count_errors(results.filter_map(|result| result.as_ref().err().copied()));
        match (exited, refused.is_empty()) {
            (0, true) => match self.replaced.len() {
                0 => None,
                1 => Some("1 has become another program or user since this dialog opened".into()),
                n => Some(format!(
                    "{n} have become other programs or users since this dialog opened"
                )),
            },
            (0, false) => Some(format!("refused: {refused}")),
            (n, true) => Some(format!("{n} of {all} {} ended", has(n))),
            (n, false) => Some(format!("{n} {} ended since; refused: {refused}", has(n))),
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
            0 => format!("{name} is not measured: {error}"),
            n if n == all => format!("measuring which memory {name} touches from now on"),
            n => format!("measuring which memory {n} of {all} touch from now on: {error}"),
        },
        ProcessAction::Set(tunable, _) | ProcessAction::Step(tunable, _) => {
            let what = tunable.spec().name;
            match values.clone().min().zip(values.max()).map(value_range_text) {
                None => format!("{what} of {name} is unchanged: {error}"),
                Some(value) if done == all => format!("{what} of {name} is {value}"),
                Some(value) => format!("{what} is {value} for {done} of {all}: {error}"),
            }
        }
    };
    Message::new(text, done < all)
}

/// Returns the message about the outcome of a signal, if it needs one.
pub(super) fn outcome(sent: &PendingAction, signal: Signal, exited: usize, running: usize) -> Option<Message> {
    // It is no fault that a process goes on after SIGHUP or SIGSTOP.
    if exited + running == 0 || running > 0 && !signals::asks_to_exit(signal) {
        return None;
    }
    let (all, reached) = (sent.processes.len(), exited + running);
    let name = if reached == all {
        sent.name.clone()
    } else {
        format!("{reached} of {all}")
    };
    let what = match (running, reached) {
        (0, 1) => "it ended".into(),
        (0, _) => "they ended".into(),
        (1, 1) => "it still exists".into(),
        (1, _) => "1 still exists".into(),
        (n, _) => format!("{n} still exist"),
    };
    let hint = match (running, signal) {
        (0, _) => "",
        (_, Signal::KILL) => " (the kernel has not ended it yet)",
        (1, _) => " (SIGKILL ends it)",
        _ => " (SIGKILL ends them)",
    };
    let text = format!("{} sent to {name}: {what}{hint}", signals::name(signal));
    Some(Message::new(text, running > 0))
}
