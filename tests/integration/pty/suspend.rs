//! Ctrl-Z and fg, in a shell with job control.

use crate::support::pty::{Pty, have};

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() {
    if !have("bash") {
        return;
    }
    let mut pty = Pty::run((100, 30), "bash", &["--norc", "--noprofile", "-i"], &[]);
    pty.wait_for("$ ");
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
    pty.wait("the prompt", |s| !s.contains("COMMAND"));
    pty.send("clear; stty -g > after; cmp before after && echo the same; exit\r");
    pty.wait_for("the same");
}
