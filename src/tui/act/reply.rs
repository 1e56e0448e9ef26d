//! What comes of acting on processes.

use super::{Asks, Dialog, words};
use crate::act::{ActError, ProcessAction, Reply, RequestId, Tunable, TunableValues};
use crate::tui::app::{App, Message};
use crate::tui::event::Effect;
use crate::tui::widgets::TextInput;

/// The open dialog, if it has that number.
fn dialog(app: &mut App, number: RequestId) -> Option<&mut Dialog> {
    app.modal_mut::<Dialog>().filter(|dialog| dialog.number == number)
}

fn say(app: &mut App, (text, bad): (String, bool)) {
    app.screen.message = Some(Message { text, bad });
}

/// Takes in a reply; one to a dialog that is no longer open changes no other.
pub(in crate::tui) fn on_reply(app: &mut App, reply: Reply) -> Option<Effect> {
    match reply {
        Reply::Pinned(number, pins) => return pinned(app, number, pins),
        Reply::Exited(number, ended) => {
            if let Some(dialog) = dialog(app, number) {
                dialog.ended = ended;
            }
        }
        Reply::Performed(number, deed, results) => return done(app, number, deed, &results),
        Reply::Outcome {
            request: number,
            signal,
            exited: ended,
            running: there,
        } => {
            let sent = app.requests.acts.find(number);
            app.requests.acts.forget(number);
            if let Some(told) = sent.and_then(|sent| words::fate(&sent, signal, ended, there)) {
                say(app, told);
            }
        }
    }
    None
}

fn pinned(app: &mut App, number: RequestId, pins: Vec<Result<TunableValues, ActError>>) -> Option<Effect> {
    let dialog = dialog(app, number)?;
    if pins.iter().all(Result::is_err) {
        let told = (words::refused(&dialog.name(), &pins), true);
        let effect = app.close();
        say(app, told);
        return effect;
    }
    dialog.pins = Some(pins);
    let spans = Tunable::ALL.map(|tunable| dialog.present(tunable));
    if let Asks::Number(adjust) = &mut dialog.asks
        && !adjust.touched
        && let Some((least, most)) = spans[adjust.tunable as usize]
        && least == most
    {
        adjust.line = TextInput::new(&least.to_string());
    }
    None
}

fn done(app: &mut App, number: RequestId, deed: ProcessAction, results: &[Result<i32, ActError>]) -> Option<Effect> {
    let ordered = app.requests.acts.find(number)?;
    let told = words::done(&ordered.name, deed, results);
    // What becomes of those that a signal reached is told later.
    if !(matches!(deed, ProcessAction::Signal(_)) && results.iter().any(Result::is_ok)) {
        app.requests.acts.forget(number);
    }
    if let Some(dialog) = dialog(app, number)
        && let Asks::Number(adjust) = &mut dialog.asks
    {
        adjust.waits = false;
        if told.1 {
            // It stays open, to try another number.
            adjust.error = Some(told.0);
            return None;
        }
        let effect = app.close();
        say(app, told);
        return effect;
    }
    say(app, told);
    None
}
