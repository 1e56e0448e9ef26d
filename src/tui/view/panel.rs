//! The selected process in full, and which of its mappings grew; or the selected group.
//!
//! ```text
//!  27213 python3                                                                     alice
//!  sleeping  ·  4 threads  ·  runs 3m  ·  parent 900 bash  ·  /usr/bin/python3.13
//!  /usr/bin/python3 train.py --epochs 40
//!  /user.slice/session-2.scope  ·  cgroup 2.0G of 4.0G
//!  PSS 1.3G ██████████████████████████▒▒▒░  anon 1.2G file 96M shmem 0  ·  USS 1.2G  RSS 1.3G  swap 0
//!  footprint over 5 min: 1.1G to 1.3G                            5 min ago at the left, now at the right
//!                                                         ▂▄▆█████
//!                              ▁▂▃▄▅▆▇████████████████████████████
//!  what grew in 2m  ·  +120M in all  ·  read 3s ago
//!  GROWTH   HELD AREAS KIND
//!   +118M   1.1G    41 anon    [anon]
//! ```

mod chart;
mod facts;
mod group;
mod grown;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::put::put;
use super::strip::Strip;
use crate::text;
use crate::tui::app::App;

/// Draws the panel.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let theme = &app.config.theme;
    let line = |at: u16| Rect {
        y: area.y + at,
        height: 1,
        ..area
    };
    buf.set_style(line(0), theme.heading);
    let Some(snapshot) = &app.data.snapshot else { return };
    if let Some(group) = app.tables.current().current().and_then(|line| app.group(line)) {
        return group::draw(app, snapshot, group, area, buf);
    }
    let selected = app.tables.current().current().filter(|l| l.key.process().is_some());
    let Some(sample) = selected.and_then(|l| snapshot.rows().get(l.index)) else {
        put(
            buf,
            area.x,
            area.y,
            " nothing selected",
            usize::from(area.width),
            theme.heading,
        );
        return;
    };
    facts::heading(app, snapshot, sample, line(0), buf);

    // What is known of it has at most half of the room; the chart and what grew share the rest.
    let height = area.height - 1;
    let series = app.data.history.get(sample.id);
    let mut lines = facts::lines(app, snapshot, sample, area.width, height / 2);
    let left = height.saturating_sub(lines.len() as u16);
    let chart = chart_height(left);
    let mut y = 1;
    for strip in lines.drain(..) {
        if y > height {
            return;
        }
        strip.draw(line(y), buf);
        y += 1;
    }
    if let Some(series) = series.filter(|_| chart > 0) {
        let place = Rect {
            height: chart,
            ..line(y)
        };
        chart::draw(app, snapshot, series, &app.process_row(sample, snapshot), place, buf);
        y += chart;
    }
    if y < area.height {
        let place = Rect {
            height: area.height - y,
            ..line(y)
        };
        grown::draw(app, snapshot, sample, place, buf);
    }
}

/// How many of the lines that are left go to the chart.
fn chart_height(left: u16) -> u16 {
    match left {
        0..=6 => 0,
        7..=9 => 3,
        _ => (left / 3).clamp(3, 12),
    }
}

/// A line of one text.
fn plain(text: impl Into<String>, style: Style) -> Strip {
    let mut strip = Strip::default();
    strip.text(1, text, style);
    strip
}

/// Foreign bytes in lines of at most `width` columns, at most so many of them; the last ends with `…` where
/// there is more.
fn wrapped(bytes: &[u8], width: usize, most: usize) -> Vec<String> {
    let width = width.max(1);
    let shown = text::safe_prefix(bytes, width.saturating_mul(most));
    let mut rest: &str = &shown;
    let mut lines = Vec::new();
    while !rest.is_empty() && lines.len() < most {
        if text::width(rest) <= width || lines.len() + 1 == most {
            lines.push(text::fit(rest, width.min(text::width(rest)), text::Align::Left));
            break;
        }
        let mut end = 0;
        let mut used = 0;
        for c in rest.chars() {
            used += text::width(c.encode_utf8(&mut [0; 4]));
            if used > width {
                break;
            }
            end += c.len_utf8();
        }
        if end == 0 {
            break;
        }
        lines.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    lines
}
