//! Memory, swap and pressure.
//!
//! ```text
//!  Mem  ████████▓▓▒▒▒░░░░░░        9.1G/23.5G  anon 6.2G shmem 310M slab 512M file 2.1G  avail 13.9G  ▂▃▃▄▄▅▅▆▆▇
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
use crate::units::{Units, bytes, growth};

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
        let end = if total == 0 {
            0
        } else {
            (sum as f64 / total as f64 * width as f64).round() as usize
        }
        .min(width);
        if end > drawn {
            spans.push((glyph.to_string().repeat(end - drawn), *style));
            drawn = end;
        }
    }
    spans.push(("·".repeat(width - drawn), rest));
    spans
}

/// Draws the line about memory.
pub(super) fn memory(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.data.snapshot else { return };
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
    let file = file_pages(s);
    let parts: [(&str, Reading<u64>, char, Style); 4] = [
        ("anon", s.anon_pages, '█', theme.bar_anon),
        ("shmem", s.shmem, '▓', theme.bar_shmem),
        ("slab", s.slab, '▒', theme.bar_slab),
        ("file", file, '░', theme.bar_file),
    ];
    let width = bar_width(area.width);
    if width > 0 {
        let amounts: Vec<Part> = parts
            .iter()
            .map(|(_, n, g, style)| (n.unwrap_or(0), *g, *style))
            .collect();
        line.spans(70, bar(&amounts, total, width, theme.bar_free));
    }
    let used = s.mem_available.map(|a| total.saturating_sub(a));
    line.text(
        85,
        format!("  {:>5}/{:<5}", amount(used), bytes(total, Units::Auto)),
        theme.text,
    );
    for (at, (name, n, _, style)) in parts.iter().enumerate() {
        let label = if at == 0 {
            format!("  {name} ")
        } else {
            format!(" {name} ")
        };
        line.spans(50 - at as u8, vec![(label, theme.dim), (amount(*n), *style)]);
    }
    line.spans(
        60,
        vec![("  avail ".into(), theme.dim), (amount(s.mem_available), theme.text)],
    );
    line.text(
        30,
        format!("  {}", sparkline(&app.data.history.system().mem(), 10)),
        theme.chart,
    );
    line.draw(area, buf);
}

/// Returns the page cache that is file data: without shmem.
fn file_pages(s: &SystemSample) -> Reading<u64> {
    Ok(s.cached?
        .saturating_add(s.buffers.unwrap_or(0))
        .saturating_sub(s.shmem.unwrap_or(0)))
}

fn amount(n: Reading<u64>) -> String {
    n.map_or_else(|_| "-".into(), |n| bytes(n, Units::Auto))
}

/// Draws the line about swap.
pub(super) fn swap(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.data.snapshot else { return };
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
            let disk = on_disk(s, used);
            let width = bar_width(area.width);
            if width > 0 {
                let compressed = used.saturating_sub(disk.unwrap_or(0));
                let parts = [
                    (compressed, '▓', theme.bar_zram),
                    (disk.unwrap_or(0), '█', theme.bar_disk),
                ];
                line.spans(70, bar(&parts, total, width, theme.bar_free));
            }
            line.text(
                85,
                format!("  {:>5}/{:<5}", bytes(used, Units::Auto), bytes(total, Units::Auto)),
                theme.text,
            );
        }
    }
    let system = app.data.history.system();
    for (at, (name, rate)) in [("in", system.swap_in), ("out", system.swap_out)]
        .into_iter()
        .enumerate()
    {
        let busy = rate.is_some_and(|r| r > 0.0);
        let label = if at == 0 {
            format!("  {name} ")
        } else {
            format!(" {name} ")
        };
        let style = if busy { theme.warning } else { theme.text };
        let text = rate.map_or("-".into(), |r| format!("{}/s", bytes(r as u64, Units::Auto)));
        line.spans(60, vec![(label, theme.dim), (text, style)]);
    }
    for (name, stored, held) in compressed(s) {
        let ratio = if held == 0 {
            String::new()
        } else {
            format!(" {:.1}×", stored as f64 / held as f64)
        };
        let text = format!("{}→{}{ratio}", bytes(stored, Units::Auto), bytes(held, Units::Auto));
        line.spans(50, vec![(format!("  {name} "), theme.dim), (text, theme.bar_zram)]);
    }
    if let Ok(used) = s.swap_used()
        && s.swap_total != Ok(0)
    {
        line.spans(
            45,
            vec![
                ("  disk ".into(), theme.dim),
                (amount(on_disk(s, used)), theme.bar_disk),
            ],
        );
        line.text(30, format!("  {}", sparkline(&system.swap(), 10)), theme.chart);
    }
    line.draw(area, buf);
}

/// Returns zram (all devices that hold swap) and zswap: what is stored, and the RAM that holds it.
fn compressed(s: &SystemSample) -> Vec<(&'static str, u64, u64)> {
    let zram = s.zram.iter().filter(|z| z.is_swap).fold((0_u64, 0_u64), |(a, b), z| {
        (a.saturating_add(z.stored), b.saturating_add(z.compressed))
    });
    let zswap = (s.zswapped.unwrap_or(0), s.zswap.unwrap_or(0));
    [("zram", zram.0, zram.1), ("zswap", zswap.0, zswap.1)]
        .into_iter()
        .filter(|(_, stored, _)| *stored > 0)
        .collect()
}

/// Returns the swap that lies on a disk: what the areas outside zram hold, less what zswap keeps back in RAM.
fn on_disk(s: &SystemSample, used: u64) -> Reading<u64> {
    let zram: u64 = s
        .swaps
        .as_ref()
        .map_err(|e| *e)?
        .iter()
        .filter(|a| a.on_zram())
        .map(|a| a.used)
        .sum();
    Ok(used.saturating_sub(zram).saturating_sub(s.zswapped.unwrap_or(0)))
}

/// Draws the line about pressure and faults.
pub(super) fn pressure(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let Some(snapshot) = &app.data.snapshot else { return };
    let mut line = StatusLine::default();
    line.text(90, " PSI  ", theme.dim);
    match snapshot.system.psi {
        Ok(psi) => {
            let tone = |x: f32| if x >= 1.0 { theme.warning } else { theme.text };
            line.spans(
                80,
                vec![
                    ("some ".into(), theme.dim),
                    (format!("{:.1}%", psi.some_avg10), tone(psi.some_avg10)),
                ],
            );
            line.spans(
                75,
                vec![
                    (" full ".into(), theme.dim),
                    (format!("{:.1}%", psi.full_avg10), tone(psi.full_avg10)),
                ],
            );
        }
        Err(why) => line.text(80, why.to_string(), theme.missing),
    }
    let faults = app.data.history.system().majfault;
    line.spans(
        60,
        vec![
            ("  major faults ".into(), theme.dim),
            (faults.map_or("-".into(), |f| format!("{f:.0}/s")), theme.text),
        ],
    );
    if let Ok([one, five, fifteen]) = snapshot.system.loadavg {
        line.spans(
            30,
            vec![
                ("  load ".into(), theme.dim),
                (format!("{one:.2} {five:.2} {fifteen:.2}"), theme.text),
            ],
        );
    }
    if let Some(rate) = app.rows.totals.change.growth.filter(|r| r.abs() >= 1024.0) {
        line.spans(40, vec![("  footprint ".into(), theme.dim), (growth(rate), theme.text)]);
    }
    line.draw(area, buf);
}
