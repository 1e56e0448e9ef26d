//! Acting on real processes from a real terminal.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Owned;
use crate::support::pty::{ESC, Pty, ZMTOP, have};

const F9: &str = "\x1b[20~";

fn runs(child: &mut Owned) -> bool {
    child.try_wait().unwrap().is_none()
}

/// The monitor with one process listed, and selected.
fn monitor(args: &[&str], pid: u32) -> Pty {
    let mut all = vec!["--interval", "200ms"];
    all.extend(args);
    let mut pty = Pty::zmtop((100, 30), &all);
    only(&mut pty, pid);
    pty
}

fn only(pty: &mut Pty, pid: u32) {
    pty.wait_for_table();
    pty.send(&format!("/pid:{pid}\r"));
    pty.wait_for("Σ 1 of");
    // On a busy machine the first snapshot may list it unread.
    let number = format!(" {pid} ");
    pty.wait("it is read", |s| {
        let mut lines = s.lines().filter(|line| line.contains(&number)).peekable();
        lines.peek().is_some() && !lines.any(|line| line.contains('?'))
    });
}

/// Waits until the monitor holds a pidfd of that process: the dialog is drawn before.
fn wait_until_pinned(pty: &mut Pty, pid: u32) {
    let fds = format!("/proc/{}/fdinfo", pty.pid());
    let line = format!("Pid:\t{pid}\n");
    pty.wait("it is pinned", |_| {
        let fds = std::fs::read_dir(&fds).unwrap().flatten();
        let mut texts = fds.filter_map(|fd| std::fs::read_to_string(fd.path()).ok());
        texts.any(|text| text.contains(&line))
    });
}

