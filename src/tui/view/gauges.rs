//! Memory, swap and pressure.
//!
//! ```text
//!  Mem  ████████▓▓▒▒▒░░░░░░        9.1G/23.5G  █ anon 6.2G ▓ shmem 310M ▒ slab 512M ░ cache 2.1G  avail 13.9G  used, 5 min  ▂▃▃▄▄▅▅▆▆▇
//!  Swap ███                        400M/ 1.0G  in 0 out 12K/s  zram 1.2G→410M 3.0×  disk 0     ▁▁▁▁▂▂▂▂▂▂
//!  PSI  some 0.1% full 0.0%  12 major faults/s  load 0.42 0.31 0.20
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::columns::cell::sparkline;
use crate::model::{Reading, SystemSample};
use crate::tui::app::App;
use crate::tui::widgets::StatusLine;
use crate::units::{self, Units};

/// Columns of the sparklines of memory and swap.
const SPARKLINE_WIDTH: usize = 10;

/// A part of a bar: how much, its glyph (so that it can be told without colour), its style.
type Part = (u64, char, Style);

/// Returns the width of both bars on a screen this wide; none on a narrow one, which needs the figures.
fn bar_width(width: u16) -> usize {
    if width < 60 {
        0
    } else {
        (usize::from(width) / 4).clamp(10, 50)
    }
}

/// Returns a bar of `total`: each part as wide as its share, rounded so that the sum is right.
fn bar(parts: &[Part], total: u64, width: usize, rest: Style) -> Vec<(String, Style)> {
    let mut spans = Vec::new();
    let mut sum = 0_u64;
    let mut drawn = 0;
    for (amount, glyph, style) in parts {
        sum = sum.saturating_add(*amount);
        // Of a total of 0 there is no share.
        let share = sum as f64 / total.max(1) as f64;
        let end = ((share * width as f64).round() as usize).min(if total == 0 { 0 } else { width });
        if end > drawn {
            spans.push((glyph.to_string().repeat(end - drawn), *style));
            drawn = end;
        }
    }
    spans.push(("·".repeat(width - drawn), rest));
    spans
}

fn bytes(n: u64) -> String {
    units::bytes(n, Units::Auto)
}

fn amount(n: Reading<u64>) -> String {
    n.map_or_else(|_| "-".into(), bytes)
}

/// Adds how much of a total is used: a bar, and both figures.
fn add_usage(line: &mut StatusLine, used: Reading<u64>, total: u64, parts: &[Part], area: Rect, app: &App) {
    let theme = &app.config.theme;
    let width = bar_width(area.width);
    if width > 0 {
        line.spans(70, bar(parts, total, width, theme.bar_free));
    }
    let text = format!("  {:>5}/{:<5}", amount(used), bytes(total));
    line.text(85, text, theme.text);
}

/// Draws the line about memory.
pub(super) fn memory(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.engine.snapshot else { return };
    let s = &snapshot.system;
    let mut line = StatusLine::default();
    line.text(90, " Mem  ", theme.dim);
    let total = match s.mem_total {
        Ok(total) => total,
        Err(why) => {
            line.text(80, format!("unknown: {why}"), theme.missing);
            return line.draw(area, buf);
        }
    };
    let parts: [(u8, &str, Reading<u64>, char, Style); 4] = [
        (50, "anon", s.anon_pages, '█', theme.bar_anon),
        (47, "shmem", s.shmem, '▓', theme.bar_shmem),
        (48, "slab", s.slab, '▒', theme.bar_slab),
        // The widest part mostly, and not what is called used.
        (49, "cache", file_pages(s), '░', theme.bar_file),
    ];
    let amounts = parts.map(|(_, _, n, glyph, style)| (n.unwrap_or(0), glyph, style));
    add_usage(&mut line, s.used(), total, &amounts, area, app);
    line.text(51, " ", theme.dim);
    for (priority, label, n, glyph, style) in parts {
        // As the bar is drawn, where there is one.
        let sign = if bar_width(area.width) > 0 {
            format!(" {glyph}")
        } else {
            String::new()
        };
        line.labeled(priority, &sign, style, format!(" {label} {}", amount(n)), theme.text);
    }
    line.labeled(60, "  avail ", theme.dim, amount(s.available()), theme.text);
    // The graph below shows the same, and more of it.
    if app.layout().graph.is_empty() {
        let chart = sparkline(&app.engine.history.system().mem(), SPARKLINE_WIDTH);
        line.text_right(30, format!("  used, 5 min {chart} "), theme.chart);
    }
    line.draw(area, buf);
}

