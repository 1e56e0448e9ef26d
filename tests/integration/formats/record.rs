//! Schema `zmtop/1`, both ways.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use zmtop::model::{Missing, Snapshot};
use zmtop::output::json;
use zmtop::record;
use zmtop::record::{Record, RecordError};

use super::made::{HOSTILE, any_snapshot, hostile, small, told};

fn written(snapshot: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    json::line(&mut out, &Record::new(snapshot)).unwrap();
    out
}

#[track_caller]
fn read(json: &[u8]) -> Snapshot {
    let recorded = record::read(json).unwrap();
    let monotonic = recorded.monotonic.unwrap_or(Duration::from_secs(100));
    recorded.at(monotonic, 1)
}

/// Asserts that two snapshots agree in the cells of [`told`] and in all other fields, except the digests, which no file holds.
#[track_caller]
pub(super) fn assert_same(a: &Snapshot, b: &Snapshot) {
    assert_eq!(told(a), told(b));
    assert_eq!(format!("{:?}", a.system), format!("{:?}", b.system));
    assert_eq!((&a.accounting, &a.oom_kills), (&b.accounting, &b.oom_kills));
    assert_eq!((&a.cgroups, &a.exits), (&b.cgroups, &b.exits));
    assert_eq!((&a.oom_counts, &a.killers), (&b.oom_counts, &b.killers));
    assert_eq!((&a.jvms, &a.address_limits), (&b.jvms, &b.address_limits));
    assert_eq!(a.kernel.slab, b.kernel.slab);
    assert_eq!((&a.host, &a.boot_id, a.own), (&b.host, &b.boot_id, b.own));
    assert_eq!((a.time, a.monotonic), (b.time, b.monotonic));
    assert_eq!(a.sampling, b.sampling);
    assert_eq!(a.processes.as_ref().err(), b.processes.as_ref().err());
    for (a, b) in a.rows().iter().zip(b.rows()) {
        assert_eq!(a.facts, b.facts);
        assert_eq!(
            (a.id, a.exec, a.stale, a.shares_mm),
            (b.id, b.exec, b.stale, b.shares_mm)
        );
        assert_eq!(
            (a.walk, a.stat, a.oom_score, a.peak, a.page_tables),
            (b.walk, b.stat, b.oom_score, b.peak, b.page_tables)
        );
        assert_eq!(a.held, b.held);
    }
}

#[test]
fn a_small_one_comes_back() {
    assert_same(&small(), &read(&written(&small())));
}

#[test]
fn of_slab_caches_the_largest_are_recorded() {
    let mut made = small();
    let slab = made.kernel.slab.as_mut().unwrap();
    let caches = &mut Arc::make_mut(slab).caches;
    let dentry = caches[1].clone();
    // 50 of 1 MiB and more, and one that is smaller.
    *caches = (0..=50)
        .map(|n| {
            let mut cache = dentry.clone();
            cache.name = format!("cache-{n:02}").into_bytes().into();
            cache.figures.size = (1 << 20) - 1 + n;
            cache
        })
        .collect();
    let back = read(&written(&made)).kernel.slab.unwrap();
    let names: Vec<_> = back
        .caches
        .iter()
        .map(|cache| String::from_utf8_lossy(&cache.name))
        .collect();
    let expected: Vec<_> = (11..=50).map(|n| format!("cache-{n:02}")).collect();
    assert_eq!(names, expected);
    // Of a table that could not be read, nothing is said.
    made.kernel.slab = Err(Missing::Denied);
    let line = String::from_utf8(written(&made)).unwrap();
    assert!(!line.contains("\"slab\":{"), "{line}");
}

