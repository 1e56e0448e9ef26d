//! Building blocks of the screen: text, status lines, lists, table columns, a line being edited.
//!
//! A widget knows the terminal's cells and the theme, and nothing of the monitor's state: it is given what it draws.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use unicode_segmentation::UnicodeSegmentation;

use crate::columns::CellStyle;
use crate::config::{Action, Theme};
use crate::text::{self, Align, fit};

/// Writes text from (`x`, `y`) on, in at most `width` columns and within the buffer, and returns the column after
/// it.
///
/// It draws as `Buffer::set_stringn` does, which looks for the borders of grapheme clusters. Characters that are
/// plainly one cell wide are written at once here: most of a screen, redrawn every second, is such.
pub fn draw_text(buf: &mut Buffer, x: u16, y: u16, text: &str, width: usize, style: Style) -> u16 {
    let right = buf.area.right();
    let end = x.saturating_add(u16::try_from(width).unwrap_or(u16::MAX)).min(right);
    let mut at = x;
    let mut rest = text.chars();
    loop {
        let tail = rest.as_str();
        let Some(c) = rest.next() else { return at };
        // The next character may be a mark that belongs to this one.
        if !is_plain(c) || !rest.clone().next().is_none_or(is_plain) {
            let left = usize::from(end.saturating_sub(at));
            return buf.set_stringn(at, y, tail, left, style).0;
        }
        if at >= end || y >= buf.area.bottom() {
            return at;
        }
        buf[(at, y)].set_char(c).set_style(style);
        at += 1;
    }
}

/// Writes text at the left edge of an area's first line, as far as it fits.
pub fn draw_line(buf: &mut Buffer, area: Rect, text: &str, style: Style) {
    draw_text(buf, area.x, area.y, text, usize::from(area.width), style);
}

/// Draws a bar from the bottom of an area one column wide, so many eighths of a line high.
pub fn draw_bar(buf: &mut Buffer, area: Rect, eighths: u16, style: Style) {
    const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    for above in 0..area.height {
        let part = eighths.saturating_sub(above * 8).min(8);
        if part == 0 {
            return;
        }
        draw_text(
            buf,
            area.x,
            area.bottom() - 1 - above,
            BARS[usize::from(part) - 1],
            1,
            style,
        );
    }
}

/// Returns the line of an area that is `at` lines below its top.
pub fn line(area: Rect, at: u16) -> Rect {
    let y = area.y.saturating_add(at);
    Rect { y, height: 1, ..area }
}

/// Returns true for a character that is one column wide and never part of another one's cluster: visible ASCII,
/// block elements and lines.
const fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{2500}'..='\u{259f}')
}

// Placing the columns of a table side by side, and drawing its cells.

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedColumn {
    /// Its index among the table's columns.
    pub index: usize,
    /// Left edge, from the table's.
    pub x: u16,
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

    /// Returns the area of a cell of a row that is `at` lines below the top; an empty one where its column was left
    /// out.
    pub fn cell(&self, at: u16, index: usize) -> Rect {
        let column = self.columns.iter().find(|column| column.index == index);
        column.map_or_else(Rect::default, |column| column.cell(line(self.area, at)))
    }

    /// Draws the first of the texts that fits beside the headings, which are in the first line.
    pub fn draw_beside_headings(
        &self,
        buf: &mut Buffer,
        title: impl Fn(usize) -> String,
        texts: &[String],
        style: Style,
    ) {
        let row = line(self.area, 0);
        draw_beside_headings(buf, row, &self.columns, |column| title(column.index), texts, style);
    }

    /// Draws the cells of a row that is `at` lines below the top of the area, by the index of their column.
    pub fn draw_row(&self, buf: &mut Buffer, at: u16, mut cell: impl FnMut(usize) -> (String, Style)) {
        let row = line(self.area, at);
        for column in &self.columns {
            let (text, style) = cell(column.index);
            column.draw(buf, row, &text, style);
        }
    }
}

// A list with a cursor.

/// The cursor of a list, and how far the list is scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListState {
    /// The index of the selected entry.
    pub cursor: usize,
    /// The index of the first entry on screen.
    pub offset: usize,
}

impl ListState {
    /// Selects an entry of `len`, the last one at most, with `height` of them on screen. Scrolls as little as is
    /// needed for the cursor to be on screen and no line to be wasted.
    pub fn select(&mut self, index: usize, len: usize, height: usize) {
        let height = height.max(1);
        self.cursor = index.min(len.saturating_sub(1));
        let most = len.saturating_sub(height);
        self.offset = self
            .offset
            .min(self.cursor)
            .max((self.cursor + 1).saturating_sub(height))
            .min(most);
    }
}

