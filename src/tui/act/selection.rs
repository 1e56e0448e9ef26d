//! The processes that a dialog is about.

use super::pending::PendingAction;
use crate::act::{ActError, Command, MAX_PROCESSES, RequestId, Tunable, TunableValues};
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::model::{Identity, ProcessSample, Snapshot};
use crate::order;
use crate::text;
use crate::tui::app::App;

/// A process as a dialog names it. Its texts are safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessLabel {
    /// The identity.
    pub id: Identity,
    /// The comm.
    pub comm: String,
    /// The user.
    pub user: String,
    /// The command line.
    pub command: String,
}

/// The processes that a dialog is about, as they were when it was opened, and what became of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The request that pins them.
    pub request: RequestId,
    /// The processes, at least one, by identity.
    pub processes: Vec<ProcessLabel>,
    /// The group whose members they are, safe to print.
    pub group: Option<String>,
    /// Their tunables, or the reasons why they are not pinned; `None` before the reply.
    pub values: Option<Vec<Result<TunableValues, ActError>>>,
    /// The processes that have exited since.
    pub exited: Vec<Identity>,
}

impl Selection {
    /// Selects the processes of the tagged rows, or else of the row at the cursor; of a group all its members.
    ///
    /// # Errors
    /// There are none, or too many.
    pub(super) fn new(app: &mut App) -> Result<Self, String> {
        if app.query.scope.grouped_by() == Some(GroupBy::Mapping) {
            return Err("a mapping is no process: go back to act on processes".into());
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
        if samples.len() > MAX_PROCESSES {
            let all = samples.len();
            return Err(format!("these are {all} processes: at most {MAX_PROCESSES} at once"));
        }
        let group = match rows.as_slice() {
            [RowKey::Group(key)] => Some(group_name(key)),
            [RowKey::Process(_) | RowKey::Part(_)] => None,
            many => {
                let groups = app.query.scope.grouped_by();
                groups.map(|_| format!("{} groups", many.len()))
            }
        };
        Ok(Self {
            processes: samples.into_iter().map(label).collect(),
            group,
            values: None,
            exited: Vec::new(),
            request: app.requests.acts.next_request(),
        })
    }

    /// Returns the command that pins them.
    pub(super) fn pin(&self) -> Command {
        Command::Pin(self.request, self.ids())
    }

    fn ids(&self) -> Vec<Identity> {
        self.processes.iter().map(|p| p.id).collect()
    }

    /// Returns an action on them that is pending.
    pub(super) fn to_pending(&self) -> PendingAction {
        PendingAction {
            request: self.request,
            name: self.name(),
            processes: self.ids(),
        }
    }

    /// Returns them in a few words: `27213 python3`, `7 processes of command postgres`.
    pub fn name(&self) -> String {
        if let [only] = self.processes.as_slice() {
            return format!("{} {}", only.id.pid, only.comm);
        }
        let count = self.processes.len();
        match &self.group {
            Some(group) if count == 1 => format!("1 process of {group}"),
            Some(group) => format!("{count} processes of {group}"),
            None => format!("{count} processes"),
        }
    }

    /// Returns true if every process has exited.
    pub fn all_exited(&self) -> bool {
        self.processes.iter().all(|p| self.exited.contains(&p.id))
    }

    /// Returns the lowest and the highest present value of a tunable; `None` if none is known.
    pub fn value_range(&self, tunable: Tunable) -> Option<(i32, i32)> {
        let pinned = self.values.iter().flatten().flatten();
        let values = pinned.filter_map(|values| values.get(tunable).ok());
        Some((values.clone().min()?, values.max()?))
    }
}

fn group_name(key: &GroupKey) -> String {
    let name = text::safe_prefix(key.label(), 24);
    let name = text::fit(&name, text::width(&name).min(24), text::Align::Left);
    format!("{} {name}", key.by.id())
}

/// Returns the processes of a row.
fn members<'a>(app: &App, snapshot: &'a Snapshot, row: &RowKey) -> Vec<&'a ProcessSample> {
    let rows = snapshot.rows();
    match row {
        RowKey::Part(_) => Vec::new(),
        RowKey::Process(id) => snapshot.row(*id).into_iter().collect(),
        RowKey::Group(key) => {
            let group = app.rows.groups.iter().find(|group| group.key == *key);
            let members = group.into_iter().flat_map(|group| &group.members);
            members.filter_map(|at| rows.get(*at)).collect()
        }
    }
}

fn label(sample: &ProcessSample) -> ProcessLabel {
    let facts = &sample.facts;
    let user = facts.user.as_ref().map(|user| text::safe_prefix(user, 16).into_owned());
    ProcessLabel {
        id: sample.id,
        comm: text::safe_prefix(&facts.comm, 15).into_owned(),
        user: user.unwrap_or_else(|_| "?".into()),
        command: text::safe_prefix(&facts.short_command(), 200).into_owned(),
    }
}
