//! Placing the columns of a table side by side, and drawing its cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::draw_text;
use crate::columns::CellStyle;
use crate::config::Theme;
use crate::text::{self, Align, fit};

/// The wishes of a column before it is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnLayout {
    /// Its width; the least one if it grows.
    pub width: u16,
    /// It takes what is left over.
    pub grows: bool,
    /// Where there is room for few, those of lowest priority are left out first, the rightmost of equal ones;
    /// one of [`ALWAYS`](Self::ALWAYS) never.
    pub priority: u8,
    /// Where the text stands in the column.
    pub align: Align,
}

impl ColumnLayout {
    /// The priority of a column that is never left out.
    pub const ALWAYS: u8 = u8::MAX;

    /// Returns a column that is never left out.
    pub const fn fixed(width: u16, align: Align) -> Self {
        Self {
            width,
            grows: false,
            priority: Self::ALWAYS,
            align,
        }
    }

    /// Returns a column of text at the left that takes what is left over.
    pub const fn rest() -> Self {
        Self {
            width: 0,
            grows: true,
            priority: Self::ALWAYS,
            align: Align::Left,
        }
    }
}

/// A column as placed on screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedColumn {
    /// Its index among the table's columns.
    pub index: usize,
    /// Left edge, from the table's.
    pub x: u16,
    /// Width.
    pub width: u16,
    /// Terminal columns of its text that are scrolled away.
    pub skip: usize,
    /// Where the text stands in the column.
    pub align: Align,
}

/// Places columns in `width`, `gap` spaces apart; the one that grows takes what is left over.
///
/// Where not all fit, those of lowest priority are left out: a figure without its command says nothing. `scroll`
/// instead takes columns away on the left, as long as not all fit, and then scrolls the text of the growing one by
/// eights. A column without a width that does not grow has no place.
pub fn place_columns(columns: &[ColumnLayout], width: u16, gap: u16, scroll: usize) -> Vec<PlacedColumn> {
    let width = usize::from(width);
    let gap = usize::from(gap);
    let needed = |list: &[usize]| {
        let each = list.iter().map(|i| usize::from(columns[*i].width) + gap);
        each.sum::<usize>().saturating_sub(gap)
    };
    let mut list: Vec<usize> = (0..columns.len())
        .filter(|at| columns[*at].grows || columns[*at].width > 0)
        .collect();
    let mut hidden = 0;
    if scroll == 0 {
        while needed(&list) > width {
            let priorities = list.iter().map(|i| columns[*i].priority);
            let lowest = priorities.min().filter(|priority| *priority < ColumnLayout::ALWAYS);
            let Some(at) = list.iter().rposition(|i| Some(columns[*i].priority) == lowest) else {
                break;
            };
            list.remove(at);
        }
    } else {
        while hidden < scroll && list.len() > 1 && needed(&list) > width {
            list.remove(0);
            hidden += 1;
        }
    }
    let spare = width.saturating_sub(needed(&list)) as u16;
    let mut placed = Vec::with_capacity(list.len());
    let mut x = 0_u16;
    for index in list {
        let left = (width as u16).saturating_sub(x);
        if left == 0 {
            break;
        }
        let column = columns[index];
        let spare = if column.grows { spare } else { 0 };
        let own = column.width.saturating_add(spare);
        placed.push(PlacedColumn {
            index,
            x,
            width: own.min(left),
            skip: if column.grows { (scroll - hidden) * 8 } else { 0 },
            align: column.align,
        });
        x = x.saturating_add(own).saturating_add(gap as u16);
    }
    placed
}

/// Draws a row that is drawn already as the selected one. Verdicts that matter keep their colours, as the ground of their cells:
/// on that of the selection few could be read.
pub fn select_row(buf: &mut Buffer, row: Rect, theme: &Theme, verdicts: &[(Rect, CellStyle)]) {
    buf.set_style(row, theme.selected);
    for (cell, meaning) in verdicts {
        let style = match meaning {
            CellStyle::Leak => theme.leak,
            CellStyle::Up => theme.up,
            _ => continue,
        };
        let ground = theme.text.bg.unwrap_or(Color::Reset);
        buf.set_style(*cell, style.bg(ground).add_modifier(Modifier::REVERSED));
    }
}

