//! The real program in a real terminal: started, used, resized, stopped, ended in every way; and the
//! terminal as it was before, each time.

mod act;
mod alerts;
mod armed;
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

use crate::support::pty::{PATIENCE, Pty, is_stuck_in_write};

/// Has the program draw until the kernel's buffer is full and it is stuck in a write. The terminal must be stalled.
#[track_caller]
fn fill_output(pty: &Pty, pid: i32) {
    let start = Instant::now();
    while !is_stuck_in_write(pid) {
        assert!(start.elapsed() < PATIENCE, "the output does not stall here");
        for (columns, rows) in [(200, 60), (100, 30)] {
            pty.resize(columns, rows);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
