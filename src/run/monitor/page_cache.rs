//! Lists the files that fill the page cache, on a separate thread for each read, so that the screen does not wait.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::{Input, tell};
use crate::model::Missing;
use crate::model::page_cache::CachedFile;
use crate::order;
use crate::proc::cgroup::figures;
use crate::proc::cgroup::scope::Place;
use crate::sampler::Options;
use crate::sampler::page_cache::{Named, read};
use crate::tui::{CacheScope, Event};

/// Minimum time between progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of examined files: a fraction of a second.
const MAX_FILES: usize = 20_000;

/// Starts a read, and sends its progress and its result, with the most cached files first.
pub(super) fn start(options: Options, number: u64, scope: CacheScope, send: &SyncSender<Input>) {
    let to = send.clone();
    let started = std::thread::Builder::new().name("zmtop-cache".into()).spawn(move || {
        let mut reported = Instant::now();
        let progress = |progress| {
            if reported.elapsed() >= PROGRESS_INTERVAL {
                reported = Instant::now();
                tell(&to, Event::CacheProgress(number, progress));
            }
            ControlFlow::Continue(())
        };
        let place = |path| Place::at(Arc::new(figures::mounts(&options.roots())?), path).map(Named::Cgroup);
        let named = match scope {
            CacheScope::All => Ok(None),
            CacheScope::Cgroup(path) => place(path).map(Some),
            CacheScope::Mount(path) => Ok(Some(Named::Path(OsStr::from_bytes(&path).into()))),
        };
        let found = named.and_then(|named| read(&options, named.as_slice(), MAX_FILES, progress));
        let found = found.map(|mut found| {
            let cached = |file: &CachedFile| file.figures.map_or(0, |figures| figures.cached);
            order::sort_by_key(&mut found.files, |file| Reverse(cached(file)));
            Arc::new(found)
        });
        // Waits while the screen is stuck. Ends with it.
        let _ = to.send(Input::Event(Event::CacheRead(number, found)));
    });
    if let Err(error) = started {
        tell(send, Event::Failed(format!("page cache not read: {error}")));
        let _ = send.try_send(Input::Event(Event::CacheRead(number, Err(Missing::Pending))));
    }
}