impl PlacedColumn {
    /// Returns the area of its cell in a row.
    pub fn cell(&self, row: Rect) -> Rect {
        Rect {
            x: row.x + self.x,
            width: self.width,
            ..row
        }
        .intersection(row)
    }

    /// Draws a text in the column of a row, padded or cut to its width.
    pub fn draw(&self, buf: &mut Buffer, row: Rect, text: &str, style: Style) {
        let width = usize::from(self.width);
        if self.skip > 0 {
            let rest = text::skip(text, self.skip);
            self.draw_at(buf, row, 0, &fit(&rest, width, self.align), style);
        } else {
            self.draw_at(buf, row, 0, &fit(text, width, self.align), style);
        }
    }

    /// Draws a text `from` columns into the column of a row, cut to what is left of it.
    pub fn draw_at(&self, buf: &mut Buffer, row: Rect, from: u16, text: &str, style: Style) {
        let x = row.x + self.x + from;
        let width = row.right().saturating_sub(x).min(self.width.saturating_sub(from));
        if width > 0 {
            draw_text(buf, x, row.y, text, usize::from(width), style);
        }
    }
}

/// Returns a heading with the mark of the order, if it is sorted by that column: `▼PSS`, the greatest first.
pub fn with_order(title: &str, descending: Option<bool>, align: Align) -> String {
    let mark = match descending {
        None => return title.to_owned(),
        Some(true) => '▼',
        Some(false) => '▲',
    };
    match align {
        Align::Right => format!("{mark}{title}"),
        Align::Left => format!("{title}{mark}"),
    }
}

/// Returns which of the rows are on the screen, in words of falling length: `18–34 of 108`; none where all are.
pub fn rows_in_sight(offset: usize, height: usize, rows: usize) -> Vec<String> {
    if height == 0 || rows <= height {
        return Vec::new();
    }
    let (first, last) = (offset + 1, rows.min(offset + height));
    vec![format!("{first}–{last} of {rows}"), format!("{last}/{rows}")]
}

/// Draws the first of the texts that fits at the right end of a heading, in the rightmost column that has room beside its title.
pub fn draw_beside_headings(
    buf: &mut Buffer,
    row: Rect,
    columns: &[PlacedColumn],
    title: impl Fn(&PlacedColumn) -> String,
    texts: &[String],
    style: Style,
) {
    for text in texts {
        let width = text::width(text) as u16;
        let has_room =
            |column: &&PlacedColumn| usize::from(column.width) > text::width(&title(column)) + usize::from(width);
        if let Some(column) = columns.iter().rfind(has_room) {
            return column.draw_at(buf, row, column.width - width, text, style);
        }
    }
}

/// A table's columns as placed in its area, to draw a heading and rows with.
#[derive(Debug)]
pub struct TableGrid {
    columns: Vec<PlacedColumn>,
    area: Rect,
}

impl TableGrid {
    /// Places columns in an area, `gap` spaces apart and one from its left edge.
    pub fn new(columns: &[ColumnLayout], area: Rect, gap: u16) -> Self {
        let area = Rect {
            x: area.x.saturating_add(1),
            width: area.width.saturating_sub(1),
            ..area
        };
        Self {
            columns: place_columns(columns, area.width, gap, 0),
            area,
        }
    }

    /// Returns the area of a cell of a row that is `line` lines below the top; an empty one where its column was left
    /// out.
    pub fn cell(&self, line: u16, index: usize) -> Rect {
        let column = self.columns.iter().find(|column| column.index == index);
        column.map_or_else(Rect::default, |column| column.cell(super::line(self.area, line)))
    }

    /// Draws the first of the texts that fits beside the headings, which are in the first line.
    pub fn draw_beside_headings(
        &self,
        buf: &mut Buffer,
        title: impl Fn(usize) -> String,
        texts: &[String],
        style: Style,
    ) {
        let row = super::line(self.area, 0);
        draw_beside_headings(buf, row, &self.columns, |column| title(column.index), texts, style);
    }

    /// Draws the cells of a row that is `line` lines below the top of the area, by the index of their column.
    pub fn draw_row(&self, buf: &mut Buffer, line: u16, mut cell: impl FnMut(usize) -> (String, Style)) {
        let row = super::line(self.area, line);
        for column in &self.columns {
            let (text, style) = cell(column.index);
            column.draw(buf, row, &text, style);
        }
    }
}
