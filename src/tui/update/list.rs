//! Keys in what lies over the table.

use crate::columns::{COLUMNS, ColumnId};
use crate::config::Action;
use crate::tui::app::{App, Mode};
use crate::tui::event::Effect;
use crate::tui::popup::{Chooser, Popup};
use crate::tui::rows::rebuild;
use crate::tui::{leaks, view};

/// Performs an action on the open popup.
pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    match action {
        Action::Quit => return vec![Effect::Quit],
        Action::Redraw => return vec![Effect::Redraw],
        Action::Cancel => cancel(app),
        Action::Accept => accept(app),
        Action::Toggle => change_columns(app, Chooser::toggle),
        Action::MoveUp => change_columns(app, |chooser, at| chooser.shift(at, -1)),
        Action::MoveDown => change_columns(app, |chooser, at| chooser.shift(at, 1)),
        _ => travel(app, action),
    }
    Vec::new()
}

/// Moves in the list.
fn travel(app: &mut App, action: Action) {
    let page = view::list_height(app).max(1);
    travel_to(app, |at| match action {
        Action::Up => at.saturating_sub(1),
        Action::Down => at + 1,
        Action::PageUp => at.saturating_sub(page),
        Action::PageDown => at + page,
        Action::First => 0,
        Action::Last => usize::MAX,
        _ => at,
    });
}

/// Moves the cursor of the open list from an entry to another, the last one at most.
pub(super) fn travel_to(app: &mut App, to: impl FnOnce(usize) -> usize) {
    let height = view::list_height(app);
    // The help is long to lay out: only where it is open.
    let help = if matches!(app.mode, Mode::Popup(Popup::Help(_))) {
        view::help_lines(app)
    } else {
        0
    };
    let Mode::Popup(popup) = &mut app.mode else { return };
    let (at, last) = match popup {
        Popup::Help(at) => (*at, help.saturating_sub(height)),
        Popup::Sort(place) => (place.cursor, COLUMNS.len() - 1),
        Popup::Users(place, users) => (place.cursor, users.len()),
        Popup::Leaks(place) => (place.cursor, app.data.suspects.len().saturating_sub(1)),
        Popup::Alerts(place) => (place.cursor, app.data.alerts.events().len().saturating_sub(1)),
        Popup::Columns(place, chooser) => (place.cursor, chooser.order.len() - 1),
    };
    go(popup, to(at), last, height);
}

fn go(popup: &mut Popup, to: usize, last: usize, height: usize) {
    let to = to.min(last);
    match popup {
        Popup::Help(at) => *at = to,
        Popup::Sort(place)
        | Popup::Users(place, _)
        | Popup::Columns(place, _)
        | Popup::Alerts(place)
        | Popup::Leaks(place) => {
            place.go(to, last + 1, height);
        }
    }
}

fn change_columns(app: &mut App, change: impl FnOnce(&mut Chooser, usize) -> usize) {
    let height = view::list_height(app);
    let Mode::Popup(Popup::Columns(place, chooser)) = &mut app.mode else {
        return;
    };
    let to = change(chooser, place.cursor);
    place.go(to, chooser.order.len(), height);
    let columns = chooser.columns().to_vec();
    app.choose(columns);
}

pub(super) fn accept(app: &mut App) {
    let Mode::Popup(popup) = std::mem::replace(&mut app.mode, Mode::Table) else {
        return;
    };
    match popup {
        Popup::Help(_) | Popup::Columns(..) | Popup::Alerts(_) => {}
        Popup::Leaks(place) => leaks::go(app, place.cursor),
        Popup::Sort(place) => {
            app.tables.frozen = false;
            app.tables.current_mut().sort_by(ColumnId(place.cursor));
            rebuild(app);
        }
        Popup::Users(place, users) => {
            app.query.user = place
                .cursor
                .checked_sub(1)
                .and_then(|at| users.get(at))
                .map(|u| u.name.clone());
            rebuild(app);
        }
    }
}

pub(super) fn cancel(app: &mut App) {
    if let Mode::Popup(Popup::Columns(_, chooser)) = std::mem::replace(&mut app.mode, Mode::Table) {
        app.choose(chooser.before);
    }
}
