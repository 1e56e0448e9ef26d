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

use super::MemReport;
use crate::account::{Part, overview, sum};
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
        let text = format!("not reported by this kernel: {}", unsupported.join("; "));
        write_wrapped(out, &text, mem.style.width)?;
    }
    write_tables(mem, out, details(mem))
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

/// Writes the cgroup that is shown, its limits, and the host's memory.
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
    fn bytes(&self, reading: Reading<u64>) -> Cell {
        value_cell(&Value::bytes(reading), self.style.units, 16)
    }

    /// Returns a cell of bytes that may be negative.
    fn signed_bytes(&self, reading: Reading<i64>) -> Cell {
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

/// Returns the tables below the account. Each row is a name, a figure and its meaning.
fn details(mem: &MemReport<'_>) -> impl Iterator<Item = TextTable> {
    let tables = [
        limits(mem),
        events(mem),
        Some(processes(mem)),
        shared(mem),
        huge_pools(mem),
        swap_owners(mem),
        reclaim(mem),
        pressure(mem),
        Some(others(mem)),
    ];
    tables.into_iter().flatten()
}

/// Returns the limits of a cgroup and of its parents that have one, or `None` for a machine.
fn limits(mem: &MemReport<'_>) -> Option<TextTable> {
    let scope = mem.snapshot.system.scope.as_deref()?;
    let figures = ["CHARGED", "MAX", "HIGH", "SWAP", "SWAP MAX"];
    let mut table = TextTable::titled(titles("LIMITS", figures));
    for level in &scope.levels {
        let limit = |limit: Reading<Option<u64>>| match limit {
            Ok(None) => word("max"),
            Ok(Some(limit)) => mem.bytes(Ok(limit)),
            Err(why) => mem.bytes(Err(why)),
        };
        table.push(&[
            word(safe(&level.path)),
            mem.bytes(level.current),
            limit(level.limit),
            limit(level.high),
            mem.bytes(level.swap),
            limit(level.swap_limit),
        ]);
    }
    (!scope.levels.is_empty()).then_some(table)
}

/// Returns the events of a cgroup that its kernel counts, or `None` for a machine.
fn events(mem: &MemReport<'_>) -> Option<TextTable> {
    let scope = mem.snapshot.system.scope.as_deref()?;
    let mut figures = Figures::new("EVENTS");
    let meanings = [
        "reclaimed below its protection",
        "throttled above the soft limit",
        "the limit was reached",
        "nothing more to reclaim",
        "processes killed",
        "killed as a whole",
    ];
    let mut is_any = false;
    for ((name, count), meaning) in scope.events.named().into_iter().zip(meanings) {
        if let Ok(count) = count {
            is_any = true;
            figures.push(name, word(count.to_string()), meaning);
        }
    }
    is_any.then_some(figures.0)
}

struct Figures(TextTable);

impl Figures {
    fn new(title: &'static str) -> Self {
        Self(TextTable::titled(titles(title, [""]).chain([("", Align::Left)])))
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
    let cache = "page cache, which USED above does not include";
    figures.push(
        "  of it files",
        mem.bytes(userland.memory.and_then(|m| m.pss_file)),
        cache,
    );
    figures.push(
        "sum of USS",
        mem.bytes(userland.memory.map(|m| m.uss())),
        "what each process would free if it alone ended",
    );
    let mapped = sum(system.anon_pages, system.mapped);
    figures.push(
        "AnonPages + Mapped",
        mem.bytes(mapped),
        "the memory that processes map, by the kernel's account",
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
    let titles = titles("SHARED MEMORY AND TMPFS", ["BYTES", "LIMIT"]);
    let mut table = TextTable::titled(titles.chain([("", Align::Left)]));
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
    let mut table = TextTable::titled(titles("HUGE PAGES OF", ["POOL", "FREE"]));
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
            "while the tasks wait (direct reclaim)",
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
            Ok(scan) => format!("of {} scanned, {note}", mem.bytes(Ok(scan)).text),
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
fn swap_owners(mem: &MemReport<'_>) -> Option<TextTable> {
    let (swap, system) = (&mem.swap, &mem.snapshot.system);
    if system.swap_total == Ok(0) {
        return None;
    }
    let mut figures = Figures::new("WHERE THE SWAP IS");
    let (readable, all, partial) = (mem.processes.readable, mem.processes.total, partial(mem));
    let count = format!("{readable} of {all} readable{partial}");
    figures.push("processes, sum of SwapPss", mem.bytes(swap.processes), count);
    let mut part = |name: &str, bytes: Reading<u64>, note: &str| {
        if bytes != Ok(0) && bytes != Err(Missing::Unsupported) {
            figures.push(name, mem.bytes(bytes), note);
        }
    };
    let shared = "VmSwap: shared memory counts for each process";
    part("processes that cannot be read", swap.unreadable, shared);
    part("System V segments", swap.sysv, "");
    part("files in tmpfs", swap.tmpfs, "at least");
    figures.push("swap cache", mem.bytes(swap.cache), "also in RAM; at most");
    let rest = match swap.rest {
        Ok(n) if n < 0 => "more than is used: the figures were read at different times",
        _ => "other shared memory, unreadable processes",
    };
    figures.push("the rest", mem.signed_bytes(swap.rest), rest);
    if let Ok(1..) = swap.mapped {
        figures.push("  mapped by processes", mem.bytes(swap.mapped), "at most");
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
    let mut table = TextTable::titled(titles("WAITING FOR MEMORY, %", ["10 s", "1 min", "5 min"]));
    for (name, [a, b, c]) in [("some task", pressure.some), ("every task", pressure.full)] {
        let percent = |x: f32| word(format!("{x:.2}"));
        table.push(&[word(name), percent(a), percent(b), percent(c)]);
    }
    Some(table)
}

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
    push("balloon", balloon, "returned to the hypervisor".into());
    if let Ok(sockets) = inputs.sockets {
        push(
            "socket buffers",
            Ok(sockets
                .tcp
                .saturating_add(sockets.udp)
                .saturating_add(sockets.fragments)),
            "in slab, or not accounted for".into(),
        );
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
