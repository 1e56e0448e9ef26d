//! The areas of a screen of any size.
//!
//! ```text
//! title
//! Mem
//! Swap                        what does not fit is left out, least
//! the machine's memory, a graph
//! PSI                         needed first; three rows of the table
//! the nearest danger
//! the worst leak, or growth   are kept as long as they can be
//! heading and rows            or another page, down to the footer
//! what cannot be read
//! totals, tagged
//! detail
//! footer
//! ```

use ratatui::layout::Rect;

/// The areas of one screen; an area without height is not drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub screen: Rect,
    /// Host, counts, own cost.
    pub title: Rect,
    /// Memory bar.
    pub mem: Rect,
    pub swap: Rect,
    pub pressure: Rect,
    /// The graph of the machine's memory; without height where there is none.
    pub graph: Rect,
    /// The limit that is reached soonest; without height while there is none.
    pub dangers: Rect,
    /// The worst leak, or the fastest growth; without height while there is none.
    pub growth: Rect,
    /// The table, or two side by side with a column between them, each with its heading as the first line.
    pub tables: Vec<Rect>,
    /// The line about what cannot be read; without height where there is nothing to say.
    pub unread: Rect,
    /// Sum of the shown rows, one a table.
    pub totals: Rect,
    /// Sum of the tagged rows.
    pub tagged: Rect,
    /// The selected row in full.
    pub detail: Rect,
    /// The line between the table and the panel; without height where the panel has the screen to itself.
    pub rule: Rect,
    /// The panel of the selected process; without height while it is closed.
    pub panel: Rect,
    /// The open page; without height while the tables are shown.
    pub page: Rect,
    /// Keys, or the line being edited.
    pub footer: Rect,
}

/// The parts of the screen that are not always there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// A page is open, in place of the tables and the lines about them.
    pub page: bool,
    /// Two tables side by side.
    pub two_tables: bool,
    /// The sum of the shown rows.
    pub totals: bool,
    /// The sum of the tagged rows.
    pub tagged: bool,
    pub swap: bool,
    /// The line about what cannot be read.
    pub unread: bool,
    /// Lines of the graph of the machine's memory.
    pub graph: u16,
}

impl Layout {
    /// Lays out a screen of `size`.
    pub fn new((width, height): (u16, u16), parts: Parts) -> Self {
        let screen = Rect::new(0, 0, width, height);
        // In order of priority: each takes its line only if the table keeps enough.
        let mut left = height;
        let mut take = |wanted: bool, keep: u16| {
            let given = u16::from(wanted && left > keep);
            left -= given;
            given
        };
        let footer = take(true, 3);
        let title = take(true, 4);
        let mem = take(true, 5);
        let swap = take(parts.swap, 6);
        let totals = take(parts.totals && !parts.page, 6);
        let tagged = take(parts.tagged && !parts.page, 6);
        let unread = take(parts.unread && !parts.page, 6);
        let detail = take(!parts.page, 7);
        let pressure = take(true, 8);
        // The table keeps twelve rows.
        let graph = if left >= parts.graph + 13 { parts.graph } else { 0 };
        left -= graph;

        let mut y = 0;
        let mut line = |height: u16| {
            let area = Rect::new(0, y, width, height);
            y += height;
            area
        };
        let title = line(title);
        let mem = line(mem);
        let swap = line(swap);
        let graph = line(graph);
        let pressure = line(pressure);
        let table = line(left);
        let unread = line(unread);
        let totals = line(totals);
        let tagged = line(tagged);
        let detail = line(detail);
        let footer = line(footer);
        let tables = if parts.two_tables && !parts.page && width >= 3 {
            let half = (width - 1) / 2;
            vec![
                Rect { width: half, ..table },
                Rect {
                    x: half + 1,
                    width: width - half - 1,
                    ..table
                },
            ]
        } else if parts.two_tables && !parts.page {
            vec![table, Rect { width: 0, ..table }]
        } else {
            vec![table]
        };
        Self {
            screen,
            title,
            mem,
            swap,
            graph,
            pressure,
            dangers: Rect::default(),
            growth: Rect::default(),
            tables,
            unread,
            totals,
            tagged,
            detail,
            rule: Rect::default(),
            panel: Rect::default(),
            page: Rect::default(),
            footer,
        }
    }

    /// Adds a line about dangers above the table, which keeps five lines.
    #[must_use]
    pub fn with_dangers(mut self) -> Self {
        self.dangers = self.line_above_tables();
        self
    }

    /// Adds a line about leaks and growth above the table, which keeps five lines.
    #[must_use]
    pub fn with_growth(mut self) -> Self {
        self.growth = self.line_above_tables();
        self
    }

    fn line_above_tables(&mut self) -> Rect {
        let table = self.tables[0];
        if table.height <= 5 {
            return Rect::default();
        }
        for area in &mut self.tables {
            area.y += 1;
            area.height -= 1;
        }
        Rect::new(0, table.y, self.screen.width, 1)
    }

    /// Gives the place of the tables to the open page.
    #[must_use]
    pub fn with_page(mut self) -> Self {
        let place = self.tables[0];
        self.page = Rect {
            width: self.screen.width,
            ..place
        };
        for area in &mut self.tables {
            area.height = 0;
        }
        self
    }

    /// On a screen with fewer lines the panel has it to itself.
    pub const PANEL_BESIDE: u16 = 30;

    /// Adds the panel of the selected row: in place of the lower part of the table and the line of
    /// detail; on a low screen in place of everything but the title and the footer.
    #[must_use]
    pub fn with_panel(mut self) -> Self {
        let table = self.tables[0];
        let bottom = self.screen.height - self.footer.height;
        let top = if self.screen.height < Self::PANEL_BESIDE {
            for area in [
                &mut self.mem,
                &mut self.swap,
                &mut self.graph,
                &mut self.pressure,
                &mut self.dangers,
                &mut self.growth,
            ] {
                area.height = 0;
            }
            self.unread.height = 0;
            self.totals.height = 0;
            self.tagged.height = 0;
            self.title.bottom()
        } else {
            let kept = (table.height * 2 / 5).max(8).min(table.height);
            self.unread.y = table.y + kept;
            self.totals.y = self.unread.bottom();
            self.tagged.y = self.totals.bottom();
            self.rule = Rect {
                y: self.tagged.bottom(),
                height: 1,
                ..self.tagged
            };
            self.rule.bottom()
        };
        for area in &mut self.tables {
            area.height = self.unread.y.min(top).saturating_sub(area.y);
        }
        self.detail.height = 0;
        self.panel = Rect::new(0, top, self.screen.width, bottom.saturating_sub(top));
        self
    }

    /// Returns the area of a popup that would like `width` by `height`, in the middle of what lies above the footer,
    /// whose keys stay in sight.
    pub fn popup(&self, width: u16, height: u16) -> Rect {
        let above = self.screen.height - self.footer.height;
        let width = width.min(self.screen.width);
        let height = height.min(above);
        Rect::new((self.screen.width - width) / 2, (above - height) / 2, width, height)
    }
}
