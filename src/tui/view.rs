//! Draws the state; changes nothing.

mod danger_line;
mod detail;
mod footer;
mod gauges;
mod graph;
mod growth_line;
mod table;
mod title;
mod unread_line;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::app::App;
use super::ascii;
use super::panel;

/// Draws one frame. The state's size may lag behind the terminal's for a moment; what does not fit is cut.
pub fn view(app: &App, frame: &mut Frame<'_>) {
    let layout = app.layout();
    let screen = frame.area();
    let buf = frame.buffer_mut();
    if app.config.theme.text != Style::default() {
        buf.set_style(screen, app.config.theme.text);
    }
    let cut = |area: Rect| area.intersection(screen);

    title::draw(app, cut(layout.title), buf);
    gauges::memory(app, cut(layout.mem), buf);
    gauges::swap(app, cut(layout.swap), buf);
    graph::draw(app, cut(layout.graph), buf);
    gauges::pressure(app, cut(layout.pressure), buf);
    danger_line::draw(app, cut(layout.dangers), buf);
    growth_line::draw(app, cut(layout.growth), buf);
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
    unread_line::draw(app, cut(layout.unread), buf);
    detail::draw(app, cut(layout.detail), buf);
    draw_rule(cut(layout.rule), "─", app, buf);
    if let Some(page) = app.page() {
        page.draw(app, cut(layout.page), buf);
    }
    panel::draw(app, cut(layout.panel), buf);
    footer::draw(app, cut(layout.footer), buf);
    let cursor = app.modal.as_ref().and_then(|modal| modal.draw(app, frame));
    if app.config.ascii {
        ascii::to_ascii(frame.buffer_mut());
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
