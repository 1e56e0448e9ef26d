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
use crate::history::RowHistory;
use crate::model::system::Pressure;
use crate::model::{Missing, Reading, Snapshot};
use crate::text::{self, Align, fit};
use crate::trend::Verdict;
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

    fn height(&self) -> u16 {
        self.lines.len() as u16 + 1
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

/// Sections with their places, in columns from the left to the right.
pub(super) struct Placed<'a> {
    /// Each with its column, and the number of lines above it.
    sections: Vec<(Section<'a>, u16, u16)>,
    /// The width of a column, and the lines of the highest one.
    width: u16,
    pub(super) height: u16,
}

impl<'a> Placed<'a> {
    /// Places sections in columns of `room` lines, or of as many as they need. Leaves out those without lines: there is nothing
    /// of the kind on this machine.
    pub(super) fn new(sections: Vec<Section<'a>>, width: u16, room: u16) -> Self {
        let columns = ((width + GAP) / (WIDTH + GAP)).max(1);
        let mut sections: Vec<_> = sections
            .into_iter()
            .filter(|section| !section.lines.is_empty())
            .collect();
        let most = sections.iter().map(Section::height).sum::<u16>() + sections.len() as u16;
        let fits = |room: &u16| {
            places(&sections, *room)
                .last()
                .is_none_or(|(column, _)| column < columns)
        };
        let room = (room.min(most)..most).find(fits).unwrap_or(most);
        let places: Vec<_> = places(&sections, room).collect();
        let placed = sections.drain(..).zip(places);
        let sections: Vec<_> = placed.map(|(section, (column, y))| (section, column, y)).collect();
        let ends = sections.iter().map(|(section, _, y)| y + section.height());
        Self {
            width: ((width + GAP) / columns).saturating_sub(GAP),
            height: ends.max().unwrap_or(0),
            sections,
        }
    }

    /// Draws the lines from `skip` on that are in the area.
    pub(super) fn draw(&self, app: &App, skip: u16, area: Rect, buf: &mut Buffer) {
        if area.is_empty() || area.width < 20 {
            return;
        }
        let theme = &app.config.theme;
        for (section, column, top) in &self.sections {
            let place = Rect {
                x: area.x + column * (self.width + GAP),
                width: self.width,
                ..area
            };
            let mut draw = |at: u16, text: &str, style| {
                if let Some(y) = (top + at).checked_sub(skip).filter(|y| *y < area.height) {
                    draw_line(buf, line(place, y), text, style);
                }
            };
            draw(0, &format!(" {}", section.title), theme.title);
            for ((y, at), (name, figures)) in (1..).zip(0..).zip(&section.lines) {
                let style = if section.alarm.is_some_and(|from| at >= from) {
                    theme.warning
                } else {
                    theme.text
                };
                let room = usize::from(self.width.saturating_sub(2)).saturating_sub(text::width(figures));
                let name = fit(name, room, Align::Left);
                draw(y, &format!(" {name}{figures}"), style);
            }
        }
    }
}

/// Returns the column of each section and the number of lines above it. A section that does not fit below the one before begins
/// the next column.
fn places(sections: &[Section<'_>], room: u16) -> impl Iterator<Item = (u16, u16)> {
    let (mut column, mut y) = (0, 0);
    sections.iter().map(move |section| {
        if y > 0 && y + section.height() > room {
            (column, y) = (column + 1, 0);
        }
        let place = (column, y);
        y += section.height() + 1;
        place
    })
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
    section.bytes("swap cache, also in RAM", account.cache);
    section.nonzero("processes that cannot be read", account.unreadable);
    section.nonzero("System V segments", account.sysv);
    section.nonzero("files of tmpfs, at least", account.tmpfs);
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
        let trend = app.engine.history.mounts().get(&mount.path).map(RowHistory::trend);
        let trend = trend.filter(|judged| judged.verdict >= Verdict::Growing);
        let pace = trend.map_or_else(String::new, |judged| {
            let mark = if judged.verdict == Verdict::Leaking {
                "leak "
            } else {
                ""
            };
            format!("{mark}{}  ", units::pace(judged.slope))
        });
        let used = bytes(app, mount.used) + &limit;
        let room = MOUNT_WIDTH.saturating_sub(text::width(&pace));
        let name = text::truncate_start(&text::safe(&mount.path), room);
        section.push(name, pace + &used);
    }
    section.nonzero("System V segments", account.sysv.map(|sysv| sysv.resident));
    section.nonzero("memfd, shared anonymous, graphics", account.elsewhere);
    section
}

/// Returns the lines about reclaim: the kernel's reaction to a lack of memory.
fn reclaim<'a>(app: &'a App, snapshot: &Snapshot) -> Section<'a> {
    let mut section = Section::new(app, "RECLAIM");
    let history = app.engine.history.system();
    let system = &snapshot.system;
    let per_second = |rate: Option<String>, total: Reading<u64>| match rate {
        Some(rate) => format!("{rate}/s"),
        None => total.err().unwrap_or(Missing::Pending).to_string(),
    };
    let flow = |rate: Option<f64>, total| {
        let rate = rate.map(|rate| match units::bytes(rate as u64, app.screen.units) {
            bytes if bytes.ends_with(|c: char| c.is_ascii_digit()) => format!("{bytes}B"),
            bytes => bytes,
        });
        per_second(rate, total)
    };
    section.push("read from swap", flow(history.swap_in, system.pswpin));
    section.push("written to swap", flow(history.swap_out, system.pswpout));
    let faults = history.majfault.map(|rate| format!("{rate:.1} faults"));
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
            Err(Missing::Denied) => "not visible: needs root".into(),
            Err(why) => format!("not visible: {why}"),
        };
        section.push(format!("kills by {name}"), state);
    }
    let history = &app.engine.history;
    for kill in history.kills().take(MAX_KILLS) {
        let text = kill.text(MOUNT_WIDTH, app.screen.units);
        let ago = units::span(history.elapsed_since(kill.at));
        let held = kill.held().map_or(String::new(), |held| bytes(app, Ok(held)));
        section.push(format!("  killed {}", text.victim), format!("{held} {ago} ago"));
        if kill.event.daemon.is_some() {
            section.push(format!("    by {}", text.by), String::new());
        }
        section.push(format!("    {}{}", text.reason, text.limit), String::new());
        let tables = text.page_tables.replacen(" and", "had", 1);
        for text in [tables, text.group, format!("{}{}", text.grower, text.growth)] {
            let text = text.trim_start_matches([',', ';', ' ']);
            if !text.is_empty() {
                section.push(format!("    {text}"), String::new());
            }
        }
    }
    section
}
