//! The report, in every format.

use std::time::Duration;

use serde_json::Value;
use zmtop::columns::callers::{COLUMNS, CallSites, CallerRow};
use zmtop::columns::{TableKind, layout};
use zmtop::filter::Filter;
use zmtop::model::Missing;
use zmtop::model::kernel::{CallFigures, CallSite, Callers, Symbol, Trace};
use zmtop::output::kernel::callers_report;
use zmtop::output::report_layout::ReportLayout;
use zmtop::output::{Format, OutputStyle, write};

fn site(address: u64, name: &str, module: Option<&str>, figures: [u64; 6]) -> CallSite {
    let [hits, requested, allocated, frees, freed, cross_cpu] = figures;
    CallSite {
        address: Some(address),
        symbol: (!name.is_empty()).then(|| Symbol {
            name: name.as_bytes().into(),
            module: module.map(|module| module.as_bytes().into()),
            address: address & !0xff,
        }),
        figures: CallFigures {
            hits,
            requested,
            allocated,
            frees,
            freed,
            cross_cpu,
            unfollowed: 0,
        },
    }
}

/// A trace with the two allocations of the manual of `perf kmem` that waste most: 8 bytes that take 32, and 4104 that take
/// 8192.
fn callers() -> Callers {
    Callers {
        sites: vec![
            site(
                0xffff_ffff_8100_011f,
                "small",
                None,
                [1000, 8000, 32_000, 900, 28_800, 7],
            ),
            site(
                0xffff_ffff_8100_0221,
                "big",
                Some("example"),
                [200, 820_800, 1_638_400, 0, 0, 0],
            ),
            site(0xffff_ffff_8100_0242, "big", Some("example"), [1, 100, 128, 1, 128, 1]),
            site(
                0xffff_ffff_8100_0300,
                "e\u{1b}]52;c;x\u{7}vil",
                Some("\u{202e}m"),
                [1, 64, 64, 1, 64, 0],
            ),
            site(0xffff_ffff_c000_0000, "", None, [2, 128, 128, 2, 128, 0]),
        ],
        symbols: Ok(()),
        trace: Trace {
            time: Duration::from_secs(5),
            events: 2108,
            lost: Some(0),
            torn: 0,
            failed: 0,
            older_frees: 0,
            unseen_frees: 0,
            unfollowed: 0,
            own: CallFigures::default(),
            cpu: Duration::from_millis(15),
            buffers: Some(2_887_680),
        },
    }
}

/// The report of all call sites, as JSON.
pub(crate) fn of_all() -> String {
    written(
        &callers(),
        "",
        |layout| layout.columns = COLUMNS.iter().collect(),
        Format::Json,
    )
}

type Layout = ReportLayout<CallSites>;

fn written(callers: &Callers, filter: &str, change: impl FnOnce(&mut Layout), format: Format) -> String {
    written_by(false, callers, filter, change, format)
}

fn written_by(
    by_symbol: bool,
    callers: &Callers,
    filter: &str,
    change: impl FnOnce(&mut Layout),
    format: Format,
) -> String {
    let mut layout = Layout {
        columns: layout::callers(),
        sort: CallSites::find("allocated").unwrap(),
        descending: true,
        top: None,
        style: OutputStyle::default(),
    };
    change(&mut layout);
    let filter = Filter::parse(filter, &COLUMNS).unwrap();
    let rows = CallerRow::of(callers, by_symbol).into_iter();
    let rows: Vec<_> = rows.filter(|row| filter.matches(row)).collect();
    let total = CallerRow::total(&rows, callers.trace.time.as_secs_f64());
    let report = callers_report(callers, by_symbol, (&rows, &total), layout);
    let mut out = Vec::new();
    write(&mut out, &report, format).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn call_sites_as_a_table() {
    let callers = callers();
    let text = written(&callers, "", |_| {}, Format::Table);
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text}");
    insta::assert_snapshot!("callers", text);
    let narrow = written(&callers, "", |layout| layout.style.width = Some(70), Format::Table);
    assert!(
        narrow.lines().take(7).all(|line| line.chars().count() <= 70),
        "{narrow}"
    );
    let chosen = |layout: &mut Layout| {
        layout.columns = ["frag", "frees", "freed", "cross_cpu", "module", "caller"]
            .iter()
            .filter_map(|id| CallSites::find(id))
            .collect();
        layout.sort = CallSites::find("caller").unwrap();
        layout.descending = false;
        layout.top = Some(2);
    };
    insta::assert_snapshot!(
        "callers-chosen",
        written_by(true, &callers, "hits>1", chosen, Format::Table)
    );
}

#[test]
fn what_is_not_whole_is_reported() {
    let mut callers = callers();
    callers.trace = Trace {
        lost: Some(77),
        torn: 1,
        failed: 2,
        older_frees: 3,
        unseen_frees: 1,
        unfollowed: 5,
        own: CallFigures {
            hits: 1200,
            requested: 4_000_000,
            allocated: 5_000_000,
            ..CallFigures::default()
        },
        buffers: None,
        ..callers.trace
    };
    callers.symbols = Err(Missing::Denied);
    callers.sites.iter_mut().for_each(|site| site.symbol = None);
    callers.sites[4].address = None;
    insta::assert_snapshot!(
        "callers-partial",
        written(&callers, "", |layout| layout.top = Some(1), Format::Table)
    );
    callers.trace.lost = None;
    let text = written(&callers, "", |_| {}, Format::Table);
    assert!(text.contains("how many were lost is not known"), "{text}");
    let json: Value = serde_json::from_str(&written(&callers, "", |_| {}, Format::Json)).unwrap();
    assert_eq!(json["lost"], Value::Null);
    assert_eq!((&json["torn"], &json["unfollowed"]), (&1.into(), &5.into()));
    assert!(json["unread"].as_str().unwrap().contains("kptr_restrict"));
}

#[test]
fn call_sites_as_data() {
    let callers = callers();
    let all = |layout: &mut Layout| layout.columns = COLUMNS.iter().collect();
    let json: Value = serde_json::from_str(&written(&callers, "", all, Format::Json)).unwrap();
    assert_eq!((&json["schema"], &json["lost"]), (&"zmtop-callers/1".into(), &0.into()));
    let small = json["callers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|site| site["caller"] == "small+0x1f")
        .unwrap();
    assert_eq!((&small["request"], &small["size"]), (&8.into(), &32.into()));
    assert_eq!((&small["wasted"], &small["growth"]), (&24_000.into(), &3200.into()));
    assert_eq!((&small["rate"], &small["frag"]), (&200.0.into(), &0.75.into()));
    assert_eq!(
        (&small["address"], &small["module"]),
        (&"0xffffffff8100011f".into(), &Value::Null)
    );
    let big = json["callers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|site| site["caller"] == "big+0x21 [example]")
        .unwrap();
    assert_eq!((&big["request"], &big["size"]), (&4104.into(), &8192.into()));
    let sum: u64 = callers.sites.iter().map(|site| site.figures.allocated).sum();
    assert_eq!(json["totals"]["allocated"], sum);
    assert_eq!(json["totals"]["cross_cpu"], 8);
    assert_eq!(json["totals"].get("size"), None, "no sum of averages");
    let csv = written(&callers, "example", all, Format::Csv);
    assert!(csv.starts_with("allocated,requested,wasted,"), "{csv}");
    assert_eq!(csv.lines().count(), 3);
}
