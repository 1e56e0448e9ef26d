//! Building blocks of the screen, without access to the monitor's state: text, table columns, lists, status lines, text input.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use unicode_segmentation::UnicodeSegmentation;

use crate::columns::CellStyle;
use crate::config::{Action, Theme};
use crate::text::{self, Align, fit};

/// Writes text from (`x`, `y`) on, in at most `width` columns and within the buffer; returns the column after it.
///
/// The result equals `Buffer::set_stringn`, which searches for grapheme clusters. Most of a screen, redrawn every second, is
/// characters one cell wide, for which this is faster.
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

/// Writes text at the left edge of an area's first line. Text that is wider than the area ends in `…`.
pub fn draw_line(buf: &mut Buffer, area: Rect, text: &str, style: Style) {
    let width = usize::from(area.width);
    draw_text(buf, area.x, area.y, &text::truncate(text, width), width, style);
}

/// Draws a bar from the bottom of an area one column wide, `eighths` of a line high.
pub fn draw_bar(buf: &mut Buffer, area: Rect, eighths: u16, style: Style) {
    const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    for above in 0..area.height {
        let part = eighths.saturating_sub(above * 8).min(8);
        if part == 0 {
            return;
        }
        let y = area.bottom() - 1 - above;
        draw_text(buf, area.x, y, BARS[usize::from(part) - 1], 1, style);
    }
}

/// Returns the line of an area that is `at` lines below its top.
pub fn line(area: Rect, at: u16) -> Rect {
    let y = area.y.saturating_add(at);
    Rect { y, height: 1, ..area }
}

/// Returns true for a character one column wide that never joins another one's cluster: visible ASCII, blocks and lines.
const fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{2500}'..='\u{259f}')
}

// The columns of a table.

/// The requirements of a column before it is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnLayout {
    /// The width; the minimum if it grows.
    pub width: u16,
    /// It fills the remaining width.
    pub grows: bool,
    /// Columns of lowest priority are left out first, the rightmost of equal ones; columns of [`ALWAYS`](Self::ALWAYS) never.
    pub priority: u8,
    pub align: Align,
}

impl ColumnLayout {
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

