//! Limits, niceness, signals and environment of the program of an alert: those that zmtop was started with, without secrets.

use crate::support::pty::{Pty, ZMTOP};

#[test]
fn the_limits_and_the_niceness_are_those_that_zmtop_was_started_with() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let script = "{ ulimit -S -n; ulimit -H -n; nice; grep -E '^Sig(Blk|Ign)' /proc/self/status; \
        ls -l /proc/self/fd | grep -c -E ' -> (/proc/[0-9]+|/proc|anon_inode)'; } > \"$0.new\"; mv \"$0.new\" \"$0\"";
    let config = format!(
        "[[alert]]\nname = 'x'\nwhen = 'processes>0'\non = 'system'\nhold = 0\nrun = ['/bin/sh', '-c', '''{script}''', '{}']\n",
        path("out")
    );
    std::fs::write(path("config.toml"), config).unwrap();
    let start = format!(
        "grep -E '^Sig(Blk|Ign)' /proc/self/status > {}; ulimit -S -n 256; ulimit -H -n 4096; nice -n 3 nice > {}; exec nice -n 3 $ZMTOP --config {}",
        path("before"),
        path("niceness"),
        path("config.toml")
    );
    let mut pty = Pty::run((110, 30), "sh", &["-c", &start], &[]);
    pty.wait_for_table();
    pty.wait("the program ran", |_| std::path::Path::new(&path("out")).exists());
    let own = std::fs::read_to_string(format!("/proc/{}/limits", pty.pid())).unwrap();
    let own = own.lines().find(|l| l.starts_with("Max open files")).unwrap();
    assert!(own.split_whitespace().filter(|w| *w == "4096").count() == 2, "{own}");
    let out = std::fs::read_to_string(path("out")).unwrap();
    // The C library of whoever started this may have left a signal of its own ignored.
    let before = std::fs::read_to_string(path("before")).unwrap();
    assert_eq!(before.lines().count(), 2, "{before}");
    // Whoever runs this may be nice already.
    let niceness = std::fs::read_to_string(path("niceness")).unwrap();
    // `ls` itself has its directory open.
    assert_eq!(out, format!("256\n4096\n{niceness}{before}1\n"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn the_secrets_in_zmtop_s_environment_are_not_passed_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let config = format!(
        "[[alert]]\nname = 'x'\nwhen = 'processes>0'\non = 'system'\nhold = 0\nrun = ['/bin/sh', '-c', '''{script}''', '{}']\n",
        path("out"),
        script = "env > \"$0.new\"; mv \"$0.new\" \"$0\""
    );
    std::fs::write(path("config.toml"), config).unwrap();
    let secrets = [
        "ZMTOP_PROMETHEUS_TOKEN",
        "ZMTOP_PROMETHEUS_PASSWORD",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    ];
    let secrets = secrets.map(|name| (name, "hunter2"));
    let env: Vec<_> = secrets.into_iter().chain([("OTHER", "kept")]).collect();
    let mut pty = Pty::run((110, 30), ZMTOP, &["--config", &path("config.toml")], &env);
    pty.wait_for_table();
    pty.wait("the program ran", |_| std::path::Path::new(&path("out")).exists());
    let out = std::fs::read_to_string(path("out")).unwrap();
    assert!(
        out.contains("OTHER=kept\n") && out.contains("ZMTOP_EVENT=fired\n"),
        "{out}"
    );
    assert!(!out.contains("hunter2"), "{out}");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
