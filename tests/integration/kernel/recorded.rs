//! `zmtop why` about recordings of this machine in which no memory ran out.

use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use zmtop::model::{Exit, Missing};
use zmtop::source::Source;

use super::child::Child;
use crate::support::long;
use crate::support::recorded::Recorded;

fn explained(recording: &Recorded) -> Value {
    serde_json::from_str(&recording.why(&["--format", "json"])).unwrap()
}

#[test]
fn a_process_that_came_and_went_between_two_snapshots_is_found() {
    let mut recording = Recorded::new();
    recording.start(&[]);
    recording.wait_for(1);
    // It takes 200 MB at once, and ends.
    let began = SystemTime::now();
    let mut child = Command::new("dd")
        .args(["if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id();
    assert!(child.wait().unwrap().success());
    let lived = began.elapsed().unwrap_or(Exit::BRIEF);
    recording.wait_for(2);
    recording.end();
    let snapshots: Vec<_> = Source::open(&recording.file).unwrap().flatten().collect();
    let unseen = snapshots.last().unwrap().exits.ended.err();
    let document = explained(&recording);
    if let Some(why) = unseen.filter(|why| *why != Missing::Unsupported) {
        let told = recording.why(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("Processes that started and ended between two snapshots could not be recorded: {why}.");
        assert!(told.contains(&expected), "{told}");
        assert_eq!(document["brief_unread"], why.reason());
        return;
    }
    let brief = document["brief"].as_array().unwrap();
    let Some(found) = brief.iter().find(|exit| exit["pid"] == pid) else {
        panic!("{document:#}");
    };
    assert_eq!((&found["comm"], &found["signal"]), (&"dd".into(), &Value::Null));
    assert!(found["peak"].as_u64().unwrap() >= 200 << 20, "{found}");
    let lifetime = Duration::from_secs_f64(found["lifetime_s"].as_f64().unwrap());
    assert!(
        lifetime <= lived + Duration::from_millis(10),
        "{lifetime:?} of {lived:?}"
    );
    // The text has the three highest.
    if brief.iter().take(3).any(|exit| exit["pid"] == pid) {
        let told = recording.why(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
        let uid = rustix::process::geteuid().as_raw();
        let named = format!("dd (pid {pid}, uid {uid}, a child of");
        assert!(told.contains(&named), "{told}");
        assert!(told.contains("reached an RSS of 20"), "{told}");
    }
}

#[test]
fn of_a_machine_that_is_only_slow_nothing_is_said_to_have_happened() {
    let mut recording = Recorded::new();
    recording.start(&["--every", "200ms"]);
    recording.wait_for(2);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let hog = || {
        let hog = Command::new("/bin/sh").args(["-c", "while :; do :; done"]).spawn();
        Child::from(hog.unwrap())
    };
    let hogs: Vec<_> = (0..=cores).map(|_| hog()).collect();
    recording.wait_for(if long() { 20 } else { 8 });
    let pids: Vec<_> = hogs.iter().map(Child::pid).collect();
    drop(hogs);
    recording.wait_for(2);
    recording.end();
    let document = explained(&recording);
    // Others may let a cgroup run out of memory meanwhile, or kill.
    let is_others = document["event"]["kind"] == "kill" || !document["cgroup"].is_null();
    if !is_others {
        assert_eq!(document["event"]["kind"], "nothing", "{document:#}");
        let told = recording.why(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [": nothing happened", "No process was killed for lack of memory"] {
            assert!(told.contains(part), "{told}");
        }
    }
    for part in ["victims", "growers"] {
        let names = document[part].to_string();
        assert!(
            pids.iter().all(|pid| !names.contains(&format!("\"pid\":{pid},"))),
            "{names}"
        );
    }
}
