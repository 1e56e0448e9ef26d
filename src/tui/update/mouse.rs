//! The wheel and clicks.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::{act, list};
use crate::tui::app::{App, Mode};
use crate::tui::event::Effect;
use crate::tui::popup::Popup;
use crate::tui::rows::rebuild;
use crate::tui::view;

/// Rows a notch of the wheel moves.
const NOTCH: isize = 3;

/// Takes in a mouse event.
pub(super) fn update(app: &mut App, mouse: MouseEvent) -> Vec<Effect> {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.kind {
        MouseEventKind::ScrollUp => wheel(app, at, false),
        MouseEventKind::ScrollDown => wheel(app, at, true),
        MouseEventKind::Down(MouseButton::Left) => click(app, at),
        _ => {}
    }
    Vec::new()
}

fn wheel(app: &mut App, at: Position, down: bool) {
    match app.mode {
        Mode::Popup(_) => list::travel_to(app, |n| if down { n + 1 } else { n.saturating_sub(1) }),
        Mode::Act(_) => act::travel(app, |n| if down { n + 1 } else { n.saturating_sub(1) }),
        Mode::Table | Mode::Input(..) => {
            let height = app.rows_shown();
            if let Some(active) = table_at(app, at) {
                app.tables.active = active;
            }
            let rows = if down { NOTCH } else { -NOTCH };
            app.tables.current_mut().step(rows, height);
        }
    }
}

/// Which of the tables lies there.
fn table_at(app: &App, at: Position) -> Option<usize> {
    app.layout().tables.iter().position(|area| area.contains(at))
}

fn click(app: &mut App, at: Position) {
    match app.mode {
        Mode::Popup(_) => return click_popup(app, at),
        Mode::Act(_) => return act::click(app, at),
        Mode::Table | Mode::Input(..) => {}
    }
    let Some(active) = table_at(app, at) else { return };
    let area = app.layout().tables[active];
    app.tables.active = active;
    if at.y == area.y {
        let hit = view::placed(app, app.tables.current(), area)
            .into_iter()
            .find(|p| (p.x..p.x.saturating_add(p.width)).contains(&(at.x - area.x)));
        if let Some(column) = hit.and_then(|p| app.tables.current().columns.get(p.index).copied()) {
            app.tables.frozen = false;
            app.tables.current_mut().sort_by(column);
            rebuild(app);
        }
        return;
    }
    let row = app.tables.current().offset + usize::from(at.y - area.y - 1);
    if row < app.tables.current().lines.len() {
        let height = app.rows_shown();
        app.tables.current_mut().go(row, height);
    }
}

/// A click on an entry chooses it; one beside the popup closes it.
fn click_popup(app: &mut App, at: Position) {
    let area = view::popup_area(app);
    if !area.contains(at) {
        list::cancel(app);
        return;
    }
    let inside = usize::from(at.y.saturating_sub(area.y + 1));
    let Mode::Popup(popup) = &app.mode else { return };
    let (offset, chooses) = match popup {
        Popup::Help(_) => return,
        Popup::Sort(place) | Popup::Users(place, _) | Popup::Leaks(place) => (place.offset, true),
        Popup::Columns(place, _) | Popup::Alerts(place) => (place.offset, false),
    };
    if at.y == area.y || inside >= view::list_height(app) {
        return;
    }
    list::travel_to(app, |_| offset + inside);
    if chooses {
        list::accept(app);
    }
}
