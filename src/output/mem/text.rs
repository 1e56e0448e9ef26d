//! The account as text: several tables.
//!
//! ```text
//!       TOTAL   USED   FREE  SHARED  CACHE  AVAILABLE
//! RAM   23.5G   1.1G   8.3G    8.6M  15.0G      22.4G
//! swap   1.0G   120M   904M       0   4.1M       904M
//! both  24.5G   1.2G   9.2G    8.6M  15.0G      23.3G
//!
//! COMPRESSED  STORED  SAME-FILLED  IN RAM  RATIO  LIMIT  ON DISK  SIZE
//! zram0         120M         2.0M   40.1M   3.0x   none        -  1.0G
//!
//! WHERE THE RAM IS              BYTES      %
//! anonymous memory of processes  1.0G    4.3
//! …
//! not accounted for               80M    0.3
//! MemTotal                      23.5G  100.0
//! ```

use std::io::{self, Write};

use super::{MemReport, details};
use crate::account::{Part, overview};
use crate::columns::{Cell, Value};
use crate::model::system::{Scope, ScopeKind};
use crate::model::{Missing, Reading};
use crate::output::text_table::{TextTable, value_cell, word};
use crate::text::{Align, safe};
use crate::units::counted;

pub(super) fn write(mem: &MemReport<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (account, unsupported) = account(mem);
    totals(mem).write(out, &mem.style)?;
    let formula = overview::available_formula(&mem.snapshot.system);
    if let Some(scope) = &mem.snapshot.system.scope {
        write_scope(mem, scope, out)?;
    } else if formula != "MemAvailable" {
        let formula = formula.replace('−', "-");
        let text = format!("AVAILABLE = {formula}; USED = MemTotal - AVAILABLE");
        write_wrapped(out, &text, mem.style.width)?;
    }
    let upper = [compressed(mem), swap_areas(mem), Some(account)];
    write_tables(mem, out, upper.into_iter().flatten())?;
    if !unsupported.is_empty() {
        let text = format!("not told by this kernel: {}", unsupported.join("; "));
        write_wrapped(out, &text, mem.style.width)?;
    }
    write_tables(mem, out, details::tables(mem))
}

fn write_tables(
    mem: &MemReport<'_>,
    out: &mut dyn Write,
    tables: impl IntoIterator<Item = TextTable>,
) -> io::Result<()> {
    tables.into_iter().try_for_each(|table| {
        writeln!(out)?;
        table.write(out, &mem.style)
    })
}

/// Writes whose memory is shown, its limits, and the host's memory.
fn write_scope(mem: &MemReport<'_>, scope: &Scope, out: &mut dyn Write) -> io::Result<()> {
    let bytes = |reading| mem.bytes(reading).text;
    let limit = |reading: Reading<Option<u64>>| match reading {
        Ok(Some(limit)) => bytes(Ok(limit)),
        Ok(None) => "none".into(),
        Err(why) => why.to_string(),
    };
    let whose = match scope.kind {
        ScopeKind::Container => "the container's cgroup",
        ScopeKind::Chosen => "cgroup",
    };
    writeln!(out, "{whose} {}", safe(&scope.path))?;
    let text = format!(
        "limit {}, soft limit {}, charged {}; the host: {} of {} used, {} available",
        limit(scope.limit),
        limit(scope.high),
        bytes(scope.current),
        bytes(scope.host_used()),
        bytes(scope.host_total),
        bytes(scope.host_available),
    );
    write_wrapped(out, &text, mem.style.width)
}

/// Writes zmtop's own ASCII text, wrapped.
fn write_wrapped(out: &mut dyn Write, text: &str, width: Option<usize>) -> io::Result<()> {
    // Limit lines to 100 columns, since longer ones are hard to read.
    let width = width.unwrap_or(100).min(100);
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            writeln!(out, "{}", &line[..line.len().min(width)])?;
            line = " ".into();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{}", &line[..line.len().min(width)])
}

impl MemReport<'_> {
    /// Returns a cell of bytes in the requested units.
    pub(super) fn bytes(&self, reading: Reading<u64>) -> Cell {
        value_cell(&Value::bytes(reading), self.style.units, 16)
    }

    /// Returns a cell of bytes that may be negative.
    pub(super) fn signed_bytes(&self, reading: Reading<i64>) -> Cell {
        let size = self.bytes(reading.map(i64::unsigned_abs));
        match reading {
            Ok(n) if n < 0 => word(format!("-{}", size.text)),
            _ => size,
        }
    }
}

