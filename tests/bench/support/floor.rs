//! The least that reading every `smaps_rollup` can cost.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use zmtop::proc::files;

/// Lists `/proc`, then opens, reads and closes every `smaps_rollup` by its path, on that many threads.
pub(crate) fn floor(threads: usize) {
    let pids = zmtop::proc::pids::all(b"/proc").unwrap().pids;
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut buf = vec![0; 64 << 10];
                let mut path = Vec::new();
                while let Some(pid) = pids.get(next.fetch_add(1, Ordering::Relaxed)) {
                    path.clear();
                    write!(path, "/proc/{pid}/smaps_rollup").unwrap();
                    let read = files::open(&path).and_then(|fd| files::read_once(fd, &mut buf));
                    std::hint::black_box(read.is_ok());
                }
            });
        }
    });
}
