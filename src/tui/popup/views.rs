//! The menu of the saved views.
//!
//! ```text
//! ┌ Views ──────────────────────────────────────────────────┐
//! │ ● default     processes by pss                          │
//! │   web         user by swap, filter user:www             │
//! └─────────────────────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Popup, TYPE};
use crate::config::views::{DEFAULT, View};
use crate::config::{Action, UiSettings};
use crate::text::{Align, fit};
use crate::tui::app::{App, Hint, Response};
use crate::tui::event::Effect;
use crate::tui::labels;
use crate::tui::prompt::Confirm;
use crate::tui::rows::rebuild;
use crate::tui::widgets::{ListState, draw_line, draw_list};

pub struct ViewMenu;

fn views(app: &App) -> &[View] {
    app.data.views.as_deref().unwrap_or_default()
}

/// Describes a view in a few words: `user by swap, filter user:www`.
fn about(ui: &UiSettings) -> String {
    let rows = ui.by.map_or("processes", |by| by.id());
    let mut about = format!("{rows} by {}", ui.sort.get().id);
    if ui.tree {
        about += ", tree";
    }
    if !ui.filter.is_empty() {
        about += ", filter ";
        about += &labels::cut(ui.filter.as_bytes(), 40);
    }
    about
}

impl Popup for ViewMenu {
    const TITLE: &'static str = " Views ";
    const WIDTH: u16 = 76;
    const HINTS: &'static [Hint] = &[
        TYPE,
        Hint::Action(Action::Accept, "show"),
        Hint::Action(Action::Delete, "delete"),
        Hint::Action(Action::Cancel, "close"),
    ];

    fn texts(&self, app: &App) -> Vec<String> {
        views(app).iter().map(|view| view.name.clone()).collect()
    }

    fn accept(&mut self, app: &mut App, at: usize) -> Response {
        match views(app).get(at).cloned() {
            None => return Response::stay(),
            Some(View { name, ui: Ok(ui), .. }) => {
                app.show_view(&ui);
                rebuild(app);
                app.screen.say(format!("view {name}"));
                app.screen.view = Some(name);
            }
            Some(View { name, ui: Err(why), .. }) => app.screen.fail(format!("view {name}: {why}")),
        }
        Response::close()
    }

    fn delete(&mut self, app: &mut App, at: usize) -> Response {
        match views(app).get(at).map(|view| view.name.clone()) {
            None => Response::stay(),
            Some(name) if name == DEFAULT => {
                app.screen
                    .say("the default view is the config itself and cannot be deleted");
                Response::stay()
            }
            Some(name) => {
                app.open(Confirm::new(
                    format!("delete the view {name}?"),
                    Effect::DeleteView(name),
                ));
                Response::close()
            }
        }
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        match &app.data.views {
            None => return draw_line(buf, area, " …", theme.dim),
            Some(views) if views.is_empty() => {
                let key = app.config.keymap.shown_key(crate::config::Context::Table, Action::Save);
                let key = key.map_or_else(|| "?".into(), ToString::to_string);
                return draw_line(buf, area, &format!(" no view is saved: {key} saves one"), theme.dim);
            }
            Some(_) => {}
        }
        let views = views(app);
        draw_list(buf, area, list, views.len(), theme.selected, |at| {
            let View { name, ui, .. } = &views[at];
            let mark = if app.screen.view.as_ref() == Some(name) {
                '●'
            } else {
                ' '
            };
            let (about, style) = match ui {
                Ok(ui) => (about(ui), theme.popup),
                Err(why) => (why.clone(), theme.error),
            };
            (format!(" {mark} {} {about}", fit(name, 16, Align::Left)), style)
        });
    }
}
