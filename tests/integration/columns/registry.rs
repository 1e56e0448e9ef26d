//! The table itself: every entry whole, none twice.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::support::rows::{process, snapshot, walk, with_facts};
use unicode_width::UnicodeWidthStr;

use zmtop::columns::{
    COLUMNS, Column, ColumnId, Needs, PopulationFigures, Row, SortKey, TableKind, Unit, Value, find, limit, mapping,
    needs_of_filter, suspect, system,
};
use zmtop::filter::{Filter, Filterable, Schema};
use zmtop::group::Totals;
use zmtop::group::tree::Forest;
use zmtop::history::mappings::{Coldness, ColdnessTable};
use zmtop::history::{History, Mark, RowHistory};
use zmtop::model::cgroup::Count;
use zmtop::model::mapping::{Extent, Mapping, MappingName};
use zmtop::model::snapshot::MallocHeap;
use zmtop::model::{CgroupFigures, Missing, ProcessSample, Snapshot};
use zmtop::text::Align;
use zmtop::trend::Verdict;
use zmtop::units::Units;

#[test]
fn ids_titles_and_metrics_are_unique() {
    let unique = |texts: Vec<&str>| texts.len() == texts.iter().collect::<HashSet<_>>().len();
    assert!(unique(COLUMNS.iter().map(|c| c.id).collect()));
    assert!(unique(COLUMNS.iter().map(|c| c.title).collect()));
    assert!(unique(COLUMNS.iter().filter_map(|c| c.metric).collect()));
    for (at, column) in COLUMNS.iter().enumerate() {
        assert_eq!(find(column.id), Some(ColumnId(at)));
        assert_eq!(ColumnId(at).get().id, column.id);
    }
    assert_eq!(ColumnId::all().count(), COLUMNS.len());
    assert_eq!(find("nonsense"), None);
}

#[test]
fn ids_can_be_typed_and_metrics_are_prometheus_names() {
    let typed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    for column in COLUMNS {
        assert!(column.id.starts_with(|c: char| c.is_ascii_lowercase()), "{}", column.id);
        assert!(column.id.chars().all(typed), "{}", column.id);
        if let Some(metric) = column.metric {
            assert!(metric.starts_with("zmtop_") && metric.chars().all(typed), "{metric}");
            assert_eq!(column.unit == Unit::Bytes, metric.ends_with("_bytes"), "{metric}");
        }
    }
}

/// Checks one table: no id and no title twice, ids that can be typed, a help text, and figures to the right.
fn check_table<T: TableKind>(columns: &[Column<T>]) {
    let ids: HashSet<_> = columns.iter().map(|c| c.id).collect();
    let titles: HashSet<_> = columns.iter().map(|c| c.title).collect();
    assert_eq!((ids.len(), titles.len()), (columns.len(), columns.len()));
    for column in columns {
        let id = column.id;
        assert!(
            id.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
            "{id}"
        );
        assert!(column.help.ends_with('.') && !column.title.is_empty(), "{id}");
        let words = matches!(column.unit, Unit::Text | Unit::Chart | Unit::Trend | Unit::Verdict);
        assert_eq!(column.align() == Align::Left, words, "{id}");
        assert!(column.ascending || column.unit != Unit::Text, "{id}");
    }
}

#[test]
fn the_other_tables_keep_the_same_rules() {
    check_table(COLUMNS);
    check_table(mapping::COLUMNS);
    check_table(suspect::COLUMNS);
    check_table(system::COLUMNS);
    check_table(limit::COLUMNS);
}

#[test]
fn what_is_over_time_needs_a_history() {
    for column in COLUMNS {
        let needs_it = column.needs.contains(Needs::HISTORY);
        match column.unit {
            Unit::Delta | Unit::Growth | Unit::PerSecond | Unit::Chart | Unit::Trend | Unit::Verdict => {
                assert!(needs_it, "{}", column.id);
            }
            Unit::Seconds | Unit::Share => {
                let over_time = ["since", "eta", "cpu", "confidence"].contains(&column.id);
                assert!(needs_it || !over_time, "{}", column.id);
            }
            // A parent is gone if another one was seen before.
            Unit::Count if ["orphans", "count_pace"].contains(&column.id) => assert!(needs_it),
            Unit::Bytes | Unit::Count | Unit::Text => assert!(!needs_it, "{}", column.id),
        }
    }
}

