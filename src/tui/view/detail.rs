//! The selected row in full, on one line.
//!
//! ```text
//!  27213 alice  python3 train.py --epochs 40  ·  train.service  ·  memory: permission denied
//! ```

pub(super) mod group;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::strip::Strip;
use crate::model::{Missing, ProcessSample};
use crate::text;
use crate::tui::app::App;

/// Draws the line.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    if area.is_empty() {
        return;
    }
    if super::footer::fault(app, area, buf) {
        return;
    }
    buf.set_style(area, theme.dim);
    let Some(snapshot) = &app.data.snapshot else { return };
    if let Some(group) = app.tables.current().current().and_then(|line| app.group(line)) {
        return group::draw(app, snapshot, group, area, buf);
    }
    let Some(sample) = app
        .tables
        .current()
        .current()
        .filter(|l| l.key.process().is_some())
        .and_then(|l| snapshot.rows().get(l.index))
    else {
        return;
    };
    let facts = &sample.facts;
    let mut strip = Strip::default();
    strip.text(90, format!(" {} ", sample.id.pid), theme.text);
    let reasons = reasons(sample);
    let place = facts
        .container
        .as_deref()
        .map(|c| format!("container {}", text::safe_prefix(c, 16)))
        .or_else(|| facts.unit.as_deref().map(|u| text::safe_prefix(u, 32).into_owned()));
    let tail: usize = text::width(&reasons) + place.as_deref().map_or(0, text::width) + 12;
    let room = usize::from(area.width).saturating_sub(tail).max(20);
    let command = text::safe_prefix(&facts.command(), room).into_owned();
    let command = text::fit(&command, room.min(text::width(&command)), text::Align::Left);
    strip.text(60, command, theme.text);
    if let Some(place) = place {
        strip.text(40, format!("  ·  {place}"), theme.dim);
    }
    if !reasons.is_empty() {
        strip.text(80, format!("  ·  {reasons}"), theme.warning);
    }
    strip.draw(area, buf);
}

/// Why figures of this row are missing.
pub(super) fn reasons(sample: &ProcessSample) -> String {
    let facts = &sample.facts;
    let memory = sample.walk.as_ref().err().copied();
    let mut list: Vec<(&str, Missing)> = Vec::new();
    list.extend(memory.filter(|e| *e != Missing::Pending).map(|e| ("memory", e)));
    let others = [
        ("command line", facts.cmdline.as_ref().err()),
        ("user", facts.uid.as_ref().err()),
        ("cgroup", facts.cgroup.as_ref().err()),
    ];
    list.extend(
        others
            .into_iter()
            .filter_map(|(name, e)| Some((name, *e?)))
            .filter(|(_, e)| *e != Missing::Pending),
    );
    match list.as_slice() {
        [] => String::new(),
        [(_, e @ (Missing::KernelThread | Missing::Zombie)), ..] => format!("{e}: no memory of its own"),
        list => {
            let words: Vec<String> = list.iter().map(|(name, e)| format!("{name}: {e}")).collect();
            words.join(", ")
        }
    }
}
