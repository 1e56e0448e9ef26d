//! The mappings of a process: the growth and the memory of each, and the processes that share it.
//!
//! ```text
//!  GROWTH    PSS    RSS   SWAP AREAS KIND    MAPPING
//!   +118M   1.1G   1.1G      0    41 anon    [anon]
//!     +2M    12M    12M      0     1 file    /usr/lib/libpython3.13.so new
//!       0   212K   1.9M      0     5 file    /usr/lib/libc.so.6  shared with 6 others: bash, sshd, cron
//! ```
//!
//! COLD is beside SWAP once the user asked which memory is untouched.

use std::collections::{BTreeMap, HashMap, HashSet};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::draw_name;
use crate::columns::{Value, cell};
use crate::history::mappings::{Coldness, MappingFigures, MappingGrowth, Presence, Resident};
use crate::model::mapping::MappedObject;
use crate::model::{Identity, Missing, ProcessSample, Reading, Snapshot};
use crate::text::{self, Align};
use crate::tui::app::App;
use crate::tui::growth::TrackedProcess;
use crate::tui::widgets::{ColumnLayout, ListState, TableGrid, cell_style, line, select_row};
use crate::{order, units};

/// Minimum columns of a name beside the processes that share it.
const MIN_NAME: usize = 24;
/// Columns of a name from which on it is cut rather than the remark shortened.
const WHOLE_NAME: usize = 40;

/// The device and inode of a file or of shared memory.
type ObjectId = ((u32, u32), u64);

/// The mappings of a process, and which other processes map the same.
pub(in crate::tui) struct MappingTable<'a> {
    /// Mappings that grew, that shrank, that did neither, and whose growth is unknown.
    pub(in crate::tui) rows: Vec<MappingGrowth>,
    sharers: Sharers<'a>,
    coldness: Option<&'a Coldness>,
}

impl<'a> MappingTable<'a> {
    /// Returns `None` before the first reading.
    pub(in crate::tui) fn new(app: &'a App, snapshot: &'a Snapshot, sample: &ProcessSample) -> Option<Self> {
        let tracked = app.data.growth.get(sample);
        Some(Self {
            rows: by_growth(tracked.and_then(TrackedProcess::growth)?),
            sharers: Sharers::new(snapshot, sample.id),
            coldness: app.data.coldness.get(sample).ok(),
        })
    }

    /// Returns which processes share a mapping, in words: `shared with 6 others: bash, sshd`; `None` if it cannot be shared.
    pub(in crate::tui) fn sharing(&self, at: usize) -> Option<String> {
        self.sharers.text(&self.rows.get(at)?.name)
    }

    /// Returns the same for a narrow column: `+6: bash, sshd`, `+≥6: 2 bash` if there may be more; empty if no other is known.
    fn short_sharing(&self, at: usize) -> Option<String> {
        let (count, programs) = self.sharers.others(&self.rows.get(at)?.name)?;
        if count == 0 {
            return Some(String::new());
        }
        let least = if self.sharers.is_partial { "≥" } else { "" };
        Some(format!("+{least}{count}: {programs}"))
    }

    /// Draws the titles and the rows from the offset on, with the cursor if there is one.
    pub(in crate::tui) fn draw(&self, app: &App, list: ListState, has_cursor: bool, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        if area.is_empty() {
            return;
        }
        let width = app.screen.units.width();
        let bytes = |n: Reading<u64>| n.map_or_else(|_| "-".into(), |n| units::bytes(n, app.screen.units));
        let mut columns = vec![
            ("GROWTH", width + 1, Align::Right),
            ("PSS", width, Align::Right),
            ("RSS", width, Align::Right),
            ("SWAP", width, Align::Right),
            ("COLD", width, Align::Right),
            ("AREAS", 6, Align::Right),
            ("KIND", 7, Align::Left),
        ];
        columns.retain(|(title, ..)| match *title {
            "COLD" => self.coldness.is_some(),
            "AREAS" => !app.is_narrow(),
            _ => true,
        });
        let layout = columns
            .iter()
            .map(|(title, width, align)| ColumnLayout::fixed(*width.max(&(title.len() as u16)), *align));
        let layout: Vec<_> = layout.chain([ColumnLayout::rest()]).collect();
        let grid = TableGrid::new(&layout, area, 1);
        buf.set_style(line(area, 0), theme.dim);
        grid.draw_row(buf, 0, |at| {
            let title = columns.get(at).map_or("MAPPING", |column| column.0);
            (title.to_owned(), theme.dim)
        });
        let rows = self.rows.iter().enumerate().skip(list.offset);
        for (y, (index, mapping)) in (1..area.height).zip(rows) {
            let figure = |get: fn(&MappingFigures) -> u64| bytes(mapping.figures.as_ref().map(get).map_err(|why| *why));
            let own = Style::default();
            grid.draw_row(buf, y, |at| match columns.get(at).map(|column| column.0) {
                Some("GROWTH") => growth_cell(app, mapping),
                Some("PSS") => (figure(|figures| figures.pss), own),
                Some("RSS") => (figure(|figures| figures.rss), own),
                Some("SWAP") => (figure(|figures| figures.swap), own),
                Some("COLD") => (bytes(self.cold(mapping)), own),
                Some("AREAS") => (units::count(mapping.areas), own),
                Some("KIND") => (mapping.kind.id().to_owned(), own),
                _ => (String::new(), own),
            });
            let presence = match mapping.presence {
                Presence::Both => "",
                Presence::New => " new",
                Presence::Gone => " gone",
            };
            let place = grid.cell(y, columns.len());
            let name = text::width(&text::safe(&mapping.name));
            let room = usize::from(place.width).saturating_sub(MIN_NAME.min(name));
            let remark = |text: Option<String>| {
                let text = text.filter(|text| !text.is_empty());
                format!("{presence}{}", text.map(|text| format!("  {text}")).unwrap_or_default())
            };
            let long = remark(self.sharing(index));
            let remark = if text::width(&long) + name.min(WHOLE_NAME) <= usize::from(place.width) {
                long
            } else {
                text::truncate(&remark(self.short_sharing(index)), room)
            };
            draw_name(&mapping.name, (&remark, theme.dim), place, own, buf);
            if has_cursor && index == list.cursor {
                select_row(buf, line(area, y), theme, &[]);
            }
        }
    }