/// Draws the entries that are scrolled into the area, a line each, the one at the cursor in the style `selected`.
/// Entries are made only for lines that are drawn.
pub fn draw_list(
    buf: &mut Buffer,
    area: Rect,
    state: ListState,
    len: usize,
    selected: Style,
    entry: impl Fn(usize) -> (String, Style),
) {
    let shown = (state.offset..len).take(usize::from(area.height));
    for (y, index) in shown.enumerate() {
        let (text, own) = entry(index);
        let style = if index == state.cursor { selected } else { own };
        let text = fit(&text, usize::from(area.width), Align::Left);
        draw_line(buf, line(area, y as u16), &text, style);
    }
}

// A line made of segments, the least important of which are left out where it is narrow.

/// A part of the line: spans that stay or go together.
struct Segment {
    /// Its number among those of its side.
    part: usize,
    priority: u8,
    spans: Vec<(String, Style)>,
    width: usize,
}

impl Segment {
    fn new(part: usize, priority: u8, spans: Vec<(String, Style)>) -> Self {
        let width = spans.iter().map(|(text, _)| text::width(text)).sum();
        Self {
            part,
            priority,
            spans,
            width,
        }
    }
}

/// A line of segments, some at the left edge and some at the right one.
#[derive(Default)]
pub struct StatusLine {
    left: Vec<Segment>,
    right: Vec<Segment>,
}

impl StatusLine {
    pub fn of(text: impl Into<String>, style: Style) -> Self {
        let mut line = Self::default();
        line.text(1, text, style);
        line
    }

    /// Adds spans; of the segments that do not all fit, those of lowest priority are left out.
    pub fn spans(&mut self, priority: u8, spans: Vec<(String, Style)>) {
        self.left.push(Segment::new(self.left.len(), priority, spans));
    }

    pub fn text(&mut self, priority: u8, text: impl Into<String>, style: Style) {
        self.spans(priority, vec![(text.into(), style)]);
    }

    /// Adds a label and the text it is about.
    pub fn labeled(&mut self, priority: u8, label: &str, label_style: Style, text: impl Into<String>, style: Style) {
        self.spans(priority, vec![(label.into(), label_style), (text.into(), style)]);
    }

    /// Adds a text at the right edge.
    pub fn text_right(&mut self, priority: u8, text: impl Into<String>, style: Style) {
        let part = self.right.len();
        self.right
            .push(Segment::new(part, priority, vec![(text.into(), style)]));
    }

    fn width(&self) -> usize {
        self.left.iter().chain(&self.right).map(|s| s.width).sum()
    }

    /// Leaves out what does not fit.
    fn fit(&mut self, width: u16) {
        while self.width() > usize::from(width) && self.left.len() + self.right.len() > 1 {
            let lowest = self.left.iter().chain(&self.right).map(|s| s.priority).min();
            let last = |list: &[Segment]| list.iter().rposition(|s| Some(s.priority) == lowest);
            if let Some(at) = last(&self.left) {
                self.left.remove(at);
            } else if let Some(at) = last(&self.right) {
                self.right.remove(at);
            }
        }
    }

    /// Returns which of the parts at the left edge, as they were added, is drawn at a column of the screen.
    pub fn part_at(mut self, area: Rect, x: u16) -> Option<usize> {
        self.fit(area.width);
        let mut end = usize::from(area.x);
        let mut parts = self.left.iter().filter(|_| area.left() <= x && x < area.right());
        let hit = parts.find(|segment| {
            end += segment.width;
            usize::from(x) < end
        });
        hit.map(|segment| segment.part)
    }

    /// Draws what fits.
    pub fn draw(mut self, area: Rect, buf: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        self.fit(area.width);
        let mut x = area.x;
        let mut write = |from: u16, segments: &[Segment]| {
            x = x.max(from);
            for (text, style) in segments.iter().flat_map(|s| &s.spans) {
                let left = usize::from(area.right().saturating_sub(x));
                x = draw_text(buf, x, area.y, text, left, *style);
            }
        };
        let right: usize = self.right.iter().map(|s| s.width).sum();
        write(area.x, &self.left);
        let from = area.right().saturating_sub(u16::try_from(right).unwrap_or(u16::MAX));
        write(from, &self.right);
    }
}

// A line of text being edited.

/// The longest line taken: what is pasted beyond it is dropped, so that a pasted file costs nothing.
const MAX_BYTES: usize = 4096;

/// The text and a cursor in it, always between two grapheme clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextInput {
    text: String,
    /// Byte offset.
    cursor: usize,
}

