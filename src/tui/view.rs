//! Draws the state; changes nothing.

mod header;
mod table;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::config::Action;
use crate::text;
use crate::tui::app::App;
use crate::tui::widgets::draw_line;
use crate::tui::{hints, panel, timeline};

/// Returns the action that a click on a line or a badge of the header performs.
pub(super) fn action_at(app: &App, at: Position) -> Option<Action> {
    header::action_at(app, at)
}

/// Draws one frame. The size in the state may lag behind the terminal's: areas are cut to the frame.
pub fn view(app: &App, frame: &mut Frame<'_>) {
    let layout = app.layout();
    let screen = frame.area();
    let buf = frame.buffer_mut();
    if app.config.theme.text != Style::default() {
        buf.set_style(screen, app.config.theme.text);
    }
    let cut = |area: Rect| area.intersection(screen);

    header::draw(app, &layout, cut, buf);
    for (at, (table, area)) in app.tables.shown().iter().zip(&layout.tables).enumerate() {
        let active = !app.tables.two || at == app.tables.active;
        let (x, width) = (area.x, area.width);
        let below = |line: Rect| cut(Rect { x, width, ..line });
        let columns = app.place_columns(table, cut(*area).width);
        table::draw(app, table, &columns, active, cut(*area), buf);
        table::draw_totals(app, table, &columns, below(layout.totals), buf);
        table::draw_tagged(app, table, &columns, below(layout.tagged), buf);
    }
    if let [left, right] = layout.tables[..] {
        let (x, width) = (left.right(), right.x.saturating_sub(left.right()));
        draw_rule(cut(Rect { x, width, ..left }), "│", app, buf);
    }
    table::draw_detail(app, cut(layout.detail), buf);
    draw_rule(cut(layout.rule), "─", app, buf);
    if let Some(page) = app.page() {
        page.draw(app, cut(layout.page), buf);
    }
    panel::draw(app, cut(layout.panel), buf);
    timeline::draw(app, cut(layout.timeline), buf);
    let footer = cut(layout.footer);
    let theme = &app.config.theme;
    match &app.screen.message {
        _ if footer.is_empty() => {}
        Some(message) => {
            let style = if message.bad { theme.error } else { theme.text };
            let text = text::truncate(&format!(" {}", message.text), footer.width.into());
            draw_line(buf, footer, &text, style);
        }
        None => hints::line(app).0.draw(footer, buf),
    }
    let cursor = app.modal.as_ref().and_then(|modal| modal.draw(app, frame));
    if app.config.ascii {
        to_ascii(frame.buffer_mut());
    }
    if let Some(position) = cursor.filter(|p| screen.contains(*p)) {
        frame.set_cursor_position(position);
    }
}

fn draw_rule(area: Rect, symbol: &str, app: &App, buf: &mut Buffer) {
    for position in area.positions() {
        buf[position].set_symbol(symbol).set_style(app.config.theme.frame);
    }
}

/// Replaces every cell by ASCII of the same width, for terminals and locales without Unicode. It runs on the drawn frame, so that
/// no part of the screen can forget it.
fn to_ascii(buf: &mut Buffer) {
    for cell in &mut buf.content {
        if !cell.symbol().is_ascii() {
            let first = cell.symbol().chars().next().unwrap_or(' ');
            cell.set_char(ascii(first));
        }
    }
}

/// Returns the ASCII character in place of another one: `?` for letters.
#[expect(clippy::match_same_arms, reason = "grouped by what they are")]
const fn ascii(c: char) -> char {
    match c {
        // Lines: horizontal, vertical, and all corners and crossings.
        '─' | '━' => '-',
        '┄' => '.',
        '│' | '┃' | '┊' => '|',
        '\u{2500}'..='\u{257f}' => '+',
        // Eighths of a column from the bottom, in order of height.
        '▁' => '_',
        '▂' => '.',
        '▃' => ':',
        '▄' => '-',
        '▅' => '=',
        '▆' => '+',
        '▇' => '*',
        '█' => '#',
        // Eighths of a column from the left.
        '▏' | '▎' | '▍' => '-',
        '▌' | '▋' | '▊' | '▉' => '=',
        // Shades, which distinguish the parts of bars.
        '▓' => '%',
        '▒' => '=',
        '░' => '-',
        '▲' | '△' | '↑' => '^',
        '◇' => 'o',
        '✖' => 'x',
        '▼' | '▽' | '↓' => 'v',
        '→' | '▸' | '▶' => '>',
        '←' => '<',
        '≤' => '<',
        '≥' => '>',
        'Δ' => 'd',
        'Σ' => '=',
        '±' | '≈' => '~',
        '×' => 'x',
        '÷' => '/',
        '−' | '–' => '-',
        '·' | '…' => '.',
        '•' => '*',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        _ => '?',
    }
}