#[test]
fn every_column_says_what_it_is_and_where_it_is_from() {
    for column in COLUMNS {
        let help = column.help;
        assert!(help.len() > 20 && help.ends_with('.'), "{}: {help}", column.id);
        let source = [
            "Kernel:",
            "Formula:",
            "smaps_rollup",
            "of stat",
            "status",
            "cgroup path",
            "footprint",
            "PSS of",
            "Swap of",
            "walk",
            "command line",
        ];
        assert!(
            source.iter().any(|s| help.contains(s)),
            "{}: no source in {help}",
            column.id
        );
        assert!(!help.contains("  "), "{}: {help}", column.id);
    }
}

#[test]
fn titles_fit_and_widths_hold_their_units() {
    for column in COLUMNS {
        let title = column.title.width();
        assert!(title >= 1, "{}", column.id);
        for units in Units::ALL {
            assert!(column.width_in(units) >= column.width);
            assert!(title <= usize::from(column.width_in(units)), "{}", column.id);
            if column.unit == Unit::Delta {
                assert!(column.width_in(units) > units.width());
            }
        }
    }
    assert_eq!(
        COLUMNS.iter().filter(|c| c.grows).map(|c| c.id).collect::<Vec<_>>(),
        ["command", "cmdline"]
    );
}

#[test]
fn figures_stand_to_the_right_and_words_to_the_left() {
    for column in COLUMNS {
        let words = matches!(column.unit, Unit::Text | Unit::Chart | Unit::Trend | Unit::Verdict);
        assert_eq!(column.align() == Align::Left, words, "{}", column.id);
    }
    let ascending: Vec<_> = COLUMNS.iter().filter(|c| c.ascending).map(|c| c.id).collect();
    assert_eq!(
        ascending,
        [
            "pid",
            "ppid",
            "user",
            "owner",
            "state",
            "unit",
            "container",
            "container_id",
            "pod",
            "namespace",
            "image",
            "cgroup",
            "family",
            "host",
            "comm",
            "exe",
            "replaced",
            "unread",
            "command",
            "cmdline",
            "group"
        ]
    );
}

/// The seconds that are enough to know all of a process.
const LAST: u64 = 900;

/// A process of which everything is known, with its history: it leaks.
fn known() -> (ProcessSample, RowHistory) {
    let mut sample = with_facts(process(1, 0, "init"), |f| {
        f.unit = Some((*b"init.scope").into());
        f.exe = Ok((*b"/sbin/init").into());
        f.replaced = Some(zmtop::model::Replaced::Updated);
        f.container = Some(Arc::new(zmtop::model::Container {
            id: (*b"0123456789ab").into(),
            names: Ok(zmtop::model::ContainerNames {
                name: (*b"web").into(),
                pod: Some((*b"web-7d9f").into()),
                namespace: Some((*b"shop").into()),
                image: Some((*b"nginx:1.27").into()),
            }),
        }));
    });
    sample.oom_score = Ok(1);
    sample.peak = Ok(1 << 20);
    sample.page_tables = Ok(1 << 16);
    sample.held = crate::support::holding(4096);
    sample.stat.vsize = 1 << 30;
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..LAST {
        sample.walk = Ok(walk((second + 1) << 20, second << 20));
        let mut snap = snapshot(Duration::from_secs(second), vec![sample.clone()]);
        snap.system.uptime = Ok(100_000.0 + second as f64);
        history.push(&snap);
    }
    let series = history.get(sample.id).unwrap().clone();
    (sample, series)
}

/// A snapshot in which the cgroup of [`known`] has figures.
fn whole() -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(LAST), Vec::new());
    snap.system.uptime = Ok(1000.0);
    snap.system.mem_available = Ok(1 << 30);
    snap.system.mem_total = Ok(1 << 33);
    let figures = CgroupFigures {
        current: Ok(1 << 20),
        swap: Ok(0),
        limit: Ok(Some(1 << 30)),
        swap_limit: Ok(None),
        high: Ok(Some(1 << 29)),
        reclaimable: Ok(1 << 18),
        inactive_file: Ok(1 << 17),
        oom_kills: Ok(Count(1)),
        peak: Ok(1 << 21),
        dying: Ok(Count(2)),
        ..CgroupFigures::missing(Missing::Unsupported)
    };
    snap.cgroups = Arc::new([(Arc::from(&b"/"[..]), figures)].into());
    let heap = MallocHeap {
        at: Duration::from_secs(LAST),
        free: 3 << 20,
        kept: 1 << 20,
    };
    snap.heaps = Arc::new([(known().0.id, heap)].into());
    snap
}

