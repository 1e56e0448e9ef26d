//! The figures beside the account of the RAM: swap, compressed pages, waiting for memory, and what the kernel does about it.
//!
//! ```text
//!  SWAP  120M of 1.0G                    WAITING FOR MEMORY   10 s  1 min  5 min
//!  processes              80M            some task            0.0    0.1    0.0
//!  swap cache            4.1M            every task           0.0    0.0    0.0
//!  the rest               36M
//! ```

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::account::{ProcessTotals, overview, swap};
use crate::model::{Missing, Reading, Snapshot};
use crate::text::{self, Align, fit};
use crate::tui::app::App;
use crate::tui::widgets::{draw_line, line};
use crate::units;

/// The width of a section, and the columns between two.
const WIDTH: u16 = 50;
const GAP: u16 = 2;

/// File systems, and processes that were killed, that get a line.
const MAX_MOUNTS: usize = 6;
const MAX_KILLS: usize = 3;
/// The width of the path of a file system.
const MOUNT_WIDTH: usize = 30;

/// Lines under a title: a name, and figures that stand on the right.
struct Section {
    title: String,
    lines: Vec<(String, String)>,
    /// The first of the last lines that nobody should overlook.
    alarm: Option<usize>,
}

/// Draws as many sections as there is room for, from the top to the bottom and from the left to the right.
pub(super) fn draw(app: &App, snapshot: &Snapshot, totals: &ProcessTotals, area: Rect, buf: &mut Buffer) {
    if area.height < 2 || area.width < 20 {
        return;
    }
    let theme = &app.config.theme;
    let columns = ((area.width + GAP) / (WIDTH + GAP)).max(1);
    let width = (area.width + GAP) / columns - GAP;
    let mut place = Rect { width, ..area };
    for section in sections(app, snapshot, totals) {
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
            draw_line(
                buf,
                Rect {
                    width,
                    ..line(place, y)
                },
                &format!(" {name}{figures}"),
                style,
            );
        }
        let used = (height + 1).min(place.height);
        place.y += used;
        place.height -= used;
    }
}

fn sections(app: &App, snapshot: &Snapshot, totals: &ProcessTotals) -> Vec<Section> {
    let all = [
        swap_section(app, snapshot, totals),
        compressed(app, snapshot),
        pressure(snapshot),
        Some(activity(app, snapshot)),
        shared(app, snapshot),
    ];
    all.into_iter().flatten().collect()
}

fn bytes(app: &App, reading: Reading<u64>) -> String {
    match reading {
        Ok(n) => units::bytes(n, app.screen.units),
        Err(Missing::Unsupported) => "-".into(),
        Err(why) => why.to_string(),
    }
}

/// Returns the owners of the swap that is used; `None` where there is no swap.
fn swap_section(app: &App, snapshot: &Snapshot, totals: &ProcessTotals) -> Option<Section> {
    let system = &snapshot.system;
    if system.swap_total == Ok(0) {
        return None;
    }
    let shmem = swap::shmem(system, &snapshot.accounting);
    let account = swap::account(system, totals, &shmem);
    let mut lines = vec![
        ("processes, sum of SwapPss".to_owned(), bytes(app, account.processes)),
        ("swap cache, in RAM too".to_owned(), bytes(app, account.cache)),
    ];
    for (name, part) in [
        ("processes that cannot be read", account.unreadable),
        ("System V segments", account.sysv),
        ("files of tmpfs, at the least", account.tmpfs),
    ] {
        if part.is_ok_and(|n| n > 0) {
            lines.push((name.to_owned(), bytes(app, part)));
        }
    }
    let rest = account.rest.map(|rest| u64::try_from(rest).unwrap_or(0));
    lines.push(("the rest: other shared memory".to_owned(), bytes(app, rest)));
    for (name, part) in [
        ("of it on zram", overview::swapped_to_zram(system)),
        ("of it in zswap", system.zswapped),
    ] {
        if part.is_ok_and(|n| n > 0) {
            lines.push((name.to_owned(), bytes(app, part)));
        }
    }
    lines.push((
        "of it on disk".to_owned(),
        bytes(app, overview::swapped_to_disk(system)),
    ));
    Some(Section {
        title: format!(
            "SWAP  {} of {}",
            bytes(app, account.used),
            bytes(app, system.swap_total)
        ),
        lines,
        alarm: None,
    })
}

