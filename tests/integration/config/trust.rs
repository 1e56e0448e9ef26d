//! Trust in a config: its programs run only if no user but its reader and root can change it.

use std::fs::{create_dir, hard_link};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use zmtop::config::state::{self, open_log};
use zmtop::config::{Config, Env, Settings, save};

use crate::support::pty::{Pty, ZMTOP, have};

const NOBODY: u32 = 65534;

fn give(path: &Path, uid: u32) {
    std::os::unix::fs::lchown(path, Some(uid), Some(uid)).unwrap();
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    assert!(root || std::env::var_os("CI").is_none(), "CI runs the tests as root");
    root
}

#[test]
fn root_with_a_kept_home_runs_no_program_of_another_users_config_and_says_so() {
    if !is_root() {
        return; // only root can give a file away
    }
    let dir = tempfile::tempdir().unwrap();
    let (ran, log) = (dir.path().join("ran"), dir.path().join("log"));
    let home = dir.path().join("home");
    let config = home.join(".config/zmtop/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    let text = format!(
        "[ui]\nsort = 'pid'\n[log]\nfile = '{}'\n[[alert]]\nname = 'x'\nwhen = 'processes>0'\non = 'system'\nhold = 0\n\
        run = ['/usr/bin/touch', '{}']\n",
        log.display(),
        ran.display()
    );
    std::fs::write(&config, text).unwrap();
    for path in [&home, &home.join(".config"), &home.join(".config/zmtop"), &config] {
        give(path, NOBODY);
    }
    let start = "$ZMTOP 2> err; cat err; read wait";
    let mut pty = Pty::run((150, 30), "sh", &["-c", start], &[("HOME", home.to_str().unwrap())]);
    // The alert fires all the same, and the rest of the config holds.
    pty.wait("the alert", |s| {
        s.contains("! 1 alert") && s.contains("programs and log are refused")
    });
    pty.wait_for("▼PID");
    pty.send("!");
    pty.wait("the list says it", |s| {
        s.contains("┌ Alerts") && s.contains("belongs to user 65534")
    });
    pty.send("\x1b");
    pty.wait("the list is closed", |s| !s.contains("┌ Alerts"));
    pty.send("q");
    pty.wait("the line on stderr", |s| {
        s.contains("zmtop: the config's programs and log")
    });
    assert!(!ran.exists(), "the program was run");
    assert!(!log.exists(), "the log was written");
}

/// A config with a harmless setting and an alert that runs a program.
const PROGRAM: &str = "ui.tree = true\n[[alert]]\nname = 'x'\nwhen = 'pss>1G'\nrun = ['/bin/true']\n";
const LOG: &str = "ui.tree = true\nlog.file = '/nowhere/log'\n";

