//! The time that charts and sparklines span, and the cursor in it.

use std::time::Duration;

/// A span of time to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its name in the config.
    pub id: &'static str,
    /// Its name in a heading.
    pub title: &'static str,
    /// Its name in a sentence.
    pub name: &'static str,
    /// Its length.
    pub time: Duration,
}

const fn span(id: &'static str, title: &'static str, name: &'static str, seconds: u64) -> Span {
    Span {
        id,
        title,
        name,
        time: Duration::from_secs(seconds),
    }
}

/// Every span, the shortest first.
pub const SPANS: [Span; 11] = [
    span("5m", "5 MIN", "5 min", 300),
    span("15m", "15 MIN", "15 min", 900),
    span("30m", "30 MIN", "30 min", 1800),
    span("1h", "1 HOUR", "1 hour", 3600),
    span("2h", "2 HOURS", "2 hours", 2 * 3600),
    span("3h", "3 HOURS", "3 hours", 3 * 3600),
    span("6h", "6 HOURS", "6 hours", 6 * 3600),
    span("12h", "12 HOURS", "12 hours", 12 * 3600),
    span("1d", "1 DAY", "1 day", 86_400),
    span("1w", "1 WEEK", "1 week", 7 * 86_400),
    span("30d", "30 DAYS", "30 days", 30 * 86_400),
];

/// The span of the charts, and the cursor of the panel's chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chart {
    /// The index in [`SPANS`].
    index: usize,
    /// The time the cursor is on, on the monotonic clock; `None` where there is no cursor.
    cursor: Option<Duration>,
}

/// A chart's columns in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Where it ends, on the monotonic clock.
    pub end: Duration,
    /// Its length.
    pub span: Duration,
    /// The column of the cursor.
    pub cursor: Option<usize>,
}

impl Chart {
    /// Returns a chart over the span of that name, the shortest where there is none.
    pub fn over(id: &str) -> Self {
        Self {
            index: SPANS.iter().position(|span| span.id == id).unwrap_or(0),
            cursor: None,
        }
    }

    /// Returns the span.
    pub const fn span(&self) -> &'static Span {
        &SPANS[self.index]
    }

    /// Returns a chart without a cursor that spans as long a time, or the next longer one that has all of this.
    #[must_use]
    pub fn covering(&self, time: Duration) -> Self {
        let longer = SPANS.iter().position(|span| span.time >= time);
        Self {
            index: longer.unwrap_or(SPANS.len() - 1).max(self.index),
            cursor: None,
        }
    }

    /// Returns true if there is a cursor.
    pub const fn has_cursor(&self) -> bool {
        self.cursor.is_some()
    }

    /// Goes to the next longer or shorter span. The time under the cursor stays on screen.
    pub(super) fn zoom(&mut self, out: bool) {
        self.index = if out {
            (self.index + 1).min(SPANS.len() - 1)
        } else {
            self.index.saturating_sub(1)
        };
    }

    /// Removes the cursor; returns false if there was none.
    pub(super) const fn remove_cursor(&mut self) -> bool {
        self.cursor.take().is_some()
    }

    /// Moves the cursor by so many of `width` columns; it comes from the right edge, and leaves there.
    pub(super) fn step(&mut self, columns: i32, now: Duration, width: usize) {
        let cell = self.span().time / u32::try_from(width.max(1)).unwrap_or(u32::MAX);
        let by = cell.saturating_mul(columns.unsigned_abs());
        let at = self.cursor.unwrap_or(now);
        let at = if columns < 0 {
            at.saturating_sub(by)
        } else {
            at.saturating_add(by)
        };
        // Half a column before the edge is at the edge.
        self.cursor = (at + cell / 2 < now || columns < 0).then_some(at.min(now));
    }

    /// Returns the time that a chart of `width` columns shows: up to now, or around the cursor where that is further back.
    pub fn window(&self, now: Duration, width: usize) -> Window {
        let span = self.span().time;
        let end = match self.cursor {
            Some(at) if at + span <= now => (at + span / 2).min(now),
            _ => now,
        };
        let cell = span.as_secs_f64() / width.max(1) as f64;
        let cursor = self.cursor.map(|at| {
            let back = end.saturating_sub(at).as_secs_f64() / cell;
            width.saturating_sub(1 + back.round() as usize)
        });
        Window { end, span, cursor }
    }
}
