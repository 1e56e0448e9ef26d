//! OOM kills from before zmtop started.

use std::time::{Duration, SystemTime};

use crate::model::kill::OomKill;
use crate::proc::clock;
use crate::proc::files::Roots;
use crate::proc::kmsg::{KillLog, LoggedKill};
use crate::proc::system::{Machine, SystemFile};

/// Kills are reported from this long before zmtop started.
const EARLIER: Duration = Duration::from_secs(600);

/// Returns the kills of the last ten minutes. Their times come from the log, whose clock differs a little.
pub(super) fn recent(kills: Vec<LoggedKill>) -> Vec<OomKill> {
    let (now, time) = (clock::monotonic(), SystemTime::now());
    let recent = kills.into_iter().filter_map(|kill| {
        let ago = now.saturating_sub(kill.at);
        (ago < EARLIER).then(|| OomKill {
            time: time.checked_sub(ago).unwrap_or(time),
            monotonic_ms: Ok(now.saturating_sub(ago).as_millis() as u64),
            record: Some(kill.record),
            daemon: None,
            victim: Ok(kill.victim),
        })
    });
    recent.collect()
}

/// Reads the OOM kills of the last ten minutes; none if the log cannot be read. The log is only read if there were kills
/// since boot.
pub(super) fn read_recent(roots: &Roots) -> Vec<OomKill> {
    let mut buf = vec![0; 64 << 10];
    let mut machine = Machine::default();
    SystemFile::Vmstat.read(roots, &mut buf)(&mut machine);
    if !machine.sample.oom_kill.is_ok_and(|kills| kills > 0) {
        return Vec::new();
    }
    let found = KillLog::default().read(roots, &mut buf);
    found.map_or_else(|_| Vec::new(), |found| recent(found.kills))
}
