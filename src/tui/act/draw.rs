//! The dialogs that ask before processes are acted on.
//!
//! ```text
//! ┌ Send a signal ─────────────────────────────────────────────────┐
//! │ 27213 alice  python3 train.py --epochs 40                      │
//! │ runs 3m                                                        │
//! │────────────────────────────────────────────────────────────────│
//! │ 15 TERM    asks it to end                                      │
//! │  9 KILL    ends it at once; nothing is saved                   │
//! │────────────────────────────────────────────────────────────────│
//! │ send SIGTERM to 27213 python3?  y/n                            │
//! └────────────────────────────────────────────────────────────────┘
//! ```

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear};

use super::{Adjust, Asks, Choice, Dialog, Target};
use crate::act::{Tunable, signals};
use crate::columns::{cell, layout};
use crate::text::{self, Align, fit};
use crate::tui::app::App;
use crate::tui::widgets::{StatusLine, draw_list, draw_text, line};

const WIDTH: u16 = 72;
/// So many signals are on screen at once, so that something of the table is, too.
const LISTED: u16 = 12;
/// Of many processes so many are named.
const NAMED: usize = 4;

/// How many lines say whom it is about.
fn head(dialog: &Dialog) -> u16 {
    match dialog.targets.len() {
        1 => 2,
        n => 2 + n.min(NAMED) as u16,
    }
}

/// Returns the area of the dialog, the frame included.
pub(super) fn area(app: &App, dialog: &Dialog) -> Rect {
    let body = match &dialog.asks {
        Asks::Signal(_) => LISTED + 2,
        Asks::Number(_) => 2,
    };
    app.layout().popup(WIDTH, head(dialog) + 1 + body + 2)
}

/// Where its parts go inside: whom it is about, what is chosen, what is asked.
fn parts(inside: Rect, dialog: &Dialog) -> [Rect; 3] {
    let choice = matches!(dialog.asks, Asks::Signal(_));
    // The last lines are the most needed: what is asked. Then a signal to choose; then whom it is about.
    let foot = if choice { 1 } else { 2 }.min(inside.height);
    let left = inside.height - foot;
    let rule = u16::from(left >= 6);
    let list = if choice { (left / 2).max(1).min(left) } else { 0 };
    let head = head(dialog).min(left.saturating_sub(list + rule));
    let body = left - head - rule;
    let foot_rule = u16::from(choice && body >= 5);
    let part = |y: u16, height: u16| Rect {
        y: inside.y + y,
        height,
        ..inside
    };
    [part(0, head), part(head + rule, body - foot_rule), part(left, foot)]
}

/// Returns where the signals are listed.
pub(super) fn signals_area(app: &App, dialog: &Dialog) -> Rect {
    parts(Block::bordered().inner(area(app, dialog)), dialog)[1]
}

/// Draws the dialog; returns where the terminal's cursor belongs.
pub(super) fn draw(app: &App, dialog: &Dialog, frame: &mut Frame<'_>) -> Option<Position> {
    let theme = &app.config.theme;
    let area = area(app, dialog).intersection(frame.area());
    frame.render_widget(Clear, area);
    let title = match &dialog.asks {
        Asks::Signal(_) => " Send a signal ",
        Asks::Number(adjust) => adjust.tunable.spec().title,
    };
    let block = Block::bordered()
        .border_style(theme.frame)
        .style(theme.popup)
        .title(title);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    if inside.is_empty() {
        return None;
    }
    let buf = frame.buffer_mut();
    let [head, body, foot] = parts(inside, dialog);
    for y in head.bottom()..body.y {
        rule(app, inside, y, buf);
    }
    for y in body.bottom()..foot.y {
        rule(app, inside, y, buf);
    }
    about(app, dialog, head, buf);
    match &dialog.asks {
        Asks::Signal(choice) => {
            choose(app, dialog, choice, body, buf);
            question(app, dialog, choice, foot, buf);
            None
        }
        Asks::Number(adjust) => Some(number(app, dialog, adjust, foot, buf)),
    }
}

fn rule(app: &App, inside: Rect, y: u16, buf: &mut Buffer) {
    let width = usize::from(inside.width);
    draw_text(buf, inside.x, y, &"─".repeat(width), width, app.config.theme.frame);
}

