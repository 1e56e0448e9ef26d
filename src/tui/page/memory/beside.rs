//! The figures beside the account of the RAM: swap, compressed pages, memory pressure, reclaim, and shared memory.
//!
//! ```text
//!  SWAP  120M of 1.0G                    WAITING FOR MEMORY   10 s  1 min  5 min
//!  processes              80M            some task            0.0    0.1    0.0
//!  swap cache            4.1M            every task           0.0    0.0    0.0
//!  the rest               36M
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::account::{ProcessTotals, overview, swap};
use crate::model::system::Pressure;
use crate::model::{Missing, Reading, Snapshot};
use crate::text::{self, Align, fit};
use crate::tui::app::App;
use crate::tui::widgets::{draw_line, line};
use crate::units;

/// The width of a section, and the gap between two.
const WIDTH: u16 = 50;
const GAP: u16 = 2;

/// Maximum number of lines about file systems, and number of killed processes.
const MAX_MOUNTS: usize = 6;
const MAX_KILLS: usize = 3;
/// Maximum width of the path of a file system.
const MOUNT_WIDTH: usize = 30;

/// Lines under a title: a name, and figures at the right.
pub(super) struct Section<'a> {
    app: &'a App,
    title: String,
    lines: Vec<(String, String)>,
    /// The index from which the lines are warnings.
    alarm: Option<usize>,
}

impl<'a> Section<'a> {
    pub(super) fn new(app: &'a App, title: impl Into<String>) -> Self {
        let (title, lines, alarm) = (title.into(), Vec::new(), None);
        Self {
            app,
            title,
            lines,
            alarm,
        }
    }

    pub(super) fn push(&mut self, name: impl Into<String>, figures: String) {
        self.lines.push((name.into(), figures));
    }

    pub(super) fn bytes(&mut self, name: &str, n: Reading<u64>) {
        self.push(name, bytes(self.app, n));
    }

    /// Adds a figure that is known and not 0.
    pub(super) fn nonzero(&mut self, name: &str, n: Reading<u64>) {
        if n.is_ok_and(|n| n > 0) {
            self.bytes(name, n);
        }
    }
}

/// Draws the sections that fit, in columns from the left to the right.
pub(super) fn draw<'a>(app: &App, sections: impl IntoIterator<Item = Section<'a>>, area: Rect, buf: &mut Buffer) {
    if area.height < 2 || area.width < 20 {
        return;
    }
    let theme = &app.config.theme;
    let columns = ((area.width + GAP) / (WIDTH + GAP)).max(1);
    let width = (area.width + GAP) / columns - GAP;
    let mut place = Rect { width, ..area };
    // Without lines there is nothing of the kind on this machine.
    let sections = sections.into_iter().filter(|section| !section.lines.is_empty());
    for section in sections {
        let height = section.lines.len() as u16 + 1;
        // A section that does not fit begins the next column; one that fits nowhere is cut.
        if place.height < height && place.y > area.y {
            place = Rect {
                x: place.x + width + GAP,
                width,
                ..area
            };
        }
        if place.right() > area.right() {
            return;
        }
        draw_line(buf, place, &format!(" {}", section.title), theme.title);
        for ((y, at), (name, figures)) in (1..place.height).zip(0..).zip(&section.lines) {
            let style = if section.alarm.is_some_and(|from| at >= from) {
                theme.warning
            } else {
                theme.text
            };
            let room = usize::from(width.saturating_sub(2)).saturating_sub(text::width(figures));
            let name = fit(name, room, Align::Left);
            draw_line(buf, line(place, y), &format!(" {name}{figures}"), style);
        }
        let used = (height + 1).min(place.height);
        place.y += used;
        place.height -= used;
    }
}

pub(super) fn sections<'a>(app: &'a App, snapshot: &Snapshot, totals: &ProcessTotals) -> [Section<'a>; 5] {
    [
        swap_section(app, snapshot, totals),
        compressed(app, snapshot),
        pressure(app, snapshot.accounting.pressure),
        reclaim(app, snapshot),
        shared(app, snapshot),
    ]
}

fn bytes(app: &App, reading: Reading<u64>) -> String {
    match reading {
        Ok(n) => units::bytes(n, app.screen.units),
        Err(Missing::Unsupported) => "-".into(),
        Err(why) => why.to_string(),
    }
}

/// Returns the owners of the used swap.
fn swap_section<'a>(app: &'a App, snapshot: &Snapshot, totals: &ProcessTotals) -> Section<'a> {
    let system = &snapshot.system;
    let shmem = swap::shmem(system, &snapshot.accounting);
    let account = swap::account(system, totals, &shmem);
    let (used, total) = (bytes(app, account.used), bytes(app, system.swap_total));
    let mut section = Section::new(app, format!("SWAP  {used} of {total}"));
    if system.swap_total == Ok(0) {
        return section;
    }
    section.bytes("processes, sum of SwapPss", account.processes);
    section.bytes("swap cache, in RAM too", account.cache);
    section.nonzero("processes that cannot be read", account.unreadable);
    section.nonzero("System V segments", account.sysv);
    section.nonzero("files of tmpfs, at the least", account.tmpfs);
    let rest = account.rest.map(|rest| u64::try_from(rest).unwrap_or(0));
    section.bytes("the rest: other shared memory", rest);
    section.nonzero("of it on zram", overview::swapped_to_zram(system));
    section.nonzero("of it in zswap", system.zswapped);
    section.bytes("of it on disk", overview::swapped_to_disk(system));
    section
}