    /// Returns a left-aligned column that fills the remaining width.
    pub const fn rest() -> Self {
        let grows = true;
        Self {
            grows,
            ..Self::fixed(0, Align::Left)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedColumn {
    /// The index among the table's columns.
    pub index: usize,
    /// The distance from the table's left edge.
    pub x: u16,
    pub width: u16,
    /// Terminal columns of its text that are scrolled away.
    pub skip: usize,
    pub align: Align,
}

/// The width down to which a text column becomes narrower where figures need the room.
const MIN_TEXT: u16 = 10;

/// Places columns in `width`, `gap` spaces apart.
///
/// If not all fit, columns of lowest priority are left out. `scroll` instead removes columns on the left until the rest fit, and
/// then scrolls the text of the growing one by eights. A column without a width that does not grow is not placed. If the columns
/// that stay need more than `width`, the widest text column becomes narrower, so that figures are in sight.
pub fn place_columns(columns: &[ColumnLayout], width: u16, gap: u16, scroll: usize) -> Vec<PlacedColumn> {
    let width = usize::from(width);
    let gap = usize::from(gap);
    let needed = |list: &[usize]| {
        let each = list.iter().map(|i| usize::from(columns[*i].width) + gap);
        each.sum::<usize>().saturating_sub(gap)
    };
    let has_place = |at: &usize| columns[*at].grows || columns[*at].width > 0;
    let mut list: Vec<usize> = (0..columns.len()).filter(has_place).collect();
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
            // The growing column stays: it names the row.
            let Some(at) = list.iter().position(|at| !columns[*at].grows) else {
                break;
            };
            list.remove(at);
            hidden += 1;
        }
    }
    let needed = needed(&list);
    let spare = width.saturating_sub(needed) as u16;
    let texts = list.iter().filter(|at| columns[**at].align == Align::Left);
    let widest = texts.max_by_key(|at| columns[**at].width).copied();
    let excess = if scroll == 0 {
        needed.saturating_sub(width) as u16
    } else {
        0
    };
    let mut placed = Vec::with_capacity(list.len());
    let mut x = 0_u16;
    for index in list {
        let left = (width as u16).saturating_sub(x);
        if left == 0 {
            break;
        }
        let mut column = columns[index];
        if Some(index) == widest {
            column.width = column.width.saturating_sub(excess).max(column.width.min(MIN_TEXT));
        }
        let later = columns
            .get(index + 1..)
            .unwrap_or_default()
            .iter()
            .filter(|later| later.grows);
        let reserved: usize = later.map(|later| usize::from(later.width) + gap).sum();
        if scroll > 0 && !column.grows && reserved > 0 && usize::from(x + column.width) + reserved > width {
            continue;
        }
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

/// Highlights a drawn row as the selected one. Cells with an important verdict get its colour as their background, as few
/// colours are readable on the background of a selection.
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
    pub fn cell(&self, row: Rect) -> Rect {
        let (x, width) = (row.x + self.x, self.width);
        Rect { x, width, ..row }.intersection(row)
    }

    /// Draws a text in the column of a row, padded or cut to its width.
    pub fn draw(&self, buf: &mut Buffer, row: Rect, text: &str, style: Style) {
        let rest = if self.skip > 0 {
            &text::skip(text, self.skip)
        } else {
            text
        };
        self.draw_at(buf, row, 0, &fit(rest, self.width.into(), self.align), style);
    }

    /// Draws a text from the column `from` of the cell on, cut to the cell.
    pub fn draw_at(&self, buf: &mut Buffer, row: Rect, from: u16, text: &str, style: Style) {
        let x = row.x + self.x + from;
        let width = row.right().saturating_sub(x).min(self.width.saturating_sub(from));
        if width > 0 {
            draw_text(buf, x, row.y, text, usize::from(width), style);
        }
    }
}

/// Returns which rows are on the screen, the longer text first: `18–34 of 108`, `34/108`; nothing if all are.
pub fn rows_in_sight(offset: usize, height: usize, rows: usize) -> Vec<String> {
    if height == 0 || rows <= height {
        return Vec::new();
    }
    let (first, last) = (offset + 1, rows.min(offset + height));
    vec![format!("{first}–{last} of {rows}"), format!("{last}/{rows}")]
}

/// Draws headings. `heading` returns the title of a column by its index, and whether its order is descending if the table is
/// sorted by it: `▼PSS`. The first of the `notes` that fits is drawn in the rightmost column with room beside its title.
pub fn draw_headings(
    buf: &mut Buffer,
    row: Rect,
    columns: &[PlacedColumn],
    heading: impl Fn(usize) -> (Cow<'static, str>, Option<bool>),
    theme: &Theme,
    sorted: Style,
    notes: &[String],
) {
    let mut room = Vec::with_capacity(columns.len());
    for column in columns {
        let (title, order) = heading(column.index);
        let mark = order.map_or("", |descending| if descending { "▼" } else { "▲" });
        let title = match column.align {
            Align::Right => format!("{mark}{title}"),
            Align::Left => format!("{title}{mark}"),
        };
        let style = if order.is_some() { sorted } else { theme.heading };
        PlacedColumn { skip: 0, ..*column }.draw(buf, row, &title, style);
        room.push(usize::from(column.width).saturating_sub(text::width(&title)));
    }
    for note in notes {
        let width = text::width(note);
        if let Some(at) = room.iter().rposition(|room| *room > width) {
            let column = &columns[at];
            return column.draw_at(buf, row, column.width - width as u16, note, theme.text);
        }
    }
}

/// A table's columns as placed in its area.
#[derive(Debug)]
pub struct TableGrid {
    pub columns: Vec<PlacedColumn>,
    pub area: Rect,
}

impl TableGrid {
    /// Places columns in an area, `gap` spaces apart and one from its left edge.
    pub fn new(columns: &[ColumnLayout], area: Rect, gap: u16) -> Self {
        let (x, width) = (area.x.saturating_add(1), area.width.saturating_sub(1));
        let area = Rect { x, width, ..area };
        Self {
            columns: place_columns(columns, area.width, gap, 0),
            area,
        }
    }

    /// Returns the area of a cell in the row `at` lines below the top; an empty one if its column was left out.
    pub fn cell(&self, at: u16, index: usize) -> Rect {
        let column = self.columns.iter().find(|column| column.index == index);
        column.map_or_else(Rect::default, |column| column.cell(line(self.area, at)))
    }

    /// Draws the cells of the row `at` lines below the top; `cell` returns one by the index of its column.
    pub fn draw_row(&self, buf: &mut Buffer, at: u16, mut cell: impl FnMut(usize) -> (String, Style)) {
        let row = line(self.area, at);
        for column in &self.columns {
            let (text, style) = cell(column.index);
            column.draw(buf, row, &text, style);
        }
    }
}

/// The cursor of a list, and how far it is scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListState {
    /// The index of the selected entry.
    pub cursor: usize,
    /// The index of the first entry on screen.
    pub offset: usize,
}

impl ListState {
    /// Selects an entry of `len`, or the last one, with `height` of them on screen. Scrolls as little as is needed to show the
    /// cursor and to leave no line empty.
    pub fn select(&mut self, index: usize, len: usize, height: usize) {
        let height = height.max(1);
        self.cursor = index.min(len.saturating_sub(1));
        let least = (self.cursor + 1).saturating_sub(height);
        let most = len.saturating_sub(height);
        self.offset = self.offset.min(self.cursor).max(least).min(most);
    }
}

/// Returns how an action moves the cursor of a list: to which index, from its index and the number of entries on screen. `None`
/// for an action that does not move it.
pub fn movement(action: Action) -> Option<fn(usize, usize) -> usize> {
    Some(match action {
        Action::Up => |at, _| at.saturating_sub(1),
        Action::Down => |at, _| at + 1,
        Action::PageUp => usize::saturating_sub,
        Action::PageDown => |at, page| at + page,
        Action::First => |_, _| 0,
        Action::Last => |_, _| usize::MAX,
        _ => return None,
    })
}

/// Draws the visible entries, a line each, the one at the cursor in the style `selected`. `entry` is called only for those.
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

/// A part of a status line: spans that are drawn or left out together.
struct Segment {
    /// Its number among those added to its side.
    part: usize,
    priority: u8,
    spans: Vec<(String, Style)>,
    width: usize,
    /// The action that a click on it performs.
    action: Option<Action>,
}

impl Segment {
    fn add(side: &mut Vec<Self>, priority: u8, spans: Vec<(String, Style)>) {
        side.push(Self {
            part: side.len(),
            priority,
            width: spans.iter().map(|(text, _)| text::width(text)).sum(),
            spans,
            action: None,
        });
    }
}

/// A line of segments at the left and the right edge. If not all fit, segments of lowest priority are left out, the last added
/// first.
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

    pub fn spans(&mut self, priority: u8, spans: Vec<(String, Style)>) {
        Segment::add(&mut self.left, priority, spans);
    }

    pub fn text(&mut self, priority: u8, text: impl Into<String>, style: Style) {
        self.spans(priority, vec![(text.into(), style)]);
    }

    /// Adds a label and the text that it describes.
    pub fn labeled(&mut self, priority: u8, label: &str, label_style: Style, text: impl Into<String>, style: Style) {
        self.spans(priority, vec![(label.into(), label_style), (text.into(), style)]);
    }

    /// Adds a text at the right edge.
    pub fn text_right(&mut self, priority: u8, text: impl Into<String>, style: Style) {
        Segment::add(&mut self.right, priority, vec![(text.into(), style)]);
    }

    /// Adds a text at the right edge; a click on it performs an action.
    pub fn button_right(&mut self, priority: u8, text: impl Into<String>, style: Style, action: Action) {
        self.text_right(priority, text, style);
        if let Some(button) = self.right.last_mut() {
            button.action = Some(action);
        }
    }

    /// Returns the action of the button at a column of the screen.
    pub fn action_at(mut self, area: Rect, x: u16) -> Option<Action> {
        self.fit(area.width);
        let mut end = usize::from(area.right());
        let mut buttons = self.right.iter().rev();
        let hit = buttons.find(|button| {
            end = end.saturating_sub(button.width);
            usize::from(x) >= end
        });
        hit?.action
    }

    /// Removes what does not fit; the last segment stays.
    fn fit(&mut self, width: u16) {
        loop {
            let all = || self.left.iter().chain(&self.right);
            let needed: usize = all().map(|s| s.width).sum();
            if needed <= usize::from(width) || all().count() <= 1 {
                return;
            }
            let lowest = all().map(|s| s.priority).min();
            let last = |side: &[Segment]| side.iter().rposition(|s| Some(s.priority) == lowest);
            if let Some(at) = last(&self.left) {
                self.left.remove(at);
            } else if let Some(at) = last(&self.right) {
                self.right.remove(at);
            }
        }
    }

    /// Returns the number of the segment, as added to the left edge, that is drawn at a column of the screen.
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

    pub fn draw(mut self, area: Rect, buf: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        self.fit(area.width);
        let mut x = area.x;
        let right: usize = self.right.iter().map(|s| s.width).sum();
        let right = area.right().saturating_sub(u16::try_from(right).unwrap_or(u16::MAX));
        for (from, side) in [(area.x, &self.left), (right, &self.right)] {
            x = x.max(from);
            for (text, style) in side.iter().flat_map(|s| &s.spans) {
                let left = usize::from(area.right().saturating_sub(x));
                x = draw_text(buf, x, area.y, text, left, *style);
            }
        }
    }
}

/// Maximum length of an edited line; the rest of a longer paste is dropped.
const MAX_BYTES: usize = 4096;

/// A line of text being edited, and a cursor in it, always between two grapheme clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextInput {
    text: String,
    /// Byte offset.
    cursor: usize,
    /// The text was put there, and nothing was edited: typing replaces it.
    is_prefilled: bool,
}