#[test]
fn hostile_names_come_back_byte_for_byte() {
    let before = hostile();
    let after = read(&written(&before));
    assert_same(&before, &after);
    for (row, name) in after.rows().iter().zip(HOSTILE) {
        assert_eq!(&*row.facts.comm, name);
        assert_eq!(row.facts.user.as_deref(), Ok(name));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_was_written_gives_the_same_tables(before in any_snapshot()) {
        assert_same(&before, &read(&written(&before)));
    }
}

#[test]
fn the_least_that_is_read() {
    let least = json!({"schema": "zmtop/1", "time": "2026-11-20T23:51:00+01:00",
        "processes": [{"pid": 7, "starttime": 3}, {"pid": 5, "starttime": 9}, {"pid": 5, "starttime": 9}]});
    let got = read(least.to_string().as_bytes());
    assert_eq!(got.rows().iter().map(|r| r.id.pid).collect::<Vec<_>>(), [5, 7]);
    let row = &got.rows()[0];
    assert_eq!(row.walk, Err(Missing::Unsupported));
    assert_eq!(row.facts.user, Err(Missing::Unsupported));
    assert_eq!(row.facts.exe, Err(Missing::Pending));
    assert_eq!(got.system.mem_total, Err(Missing::Unsupported));
    let bare = json!({"schema": "zmtop/1.9", "time": "2026-11-20T23:51:00Z", "new": {"pid": []}});
    let got = read(bare.to_string().as_bytes());
    assert_eq!(got.processes.unwrap_err(), Missing::Unsupported);
}

/// A walk is whole or unknown: half of one would show zeros.
#[test]
fn a_device_of_an_old_record_is_swap_if_its_areas_say_so_or_are_unknown() {
    let area = |path: &str| json!([{"path": path, "kind": "partition", "size": 9000, "used": 10, "priority": 5}]);
    let device = json!({"name": "zram0", "stored": 10, "compressed": 5});
    for (swaps, total, is_swap) in [
        (area("/dev/zram0"), 9000, true),
        (area("/dev/sda1"), 9000, false),
        (json!(null), 9000, true),
        (json!(null), 0, false),
    ] {
        let system = json!({"mem_total": 1, "swap_total": total, "swaps": swaps, "zram": [device]});
        let record = json!({"schema": "zmtop/1", "time": "2026-11-20T23:51:00Z", "system": system, "processes": []});
        let snapshot = read(record.to_string().as_bytes());
        assert_eq!(snapshot.system.zram[0].is_swap, is_swap, "{record}");
    }
}

#[test]
fn half_a_walk_is_none() {
    let mut whole: serde_json::Value = serde_json::from_slice(&written(&small())).unwrap();
    for field in [
        "rss",
        "pss",
        "swap",
        "private_clean",
        "private_dirty",
        "shared_clean",
        "shared_dirty",
    ] {
        let taken = whole["processes"][0].as_object_mut().unwrap().remove(field).unwrap();
        let got = read(whole.to_string().as_bytes());
        assert_eq!(got.rows()[0].walk, Err(Missing::Unsupported), "{field}");
        whole["processes"][0][field] = taken;
    }
    assert!(read(whole.to_string().as_bytes()).rows()[0].walk.is_ok());
}

#[test]
fn reasons_are_one_or_by_field() {
    let written: serde_json::Value = serde_json::from_slice(&written(&small())).unwrap();
    let unread = |i: usize| written["processes"][i]["unread"].clone();
    assert_eq!(unread(0), json!(null));
    assert_eq!(unread(1), json!("kernel thread"));
    assert_eq!(unread(2), json!({"pss_dirty": "not offered by this kernel"}));
    assert_eq!(
        unread(3),
        json!({"memory": "permission denied", "held": "permission denied", "cmdline": "malformed"})
    );
    let odd = json!({"schema": "zmtop/1", "time": "2026-11-20T23:51:00Z", "processes":
        [{"pid": 1, "starttime": 1, "unread": "read error 5"}, {"pid": 2, "starttime": 1, "unread": "the moon"}]});
    let got = read(odd.to_string().as_bytes());
    assert_eq!(got.rows()[0].walk, Err(Missing::Errno(5)));
    assert_eq!(got.rows()[1].walk, Err(Missing::Unsupported));
}

#[track_caller]
fn refused(json: &str, want: &str) -> RecordError {
    let error = record::read(json.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), want);
    error
}

