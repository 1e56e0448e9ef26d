//! Alerts on a real terminal: bell, highlighted row, log line, program.

use super::fill_output;
use crate::support::pty::{ESC, Pty, is_stuck_in_write};

#[test]
fn an_alert_rings_shows_logs_and_runs() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let config = format!(
        r#"
[sampler]
interval = "200ms"
[log]
file = "{log}"
[[alert]]
name = "sleeper"
when = "cmd:4321.125"
hold = "400ms"
run = ["/bin/sh", "-c", "cat > \"$0.new\" && mv \"$0.new\" \"$0\"", "{out}"]
[[alert]]
name = "broken"
when = "cmd:4321.125"
bell = false
log = false
hold = 0
run = ["/nowhere/at/all"]
"#,
        log = path("log"),
        out = path("out"),
    );
    std::fs::write(path("config.toml"), config).unwrap();
    let mut pty = Pty::zmtop((110, 30), &["--config", &path("config.toml")]);
    pty.wait_for_table();
    assert!(!pty.raw().contains(&7));
    let mut sleeper = std::process::Command::new("sleep").arg("4321.125").spawn().unwrap();
    pty.wait_for("! 2 alerts");
    pty.wait_for("alert broken: cannot run /nowhere/at/all: No such file");
    pty.wait("the program ran", |_| std::path::Path::new(&path("out")).exists());
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(path("out")).unwrap()).unwrap();
    assert_eq!(json["alert"], "sleeper");
    assert_eq!(json["pid"], sleeper.id());
    assert!(json["for_s"].as_f64().unwrap() >= 0.4);
    assert_eq!(pty.raw().split(|b| *b == 7).count(), 2, "it rings once");
    pty.send("!");
    pty.wait("the list", |s| s.contains("┌ Alerts") && s.contains("fired    sleeper"));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    pty.wait_for("gone     sleeper");
    pty.send(ESC);
    pty.wait("the list is closed", |s| !s.contains("┌ Alerts"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    let log = std::fs::read_to_string(path("log")).unwrap();
    let line = |what: &str| {
        log.lines()
            .find(|l| l.contains(what))
            .unwrap_or_else(|| panic!("{what}: {log}"))
    };
    assert!(
        line("fired: ").contains("sleep 4321.125") && line("fired: ").contains("alert=\"sleeper\""),
        "{log}"
    );
    assert!(line("cleared: ").contains("why=\"gone\""), "{log}");
    assert!(
        line("the program of an alert failed").contains("/nowhere/at/all"),
        "{log}"
    );
}

#[test]
fn a_hanging_program_keeps_nobody_from_leaving() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let config = format!(
        r#"
[sampler]
interval = "200ms"
[[alert]]
name = "hang"
when = "processes>0"
on = "system"
hold = 0
timeout = "10m"
run = ["/bin/sh", "-c", "echo $$ > \"$0.new\"; mv \"$0.new\" \"$0\"; sleep 600", "{out}"]
"#,
        out = path("out"),
    );
    std::fs::write(path("config.toml"), config).unwrap();
    let mut pty = Pty::zmtop((110, 30), &["--config", &path("config.toml")]);
    pty.wait_for("! 1 alert");
    pty.wait("the program runs", |_| std::path::Path::new(&path("out")).exists());
    let pid: i32 = std::fs::read_to_string(path("out")).unwrap().trim().parse().unwrap();
    // The screen goes on.
    pty.send("?");
    pty.wait_for("This help");
    pty.send(ESC);
    pty.wait("the help is closed", |s| !s.contains("This help"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    crate::support::pty::wait_gone(pid);
}

#[test]
fn a_stalled_terminal_delays_no_alert() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    // All else is as shipped. It holds for five seconds: every one of them must be judged while the terminal is stuck.
    let config = format!(
        r#"
[[alert]]
name = "sleeper"
when = "cmd:4322.125"
hold = "5s"
run_on_clear = true
run = ["/bin/sh", "-c", "cat >> \"$0\"", "{out}"]
"#,
        out = path("out"),
    );
    std::fs::write(path("config.toml"), config).unwrap();
    let mut pty = Pty::zmtop((110, 30), &["--config", &path("config.toml")]);
    pty.wait_for_table();
    let pid = pty.pid();
    {
        let _stalled = pty.stall();
        fill_output(&pty, pid);
        let ran = |state: &str| {
            let told = std::fs::read_to_string(path("out")).unwrap_or_default();
            // The line that is being written is not whole yet.
            let mut whole = told
                .lines()
                .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
            whole.find(|json| json["event"] == state)
        };
        let mut sleeper = std::process::Command::new("sleep").arg("4322.125").spawn().unwrap();
        pty.wait("the program ran", |_| ran("fired").is_some());
        let fired = ran("fired").unwrap();
        assert_eq!(fired["pid"], sleeper.id());
        let held = fired["for_s"].as_f64().unwrap();
        assert!((5.0..60.0).contains(&held), "{held}");
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        pty.wait("it ran again", |_| ran("cleared").is_some());
        assert!(is_stuck_in_write(pid), "the terminal was stuck all along");
    }
    // And the screen shows it once it can.
    pty.send("!");
    pty.wait("the list", |s| s.contains("┌ Alerts") && s.contains("gone     sleeper"));
    pty.send(ESC);
    pty.wait("the list is closed", |s| !s.contains("┌ Alerts"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
