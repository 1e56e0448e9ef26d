//! A home that is not the user's, that is not there, or that takes nothing.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;

use super::{quit, root, skip};
use crate::support::pty::{ESC, Pty, ZMTOP, have, signal};

const README: &str = include_str!("../../../README.md");
const NOBODY: u32 = 65534;

/// A home that only root can look into, with all that zmtop could read or write there, and the program outside of it.
struct RootsHome {
    dir: tempfile::TempDir,
}

impl RootsHome {
    fn new() -> Self {
        let made = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::set_permissions(made.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        crate::support::copy_program(ZMTOP, &made.dir.path().join("zmtop"));
        let private = |path: &str| {
            fs::DirBuilder::new()
                .mode(0o700)
                .recursive(true)
                .create(made.at(path))
                .unwrap();
        };
        for folder in [".config/zmtop/themes", ".local/state/zmtop/blackbox"] {
            private(folder);
        }
        for (file, text) in [
            (".config/zmtop/config.toml", "[ui]\nsort = 'pid'\n"),
            (".config/zmtop/keymap.toml", ""),
            (".config/zmtop/themes/default.toml", ""),
            (".local/state/zmtop/blackbox/history", "roots"),
        ] {
            fs::write(made.at(file), text).unwrap();
        }
        made
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("home").join(path)
    }

    fn home(&self) -> String {
        self.dir.path().join("home").display().to_string()
    }

    /// The program before all others.
    fn path(&self) -> String {
        format!("{}:{}", self.dir.path().display(), std::env::var("PATH").unwrap())
    }

    /// Runs a command line as `sudo` does where it keeps root's home.
    fn run(&self, line: &str) -> Output {
        let mut command = Command::new("sh");
        let command = command.args(["-c", line]).env_clear().env("HOME", self.home());
        let command = command
            .env("USER", "nobody")
            .env("PATH", self.path())
            .env("LANG", "C.UTF-8");
        command.current_dir("/").stdin(Stdio::null()).output().unwrap()
    }
}

/// The command of the README that shows everything without root, as it is written there, but for `sudo`.
fn readme_command() -> &'static str {
    let line = README.lines().find(|line| line.starts_with("sudo setpriv "));
    line.and_then(|line| line.strip_prefix("sudo "))
        .expect("the README has it")
}

