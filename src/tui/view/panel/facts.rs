//! What the process is and what it holds, line by line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::detail::group::limits;
use super::super::detail::reasons;
use super::super::strip::Strip;
use super::{plain, wrapped};
use crate::columns::{cell, layout};
use crate::model::{Memory, ProcessSample, Replaced, Snapshot};
use crate::tui::app::App;
use crate::{text, units};

/// Which process.
pub(super) fn heading(app: &App, snapshot: &Snapshot, sample: &ProcessSample, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let facts = &sample.facts;
    let mut strip = Strip::default();
    let name = text::safe_prefix(&facts.comm, 24);
    strip.text(90, format!(" {} {name}", sample.id.pid), theme.heading_sorted);
    if let Some(mark) = app.data.marks.current().filter(|mark| mark.is_new(sample)) {
        let age = units::span(mark.age(snapshot));
        strip.text(
            40,
            format!("  started since the mark {age} ago: counted from 0"),
            theme.heading,
        );
    }
    if let Ok(user) = &facts.user {
        strip.right(80, format!("{} ", text::safe_prefix(user, 24)), theme.heading);
    }
    strip.draw(area, buf);
}

/// What is known of it, in at most so many lines, which a long command line may fill.
pub(super) fn lines(app: &App, snapshot: &Snapshot, sample: &ProcessSample, width: u16, most: u16) -> Vec<Strip> {
    let theme = &app.config.theme;
    let facts = &sample.facts;
    let room = usize::from(width).saturating_sub(1);
    let mut lines = vec![state(app, snapshot, sample)];
    let reasons = reasons(sample);
    if !reasons.is_empty() {
        lines.push(plain(format!(" {reasons}"), theme.warning));
    }
    lines.push(match sample.memory() {
        Ok(memory) => bar(app, memory, width),
        Err(why) => plain(format!(" PSS: {why}"), theme.dim),
    });
    if let Ok(path) = &facts.cgroup {
        let mut strip = Strip::default();
        let path = text::safe_prefix(path, room / 2);
        let path = text::fit(&path, text::width(&path).min(room / 2), text::Align::Left);
        strip.text(50, format!(" {path}"), theme.dim);
        if let Some(figures) = snapshot.cgroups.get(facts.cgroup.as_deref().unwrap_or_default()) {
            strip.text(60, format!("  ·  {}", limits(app, figures)), theme.text);
        }
        lines.push(strip);
    }
    // The command line takes what is left, but one line it has.
    let left = usize::from(most).saturating_sub(lines.len()).max(1);
    let command = wrapped(&facts.command(), room, left);
    lines.splice(1..1, command.into_iter().map(|l| plain(format!(" {l}"), theme.text)));
    lines
}

/// State, threads, age, parent, program.
fn state(app: &App, snapshot: &Snapshot, sample: &ProcessSample) -> Strip {
    let theme = &app.config.theme;
    let row = app.process_row(sample, snapshot);
    let mut strip = Strip::default();
    strip.text(70, format!(" {}", word(sample.stat.state)), theme.text);
    let threads = sample.stat.threads;
    let plural = if threads == 1 { "" } else { "s" };
    strip.text(60, format!("  ·  {threads} thread{plural}"), theme.dim);
    let runs = cell(&(layout::ELAPSED.get().value)(&row), app.screen.units, 8).text;
    strip.text(65, format!("  ·  runs {runs}"), theme.dim);
    let parent = sample.stat.ppid;
    let name = snapshot.rows().iter().find(|s| s.id.pid == parent).map(|s| {
        let name = text::safe_prefix(&s.facts.comm, 16);
        format!(" {name}")
    });
    if parent != 0 {
        let name = name.unwrap_or_default();
        strip.text(55, format!("  ·  parent {parent}{name}"), theme.dim);
    }
    if let Ok(exe) = &sample.facts.exe {
        strip.text(50, format!("  ·  {}", text::safe_prefix(exe, 200)), theme.dim);
    }
    if let Some(what) = sample.facts.replaced {
        let what = match what {
            Replaced::Updated => "updated",
            Replaced::Deleted => "deleted",
        };
        strip.text(80, format!("  [{what}: to start anew]"), theme.warning);
    }
    strip
}

const fn word(state: u8) -> &'static str {
    match state {
        b'R' => "running",
        b'S' => "sleeping",
        b'D' => "waiting for a device",
        b'T' => "stopped",
        b't' => "traced",
        b'Z' => "zombie",
        b'I' => "idle",
        _ => "in an unknown state",
    }
}

/// PSS by what it is of, as a bar; then the other figures.
pub(super) fn bar(app: &App, memory: &Memory, width: u16) -> Strip {
    let theme = &app.config.theme;
    let bytes = |n| units::bytes(n, app.screen.units);
    let mut strip = Strip::default();
    strip.text(90, format!(" PSS {}", bytes(memory.pss)), theme.text);
    if let (Ok(anon), Ok(file), Ok(shmem)) = (memory.pss_anon, memory.pss_file, memory.pss_shmem) {
        let cells = usize::from(width / 4).clamp(8, 60);
        let all = anon.saturating_add(file).saturating_add(shmem).max(1);
        let share = |n: u64| ((n as f64 / all as f64) * cells as f64).round() as usize;
        let of_anon = share(anon).min(cells);
        let of_file = share(file).min(cells - of_anon);
        let of_shmem = if shmem == 0 { 0 } else { cells - of_anon - of_file };
        strip.add(
            40,
            vec![
                (" ".into(), theme.text),
                ("█".repeat(of_anon), theme.bar_anon),
                ("▒".repeat(of_file), theme.bar_file),
                ("░".repeat(of_shmem), theme.bar_shmem),
            ],
        );
        strip.text(70, format!("  anon {}", bytes(anon)), theme.bar_anon);
        strip.text(60, format!("  file {}", bytes(file)), theme.bar_file);
        strip.text(50, format!("  shmem {}", bytes(shmem)), theme.bar_shmem);
    }
    strip.text(35, format!("  ·  USS {}", bytes(memory.uss())), theme.dim);
    strip.text(30, format!("  RSS {}", bytes(memory.rss)), theme.dim);
    strip.text(65, format!("  swap {}", bytes(memory.swap)), theme.dim);
    strip
}
