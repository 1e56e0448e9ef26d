//! Diagnostics: how much could be read, how old the figures are, and the cost of zmtop; for a fleet, the queries and their cost.
//!
//! ```text
//! ┌ Diagnostics ─────────────────────────────────────────────────────────────┐
//! │ Processes       412: 300 read, 5 being read, 107 not readable            │
//! │ Figures         at most 9s old; 2 may be off by more than 1 % and 1 MiB  │
//! │ Walks           12 in the last 1s, 3 waiting                             │
//! └──────────────────────────────────────────────────────────────────────────┘
//! ```

use super::{Text, TextLine, wrap};
use crate::model::{Fleet, FleetStatus, Snapshot};
use crate::text;
use crate::tui::app::App;
use crate::tui::fleet::count;
use crate::units::{self, Units};

pub struct Diagnostics;

type Figure = (&'static str, String);

impl Text for Diagnostics {
    const TITLE: &'static str = " Diagnostics ";
    const WIDTH: u16 = 84;
    const LABEL_WIDTH: u16 = 18;

    fn lines(app: &App, width: usize) -> Vec<TextLine> {
        let theme = &app.config.theme;
        let mut lines = Vec::new();
        for (label, text) in figures(app) {
            let mut label = label.to_owned();
            for text in wrap(&text, width.saturating_sub(usize::from(Self::LABEL_WIDTH) + 1)) {
                lines.push([(std::mem::take(&mut label), theme.key), (text, theme.popup)]);
            }
        }
        lines
    }
}

fn figures(app: &App) -> Vec<Figure> {
    let Some(snapshot) = &app.engine.snapshot else {
        let fault = app.fleet.as_ref().and_then(FleetStatus::fault_text);
        return vec![match (&app.fleet, fault) {
            (Some(_), Some(fault)) => ("Error", fault),
            (Some(_), None) => ("Queries", "no answer yet".into()),
            (None, _) => ("Processes", "none read yet".into()),
        }];
    };
    let mut figures = match (&app.fleet, &snapshot.fleet) {
        (Some(status), Some(fleet)) => of_fleet(app, snapshot, status, fleet),
        _ => of_machine(app, snapshot),
    };
    if let Some(why) = &app.config_fault {
        figures.push(("Config", format!("{why}; the previous config is in force")));
    }
    let (used, most) = app.engine.history.memory();
    let [used, most] = [used, most].map(|bytes| units::bytes(bytes, Units::Auto));
    figures.push(("History", format!("{used} of at most {most} (history.max_memory)")));
    if let Some(short) = app.engine.history.shortfall().rows_text() {
        figures.push(("Without history", format!("{short} (history.max_memory is too small)")));
    }
    let left_out = app.engine.history.held().left_out();
    if left_out > 0 {
        let text = format!("{} more hold memory", units::counted(left_out as u64, "process"));
        figures.push(("Held, no history", text));
    }
    figures
}

/// Returns the queries of a fleet, their cost and their faults.
fn of_fleet(app: &App, snapshot: &Snapshot, status: &FleetStatus, fleet: &Fleet) -> Vec<Figure> {
    let host = text::safe_prefix(&snapshot.host, 84).into_owned();
    let age = format!("sampled at most {} ago", units::span(app.rows.age(snapshot)));
    let mut figures = vec![
        ("Prometheus", host),
        ("Fleet", count(fleet)),
        ("Figures", age),
        ("Interval", units::span_exact(app.requests.interval)),
    ];
    if let Some(asked) = &status.asked {
        let text = format!(
            "{} in the last round, {} failed; {} of answers; rows shown after {} ms",
            asked.queries,
            asked.failed,
            units::bytes(asked.bytes, Units::Auto),
            asked.took.as_millis()
        );
        figures.push(("Queries", text));
        if let Some((query, took)) = &asked.slowest {
            let query = text::safe_prefix(query.as_bytes(), 200);
            figures.push(("Slowest query", format!("{} ms: {query}", took.as_millis())));
        }
    }
    figures.extend(status.fault_text().map(|fault| ("Error", fault)));
    figures.extend(status.remarks.iter().map(|remark| ("Remark", remark.clone())));
    let past = match &status.past {
        None => "requested",
        Some(None) => "complete for the last hour, as far as the server has data",
        Some(Some(lacks)) => lacks,
    };
    figures.push(("Time before", past.into()));
    figures.extend(own_cost(app, snapshot));
    figures
}

fn own_cost(app: &App, snapshot: &Snapshot) -> Option<Figure> {
    let cpu = app.engine.history.system().own_cpu? * 100.0;
    let rss = units::bytes(snapshot.own.ok()?.rss, Units::Auto);
    Some((
        "zmtop itself",
        format!("{cpu:.1} % of a core, {rss} of RSS, with its children"),
    ))
}

fn of_machine(app: &App, snapshot: &Snapshot) -> Vec<Figure> {
    let (sampling, coverage) = (&snapshot.sampling, &app.rows.coverage);
    let interval = units::span_exact(app.requests.interval);
    let hidden = coverage.hidden - coverage.pending;
    let processes = format!(
        "{}: {} read, {} being read, {hidden} not readable",
        coverage.total(),
        coverage.readable,
        coverage.pending
    );
    let age = format!(
        "at most {} old; {} may be off by more than 1 % and 1 MiB",
        units::span(app.rows.age(snapshot)),
        coverage.uncertain
    );
    let interval = format!("{interval}; the last scan took {} ms", sampling.took.as_millis());
    let walks = format!(
        "{} in the last scan, {} waiting. A walk reads smaps_rollup, for which the kernel walks the page tables. zmtop \
         walks a process if its counters changed",
        sampling.walks, sampling.waiting
    );
    let mut figures = vec![
        ("Processes", processes),
        ("Figures", age),
        ("Interval", interval),
        ("Walks", walks),
    ];
    let system = app.engine.history.system();
    if let (Some(budget), Some(spent)) = (sampling.budget, system.walked) {
        let text = format!(
            "{:.1} of at most {} % of a core (sampler.budget)",
            spent * 100.0,
            budget * 100.0
        );
        figures.push(("Cost of walks", text));
    }
    figures.extend(own_cost(app, snapshot));
    let (threads, stuck) = (sampling.threads, sampling.stuck);
    let reads = format!("{threads} threads, {stuck} reads stuck in the kernel");
    figures.push(("Reads", reads));
    if sampling.doubtful > 0 {
        let text = format!("{} processes: grant CAP_SYS_PTRACE", sampling.doubtful);
        figures.push(("May count twice", text));
    }
    figures
}