/// Whom it is about.
fn about(app: &App, dialog: &Dialog, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let width = usize::from(area.width);
    let trouble = dialog.trouble();
    let one = dialog.targets.len() == 1;
    let mut lines: Vec<(String, Style)> = Vec::new();
    let process = |target: &Target| format!(" {} {}  {}", target.id.pid, target.user, target.command);
    if one {
        lines.extend(dialog.targets.iter().map(|target| (process(target), theme.text)));
        lines.push(match (trouble, runs(app, &dialog.targets[0])) {
            (Some(trouble), _) => (format!(" {trouble}"), theme.error),
            (None, Some(runs)) => (format!(" started {runs} ago"), theme.dim),
            (None, None) => (String::new(), theme.dim),
        });
    } else {
        lines.push((format!(" {}", dialog.name()), theme.title));
        let all = dialog.targets.len();
        let named = if all > NAMED { NAMED - 1 } else { all };
        lines.extend(dialog.targets.iter().take(named).map(|target| {
            let over = dialog.ended.contains(&target.id);
            let style = if over { theme.dim } else { theme.text };
            (process(target), style)
        }));
        if all > named {
            lines.push((format!(" … and {} more", all - named), theme.dim));
        }
        lines.push((format!(" {}", trouble.unwrap_or_default()), theme.warning));
    }
    for (at, (line, style)) in lines.iter().take(usize::from(area.height)).enumerate() {
        draw_text(
            buf,
            area.x,
            area.y + at as u16,
            &fit(line, width, Align::Left),
            width,
            *style,
        );
    }
}

/// How long a process has been running, by the present snapshot.
fn runs(app: &App, target: &Target) -> Option<String> {
    let snapshot = app.data.snapshot.as_ref()?;
    let sample = snapshot.rows().iter().find(|s| s.id == target.id)?;
    let column = layout::ELAPSED.get();
    let row = app.process_row(sample, snapshot);
    let value = (column.value)(&row);
    Some(cell(&value, app.screen.units, 8).text.trim().to_owned())
}

/// The signals.
fn choose(app: &App, dialog: &Dialog, choice: &Choice, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let inert = choice.asks || dialog.is_over();
    let style = if inert { theme.dim } else { theme.popup };
    draw_list(buf, area, choice.list, signals::ALL.len(), theme.selected, |at| {
        let known = &signals::ALL[at];
        let number = known.signal.as_raw();
        (format!(" {number:>2} {:<7} {}", known.name, known.help), style)
    });
}

/// What is asked, or how to get there.
fn question(app: &App, dialog: &Dialog, choice: &Choice, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let signal = signals::name(signals::ALL[choice.list.cursor].signal);
    let mut strip = StatusLine::default();
    if choice.asks {
        // What is needed to answer stays; the name is cut, not left out.
        let width = usize::from(area.width);
        let (send, to) = if width < 44 { ("", " ") } else { ("send ", " to ") };
        let rest = text::width(&signal) + send.len() + to.len() + "  ? y/n ".len();
        let name = dialog.name();
        let name = fit(&name, text::width(&name).min(width.saturating_sub(rest)), Align::Left);
        strip.text(90, format!(" {send}{signal}{to}{name}? "), theme.warning);
        strip.text(80, "y/n", theme.key);
    } else if choice.query.is_empty() {
        strip.text(80, format!(" {signal} to {}", dialog.name()), theme.dim);
    } else {
        strip.text(80, format!(" {signal}"), theme.dim);
        strip.text(90, format!("  typed: {}", choice.query), theme.text);
    }
    strip.draw(area, buf);
}

/// The line that a number is typed in, and what is said of it.
fn number(app: &App, dialog: &Dialog, adjust: &Adjust, area: Rect, buf: &mut Buffer) -> Position {
    let theme = &app.config.theme;
    let width = usize::from(area.width);
    let label = format!(" {} ", adjust.tunable.spec().name);
    let (_, cursor) = adjust.line.draw(&label, area, theme, buf);
    if area.height > 1 {
        let (note, style) = match &adjust.error {
            Some(error) => (error.clone(), theme.error),
            None if adjust.waits => ("…".into(), theme.dim),
            None => (note(dialog, adjust.tunable), theme.dim),
        };
        let below = line(area, 1);
        draw_text(
            buf,
            below.x,
            below.y,
            &fit(&format!(" {note}"), width, Align::Left),
            width,
            style,
        );
    }
    cursor
}

/// What the number may be, and is.
fn note(dialog: &Dialog, tunable: Tunable) -> String {
    let range = tunable.spec().hint;
    match dialog.present(tunable) {
        None if dialog.pins.is_some() => format!("{range}; now: unknown"),
        None => range.to_owned(),
        Some((least, most)) if least == most => format!("{range}; now {least}"),
        Some((least, most)) => format!("{range}; now {least} to {most}"),
    }
}
