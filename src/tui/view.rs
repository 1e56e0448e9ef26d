//! Draws the state; changes nothing.

mod header;
mod table;

use header::{draw_dangers, draw_graph, draw_growth, draw_memory, draw_pressure, draw_swap, draw_title, draw_unread};
use ratatui::Frame;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::tui::app::App;
use crate::tui::widgets::draw_line;
use crate::tui::{hints, panel};

/// Draws one frame. The state's size may lag behind the terminal's for a moment; what does not fit is cut.
pub fn view(app: &App, frame: &mut Frame<'_>) {
    let layout = app.layout();
    let screen = frame.area();
    let buf = frame.buffer_mut();
    if app.config.theme.text != Style::default() {
        buf.set_style(screen, app.config.theme.text);
    }
    let cut = |area: Rect| area.intersection(screen);

    draw_title(app, cut(layout.title), buf);
    draw_memory(app, cut(layout.mem), buf);
    draw_swap(app, cut(layout.swap), buf);
    draw_graph(app, cut(layout.graph), buf);
    draw_pressure(app, cut(layout.pressure), buf);
    draw_dangers(app, cut(layout.dangers), buf);
    draw_growth(app, cut(layout.growth), buf);
    for (at, (table, area)) in app.tables.shown().iter().zip(&layout.tables).enumerate() {
        let active = !app.tables.two || at == app.tables.active;
        let below = |line: Rect| {
            cut(Rect {
                x: area.x,
                width: area.width,
                ..line
            })
        };
        table::draw(app, table, active, cut(*area), buf);
        table::draw_totals(app, table, below(layout.totals), buf);
        table::draw_tagged(app, table, below(layout.tagged), buf);
    }
    if let [left, right] = layout.tables[..] {
        let between = Rect {
            x: left.right(),
            width: right.x.saturating_sub(left.right()),
            ..left
        };
        draw_rule(cut(between), "│", app, buf);
    }
    draw_unread(app, cut(layout.unread), buf);
    table::draw_detail(app, cut(layout.detail), buf);
    draw_rule(cut(layout.rule), "─", app, buf);
    if let Some(page) = app.page() {
        page.draw(app, cut(layout.page), buf);
    }
    panel::draw(app, cut(layout.panel), buf);
    draw_footer(app, cut(layout.footer), buf);
    let cursor = app.modal.as_ref().and_then(|modal| modal.draw(app, frame));
    if app.config.ascii {
        to_ascii(frame.buffer_mut());
    }
    if let Some(position) = cursor.filter(|p| screen.contains(*p)) {
        frame.set_cursor_position(position);
    }
}

/// Draws a line between two parts of the screen.
fn draw_rule(area: Rect, symbol: &str, app: &App, buf: &mut Buffer) {
    for position in area.positions() {
        buf[position].set_symbol(symbol).set_style(app.config.theme.frame);
    }
}

// The screen in ASCII alone, for terminals and locales that have nothing else.
//
// The frame is drawn as ever, and then each cell is put into ASCII: so no part of the screen can forget it.

/// Replaces every cell by ASCII of the same width.
pub(super) fn to_ascii(buf: &mut Buffer) {
    for cell in &mut buf.content {
        if !cell.symbol().is_ascii() {
            replace(cell);
        }
    }
}

fn replace(cell: &mut Cell) {
    let first = cell.symbol().chars().next().unwrap_or(' ');
    cell.set_char(ascii(first));
}

/// Returns what stands for a character; a letter of a foreign name is only known to be one.
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
        // Shades: the parts of bars are told apart by them.
        '▓' => '%',
        '▒' => '=',
        '░' => '-',
        '▲' | '△' | '↑' => '^',
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

// The last line: the keys, or how something went, or how far a scan is. A prompt draws over it.

/// Draws the line.
fn draw_footer(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    match &app.screen.message {
        _ if area.is_empty() => {}
        Some(message) => {
            let style = if message.bad { theme.error } else { theme.text };
            draw_line(buf, area, &format!(" {}", message.text), style);
        }
        None => hints::line(app).0.draw(area, buf),
    }
}
