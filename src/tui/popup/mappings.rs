//! All mappings of the process in the panel. Enter lists the processes that map the chosen one; on the memory of `malloc`, it shows
//! the heap.
//!
//! ```text
//! ┌ Mappings of 27213 python3 ─────────────────────────────────────────────┐
//! │ GROWTH    PSS    RSS   SWAP AREAS KIND    MAPPING                      │
//! │  +118M   1.1G   1.1G      0    41 anon    [anon]                       │
//! │      0   212K   1.9M      0     5 file    /usr/lib/libc.so.6           │
//! │────────────────────────────────────────────────────────────────────────│
//! │ /usr/lib/libc.so.6: shared with 6 others: bash, sshd, cron             │
//! └────────────────────────────────────────────────────────────────────────┘
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Popup, inquiry};
use crate::config::Action;
use crate::model::mapping::MappingKind;
use crate::model::{Identity, Snapshot};
use crate::sampler::inquiry::Inquiry;
use crate::text;
use crate::tui::app::{App, Response};
use crate::tui::navigation::show_mappers;
use crate::tui::panel::mappings::MappingTable;
use crate::tui::widgets::ListState;

/// The process, its name, and the listed mappings by kind and name, by which the cursor follows one that changes places.
pub struct MappingList {
    id: Identity,
    /// Its pid and name, safe to print; `None` if it ended before the popup was opened.
    name: Option<String>,
    keys: Vec<(MappingKind, Arc<[u8]>)>,
}

impl MappingList {
    pub(in crate::tui) fn new(app: &App, id: Identity) -> Self {
        let keys = Self::table(app, id).map(|(_, table)| table.rows);
        let keys = keys.unwrap_or_default().into_iter().map(|row| (row.kind, row.name));
        let sample = app.engine.snapshot.as_ref().and_then(|snapshot| snapshot.row(id));
        Self {
            id,
            name: sample.map(inquiry::name_of),
            keys: keys.collect(),
        }
    }

    /// Returns the process and its name.
    fn process(&self) -> (Identity, String) {
        let name = self.name.clone();
        (self.id, name.unwrap_or_else(|| self.id.pid.to_string()))
    }

    fn table(app: &App, id: Identity) -> Option<(&Snapshot, MappingTable<'_>)> {
        let snapshot = app.engine.snapshot.as_deref()?;
        Some((snapshot, MappingTable::new(app, snapshot, snapshot.row(id)?)?))
    }
}

impl Popup for MappingList {
    const TITLE: &'static str = " Mappings ";
    const WIDTH: u16 = 160;
    const IS_MENU: bool = false;
    const HEADING_LINES: u16 = 1;
    const LEADS_TO: &'static [Action] = inquiry::ABOUT_PROCESS;

    fn title(&self, _app: &App) -> Cow<'static, str> {
        inquiry::title_of(Self::TITLE, self.name.as_deref())
    }

    fn subject(&self, _app: &App) -> Option<(Identity, String)> {
        Some(self.process())
    }

    fn texts(&self, app: &App) -> Vec<String> {
        let table = Self::table(app, self.id);
        let rows = table.map(|(_, table)| table.rows).unwrap_or_default();
        rows.iter().map(|row| text::safe(&row.name).into_owned()).collect()
    }

    fn note(&self, app: &App, at: usize) -> Option<Cow<'static, str>> {
        let (_, table) = Self::table(app, self.id)?;
        let name = text::safe(&table.rows.get(at)?.name).into_owned();
        let sharing = table
            .sharing(at)
            .unwrap_or_else(|| "private to the process, as far as is known".into());
        Some(format!("{name}: {sharing}").into())
    }

    fn on_snapshot(&mut self, app: &App, at: usize) -> usize {
        let before = std::mem::replace(self, Self::new(app, self.id));
        // It keeps its name after it ended.
        self.name = self.name.take().or(before.name);
        let selected = before.keys.get(at);
        self.keys.iter().position(|key| Some(key) == selected).unwrap_or(at)
    }

    fn accept(&mut self, app: &mut App, at: usize) -> Response {
        let Some((kind, name)) = self.keys.get(at).cloned() else {
            return Response::close();
        };
        if matches!(kind, MappingKind::Heap | MappingKind::Anon) {
            let effects = inquiry::open_about(app, Inquiry::Heap, self.process());
            return Response { effects, close: true };
        }
        if show_mappers(app, &name, Some(self.id)) {
            Response::close()
        } else {
            Response::stay()
        }
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        if let Some((_, table)) = Self::table(app, self.id) {
            table.draw(app, list, true, area, buf);
        }
    }
}
