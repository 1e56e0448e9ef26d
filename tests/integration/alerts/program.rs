//! The program of an alert: its payload, and that it harms nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use zmtop::alert::AlertEvent;
use zmtop::config::AlertSettings;
use zmtop::run::alert::Notifier;
use zmtop::run::alert::payload::Payload;
use zmtop::text::from_lossless;

use super::{Evaluator, process_with, rule};
use crate::support::PATIENCE;
use crate::support::rows::with_facts;

const HOSTILE: &[u8] = b"/bin/x\0$(touch /tmp/no); `id` \"'\x1b]0;t\x07\xff\n";

/// Returns events about a process with a hostile name.
pub(crate) fn events() -> Vec<AlertEvent> {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M swap>=0", 0, 0)]);
    let hostile = with_facts(process_with(7, 200), |f| f.cmdline = Ok(HOSTILE.into()));
    let mut all = evaluator.advance(1.0, vec![hostile]);
    all.extend(evaluator.advance(1.0, Vec::new()));
    all
}

/// A notifier of one rule, and its errors.
struct Harness {
    dir: TempDir,
    notifier: Notifier,
    errors: Arc<Mutex<Vec<String>>>,
}

impl Harness {
    fn new(run: &[&str], timeout: u64) -> Self {
        let errors: Arc<Mutex<Vec<String>>> = Arc::default();
        let own = Arc::clone(&errors);
        let settings = AlertSettings {
            name: "big".into(),
            when: "pss>100M swap>=0".into(),
            run: run.iter().map(|s| (*s).to_owned()).collect(),
            timeout: Duration::from_secs(timeout),
            ..AlertSettings::default()
        };
        Self {
            dir: tempfile::tempdir().unwrap(),
            notifier: Notifier::new(vec![settings], move |what| own.lock().unwrap().push(what)),
            errors,
        }
    }

    /// Returns a harness whose program is a shell script, with the directory as `$1`.
    fn script(script: &str, timeout: u64) -> Self {
        let harness = Self::new(&[], timeout);
        let dir = harness.dir.path().display().to_string();
        let other = Self::new(&["/bin/sh", "-c", script, "sh", &dir], timeout);
        Self {
            dir: harness.dir,
            ..other
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn fire(&self) -> bool {
        self.notifier.notify(&events()[0], b"db\xff1")
    }

    fn wait_until_idle(&self) {
        until("the programs end", || self.notifier.running() == 0);
    }

    fn errors(&self) -> Vec<String> {
        self.errors.lock().unwrap().clone()
    }
}

pub(super) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn it_gets_the_facts_in_its_environment_and_on_its_standard_input() {
    let harness = Harness::script("env -0 > \"$1/env\"; cat > \"$1/in\"; echo noise; echo noise >&2", 10);
    assert!(harness.fire(), "the bell is to ring");
    harness.wait_until_idle();
    assert_eq!(harness.errors(), Vec::<String>::new());
    let env = std::fs::read(harness.path("env")).unwrap();
    let get = |name: &str| {
        let prefix = format!("ZMTOP_{name}=").into_bytes();
        let mut all = env.split(|b| *b == 0).filter_map(|v| v.strip_prefix(&*prefix));
        all.next().map(|v| String::from_utf8(v.to_vec()).unwrap())
    };
    assert_eq!(get("ALERT").as_deref(), Some("rule"));
    assert_eq!(get("FLAPPING").as_deref(), Some("false"));
    assert_eq!(
        (get("EVENT").as_deref(), get("ON").as_deref()),
        (Some("fired"), Some("process"))
    );
    assert_eq!(
        (get("PID").as_deref(), get("STARTTIME").as_deref()),
        (Some("7"), Some("70"))
    );
    assert_eq!(
        (get("PSS").as_deref(), get("SWAP").as_deref()),
        (Some("209715200"), Some("0"))
    );
    assert_eq!(get("TIME").as_deref(), Some("1970-01-01T00:00:00.000Z"));
    assert_eq!(from_lossless(&get("HOST").unwrap()), b"db\xff1");
    let command: Vec<u8> = HOSTILE.iter().map(|b| if *b == 0 { b' ' } else { *b }).collect();
    // No control character reaches a variable, and from there a terminal or a log.
    let shown = b"/bin/x $(touch /tmp/no); `id` \"'\\x1b]0;t\\x07\xff\\n";
    assert_eq!(from_lossless(&get("COMMAND").unwrap()), shown);
    // Unknown is not there: no growth after one look, and no unit.
    assert_eq!((get("GROWTH"), get("UNIT"), get("WHY")), (None, None, None));
    // Only in a test is there a mark of one.
    assert_eq!(get("TEST"), None);

    let text = std::fs::read_to_string(harness.path("in")).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(!text.trim_end().contains(|c: char| c.is_control()), "{text}");
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&json["schema"], &json["event"]),
        (&"zmtop-alert/1".into(), &"fired".into())
    );
    assert_eq!(
        (&json["pid"], &json["figures"]["pss"]),
        (&7.into(), &209_715_200.into())
    );
    assert_eq!((&json["flapping"], json.get("test")), (&false.into(), None));
    assert_eq!(json["figures"]["growth"], Value::Null);
    assert_eq!(from_lossless(json["command"].as_str().unwrap()), command);
    assert!(!Path::new("/tmp/no").exists());
}

