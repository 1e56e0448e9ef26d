//! From processes to groups and back.

use super::super::{mappings, panel};
use crate::group::{GroupNames, RowKey};
use crate::model::{Identity, Snapshot};
use crate::tui::app::{App, Mode, Prompt};
use crate::tui::popup::Popup;
use crate::tui::rows::rebuild;
use crate::tui::scope::Scope;

/// Shows something else, with that row selected; the first one where there is no such row.
pub(in crate::tui) fn turn_to(app: &mut App, scope: Scope, select: Option<&RowKey>) {
    if matches!(
        app.mode,
        Mode::Popup(Popup::Columns(..)) | Mode::Input(Prompt::Filter, ..)
    ) {
        // What is being chosen is for what was shown.
        app.mode = Mode::Table;
        app.query.filter.set(&app.query.filter.good.clone());
    }
    // Mappings have a filter of their own: that of the processes has chosen those they were read of.
    match (&scope, app.query.outer_filter.take()) {
        (Scope::Mappings(_), None) => app.query.outer_filter = Some(std::mem::take(&mut app.query.filter)),
        (Scope::Mappings(_), outer) => app.query.outer_filter = outer,
        (_, Some(outer)) => app.query.filter = outer,
        (_, None) => {}
    }
    app.query.scope = scope;
    app.apply_columns();
    rebuild(app);
    let height = app.rows_shown();
    for table in app.tables.shown_mut() {
        table.select(select, height);
    }
}

/// The next way to group, or the one before. The selection goes along to what holds the same process; at the
/// first row it stays there.
pub(super) fn next(app: &mut App, forward: bool) {
    let scope = app.query.scope.next(forward);
    let process = (app.tables.current().cursor > 0).then(|| process(app)).flatten();
    let select = app
        .data
        .snapshot
        .clone()
        .zip(process)
        .and_then(|(snapshot, id)| match &scope {
            Scope::Groups(by) => {
                let sample = snapshot.rows().iter().find(|s| s.id == id)?;
                let name = GroupNames::new(snapshot.rows()).name_of(sample, *by).map(Into::into);
                Some(RowKey::Group(crate::group::GroupKey { by: *by, name }))
            }
            Scope::Processes | Scope::Members(_) | Scope::Mappings(_) => Some(RowKey::Process(id)),
        });
    turn_to(app, scope, select.as_ref());
}

/// The selected process; of a group the one that holds most.
fn process(app: &App) -> Option<Identity> {
    let line = app.tables.current().current()?;
    let snapshot: &Snapshot = app.data.snapshot.as_ref()?;
    if let Some(id) = line.key.process() {
        return Some(id);
    }
    let members = app.group(line)?.members.iter().filter_map(|i| snapshot.rows().get(*i));
    let most = members.max_by_key(|s| s.memory().map_or(0, |m| m.pss))?;
    Some(most.id)
}

/// Opens the selected group; of a process, opens or closes the panel.
pub(super) fn open(app: &mut App) {
    if app.query.scope.lists_processes() {
        return panel::toggle(app);
    }
    let Scope::Groups(_) = app.query.scope else { return };
    let Some(key) = app.tables.current().selected.as_ref().and_then(RowKey::group).cloned() else {
        return;
    };
    turn_to(app, Scope::Members(key), None);
}

/// Breaks off what is read; or takes the chart's cursor away; or closes the panel; or ends the search; or goes back to where it was come from.
pub(super) fn cancel(app: &mut App) -> bool {
    if mappings::break_off(app) {
        return true;
    }
    if app.shows_panel() && app.screen.chart.leave() {
        return false;
    }
    if !panel::close(app) && app.query.search.take().is_none() {
        back(app);
    }
    false
}

/// From a group's processes back to the groups, from the mappings to what was before.
pub(super) fn back(app: &mut App) {
    match app.query.scope.clone() {
        Scope::Processes | Scope::Groups(_) => {}
        Scope::Members(key) => turn_to(app, Scope::Groups(key.by), Some(&RowKey::Group(key))),
        Scope::Mappings(from) => turn_to(app, *from, None),
    }
}