/// A mark at which [`known`] held a MiB less, of both.
fn mark() -> Mark {
    let (mut sample, _) = known();
    sample.walk = Ok(walk((LAST - 1) << 20, (LAST - 2) << 20));
    Mark::new(&snapshot(Duration::from_secs(LAST - 10), vec![sample]))
}

/// Returns the table of the memory that [`known`] touched.
fn touched(sample: &ProcessSample) -> ColdnessTable {
    let mut table = ColdnessTable::default();
    table.ask(sample);
    let extent = Extent {
        referenced: Ok(1 << 20),
        ..Extent::NONE
    };
    let heap = Mapping {
        memory: sample.memory().copied(),
        extent: Ok(extent),
        ..Mapping::new(MappingName::parse(b"[heap]", false))
    };
    let look = table.looks().next().unwrap();
    table.record(look, Ok(Coldness::new(&[heap], Duration::from_secs(60))));
    table
}

/// The kind of value that a column of a unit gives.
fn fits(column: &Column, value: &Value<'_>) -> bool {
    matches!(
        (column.unit, value),
        (Unit::Bytes, Value::Bytes(_))
            | (Unit::Delta, Value::Delta(..))
            | (Unit::Growth, Value::Growth(_))
            | (Unit::PerSecond, Value::PerSecond(_))
            | (Unit::Share, Value::Share(_))
            | (Unit::Count, Value::Count(_) | Value::Id(_))
            | (Unit::Seconds, Value::Seconds(_) | Value::Forecast(_))
            | (Unit::Text, Value::Text(_))
            | (Unit::Chart, Value::Chart(..))
            | (Unit::Trend, Value::Trend(..))
            | (Unit::Verdict, Value::Verdict(_))
    )
}

#[test]
fn a_known_process_has_a_value_of_its_unit_in_every_column() {
    let (sample, series) = known();
    let (snap, mark) = (whole(), mark());
    let coldness = touched(&sample);
    let row = Row {
        held: Some(&series),
        population: Some(PopulationFigures::default()),
        ..Row::of_process(&sample, Some(&series), &snap)
    };
    let row = row.with_mark(Some(&mark)).with_coldness(Some(&coldness));
    // Why a process cannot be read is not said of one that can, nor the host of one on this machine.
    for column in COLUMNS.iter().filter(|c| !["unread", "host"].contains(&c.id)) {
        let value = (column.value)(&row);
        assert!(fits(column, &value), "{}: {value:?}", column.id);
        assert_ne!(column.sort_key(&row), SortKey::Missing, "{}", column.id);
    }
}

#[test]
fn a_hidden_process_has_no_figure_of_its_memory_and_never_a_zero() {
    let (mut sample, series) = known();
    sample.walk = Err(Missing::Denied);
    sample.held = Some(Arc::new(Err(Missing::Denied)));
    let snap = snapshot(Duration::from_secs(30), Vec::new());
    let mark = mark();
    let row = Row::of_process(&sample, Some(&series), &snap).with_mark(Some(&mark));
    for column in COLUMNS {
        let value = (column.value)(&row);
        if column.id.starts_with("cg_") {
            // The cgroup's own figures do not hang on the process.
            assert!(
                matches!(value, Value::Missing(Missing::Pending)),
                "{}: {value:?}",
                column.id
            );
        } else if ["virt", "peak", "page_tables"].contains(&column.id) {
            assert!(
                matches!(value, Value::Bytes(_)),
                "stat and status may be read by everybody: {value:?}"
            );
        } else if matches!(column.unit, Unit::Bytes | Unit::Delta | Unit::Growth) || column.id == "age" {
            assert!(
                matches!(value, Value::Missing(Missing::Denied)),
                "{}: {value:?}",
                column.id
            );
            assert_eq!(column.sort_key(&row), SortKey::Missing);
        }
    }
}

#[test]
fn before_the_second_snapshot_changes_are_pending() {
    let (sample, _) = known();
    let snap = snapshot(Duration::from_secs(30), Vec::new());
    for id in ["dpss", "dswap", "growth", "cpu", "majflt", "minflt"] {
        let row = Row::of_process(&sample, None, &snap);
        let value = (find(id).unwrap().get().value)(&row);
        assert!(matches!(value, Value::Missing(Missing::Pending)), "{id}: {value:?}");
    }
}

