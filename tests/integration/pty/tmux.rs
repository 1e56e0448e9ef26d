//! Under tmux, where people leave it open.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::pty::{PATIENCE, ZMTOP, have, wait_gone_after};

/// A tmux server of the test's own. Ended when dropped.
struct Tmux(String);

impl Tmux {
    fn new(name: &str) -> Self {
        Self(format!("zmtop-test-{name}-{}", std::process::id()))
    }

    fn run(&self, args: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-L", &self.0, "-f", "/dev/null"])
            .args(args)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn wait_for(&self, text: &str) {
        let start = Instant::now();
        loop {
            let shown = self.run(&["capture-pane", "-p", "-t", "m"]);
            if shown.contains(text) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "waited in vain for {text:?}:\n{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Tmux {
    /// Runs the monitor in a session until its table stands; its pid.
    fn open(&self, command: &str) -> i32 {
        self.run(&["new-session", "-d", "-s", "m", "-x", "80", "-y", "24", command]);
        self.wait_for("COMMAND");
        self.run(&["list-panes", "-t", "m", "-F", "#{pane_pid}"])
            .trim()
            .parse()
            .unwrap()
    }

    /// Ends the session, and the monitor with it.
    fn kill_session(&self, pid: i32) {
        wait_gone_after(pid, || drop(self.run(&["kill-session", "-t", "m"])));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn it_runs_takes_keys_and_is_gone_with_its_session() {
    if !have("tmux") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let tmux = Tmux::new("session");
    let pid = tmux.open(&format!("env HOME={} {ZMTOP} --interval 200ms", home.path().display()));
    tmux.run(&["send-keys", "-t", "m", "/", "t", "m", "u", "x", "Enter"]);
    tmux.wait_for("filter tmux");
    tmux.run(&["send-keys", "-t", "m", "t"]);
    tmux.wait_for("ΣPSS");
    tmux.run(&["resize-window", "-t", "m", "-x", "200", "-y", "50"]);
    tmux.wait_for("columns");
    tmux.kill_session(pid);
}

#[test]
fn a_hang_up_that_it_was_told_to_ignore_ends_it_too() {
    if !have("tmux") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let tmux = Tmux::new("hup");
    let pid = tmux.open(&format!("trap '' HUP; HOME={} exec {ZMTOP}", home.path().display()));
    tmux.kill_session(pid);
}