impl TextInput {
    /// Returns a line that begins as `text`, the cursor at its end.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            cursor: text.len(),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the cursor and the text from it on.
    pub fn split(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Returns the cursor's place in terminal columns.
    pub fn column(&self) -> usize {
        text::width(self.split().0)
    }

    /// Inserts text at the cursor; control and formatting characters (a pasted newline, a bidi mark) become
    /// spaces.
    pub fn insert(&mut self, typed: &str) {
        for c in typed.chars() {
            let c = if c.is_control() || text::is_invisible(c) {
                ' '
            } else {
                c
            };
            if self.text.len() + c.len_utf8() > MAX_BYTES {
                return;
            }
            self.text.insert(self.cursor, c);
            self.cursor += c.len_utf8();
        }
    }

    /// Performs an editing action; other actions change nothing.
    pub fn on_action(&mut self, action: Action) {
        match action {
            Action::Left => self.cursor = self.cluster_before(),
            Action::Right => self.cursor = self.cluster_after(),
            Action::First => self.cursor = 0,
            Action::Last => self.cursor = self.text.len(),
            Action::Backspace => self.delete_from(self.cluster_before()),
            Action::Delete => {
                let end = self.cluster_after();
                self.text.replace_range(self.cursor..end, "");
            }
            Action::DeleteWord => self.delete_from(self.word_before()),
            Action::DeleteLine => self.delete_from(0),
            _ => {}
        }
    }

    /// Deletes from a place before the cursor to the cursor.
    fn delete_from(&mut self, start: usize) {
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    fn cluster_before(&self) -> usize {
        let last = self.split().0.grapheme_indices(true).next_back();
        last.map_or(0, |(at, _)| at)
    }

    fn cluster_after(&self) -> usize {
        self.cursor + self.split().1.graphemes(true).next().map_or(0, str::len)
    }

    /// Returns where the word before the cursor, and the spaces after it, begins.
    fn word_before(&self) -> usize {
        let head = self.split().0.trim_end();
        let space = head.char_indices().rfind(|(_, c)| c.is_whitespace());
        space.map_or(0, |(at, c)| at + c.len_utf8())
    }

    /// Returns where the text begins on a line after a label, and how many of its columns are scrolled away so
    /// that the cursor stays in sight.
    fn viewport(&self, label: &str, area: Rect) -> (u16, usize) {
        let x = (area.x + text::width(label) as u16 + 1).min(area.right());
        let room = usize::from(area.right() - x).max(1);
        (x, (self.column() + 1).saturating_sub(room))
    }

    /// Returns the screen's column of a character of the text; `None` where it is not on screen.
    pub fn screen_column(&self, character: usize, label: &str, area: Rect) -> Option<u16> {
        let before: String = self.text.chars().take(character).collect();
        let (x, scrolled) = self.viewport(label, area);
        let column = text::width(&before).checked_sub(scrolled)?;
        Some(x.saturating_add(u16::try_from(column).ok()?)).filter(|x| *x < area.right())
    }

    /// Draws a label and the text after it. Returns the column after the text, and where the terminal's cursor
    /// belongs.
    pub fn draw(&self, label: &str, area: Rect, theme: &Theme, buf: &mut Buffer) -> (u16, Position) {
        let area = Rect { height: 1, ..area };
        buf.set_style(area, theme.input);
        draw_text(buf, area.x, area.y, label, usize::from(area.width), theme.key);
        let (x, scrolled) = self.viewport(label, area);
        let room = usize::from(area.right() - x);
        let end = draw_text(buf, x, area.y, &text::skip(&self.text, scrolled), room, theme.input);
        let cursor = u16::try_from(self.column() - scrolled).unwrap_or(0);
        let cursor = x.saturating_add(cursor).min(area.right().saturating_sub(1));
        (end, Position::new(cursor, area.y))
    }
}

/// Returns the indices `0..len`: the one `first` rows from the cursor, and then every `step` rows, wrapping around.
pub fn from_cursor(len: usize, cursor: usize, first: isize, step: isize) -> impl Iterator<Item = usize> {
    let (len, start) = (len.cast_signed(), cursor.cast_signed() + first);
    (0..len).map(move |n| (start + n * step).rem_euclid(len) as usize)
}

pub const fn cell_style(theme: &Theme, style: CellStyle) -> Style {
    match style {
        CellStyle::Leak => theme.leak,
        CellStyle::Up => theme.up,
        CellStyle::Down => theme.down,
        CellStyle::Zero => theme.zero,
        CellStyle::Missing => theme.missing,
        CellStyle::Estimate => theme.stale,
        CellStyle::Chart => theme.chart,
        CellStyle::Plain => theme.text,
    }
}
