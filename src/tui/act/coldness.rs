//! The dialog that asks what processes touch of their memory.
//!
//! ```text
//! ┌ Hot and cold ──────────────────────────────────────────────────────┐
//! │ 27213 alice  python3 train.py --epochs 40                          │
//! │ started 3m ago                                                     │
//! │────────────────────────────────────────────────────────────────────│
//! │ Clears the kernel's marks on the pages it touched, and looks       │
//! │ every 1m which are marked again: those are hot, the rest cold.     │
//! │ For about 13 ms its page faults wait. The kernel takes pages       │
//! │ for idle until they are touched again. Nothing else changes.       │
//! │ Enter starts it, Esc cancels                                       │
//! └────────────────────────────────────────────────────────────────────┘
//! ```

use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use crate::act::{Command, ProcessAction, time_to_clear};
use crate::config::{Action, Context};
use crate::history::mappings::Look;
use crate::model::Identity;
use crate::text::{Align, fit};
use crate::tui::act::frame::DialogLayout;
use crate::tui::act::selection::Selection;
use crate::tui::app::{App, Hint, Modal, Response};
use crate::tui::event::Effect;
use crate::tui::rows::rebuild;
use crate::tui::widgets::{draw_line, line};
use crate::units;

#[derive(Debug)]
pub struct ColdnessDialog {
    pub selection: Selection,
}

impl ColdnessDialog {
    pub(super) const fn new(selection: Selection) -> Self {
        Self { selection }
    }

    fn layout(&self, app: &App, screen: Rect) -> DialogLayout {
        DialogLayout::new(app, &self.selection, 0, 5, screen)
    }

    fn perform(&self, app: &mut App) -> Response {
        app.screen.message = None;
        if self.selection.all_exited() {
            let name = self.selection.name();
            app.screen.fail(format!("nothing cleared: {name} ended before"));
            return Response::close();
        }
        app.requests.acts.add(self.selection.to_pending());
        let action = ProcessAction::ClearReferenced;
        Response::close().with(Effect::Act(Command::Perform(self.selection.request, action)))
    }

    /// Returns the lines that say what it does and what it changes.
    fn explanation(&self, app: &App) -> [String; 4] {
        let (its, it) = match self.selection.processes.len() {
            1 => ("its", "it"),
            _ => ("their", "they"),
        };
        let wait = units::span_exact(app.config.settings.sampler.cold_interval);
        [
            format!("Clears the kernel's marks on the pages {it} touched, and looks"),
            format!("every {wait} which are marked again: those are hot, the rest cold."),
            format!("For {} {its} page faults wait. The kernel takes pages", self.stall(app)),
            "for idle until they are touched again. Nothing else changes.".into(),
        ]
    }

    /// Returns how long the page faults of one process may wait.
    fn stall(&self, app: &App) -> String {
        let snapshot = app.engine.snapshot.as_ref();
        let rows = self.selection.processes.iter();
        let largest = rows.filter_map(|process| Some(snapshot?.row(process.id)?.stat.rss));
        let time = time_to_clear(largest.max().unwrap_or(0));
        format!("about {} ms", time.as_millis().max(1))
    }
}

impl Modal for ColdnessDialog {
    fn context(&self) -> Context {
        Context::Input
    }

    fn hints(&self) -> &[Hint] {
        &[
            Hint::Action(Action::Accept, "start"),
            Hint::Action(Action::Cancel, "cancel"),
        ]
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Response {
        match action {
            Action::Cancel => Response::close(),
            Action::Accept => self.perform(app),
            _ => Response::stay(),
        }
    }

    /// Closes it at a click beside it.
    fn on_click(&mut self, app: &mut App, at: Position) -> Response {
        if self.layout(app, Rect::MAX).area.contains(at) {
            Response::stay()
        } else {
            Response::close()
        }
    }

    fn on_close(&self) -> Option<Effect> {
        Some(Effect::Act(Command::Release(self.selection.request)))
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        let theme = &app.config.theme;
        let layout = self.layout(app, frame.area());
        if !layout.draw(app, " Hot and cold ", &self.selection, frame) {
            return None;
        }
        let buf = frame.buffer_mut();
        let width = usize::from(layout.foot.width);
        let mut put = |y: u16, text: &str, style| {
            let text = fit(&format!(" {text}"), width, Align::Left);
            draw_line(buf, line(layout.foot, y), &text, style);
        };
        // Where it is low, what to press stays longest.
        let last = layout.foot.height - 1;
        for (y, text) in (0..last).zip(self.explanation(app)) {
            put(y, &text, theme.text);
        }
        put(last, "Enter starts it, Esc cancels", theme.key);
        None
    }
}

/// Begins to look at processes whose bits were cleared.
pub(super) fn on_cleared(app: &mut App, ids: &[Identity]) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    for id in ids {
        if let Some(sample) = snapshot.row(*id) {
            app.data.coldness.ask(sample);
        }
    }
    // What was known of them is no longer.
    rebuild(app);
}

/// Asks for looks at the processes whose bits were cleared. Returns an effect only when these are others.
pub(in crate::tui) fn request(app: &mut App) -> Option<Effect> {
    let looks: Vec<Look> = app.data.coldness.looks().collect();
    (looks != app.requests.looks).then(|| {
        app.requests.looks.clone_from(&looks);
        Effect::Look(looks)
    })
}
