//! A terminal that takes nothing, and terminals that want less.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{quit, status};
use crate::support::Owned;
use crate::support::pty::{ESC, PATIENCE, Pty, ZMTOP, is_stuck_in_write};

#[test]
fn stalled_for_three_seconds() {
    const MARK: &str = "7007.25";
    let mut pty = Pty::zmtop((200, 50), &["--interval", "100ms"]);
    pty.wait_for_table();
    std::thread::sleep(Duration::from_secs(1));
    let before = status(pty.pid(), "VmRSS");
    let sleeper;
    {
        let lock = pty.stall_lock();
        let stalled = lock.lock().unwrap();
        sleeper = Owned::sleep(MARK);
        let start = Instant::now();
        // Whole screens until the kernel's buffer is full, and for three seconds from then.
        let mut stuck = None;
        while stuck.is_none_or(|since: Instant| since.elapsed() < Duration::from_secs(3)) && start.elapsed() < PATIENCE
        {
            pty.send("\x0c");
            std::thread::sleep(Duration::from_millis(30));
            if stuck.is_none() && is_stuck_in_write(pty.pid()) {
                stuck = Some(Instant::now());
            }
        }
        let stuck = stuck.is_some() && is_stuck_in_write(pty.pid());
        assert!(stuck, "the output does not stall here");
        let grown = status(pty.pid(), "VmRSS").saturating_sub(before);
        assert!(grown < 8 << 10, "{grown} KiB more while stalled");
        drop(stalled);
    }
    pty.send(&format!("/cmd:{MARK}\r"));
    pty.wait("what came meanwhile", |s| {
        s.contains(&format!("sleep {MARK}")) && s.contains("Σ 1 of")
    });
    drop(sleeper);
    pty.wait_for("no process matches");
    quit(&mut pty);
}

#[test]
fn no_color() {
    let colours = |env: &[(&str, &str)]| {
        let mut pty = Pty::run((120, 40), ZMTOP, &["--interval", "100ms"], env);
        pty.wait_for_table();
        for keys in ["j", "I", " ", "t", "v", "v", "/pss>1P", "\r"] {
            pty.send(keys);
            std::thread::sleep(Duration::from_millis(60));
        }
        // From here on no row is shown: the command line of a process could have the words that are waited for.
        pty.wait_for("no process matches");
        for (keys, opened) in [("?", " Help"), ("s", " Sort by "), ("/ (", "is not closed")] {
            pty.send(keys);
            pty.wait_for(opened);
            pty.send(ESC);
            pty.wait("it is closed", |text| !text.contains(opened));
        }
        quit(&mut pty);
        colours(&pty.raw())
    };
    assert_ne!(colours(&[]), Vec::<String>::new(), "there are colours to leave out");
    assert_eq!(
        colours(&[("NO_COLOR", "1"), ("LANG", "C"), ("LC_ALL", "C")]),
        Vec::<String>::new()
    );
}

/// The SGR sequences that set a colour other than the terminal's own.
fn colours(raw: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(raw);
    let sequences = text.split("\x1b[").skip(1).filter_map(|rest| {
        let (parameters, _) = rest.split_once('m')?;
        parameters
            .bytes()
            .all(|b| b.is_ascii_digit() || b";:".contains(&b))
            .then_some(parameters)
    });
    sequences
        .filter(|s| {
            s.split([';', ':'])
                .filter_map(|n| n.parse::<u8>().ok())
                .any(|n| matches!(n, 30..=38 | 40..=48 | 58 | 90..=97 | 100..=107))
        })
        .map(str::to_owned)
        .collect()
}

/// Returns what `zmtop ps` says and how it ends when its output goes there.
fn ps_into(output: Stdio) -> (Option<i32>, String) {
    let home = tempfile::tempdir().unwrap();
    let child = Command::new(ZMTOP)
        .arg("ps")
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    // Another test may have let the kernel kill a process.
    let said = said
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("zmtop: KILLED: "));
    (done.status.code(), said.collect())
}

#[test]
fn a_closed_pipe_is_no_failure_and_a_full_disk_is() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(ps_into(writer.into()), (Some(0), String::new()));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let (code, said) = ps_into(full.into());
    assert_eq!(code, Some(4));
    assert!(
        said.starts_with("zmtop: cannot write") && said.lines().count() == 1,
        "{said}"
    );
}

#[test]
fn a_standard_output_that_is_closed_is_said() {
    let home = tempfile::tempdir().unwrap();
    let run = |line: &str| {
        let mut command = Command::new("sh");
        let command = command.args(["-c", line]).env("ZMTOP", ZMTOP).env("HOME", home.path());
        let done = command.current_dir(home.path()).stdin(Stdio::null()).output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    for arguments in [
        "ps",
        "mem",
        "config show",
        "config default",
        "config path",
        "man",
        "completions bash",
        "--version",
    ] {
        let (code, said) = run(&format!("$ZMTOP {arguments} >&-"));
        assert_eq!(code, Some(4), "{arguments}: {said}");
        assert_eq!(said, "zmtop: cannot write: standard output is closed\n", "{arguments}");
        // A device that swallows all is no closed output, however it is open: Python's and Node's is open for reading, too.
        for null in ["> /dev/null", "1<> /dev/null"] {
            let (code, said) = run(&format!("$ZMTOP {arguments} {null}"));
            assert_eq!(code, Some(0), "{arguments} {null}: {said}");
        }
    }
    // What writes nothing there needs none. A signal may come before it is heeded, so that its exit code says nothing.
    let served = "$ZMTOP serve --listen 127.0.0.1:0 2> err >&- & \
        while ! grep -q . err; do sleep 0.05; done; kill $!; wait $!; cat err >&2";
    let (_, said) = run(served);
    assert!(said.contains("listening at "), "{said}");
    let mut pty = Pty::run((80, 24), "sh", &["-c", "$ZMTOP --pick >&-"], &[]);
    assert_eq!(pty.exit_code(), 4);
    pty.wait_for("standard output is closed");
}
