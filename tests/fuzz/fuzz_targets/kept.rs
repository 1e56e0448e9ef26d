//! The history that the monitor keeps between two runs, compressed and not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use zmtop::history::History;
use zmtop::history::kept::Kept;
use zmtop::model::Snapshot;
use zmtop::record;

static SNAPSHOTS: LazyLock<Vec<Arc<Snapshot>>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../fixtures/recordings/v1/every-field.ndjson.zst");
    let source = zmtop::source::Source::of_stream(support::file(bytes)).expect("the fixture is whole");
    source.filter_map(Result::ok).take(2).collect()
});

/// Writes a history of this version to begin with.
fn seed() {
    let Some(folder) = std::env::var_os("ZMTOP_FUZZ_BEGIN").map(PathBuf::from) else {
        return;
    };
    let mut history = History::new(Duration::from_secs(10));
    SNAPSHOTS.iter().for_each(|snapshot| history.push(snapshot));
    let Some(kept) = SNAPSHOTS.last().and_then(|last| history.keep(last, "n")) else {
        return;
    };
    let _ = std::fs::write(folder.join("kept"), &kept);
    let _ = record::pack_history(&kept).and_then(|packed| std::fs::write(folder.join("packed"), packed));
}

fuzz_target!(init: seed(), |bytes: &[u8]| {
    let unpacked = record::unpack_history(bytes, 1 << 20);
    for bytes in [Some(bytes), unpacked.as_deref().ok()].into_iter().flatten() {
        let Ok(Some(mut kept)) = Kept::read(bytes, "n") else { continue };
        black_box(kept.age(&SNAPSHOTS[0]));
        kept.drop_groups();
        let Ok(Some(kept)) = Kept::read(bytes, "n") else { continue };
        let mut history = History::new(Duration::from_secs(10));
        history.resume(kept);
        for snapshot in SNAPSHOTS.iter() {
            history.push(snapshot);
        }
        black_box(SNAPSHOTS.last().and_then(|last| history.keep(last, "n")));
    }
});
