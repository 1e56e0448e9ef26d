//! Using it.

use crate::support::Owned;
use crate::support::pty::{ESC, PATIENCE, Pty, ZMTOP};

#[test]
fn it_shows_a_real_process_filters_and_quits() {
    // A process that the search finds alone: no other process has its command line.
    let mut sleeper = std::process::Command::new("sleep").arg("1234.5").spawn().unwrap();
    let mut pty = Pty::zmtop((100, 30), &["--interval", "200ms"]);
    pty.wait_for_table();
    pty.send("/cmd:1234.5");
    pty.wait_for("1 match");
    pty.send("\r");
    pty.wait("only the sleeper", |s| {
        s.contains("sleep 1234.5") && s.contains("Σ 1 of")
    });
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    pty.wait_for("no process matches");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn the_first_start_says_what_is_on_the_screen_and_the_second_does_not() {
    let state = tempfile::tempdir().unwrap();
    let env = [("XDG_STATE_HOME", state.path().to_str().unwrap())];
    for (start, shows, hides) in [
        (1, "Memory by process, largest first", "s sort"),
        (2, "s sort", "largest first"),
    ] {
        let mut pty = Pty::run((120, 30), ZMTOP, &[], &env);
        pty.wait_for_table();
        let last = pty.text().lines().last().unwrap_or_default().to_owned();
        assert!(last.contains(shows) && !last.contains(hides), "start {start}: {last}");
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
}

#[test]
fn keys_open_and_close_what_they_should() {
    let mut pty = Pty::zmtop((120, 40), &[]);
    pty.wait_for_table();
    for (opens, shows, closes) in [
        ("?", "This help", ESC),
        ("s", " Sort by ", ESC),
        ("C", " Columns ", ESC),
        ("u", "everyone", ESC),
    ] {
        pty.send(opens);
        pty.wait_for(shows);
        pty.send(closes);
        pty.wait("it is closed", |s| !s.contains(shows));
    }
    for (keys, shows) in [
        ("v", "SWPSS"),
        ("v", "filter"),
        ("t", "ΣPSS"),
        ("Z", "PAUSED"),
        ("\x1bOS", "Filter"), // F4
    ] {
        pty.send(keys);
        pty.wait_for(shows);
    }
    pty.send(ESC);
    pty.wait("the filter closed", |s| !s.contains(" Filter "));
    pty.send("\x1b[21~"); // F10
    assert_eq!(pty.exit_code(), 0, "{}", pty.text());
}

#[test]
fn a_command_line_is_given_to_the_terminals_clipboard() {
    let _sleeper = Owned::sleep("4321.5");
    let mut pty = Pty::zmtop((100, 30), &["--interval", "200ms"]);
    pty.wait_for_table();
    pty.send("/cmd:4321.5");
    pty.wait_for("1 match");
    pty.send("\r");
    pty.wait_for("Σ 1 of");
    pty.send("Y");
    pty.wait_for("copied, if the terminal allows it: sleep 4321.5");
    // RFC 4648 of "sleep 4321.5".
    let wanted = b"\x1b]52;c;c2xlZXAgNDMyMS41\x1b\\";
    let start = std::time::Instant::now();
    while !pty.raw().windows(wanted.len()).any(|bytes| bytes == wanted) {
        assert!(start.elapsed() < PATIENCE, "{:?}", String::from_utf8_lossy(&pty.raw()));
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn tab_groups_enter_opens_and_m_reads_mappings() {
    let _sleepers = [Owned::sleep("2345.6"), Owned::sleep("2345.6"), Owned::sleep("2345.6")];
    let mut pty = Pty::zmtop((120, 40), &["--interval", "200ms", "--by", "command"]);
    pty.wait_for_table();
    // Not as an option: zmtop would find itself by it.
    pty.send("/cmd:2345.6");
    pty.wait_for("1 match");
    pty.send("\r");
    pty.wait("the group", |s| s.contains("by command") && s.contains("Σ 1 group "));
    pty.send("\r");
    pty.wait("its members", |s| {
        s.contains("command sleep") && s.matches("sleep 2345.6").count() >= 3
    });
    pty.send("m");
    pty.wait("their mappings", |s| {
        s.contains("MAPPING") && s.contains("mappings 0") && s.contains("[stack]") && s.contains("bin/")
    });
    pty.send(ESC);
    pty.wait("the members again", |s| s.contains("COMMAND") && s.contains("PID"));
    pty.send("\x7f");
    pty.wait("the groups again", |s| s.contains("by command") && !s.contains("PID"));
    for (keys, shows) in [("\t", "by user"), ("\x1b[Z", "by command")] {
        pty.send(keys);
        pty.wait_for(shows);
    }
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn the_mouse_is_taken_unless_told_otherwise() {
    let mode = |pty: &Pty| pty.screen().screen().mouse_protocol_mode();
    let with = Pty::zmtop((80, 24), &[]);
    with.wait_for_table();
    assert_ne!(mode(&with), vt100::MouseProtocolMode::None);
    let without = Pty::zmtop((80, 24), &["--no-mouse"]);
    without.wait_for_table();
    assert_eq!(mode(&without), vt100::MouseProtocolMode::None);
}

#[test]
fn a_click_on_a_heading_sorts() {
    let mut pty = Pty::zmtop((120, 40), &[]);
    pty.wait_for_table();
    // Paused, no line appears above the table between the look at the screen and the click.
    pty.send("Z");
    pty.wait_for("PAUSED");
    pty.click(" USS ", 1, "another order", |s| s.contains("▼USS"));
}

#[test]
fn a_hint_is_clicked_and_a_row_clicked_twice() {
    let _sleeper = Owned::sleep("5432.1");
    let mut pty = Pty::zmtop((120, 40), &["--interval", "200ms"]);
    pty.wait_for_table();
    pty.click("/ filter", 1, "the filter", |s| s.contains(" Filter "));
    pty.send("cmd:5432.1");
    pty.wait_for("1 match");
    pty.send("\r");
    pty.wait("the sleeper", |s| s.contains("Σ 1 of") && s.contains("sleep 5432.1"));
    let panel = "footprint over";
    pty.click("sleep 5432.1", 2, panel, |s| s.contains(panel));
    pty.click("Enter close", 1, "the table", |s| !s.contains(panel));
    pty.click("q quit", 1, "the end", |s| !s.contains("q quit"));
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn it_follows_the_terminals_size() {
    let mut pty = Pty::zmtop((80, 24), &["--interval", "100ms"]);
    pty.wait_for_table();
    pty.resize(132, 43);
    pty.wait("the wide footer", |s| {
        s.lines().last().is_some_and(|l| l.contains("M by PSS")) && s.lines().count() == 43
    });
    // A storm, through sizes where nothing fits and where everything does.
    for step in 0..100_u16 {
        let size = match step % 4 {
            0 => (1, 1),
            1 => (500, 200),
            2 => (step + 1, 50 - step / 2 + 1),
            _ => (20, 5),
        };
        pty.resize(size.0, size.1);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    pty.resize(80, 24);
    pty.send("\x0c");
    pty.wait("the table again", |s| {
        s.lines().count() == 24 && s.contains("COMMAND") && s.contains("q quit")
    });
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn w_saves_and_the_next_start_has_it() {
    let config;
    {
        let mut pty = Pty::zmtop((120, 40), &[]);
        pty.wait_for_table();
        pty.send("S");
        pty.wait_for("▼SWAP");
        pty.send("W");
        pty.wait_for("saved: none");
        pty.send("\r");
        pty.wait_for("saved to");
        pty.send("W");
        pty.wait_for("saved: default");
        pty.send("web\r");
        pty.wait_for("views/web.toml");
        pty.send("MV");
        // The list is shown as it was until the files are read again.
        pty.wait("the saved view", |s| {
            s.lines()
                .any(|l| l.contains(" web ") && l.contains("processes by swap"))
        });
        pty.send("web\r");
        pty.wait_for("view web");
        pty.wait_for("▼SWAP");
        config = std::fs::read_to_string(pty.home().join(".config/zmtop/config.toml")).unwrap();
        pty.send("q");
        assert_eq!(pty.exit_code(), 0);
    }
    assert!(config.contains("sort = \"swap\""), "{config}");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    std::fs::write(&file, config).unwrap();
    let pty = Pty::zmtop((120, 40), &["--config", file.to_str().unwrap()]);
    pty.wait_for("▼SWAP");
}

#[test]
fn redraw_mends_a_spoilt_screen() {
    let mut pty = Pty::zmtop((100, 30), &["--interval", "1h"]);
    pty.wait_for_table();
    pty.screen().process(b"\x1b[5;5Hspoilt by a stray message");
    assert!(pty.text().contains("spoilt"));
    pty.send("\x0c");
    let start = std::time::Instant::now();
    while pty.text().contains("spoilt") {
        assert!(start.elapsed() < PATIENCE, "{}", pty.text());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn digits_are_pages_or_a_pid_and_a_view_is_opened_by_its_name() {
    let mut sleeper = std::process::Command::new("sleep").arg("4321.5").spawn().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    std::fs::write(&file, "").unwrap();
    std::fs::create_dir(dir.path().join("views")).unwrap();
    std::fs::write(
        dir.path().join("views/web.toml"),
        "[ui]\nsort = \"virt\"\nfold = false\n",
    )
    .unwrap();
    let arguments = ["--config", file.to_str().unwrap(), "--view", "web"];
    let mut pty = Pty::zmtop((120, 40), &arguments);
    pty.wait_for("▼VIRT");
    pty.send("2");
    pty.wait_for("MemTotal");
    pty.send(&sleeper.id().to_string());
    pty.wait("the sleeper is found", |screen| {
        screen.contains(" Pid ") && screen.contains(&format!("{} sleep", sleeper.id()))
    });
    pty.send("\r");
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let pty = Pty::zmtop((120, 40), &["--config", file.to_str().unwrap(), "--view", "wbe"]);
    pty.wait_for("did you mean `web`?");
}