#[test]
fn additive_columns_have_a_total_and_the_others_leave_it_blank() {
    let (sample, series) = known();
    let mut snap = snapshot(Duration::from_secs(30), Vec::new());
    snap.system.mem_total = Ok(1 << 33);
    let totals = Totals::of([&sample, &sample], |_| Some(*series.change()));
    let row = Row::of_totals(&totals, &snap);
    for column in COLUMNS {
        let value = (column.value)(&row);
        if column.additive {
            let one = (column.value)(&Row::of_process(&sample, Some(&series), &snap))
                .number()
                .unwrap();
            let two = value.number().unwrap();
            assert!(
                (two - 2.0 * one).abs() <= 1e-6 * one.abs(),
                "{}: {one} {two}",
                column.id
            );
        } else {
            assert!(matches!(value, Value::Blank), "{}: {value:?}", column.id);
        }
    }
}

#[test]
fn tree_columns_sum_the_subtree_and_else_show_the_own() {
    let rows = [process(1, 0, "a"), process(2, 1, "b")];
    let sums = Forest::new(&rows).subtrees(&rows, |_| None);
    let snap = snapshot(Duration::from_secs(1), Vec::new());
    let mut row = Row::of_process(&rows[0], None, &snap);
    let pss = |row: &Row<'_>| (find("tree_pss").unwrap().get().value)(row).number();
    assert_eq!(pss(&row), Some(f64::from(10 << 20)));
    row.totals = Some(&sums[0]);
    assert_eq!(pss(&row), Some(f64::from(20 << 20)));
}

#[test]
fn every_figure_is_a_key_of_the_filter_and_no_word_is() {
    let (sample, series) = known();
    let snap = whole();
    let mark = mark();
    let coldness = touched(&sample);
    let subject = Row {
        held: Some(&series),
        population: Some(PopulationFigures::default()),
        ..Row::of_process(&sample, Some(&series), &snap)
    };
    let subject = subject.with_mark(Some(&mark)).with_coldness(Some(&coldness));
    for (at, column) in COLUMNS.iter().enumerate() {
        let known = COLUMNS.figure(column.id).map(|(at, _)| at);
        assert_eq!(known, (column.unit != Unit::Text).then_some(at), "{}", column.id);
        assert_eq!(COLUMNS.figures().contains(&column.id), known.is_some(), "{}", column.id);
        if known.is_some() {
            let least = if column.unit == Unit::Verdict { "shrinking" } else { "0" };
            let filter = Filter::parse(&format!("{}>={least}", column.id), &COLUMNS).unwrap();
            assert!(filter.matches(&subject), "{}", column.id);
            assert!(subject.number(at).is_some());
        } else {
            // A word column is a key with a colon.
            Filter::parse(&format!("{}:R", column.id), &COLUMNS).unwrap();
        }
    }
}

#[test]
fn a_filter_needs_what_its_columns_and_texts_need() {
    for (text, needs) in [
        ("", Needs::NOTHING),
        ("pid:1", Needs::NOTHING),
        ("pss>1M", Needs::MEMORY),
        ("python", Needs::COMMAND_LINE.and(Needs::STAT).and(Needs::USER)),
        ("/python/", Needs::COMMAND_LINE.and(Needs::STAT)),
        ("user:alice | !state:R", Needs::USER.and(Needs::STAT)),
        ("unit:ssh oom_score>1", Needs::CGROUP_PATH.and(Needs::OOM_SCORE)),
        ("cmd:cg_limit", Needs::COMMAND_LINE),
        ("!(cg_limit>1M)", Needs::CGROUP_PATH.and(Needs::CGROUP_FIGURES)),
        ("group:python", Needs::PROGRAM_NAME),
        ("replaced:deleted", Needs::PROGRAM),
        ("unread:denied", Needs::MEMORY),
    ] {
        let filter = Filter::parse(text, &COLUMNS).unwrap();
        assert_eq!(needs_of_filter(&filter), needs, "{text}");
    }
}

#[test]
fn the_help_of_the_verdicts_metric_names_each_value() {
    let metric = COLUMNS
        .iter()
        .find(|column| column.metric == Some("zmtop_verdict"))
        .unwrap();
    for verdict in Verdict::ALL {
        if let Some(rank) = verdict.rank() {
            let named = format!("{rank} {}", verdict.id());
            assert!(metric.help_of_metric().contains(&named), "{named}");
        }
    }
}
