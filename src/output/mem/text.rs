//! ```text
//!       TOTAL   USED   FREE  SHARED  CACHE  AVAILABLE
//! RAM   23.5G   1.1G   8.3G    8.6M  15.0G      22.4G
//! swap   1.0G   120M   904M       0   4.1M       904M
//! both  24.5G   1.2G   9.2G    8.6M  15.0G      23.3G
//!
//! COMPRESSED  STORED  IN RAM  RATIO  ON DISK  SIZE
//! zram0         120M   40.1M   3.0x        -  1.0G
//!
//! WHERE THE RAM IS              BYTES      %
//! anonymous memory of processes  1.0G    4.3
//! …
//! not accounted for               80M    0.3
//! MemTotal                      23.5G  100.0
//! ```

use std::io::{self, Write};

use super::{Mem, MemOptions, more};
use crate::account::{Part, overview};
use crate::columns::{Cell, CellStyle, Value, cell};
use crate::model::{Missing, Reading};
use crate::output::grid::{Grid, Kind, Paper, word};
use crate::text::{Align, safe};
use crate::units::Units;

pub(super) fn write(mem: &Mem<'_>, out: &mut dyn Write, options: MemOptions) -> io::Result<()> {
    let paper = Paper {
        width: options.width,
        color: options.color,
    };
    let units = options.units;
    let (parts, untold) = parts(mem, units);
    glance(mem, units).write(out, paper)?;
    for table in [compressed(mem, units), areas(mem, units), Some(parts)]
        .iter()
        .flatten()
    {
        writeln!(out)?;
        table.write(out, paper)?;
    }
    if !untold.is_empty() {
        wrapped(out, &format!("not told by this kernel: {}", untold.join("; ")), paper)?;
    }
    let more = [
        Some(more::processes(mem, units)),
        more::swap(mem, units),
        more::pressure(mem),
        Some(more::rest(mem, units)),
    ];
    for table in more.iter().flatten() {
        writeln!(out)?;
        table.write(out, paper)?;
    }
    Ok(())
}

