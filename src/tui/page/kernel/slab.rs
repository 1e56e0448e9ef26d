//! The view of the slab caches.

use std::sync::LazyLock;

use super::view::{Source, choose, kernel_rows, total};
use crate::columns::slab::{COLUMNS, OVER_TIME, Slab, SlabRow, sums, unread};
use crate::columns::{Column, Needs};
use crate::model::slab::SlabCaches;
use crate::model::{Missing, Reading};
use crate::tui::app::App;

/// The columns of the page, with the least width of the names.
static SHOWN: LazyLock<Vec<Column<Slab>>> = LazyLock::new(|| {
    let places = [
        "size",
        "change",
        "since_mark",
        "history",
        "trend",
        "used",
        "waste",
        "use",
        "active",
        "objects",
        "object_size",
        "slabs",
        "reclaimable",
        "cache",
    ];
    choose(&places, &[COLUMNS, OVER_TIME], &["slabs", "objects"], NAME_WIDTH)
});

/// The least width of the names, of which few are longer.
const NAME_WIDTH: u16 = 18;

fn caches(app: &App) -> Reading<&SlabCaches> {
    let snapshot = app.engine.snapshot.as_ref().ok_or(Missing::Pending)?;
    snapshot.kernel.slab.as_deref().map_err(|why| *why)
}

impl Source for Slab {
    const NAME: &'static str = "slab";
    const NOUN: &'static str = "cache";
    const HELP: &'static str = "SLAB CACHES";
    const NEEDS: Needs = Needs::SLAB;

    fn columns() -> &'static [Column<Self>] {
        &SHOWN
    }

    fn filtered() -> &'static [Column<Self>] {
        COLUMNS
    }

    fn with_rows<R>(app: &App, f: impl for<'a> FnOnce(&'a [SlabRow<'a>]) -> R) -> R {
        let Ok(found) = caches(app) else { return f(&[]) };
        let marked = app.data.marks.current().map(|mark| &mark.kernel().slab);
        let marked = marked.and_then(|then| Some(&then.as_ref().ok()?.caches[..]));
        f(&kernel_rows(app, &found.caches, marked, app.engine.history.slab()))
    }

    fn with_total(rows: &[&SlabRow<'_>], f: &mut dyn for<'a> FnMut(&'a SlabRow<'a>)) {
        f(&total(rows));
    }

    fn state(app: &App) -> Result<(), String> {
        match caches(app) {
            Ok(_) => Ok(()),
            Err(Missing::Pending) => Err("reading the slab caches …".into()),
            Err(why @ Missing::Denied) => Err(format!("{}: sudo zmtop shows them, each with its growth", unread(why))),
            Err(why) => Err(unread(why)),
        }
    }

    fn malformed(app: &App) -> usize {
        caches(app).map_or(0, |found| found.malformed)
    }

    fn notes(app: &App) -> Vec<String> {
        let snapshot = app.engine.snapshot.as_ref();
        let sums = snapshot.and_then(|snapshot| sums(&snapshot.system, caches(app), app.screen.units));
        sums.into_iter().collect()
    }
}