impl TextInput {
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            cursor: text.len(),
            is_prefilled: false,
        }
    }

    /// Returns an input whose text is replaced by the first typed character, unless it is edited first.
    pub fn prefilled(text: &str) -> Self {
        Self {
            is_prefilled: !text.is_empty(),
            ..Self::new(text)
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

    /// Inserts text at the cursor; control and formatting characters (a newline, a bidi mark) become spaces. A prefilled text
    /// goes, except before a space, which continues it.
    pub fn insert(&mut self, typed: &str) {
        if std::mem::take(&mut self.is_prefilled) && !typed.starts_with(' ') {
            *self = Self::default();
        }
        for c in typed.chars() {
            let is_hidden = c.is_control() || text::is_invisible(c);
            let c = if is_hidden { ' ' } else { c };
            if self.text.len() + c.len_utf8() > MAX_BYTES {
                return;
            }
            self.text.insert(self.cursor, c);
            self.cursor += c.len_utf8();
        }
    }

    /// Performs an editing action; ignores other actions.
    pub fn on_action(&mut self, action: Action) {
        self.is_prefilled = false;
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

    /// Returns the start of the word before the cursor.
    fn word_before(&self) -> usize {
        let head = self.split().0.trim_end();
        let space = head.char_indices().rfind(|(_, c)| c.is_whitespace());
        space.map_or(0, |(at, c)| at + c.len_utf8())
    }

    /// Returns the screen column of the text after a label, and how many of its columns are scrolled away to show the cursor.
    fn viewport(&self, label: &str, area: Rect) -> (u16, usize) {
        let x = (area.x + text::width(label) as u16 + 1).min(area.right());
        let room = usize::from(area.right() - x).max(1);
        (x, (self.column() + 1).saturating_sub(room))
    }

    /// Returns the screen column of a character of the text; `None` if it is not on screen.
    pub fn screen_column(&self, character: usize, label: &str, area: Rect) -> Option<u16> {
        let before: String = self.text.chars().take(character).collect();
        let (x, scrolled) = self.viewport(label, area);
        let column = text::width(&before).checked_sub(scrolled)?;
        Some(x.saturating_add(u16::try_from(column).ok()?)).filter(|x| *x < area.right())
    }

    /// Draws a label and the text after it. Returns the column after the text, and the place of the terminal's cursor.
    pub fn draw(&self, label: &str, area: Rect, theme: &Theme, buf: &mut Buffer) -> (u16, Position) {
        let area = Rect { height: 1, ..area };
        buf.set_style(area, theme.input);
        draw_text(buf, area.x, area.y, label, usize::from(area.width), theme.key);
        let (x, scrolled) = self.viewport(label, area);
        let room = usize::from(area.right() - x);
        let style = if self.is_prefilled { theme.found } else { theme.input };
        let end = draw_text(buf, x, area.y, &text::skip(&self.text, scrolled), room, style);
        let cursor = u16::try_from(self.column() - scrolled).unwrap_or(0);
        let cursor = x.saturating_add(cursor).min(area.right().saturating_sub(1));
        (end, Position::new(cursor, area.y))
    }
}

/// Returns the indices `0..len`, from `first` rows after the cursor on in steps of `step` rows, wrapping around.
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