/// Returns zswap and zram; `None` where nothing is stored in them.
fn compressed(app: &App, snapshot: &Snapshot) -> Option<Section> {
    let pools = overview::compressed(&snapshot.system, &snapshot.accounting);
    let used = pools.iter().filter(|pool| pool.stored.is_ok_and(|n| n > 0));
    let lines: Vec<_> = used
        .map(|pool| {
            let ratio = match pool.ratio() {
                Ok(Some(ratio)) => format!("{ratio:.1}x"),
                _ => String::new(),
            };
            let figures = format!(
                "{:>6} {:>6} {ratio:>5}",
                bytes(app, pool.stored),
                bytes(app, pool.in_ram)
            );
            (text::safe(pool.name.as_bytes()).into_owned(), figures)
        })
        .collect();
    (!lines.is_empty()).then(|| Section {
        title: "COMPRESSED: stored, in RAM, ratio".into(),
        lines,
        alarm: None,
    })
}

/// Returns how much of the time tasks waited for memory; `None` where the kernel does not say.
fn pressure(snapshot: &Snapshot) -> Option<Section> {
    let pressure = snapshot.accounting.pressure.ok()?;
    let line = |name: &str, [a, b, c]: [f32; 3]| (name.to_owned(), format!("{a:>6.1} {b:>6.1} {c:>6.1}"));
    Some(Section {
        title: "WAITING FOR MEMORY, % of 10 s, 1 min, 5 min".into(),
        lines: vec![line("some task", pressure.some), line("every task", pressure.full)],
        alarm: None,
    })
}

/// Returns shared memory and tmpfs by what holds it, the largest first; `None` where nothing of it is known.
fn shared(app: &App, snapshot: &Snapshot) -> Option<Section> {
    let account = swap::shmem(&snapshot.system, &snapshot.accounting);
    let mounts = account.mounts.as_deref().unwrap_or_default();
    let mut lines: Vec<_> = mounts
        .iter()
        .filter(|mount| !matches!(mount.used, Ok(0) | Err(Missing::Unsupported)))
        .take(MAX_MOUNTS)
        .map(|mount| {
            let limit = match mount.size {
                Ok(size) => format!(" of {:>5}", units::bytes(size, app.screen.units)),
                Err(_) => String::new(),
            };
            let name = text::truncate_start(&text::safe(&mount.path), MOUNT_WIDTH);
            (name, bytes(app, mount.used) + &limit)
        })
        .collect();
    if let Ok(sysv) = account.sysv
        && sysv.resident > 0
    {
        lines.push(("System V segments".into(), bytes(app, Ok(sysv.resident))));
    }
    if account.elsewhere.is_ok_and(|n| n > 0) {
        lines.push((
            "memfd, shared anonymous, graphics".into(),
            bytes(app, account.elsewhere),
        ));
    }
    (!lines.is_empty()).then(|| Section {
        title: format!("SHARED MEMORY AND TMPFS  {}", bytes(app, account.total)),
        lines,
        alarm: None,
    })
}

/// Returns what the kernel does about a lack of memory.
fn activity(app: &App, snapshot: &Snapshot) -> Section {
    let history = app.engine.history.system();
    let system = &snapshot.system;
    let flow = |rate: Option<f64>, total: Reading<u64>| match (rate, total) {
        (Some(rate), _) => format!("{}/s", units::bytes(rate as u64, app.screen.units)),
        (None, Err(why)) => why.to_string(),
        (None, Ok(_)) => Missing::Pending.to_string(),
    };
    let mut lines = vec![
        ("read from swap".to_owned(), flow(history.swap_in, system.pswpin)),
        ("written to swap".to_owned(), flow(history.swap_out, system.pswpout)),
    ];
    let faults = match (history.majfault, system.pgmajfault) {
        (Some(rate), _) => format!("{rate:.1}/s"),
        (None, Err(why)) => why.to_string(),
        (None, Ok(_)) => Missing::Pending.to_string(),
    };
    lines.push(("major faults".into(), faults));
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
            lines.push((name.into(), flow(rate, total)));
        }
    }
    let alarm = system.oom_kill.is_ok_and(|kills| kills > 0).then_some(lines.len());
    if let Ok(kills) = system.oom_kill {
        lines.push(("OOM kills since boot".into(), kills.to_string()));
    }
    for kill in snapshot.oom_kills.iter().rev().take(MAX_KILLS) {
        let ago = match kill.monotonic_ms {
            Ok(at) => app.engine.history.elapsed_since(Duration::from_millis(at)),
            Err(_) => snapshot.time.duration_since(kill.time).unwrap_or_default(),
        };
        let line = match &kill.victim {
            Ok(victim) => {
                let name = text::safe_prefix(&victim.comm, 16).into_owned();
                (format!("  killed {} {name}", victim.pid), bytes(app, Ok(victim.rss)))
            }
            Err(why) => (format!("  killed: {why}"), String::new()),
        };
        lines.push((line.0, format!("{} {} ago", line.1, units::span(ago))));
    }
    Section {
        title: "RECLAIM".into(),
        lines,
        alarm,
    }
}
