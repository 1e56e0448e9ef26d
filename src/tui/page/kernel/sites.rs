//! The view of the lines of the kernel's source that hold memory.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::view::{Source, choose, since_mark};
use crate::columns::sites::{COLUMNS, OVER_TIME, STOPPED, SiteRow, Sites, unread};
use crate::columns::{Column, Needs, Priority};
use crate::history::kernel::site_name;
use crate::model::allocinfo::{AllocSite, AllocSites};
use crate::model::{Missing, Reading};
use crate::tui::app::App;

/// The columns of the page, with the least width of the names.
static SHOWN: LazyLock<Vec<Column<Sites>>> = LazyLock::new(|| {
    let places = [
        "size",
        "change",
        "since_mark",
        "history",
        "trend",
        "calls",
        "each",
        "accurate",
        "module",
        "function",
        "site",
    ];
    let mut columns = choose(&places, &[COLUMNS, OVER_TIME], &[], NAME_WIDTH);
    if let Some(function) = columns.iter_mut().find(|column| column.id == "function") {
        (function.width, function.priority) = (NAME_WIDTH, Priority::High);
    }
    columns
});

/// The width of the names of functions, and the least of those of files.
const NAME_WIDTH: u16 = 24;

fn found(app: &App) -> Reading<&AllocSites> {
    let snapshot = app.engine.snapshot.as_ref().ok_or(Missing::Pending)?;
    snapshot.kernel.sites.as_deref().map_err(|why| *why)
}

/// A line of the source, with the function, which may be inlined in several.
fn key(site: &AllocSite) -> (&[u8], &[u8], Option<&[u8]>) {
    (&site.place, &site.function, site.module.as_deref())
}

impl Source for Sites {
    const NAME: &'static str = "sites";
    const NOUN: &'static str = "site";
    const HELP: &'static str = "ALLOCATION SITES";
    const NEEDS: Needs = Needs::SITES;

    fn columns() -> &'static [Column<Self>] {
        &SHOWN
    }

    fn filtered() -> &'static [Column<Self>] {
        COLUMNS
    }

    fn with_rows<R>(app: &App, f: impl for<'a> FnOnce(&'a [SiteRow<'a>]) -> R) -> R {
        let Ok(found) = found(app) else { return f(&[]) };
        let span = app.screen.chart.span().time;
        let marked = app
            .data
            .marks
            .current()
            .and_then(|mark| mark.kernel().sites.as_ref().ok());
        let marked: Option<HashMap<_, u64>> =
            marked.map(|then| then.sites.iter().map(|site| (key(site), site.figures.size)).collect());
        // Most lines hold nothing, and never did.
        let sites = found
            .sites
            .iter()
            .filter(|site| site.figures.calls > 0 || site.figures.size > 0);
        let rows = sites.map(|site| SiteRow {
            history: app.engine.history.sites().get(&site_name(site)),
            span,
            since_mark: since_mark(marked.as_ref(), &key(site), site.figures.size),
            ..SiteRow::new(site)
        });
        f(&rows.collect::<Vec<_>>())
    }

    fn with_total(rows: &[&SiteRow<'_>], f: &mut dyn for<'a> FnMut(&'a SiteRow<'a>)) {
        let rows: Vec<SiteRow<'_>> = rows.iter().map(|row| **row).collect();
        f(&SiteRow::total(&rows));
    }

    fn state(app: &App) -> Result<(), String> {
        match found(app) {
            Ok(_) => Ok(()),
            Err(Missing::Pending) => Err("reading the allocation sites …".into()),
            Err(why) => Err(unread(why)),
        }
    }

    fn malformed(app: &App) -> usize {
        found(app).map_or(0, |found| found.malformed)
    }

    fn notes(app: &App) -> Vec<String> {
        let is_stopped = found(app).is_ok_and(|found| !found.running);
        is_stopped.then(|| STOPPED.to_owned()).into_iter().collect()
    }
}
