//! The lists below the account: a name, a figure, and what it means.

use super::Mem;
use super::text::bytes;
use crate::account::overview;
use crate::columns::Cell;
use crate::model::{Missing, Reading};
use crate::output::grid::{Grid, Kind, word};
use crate::text::{Align, safe};
use crate::units::Units;

fn list(title: &'static str) -> Grid {
    Grid::new([(title, Align::Left), ("", Align::Right), ("", Align::Left)])
}

fn signed(reading: Reading<i64>, units: Units) -> Cell {
    let size = bytes(reading.map(i64::unsigned_abs), units);
    match reading {
        Ok(n) if n < 0 => word(format!("-{}", size.text)),
        _ => size,
    }
}

/// What the processes say together, beside what the kernel says of them.
pub(super) fn processes(mem: &Mem<'_>, units: Units) -> Grid {
    let u = &mem.userland;
    let s = &mem.snapshot.system;
    let mut grid = list("PROCESSES");
    let count = format!("of {} of {} processes{}", u.readable, u.of, partial(mem));
    let mut push = |name: &str, cell: Cell, note: String| grid.push(Kind::Row, vec![word(name), cell, word(note)]);
    push("sum of PSS", bytes(u.pss, units), count);
    push(
        "sum of USS",
        bytes(u.uss, units),
        "what ending each would free at once".into(),
    );
    push(
        "AnonPages + Mapped",
        bytes(overview::sum(s.anon_pages, s.mapped), units),
        "what the kernel says processes map".into(),
    );
    grid
}

const fn partial(mem: &Mem<'_>) -> &'static str {
    if mem.userland.partial() { ", partial" } else { "" }
}

/// Who has the swap that is used; nothing where none is.
pub(super) fn swap(mem: &Mem<'_>, units: Units) -> Option<Grid> {
    let (a, s) = (&mem.swap, &mem.snapshot.system);
    if s.swap_total == Ok(0) {
        return None;
    }
    let mut grid = list("WHO HAS THE SWAP");
    let mut push = |kind, name: &str, cell: Cell, note: String| {
        grid.push(kind, vec![word(name), cell, word(note)]);
    };
    push(
        Kind::Row,
        "processes, sum of SwapPss",
        bytes(a.processes, units),
        format!(
            "{} of {} readable{}",
            mem.userland.readable,
            mem.userland.of,
            partial(mem)
        ),
    );
    push(
        Kind::Row,
        "swap cache",
        bytes(a.cache, units),
        "in RAM too; at the most".into(),
    );
    let rest = match a.rest {
        Ok(n) if n < 0 => "more than is used: the figures are of different moments",
        _ => "shared memory and tmpfs, and who cannot be read",
    };
    push(Kind::Row, "the rest", signed(a.rest, units), rest.into());
    push(Kind::Totals, "used", bytes(a.used, units), String::new());
    let zram = overview::swapped_to_zram(s);
    if zram != Ok(0) {
        push(Kind::Row, "of it on zram", bytes(zram, units), String::new());
    }
    if s.zswapped.is_ok_and(|n| n > 0) {
        push(Kind::Row, "of it in zswap", bytes(s.zswapped, units), String::new());
    }
    push(
        Kind::Row,
        "of it on disk",
        bytes(overview::swapped_to_disk(s), units),
        String::new(),
    );
    push(Kind::Row, "read back since boot", bytes(s.pswpin, units), String::new());
    push(Kind::Row, "written since boot", bytes(s.pswpout, units), String::new());
    Some(grid)
}

/// How much of the time tasks waited for memory; nothing where the kernel does not say.
pub(super) fn pressure(mem: &Mem<'_>) -> Option<Grid> {
    let p = mem.inputs.pressure.ok()?;
    let right = |title| (title, Align::Right);
    let titles = ["10 s", "1 min", "5 min"].map(right);
    let mut grid = Grid::new([("WAITING FOR MEMORY, %", Align::Left)].into_iter().chain(titles));
    for (name, values) in [("some task", p.some), ("every task", p.full)] {
        let cells = values.map(|x| word(format!("{x:.2}")));
        grid.push(Kind::Row, [word(name)].into_iter().chain(cells).collect());
    }
    Some(grid)
}

/// What else there is to know.
pub(super) fn rest(mem: &Mem<'_>, units: Units) -> Grid {
    let (s, inputs) = (&mem.snapshot.system, mem.inputs);
    let mut grid = list("ALSO");
    let mut push = |name: &str, reading: Reading<u64>, note: String| {
        if reading != Err(Missing::Unsupported) {
            grid.push(Kind::Row, vec![word(name), bytes(reading, units), word(note)]);
        }
    };
    push("dirty", s.dirty, "to be written to disk".into());
    push("write-back", s.writeback, "being written".into());
    let limit = match (s.commit_limit, s.committed) {
        (Ok(limit), Ok(now)) if limit > 0 => format!(
            "of a limit of {} ({:.0} %)",
            bytes(Ok(limit), units).text,
            100.0 * now as f64 / limit as f64
        ),
        _ => String::new(),
    };
    push("committed", s.committed, limit);
    push("locked", s.mlocked, String::new());
    let mode = inputs
        .thp
        .as_ref()
        .map(|m| format!("mode {}", safe(m.as_bytes())))
        .unwrap_or_default();
    push("huge pages of anonymous memory", s.anon_huge, mode);
    push("huge pages of shared memory", s.shmem_huge, String::new());
    push("huge pages of files", s.file_huge, String::new());
    push(
        "balloon",
        s.balloon.and_then(some),
        "handed back to the machine below".into(),
    );
    if let Ok(ksm) = inputs.ksm
        && (ksm.on || ksm.saved > 0)
    {
        let note = format!("saved by {} of merged pages", bytes(Ok(ksm.shared), units).text);
        push("KSM", Ok(ksm.saved), note);
    }
    if let Some((limit, own)) = mem.snapshot.system.container() {
        let note = format!("of a limit of {}", bytes(Ok(limit), units).text);
        push("this cgroup", own.current, note);
    }
    grid
}

/// Nothing is not worth a line.
const fn some(n: u64) -> Reading<u64> {
    if n == 0 { Err(Missing::Unsupported) } else { Ok(n) }
}
