//! The view of the lines of the kernel's source that hold memory.

use std::sync::LazyLock;

use super::view::{Source, choose, kernel_rows, total};
use crate::columns::sites::{COLUMNS, OVER_TIME, STOPPED, SiteRow, Sites, unread};
use crate::columns::{Column, Needs, Priority};
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
        // Most lines hold nothing, and never did.
        let is_used = |site: &&AllocSite| site.figures.calls > 0 || site.figures.size > 0;
        let marked = app.data.marks.current().map(|mark| &mark.kernel().sites);
        let marked = marked.and_then(|then| Some(&then.as_ref().ok()?.sites[..]));
        let used = found.sites.iter().filter(is_used);
        f(&kernel_rows(app, used, marked, app.engine.history.sites()))
    }

    fn with_total(rows: &[&SiteRow<'_>], f: &mut dyn for<'a> FnMut(&'a SiteRow<'a>)) {
        f(&total(rows));
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