#[test]
fn the_readme_s_command_works_as_written_where_root_s_home_is_kept() {
    if !root() || !have("setpriv") {
        return;
    }
    let home = RootsHome::new();
    let command = readme_command();
    let rights = command.strip_suffix("zmtop").expect("it ends with the program");
    let tried = home.run(&format!("{rights} true"));
    if !tried.status.success() {
        return skip(&format!(
            "not to be granted: {}",
            String::from_utf8_lossy(&tried.stderr)
        ));
    }
    // With the group of the user, too: that of root may read what the user may not.
    let group = home.run(&format!("{rights} id -g"));
    let own = Command::new("id").args(["-g", "nobody"]).output().unwrap();
    assert_eq!(group.stdout, own.stdout);
    let (path, own) = (home.path(), home.home());
    let env = [("HOME", own.as_str()), ("USER", "nobody"), ("PATH", path.as_str())];
    let mut pty = Pty::run((160, 40), "sh", &["-c", command], &env);
    pty.wait_for_table();
    pty.send("!");
    pty.wait("the list says both", |screen| {
        screen.contains("┌ Alerts") && screen.contains("cannot read ") && screen.contains("nothing is kept")
    });
    // Nothing is written over what could not be read.
    pty.send(ESC);
    pty.wait("the list is closed", |screen| !screen.contains("┌ Alerts"));
    pty.send("W");
    pty.wait_for("saved: none");
    pty.send("\r");
    pty.wait_for("not saved");
    quit(&mut pty);
    pty.wait("the main screen", |screen| !screen.contains("COMMAND"));
    let said = pty.text();
    assert_eq!(said.matches("permission denied").count(), 2, "{said}");
    assert_eq!(said.matches("nothing is kept").count(), 1, "{said}");
    let history = home.at(".local/state/zmtop/blackbox/history");
    assert_eq!(fs::read(history).unwrap(), b"roots");

    // What each command reads of the configuration.
    let recording = format!(
        "{}/tests/fixtures/recordings/small-host.ndjson.zst",
        env!("CARGO_MANIFEST_DIR")
    );
    let copy = home.dir.path().join("recording");
    fs::copy(recording, &copy).unwrap();
    let leaks = format!("leaks --from {}", copy.display());
    for arguments in [
        "ps --top 1",
        "ps --by command --format json",
        "mem",
        "maps 1",
        "held 1",
        &leaks,
        "kernel slab",
        "config show",
        "leaks --prove 1 --for 1ms",
    ] {
        let done = home.run(&format!("{command} {arguments}"));
        let said = String::from_utf8(done.stderr).unwrap();
        let denied = said.lines().filter(|line| line.contains("/.config/zmtop/"));
        assert_eq!(denied.count(), 1, "{arguments}: {said}");
        assert!(
            said.contains("/config.toml, keymap.toml") || arguments.starts_with("ps"),
            "{said}"
        );
        let is_refused = arguments.contains("1ms");
        assert_eq!(done.status.code() == Some(2), is_refused, "{arguments}: {said}");
        // The right to read those needs another capability, or root.
        let is_denied = ["maps 1", "held 1", "kernel slab"].contains(&arguments);
        assert!(
            is_refused || is_denied || !done.stdout.is_empty(),
            "{arguments}: {said}"
        );
    }
    // What reads nothing has nothing to say.
    for arguments in ["config default", "config path", "completions bash", "man", "--version"] {
        let done = home.run(&format!("{command} {arguments}"));
        assert!(done.status.success() && done.stderr.is_empty(), "{arguments}: {done:?}");
    }
    let checked = home.run(&format!("{command} config check"));
    let said = String::from_utf8(checked.stderr).unwrap();
    assert!(
        checked.status.code() == Some(2) && said.contains("cannot read "),
        "{said}"
    );
    let err = home.dir.path().join("err");
    let err = err.display();
    let exporter = home.run(&format!(
        "{command} serve --listen 127.0.0.1:0 2> {err} & until grep -qs listening {err}; do sleep 0.05; done; kill $!; cat {err}"
    ));
    let said = String::from_utf8(exporter.stdout).unwrap();
    assert!(said.contains("cannot read ") && said.contains("listening"), "{said}");
    // What is named is wanted.
    for arguments in [
        "--config $HOME/.config/zmtop/config.toml",
        "ps --config $HOME/.config/zmtop/config.toml",
    ] {
        let done = home.run(&format!("{command} {arguments}"));
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(
            said.contains("config.toml: cannot be read: permission denied"),
            "{said}"
        );
    }
}

/// Starts the monitor twice with this `HOME`, saves, and quits; what each start left on the terminal.
fn two_starts(script: &str, home: &str) -> [String; 2] {
    [(); 2].map(|()| {
        let mut pty = Pty::run((150, 30), "sh", &["-c", script], &[("HOME", home)]);
        pty.wait_for_table();
        pty.send("!");
        pty.wait("the list says it", |s| {
            s.contains("┌ Alerts") && s.contains("nothing is kept")
        });
        pty.send(ESC);
        pty.wait("the list is closed", |s| !s.contains("┌ Alerts"));
        pty.send("W");
        pty.wait_for("saved: none");
        pty.send("\r");
        pty.wait_for("not saved");
        quit(&mut pty);
        pty.wait("the main screen", |screen| !screen.contains("COMMAND"));
        pty.text()
    })
}