/// Returns the page cache that is file data: without shmem.
fn file_pages(s: &SystemSample) -> Reading<u64> {
    let cache = s.cached?.saturating_add(s.buffers.unwrap_or(0));
    Ok(cache.saturating_sub(s.shmem.unwrap_or(0)))
}

/// Draws the line about swap.
pub(super) fn swap(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.engine.snapshot else { return };
    let s = &snapshot.system;
    let mut line = StatusLine::default();
    line.text(90, " Swap ", theme.dim);
    match (s.swap_total, s.swap_used()) {
        (Err(why), _) | (_, Err(why)) => {
            line.text(80, format!("unknown: {why}"), theme.missing);
            return line.draw(area, buf);
        }
        (Ok(0), _) => line.text(80, "none", theme.dim),
        (Ok(total), Ok(used)) => {
            let disk = on_disk(s, used).unwrap_or(0);
            let parts = [
                (used.saturating_sub(disk), '▓', theme.bar_zram),
                (disk, '█', theme.bar_disk),
            ];
            add_usage(&mut line, Ok(used), total, &parts, area, app);
        }
    }
    let system = app.engine.history.system();
    for (label, rate) in [("  in ", system.swap_in), (" out ", system.swap_out)] {
        let busy = rate.is_some_and(|r| r > 0.0);
        let style = if busy { theme.warning } else { theme.text };
        let text = rate.map_or("-".into(), |r| format!("{}/s", bytes(r as u64)));
        line.labeled(60, label, theme.dim, text, style);
    }
    for (name, stored, held) in compressed(s) {
        let ratio = if held == 0 {
            String::new()
        } else {
            format!(" {:.1}×", stored as f64 / held as f64)
        };
        let text = format!("{}→{}{ratio}", bytes(stored), bytes(held));
        line.labeled(50, &format!("  {name} "), theme.dim, text, theme.bar_zram);
    }
    if let Some(used) = s.swap_used().ok().filter(|_| s.swap_total != Ok(0)) {
        let disk = amount(on_disk(s, used));
        line.labeled(45, "  disk ", theme.dim, disk, theme.bar_disk);
        let chart = sparkline(&system.swap(), SPARKLINE_WIDTH);
        line.text_right(30, format!("  {chart} "), theme.chart);
    }
    line.draw(area, buf);
}

/// Returns zram (all devices that hold swap) and zswap: what is stored, and the RAM that holds it.
fn compressed(s: &SystemSample) -> impl Iterator<Item = (&'static str, u64, u64)> {
    let devices = s.zram.iter().filter(|z| z.is_swap);
    let zram = devices.fold(("zram", 0_u64, 0_u64), |(name, stored, held), z| {
        (name, stored.saturating_add(z.stored), held.saturating_add(z.compressed))
    });
    let zswap = ("zswap", s.zswapped.unwrap_or(0), s.zswap.unwrap_or(0));
    [zram, zswap].into_iter().filter(|(_, stored, _)| *stored > 0)
}

/// Returns the swap that lies on a disk: what the areas outside zram hold, less what zswap keeps back in RAM.
fn on_disk(s: &SystemSample, used: u64) -> Reading<u64> {
    let areas = s.swaps.as_ref().map_err(|e| *e)?.iter();
    let zram: u64 = areas.filter(|a| a.on_zram()).map(|a| a.used).sum();
    Ok(used.saturating_sub(zram).saturating_sub(s.zswapped.unwrap_or(0)))
}

/// Draws the line about pressure and faults.
pub(super) fn pressure(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.engine.snapshot else { return };
    let mut line = StatusLine::default();
    line.text(90, " PSI  ", theme.dim);
    match snapshot.system.psi {
        Ok(psi) => {
            for (priority, label, share) in [(80, "some ", psi.some_avg10), (75, " full ", psi.full_avg10)] {
                let style = if share >= 1.0 { theme.warning } else { theme.text };
                line.labeled(priority, label, theme.dim, format!("{share:.1}%"), style);
            }
            if app.fleet.is_some() {
                line.text(70, "  on the host that waits most", theme.dim);
                return line.draw(area, buf);
            }
        }
        Err(why) => line.text(80, why.to_string(), theme.missing),
    }
    let faults = app.engine.history.system().majfault;
    let faults = faults.map_or("-".into(), |f| format!("{f:.0}/s"));
    line.labeled(60, "  major faults ", theme.dim, faults, theme.text);
    if let Ok([one, five, fifteen]) = snapshot.system.loadavg {
        let load = format!("{one:.2} {five:.2} {fifteen:.2}");
        line.labeled(30, "  load ", theme.dim, load, theme.text);
    }
    line.draw(area, buf);
}