    fn cold(&self, mapping: &MappingGrowth) -> Reading<u64> {
        let coldness = self.coldness.ok_or(Missing::NotAsked)?;
        let found = coldness.mapping(mapping.kind, &mapping.name);
        found.ok_or(Missing::Pending)?.resident.map(Resident::cold)
    }
}

fn growth_cell(app: &App, mapping: &MappingGrowth) -> (String, Style) {
    let size = mapping.now.unwrap_or(0);
    let growth = mapping.growth().map(|by| Value::Delta(by, size));
    let growth = growth.unwrap_or(Value::Missing(Missing::Unsupported));
    let cell = cell(&growth, app.screen.units, 0);
    (cell.text, cell_style(&app.config.theme, cell.style))
}

/// Sorts the mappings of a [`diff`](crate::history::mappings::diff): those that grew, those that shrank, the one that shrank most
/// first, those that did neither, then those whose growth is unknown.
fn by_growth(mappings: Vec<MappingGrowth>) -> Vec<MappingGrowth> {
    let mut ranked: Vec<_> = mappings.into_iter().zip(0_isize..).collect();
    order::sort_by_key(&mut ranked, |(mapping, at)| match mapping.growth() {
        Some(1..) => (0, *at),
        Some(..0) => (1, -at),
        Some(0) => (2, *at),
        None => (3, -at),
    });
    ranked.into_iter().map(|(mapping, _)| mapping).collect()
}

/// The other processes that share the mappings of one process.
struct Sharers<'a> {
    /// By the name of a mapping: how many others map any of its objects, and the programs of these.
    by_name: Reading<HashMap<&'a [u8], HashSet<Identity>>>,
    snapshot: &'a Snapshot,
    /// Some processes were not read: there may be more.
    is_partial: bool,
}

impl<'a> Sharers<'a> {
    fn new(snapshot: &'a Snapshot, id: Identity) -> Self {
        let own = match snapshot.mapped.get(&id) {
            Some(Ok(own)) => Ok(own),
            Some(Err(why)) => Err(*why),
            None => Err(Missing::Pending),
        };
        let has_memory = snapshot.rows().iter().filter(|row| row.stat.lacks_memory().is_none());
        let read = snapshot.mapped.values().filter(|found| found.is_ok()).count();
        Self {
            by_name: own.map(|own| by_name(snapshot, id, own)),
            snapshot,
            is_partial: read < has_memory.count(),
        }
    }

    fn text(&self, name: &[u8]) -> Option<String> {
        let (count, programs) = self.others(name)?;
        let least = if self.is_partial { "at least " } else { "" };
        if count == 0 {
            let so_far = if self.is_partial { " that could be read" } else { "" };
            return Some(format!("shared with no other{so_far}"));
        }
        let count = units::counted(count, "other");
        Some(format!("shared with {least}{count}: {programs}"))
    }

    /// Returns how many other processes share what has that name, and their programs: `2 bash, sshd`; `None` if it cannot be
    /// shared.
    fn others(&self, name: &[u8]) -> Option<(u64, String)> {
        let others = self.by_name.as_ref().ok()?.get(name)?;
        let mut programs: BTreeMap<String, usize> = BTreeMap::new();
        for id in others {
            let name = self
                .snapshot
                .row(*id)
                .map(|row| text::safe_prefix(&row.facts.comm, 15).into_owned());
            *programs.entry(name.unwrap_or_default()).or_default() += 1;
        }
        let mut programs: Vec<_> = programs.into_iter().collect();
        order::sort_by_key(&mut programs, |(name, count)| (std::cmp::Reverse(*count), name.clone()));
        let named = programs.iter().map(|(name, count)| match count {
            1 => name.clone(),
            _ => format!("{count} {name}"),
        });
        Some((others.len() as u64, named.collect::<Vec<_>>().join(", ")))
    }
}

/// Returns the other processes that map the objects of each name.
fn by_name<'a>(snapshot: &Snapshot, id: Identity, own: &'a [MappedObject]) -> HashMap<&'a [u8], HashSet<Identity>> {
    let object_id = |object: &MappedObject| -> ObjectId { (object.device, object.inode) };
    let mut names: HashMap<ObjectId, &[u8]> = HashMap::new();
    let mut sharers: HashMap<&[u8], HashSet<Identity>> = HashMap::new();
    for object in own {
        names.insert(object_id(object), &object.name);
        sharers.entry(&object.name).or_default();
    }
    let others = snapshot.mapped.iter().filter(|(other, _)| **other != id);
    for (other, objects) in others {
        for object in objects.iter().flat_map(|objects| objects.iter()) {
            if let Some(others) = names.get(&object_id(object)).and_then(|name| sharers.get_mut(name)) {
                others.insert(*other);
            }
        }
    }
    sharers
}