#[test]
fn a_home_that_is_not_there_is_not_made_and_every_start_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (absent, file) = (dir.path().join("absent"), dir.path().join("file"));
    fs::write(&file, "").unwrap();
    let start = "exec $ZMTOP";
    let cases = [
        (start, absent.to_str().unwrap(), "no such file or directory"),
        (start, file.to_str().unwrap(), "not a directory"),
        (start, "", "HOME"),
        (start, "relative", "HOME"),
        ("unset HOME; exec $ZMTOP", "", "HOME"),
        // No folder can be made there, not even by root.
        (start, "/proc", "/proc"),
    ];
    for (script, home, why) in cases {
        let said = two_starts(script, home);
        for said in &said {
            assert_eq!(said.matches("nothing is kept").count(), 1, "{home}: {said}");
            assert!(said.contains(why), "{home}: {said}");
        }
        assert_eq!(said[0], said[1], "{home}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "something was made");
}

#[test]
fn a_state_folder_named_by_itself_needs_no_home_and_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("a/b");
    for home in ["", "/nowhere"] {
        let env = [("HOME", home), ("XDG_STATE_HOME", state.to_str().unwrap())];
        let mut pty = Pty::run((150, 30), ZMTOP, &[], &env);
        pty.wait_for_table();
        quit(&mut pty);
        pty.wait("the main screen", |screen| !screen.contains("COMMAND"));
        assert!(!pty.text().contains("kept"), "{}", pty.text());
        assert!(state.join("zmtop/blackbox/history").is_file());
        fs::remove_dir_all(&state).unwrap();
    }
}

#[test]
fn root_leaves_the_history_of_another_user_alone_and_puts_none_in_its_place() {
    if !root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".local/state/zmtop/blackbox");
    fs::create_dir_all(&folder).unwrap();
    let history = folder.join("history");
    for kept in [Some("theirs"), None] {
        let _ = fs::remove_file(&history);
        if let Some(text) = kept {
            fs::write(&history, text).unwrap();
        }
        let mut own = vec![home.path().to_path_buf()];
        for part in [".local", "state", "zmtop", "blackbox"] {
            own.push(own.last().unwrap().join(part));
        }
        own.extend(kept.map(|_| history.clone()));
        for path in &own {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut pty = Pty::run((150, 30), ZMTOP, &[], &[("HOME", home.path().to_str().unwrap())]);
        pty.wait_for_table();
        pty.wait("the screen says it", |s| {
            s.contains("nothing is kept") && s.contains("belongs to user 65534")
        });
        signal(pty.pid(), Signal::TERM);
        assert_eq!(pty.exit_code(), 143);
        let text = fs::read_to_string(&history).ok();
        assert_eq!(text.as_deref(), kept);
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name == "history"), "{names:?}");
    }
}

#[test]
fn root_reads_no_black_box_of_another_user_unless_it_is_named() {
    if !root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".local/state/zmtop/blackbox");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("20261124T120000Z.zmrec"), "").unwrap();
    chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let why = |args: &[&str]| {
        let mut command = Command::new(ZMTOP);
        let command = command.arg("why").args(args).env("HOME", home.path());
        let output = command.env_remove("XDG_STATE_HOME").output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let error = why(&[]);
    assert!(
        error.contains("blackbox is not used: ") && error.contains(" belongs to user 65534"),
        "{error}"
    );
    let error = why(&[folder.to_str().unwrap()]);
    assert!(error.contains("has no recording"), "{error}");
}

#[test]
fn a_log_of_the_config_that_cannot_be_written_is_said_and_one_that_is_asked_for_must_be() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.toml");
    fs::write(&config, "[log]\nfile = '/proc/zmtop/log'\n").unwrap();
    let mut pty = Pty::run((150, 30), ZMTOP, &["--config", config.to_str().unwrap()], &[]);
    pty.wait_for_table();
    pty.wait_for("cannot open the log /proc/zmtop/log");
    quit(&mut pty);
    let mut pty = Pty::run((150, 30), ZMTOP, &["--log", "/proc/zmtop/log"], &[]);
    assert_eq!(pty.exit_code(), 2);
    pty.wait_for("cannot open the log /proc/zmtop/log");
}
