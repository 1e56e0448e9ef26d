//! However it ends, the terminal is as it was.

use rustix::process::Signal;

use super::fill_output;
use super::held::Held;
use crate::support::pty::{Pty, ZMTOP, signal, wait_gone};

/// The modes noted before and after are the same, the main screen is back, the cursor shown.
#[track_caller]
fn assert_given_back(pty: &Pty) {
    let text = pty.text();
    let noted = |word: &str| {
        text.lines()
            .find_map(|l| l.strip_prefix(word))
            .map(str::trim)
            .map(str::to_owned)
    };
    assert!(noted("before").is_some(), "{text}");
    assert_eq!(noted("before"), noted("after"), "the terminal's modes:\n{text}");
    let parser = pty.screen();
    let screen = parser.screen();
    assert!(!screen.alternate_screen(), "the main screen is back");
    assert!(!screen.hide_cursor(), "the cursor is shown");
    assert_eq!(
        screen.mouse_protocol_mode(),
        vt100::MouseProtocolMode::None,
        "the mouse is given back"
    );
    assert!(!screen.bracketed_paste(), "so is pasting");
}

#[test]
fn quit() {
    let mut pty = Pty::noted("");
    pty.wait_for_table();
    assert!(pty.screen().screen().alternate_screen());
    pty.send("q");
    pty.wait_for("after ");
    assert!(pty.text().contains("ended 0"), "{}", pty.text());
    assert_given_back(&pty);
}

/// Every signal that ends a program by default and that it can handle, a fault's among them.
#[test]
fn signals() {
    let ending = [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGHUP,
        libc::SIGQUIT,
        libc::SIGABRT,
        libc::SIGALRM,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGIO,
        libc::SIGPROF,
        libc::SIGPWR,
        libc::SIGSEGV,
        libc::SIGSTKFLT,
        libc::SIGSYS,
        libc::SIGTRAP,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGVTALRM,
        libc::SIGXCPU,
        libc::SIGRTMIN(),
        libc::SIGRTMAX(),
    ];
    for number in ending {
        let pty = Pty::noted("");
        pty.wait("the screen to be taken", |_| pty.screen().screen().alternate_screen());
        // Not by rustix, which knows none of real time.
        let sent = std::process::Command::new("kill")
            .args([format!("-{number}"), pty.zmtop_pid().to_string()])
            .status();
        assert!(sent.unwrap().success());
        pty.wait_for("after ");
        assert!(
            pty.text().contains(&format!("ended {}", 128 + number)),
            "signal {number}: {}",
            pty.text()
        );
        assert_given_back(&pty);
    }
}

#[test]
fn a_limit_on_the_size_of_files_ends_nothing() {
    let mut pty = Pty::noted("--interval 200ms");
    pty.wait_for_table();
    signal(pty.zmtop_pid(), Signal::XFSZ);
    pty.send("?");
    pty.wait_for(" Help");
    pty.send("q");
    pty.wait("it is closed", |s| !s.contains(" Help"));
    pty.send("q");
    // The help has the word, too.
    pty.wait("it has ended", |s| s.lines().any(|line| line.starts_with("after ")));
    assert!(pty.text().contains("ended 0"), "{}", pty.text());
    assert_given_back(&pty);
}

#[test]
fn a_signal_while_the_output_is_stalled() {
    // The escape sequences may be lost in a full buffer; the modes may not.
    let script = "stty -g > before; $ZMTOP --interval 100ms; stty -g > now; mv now after; read wait";
    let pty = Pty::run((100, 30), "sh", &["-c", script], &[]);
    pty.wait_for_table();
    let pid = pty.zmtop_pid();
    {
        let _stalled = pty.stall();
        fill_output(&pty, pid);
        signal(pid, Signal::TERM);
        wait_gone(pid);
    }
    let modes = |name: &str| std::fs::read_to_string(pty.home().join(name)).ok();
    pty.wait("the modes noted", |_| modes("after").is_some());
    assert_eq!(modes("before"), modes("after"), "the terminal's modes");
}

#[test]
fn a_terminal_that_goes_away() {
    // With SIGHUP, as the session's own terminal, and without. At once, and while it runs.
    for is_own in [true, false] {
        for seen in [b"?1049h".as_slice(), b"PSS", "Σ".as_bytes()] {
            let mut held = Held::new(&["--interval", "100ms"], is_own);
            held.read_until(seen);
            let seen = String::from_utf8_lossy(seen);
            assert_eq!(held.close_and_wait(), 129, "of the session: {is_own}, after {seen}");
        }
    }
}

/// Runs in a pseudo-terminal of its own: takes the terminal, and panics on another thread.
#[test]
#[ignore = "run by a_panic_on_any_thread in a terminal"]
fn panicking_thread() {
    take_terminal();
    let _ = std::thread::spawn(|| panic!("boom on purpose")).join();
    std::thread::sleep(std::time::Duration::from_secs(5));
}

/// The same in a task of the runtime, which keeps running after a panic.
#[test]
#[ignore = "run by a_panic_on_any_thread in a terminal"]
fn panicking_task() {
    take_terminal();
    let runtime = zmtop::run::runtime::runtime().build().unwrap();
    let _ = runtime.block_on(runtime.spawn(async { panic!("boom on purpose") }));
    std::thread::sleep(std::time::Duration::from_secs(5));
}

fn take_terminal() {
    zmtop::run::terminal::install_panic_hook();
    zmtop::run::terminal::enter(true).unwrap();
}

#[test]
fn a_panic_on_any_thread() {
    let me = std::env::current_exe().unwrap();
    for child in ["panicking_thread", "panicking_task"] {
        let script = format!(
            "echo before $(stty -g); $ME --ignored --exact pty::endings::{child} --nocapture; \
             echo ended $?; echo after $(stty -g); read wait"
        );
        let pty = Pty::run((100, 30), "sh", &["-c", &script], &[("ME", me.to_str().unwrap())]);
        pty.wait_for("after ");
        assert!(pty.text().contains("ended 101"), "{child}: {}", pty.text());
        assert!(
            pty.text().contains("boom on purpose"),
            "the report is on the main screen:\n{}",
            pty.text()
        );
        assert_given_back(&pty);
    }
}

#[test]
fn a_stop_from_outside_and_on() {
    let mut pty = Pty::noted("--interval 200ms");
    pty.wait_for_table();
    let pid = pty.zmtop_pid();
    signal(pid, Signal::STOP);
    std::thread::sleep(std::time::Duration::from_millis(300));
    // Something else wrote to the terminal meanwhile.
    pty.screen().process(b"\x1b[?25h\x1b[5;5Hspoilt");
    signal(pid, Signal::CONT);
    pty.wait("the table again", |s| {
        s.contains("COMMAND") && s.contains('Σ') && !s.contains("spoilt")
    });
    assert!(pty.screen().screen().alternate_screen());
    pty.send("q");
    pty.wait_for("after ");
    assert_given_back(&pty);
}

#[test]
fn it_was_built() {
    assert!(std::path::Path::new(ZMTOP).is_file());
}