/// Returns zswap and the zram devices that store anything.
fn compressed<'a>(app: &'a App, snapshot: &Snapshot) -> Section<'a> {
    let mut section = Section::new(app, "COMPRESSED: stored, in RAM, ratio");
    let pools = overview::compressed(&snapshot.system, &snapshot.accounting);
    for pool in pools.iter().filter(|pool| pool.stored.is_ok_and(|n| n > 0)) {
        let ratio = match pool.ratio() {
            Ok(Some(ratio)) => format!("{ratio:.1}x"),
            _ => String::new(),
        };
        let (stored, in_ram) = (bytes(app, pool.stored), bytes(app, pool.in_ram));
        section.push(
            text::safe(pool.name.as_bytes()),
            format!("{stored:>6} {in_ram:>6} {ratio:>5}"),
        );
    }
    section
}

/// Returns how much of the time tasks waited for memory, if the kernel reports it.
pub(super) fn pressure(app: &App, pressure: Reading<Pressure>) -> Section<'_> {
    let mut section = Section::new(app, "WAITING FOR MEMORY, % of 10 s, 1 min, 5 min");
    if let Ok(pressure) = pressure {
        for (name, [a, b, c]) in [("some task", pressure.some), ("every task", pressure.full)] {
            section.push(name, format!("{a:>6.1} {b:>6.1} {c:>6.1}"));
        }
    }
    section
}

/// Returns shared memory and tmpfs by owner, the largest first.
fn shared<'a>(app: &'a App, snapshot: &Snapshot) -> Section<'a> {
    let account = swap::shmem(&snapshot.system, &snapshot.accounting);
    let mut section = Section::new(app, format!("SHARED MEMORY AND TMPFS  {}", bytes(app, account.total)));
    let mounts = account.mounts.as_deref().unwrap_or_default().iter();
    let mounts = mounts.filter(|mount| !matches!(mount.used, Ok(0) | Err(Missing::Unsupported)));
    for mount in mounts.take(MAX_MOUNTS) {
        let limit = match mount.size {
            Ok(size) => format!(" of {:>5}", units::bytes(size, app.screen.units)),
            Err(_) => String::new(),
        };
        let name = text::truncate_start(&text::safe(&mount.path), MOUNT_WIDTH);
        section.push(name, bytes(app, mount.used) + &limit);
    }
    section.nonzero("System V segments", account.sysv.map(|sysv| sysv.resident));
    section.nonzero("memfd, shared anonymous, graphics", account.elsewhere);
    section
}

/// Returns what the kernel does against a lack of memory.
fn reclaim<'a>(app: &'a App, snapshot: &Snapshot) -> Section<'a> {
    let mut section = Section::new(app, "RECLAIM");
    let history = app.engine.history.system();
    let system = &snapshot.system;
    let per_second = |rate: Option<String>, total: Reading<u64>| match rate {
        Some(rate) => format!("{rate}/s"),
        None => total.err().unwrap_or(Missing::Pending).to_string(),
    };
    let flow = |rate: Option<f64>, total| {
        let rate = rate.map(|rate| units::bytes(rate as u64, app.screen.units));
        per_second(rate, total)
    };
    section.push("read from swap", flow(history.swap_in, system.pswpin));
    section.push("written to swap", flow(history.swap_out, system.pswpout));
    let faults = history.majfault.map(|rate| format!("{rate:.1}"));
    section.push("major faults", per_second(faults, system.pgmajfault));
    for (name, rate, total) in [
        ("reclaimed by kswapd", history.steal_kswapd, system.steal_kswapd),
        (
            "reclaimed by waiting tasks (direct)",
            history.steal_direct,
            system.steal_direct,
        ),
        (
            "refaults of anonymous memory",
            history.refault_anon,
            system.refault_anon,
        ),
        ("refaults of files", history.refault_file, system.refault_file),
    ] {
        if total != Err(Missing::Unsupported) {
            section.push(name, flow(rate, total));
        }
    }
    if let Ok(kills) = system.oom_kill {
        section.alarm = (kills > 0).then_some(section.lines.len());
        section.push("OOM kills since boot", kills.to_string());
    }
    for (name, state) in &*snapshot.killers {
        let state = match state {
            Ok(()) => "watched".into(),
            Err(Missing::Denied) => "not seen: only root may".into(),
            Err(why) => format!("not seen: {why}"),
        };
        section.push(format!("kills by {name}"), state);
    }
    let history = &app.engine.history;
    for kill in history.kills().take(MAX_KILLS) {
        let told = kill.text(MOUNT_WIDTH, app.screen.units);
        let ago = units::span(history.elapsed_since(kill.at));
        let held = kill.held().map_or(String::new(), |held| bytes(app, Ok(held)));
        section.push(format!("  killed {}", told.victim), format!("{held} {ago} ago"));
        if kill.event.daemon.is_some() {
            section.push(format!("    by {}", told.by), String::new());
        }
        section.push(format!("    {}{}", told.reason, told.limit), String::new());
        for text in [told.group, format!("{}{}", told.grower, told.growth)] {
            let text = text.trim_start_matches([',', ';', ' ']);
            if !text.is_empty() {
                section.push(format!("    {text}"), String::new());
            }
        }
    }
    section
}