/// Returns the titles of a column of names and of the right-aligned columns of figures after it.
fn titles<const N: usize>(
    name: &'static str,
    figures: [&'static str; N],
) -> impl Iterator<Item = (&'static str, Align)> {
    let figures = figures.map(|title| (title, Align::Right));
    [(name, Align::Left)].into_iter().chain(figures)
}

/// Returns RAM and swap, as `free` shows them.
fn totals(mem: &MemReport<'_>) -> TextTable {
    let figures = ["TOTAL", "USED", "FREE", "SHARED", "CACHE", "AVAILABLE"];
    let mut table = TextTable::titled(titles("", figures));
    let cells = |name: &str, line: &overview::OverviewRow| {
        let figures = [
            line.total,
            line.used,
            line.free,
            line.shared,
            line.cache,
            line.available,
        ];
        [word(name)]
            .into_iter()
            .chain(figures.map(|f| mem.bytes(f)))
            .collect::<Vec<_>>()
    };
    let system = &mem.snapshot.system;
    let (ram, swap) = (overview::ram(system), overview::swap(system));
    let is_cgroup = system.scope.is_some();
    table.push(&cells(if is_cgroup { "cgroup" } else { "RAM" }, &ram));
    table.push(&cells("swap", &swap));
    table.push_totals(&cells("both", &overview::both(&ram, &swap)), "");
    table
}

/// Returns zswap and zram, or `None` if there is neither.
fn compressed(mem: &MemReport<'_>) -> Option<TextTable> {
    let figures = ["STORED", "SAME-FILLED", "IN RAM", "RATIO", "LIMIT", "ON DISK", "SIZE"];
    let mut table = TextTable::titled(titles("COMPRESSED", figures));
    let mut any = false;
    for item in overview::compressed(&mem.snapshot.system, &mem.snapshot.accounting) {
        let is_zswap = &*item.name == "zswap";
        let idle = item.stored.unwrap_or(0) == 0;
        // Skip disabled zswap, and devices that never got a size.
        if idle && ((is_zswap && mem.snapshot.accounting.zswap_on != Ok(true)) || item.size == Ok(0)) {
            continue;
        }
        any = true;
        let ratio = match item.ratio() {
            Ok(Some(ratio)) => word(format!("{ratio:.1}x")),
            _ => mem.bytes(Err(Missing::Unsupported)),
        };
        table.push(&[
            word(safe(item.name.as_bytes())),
            mem.bytes(item.stored),
            mem.bytes(item.same_filled),
            mem.bytes(item.in_ram),
            ratio,
            match item.limit {
                Ok(None) => word("none"),
                Ok(Some(limit)) => mem.bytes(Ok(limit)),
                Err(why) => mem.bytes(Err(why)),
            },
            mem.bytes(item.on_disk),
            mem.bytes(item.size),
        ]);
    }
    any.then_some(table)
}

/// Returns the swap areas, or `None` if there are none.
fn swap_areas(mem: &MemReport<'_>) -> Option<TextTable> {
    let areas = mem.snapshot.system.swaps.as_deref().ok().filter(|a| !a.is_empty())?;
    let mut table = TextTable::titled([
        ("SWAP AREA", Align::Left),
        ("KIND", Align::Left),
        ("SIZE", Align::Right),
        ("USED", Align::Right),
        ("PRIORITY", Align::Right),
    ]);
    for area in areas {
        table.push(&[
            word(safe(&area.path)),
            word(safe(area.kind.as_bytes())),
            mem.bytes(Ok(area.size)),
            mem.bytes(Ok(area.used)),
            area.priority
                .map_or_else(|why| mem.bytes(Err(why)), |n| word(n.to_string())),
        ]);
    }
    Some(table)
}

/// Returns where the RAM is, without empty parts, and the names of the parts that this kernel does not report.
fn account(mem: &MemReport<'_>) -> (TextTable, Vec<&'static str>) {
    let account = &mem.account;
    let mut table = TextTable::titled(titles("WHERE THE RAM IS", ["BYTES", "%"]).chain([("", Align::Left)]));
    let share = |n: f64| match account.total {
        Ok(total) if total > 0 => word(format!("{:.1}", 100.0 * n / total as f64)),
        _ => word("-"),
    };
    let mut unsupported: Vec<&'static str> = Vec::new();
    let hidden = counted((mem.processes.total - mem.processes.readable) as u64, "process");
    let mut push = |part: &Part, indent: &str, whole: bool| match part.bytes {
        // Do not mention the ZFS cache on a machine without ZFS.
        Err(Missing::Unsupported) if whole && part.id != "arc" => unsupported.push(part.title),
        Ok(0) | Err(Missing::Unsupported) => {}
        reading => {
            let share = match reading {
                Ok(n) if whole => share(n as f64),
                _ => word(""),
            };
            let why = match (reading, part.bound) {
                (Err(why), _) => why.to_string(),
                (Ok(_), Some(bound)) => format!("{}: {hidden} could not be read", bound.words()),
                (Ok(_), None) => String::new(),
            };
            let name = word(format!("{indent}{}", part.title));
            table.push(&[name, mem.bytes(reading), share, word(why)]);
        }
    };
    for part in &account.parts {
        push(part, "", true);
        for inner in &part.within {
            push(inner, "  ", false);
        }
    }
    let size = mem.signed_bytes(account.rest);
    match account.rest {
        Ok(rest) if rest < 0 => table.push(&[word("counted twice"), size, share(rest as f64)]),
        Ok(rest) => table.push(&[word("not accounted for"), size, share(rest as f64)]),
        Err(_) => table.push(&[word("not accounted for"), size]),
    }
    let total = share(account.total.unwrap_or(0) as f64);
    table.push_totals(&[word(account.total_title), mem.bytes(account.total), total], "");
    if mem.snapshot.system.scope.is_none() {
        table.push(&[
            word("outside it: kernel image, page structs, firmware"),
            mem.bytes(account.reserved),
        ]);
    }
    (table, unsupported)
}
