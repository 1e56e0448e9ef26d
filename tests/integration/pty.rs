//! The real program in a real terminal: started, used, resized, stopped, ended in every way; and the
//! terminal as it was before, each time.

mod act;
mod alerts;
mod background;
mod coldness;
mod decoder;
mod endings;
mod held;
mod kept;
mod panel;
mod pick;
mod pieces;
mod refusals;
mod suspend;
mod tmux;
mod traced;
mod using;

use std::time::{Duration, Instant};

use crate::support::pty::Pty;

/// Has the program draw until the kernel's buffer is full and it is stuck in a write. The terminal must be stalled.
#[track_caller]
fn fill_output(pty: &Pty, pid: i32) {
    let start = Instant::now();
    while !stuck_in_write(pid) && start.elapsed() < Duration::from_secs(15) {
        for (columns, rows) in [(200, 60), (100, 30)] {
            pty.resize(columns, rows);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    assert!(stuck_in_write(pid), "the output does not stall here");
}

/// Returns true if the main thread waits for the terminal to take its output.
fn stuck_in_write(pid: i32) -> bool {
    let waits = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    // 1 is write on x86-64, 64 on the generic table.
    waits.contains("tty_write") || waits == "wait_woken" || call.starts_with("1 0x") || call.starts_with("64 0x")
}
