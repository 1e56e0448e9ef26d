//! Page 3 traces the kernel: however that ends, nothing of it is left, and what belongs to everybody is as it was.
//!
//! The monitor runs in a mount namespace with tracefs in it, which is looked at through the `root` of its shell.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use zmtop::proc::files::Roots;
use zmtop::sampler::callers;

use crate::callers::live::script;
use crate::support::pty::{PATIENCE, Pty, have, signal, wait_gone};
use crate::support::skip;

/// A shell with job control and a tracefs.
struct Shell {
    pty: Pty,
    tracefs: PathBuf,
}

impl Shell {
    /// `None`, and says so, where this machine does not allow it.
    fn new() -> Option<Self> {
        const WHY: &str = "tracing needs root, mount namespaces and a kernel with tracefs";
        if !have("bash") {
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            skip(WHY);
            return None;
        }
        let mut pty = Pty::run(
            (120, 30),
            "unshare",
            &["-m", "bash", "--norc", "--noprofile", "-i"],
            &[],
        );
        pty.wait_for("$ ");
        let tracefs = PathBuf::from(format!("/proc/{}/root/sys/kernel/tracing", pty.pid()));
        pty.send("mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing; echo mount=$?\r");
        pty.wait("the mount", |s| {
            s.contains("mount=0") || s.contains("mount=1") || s.contains("mount=32")
        });
        if !tracefs.join("events/kmem/kmalloc").is_dir() {
            skip(WHY);
            return None;
        }
        Some(Self { pty, tracefs })
    }

    /// Starts the monitor, and opens the view of the callers.
    fn start(&mut self) -> i32 {
        self.pty.send("clear; $ZMTOP --interval 200ms\r");
        self.pty.wait_for_table();
        self.pty.send("3");
        self.pty.wait_for("SLABS");
        self.pty.send("\t");
        self.pty.wait_for("Traced for");
        self.pty.zmtop_pid()
    }

    fn instance(&self, pid: i32) -> PathBuf {
        self.tracefs.join(format!("instances/zmtop-{pid}"))
    }

    #[track_caller]
    fn wait_traced(&self, pid: i32) {
        let on = self.instance(pid).join("tracing_on");
        self.pty.wait("the trace", |_| read(&on) == "1\n");
    }

    #[track_caller]
    fn wait_untraced(&self, pid: i32) {
        self.pty.wait("the end of the trace", |_| !self.instance(pid).exists());
    }

    /// Returns what belongs to everybody.
    fn state(&self) -> Vec<String> {
        let files = "tracing_on current_tracer set_event trace_clock buffer_size_kb events/kmem/enable options/overwrite \
                     set_event_pid set_event_notrace_pid";
        files
            .split_whitespace()
            .map(|name| read(&self.tracefs.join(name)))
            .collect()
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn the_kernel_is_traced_only_while_its_page_is_shown_and_goes_on() {
    let Some(mut shell) = Shell::new() else { return };
    let before = shell.state();
    let pid = shell.start();
    shell.wait_traced(pid);
    assert_eq!(shell.state(), before);
    shell.pty.send("Z");
    shell.wait_untraced(pid);
    shell.pty.wait_for("paused");
    shell.pty.send("Z");
    shell.wait_traced(pid);
    shell.pty.send("1");
    shell.wait_untraced(pid);
    shell.pty.send("3");
    shell.wait_traced(pid);
    shell.pty.send("\x1a");
    shell.pty.wait_for("Stopped");
    assert!(!shell.instance(pid).exists(), "gone before it stops");
    shell.pty.send("clear; fg\r");
    shell.wait_traced(pid);
    shell.pty.send("q");
    wait_gone(pid);
    assert!(!shell.instance(pid).exists());
    assert_eq!(shell.state(), before);
}

#[test]
fn signals_end_the_trace_and_what_a_killed_one_left_the_next_start_removes() {
    let Some(mut shell) = Shell::new() else { return };
    let before = shell.state();
    for kind in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT, Signal::KILL] {
        let pid = shell.start();
        shell.wait_traced(pid);
        signal(pid, kind);
        wait_gone(pid);
        assert_eq!(shell.instance(pid).exists(), kind == Signal::KILL, "{kind:?}");
        if kind == Signal::KILL {
            // Whatever it shows.
            shell.pty.send("reset; $ZMTOP\r");
            shell.wait_untraced(pid);
        }
    }
    assert_eq!(shell.state(), before);
}

/// Runs in a mount namespace with tracefs: panics on one thread while another traces.
#[test]
#[ignore = "run by a_panic_ends_the_trace with a tracefs"]
fn panicking_tracer() {
    // Who starts meanwhile in another test removes what programs of other names left.
    std::fs::write("/proc/self/comm", "zmtop-test").unwrap();
    zmtop::run::terminal::install_panic_hook();
    let (_stop, stopped) = channel();
    std::thread::spawn(move || callers::trace(&Roots::new(None), Duration::MAX, &stopped, None).map(drop));
    let instance = format!("/sys/kernel/tracing/instances/zmtop-{}", std::process::id());
    let began = Instant::now();
    while read(&Path::new(&instance).join("tracing_on")) != "1\n" {
        assert!(began.elapsed() < PATIENCE, "it does not trace");
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = std::thread::spawn(|| panic!("boom on purpose")).join();
    std::thread::sleep(PATIENCE);
}

#[test]
fn a_panic_ends_the_trace() {
    let me = std::env::current_exe().unwrap();
    let Some(out) = script(&format!(
        "{} --ignored --exact pty::traced::panicking_tracer --nocapture 2>&1 & wait $!; echo ended $?; gone $!",
        me.display()
    )) else {
        return;
    };
    assert!(out.contains("boom on purpose") && out.contains("ended 101"), "{out}");
}
