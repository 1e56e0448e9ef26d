//! Processes whose first thread has ended while others live on (`pthread_exit` in `main`).
//!
//! The kernel shows such a process as a zombie without memory, program and arguments. Below `task`, all of it can
//! be read of any thread that lives.

use std::path::Path;

use super::target::Target;
use crate::model::{Missing, Reading, Stat};
use crate::proc::{files, stat};

/// Completes `stat`, just read of `target`'s first thread, where that has ended while others live on: it is given
/// the state and the memory of a living one, whose files `target` then names. Costs nothing for any other process.
///
/// Fails where it cannot be told if any thread lives.
pub(super) fn complete(stat: &mut Stat, target: &Target, proc: &Path, page: u64) -> Reading<()> {
    if stat.is_zombie() && stat.threads > 1 {
        return follow(stat, target, proc, page);
    }
    if target.thread().is_some() {
        // A thread that executes a program takes the place of the first.
        target.set_thread(None);
    }
    Ok(())
}

#[cold]
fn follow(stat: &mut Stat, target: &Target, proc: &Path, page: u64) -> Reading<()> {
    let known = target
        .thread()
        .and_then(|tid| Some((tid, living(tid, target, proc, page)?)));
    let found = match known {
        None => {
            let mut threads = Vec::new();
            match target.at_first(proc, b"task", |dir, name| {
                files::numbers(dir, name, 4 << 10, |tid| threads.push(tid))
            }) {
                Ok(()) => {}
                Err(e) if files::reason(e) == Missing::Gone => {}
                Err(e) => return Err(files::reason(e)),
            }
            let mut threads = threads.into_iter();
            threads.find_map(|tid| Some((tid, living(tid, target, proc, page)?)))
        }
        known => known,
    };
    target.set_thread(found.map(|(tid, _)| tid));
    if let Some((_, thread)) = found {
        // The rest is that of the whole process: its times and faults count all threads.
        *stat = Stat {
            state: thread.state,
            flags: thread.flags,
            vsize: thread.vsize,
            rss: thread.rss,
            image: thread.image,
            argv: thread.argv,
            ..*stat
        };
    }
    Ok(())
}

/// Returns the `stat` of a thread that has not given up its memory.
fn living(tid: u32, target: &Target, proc: &Path, page: u64) -> Option<Stat> {
    let mut buf = [0; 1024];
    let name = format!("task/{tid}/stat");
    let fd = target.open_first(proc, name.as_bytes()).ok()?;
    let len = files::read_record(fd, &mut buf).ok()?;
    let stat = stat::parse(&buf[..len], page).ok()?.stat;
    (!stat.is_zombie() && stat.vsize > 0).then_some(stat)
}