#[test]
fn the_words_are_no_shells() {
    let harness = Harness::new(&["/bin/sh", "-c", "printf %s \"$2\" > \"$1\"", "sh"], 10);
    let file = harness.path("out").display().to_string();
    let words = [
        "/bin/sh",
        "-c",
        "printf %s \"$2\" > \"$1\"",
        "sh",
        &file,
        "$(id) `id` *; a  b",
    ];
    let harness = Harness {
        dir: harness.dir,
        ..Harness::new(&words, 10)
    };
    harness.fire();
    harness.wait_until_idle();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), words[5]);
}

#[test]
fn it_runs_when_the_alert_clears_only_if_asked() {
    let harness = Harness::script("echo \"$ZMTOP_EVENT $ZMTOP_WHY\" >> \"$1/log\"", 10);
    let events = events();
    assert_eq!(events.len(), 2);
    for event in &events {
        harness.notifier.notify(event, b"h");
        harness.wait_until_idle();
    }
    assert_eq!(std::fs::read_to_string(harness.path("log")).unwrap(), "fired \n");
    let settings = AlertSettings {
        run: ["/bin/sh", "-c", "echo \"$ZMTOP_EVENT $ZMTOP_WHY\" >> \"$1/log\"", "sh"]
            .map(str::to_owned)
            .into_iter()
            .chain([harness.dir.path().display().to_string()])
            .collect(),
        run_on_clear: true,
        bell: false,
        ..AlertSettings::default()
    };
    let notifier = Notifier::new(vec![settings], |_| {});
    for event in &events {
        assert!(!notifier.notify(event, b"h"));
        until("it ends", || notifier.running() == 0);
    }
    assert_eq!(
        std::fs::read_to_string(harness.path("log")).unwrap(),
        "fired \nfired \ncleared gone\n"
    );
}

#[test]
fn of_an_alert_that_clears_it_gets_the_present_figures() {
    for (after, pss, summary) in [
        (
            vec![process_with(7, 5)],
            Some(5),
            "7 /usr/bin/eater --much: pss 5.0M, was 200M",
        ),
        (Vec::new(), None, "7 /usr/bin/eater --much: pss was 200M"),
    ] {
        let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0)]);
        let fired = evaluator.advance(1.0, vec![process_with(7, 200)]).remove(0);
        let cleared = evaluator.advance(1.0, after).remove(0);
        let pss = pss.map(|mib: u64| mib << 20);
        let payload = |event| {
            let payload = Payload::new(event, "pss>100M", b"h");
            let variables = payload.environment().into_iter();
            let mut variable = variables
                .filter(|(name, _)| name == "ZMTOP_PSS")
                .map(|(_, value)| value);
            let json: Value = serde_json::from_slice(&payload.json()).unwrap();
            (
                variable.next(),
                json["figures"]["pss"].as_u64(),
                json["was"]["pss"].as_u64(),
            )
        };
        let was = Some(200 << 20);
        assert_eq!(payload(&fired), (Some((200 << 20).to_string()), was, None));
        assert_eq!(payload(&cleared), (pss.map(|pss| pss.to_string()), pss, was));
        assert_eq!(cleared.summary(), summary);
    }
}

