//! Reads the files and shared memory that each process maps, while a filter or the panel needs them.
//!
//! A process is read at once when its mappings are first needed, and again after [`INTERVAL`] if it ran in between. A read takes some
//! 60 µs for 100 areas: the kernel walks no page tables for `maps`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::close_looks::{check_same, path};
use super::job::{Job, JobKey, job};
use super::table::SharedPaths;
use crate::model::mapping::MappedObject;
use crate::model::{Identity, Reading, Stat};
use crate::proc::files;
use crate::proc::maps::{MAX_MAPS, MappedFiles};
use crate::sampler::reading::Context;
use crate::sampler::reading::target::Target;

/// Minimum time between two reads of a process.
const INTERVAL: Duration = Duration::from_secs(30);
/// Maximum number of processes read in one tick, so that the first reads of thousands are spread over some.
const MOST_PER_TICK: usize = 500;
const READ_MICROS: u64 = 60;

#[derive(Default)]
pub(super) struct MappedReads {
    is_on: bool,
    watches: BTreeMap<Identity, Watch>,
    pub(super) found: Arc<BTreeMap<Identity, Reading<Arc<[MappedObject]>>>>,
    /// Each name once: most processes map the same libraries.
    names: SharedPaths,
}

#[derive(Default)]
struct Watch {
    exec: u32,
    /// Its CPU time when it was last read, in clock ticks.
    cpu: u64,
    read_at: Option<Duration>,
    is_reading: bool,
}

impl MappedReads {
    pub(super) fn show(&mut self, is_on: bool) {
        if is_on != self.is_on {
            *self = Self {
                is_on,
                ..Self::default()
            };
        }
    }

    /// Returns the due reads of these processes; a bounded number if they are `spread` over ticks.
    pub(super) fn jobs<'a>(
        &mut self,
        now: Duration,
        processes: impl Iterator<Item = (Identity, u32, &'a Stat)>,
        spread: bool,
    ) -> Vec<Job> {
        if !self.is_on {
            return Vec::new();
        }
        let mut jobs = Vec::new();
        let mut watches = BTreeMap::new();
        for (id, exec, stat) in processes.filter(|(.., stat)| stat.lacks_memory().is_none()) {
            let mut watch = self.watches.remove(&id).unwrap_or_default();
            let is_due = watch.read_at.is_none_or(|at| {
                watch.exec != exec || stat.cpu_ticks != watch.cpu && now.saturating_sub(at) >= INTERVAL
            });
            if is_due && !watch.is_reading && !(spread && jobs.len() >= MOST_PER_TICK) {
                watch = Watch {
                    exec,
                    cpu: stat.cpu_ticks,
                    read_at: Some(now),
                    is_reading: true,
                };
                let target = Arc::new(Target::bare(id.pid));
                jobs.push(job(
                    JobKey::Mapped(id.pid),
                    READ_MICROS,
                    move |context, reader| {
                        let share = context.shares.begin(&target, &context.roots);
                        share.map(|_share| read(id, context, reader.buf))
                    },
                    move |scanner, found| scanner.mapped.set(id, found),
                ));
            }
            watches.insert(id, watch);
        }
        self.watches = watches;
        if !self.found.keys().all(|id| self.watches.contains_key(id)) {
            Arc::make_mut(&mut self.found).retain(|id, _| self.watches.contains_key(id));
        }
        jobs
    }

    /// Sets the result of a read; `None` if it was not started.
    fn set(&mut self, id: Identity, found: Option<Reading<Vec<MappedObject>>>) {
        let Some(watch) = self.watches.get_mut(&id) else { return };
        watch.is_reading = false;
        let Some(found) = found else {
            watch.read_at = None;
            return;
        };
        let found = found.map(|mut objects| {
            for object in &mut objects {
                self.names.keep(&mut object.name);
            }
            objects.into()
        });
        Arc::make_mut(&mut self.found).insert(id, found);
    }
}

fn read(id: Identity, context: &Context, buf: &mut [u8]) -> Reading<Vec<MappedObject>> {
    let maps = files::slurp_grown(&path(&context.roots.proc, id.pid, "maps"), 32 << 10, MAX_MAPS);
    let maps = maps.map_err(files::reason)?;
    let mut mapped = MappedFiles::default();
    mapped.feed(&maps);
    check_same(id, context, buf)?;
    let object = |file: crate::proc::maps::MappedFile| MappedObject {
        device: file.id.0,
        inode: file.id.1,
        kind: file.name.kind,
        name: file.name.bytes,
    };
    Ok(mapped.all.into_iter().map(object).collect())
}
