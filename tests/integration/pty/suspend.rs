//! Ctrl-Z and fg, in a shell with job control.

use std::collections::HashMap;

use zmtop::run::process::{Process, resumes};

use crate::support::pty::{Pty, have};

/// Returns true if this user may create a pid namespace.
fn can_unshare() -> bool {
    let unshare = ["--pid", "--fork", "--mount-proc", "true"];
    let status = std::process::Command::new("unshare").args(unshare).status();
    status.is_ok_and(|status| status.success())
}

/// A shell with job control.
fn bash() -> Pty {
    let pty = Pty::run((100, 30), "bash", &["--norc", "--noprofile", "-i"], &[]);
    pty.wait_for("$ ");
    pty
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() {
    if !have("bash") {
        return;
    }
    let mut pty = bash();
    pty.send("stty -g > before; $ZMTOP --interval 200ms\r");
    pty.wait_for_table();
    for _ in 0..2 {
        pty.send("\x1a");
        pty.wait_for("Stopped");
        assert!(!pty.screen().screen().alternate_screen());
        assert!(!pty.screen().screen().hide_cursor());
        pty.send("clear; echo typed in cooked mode\r");
        pty.wait("the shell to echo", |s| {
            s.contains("typed in cooked mode") && !s.contains("Stopped")
        });
        pty.send("fg\r");
        pty.wait_for_table();
        assert!(pty.screen().screen().alternate_screen());
    }
    pty.send("q");
    // What is typed before the prompt may be discarded by zmtop as it ends.
    pty.wait("the prompt", |s| {
        !s.contains("COMMAND") && s.trim_end().ends_with("\n$")
    });
    pty.send("clear; stty -g > after; cmp before after && echo the same; exit\r");
    pty.wait_for("the same");
}

#[test]
fn ctrl_z_is_refused_where_the_shell_waits_for_what_is_picked() {
    if !have("bash") {
        return;
    }
    let mut pty = bash();
    // In a shell that another one could resume, too.
    for shell in ["", "bash --norc --noprofile -i\r"] {
        pty.send(shell);
        pty.send("clear; got=$($ZMTOP --pick --interval 200ms); echo ended $?\r");
        pty.wait_for_table();
        pty.send("\x1a");
        pty.wait_for("not suspended: ");
        assert!(pty.screen().screen().alternate_screen());
        pty.send("q");
        pty.wait_for("ended 1");
    }
}

#[test]
fn ctrl_z_is_refused_where_there_is_no_shell_with_job_control() {
    // A service manager may start its programs with stops ignored; the shell inherits that.
    for before in ["", "trap '' TSTP; "] {
        let script = format!("{before}$ZMTOP --interval 200ms; echo ended $?");
        let mut pty = Pty::run((100, 30), "sh", &["-c", &script], &[]);
        pty.wait_for_table();
        pty.send("\x1a");
        pty.wait_for("not suspended: no shell here could resume zmtop");
        pty.send("q");
        pty.wait_for("ended 0");
    }
}

#[test]
fn ctrl_z_is_refused_where_the_session_is_outside_of_the_pid_namespace() {
    if !can_unshare() {
        return;
    }
    // The process group and the session of the first process of a container are 0.
    let script = "unshare --pid --fork --mount-proc $ZMTOP --interval 200ms; echo ended $?";
    let mut pty = Pty::run((100, 30), "sh", &["-c", script], &[]);
    pty.wait_for_table();
    pty.send("\x1a");
    pty.wait_for("not suspended: no shell here could resume zmtop");
    pty.send("q");
    pty.wait_for("ended 0");
}

#[test]
fn ctrl_z_stops_the_script_that_runs_it() {
    if !have("bash") {
        return;
    }
    let mut pty = bash();
    pty.send("sh -c '$ZMTOP --interval 200ms; echo ended $?'\r");
    pty.wait_for_table();
    pty.send("\x1a");
    pty.wait_for("Stopped");
    pty.send("clear; echo typed in cooked mode\r");
    pty.wait("the shell to echo", |s| {
        s.contains("typed in cooked mode") && !s.contains("Stopped")
    });
    pty.send("fg\r");
    pty.wait_for_table();
    pty.send("q");
    pty.wait_for("ended 0");
}

#[test]
fn who_could_resume_it() {
    let process = |pid, parent, group, session, ignores_stop| {
        let process = Process {
            parent,
            group,
            session,
            ignores_stop,
        };
        (pid, process)
    };
    let check = |processes: &[(i32, Process)]| {
        let known: HashMap<_, _> = processes.iter().copied().collect();
        resumes(30, |pid| known.get(&pid).copied())
    };
    // A terminal's shell in a session of its own.
    let shell = process(10, 1, 10, 10, true);
    let init = process(1, 0, 1, 1, false);
    assert!(check(&[init, shell, process(30, 10, 30, 10, false)]));
    // A script, and a pipeline.
    let script = process(20, 10, 20, 10, false);
    assert!(check(&[init, shell, script, process(30, 20, 20, 10, false)]));
    // $(…), with a process of the shell between or without.
    let inside = process(20, 10, 10, 10, false);
    assert!(!check(&[init, shell, inside, process(30, 20, 10, 10, true)]));
    assert!(!check(&[init, shell, process(30, 10, 10, 10, true)]));
    // The same in a shell that another one started.
    let inner = process(20, 10, 20, 10, true);
    assert!(!check(&[init, shell, inner, process(30, 20, 20, 10, true)]));
    // The program of a terminal's window; that of a container; one whose parents are hidden.
    assert!(!check(&[init, process(30, 1, 30, 30, false)]));
    assert!(!check(&[process(30, 0, 30, 30, false)]));
    assert!(!check(&[]));
}
