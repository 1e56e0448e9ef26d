//! The tables below the account: a name, a figure, and what it means.

use super::MemReport;
use crate::account::overview;
use crate::columns::Cell;
use crate::model::{Missing, Reading};
use crate::output::text_table::{TextTable, word};
use crate::text::{Align, safe};

/// Returns the tables, from the top.
pub(super) fn tables(mem: &MemReport<'_>) -> impl Iterator<Item = TextTable> {
    let tables = [Some(processes(mem)), swap(mem), pressure(mem), Some(others(mem))];
    tables.into_iter().flatten()
}

/// A table of figures with notes.
struct Figures(TextTable);

impl Figures {
    fn new(title: &'static str) -> Self {
        let titles = [(title, Align::Left), ("", Align::Right), ("", Align::Left)];
        Self(TextTable::titled(titles))
    }

    fn push(&mut self, name: &str, figure: Cell, note: impl Into<String>) {
        self.0.push(&[word(name), figure, word(note)]);
    }
}

/// Returns the sums over processes, beside what the kernel says of them.
fn processes(mem: &MemReport<'_>) -> TextTable {
    let (userland, system) = (&mem.processes, &mem.snapshot.system);
    let mut figures = Figures::new("PROCESSES");
    let (readable, all, partial) = (userland.readable, userland.total, partial(mem));
    let count = format!("of {readable} of {all} processes{partial}");
    figures.push("sum of PSS", mem.bytes(userland.pss), count);
    figures.push(
        "sum of USS",
        mem.bytes(userland.uss),
        "what ending each would free at once",
    );
    let mapped = overview::sum(system.anon_pages, system.mapped);
    figures.push(
        "AnonPages + Mapped",
        mem.bytes(mapped),
        "what the kernel says processes map",
    );
    figures.0
}

const fn partial(mem: &MemReport<'_>) -> &'static str {
    if mem.processes.partial() { ", partial" } else { "" }
}

/// Returns the owners of the swap that is used; `None` where there is no swap.
fn swap(mem: &MemReport<'_>) -> Option<TextTable> {
    let (swap, system) = (&mem.swap, &mem.snapshot.system);
    if system.swap_total == Ok(0) {
        return None;
    }
    let mut figures = Figures::new("WHO HAS THE SWAP");
    let (readable, all, partial) = (mem.processes.readable, mem.processes.total, partial(mem));
    let count = format!("{readable} of {all} readable{partial}");
    figures.push("processes, sum of SwapPss", mem.bytes(swap.processes), count);
    figures.push("swap cache", mem.bytes(swap.cache), "in RAM too; at the most");
    let rest = match swap.rest {
        Ok(n) if n < 0 => "more than is used: the figures are of different moments",
        _ => "shared memory and tmpfs, and who cannot be read",
    };
    figures.push("the rest", mem.signed_bytes(swap.rest), rest);
    figures.0.push_totals(&[word("used"), mem.bytes(swap.used)], "");
    let zram = overview::swapped_to_zram(system);
    if zram != Ok(0) {
        figures.push("of it on zram", mem.bytes(zram), "");
    }
    if system.zswapped.is_ok_and(|n| n > 0) {
        figures.push("of it in zswap", mem.bytes(system.zswapped), "");
    }
    figures.push("of it on disk", mem.bytes(overview::swapped_to_disk(system)), "");
    figures.push("read back since boot", mem.bytes(system.pswpin), "");
    figures.push("written since boot", mem.bytes(system.pswpout), "");
    Some(figures.0)
}

/// Returns how much of the time tasks waited for memory; `None` where the kernel does not say.
fn pressure(mem: &MemReport<'_>) -> Option<TextTable> {
    let pressure = mem.inputs.pressure.ok()?;
    let mut table = TextTable::titled([
        ("WAITING FOR MEMORY, %", Align::Left),
        ("10 s", Align::Right),
        ("1 min", Align::Right),
        ("5 min", Align::Right),
    ]);
    for (name, [a, b, c]) in [("some task", pressure.some), ("every task", pressure.full)] {
        let percent = |x: f32| word(format!("{x:.2}"));
        table.push(&[word(name), percent(a), percent(b), percent(c)]);
    }
    Some(table)
}

/// Returns the other figures, without those that this kernel does not have.
fn others(mem: &MemReport<'_>) -> TextTable {
    let (system, inputs) = (&mem.snapshot.system, mem.inputs);
    let mut figures = Figures::new("ALSO");
    let mut push = |name: &str, reading: Reading<u64>, note: String| {
        if reading != Err(Missing::Unsupported) {
            figures.push(name, mem.bytes(reading), note);
        }
    };
    push("dirty", system.dirty, "to be written to disk".into());
    push("write-back", system.writeback, "being written".into());
    let limit = match (system.commit_limit, system.committed) {
        (Ok(limit), Ok(now)) if limit > 0 => format!(
            "of a limit of {} ({:.0} %)",
            mem.bytes(Ok(limit)).text,
            100.0 * now as f64 / limit as f64
        ),
        _ => String::new(),
    };
    push("committed", system.committed, limit);
    push("locked", system.mlocked, String::new());
    let mode = inputs
        .thp
        .as_ref()
        .map(|m| format!("mode {}", safe(m.as_bytes())))
        .unwrap_or_default();
    push("huge pages of anonymous memory", system.anon_huge, mode);
    push("huge pages of shared memory", system.shmem_huge, String::new());
    push("huge pages of files", system.file_huge, String::new());
    // A balloon that took nothing is not worth a line.
    let balloon = system
        .balloon
        .and_then(|n| if n == 0 { Err(Missing::Unsupported) } else { Ok(n) });
    push("balloon", balloon, "handed back to the machine below".into());
    if let Ok(ksm) = inputs.ksm
        && (ksm.on || ksm.saved > 0)
    {
        let note = format!("saved by {} of merged pages", mem.bytes(Ok(ksm.shared)).text);
        push("KSM", Ok(ksm.saved), note);
    }
    if let Some((limit, own)) = system.container() {
        let note = format!("of a limit of {}", mem.bytes(Ok(limit)).text);
        push("this cgroup", own.current, note);
    }
    figures.0
}
