//! Paths, mounts and figures of cgroups, and the files of container engines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::proc::cgroup::{self, container, figures};
use zmtop::proc::containers::records;
use zmtop::proc::{accounting, tracefs};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(path) = cgroup::parse(bytes) {
        black_box(format!("{path:?}"));
    }
    if let Ok(mounts) = cgroup::mounts(bytes) {
        black_box(cgroup::charged(bytes, mounts.version).ok());
        for path in bytes.split(|byte| *byte == b'\n').take(8) {
            black_box((mounts.directory(path), mounts.levels(path).len(), mounts.path(path)));
            black_box(mounts.within(path));
        }
    }
    for path in bytes.split(|byte| *byte == b'\n').take(64) {
        black_box((
            container::find(path).is_some(),
            container::owner(path),
            container::pod_uid(path),
        ));
        black_box((cgroup::above(path), cgroup::is_below(path, b"/a")));
        black_box((
            records::log_name(path).is_some(),
            records::pod_directory(path).is_some(),
        ));
    }
    black_box((figures::figure(bytes).ok(), figures::limit(bytes).ok()));
    black_box(figures::swap_limit(figures::limit(bytes), Ok(Some(1 << 40))).ok());
    black_box((accounting::memory_mounts(bytes).len(), tracefs::mounts(bytes).len()));
    black_box((records::docker(bytes).is_ok(), records::bundle(bytes).is_ok()));
    black_box(records::storage(bytes).map_or(0, |all| all.len()));
    black_box((records::docker_root(bytes), records::graph_root(bytes)));
});