#[test]
fn one_that_fails_or_is_missing_says_so_and_no_more() {
    for (run, expected) in [
        (
            &["/nowhere/at all\x1b"][..],
            "alert big: cannot run /nowhere/at all\\x1b: No such file or directory (os error 2)",
        ),
        (&["/bin/sh", "-c", "exit 3"], "alert big: /bin/sh ended with code 3"),
        (
            &["/bin/sh", "-c", "kill -SEGV $$"],
            "alert big: /bin/sh was ended by signal 11",
        ),
        (&["/"], "alert big: cannot run /: is a directory"),
    ] {
        let harness = Harness::new(run, 10);
        harness.fire();
        harness.wait_until_idle();
        until("it is reported", || !harness.errors().is_empty());
        assert_eq!(harness.errors(), [expected]);
    }
}

#[test]
fn one_that_hangs_is_killed_with_what_it_started() {
    let harness = Harness::script(
        "trap '' TERM; sleep 60 & echo $! > \"$1/pid\"; echo $$ >> \"$1/pid\"; wait; sleep 60",
        1,
    );
    let begun = Instant::now();
    harness.fire();
    harness.wait_until_idle();
    let took = begun.elapsed();
    assert!(
        took >= Duration::from_millis(900) && took < Duration::from_secs(15),
        "{took:?}"
    );
    assert_eq!(harness.errors(), ["alert big: /bin/sh was killed after 1s"]);
    let pids = std::fs::read_to_string(harness.path("pid")).unwrap();
    assert_eq!(pids.lines().count(), 2);
    until("both are gone", || pids.lines().all(|pid| !runs(pid)));
}

/// Returns true if there is a process of that pid that is no zombie: the killed grandchild is for init to reap.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn of_one_alert_one_runs_at_a_time_and_the_newest_waits() {
    let harness = Harness::script(
        "echo x >> \"$1/started\"; while ! [ -e \"$1/go\" ]; do sleep 0.05; done",
        20,
    );
    harness.fire();
    until("one runs", || harness.path("started").exists());
    for _ in 0..100 {
        harness.fire();
    }
    assert_eq!(harness.notifier.running(), 1);
    assert_eq!(harness.notifier.dropped(), 0);
    std::fs::write(harness.path("go"), "").unwrap();
    harness.wait_until_idle();
    assert_eq!(
        std::fs::read_to_string(harness.path("started")).unwrap(),
        "x\n".repeat(2)
    );
    assert_eq!(harness.errors(), [""; 0]);
}

#[test]
fn one_that_does_not_read_keeps_nobody_waiting() {
    let harness = Harness::script("exec sleep 0.2", 10);
    harness.fire();
    harness.wait_until_idle();
    let closes = Harness::script("exec <&-; sleep 0.2", 10);
    closes.fire();
    closes.wait_until_idle();
    assert_eq!((harness.errors(), closes.errors()), (vec![], vec![]));
}

#[test]
fn no_zombie_stays() {
    let harness = Harness::script("echo $$ >> \"$1/pids\"", 10);
    for _ in 0..8 {
        harness.fire();
        harness.wait_until_idle();
    }
    let pids = std::fs::read_to_string(harness.path("pids")).unwrap();
    assert_eq!(pids.lines().count(), 8);
    for pid in pids.lines() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let own = format!(") Z {} ", std::process::id());
        assert!(!status.contains(&own), "{status}");
    }
}

#[test]
fn at_the_end_nothing_is_left_and_nobody_waits() {
    let harness = Harness::script("echo $$ > \"$1/new\"; mv \"$1/new\" \"$1/pid\"; sleep 600", 600);
    harness.fire();
    let file = harness.path("pid");
    until("it runs", || file.exists());
    let pid = std::fs::read_to_string(file).unwrap().trim().to_owned();
    let begun = Instant::now();
    let Harness { notifier, dir, .. } = harness;
    drop(notifier);
    assert!(begun.elapsed() < PATIENCE);
    until("it is gone", || !runs(&pid));
    drop(dir);
}

