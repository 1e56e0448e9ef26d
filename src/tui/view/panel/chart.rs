//! The footprint over the last five minutes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::put::put;
use super::super::strip::Strip;
use crate::model::history::Line;
use crate::tui::app::App;
use crate::units;

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws a line that says what is drawn, and the chart below it. It spans from the least value to the greatest,
/// and as a sparkline at least 4 % of that and 256 KiB.
pub(super) fn draw(app: &App, line: &Line<'_>, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let bands = line.recent(usize::from(area.width.saturating_sub(2)));
    let values: Vec<Option<u64>> = bands.into_iter().map(|band| band.map(|b| b.last)).collect();
    let known = || values.iter().flatten().copied();
    let mut label = Strip::default();
    let (Some(low), Some(high)) = (known().min(), known().max()) else {
        label.text(1, " footprint: not known yet", theme.dim);
        return label.draw(Rect { height: 1, ..area }, buf);
    };
    let range = format!(
        " footprint over 5 min: {} to {}",
        units::bytes(low, app.units),
        units::bytes(high, app.units)
    );
    label.text(1, range, theme.dim);
    label.draw(Rect { height: 1, ..area }, buf);

    let rows = area.height.saturating_sub(1);
    let span = (high - low).max(high / 25).max(256 << 10) as f64;
    // The least value has one eighth, to be told from none at all.
    let eighths = f64::from(rows) * 8.0;
    for (x, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        let filled = (((value - low) as f64 / span) * (eighths - 1.0)).round() as u16 + 1;
        for row in 0..rows {
            let part = filled.saturating_sub((rows - 1 - row) * 8).min(8);
            if part > 0 {
                let text = BARS[usize::from(part)].to_string();
                let at = area.x + 1 + x as u16;
                put(buf, at, area.y + 1 + row, &text, 1, theme.chart);
            }
        }
    }
}
