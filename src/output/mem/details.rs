//! The tables below the account. Each row is a name, a figure and its meaning.

use super::MemReport;
use crate::account::{overview, sum};
use crate::columns::Cell;
use crate::model::{Missing, Reading};
use crate::output::text_table::{TextTable, word};
use crate::text::{Align, safe};

/// Returns the tables from top to bottom.
pub(super) fn tables(mem: &MemReport<'_>) -> impl Iterator<Item = TextTable> {
    let tables = [
        Some(processes(mem)),
        shared(mem),
        huge_pools(mem),
        swap(mem),
        reclaim(mem),
        pressure(mem),
        Some(others(mem)),
    ];
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

/// Returns the sums over processes, next to the kernel's figures.
fn processes(mem: &MemReport<'_>) -> TextTable {
    let (userland, system) = (&mem.processes, &mem.snapshot.system);
    let mut figures = Figures::new("PROCESSES");
    let (readable, all, partial) = (userland.readable, userland.total, partial(mem));
    let count = format!("of {readable} of {all} processes{partial}");
    figures.push("sum of PSS", mem.bytes(userland.memory.map(|m| m.pss)), count);
    // By this amount the sum exceeds what is used.
    let cache = "page cache, which USED above leaves out";
    figures.push(
        "  of it files",
        mem.bytes(userland.memory.and_then(|m| m.pss_file)),
        cache,
    );
    figures.push(
        "sum of USS",
        mem.bytes(userland.memory.map(|m| m.uss())),
        "what ending each would free at once",
    );
    let mapped = sum(system.anon_pages, system.mapped);
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

/// Maximum number of in-memory file systems with a line of their own.
const MAX_MOUNTS: usize = 12;

/// Returns shared memory and tmpfs by mount, or `None` if nothing is known.
fn shared(mem: &MemReport<'_>) -> Option<TextTable> {
    let shmem = &mem.shmem;
    let mut table = TextTable::titled([
        ("SHARED MEMORY AND TMPFS", Align::Left),
        ("BYTES", Align::Right),
        ("LIMIT", Align::Right),
        ("", Align::Left),
    ]);
    let none = || word("");
    match &shmem.mounts {
        Err(Missing::Unsupported) if shmem.sysv.is_err() => return None,
        Err(why) => table.push(&[word("tmpfs"), mem.bytes(Err(*why)), none(), word(why.to_string())]),
        Ok(mounts) => {
            // Omit empty file systems. File systems without figures may be hidden by other mounts.
            let telling = mounts
                .iter()
                .filter(|mount| !matches!(mount.used, Ok(0) | Err(Missing::Unsupported)));
            let (mut count, mut others) = (0, 0_u64);
            for (at, mount) in telling.enumerate() {
                if at >= MAX_MOUNTS {
                    count += 1;
                    others = others.saturating_add(mount.used.unwrap_or(0));
                    continue;
                }
                let why = mount.used.err().map(|why| why.to_string()).unwrap_or_default();
                let (used, size) = (mem.bytes(mount.used), mem.bytes(mount.size));
                table.push(&[word(safe(&mount.path)), used, size, word(why)]);
            }
            if count > 0 {
                table.push(&[word(format!("{count} others")), mem.bytes(Ok(others)), none(), none()]);
            }
        }
    }
    if let Ok(sysv) = shmem.sysv
        && sysv.segments > 0
    {
        let swapped = match sysv.swapped {
            0 => String::new(),
            swapped => format!("and {} in swap", mem.bytes(Ok(swapped)).text),
        };
        let resident = mem.bytes(Ok(sysv.resident));
        table.push(&[word("System V segments"), resident, none(), word(swapped)]);
    }
    let elsewhere = "memfd, shared anonymous, graphics, unseen mounts";
    table.push(&[word("elsewhere"), mem.bytes(shmem.elsewhere), none(), word(elsewhere)]);
    if let Ok(swapped @ 1..) = shmem.swapped {
        let name = word("of it in swap, at least");
        table.push(&[name, mem.bytes(Ok(swapped)), none(), none()]);
    }
    table.push_totals(&[word("Shmem"), mem.bytes(shmem.total)], "");
    Some(table)
}

/// Returns the pools of huge pages, or `None` if all are empty.
fn huge_pools(mem: &MemReport<'_>) -> Option<TextTable> {
    let pools = mem.snapshot.accounting.huge.as_deref().ok()?;
    let mut table = TextTable::titled([
        ("HUGE PAGES OF", Align::Left),
        ("POOL", Align::Right),
        ("FREE", Align::Right),
    ]);
    for pool in pools.iter().filter(|pool| pool.total > 0) {
        let [page, total, free] = [pool.page, pool.total, pool.free].map(|n| mem.bytes(Ok(n)));
        table.push(&[word(page.text), total, free]);
    }
    pools.iter().any(|pool| pool.total > 0).then_some(table)
}

/// Returns the memory reclaimed since boot, or `None` if the kernel does not report it.
fn reclaim(mem: &MemReport<'_>) -> Option<TextTable> {
    let s = &mem.snapshot.system;
    let rows = [
        ("by kswapd", s.steal_kswapd, s.scan_kswapd, "in the background"),
        (
            "by tasks",
            s.steal_direct,
            s.scan_direct,
            "which had to wait for it (direct reclaim)",
        ),
    ];
    let refaults = [
        ("anonymous", s.refault_anon, "read back from swap soon after"),
        ("files", s.refault_file, "read again soon after"),
    ];
    if rows.iter().all(|row| row.1.is_err()) {
        return None;
    }
    let mut figures = Figures::new("RECLAIMED SINCE BOOT");
    for (name, steal, scan, note) in rows {
        let note = match scan {
            Ok(scan) => format!("of {} looked at, {note}", mem.bytes(Ok(scan)).text),
            Err(_) => note.to_owned(),
        };
        figures.push(name, mem.bytes(steal), note);
    }
    for (name, refault, note) in refaults {
        figures.push(&format!("refaults, {name}"), mem.bytes(refault), note);
    }
    if let Ok(kills) = s.oom_kill {
        figures.push(
            "OOM kills",
            word(kills.to_string()),
            "processes killed for lack of memory",
        );
    }
    Some(figures.0)
}

/// Returns the owners of the used swap, or `None` if there is no swap.
fn swap(mem: &MemReport<'_>) -> Option<TextTable> {
    let (swap, system) = (&mem.swap, &mem.snapshot.system);
    if system.swap_total == Ok(0) {
        return None;
    }
    let mut figures = Figures::new("WHO HAS THE SWAP");
    let (readable, all, partial) = (mem.processes.readable, mem.processes.total, partial(mem));
    let count = format!("{readable} of {all} readable{partial}");
    figures.push("processes, sum of SwapPss", mem.bytes(swap.processes), count);
    let mut part = |name: &str, bytes: Reading<u64>, note: &str| {
        if bytes != Ok(0) && bytes != Err(Missing::Unsupported) {
            figures.push(name, mem.bytes(bytes), note);
        }
    };
    let shared = "VmSwap: what they share counts for each";
    part("processes that cannot be read", swap.unreadable, shared);
    part("System V segments", swap.sysv, "");
    part("files in tmpfs", swap.tmpfs, "at the least");
    figures.push("swap cache", mem.bytes(swap.cache), "in RAM too; at the most");
    let rest = match swap.rest {
        Ok(n) if n < 0 => "more than is used: the figures are of different moments",
        _ => "other shared memory, and who cannot be read",
    };
    figures.push("the rest", mem.signed_bytes(swap.rest), rest);
    if let Ok(1..) = swap.mapped {
        figures.push("  mapped by processes", mem.bytes(swap.mapped), "at the most");
    }
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
    if system.zswap_written.is_ok_and(|n| n > 0) {
        figures.push("written back by zswap since boot", mem.bytes(system.zswap_written), "");
    }
    Some(figures.0)
}

/// Returns how much of the time tasks waited for memory, or `None` if the kernel does not report it.
fn pressure(mem: &MemReport<'_>) -> Option<TextTable> {
    let pressure = mem.snapshot.accounting.pressure.ok()?;
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

/// Returns the other figures that this kernel reports.
fn others(mem: &MemReport<'_>) -> TextTable {
    let (system, inputs) = (&mem.snapshot.system, &*mem.snapshot.accounting);
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
    // Omit a balloon that took nothing.
    let balloon = system
        .ballooned()
        .and_then(|n| if n == 0 { Err(Missing::Unsupported) } else { Ok(n) });
    push("balloon", balloon, "handed back to the machine below".into());
    if let Ok(sockets) = inputs.sockets {
        let buffers = sockets
            .tcp
            .saturating_add(sockets.udp)
            .saturating_add(sockets.fragments);
        push("socket buffers", Ok(buffers), "in slab, or not accounted for".into());
    }
    if let Ok(ksm) = inputs.ksm
        && (ksm.on || ksm.saved > 0)
    {
        let note = format!("saved by {} of merged pages", mem.bytes(Ok(ksm.shared)).text);
        push("KSM", Ok(ksm.saved), note);
    }
    if let Some((limit, own)) = system.own_limit().filter(|_| system.scope.is_none()) {
        let note = format!("of a limit of {}", mem.bytes(Ok(limit)).text);
        push("this cgroup", own.current, note);
    }
    figures.0
}
