//! The areas of a screen of any size.
//!
//! ```text
//! title
//! Mem
//! Swap                        where there is no room, the lines
//! the machine's memory, a graph
//! PSI                         needed least are left out first;
//! the newest kill             three rows of the table stay longest
//! the nearest danger
//! the worst leak, or growth
//! heading and rows            or another page, down to the footer
//! what cannot be read
//! totals, tagged
//! detail
//! the time line of a replay
//! footer
//! ```

use ratatui::layout::Rect;

/// The areas of one screen; an area without height is not drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub screen: Rect,
    /// Host, counts, own cost.
    pub title: Rect,
    pub mem: Rect,
    pub swap: Rect,
    pub pressure: Rect,
    pub graph: Rect,
    /// The newest OOM kill.
    pub kills: Rect,
    /// The cgroup, or the machine, whose tasks wait for memory.
    pub stall: Rect,
    /// The limits that are reached soonest, one a line.
    pub dangers: Rect,
    /// The worst leak, or the fastest growth.
    pub growth: Rect,
    /// The table, or two side by side with a column between them, each with its heading as the first line.
    pub tables: Vec<Rect>,
    /// The line about unreadable data.
    pub unread: Rect,
    /// The sums of the shown and of the tagged rows, one a table.
    pub totals: Rect,
    pub tagged: Rect,
    pub detail: Rect,
    /// The line between the table and the panel; without height if the panel has the screen to itself.
    pub rule: Rect,
    pub panel: Rect,
    pub page: Rect,
    /// The time line of a replay: memory, and events.
    pub timeline: Rect,
    /// Keys, or the line being edited.
    pub footer: Rect,
}

/// The parts of the screen that are not always shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// A page replaces the tables and the lines about them.
    pub page: bool,
    pub panel: bool,
    pub two_tables: bool,
    pub totals: bool,
    pub tagged: bool,
    pub swap: bool,
    pub unread: bool,
    pub kills: bool,
    /// The line of the kill comes after the lines of what still grows: the limit of a cgroup was reached.
    pub kills_last: bool,
    pub stall: bool,
    /// Lines of dangers.
    pub dangers: u16,
    pub growth: bool,
    /// Lines of the graph of the machine's memory.
    pub graph: u16,
    /// The time line of a replay.
    pub timeline: bool,
}

impl Layout {
    /// On a screen with fewer lines the panel replaces everything but the title and the footer.
    const PANEL_BESIDE: u16 = 30;
    /// On a screen with fewer lines a replay has no time line.
    const TIMELINE: u16 = 22;

    pub fn new((width, height): (u16, u16), parts: Parts) -> Self {
        // In order of priority: each part gets its lines only if the table keeps enough.
        let mut left = height;
        let mut take = |lines: u16, keep: u16| {
            let given = if left >= lines + keep { lines } else { 0 };
            left -= given;
            given
        };
        let of_tables = |wanted: bool| u16::from(wanted && !parts.page);
        let footer = take(1, 3);
        let title = take(1, 4);
        let timeline = take(if parts.timeline { 2 } else { 0 }, Self::TIMELINE - 4);
        let mem = take(1, 5);
        let swap = take(u16::from(parts.swap), 6);
        let totals = take(of_tables(parts.totals), 6);
        let tagged = take(of_tables(parts.tagged), 6);
        let unread = take(of_tables(parts.unread), 6);
        let detail = take(of_tables(true), 7);
        let pressure = take(1, 8);
        let graph = take(parts.graph, 13);
        let kills = take(u16::from(parts.kills), 5);
        let stall = take(u16::from(parts.stall), 5);
        let dangers = take(parts.dangers.min(1), 5);
        let dangers = dangers + take(parts.dangers.saturating_sub(1).min(dangers), 12);
        let growth = take(u16::from(parts.growth), 5);

        let mut y = 0;
        let mut line = |height: u16| {
            let area = Rect::new(0, y, width, height);
            y += height;
            area
        };
        let below_growth;
        let [kills_first, kills_last] = if parts.kills_last { [0, kills] } else { [kills, 0] };
        // From top to bottom.
        let mut layout = Self {
            screen: Rect::new(0, 0, width, height),
            title: line(title),
            mem: line(mem),
            swap: line(swap),
            graph: line(graph),
            pressure: line(pressure),
            kills: line(kills_first),
            stall: line(stall),
            dangers: line(dangers),
            growth: {
                let growth = line(growth);
                below_growth = line(kills_last);
                growth
            },
            page: line(left),
            unread: line(unread),
            totals: line(totals),
            tagged: line(tagged),
            detail: line(detail),
            timeline: line(timeline),
            footer: line(footer),
            ..Self::default()
        };
        if parts.kills_last {
            layout.kills = below_growth;
        }
        let place = layout.page;
        let hidden = Rect { height: 0, ..place };
        if parts.page {
            layout.tables = vec![hidden];
            return layout;
        }
        layout.page = hidden;
        layout.tables = match width {
            _ if !parts.two_tables => vec![place],
            0..3 => vec![place, Rect { width: 0, ..place }],
            _ => {
                let half = (width - 1) / 2;
                let right = Rect::new(half + 1, place.y, width - half - 1, place.height);
                vec![Rect { width: half, ..place }, right]
            }
        };
        if parts.panel {
            layout.open_panel();
        }
        layout
    }

    /// Assigns the lower part of the table and the line of detail to the panel; on a low screen everything but the title and the
    /// footer.
    fn open_panel(&mut self) {
        let (width, bottom) = (
            self.screen.width,
            self.screen.height - self.footer.height - self.timeline.height,
        );
        if self.screen.height < Self::PANEL_BESIDE {
            let top = self.title.bottom();
            *self = Self {
                screen: self.screen,
                title: self.title,
                tables: vec![Rect::default()],
                panel: Rect::new(0, top, width, bottom.saturating_sub(top)),
                timeline: self.timeline,
                footer: self.footer,
                ..Self::default()
            };
            return;
        }
        let table = self.tables[0];
        let kept = (table.height * 2 / 5).max(8).min(table.height);
        for area in &mut self.tables {
            area.height = kept;
        }
        self.unread.y = table.y + kept;
        self.totals.y = self.unread.bottom();
        self.tagged.y = self.totals.bottom();
        self.rule = Rect::new(0, self.tagged.bottom(), width, 1);
        let top = self.rule.bottom();
        self.panel = Rect::new(0, top, width, bottom.saturating_sub(top));
        self.detail.height = 0;
    }

    /// Returns the area of a popup that would like `width` by `height`, in the middle of the screen above the footer, so
    /// that the footer's keys stay visible.
    pub fn popup(&self, width: u16, height: u16) -> Rect {
        let above = self.screen.height - self.footer.height;
        let width = width.min(self.screen.width);
        let height = height.min(above);
        Rect::new((self.screen.width - width) / 2, (above - height) / 2, width, height)
    }
}