#[test]
fn what_is_none_is_refused_with_a_reason() {
    let newer = r#"{"schema":"zmtop/2","time":[],"processes":{}}"#;
    let what = "its schema is zmtop/2, which is newer than this zmtop: it reads zmtop/1";
    assert!(matches!(refused(newer, what), RecordError::Newer(_)));
    refused(
        r#"{"schema":"zmtop/2.1","time":"2026-11-20T23:51:00Z"}"#,
        "its schema is zmtop/2.1, which is newer than this zmtop: it reads zmtop/1",
    );
    for (schema, shown) in [
        ("zmtop-table/1", "zmtop-table/1"),
        ("x\u{1b}[2J", "x\\x1b[2J"),
        ("zmtop/0", "zmtop/0"),
    ] {
        refused(
            &json!({"schema": schema, "time": "2026-11-20T23:51:00Z"}).to_string(),
            &format!("its schema is {shown}, not zmtop/1: it is not a snapshot that zmtop ps --format ndjson wrote"),
        );
    }
    refused(
        r#"{"time":"2026-11-20T23:51:00Z"}"#,
        "its schema is not given, not zmtop/1: it is not a snapshot that zmtop ps --format ndjson wrote",
    );
    refused(r#"{"schema":"zmtop/1"}"#, "missing field `time` (column 20)");
    refused(
        r#"{"schema":"zmtop/1","time":"2026-11-20T23:51:00Z","processes":[{"pid":1}]}"#,
        "missing field `starttime` (column 72)",
    );
    let cut = refused(r#"{"schema":"zmtop/1","ti"#, "EOF while parsing a string (column 23)");
    assert!(matches!(cut, RecordError::Malformed { cut: true, .. }));
    let evil = r#"{"schema":"zmtop/1","time":"2026-11-20T23:51:00Z","interval_s":"\u001b[2J\u202e"}"#;
    let error = record::read(evil.as_bytes()).unwrap_err().to_string();
    assert!(!error.contains(['\u{1b}', '\u{202e}']), "{error:?}");
}

#[test]
fn a_huge_number_is_malformed_not_a_panic() {
    for (field, value) in [
        ("monotonic_s", "1e300"),
        ("monotonic_s", "-1"),
        ("interval_s", "1e19"),
        ("took_s", "-0.0"),
        ("monotonic_s", "1e999"),
    ] {
        let text = format!(r#"{{"schema":"zmtop/1","time":"2026-11-20T23:51:00Z","{field}":{value}}}"#);
        if let Ok(recorded) = record::read(text.as_bytes()) {
            let monotonic = recorded.monotonic.unwrap_or_default();
            told(&recorded.at(monotonic, 1));
        }
    }
}

/// Calls `each` with every number of a value, as a place to write another one.
fn numbers(value: &mut serde_json::Value, path: &mut Vec<String>, each: &mut impl FnMut(&str, &mut serde_json::Value)) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                path.push(name.clone());
                numbers(field, path, each);
                path.pop();
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().take(2).for_each(|item| numbers(item, path, each)),
        serde_json::Value::Number(_) => each(&path.join("."), value),
        _ => {}
    }
}

#[test]
fn a_number_beyond_all_bounds_in_any_place_does_no_harm() {
    let good: serde_json::Value = serde_json::from_slice(&written(&small())).unwrap();
    let mut places = 0;
    numbers(&mut good.clone(), &mut Vec::new(), &mut |_, _| places += 1);
    assert!(places > 40, "{places}");
    let bad = [
        "1e19",
        "1.8446744073709550e19",
        "18446744073709551615",
        "-1",
        "1e300",
        "4294967295",
    ];
    for (place, text) in (0..places).flat_map(|place| bad.map(|text| (place, text))) {
        let (mut value, mut at) = (good.clone(), 0);
        numbers(&mut value, &mut Vec::new(), &mut |_, number| {
            if at == place {
                *number = serde_json::from_str(text).unwrap();
            }
            at += 1;
        });
        let Ok(recorded) = record::read(value.to_string().as_bytes()) else {
            continue;
        };
        let mut state = zmtop::engine::State::default();
        for (at, snapshot) in [
            read(&written(&small())),
            recorded.clone().at(recorded.monotonic.unwrap_or_default(), 2),
        ]
        .into_iter()
        .enumerate()
        {
            state.push(Arc::new(snapshot.clone()));
            let snapshot = recorded
                .clone()
                .at(snapshot.monotonic.saturating_add(Duration::from_secs(at as u64 + 1)), 3);
            told(&snapshot);
            state.push(Arc::new(snapshot));
        }
    }
}
