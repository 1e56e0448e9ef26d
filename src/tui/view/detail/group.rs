//! The selected group in full, on one line.
//!
//! ```text
//!  nginx  ·  5 processes, 2 updated  ·  PSS 85M  USS 61M  shared 24M  swap 4M  ·  cgroup 120M of 512M  ·  oldest 4s
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::strip::Strip;
use super::super::table::name;
use crate::group::{Group, GroupBy};
use crate::model::{CgroupFigures, Missing, Reading, Replaced, Snapshot};
use crate::tui::app::App;
use crate::{text, units};

/// Draws the line.
pub(super) fn draw(app: &App, snapshot: &Snapshot, group: &Group, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut strip = Strip::default();
    let mut pieces: Vec<(u8, String, _)> = Vec::new();
    pieces.push((80, format!("  ·  {}", count(group)), theme.dim));
    if let Some((what, count)) = group.replaced {
        let what = match what {
            Replaced::Updated => "updated",
            Replaced::Deleted => "deleted",
        };
        pieces.push((85, format!(", {count} to start anew ({what})"), theme.warning));
    }
    pieces.extend(
        memory(app, group)
            .into_iter()
            .map(|(need, text)| (need, text, theme.dim)),
    );
    if let Some(cgroup) = &group.cgroup {
        pieces.push((75, format!("  ·  {}", limits(app, cgroup)), theme.dim));
    }
    if let Some(at) = group.walked {
        let age = units::span(snapshot.monotonic.saturating_sub(at));
        pieces.push((50, format!("  ·  oldest {age}"), theme.dim));
    }
    // The name has what the others leave, the last of which go before it is cut to less than a third.
    let width = usize::from(area.width);
    let rest: usize = pieces.iter().map(|(_, text, _)| text::width(text)).sum();
    let room = width.saturating_sub(rest + 1).max(width / 3);
    let name = name(&group.key, room);
    strip.text(90, format!(" {name}"), theme.text);
    for (need, text, style) in pieces {
        strip.text(need, text, style);
    }
    strip.draw(area, buf);
}

fn count(group: &Group) -> String {
    let n = group.totals.count;
    let what = if n == 1 { "process" } else { "processes" };
    match group.key.by {
        GroupBy::Mapping => format!("mapped by {n} {what}"),
        _ if group.totals.partial => format!("{n} {what}, {} readable", group.readable),
        _ => format!("{n} {what}"),
    }
}

/// What its memory is, each figure with how much it is needed.
fn memory(app: &App, group: &Group) -> Vec<(u8, String)> {
    let m = match &group.totals.memory {
        Ok(memory) => memory,
        Err(Missing::Pending) => return vec![(70, "  ·  memory not read yet".into())],
        Err(why) => return vec![(70, format!("  ·  memory: {why}"))],
    };
    let bytes = |n| units::bytes(n, app.screen.units);
    vec![
        (70, format!("  ·  PSS {}", bytes(m.pss))),
        (62, format!("  USS {}", bytes(m.uss()))),
        (60, format!("  shared {}", bytes(m.pss.saturating_sub(m.uss())))),
        (65, format!("  swap {}", bytes(m.swap))),
    ]
}

/// `cgroup 120M of 512M, swap 3M`.
pub(in crate::tui::view) fn limits(app: &App, cgroup: &CgroupFigures) -> String {
    let bytes = |figure: Reading<u64>| figure.map_or_else(|_| "?".into(), |n| units::bytes(n, app.screen.units));
    let limit = match cgroup.limit {
        Ok(Some(limit)) => format!(" of {}", units::bytes(limit, app.screen.units)),
        Ok(None) => ", no limit".into(),
        Err(_) => String::new(),
    };
    let swap = cgroup.swap.map_or_else(
        |_| String::new(),
        |n| format!(", swap {}", units::bytes(n, app.screen.units)),
    );
    format!("cgroup {}{limit}{swap}", bytes(cgroup.current))
}
