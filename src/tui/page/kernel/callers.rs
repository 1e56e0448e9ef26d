//! The view of who takes memory from the kernel's allocator, traced as long as it is shown.

use std::sync::LazyLock;

use super::view::{Source, choose};
use crate::columns::callers::{COLUMNS, CallSites, CallerRow, cost, own, unnamed};
use crate::columns::{Column, Needs};
use crate::model::callers::Callers;
use crate::tui::app::App;

/// The columns of the page, with the least width of the names.
static SHOWN: LazyLock<Vec<Column<CallSites>>> = LazyLock::new(|| {
    let places = [
        "allocated",
        "requested",
        "wasted",
        "frag",
        "hits",
        "rate",
        "request",
        "size",
        "growth",
        "cross_cpu",
        "caller",
    ];
    choose(&places, &[COLUMNS], &["frag", "cross_cpu"], NAME_WIDTH)
});

/// The least width of the names, with some of the module.
const NAME_WIDTH: u16 = 24;

fn found(app: &App) -> Option<&Callers> {
    app.data.callers.found.as_ref()?.as_deref().ok()
}

impl Source for CallSites {
    const NAME: &'static str = "callers";
    const NOUN: &'static str = "caller";
    const HELP: &'static str = "CALLERS";
    const NEEDS: Needs = Needs::NOTHING;
    const TRACES: bool = true;

    fn columns() -> &'static [Column<Self>] {
        &SHOWN
    }

    fn filtered() -> &'static [Column<Self>] {
        COLUMNS
    }

    fn with_rows<R>(app: &App, f: impl for<'a> FnOnce(&'a [CallerRow<'a>]) -> R) -> R {
        let rows = found(app).map(|found| CallerRow::of(found, !app.data.callers.by_site));
        f(&rows.unwrap_or_default())
    }

    fn with_total(rows: &[&CallerRow<'_>], f: &mut dyn for<'a> FnMut(&'a CallerRow<'a>)) {
        let seconds = rows.first().map_or(0.0, |row| row.seconds);
        let rows: Vec<CallerRow<'_>> = rows.iter().map(|row| **row).collect();
        f(&CallerRow::total(&rows, seconds));
    }

    fn state(app: &App) -> Result<(), String> {
        match &app.data.callers.found {
            Some(Ok(_)) => Ok(()),
            Some(Err(why)) => Err(why.clone()),
            None if app.data.callers.runs => Err("beginning to trace …".into()),
            None => Err("nothing is traced while sampling is paused".into()),
        }
    }

    fn notes(app: &App) -> Vec<String> {
        let Some(found) = found(app) else { return Vec::new() };
        let mut notes = vec![cost(&found.trace, app.screen.units)];
        if !app.data.callers.runs {
            notes.insert(0, "paused".into());
        }
        notes.extend(own(&found.trace, app.screen.units));
        notes.extend(found.symbols.err().map(unnamed));
        notes
    }
}
