//! Measuring which pages processes touch: the dialog that starts it, and the start for leaks if the config enables it.
//!
//! ```text
//! ┌ Hot and cold ──────────────────────────────────────────────────────┐
//! │ 27213 alice  python3 train.py --epochs 40                          │
//! │ started 3m ago                                                     │
//! │────────────────────────────────────────────────────────────────────│
//! │ Clears the referenced bits of its pages, and reads them again      │
//! │ every 1m: touched pages are hot, the others are cold. Delays       │
//! │ its page faults by about 13 ms in total. The kernel treats         │
//! │ the pages as idle until they are touched. Nothing else changes.    │
//! │ Enter starts it, Esc cancels                                       │
//! └────────────────────────────────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Position;

use super::dialog::{DialogLayout, Question};
use super::selection::Selection;
use crate::act::{ProcessAction, time_to_clear};
use crate::config::Action;
use crate::history::mappings::{Look, MAX_ASKED};
use crate::model::{Identity, Missing, ProcessSample};
use crate::text::{Align, fit};
use crate::tui::app::{App, Hint, Response};
use crate::tui::event::Effect;
use crate::tui::rows::rebuild;
use crate::tui::widgets::{draw_line, line};
use crate::units;

pub(super) struct ColdnessQuestion;

impl Question for ColdnessQuestion {
    fn hints(&self) -> &'static [Hint] {
        &[Hint::Key("y", "start"), Hint::Key("n", "cancel")]
    }

    fn on_action(&mut self, app: &mut App, selection: &Selection, action: Action) -> Response {
        match action {
            Action::Cancel => Response::close(),
            Action::Accept => selection.perform_and_close(app, ProcessAction::ClearReferenced, "nothing cleared"),
            _ => Response::stay(),
        }
    }

    fn on_char(&mut self, app: &mut App, selection: &Selection, c: char) -> Response {
        match c {
            'y' | 'Y' => self.on_action(app, selection, Action::Accept),
            'n' | 'N' => Response::close(),
            _ => Response::stay(),
        }
    }

    fn draw(&self, app: &App, selection: &Selection, layout: &DialogLayout, buf: &mut Buffer) -> Option<Position> {
        let theme = &app.config.theme;
        let width = usize::from(layout.foot.width);
        let mut put = |y: u16, text: &str, style| {
            let text = fit(&format!(" {text}"), width, Align::Left);
            draw_line(buf, line(layout.foot, y), &text, style);
        };
        // If there is little room, the keys stay longest.
        let last = layout.foot.height - 1;
        for (y, text) in (0..last).zip(explanation(app, selection)) {
            put(y, &text, theme.text);
        }
        put(last, "start?  y/n", theme.key);
        None
    }
}

/// Returns the lines that describe the action and its effects.
fn explanation(app: &App, selection: &Selection) -> [String; 4] {
    let its = match selection.processes.len() {
        1 => "its",
        _ => "their",
    };
    let wait = units::span_exact(app.config.settings.sampler.cold_interval);
    let snapshot = app.engine.snapshot.as_ref();
    let rows = selection.processes.iter();
    let largest = rows.filter_map(|process| Some(snapshot?.row(process.id)?.stat.rss));
    let stall = time_to_clear(largest.max().unwrap_or(0)).as_millis().max(1);
    [
        format!("Clears the referenced bits of {its} pages, and reads them again"),
        format!("every {wait}: touched pages are hot, the others are cold. Delays"),
        format!("{its} page faults by about {stall} ms in total. The kernel treats"),
        "the pages as idle until they are touched. Nothing else changes.".into(),
    ]
}

/// Starts to measure which pages a leaking process touches, if the config enables it: clears the referenced bits of one that is
/// not measured yet. Each process is measured once; those that the user chose are never displaced.
pub(in crate::tui) fn prove(app: &mut App) -> Vec<Effect> {
    let settings = &app.config.settings;
    let looked_at = app.data.coldness.looks().count();
    if !settings.suspects.prove || settings.ui.readonly || looked_at >= MAX_ASKED {
        return Vec::new();
    }
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return Vec::new();
    };
    app.requests
        .proved
        .retain(|(id, exec)| snapshot.row(*id).is_some_and(|row| row.exec == *exec));
    let is_new = |sample: &&ProcessSample| {
        app.data.coldness.get(sample).err() == Some(Missing::NotAsked)
            && !app.requests.proved.contains(&(sample.id, sample.exec))
    };
    let leaks = app.engine.leaks().filter(|suspect| !suspect.is_held());
    let leaks = leaks.filter_map(|suspect| suspect.key.process());
    let Some(sample) = leaks.filter_map(|id| snapshot.row(id)).find(is_new) else {
        return Vec::new();
    };
    app.requests.proved.push((sample.id, sample.exec));
    let selection = Selection::of(app.requests.acts.next_request(), [sample], None);
    let perform = selection.perform(app, ProcessAction::ClearReferenced);
    vec![selection.pin(), perform]
}

/// Starts to measure processes whose referenced bits were cleared.
pub(super) fn on_cleared(app: &mut App, ids: &[Identity]) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    for sample in ids.iter().filter_map(|id| snapshot.row(*id)) {
        app.data.coldness.ask(sample);
    }
    // Their former figures are no longer valid.
    rebuild(app);
}

/// Requests measurements of the processes whose referenced bits were cleared. Returns an effect only if their list changed.
pub(in crate::tui) fn request(app: &mut App) -> Option<Effect> {
    let looks: Vec<Look> = app.data.coldness.looks().collect();
    (looks != app.requests.looks).then(|| {
        app.requests.looks.clone_from(&looks);
        Effect::Look(looks)
    })
}
