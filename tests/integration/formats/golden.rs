//! Recordings of each version of the format, which stay readable for ever.
//!
//! `fixtures/recordings/v1` has recordings, and beside each `NAME.ndjson.zst`: the snapshots that it holds, as `zmtop/1`, with its
//! incidents in the last line. They never change. A later version of the format adds a folder, and a later field of `zmtop/1`
//! recordings that have it.
//!
//! | recording | how it was made |
//! | --- | --- |
//! | `kill` | `zmtop record` on an emulated machine with zram (Linux 6.12): a cgroup and the machine run out of memory |
//! | `anonymized` | the same, by `zmtop record cut --anonymize` |
//! | `boots` | several boots of such a machine, by `zmtop record cut` of their folder: a group each |
//! | `damaged` | the same, with bytes overwritten in the second group |
//! | `unfinished` | a kernel panic ended its writer |
//! | `headers` | `zmtop record` on an emulated machine (Linux 6.1): a cgroup runs out of memory, and forks come and go. Its header has the highest peak and the monotonic clock, its snapshots have the slab caches |
//! | `takers` | the black box of an emulated machine (Linux 6.1) that ran out of memory, by `zmtop record cut`: what took the memory was read before, and its heap was not understood |
//! | `every-field` | snapshots made for tests: every field, and names that harm terminals and parsers |

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::Value;
use zmtop::record::Record;
use zmtop::source::{Recording, Source};

/// The recordings, with a part of each fault that is reported.
const ALL: [(&str, &[&str]); 8] = [
    ("v1/anonymized", &[]),
    ("v1/boots", &[]),
    ("v1/damaged", &["line 40 is damaged"]),
    ("v1/every-field", &[]),
    ("v1/headers", &[]),
    ("v1/kill", &[]),
    ("v1/takers", &[]),
    ("v1/unfinished", &[]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings")
}

/// Reads the snapshots as documents, the incidents as one more, and the texts of the faults.
fn export(path: &Path) -> (Vec<Value>, Vec<String>) {
    let (mut documents, mut faults) = (Vec::new(), Vec::new());
    for next in Source::open(path).unwrap() {
        match next {
            // As text, so that a fraction is parsed as often as one of the fixture.
            Ok(snapshot) => documents.push(serde_json::to_string(&Record::new(&snapshot)).unwrap()),
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    let recording = Recording::open(path).unwrap();
    documents.push(serde_json::to_string(recording.incidents()).unwrap());
    let documents = documents.iter().map(|text| serde_json::from_str(text).unwrap());
    (documents.collect(), faults)
}

/// Returns the place and the values of the first part of `wanted` that `got` does not have. Fields that came later are no
/// difference.
fn lost(got: &Value, wanted: &Value) -> Option<String> {
    match (got, wanted) {
        (Value::Object(got), Value::Object(wanted)) => wanted.iter().find_map(|(key, wanted)| {
            // The reasons of fields that came later; those of others would be missed as values.
            let is_later = key == "unread" && wanted.is_null();
            let lost = lost(got.get(key).filter(|_| !is_later).unwrap_or(&Value::Null), wanted)?;
            Some(format!(".{key}{lost}"))
        }),
        (Value::Array(got), Value::Array(wanted)) if got.len() == wanted.len() => {
            let mut both = got.iter().zip(wanted).enumerate();
            both.find_map(|(at, (got, wanted))| Some(format!("[{at}]{}", lost(got, wanted)?)))
        }
        _ => (got != wanted).then(|| format!(": {wanted} became {got}")),
    }
}

#[test]
fn recordings_of_every_version_stay_readable() {
    let mut missing = Vec::new();
    for (name, faults) in ALL {
        let (documents, found) = export(&folder().join(format!("{name}.zmrec")));
        assert_eq!(found.len(), faults.len(), "{name}: {found:?}");
        for (found, part) in found.iter().zip(faults) {
            assert!(found.contains(part), "{name}: {found}");
        }
        let exported = folder().join(format!("{name}.ndjson.zst"));
        if !exported.exists() {
            let lines: Vec<_> = documents.iter().map(Value::to_string).collect();
            let lines = lines.join("\n");
            fs::write(&exported, zstd::encode_all(lines.as_bytes(), 19).unwrap()).unwrap();
            missing.push(exported);
            continue;
        }
        let lines = zstd::decode_all(File::open(exported).unwrap()).unwrap();
        let wanted: Vec<Value> = serde_json::Deserializer::from_slice(&lines)
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert_eq!(lost(&documents.into(), &wanted.into()), None, "{name}");
    }
    assert!(missing.is_empty(), "read what was written, and commit it: {missing:?}");
}

#[test]
fn headers_of_every_version_stay_readable() {
    // The digest of the boot, the snapshots, and what older versions have no field for: the highest peak in KiB and the monotonic clock
    // in milliseconds.
    for (name, headers) in [
        ("v1/kill", &[(2_094_094_453, 27, 0, 0, false)][..]),
        ("v1/unfinished", &[(1_743_046_589, 48, 17_844, 5747, true)]),
        (
            "v1/headers",
            &[(0, 1, 0, 37_465, false), (1_914_856_118, 24, 81_676, 40_034, false)],
        ),
    ] {
        let recording = Recording::open(&folder().join(format!("{name}.zmrec"))).unwrap();
        let groups = recording.groups().iter();
        let found: Vec<_> = groups
            .map(|group| {
                (
                    group.boot,
                    group.snapshots,
                    group.peak >> 10,
                    group.monotonic.as_millis(),
                    group.is_cut,
                )
            })
            .collect();
        assert_eq!(found, headers, "{name}");
    }
}

#[test]
fn the_recordings_are_all_there_is_and_small() {
    let mut names = Vec::new();
    for version in ["v1"] {
        for entry in fs::read_dir(folder().join(version)).unwrap() {
            let entry = entry.unwrap();
            assert!(entry.metadata().unwrap().len() <= 30 << 10, "{:?}", entry.path());
            let name = entry.file_name().into_string().unwrap();
            names.extend(name.strip_suffix(".zmrec").map(|name| format!("{version}/{name}")));
        }
    }
    names.sort();
    assert_eq!(names, ALL.map(|(name, _)| name));
}
