//! Going from processes to groups and mappings, and back.

use super::app::App;
use super::event::Effect;
use super::panel;
use super::rows::rebuild;
use super::scope::Scope;
use crate::config::Action;
use crate::group::{GroupBy, GroupKey, GroupNames, RowKey};
use crate::model::Identity;

/// Shows other rows and selects one of them; the first one if there is no such row.
pub(super) fn show_scope(app: &mut App, scope: Scope, select: Option<&RowKey>) {
    if app.modal.as_ref().is_some_and(|modal| modal.is_about_rows()) {
        app.modal = None;
        app.query.filter.set(&app.query.filter.good.clone());
    }
    // Mappings have a filter of their own: that of the processes chose those they were read of.
    match (&scope, app.query.outer_filter.take()) {
        (Scope::Mappings(_), None) => app.query.outer_filter = Some(std::mem::take(&mut app.query.filter)),
        (Scope::Mappings(_), outer) => app.query.outer_filter = outer,
        (_, Some(outer)) => app.query.filter = outer,
        (_, None) => {}
    }
    app.query.scope = scope;
    app.apply_columns();
    rebuild(app);
    app.select_row(select);
}

/// Performs an action that goes somewhere else.
pub(super) fn on_action(app: &mut App, action: Action) -> Option<Effect> {
    match action {
        Action::NextGroups => show_next(app, true),
        Action::PreviousGroups => show_next(app, false),
        Action::Open => open(app),
        Action::Back => back(app),
        Action::Cancel => return cancel(app),
        _ => {}
    }
    None
}

/// Shows the next way to group, or the one before. The selection goes along to the row that holds the same process;
/// at the first row it stays there.
fn show_next(app: &mut App, forward: bool) {
    let is_fleet = app.fleet.is_some();
    let mut scope = app.query.scope.next(forward, is_fleet);
    while is_empty(app, &scope) {
        scope = scope.next(forward, is_fleet);
    }
    let moved = app.tables.current().list.cursor > 0;
    let select = selected_process(app)
        .filter(|_| moved)
        .and_then(|id| row_of(app, &scope, id));
    show_scope(app, scope, select.as_ref());
}

/// Returns true if it is known that no process is in a unit, or in a container.
fn is_empty(app: &App, scope: &Scope) -> bool {
    let Some(snapshot) = &app.engine.snapshot else {
        return false;
    };
    let rows = snapshot.rows();
    let is_read = || rows.iter().any(|row| row.facts.cgroup.is_ok());
    match scope {
        Scope::Groups(GroupBy::Unit) => is_read() && rows.iter().all(|row| row.facts.unit.is_none()),
        Scope::Groups(GroupBy::Container) => is_read() && rows.iter().all(|row| row.facts.container.is_none()),
        _ => false,
    }
}

/// Returns the row that holds a process.
fn row_of(app: &App, scope: &Scope, id: Identity) -> Option<RowKey> {
    let Scope::Groups(by) = *scope else {
        return Some(RowKey::Process(id));
    };
    let snapshot = app.engine.snapshot.as_ref()?;
    let sample = snapshot.row(id)?;
    let name = GroupNames::new(snapshot.rows()).name_of(sample, by).map(Into::into);
    Some(RowKey::Group(GroupKey { by, name }))
}

/// Returns the selected process; of a group the one with the largest PSS.
fn selected_process(app: &App) -> Option<Identity> {
    let row = app.tables.current().selected_row()?;
    if let Some(id) = row.key.process() {
        return Some(id);
    }
    let rows = app.engine.snapshot.as_ref()?.rows();
    let members = app.group(row)?.members.iter().filter_map(|i| rows.get(*i));
    let largest = members.max_by_key(|s| s.memory().map_or(0, |m| m.pss))?;
    Some(largest.id)
}

/// Opens the selected group; of a process, opens or closes the panel.
fn open(app: &mut App) {
    if app.query.scope.lists_processes() {
        return panel::toggle(app);
    }
    let Scope::Groups(_) = app.query.scope else { return };
    let selected = app.tables.current().selected.as_ref();
    if let Some(key) = selected.and_then(RowKey::group).cloned() {
        show_scope(app, Scope::Members(key), None);
    }
}

/// Takes back what was done last: a scan that is under way, then the chart's cursor, the panel, the search, and at
/// last the way to these rows.
fn cancel(app: &mut App) -> Option<Effect> {
    if app.requests.scan.take().is_some() {
        return Some(Effect::CancelScan);
    }
    if app.shows_panel() && app.screen.chart.remove_cursor() {
        return None;
    }
    if !panel::close(app) && app.query.search.take().is_none() {
        back(app);
    }
    None
}

/// Goes from a group's processes back to the groups, and from mappings to what was shown before.
fn back(app: &mut App) {
    match app.query.scope.clone() {
        Scope::Processes | Scope::Groups(_) => {}
        Scope::Members(key) => show_scope(app, Scope::Groups(key.by), Some(&RowKey::Group(key))),
        Scope::Mappings(from) => show_scope(app, *from, None),
    }
}