/// A home with a config, and another directory beside it.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new(text: &str) -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir_all(place.at("home/.config/zmtop")).unwrap();
        create_dir(place.at("other")).unwrap();
        std::fs::write(place.config(), text).unwrap();
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn config(&self) -> PathBuf {
        self.at("home/.config/zmtop/config.toml")
    }

    fn env(&self) -> Env {
        Env {
            home: Some(self.at("home").into()),
            ..Env::default()
        }
    }

    /// The warnings, without the path before the directory; the rest of the config holds in any case.
    fn warnings(&self) -> Vec<String> {
        let config = Config::load(None, &self.env()).unwrap();
        assert!(config.settings.ui.tree);
        let runs = config.settings.alerts.iter().any(|alert| !alert.run.is_empty());
        assert!(config.warnings.is_empty() || !runs && config.settings.log.file.is_none());
        let (settings, _) = Settings::load(None, &self.env()).unwrap();
        assert_eq!(settings.alerts, config.settings.alerts);
        let dir = format!("{}/", self.dir.path().display());
        config.warnings.iter().map(|w| w.replace(&dir, "")).collect()
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Moves the config to another place, with a link at its own.
fn link(place: &Place, target: &str) {
    std::fs::rename(place.config(), place.at("other/real.toml")).unwrap();
    symlink(target, place.config()).unwrap();
}

/// Change of a place, after its name or the reason why the config is refused then.
type Case = (&'static str, fn(&Place));

#[test]
fn what_others_can_change_runs_nothing() {
    let root = is_root();
    let mine: [Case; 6] = [
        ("as made", |_| {}),
        ("read by others", |p| set_mode(&p.config(), 0o644)),
        ("in a shared directory with the sticky bit", |p| {
            set_mode(&p.at("home"), 0o1777);
        }),
        ("over a link", |p| link(p, p.at("other/real.toml").to_str().unwrap())),
        ("over a relative link", |p| link(p, "../../../other/./real.toml")),
        ("with a second name", |p| {
            hard_link(p.config(), p.at("other/hard")).unwrap();
        }),
    ];
    for (what, change) in mine {
        let place = Place::new(PROGRAM);
        change(&place);
        assert_eq!(place.warnings(), [""; 0], "{what}");
        let config = Config::load(None, &place.env()).unwrap();
        assert_eq!(config.settings.alerts[0].run, ["/bin/true"], "{what}");
    }
    let shared: [Case; 6] = [
        ("others can write to home/.config/zmtop/config.toml", |p| {
            set_mode(&p.config(), 0o664);
        }),
        ("others can write to home/.config/zmtop/config.toml", |p| {
            set_mode(&p.config(), 0o602);
        }),
        ("others can write to home/.config", |p| {
            set_mode(&p.at("home/.config"), 0o775);
        }),
        ("others can write to home", |p| set_mode(&p.at("home"), 0o757)),
        ("others can write to other", |p| {
            link(p, "../../../other/real.toml");
            set_mode(&p.at("other"), 0o777);
        }),
        ("others can write to other/real.toml", |p| {
            link(p, "../../../other/real.toml");
            set_mode(&p.at("other/real.toml"), 0o622);
        }),
    ];
    let given: [Case; 5] = [
        ("home/.config/zmtop/config.toml belongs to user 65534", |p| {
            give(&p.config(), NOBODY);
        }),
        ("home/.config belongs to user 65534", |p| {
            give(&p.at("home/.config"), NOBODY);
        }),
        ("home/.config/zmtop/config.toml belongs to user 65534", |p| {
            set_mode(&p.at("home"), 0o1777);
            give(&p.config(), NOBODY);
        }),
        ("home/.config/zmtop/config.toml belongs to user 65534", |p| {
            link(p, "../../../other/real.toml");
            give(&p.config(), NOBODY);
        }),
        ("other/real.toml belongs to user 65534", |p| {
            link(p, "../../../other/real.toml");
            give(&p.at("other/real.toml"), NOBODY);
        }),
    ];
    for (why, change) in shared.iter().chain(given.iter().filter(|_| root)) {
        for (text, what) in [
            (PROGRAM.to_owned(), "programs are"),
            (LOG.to_owned(), "log is"),
            (
                format!("{LOG}{}", PROGRAM.split_once('\n').unwrap().1),
                "programs and log are",
            ),
        ] {
            let place = Place::new(&text);
            change(&place);
            assert_eq!(place.warnings(), [format!("the config's {what} refused: {why}")]);
        }
        // Where nothing is asked for there is nothing to say.
        let place = Place::new("ui.tree = true\n[[alert]]\nname = 'x'\nwhen = 'pss>1G'\n");
        change(&place);
        assert_eq!(place.warnings(), [""; 0]);
    }
}

/// `zmtop config check` of that file as nobody; its exit code and what it says.
fn check_as_nobody(program: &Path, config: &Path) -> (Option<i32>, String) {
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(program)
        .args(["config", "check", "--config"])
        .arg(config)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn any_user_trusts_root_and_no_other() {
    if !is_root() || !have("setpriv") {
        return;
    }
    let place = Place::new(PROGRAM);
    for dir in ["", "home", "home/.config", "home/.config/zmtop"] {
        set_mode(&place.at(dir), 0o755);
    }
    set_mode(&place.config(), 0o644);
    let program = place.at("zmtop");
    crate::support::copy_program(ZMTOP, &program);
    for (owner, code) in [(0, 0), (NOBODY, 0), (1234, 2)] {
        give(&place.config(), owner);
        let (exit, said) = check_as_nobody(&program, &place.config());
        assert_eq!(exit, Some(code), "{owner}: {said}");
        assert_eq!(said.contains("belongs to user 1234"), code == 2, "{said}");
        assert_eq!(said.lines().count(), usize::from(code == 2), "{said}");
    }
}

#[test]
fn root_leaves_to_a_user_what_is_saved_in_the_users_home() {
    if !is_root() {
        return; // only root can give a file away
    }
    let ui = Settings::default().ui;
    let place = Place::new("# mine\n");
    let owner = |path: &str| std::fs::symlink_metadata(place.at(path)).unwrap().uid();
    for path in [
        "home",
        "home/.config",
        "home/.config/zmtop",
        "home/.config/zmtop/config.toml",
    ] {
        give(&place.at(path), NOBODY);
    }
    save(&place.config(), &ui).unwrap();
    assert_eq!(owner("home/.config/zmtop/config.toml"), NOBODY);
    // Made anew, with the directories it is in.
    save(&place.at("home/a/b/config.toml"), &ui).unwrap();
    for path in ["home/a", "home/a/b", "home/a/b/config.toml"] {
        assert_eq!(owner(path), NOBODY, "{path}");
    }
}

#[test]
fn root_keeps_nothing_in_the_home_of_another_user() {
    if !is_root() {
        return; // only root can give a file away
    }
    let home = tempfile::tempdir().unwrap();
    give(home.path(), NOBODY);
    let env = Env {
        home: Some(home.path().into()),
        ..Env::default()
    };
    assert!(state::is_first_start(&env));
    let errors = [
        state::history_file(&env).unwrap_err(),
        state::open_folder(&home.path().join("a/b")).unwrap_err().to_string(),
        state::check(&home.path().join("a/b")).unwrap_err().to_string(),
    ];
    for error in errors {
        assert!(error.ends_with(" belongs to user 65534"), "{error}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn nothing_is_written_where_a_link_of_others_leads() {
    if !is_root() {
        return; // only root can give a file away
    }
    let place = Place::new("");
    for path in ["home", "home/.config", "home/.config/zmtop"] {
        give(&place.at(path), NOBODY);
    }
    link(&place, "../../../other/real.toml");
    symlink(place.at("other"), place.at("home/dir")).unwrap();
    symlink(place.at("other/new"), place.at("home/dangling")).unwrap();
    let ui = Settings::default().ui;
    for path in ["home/.config/zmtop/config.toml", "home/dir/new"] {
        let error = save(&place.at(path), &ui).unwrap_err().to_string();
        assert!(error.contains("others can change the symbolic link "), "{error}");
    }
    assert!(save(&place.at("home/dangling"), &ui).is_err());
    let error = open_log(&place.at("home/dir/z.log")).unwrap_err().to_string();
    assert!(error.starts_with("others can change the symbolic link "), "{error}");
    assert_eq!(std::fs::read(place.at("other/real.toml")).unwrap(), b"");
    assert_eq!(std::fs::read_dir(place.at("other")).unwrap().count(), 1);
}

#[test]
fn a_keymap_and_a_theme_cannot_name_a_program() {
    let place = Place::new("");
    std::fs::write(
        place.at("home/.config/zmtop/keymap.toml"),
        "[[table]]\non = ['x']\nrun = ['/bin/true']\n[[table]]\non = ['y']\nrun = '/bin/true'\n",
    )
    .unwrap();
    let faults = Config::load(None, &place.env()).unwrap_err().to_string();
    assert!(
        faults.contains("expected an action's name in quotes, found an array"),
        "{faults}"
    );
    assert!(faults.contains("unknown action in table `/bin/true`"), "{faults}");
}

/// Loads a config whose alert runs a program of that name, with `home/bin` first on the path; what it warns of.
fn warnings_of_program(place: &Place, name: &str) -> Vec<String> {
    warnings_of_command(place, &[name, "a"])
}

fn warnings_of_command(place: &Place, command: &[&str]) -> Vec<String> {
    let alert = format!("ui.tree = true\n[[alert]]\nname = 'x'\nwhen = 'pss>1G'\nrun = {command:?}\n");
    std::fs::write(place.config(), alert).unwrap();
    let env = Env {
        path: Some(format!("{}:/usr/bin:/bin", place.at("home/bin").display()).into()),
        ..place.env()
    };
    let config = Config::load(None, &env).unwrap();
    let runs = config.settings.alerts.iter().any(|alert| !alert.run.is_empty());
    let is_refused = config.warnings.iter().any(|warning| warning.contains("is not run"));
    assert_eq!(runs, !is_refused, "{:?}", config.warnings);
    let dir = format!("{}/", place.dir.path().display());
    config.warnings.iter().map(|w| w.replace(&dir, "")).collect()
}

#[test]
fn a_program_that_others_can_change_is_refused_as_the_config_is() {
    let place = || {
        let place = Place::new("");
        create_dir(place.at("home/bin")).unwrap();
        std::fs::write(place.at("home/bin/tell-me"), "#!/bin/sh\n").unwrap();
        set_mode(&place.at("home/bin/tell-me"), 0o755);
        symlink("bin/tell-me", place.at("home/link")).unwrap();
        place
    };
    let whole = |place: &Place, path: &str| place.at(path).display().to_string();
    let sound = place();
    for name in [
        whole(&sound, "home/bin/tell-me"),
        whole(&sound, "home/link"),
        "tell-me".into(),
        "sh".into(),
        "/bin/sh".into(),
    ] {
        assert_eq!(warnings_of_program(&sound, &name), [""; 0], "{name}");
    }
    // What is not there may come. It is said, and tried.
    std::fs::write(sound.at("home/bin/orphan"), "#!/nowhere/sh\n").unwrap();
    set_mode(&sound.at("home/bin/orphan"), 0o755);
    let orphan = whole(&sound, "home/bin/orphan");
    for name in ["/nowhere/at/all", "tell-nobody", "home/nowhere", orphan.as_str()] {
        let shown = name.replace(&format!("{}/", sound.dir.path().display()), "");
        let expected = format!("alert x: cannot run {shown}: no such file or directory");
        assert_eq!(warnings_of_program(&sound, name), [expected], "{name}");
    }
    let cases: [Case; 4] = [
        ("others can write to home/bin/tell-me", |p| {
            set_mode(&p.at("home/bin/tell-me"), 0o777);
        }),
        ("others can write to home/bin", |p| set_mode(&p.at("home/bin"), 0o775)),
        ("home/bin/tell-me belongs to user 65534", |p| {
            give(&p.at("home/bin/tell-me"), NOBODY);
        }),
        ("home/bin belongs to user 65534", |p| give(&p.at("home/bin"), NOBODY)),
    ];
    for (why, change) in cases {
        if why.contains("belongs") && !is_root() {
            continue; // only root can give a file away
        }
        let place = place();
        change(&place);
        for name in [
            whole(&place, "home/bin/tell-me"),
            whole(&place, "home/link"),
            "tell-me".into(),
        ] {
            let expected = format!("the program of alert x is not run: {why}");
            assert_eq!(warnings_of_program(&place, &name), [expected], "{name}");
        }
    }
}

#[test]
fn a_script_or_an_interpreter_that_others_can_change_is_refused_as_the_program_is() {
    let place = Place::new("");
    create_dir(place.at("home/bin")).unwrap();
    let script = |name: &str, text: &str| {
        std::fs::write(place.at("home/bin").join(name), text).unwrap();
        set_mode(&place.at("home/bin").join(name), 0o755);
        place.at("home/bin").join(name).display().to_string()
    };
    let own = script("own", "#!/bin/sh\n");
    let open = script("open", "#!/bin/sh\n");
    let by_open = script("by-open", &format!("#! {open} -x\n"));
    let by_env = script("by-env", "#!/usr/bin/env open\n");
    let twice = script("twice", &format!("#!{by_open}\n"));
    set_mode(&place.at("home/bin/open"), 0o777);
    let (command, spaced) = (format!("{open} --now"), format!("exec {open}"));
    for (words, is_refused) in [
        (&["/bin/sh", &own][..], false),
        (&["/bin/sh", &open], true),
        (&["/bin/sh", "-c", &open], true),
        (&["/bin/sh", "-c", &command], true),
        (&["sh", "-eu", &open, "a"], true),
        (&["env", "A=b", "open"], true),
        (&["env", "A=b", "own"], false),
        (&["/usr/bin/env", &open], true),
        (&[&by_open], true),
        (&[&by_env], true),
        (&[&twice], true),
        (&["env", "by-env"], true),
        (&["/bin/sh", &own, "/dev/null", "/tmp", "/nowhere/at/all"], false),
        // The text of a shell is not read.
        (&["/bin/sh", "-c", &spaced], false),
    ] {
        let expected = is_refused.then_some("the program of alert x is not run: others can write to home/bin/open");
        let warnings = warnings_of_command(&place, words);
        assert_eq!(warnings, Vec::from_iter(expected), "{words:?}");
    }
}

#[test]
fn config_check_names_a_program_that_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.toml");
    let text = "[[alert]]\nname = 'x'\nwhen = 'processes>0'\non = 'system'\nrun = ['/nowhere/tell', 'a']\n";
    std::fs::write(&config, text).unwrap();
    let mut check = Command::new(ZMTOP);
    let checked = check
        .args(["config", "check", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    let said = String::from_utf8(checked.stderr).unwrap();
    let expected = "alert x: cannot run /nowhere/tell: no such file or directory";
    assert!(checked.status.code() == Some(2) && said.contains(expected), "{said}");
}

#[test]
fn config_check_and_the_start_name_a_program_that_others_can_change() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("tell-me"), format!("#!/bin/sh\ntouch {}\n", at("ran").display())).unwrap();
    set_mode(&at("tell-me"), 0o777);
    let config = at("config.toml");
    let text = format!(
        "[[alert]]\nname = 'x'\nwhen = 'processes>0'\non = 'system'\nhold = 0\nrun = ['{}']\n",
        at("tell-me").display()
    );
    std::fs::write(&config, text).unwrap();
    let mut check = Command::new(ZMTOP);
    let checked = check
        .args(["config", "check", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    let said = String::from_utf8(checked.stderr).unwrap();
    let expected = format!(
        "the program of alert x is not run: others can write to {}",
        at("tell-me").display()
    );
    assert!(checked.status.code() == Some(2) && said.contains(&expected), "{said}");
    let mut pty = Pty::run((150, 30), ZMTOP, &["--config", config.to_str().unwrap()], &[]);
    pty.wait("the alert and the word", |s| {
        s.contains("! 1 alert") && s.contains("the program of alert x")
    });
    pty.send("q");
    assert_eq!(pty.exit_code(), 0);
    pty.wait("the word on stderr", |s| {
        !s.contains("COMMAND") && s.contains("is not run")
    });
    assert!(!at("ran").exists(), "the program was run");
}