/// ASCII words of our own, on as many lines as it takes.
fn wrapped(out: &mut dyn Write, text: &str, paper: Paper) -> io::Result<()> {
    let most = paper.width.unwrap_or(100).min(100);
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > most {
            writeln!(out, "{}", &line[..line.len().min(most)])?;
            line = " ".into();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{}", &line[..line.len().min(most)])
}

pub(super) fn bytes(reading: Reading<u64>, units: Units) -> Cell {
    let mut cell = cell(&Value::bytes(reading), units, 16);
    if cell.style == CellStyle::Missing {
        "-".clone_into(&mut cell.text);
    }
    cell
}

fn glance(mem: &Mem<'_>, units: Units) -> Grid {
    let right = |title| (title, Align::Right);
    let titles = ["TOTAL", "USED", "FREE", "SHARED", "CACHE", "AVAILABLE"].map(right);
    let mut grid = Grid::new([("", Align::Left)].into_iter().chain(titles));
    let (ram, swap) = (
        overview::ram(&mem.snapshot.system),
        overview::swap(&mem.snapshot.system),
    );
    let both = overview::both(&ram, &swap);
    for (kind, name, line) in [
        (Kind::Row, "RAM", ram),
        (Kind::Row, "swap", swap),
        (Kind::Totals, "both", both),
    ] {
        let figures = [
            line.total,
            line.used,
            line.free,
            line.shared,
            line.cache,
            line.available,
        ];
        let cells = figures.map(|f| bytes(f, units));
        grid.push(kind, [word(name)].into_iter().chain(cells).collect());
    }
    grid
}

/// zswap and zram, where there is any.
fn compressed(mem: &Mem<'_>, units: Units) -> Option<Grid> {
    let right = |title| (title, Align::Right);
    let titles = ["STORED", "IN RAM", "RATIO", "ON DISK", "SIZE"].map(right);
    let mut grid = Grid::new([("COMPRESSED", Align::Left)].into_iter().chain(titles));
    let mut any = false;
    for item in overview::compressed(&mem.snapshot.system, mem.inputs) {
        let is_zswap = &*item.name == "zswap";
        let idle = item.stored.unwrap_or(0) == 0;
        // Switched off, or a device that was never given a size.
        if idle && ((is_zswap && mem.inputs.zswap_on != Ok(true)) || item.size == Ok(0)) {
            continue;
        }
        any = true;
        let ratio = match item.ratio() {
            Ok(Some(ratio)) => word(format!("{ratio:.1}x")),
            _ => bytes(Err(Missing::Unsupported), units),
        };
        let mut cells = vec![word(safe(item.name.as_bytes())), bytes(item.stored, units)];
        cells.extend([
            bytes(item.in_ram, units),
            ratio,
            bytes(item.on_disk, units),
            bytes(item.size, units),
        ]);
        grid.push(Kind::Row, cells);
    }
    any.then_some(grid)
}

/// The areas of swap, where there is any.
fn areas(mem: &Mem<'_>, units: Units) -> Option<Grid> {
    let areas = mem.snapshot.system.swaps.as_deref().ok().filter(|a| !a.is_empty())?;
    let titles = [
        ("SWAP AREA", Align::Left),
        ("KIND", Align::Left),
        ("SIZE", Align::Right),
        ("USED", Align::Right),
        ("PRIORITY", Align::Right),
    ];
    let mut grid = Grid::new(titles);
    for area in areas {
        let priority = match area.priority {
            Ok(n) => word(n.to_string()),
            Err(why) => bytes(Err(why), units),
        };
        grid.push(
            Kind::Row,
            vec![
                word(safe(&area.path)),
                word(safe(area.kind.as_bytes())),
                bytes(Ok(area.size), units),
                bytes(Ok(area.used), units),
                priority,
            ],
        );
    }
    Some(grid)
}

/// Where the RAM is, without what holds nothing; and the names of what this kernel does not tell.
fn parts(mem: &Mem<'_>, units: Units) -> (Grid, Vec<&'static str>) {
    let account = &mem.account;
    let mut grid = Grid::new([
        ("WHERE THE RAM IS", Align::Left),
        ("BYTES", Align::Right),
        ("%", Align::Right),
        ("", Align::Left),
    ]);
    let share = |n: f64| match account.total {
        Ok(total) if total > 0 => word(format!("{:.1}", 100.0 * n / total as f64)),
        _ => word("-"),
    };
    let mut untold: Vec<&'static str> = Vec::new();
    let mut push = |part: &Part, indent: &str, whole: bool| match part.bytes {
        Err(Missing::Unsupported) if whole => untold.push(part.title),
        Ok(0) | Err(Missing::Unsupported) => {}
        reading => {
            let name = word(format!("{indent}{}", part.title));
            let share = match reading {
                Ok(n) if whole => share(n as f64),
                _ => word(""),
            };
            let why = reading.err().map(|why| why.to_string()).unwrap_or_default();
            grid.push(Kind::Row, vec![name, bytes(reading, units), share, word(why)]);
        }
    };
    for part in &account.parts {
        push(part, "", true);
        for inner in &part.within {
            push(inner, "  ", false);
        }
    }
    match account.rest {
        Ok(rest) => {
            let size = bytes(Ok(rest.unsigned_abs()), units);
            let cells = if rest < 0 {
                let size = word(format!("-{}", size.text));
                vec![word("counted twice"), size, share(rest as f64)]
            } else {
                vec![word("not accounted for"), size, share(rest as f64)]
            };
            grid.push(Kind::Row, cells);
        }
        Err(why) => grid.push(Kind::Row, vec![word("not accounted for"), bytes(Err(why), units)]),
    }
    let total = vec![
        word("MemTotal"),
        bytes(account.total, units),
        share(account.total.unwrap_or(0) as f64),
    ];
    grid.push(Kind::Totals, total);
    grid.push(
        Kind::Row,
        vec![
            word("outside it: kernel image, page structs, firmware"),
            bytes(account.reserved, units),
        ],
    );
    (grid, untold)
}
