//! A replay from the beginning gives what the live session gave.

use std::time::{Duration, SystemTime};

use zmtop::source::Source;
use zmtop::tui::replay::ReplayStatus;

use super::{made, ndjson};
use crate::support::session::Session;

/// The lines that do not say that it is a replay: without the title, the time line and the keys.
fn body(session: &mut Session) -> Vec<String> {
    let timeline = usize::from(session.app.layout().timeline.height);
    let picture = session.picture();
    let lines: Vec<_> = picture.lines().map(str::to_owned).collect();
    let body = &lines[1..lines.len() - 1 - timeline];
    body.to_vec()
}

/// Returns the key and the judgement of each suspect, worst first.
fn verdicts(session: &Session) -> Vec<String> {
    let suspects = session.app.engine.suspects.iter();
    suspects
        .map(|suspect| format!("{:?} {:?}", suspect.key, suspect.judgement))
        .collect()
}

#[test]
fn every_tick_of_a_replay_has_the_screen_and_the_verdicts_of_the_live_session() {
    let begin = SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000);
    let snapshots = made(begin, 80);
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("recording");
    std::fs::write(&file, ndjson(&snapshots)).unwrap();

    for (keys, (width, height)) in [("", (120, 40)), ("t", (80, 24)), ("Tab", (200, 50)), ("2", (120, 40))] {
        let mut live = Session::new(width, height);
        let mut replay = Session::new(width, height + 2);
        replay.app.set_replay(Some(ReplayStatus::default()));
        for session in [&mut live, &mut replay] {
            // Advice about rights is for the present.
            session.app.privilege.root = true;
            session.keys(keys);
        }
        let mut ticks = 0;
        for (snapshot, read) in snapshots.iter().zip(Source::open(&file).unwrap()) {
            live.push(snapshot.clone());
            replay.push((*read.unwrap()).clone());
            assert_eq!(body(&mut replay), body(&mut live), "{keys} tick {ticks}");
            assert_eq!(verdicts(&replay), verdicts(&live), "{keys} tick {ticks}");
            ticks += 1;
        }
        assert_eq!(ticks, 80);
        assert!(!verdicts(&live).is_empty(), "the made machine has a process that grows");
    }
}