#[test]
fn a_huge_name_still_fits() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0)]);
    let long = with_facts(process_with(7, 200), |f| f.cmdline = Ok(vec![0x9b; 100_000].into()));
    let fired = evaluator.advance(1.0, vec![long]).remove(0);
    let facts = Payload::new(&fired, "pss>100M", b"h");
    assert!(facts.json().len() < 16 << 10, "{}", facts.json().len());
    assert!(facts.environment().iter().all(|(_, v)| v.len() < 8 << 10));
    assert!(fired.summary().len() < 400, "{}", fired.summary());
}

#[test]
fn a_summary_drops_directories_before_it_cuts() {
    let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0)]);
    let directory = "/opt/a-vendor-with-a-long-name/releases/2026-11-24/lib/python3.11/site-packages";
    let command = format!("{directory}/bin/python3\0{directory}/jobs/train.py\0--epochs\040");
    let row = with_facts(process_with(7, 200), |f| f.cmdline = Ok(command.as_bytes().into()));
    let fired = evaluator.advance(1.0, vec![row]).remove(0);
    assert_eq!(fired.summary(), "7 python3 …/train.py --epochs 40: pss 200M");
}

#[test]
fn no_variable_holds_what_a_terminal_obeys() {
    for (name, shown) in [
        ("a\nb\rc\td", "a\\nb\\rc\\td"),
        ("\x1b[201~\x07\x7f", "\\x1b[201~\\x07\\x7f"),
        ("\u{9b}31m\u{202e}\u{200b}x", "\\x9b31m\\u{202e}\\u{200b}x"),
        ("\u{2028}", "\\u{2028}"),
        ("a\0b c\\é猫", "a b c\\é猫"),
    ] {
        let mut evaluator = Evaluator::new([rule("process", "pss>100M", 0, 0)]);
        let row = with_facts(process_with(7, 200), |f| f.cmdline = Ok(name.as_bytes().into()));
        let fired = evaluator.advance(1.0, vec![row]).remove(0);
        let facts = Payload::new(&fired, "pss>100M", name.as_bytes());
        let all = facts.environment();
        for variable in ["ZMTOP_COMMAND", "ZMTOP_HOST"] {
            let (_, value) = all.iter().find(|(id, _)| id == variable).unwrap();
            assert_eq!(value, shown, "{variable} of {name:?}");
        }
        assert!(
            all.iter().all(|(_, value)| !value.contains(char::is_control)),
            "{all:?}"
        );
        // The JSON keeps it whole.
        let json: Value = serde_json::from_slice(&facts.json()).unwrap();
        assert_eq!(from_lossless(json["host"].as_str().unwrap()), name.as_bytes());
    }
}

#[test]
fn one_that_others_can_change_is_not_run_whenever_that_began() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let set_mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    std::fs::create_dir(at("bin")).unwrap();
    crate::support::copy_program("/bin/touch", &at("bin/touch"));
    symlink("bin/touch", at("link")).unwrap();
    let (link, ran) = (at("link").display().to_string(), at("ran").display().to_string());
    let harness = Harness::new(&[&link, &ran], 10);
    harness.fire();
    harness.wait_until_idle();
    assert_eq!(harness.errors(), [""; 0]);
    assert!(at("ran").exists());
    std::fs::remove_file(at("ran")).unwrap();
    for (path, mode) in [("bin/touch", 0o777), ("bin", 0o775)] {
        let before = std::fs::metadata(at(path)).unwrap().permissions().mode();
        set_mode(&at(path), mode);
        let harness = Harness::new(&[&link, &ran], 10);
        harness.fire();
        harness.wait_until_idle();
        let why = format!("others can write to {}", at(path).display());
        assert_eq!(harness.errors(), [format!("alert big: {link} is not run: {why}")]);
        // Nor does another program run it.
        let harness = Harness::new(&["/usr/bin/env", &link, &ran], 10);
        harness.fire();
        harness.wait_until_idle();
        assert_eq!(harness.errors(), [format!("alert big: /usr/bin/env is not run: {why}")]);
        set_mode(&at(path), before);
    }
    assert!(!at("ran").exists());
}