#[test]
fn a_signal_ends_the_process_that_was_chosen() {
    let mut child = Owned::sleep("300");
    let name = format!("{} sleep", child.id());
    let mut pty = monitor(&[], child.id());
    pty.send(F9);
    pty.wait_for("Send a signal");
    pty.wait("its age", |s| {
        s.lines().any(|l| l.contains("started ") && l.contains(" ago"))
    });
    pty.send("\r\r\r");
    pty.wait_for(&format!("send SIGTERM to {name}?"));
    assert!(runs(&mut child));
    pty.send("y");
    pty.wait_for(&format!("SIGTERM sent to {name}: it ended"));
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert!(!pty.text().contains("Send a signal"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_process_that_ends_while_it_is_asked() {
    let mut child = Owned::sleep("300");
    let mut pty = monitor(&[], child.id());
    pty.send(F9);
    pty.wait_for("Send a signal");
    wait_until_pinned(&mut pty, child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    pty.wait_for("has ended");
    pty.send("9\ry");
    pty.wait_for("not sent: ");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn one_that_does_not_heed_it_is_still_there() {
    let mut deaf = Command::new("sh")
        .args(["-c", "trap '' TERM; echo; exec sleep 300"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map(Owned)
        .unwrap();
    std::io::Read::read_exact(deaf.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let mut pty = monitor(&[], deaf.id());
    pty.send(F9);
    pty.wait_for("Send a signal");
    pty.send("\ry");
    pty.wait_for("SIGTERM sent to");
    pty.wait_for("still exists (SIGKILL ends it)");
    assert!(runs(&mut deaf));
    pty.send(&format!("{F9}kill\ry"));
    pty.wait_for("it ended");
    assert_eq!(deaf.wait().unwrap().signal(), Some(9));
}

#[test]
fn niceness_and_oom_score_adj_are_set() {
    let child = Owned::sleep("300");
    let mut pty = monitor(&[], child.id());
    pty.send("o");
    pty.wait_for("Set oom_score_adj");
    pty.wait("what it is now", |s| s.contains("; now "));
    pty.send("\x159999\r");
    pty.wait_for("9999 is out of range: -1000 to 1000");
    pty.send("\x15987\r");
    pty.wait_for("oom_score_adj of");
    pty.wait_for("sleep is 987");
    let file = format!("/proc/{}/oom_score_adj", child.id());
    assert_eq!(std::fs::read_to_string(file).unwrap().trim(), "987");
    let nice = || {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        text.rsplit(") ").next().unwrap().split(' ').nth(16).unwrap().to_owned()
    };
    pty.send("i");
    pty.wait_for("Set the niceness");
    pty.send("\x1512\r");
    pty.wait_for("sleep is 12");
    assert_eq!(nice(), "12");
    pty.send("]");
    pty.wait_for("nice  13");
    assert_eq!(nice(), "12", "it asks first");
    pty.send("\r");
    pty.wait_for("sleep is 13");
    pty.send("\x1b[19~"); // F8
    pty.wait_for("nice  14");
    pty.send("]\x1b[19~\x1b[18~\x1b[18~"); // ] F8 F7 F7
    pty.wait_for("nice  14");
    pty.send("\r");
    pty.wait_for("sleep is 14");
    assert_eq!(nice(), "14");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn readonly_changes_nothing_and_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let mut child = Owned::sleep("300");
    let config = format!(
        "[[alert]]\nname = \"there\"\nwhen = \"pid:{}\"\nhold = 0\nrun = [\"/usr/bin/touch\", \"{}\"]\n",
        child.id(),
        path("ran"),
    );
    std::fs::write(path("config.toml"), config).unwrap();
    let mut pty = monitor(&["--readonly", "--config", &path("config.toml")], child.id());
    pty.wait_for("read only");
    pty.wait_for("! 1 alert");
    for key in [F9, "o", "i", "]", "["] {
        // Any key removes the message.
        pty.send("\x0c");
        pty.wait("no message", |screen| !screen.contains("nothing is changed"));
        pty.send(key);
        pty.wait_for("read only: nothing is changed");
        assert!(!pty.text().contains("Send a signal"));
    }
    assert!(pty.raw().contains(&7), "it rings");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    assert!(runs(&mut child));
    assert!(!Path::new(&path("ran")).exists());
    // Without it the same program runs.
    let mut pty = monitor(&["--config", &path("config.toml")], child.id());
    pty.wait("the program ran", |_| Path::new(&path("ran")).exists());
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn some_are_never_touched() {
    let mut pty = monitor(&[], 1);
    pty.send(F9);
    pty.wait_for("process 1 must not be changed");
    assert!(!pty.text().contains("Send a signal"));
    let own = pty.pid();
    pty.send("\\");
    pty.send(&format!("/pid:{own}\r"));
    pty.wait_for("zmtop --interval");
    pty.send(F9);
    pty.wait_for("this is zmtop itself");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn of_another_tree_nothing_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("proc");
    std::os::unix::fs::symlink("/proc", &root).unwrap();
    let mut child = Owned::sleep("300");
    let mut pty = monitor(&["--proc-root", root.to_str().unwrap()], child.id());
    pty.send(F9);
    pty.wait_for("these processes are not on this machine");
    // No dialog is open that these could confirm.
    pty.send("9\ry");
    assert!(runs(&mut child));
}

#[test]
fn what_is_anothers_is_denied() {
    if !rustix::process::geteuid().is_root() {
        return crate::support::cannot("not root: there is no other user to be");
    }
    if !have("setpriv") {
        return;
    }
    let mut child = Owned::sleep("300");
    let rights = [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
    ];
    let mut args = rights.to_vec();
    args.extend([ZMTOP, "--interval", "200ms"]);
    let mut pty = Pty::run((100, 30), "setpriv", &args, &[("HOME", "/nonexistent")]);
    only(&mut pty, child.id());
    let name = format!("{} sleep", child.id());
    pty.send(F9);
    pty.wait_for("Send a signal");
    pty.send("9\ry");
    pty.wait_for(&format!("SIGKILL not sent to {name}: permission denied"));
    pty.send("]");
    pty.wait_for("Set the niceness");
    pty.send("\r");
    pty.wait_for(&format!("nice of {name} is unchanged: permission denied"));
    pty.send(ESC);
    pty.wait("it is closed", |s| !s.contains("Set the niceness"));
    pty.send("o");
    pty.wait_for("Set oom_score_adj");
    pty.send("\x151000\r");
    pty.wait("why not", |s| {
        s.contains("is unchanged: permission denied") && s.contains("Set oom_score_adj")
    });
    assert!(runs(&mut child));
    pty.send(ESC);
    pty.wait("it is closed", |s| !s.contains("Set oom_score_adj"));
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}
